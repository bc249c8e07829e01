//! Objects that a killed run left on clusters. They have a label with the run that made them, and are removed before
//! the next run begins.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    sync::LazyLock,
};

use baton_core::names::ClusterName;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{
    api::{admissionregistration::v1::MutatingWebhookConfiguration, core::v1::Namespace},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, Resource,
    api::{ListParams, ObjectMeta},
};
use serde::de::DeserializeOwned;

use super::{
    Clusters, ConnectError,
    check::CheckError,
    clean::{self, Ours},
    client, refused,
};
use crate::fleet::{FleetError, embedded::FLEET, register};

/// Label of a case's namespace.
pub(super) const CASE: &str = "baton.dev/case";

/// Label of the objects that a run makes for itself. Its value identifies the run: boot id of the machine, process id,
/// and start time of the process.
const OWNER: &str = "baton.dev/owner";

/// Age at which a run on another machine is taken to have ended: no case takes this long.
const SURELY_ENDED: SignedDuration = SignedDuration::from_hours(1);

/// Labels of objects that this run makes.
pub(super) fn labels() -> BTreeMap<String, String> {
    static SELF: LazyLock<String> = LazyLock::new(|| {
        let process = std::process::id();
        format!("{}.{process}.{}", machine(), started(process).unwrap_or_default())
    });
    [(OWNER.to_owned(), SELF.clone())].into()
}

/// Number that identifies a machine from boot to shutdown; the same everywhere if the system has no boot id.
fn machine() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let id: String = id.chars().filter(char::is_ascii_hexdigit).collect();
    if id.is_empty() { "machine".to_owned() } else { id }
}

/// Start time of a process, in clock ticks since boot; `None` if there is no such process.
fn started(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program stands in parentheses, and may contain any character.
    let (_, behind) = stat.rsplit_once(')')?;
    behind.split_whitespace().nth(19)?.parse().ok()
}

/// Checks whether a run is, or may be, still running; `made` is the time of its latest object.
fn goes_on(owner: &str, made: Option<Timestamp>) -> bool {
    let mut parts = owner.split('.');
    let (of, process, since) = (parts.next(), parts.next(), parts.next());
    if of == Some(machine().as_str()) {
        let process = process.and_then(|process| process.parse().ok()).and_then(started);
        return process.is_some() && process == since.and_then(|since| since.parse().ok());
    }
    made.is_none_or(|made| Timestamp::now().duration_since(made) < SURELY_ENDED)
}

/// Objects that other runs left on a cluster.
#[derive(Default)]
struct Remains {
    owners: BTreeSet<String>,
    /// Namespaces of cases.
    namespaces: BTreeSet<String>,
    /// Registered members.
    members: BTreeSet<ClusterName>,
    /// Definitions of the failover API.
    definitions: BTreeSet<String>,
    /// Webhooks for Clusters, whose server has ended.
    webhooks: BTreeSet<String>,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
}

impl Remains {
    async fn on(client: &Client) -> kube::Result<Self> {
        let mut remains = Self::default();
        for namespace in labelled(Api::<Namespace>::all(client.clone())).await? {
            let of_case = namespace.labels.iter().flatten().any(|(key, _)| key == CASE);
            if remains.add(&namespace) && of_case {
                remains.namespaces.extend(namespace.name);
            }
        }
        for object in labelled(Api::<CustomResourceDefinition>::all(client.clone())).await? {
            if remains.add(&object) {
                remains.definitions.extend(object.name);
            }
        }
        for object in labelled(Api::<MutatingWebhookConfiguration>::all(client.clone())).await? {
            if remains.add(&object) {
                remains.webhooks.extend(object.name);
            }
        }
        for object in labelled(register::clusters(client)).await? {
            if remains.add(&object) {
                remains.members.extend(object.name.map(ClusterName::new));
            }
        }
        Ok(remains)
    }

