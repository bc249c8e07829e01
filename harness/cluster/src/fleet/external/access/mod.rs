//! Access to clusters outside of this process: a kubeconfig and a context for each.

mod input;
mod plugin;

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr},
    path::Path,
    time::Duration,
};

use baton_core::{names::ClusterName, spelling::suggestion, yaml::plain};
use http::{HeaderValue, header::USER_AGENT};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use serde_json::Value;
use thiserror::Error;

use self::plugin::Outcome;

/// Longest time for a credential plugin of a kubeconfig. Users may have to log in.
const PLUGIN_WITHIN: Duration = Duration::from_secs(60);

/// A kubeconfig that does not lead to the clusters of a fleet: an error in the input, not in the clusters.
#[derive(Debug, Error)]
pub enum AccessError {
    /// The kubeconfig cannot be read or parsed.
    #[error("the kubeconfig {file} cannot be used")]
    Kubeconfig {
        /// Path of the kubeconfig.
        file: String,
        /// Error from the parser.
        source: Box<KubeconfigError>,
    },
    /// The kubeconfig lacks the context.
    #[error("the kubeconfig {file} has no context {}; {help}", quoted_if_empty(context))]
    NoContext {
        /// Path of the kubeconfig.
        file: String,
        /// Name of the context.
        context: String,
        /// Contexts that the kubeconfig has.
        help: String,
    },
    /// The token has a character that is invalid in an HTTP header.
    #[error(
        "the token of the context {context} in the kubeconfig {file} has a character that no token has, such as a newline"
    )]
    Token {
        /// Path of the kubeconfig.
        file: String,
        /// Name of the context.
        context: String,
    },
    /// Two clusters of the fleet have the same address.
    #[error(
        "{} and {} are the same cluster: {} and {} both lead to {url}",
        names[0], names[1], origins[0], origins[1]
    )]
    Same {
        /// Names of the two clusters in the fleet.
        names: Box<[ClusterName; 2]>,
        /// Context and kubeconfig of each.
        origins: Box<[String; 2]>,
        /// Address of both clusters.
        url: String,
    },
    /// The credential plugin does not end.
    #[error(
        "the program of the context {context} in the kubeconfig {file} has not given credentials within {within:?}"
    )]
    Plugin {
        /// Path of the kubeconfig.
        file: String,
        /// Name of the context.
        context: String,
        /// Time limit.
        within: Duration,
    },
    /// The credential plugin prints without an end.
    #[error(
        "the program of the context {context} in the kubeconfig {file} printed more than {} bytes, which cannot be credentials",
        plugin::MOST_OUTPUT
    )]
    Output {
        /// Path of the kubeconfig.
        file: String,
        /// Name of the context.
        context: String,
    },
    /// The address of the API server cannot be used.
    #[error("the server of the context {context} in the kubeconfig {file} {reason}")]
    Server {
        /// Path of the kubeconfig.
        file: String,
        /// Name of the context.
        context: String,
        /// The defect of the address, and the remedy.
        reason: &'static str,
    },
    /// A file is none that can be read to its end.
    #[error(
        "{file} is not a regular file of at most {} bytes, so it is not read; copy its content to a file",
        input::MOST
    )]
    Unbounded {
        /// The kubeconfig, or a file that it names.
        file: String,
    },
    /// No members were given.
    #[error("a fleet needs at least one member")]
    NoMembers,
}

/// Returns a name for a message.
fn quoted_if_empty(name: &str) -> &str {
    if name.is_empty() { "\"\"" } else { name }
}

/// Kubeconfig and address of one cluster.
#[derive(Clone)]
pub struct Access {
    name: ClusterName,
    config: Config,
    /// Only this context, its cluster and its user.
    kubeconfig: Kubeconfig,
    /// Context and kubeconfig that it comes from, for messages.
    origin: String,
    /// Address that the target uses, if it differs.
    reached_at: Option<String>,
    /// Set for a cluster that this process made, which no other run can use.
    own: bool,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("name", &self.name)
            .field("url", &self.url())
            .finish_non_exhaustive()
    }
}

