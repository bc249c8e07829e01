//! Derives the status of a cluster from a health probe, and dates its taints.

use jiff::{SignedDuration, Timestamp};

use crate::api::{ClusterStatus, Taint};
use crate::conditions::{self, ConditionUpdate};

/// Result of a health probe of the member.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Probe {
    /// The member is ready.
    Ready {
        /// Version that the member reports.
        version: Option<String>,
    },
    /// The member reports that it is not ready.
    NotReady(String),
    /// The member does not answer.
    Unreachable(String),
}

/// Returns the delay until the next probe of the member.
pub fn next_probe(probe: &Probe) -> SignedDuration {
    match probe {
        Probe::Ready { .. } => SignedDuration::from_secs(10),
        Probe::NotReady(_) | Probe::Unreachable(_) => SignedDuration::from_secs(2),
    }
}

/// Returns the cluster's status after a probe. It adds no taints: that is left to policies and users (CTP-08).
pub fn status(earlier: &ClusterStatus, probe: &Probe, now: Timestamp) -> ClusterStatus {
    let mut status = earlier.clone();
    let says = match probe {
        Probe::Ready { version } => {
            if version.is_some() {
                status.kubernetes_version.clone_from(version);
            }
            ConditionUpdate::yes("ClusterReady", "cluster is healthy and ready to accept workloads")
        }
        Probe::NotReady(why) => {
            ConditionUpdate::no("ClusterNotReady", format!("cluster answers but is not ready: {why}"))
        }
        Probe::Unreachable(why) => {
            ConditionUpdate::no("ClusterNotReachable", format!("cluster is not reachable: {why}"))
        }
    };
    conditions::set(&mut status.conditions, conditions::READY, says, now);
    status
}

/// Returns the taints with `timeAdded` set where it was missing, so that toleration times survive a restart (TNT-07).
pub fn stamp(taints: &[Taint], now: Timestamp) -> Vec<Taint> {
    taints
        .iter()
        .cloned()
        .map(|taint| Taint {
            time_added: taint.time_added.or(Some(now)),
            ..taint
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at;
    use serde_json::json;

    #[test]
    fn a_taint_is_stamped_once() {
        let taints: Vec<Taint> = serde_json::from_value(json!([{"key": "k", "effect": "NoExecute"}])).unwrap();
        let stamped = stamp(&taints, at(1));
        assert_eq!(stamped[0].time_added, Some(at(1)));
        assert_eq!(stamp(&stamped, at(2)), stamped);
    }

    #[test]
    fn readiness_follows_the_probe() {
        let up = status(
            &ClusterStatus::default(),
            &Probe::Ready {
                version: Some("v1.36".into()),
            },
            at(0),
        );
        assert_eq!(conditions::status(&up.conditions, "Ready"), Some("True"));
        assert_eq!(status(&up, &Probe::Ready { version: None }, at(9)), up);
        let down = status(&up, &Probe::Unreachable("no route".into()), at(1));
        assert_eq!(conditions::status(&down.conditions, "Ready"), Some("False"));
        assert_eq!(down.kubernetes_version.as_deref(), Some("v1.36"));
    }
}
