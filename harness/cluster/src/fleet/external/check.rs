//! Checks clusters before a run changes them: that they answer, may be used, and agree on the time.

use std::time::Duration;

use baton_core::names::ClusterName;
use http::{Request, StatusCode, header::DATE};
use jiff::{SignedDuration, Timestamp, fmt::rfc2822};
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client, client::Body};
use thiserror::Error;

use super::tls::{self, Reason};

/// Annotation on the namespace `kube-system` by which an owner marks a test cluster.
pub const TEST_CLUSTER: &str = "baton.dev/test-cluster";

/// Longest time for the first answer of a cluster.
const ANSWERS_WITHIN: Duration = Duration::from_secs(20);

/// Largest difference between the clocks of two clusters. Servers report the time in whole seconds.
const SKEW: SignedDuration = SignedDuration::from_secs(5);

/// A cluster that cannot be used.
#[derive(Debug, Error)]
pub enum CheckError {
    /// The cluster cannot be reached.
    #[error("{cluster} cannot be reached at {url}")]
    Unreachable {
        /// Name of the cluster.
        cluster: ClusterName,
        /// Address of the cluster.
        url: String,
        /// Error of the request.
        source: Box<kube::Error>,
    },
    /// The cluster does not answer in time.
    #[error("{cluster} at {url} has not answered within {ANSWERS_WITHIN:?}")]
    Silent {
        /// Name of the cluster.
        cluster: ClusterName,
        /// Address of the cluster.
        url: String,
    },
    /// The cluster rejects the credentials.
    #[error("{cluster} at {url} does not accept the credentials of the kubeconfig; they may have expired")]
    Unauthorized {
        /// Name of the cluster.
        cluster: ClusterName,
        /// Address of the cluster.
        url: String,
    },
    /// The certificate of the server has expired.
    #[error("the certificate of {cluster} at {url} has expired")]
    ServerExpired {
        /// Name of the cluster.
        cluster: ClusterName,
        /// Address of the cluster.
        url: String,
        /// Error of the request.
        source: Box<kube::Error>,
    },
    /// The kubeconfig does not trust the certificate of the server.
    #[error("the certificate of {cluster} at {url} is not one that the kubeconfig trusts")]
    ServerNotTrusted {
        /// Name of the cluster.
        cluster: ClusterName,
        /// Address of the cluster.
        url: String,
        /// Error of the request.
        source: Box<kube::Error>,
    },
    /// The credentials lack a permission that a case needs.
    #[error("{cluster} does not allow {what}; a run needs the rights of cluster-admin")]
    Forbidden {
        /// Name of the cluster.
        cluster: ClusterName,
        /// Request that was forbidden.
        what: String,
    },
    /// The cluster is not marked as a test cluster.
    #[error("{0} is not marked as a test cluster")]
    NotMarked(ClusterName),
    /// Another run uses the cluster.
    #[error("{cluster} is used by another run ({owner})")]
    InUse {
        /// Name of the cluster.
        cluster: ClusterName,
        /// Value of the label `baton.dev/owner`, which identifies the run.
        owner: String,
    },
    /// The clocks of two clusters differ too much.
    #[error("the clocks of {one} and {other} are {secs} s apart")]
    Skew {
        /// Name of one cluster.
        one: ClusterName,
        /// Name of the other cluster.
        other: ClusterName,
        /// Difference in seconds.
        secs: i64,
    },
}

impl CheckError {
    /// Suggests a fix.
    pub fn help(&self) -> String {
        match self {
            Self::Unreachable { .. } | Self::Silent { .. } => {
                "is the cluster running, and is the address in the kubeconfig right?".to_owned()
            }
            Self::Unauthorized { .. } => "ask the administrator of the cluster for a new kubeconfig".to_owned(),
            Self::ServerExpired { .. } => {
                "ask the administrator of the cluster to renew it, such as with `kubeadm certs renew apiserver`; compare the clock of \
                 this machine too"
                    .to_owned()
            }
            Self::ServerNotTrusted { .. } => {
                "is this kubeconfig of that cluster, and its address one that the certificate is for?".to_owned()
            }
            Self::Forbidden { .. } => "use a context with more rights".to_owned(),
            Self::NotMarked(_) => format!(
                "cases taint clusters and remove workloads. If it may be used for that, say so with \
                 `kubectl annotate namespace kube-system {TEST_CLUSTER}=true`, or with --yes-these-are-test-clusters"
            ),
            Self::InUse { .. } => "wait until it has ended; what a run on another machine has left is removed an hour later, or by \
                 `kubectl delete namespaces,customresourcedefinitions --selector baton.dev/owner`"
                .to_owned(),
            Self::Skew { .. } => "let them take the time from the same server, such as with NTP".to_owned(),
        }
    }