impl Access {
    /// Access through a context of a kubeconfig file. Ignores its `current-context`.
    ///
    /// # Errors
    /// If there is no such context, or its credentials cannot be used.
    pub async fn by_context(
        name: ClusterName,
        kubeconfig: &Kubeconfig,
        context: &str,
        file: &str,
    ) -> Result<Self, AccessError> {
        let known = kubeconfig.contexts.iter().map(|it| it.name.as_str());
        if !known.clone().any(|it| it == context) {
            return Err(AccessError::NoContext {
                file: file.to_owned(),
                context: context.to_owned(),
                help: suggestion(context, known.collect::<Vec<_>>()),
            });
        }
        let kubeconfig = only(kubeconfig, context);
        if token_of(&kubeconfig).is_some_and(|token| HeaderValue::from_str(&format!("Bearer {token}")).is_err()) {
            return Err(AccessError::Token {
                file: file.to_owned(),
                context: context.to_owned(),
            });
        }
        input::check(&kubeconfig, context, file)?;
        let options = KubeConfigOptions {
            context: Some(context.to_owned()),
            ..KubeConfigOptions::default()
        };
        let config = Config::from_custom_kubeconfig(kubeconfig.clone(), &options).await;
        let config = config.map_err(|source| AccessError::Kubeconfig {
            file: file.to_owned(),
            source: Box::new(source),
        })?;
        if let Some(exec) = &config.auth_info.exec {
            let (file, context) = (file.to_owned(), context.to_owned());
            match plugin::run(exec, PLUGIN_WITHIN).await {
                Outcome::Ended => {}
                Outcome::Silent => {
                    let within = PLUGIN_WITHIN;
                    return Err(AccessError::Plugin { file, context, within });
                }
                Outcome::Endless => return Err(AccessError::Output { file, context }),
            }
        }
        Ok(Self {
            name,
            config,
            kubeconfig,
            origin: format!("the context {context} in the kubeconfig {file}"),
            reached_at: None,
            own: false,
        })
    }

    /// Access through a context of a kubeconfig file, by default its `current-context`.
    ///
    /// # Errors
    /// If the file cannot be read, has no such context, or its credentials cannot be used.
    pub async fn by_file(name: ClusterName, file: &Path, context: Option<&str>) -> Result<Self, AccessError> {
        let (kubeconfig, shown) = read(file)?;
        let context = context.or(kubeconfig.current_context.as_deref()).unwrap_or_default();
        Self::by_context(name, &kubeconfig, context, &shown).await
    }

    /// Access through the only context of a kubeconfig, given as text.
    ///
    /// # Errors
    /// If the text is not a kubeconfig with exactly one context.
    pub async fn by_text(name: ClusterName, text: &str) -> Result<Self, AccessError> {
        let file = format!("of {name}");
        let kubeconfig = Kubeconfig::from_yaml(text).map_err(|source| AccessError::Kubeconfig {
            file: file.clone(),
            source: Box::new(source),
        })?;
        let context = kubeconfig
            .contexts
            .first()
            .map(|it| it.name.clone())
            .unwrap_or_default();
        Self::by_context(name, &kubeconfig, &context, &file).await
    }

    /// Sets the address (`https://…`) that the target uses, if it differs from the harness's.
    #[must_use]
    pub fn reached_at(self, url: String) -> Self {
        Self {
            reached_at: Some(url),
            ..self
        }
    }

    /// Marks the cluster as made by this process for a run.
    #[must_use]
    pub(super) fn made_for_run(self) -> Self {
        Self { own: true, ..self }
    }

    pub(super) fn is_own(&self) -> bool {
        self.own
    }

    /// The same cluster under another name.
    #[must_use]
    pub(super) fn named(self, name: ClusterName) -> Self {
        Self { name, ..self }
    }

    /// Name of the cluster in the fleet.
    pub fn name(&self) -> &ClusterName {
        &self.name
    }

    /// Address of its API server.
    pub fn url(&self) -> String {
        self.config.cluster_url.to_string()
    }

    /// Host, port and path of its API server, with all names of loopback replaced by one.
    fn place(&self) -> String {
        if !self.is_on_loopback() {
            return self.url();
        }
        let url = &self.config.cluster_url;
        let port = url.port_u16().unwrap_or(443);
        format!("loopback:{port}{}", url.path().trim_end_matches('/'))
    }

    /// Checks whether the address is on loopback.
    fn is_on_loopback(&self) -> bool {
        let host = self.config.cluster_url.host().unwrap_or_default();
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
        host == "localhost" || address.is_ok_and(|it| it.is_loopback())
    }