    /// Adds an object; returns whether another run made it.
    fn add(&mut self, object: &ObjectMeta) -> bool {
        let ours = labels();
        let owner = object.labels.iter().flatten().find(|(key, _)| *key == OWNER);
        let Some((_, owner)) = owner.filter(|(key, owner)| ours.get(*key) != Some(owner)) else {
            return false;
        };
        self.owners.insert(owner.clone());
        let made = object.creation_timestamp.as_ref().map(|time| time.0);
        self.first = self.first.min(made).or(self.first).or(made);
        self.last = self.last.max(made);
        true
    }
}

async fn labelled<K>(api: Api<K>) -> kube::Result<Vec<ObjectMeta>>
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
{
    match api.list_metadata(&ListParams::default().labels(OWNER)).await {
        Ok(found) => Ok(found.items.into_iter().map(|object| object.metadata).collect()),
        // The failover API may be missing.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Removes the objects that killed runs left; returns the namespaces of their cases.
///
/// # Errors
/// If such a run is still running, or an object cannot be removed.
pub(super) async fn remove(clusters: &Clusters) -> Result<BTreeSet<String>, ConnectError> {
    let mut found = Vec::new();
    for access in clusters.all() {
        let (name, client) = (access.name(), client(access, FLEET)?);
        let remains = Remains::on(&client).await;
        let remains = remains.map_err(refused(name, "looking for what an earlier run has left"))?;
        if let Some(owner) = remains.owners.iter().find(|owner| goes_on(owner, remains.last)) {
            return Err(ConnectError::Check(CheckError::InUse {
                cluster: name.clone(),
                owner: owner.clone(),
            }));
        }
        found.push((name, client, remains));
    }
    let namespaces: BTreeSet<String> = found.iter().flat_map(|(_, _, it)| it.namespaces.clone()).collect();
    // Embedded members end with their run, but their Clusters on the control plane stay.
    let named = clusters.members.iter().map(|access| access.name().clone());
    let registered = found.iter().flat_map(|(_, _, it)| it.members.iter().cloned());
    let members: BTreeSet<ClusterName> = named.chain(registered).collect();
    let members: Vec<ClusterName> = members.into_iter().collect();
    for (name, client, remains) in &found {
        for webhook in &remains.webhooks {
            let removed = super::remove_webhook(client, webhook).await;
            removed.map_err(refused(name, "removing what an earlier run has left"))?;
        }
    }
    // A run that was killed early may have made only definitions.
    let mut rounds: Vec<String> = namespaces.iter().cloned().collect();
    if rounds.is_empty() {
        rounds.push(String::new());
    }
    let mut left = Vec::new();
    for namespace in rounds {
        let ours = Ours {
            namespace,
            members: members.clone(),
            beside_others: false,
        };
        // The control plane comes first: its objects show which copies the members have.
        let mut templates = BTreeSet::new();
        for (name, client, remains) in &found {
            let Some(first) = remains.first else { continue };
            let failed = |name: &ClusterName| refused(name, "removing what an earlier run has left");
            let before = clean::inventory_before(client, first).await.map_err(failed(name))?;
            let cluster = clean::Cluster {
                name,
                client: client.clone(),
                before: &before,
            };
            if name.is_control() {
                templates = clean::templates(&cluster, &ours).await.map_err(failed(name))?;
            }
            left.extend(clean::clean(&cluster, &ours, &templates).await.map_err(failed(name))?);
        }
    }
    for (name, client, remains) in &found {
        left.extend(super::undefine(name, client, &remains.definitions).await);
    }
    if left.is_empty() {
        Ok(namespaces)
    } else {
        Err(ConnectError::Fleet(FleetError::LeftBehind(left)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_run_goes_on_and_one_that_is_gone_does_not() {
        let owner = labels().remove(OWNER).unwrap();
        assert!(owner.len() <= 63, "{owner} is not a valid label value");
        let now = Some(Timestamp::now());
        assert!(goes_on(&owner, now));
        // Another process has its process id today.
        assert!(!goes_on(&format!("{owner}0"), now));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert!(!goes_on(&format!("{}.{}.1", machine(), child.id()), now));
        // Processes on another machine cannot be checked; after a while the run is taken to have ended.
        assert!(goes_on("elsewhere.1.1", now));
        assert!(!goes_on("elsewhere.1.1", Some(Timestamp::now() - SURELY_ENDED)));
    }
}