    /// Checks whether the input is wrong, as opposed to the clusters.
    pub fn is_input(&self) -> bool {
        match self {
            Self::NotMarked(_) => true,
            Self::Unreachable { .. }
            | Self::Silent { .. }
            | Self::Unauthorized { .. }
            | Self::ServerExpired { .. }
            | Self::ServerNotTrusted { .. }
            | Self::Forbidden { .. }
            | Self::InUse { .. }
            | Self::Skew { .. } => false,
        }
    }
}

/// Sends a first request to a cluster. Returns how far its clock is ahead of the local one, if it reports the time.
pub(super) async fn answers(
    name: &ClusterName,
    url: &str,
    client: &Client,
) -> Result<Option<SignedDuration>, CheckError> {
    let unreachable = |source| unreachable(name, url, source);
    // Unlike /version, this needs valid credentials.
    let request = Request::get("/api/v1/namespaces?limit=1").body(Body::empty());
    let request = request.map_err(|error| unreachable(kube::Error::HttpError(error)))?;
    let asked = Timestamp::now();
    let answer = tokio::time::timeout(ANSWERS_WITHIN, client.send(request)).await;
    let answer = answer.map_err(|_| CheckError::Silent {
        cluster: name.clone(),
        url: url.to_owned(),
    })?;
    let answer = answer.map_err(unreachable)?;
    match answer.status() {
        StatusCode::UNAUTHORIZED => {
            return Err(CheckError::Unauthorized {
                cluster: name.clone(),
                url: url.to_owned(),
            });
        }
        StatusCode::FORBIDDEN => {
            return Err(CheckError::Forbidden {
                cluster: name.clone(),
                what: "listing namespaces".to_owned(),
            });
        }
        _ => {}
    }
    let date = answer.headers().get(DATE).and_then(|date| date.to_str().ok());
    let date = date.and_then(|date| rfc2822::parse(date).ok());
    Ok(date.map(|date| date.timestamp().duration_since(asked)))
}

/// Checks that no two clocks differ too much; each is given as its distance from the local clock.
pub(super) fn agree(clocks: &[(ClusterName, SignedDuration)]) -> Result<(), CheckError> {
    let first = clocks.iter().min_by_key(|(_, ahead)| *ahead);
    let last = clocks.iter().max_by_key(|(_, ahead)| *ahead);
    match (first, last) {
        (Some((one, behind)), Some((other, ahead))) if *ahead - *behind > SKEW => Err(CheckError::Skew {
            one: one.clone(),
            other: other.clone(),
            secs: (*ahead - *behind).as_secs(),
        }),
        _ => Ok(()),
    }
}

/// Checks that the owner of a cluster has marked it for tests.
pub(super) async fn is_marked(name: &ClusterName, client: &Client) -> Result<(), CheckError> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let system = namespaces.get_opt("kube-system").await;
    let annotations = system.ok().flatten().and_then(|system| system.metadata.annotations);
    let marked = annotations.is_some_and(|all| all.get(TEST_CLUSTER).is_some_and(|value| value == "true"));
    if marked {
        Ok(())
    } else {
        Err(CheckError::NotMarked(name.clone()))
    }
}

/// Builds the error for a cluster that did not answer.
fn unreachable(cluster: &ClusterName, url: &str, source: kube::Error) -> CheckError {
    let reason = tls::reason(&source);
    let (cluster, url, source) = (cluster.clone(), url.to_owned(), Box::new(source));
    match reason {
        Some(Reason::Expired) => CheckError::ServerExpired { cluster, url, source },
        Some(Reason::NotTrusted) => CheckError::ServerNotTrusted { cluster, url, source },
        Some(Reason::Rejected) => CheckError::Unauthorized { cluster, url },
        None => CheckError::Unreachable { cluster, url, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_may_differ_by_what_headers_cannot_tell() {
        let clock = |name: &str, ahead| (ClusterName::new(name), SignedDuration::from_millis(ahead));
        assert!(agree(&[clock("control", -900), clock("member1", 2000)]).is_ok());
        let wrong = agree(&[clock("control", 0), clock("member1", 34_000), clock("member2", 100)]);
        let error = wrong.unwrap_err().to_string();
        assert_eq!(error, "the clocks of control and member1 are 34 s apart");
    }
}