    /// Address that the target uses.
    pub(super) fn url_for_target(&self) -> String {
        self.reached_at
            .clone()
            .unwrap_or_else(|| self.url().trim_end_matches('/').to_owned())
    }

    /// Builds a client. Needs a tokio runtime, in which the client stays.
    pub(in crate::fleet) fn client(&self, user_agent: &str) -> kube::Result<Client> {
        let mut config = self.config.clone();
        if let Ok(agent) = HeaderValue::from_str(user_agent) {
            config.headers.push((USER_AGENT, agent));
        }
        Client::try_from(config)
    }

    /// Builds a client for forwarded requests, which have their senders' user agents.
    pub(super) fn client_of_others(&self) -> kube::Result<Client> {
        Client::try_from(self.config.clone())
    }

    /// Checks whether `/readyz` succeeds.
    pub(in crate::fleet) async fn is_ready(&self) -> bool {
        let Ok(client) = self.client("baton-fleet") else {
            return false;
        };
        let Ok(request) = http::Request::get("/readyz").body(Vec::new()) else {
            return false;
        };
        client.request_text(request).await.is_ok()
    }

    /// Certificates of the authorities that sign the server's certificate (PEM); empty for those of the system.
    pub(super) fn ca(&self) -> Vec<u8> {
        let roots = self.config.root_cert.iter().flatten();
        let pem = roots.map(|der| pem::encode(&pem::Pem::new("CERTIFICATE", der.clone())));
        pem.collect::<String>().into_bytes()
    }

    /// Bearer token, if the user of the context has one.
    pub(super) fn token(&self) -> Option<String> {
        token_of(&self.kubeconfig)
    }

    /// A kubeconfig for other programs, with this cluster only.
    pub(super) fn kubeconfig(&self) -> String {
        // A document that was parsed from YAML can always be written as YAML.
        plain::write(&self.kubeconfig).unwrap_or_default()
    }
}

/// Reads a kubeconfig file, and returns it with its path for messages.
fn read(file: &Path) -> Result<(Kubeconfig, String), AccessError> {
    let shown = file.display().to_string();
    input::regular(file)?;
    match Kubeconfig::read_from(file) {
        Ok(kubeconfig) => Ok((kubeconfig, shown)),
        Err(source) => Err(AccessError::Kubeconfig {
            file: shown,
            source: Box::new(source),
        }),
    }
}

/// Token of the only user.
fn token_of(kubeconfig: &Kubeconfig) -> Option<String> {
    let value = serde_json::to_value(kubeconfig).ok()?;
    let token = value.pointer("/users/0/user/token").and_then(Value::as_str)?;
    Some(token.to_owned()).filter(|token| !token.is_empty())
}

/// A kubeconfig with one context, its cluster and its user.
fn only(kubeconfig: &Kubeconfig, context: &str) -> Kubeconfig {
    let mut only = kubeconfig.clone();
    only.contexts.retain(|it| it.name == context);
    let refers = only
        .contexts
        .first()
        .and_then(|it| it.context.clone())
        .unwrap_or_default();
    only.clusters.retain(|it| it.name == refers.cluster);
    only.auth_infos.retain(|it| Some(&it.name) == refers.user.as_ref());
    only.current_context = Some(context.to_owned());
    only
}

/// The clusters of a fleet: a control plane and members.
#[derive(Debug, Clone)]
pub struct Clusters {
    /// Access to the control plane.
    pub control: Access,
    /// Access to the members: `member1`, `member2`, …
    pub members: Vec<Access>,
}

impl Clusters {
    /// Clusters with different addresses.
    ///
    /// # Errors
    /// If `members` is empty, or two clusters have the same address.
    pub fn new(control: Access, members: Vec<Access>) -> Result<Self, AccessError> {
        let clusters = Self { control, members };
        let all: Vec<&Access> = clusters.all().collect();
        for (number, one) in all.iter().enumerate() {
            if let Some(other) = all[..number].iter().find(|other| other.place() == one.place()) {
                return Err(AccessError::Same {
                    names: Box::new([other.name.clone(), one.name.clone()]),
                    origins: Box::new([other.origin.clone(), one.origin.clone()]),
                    url: one.url(),
                });
            }
        }
        if clusters.members.is_empty() {
            return Err(AccessError::NoMembers);
        }
        Ok(clusters)
    }

