//! Looks at clusters before anything is done to them: whether they answer, may be used, and agree on the time.

use std::time::Duration;

use baton_core::names::ClusterName;
use http::{Request, StatusCode, header::DATE};
use jiff::{SignedDuration, Timestamp, fmt::rfc2822};
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client, client::Body};
use thiserror::Error;

use super::tls;

/// The annotation on the namespace `kube-system` by which its owner gives a cluster away for tests.
pub const TEST_CLUSTER: &str = "baton.dev/test-cluster";

/// How long a cluster may take to answer at first.
const ANSWERS_WITHIN: Duration = Duration::from_secs(20);

/// How far the clocks of two clusters may be apart. Servers tell the time in whole seconds.
const SKEW: SignedDuration = SignedDuration::from_secs(5);

/// Why clusters are not used.
#[derive(Debug, Error)]
pub enum CheckError {
    /// It does not answer.
    #[error("{cluster} cannot be reached at {url}")]
    Unreachable {
        /// The cluster.
        cluster: ClusterName,
        /// Its address.
        url: String,
        /// What happened.
        source: Box<kube::Error>,
    },
    /// It does not answer in time.
    #[error("{cluster} at {url} has not answered within {ANSWERS_WITHIN:?}")]
    Silent {
        /// The cluster.
        cluster: ClusterName,
        /// Its address.
        url: String,
    },
    /// It does not know who asks.
    #[error("{cluster} at {url} does not accept the credentials of the kubeconfig; they may have expired")]
    Unauthorized {
        /// The cluster.
        cluster: ClusterName,
        /// Its address.
        url: String,
    },
    /// Its certificate is over.
    #[error("the certificate of {cluster} at {url} has expired")]
    ServerExpired {
        /// The cluster.
        cluster: ClusterName,
        /// Its address.
        url: String,
        /// What happened.
        source: Box<kube::Error>,
    },
    /// Its certificate is not one that the kubeconfig trusts.
    #[error("the certificate of {cluster} at {url} is not one that the kubeconfig trusts")]
    ServerNotTrusted {
        /// The cluster.
        cluster: ClusterName,
        /// Its address.
        url: String,
        /// What happened.
        source: Box<kube::Error>,
    },
    /// It does not let the harness do what a case needs.
    #[error("{cluster} does not allow {what}; a run needs the rights of cluster-admin")]
    Forbidden {
        /// The cluster.
        cluster: ClusterName,
        /// What was to be done.
        what: String,
    },
    /// Nobody has said that it may be used.
    #[error("{0} is not marked as a test cluster")]
    NotMarked(ClusterName),
    /// Another run uses it.
    #[error("{cluster} is used by another run ({owner})")]
    InUse {
        /// The cluster.
        cluster: ClusterName,
        /// The run, as the label `baton.dev/owner` names it.
        owner: String,
    },
    /// Two clocks are too far apart.
    #[error("the clocks of {one} and {other} are {secs} s apart")]
    Skew {
        /// The one.
        one: ClusterName,
        /// The other.
        other: ClusterName,
        /// How far.
        secs: i64,
    },
}

impl CheckError {
    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::Unreachable { .. } | Self::Silent { .. } => {
                "is the cluster running, and is the address in the kubeconfig right?".to_owned()
            }
            Self::Unauthorized { .. } => "get a new kubeconfig from whoever runs the cluster".to_owned(),
            Self::ServerExpired { .. } => {
                "whoever runs the cluster must renew it, such as with `kubeadm certs renew apiserver`; compare the clock of \
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

    /// Whether it is what was given that is wrong, and not the clusters.
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

/// Asks a cluster whether it is there; gives how far its clock is ahead of the local one, if it tells the time.
pub(super) async fn answers(
    name: &ClusterName,
    url: &str,
    client: &Client,
) -> Result<Option<SignedDuration>, CheckError> {
    let unreachable = |source| tls::unreachable(name, url, source);
    // Unlike /version, this is not told to strangers.
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

/// Checks that no two clocks are too far apart; they are given as distances from the same one.
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

/// Checks that the owner of a cluster has given it away for tests.
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