    /// Clusters from contexts of a kubeconfig file; the members are called `member1`, `member2`, … in the order of
    /// their contexts.
    ///
    /// # Errors
    /// If the file or a context cannot be used.
    pub async fn of_contexts(file: &Path, control: &str, members: &[String]) -> Result<Self, AccessError> {
        let (kubeconfig, shown) = read(file)?;
        let control = Access::by_context(ClusterName::control(), &kubeconfig, control, &shown).await?;
        let mut accesses = Vec::new();
        for (number, context) in (1..).zip(members) {
            let name = ClusterName::new(format!("member{number}"));
            accesses.push(Access::by_context(name, &kubeconfig, context, &shown).await?);
        }
        Self::new(control, accesses)
    }

    /// A control plane from a context of a kubeconfig file, with the given members.
    ///
    /// # Errors
    /// If the file or the context cannot be used, or `members` is empty.
    pub async fn of_context(file: &Path, control: &str, members: Vec<Access>) -> Result<Self, AccessError> {
        let (kubeconfig, shown) = read(file)?;
        let control = Access::by_context(ClusterName::control(), &kubeconfig, control, &shown).await?;
        Self::new(control, members)
    }

    /// The loopback address, if all members are on loopback: then they reach this machine there too, unless they run in
    /// containers.
    pub fn loopback(&self) -> Option<IpAddr> {
        let all = self.members.iter().all(Access::is_on_loopback);
        all.then(|| Ipv4Addr::LOCALHOST.into())
    }

    /// All clusters, the control plane first.
    pub fn all(&self) -> impl Iterator<Item = &Access> {
        std::iter::once(&self.control).chain(&self.members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kubeconfig with two contexts for these addresses; the first user has a credential plugin.
    fn kubeconfig(one: &str, other: &str, args: &str) -> Kubeconfig {
        let text = format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- {{name: a, cluster: {{server: '{one}'}}}}\n- {{name: b, cluster: {{server: '{other}'}}}}\nusers:\n- {{name: a, user: {{exec: {{apiVersion: client.authentication.k8s.io/v1, command: sleep, args: [{args}], interactiveMode: Never}}}}}}\n- {{name: b, user: {{token: x}}}}\ncontexts:\n- {{name: a, context: {{cluster: a, user: a}}}}\n- {{name: b, context: {{cluster: b, user: b}}}}\n- {{name: c, context: {{cluster: a, user: b}}}}\n"
        );
        Kubeconfig::from_yaml(&text).unwrap()
    }

    #[tokio::test]
    async fn one_cluster_under_two_names_of_this_machine_is_one_cluster() {
        for (one, other, same) in [
            ("https://localhost:6443", "https://127.0.0.1:6443/", true),
            ("https://[::1]:6443", "https://localhost:6443", true),
            ("https://localhost:6443", "https://127.0.0.1:6444", false),
            ("https://localhost:6443/a", "https://127.0.0.1:6443/b", false),
            ("https://10.0.0.1:6443", "https://localhost:6443", false),
        ] {
            let config = kubeconfig(one, other, "'0'");
            let access = async |context: &str, name: &str| {
                Access::by_context(ClusterName::new(name), &config, context, "x")
                    .await
                    .unwrap()
            };
            let (control, member) = (access("c", "control").await, access("b", "member1").await);
            let came = Clusters::new(control, vec![member]);
            assert_eq!(matches!(came, Err(AccessError::Same { .. })), same, "{one} {other}");
        }
    }

    #[tokio::test]
    async fn both_names_of_one_cluster_are_given_with_their_contexts_and_kubeconfigs() {
        let server = "https://10.0.0.1:6443";
        let config = kubeconfig(server, server, "'0'");
        let control = Access::by_context(ClusterName::control(), &config, "c", "/one.yaml");
        let member = Access::by_context(ClusterName::new("member1"), &config, "b", "/other.yaml");
        let came = Clusters::new(control.await.unwrap(), vec![member.await.unwrap()]);
        assert_eq!(
            came.unwrap_err().to_string(),
            "control and member1 are the same cluster: the context c in the kubeconfig /one.yaml and the context b in \
             the kubeconfig /other.yaml both lead to https://10.0.0.1:6443/"
        );
    }
}
