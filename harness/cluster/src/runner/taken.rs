//! Taints that a move takes from clusters and puts back later, unless the case removes them in the meantime.

use std::sync::{Arc, Mutex, PoisonError};

use baton_core::{case::model::Taint, names::ClusterName};

/// Taints that clusters lack until a move ends.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) taints: Vec<(ClusterName, Vec<Taint>)>,
    /// Number of taints that the case had removed when the move began.
    removed_before: usize,
}

/// A taint that the case has removed.
#[derive(Debug)]
pub(super) struct Removed {
    pub(super) cluster: String,
    pub(super) key: String,
    pub(super) effect: String,
}

impl Removed {
    pub(super) fn is(&self, cluster: &ClusterName, taint: &Taint) -> bool {
        cluster.as_str() == self.cluster && taint.key == self.key && taint.effect == self.effect
    }
}

/// Taints that the case has removed, in order. Clones are the same list.
#[derive(Debug, Clone, Default)]
pub(super) struct RemovedTaints(Arc<Mutex<Vec<Removed>>>);

impl RemovedTaints {
    pub(super) fn push(&self, removed: Removed) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(removed);
    }

    /// The taints of a move that begins now.
    pub(super) fn begin(&self) -> Taken {
        Taken {
            taints: Vec::new(),
            removed_before: self.0.lock().unwrap_or_else(PoisonError::into_inner).len(),
        }
    }

    /// The taints that a move puts back: those that the case has not removed since it began.
    pub(super) fn to_put_back(&self, taken: Taken) -> Vec<(ClusterName, Vec<Taint>)> {
        let removed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let since = removed.get(taken.removed_before..).unwrap_or_default();
        let mut taints = taken.taints;
        for (cluster, taints) in &mut taints {
            taints.retain(|taint| !since.iter().any(|it| it.is(cluster, taint)));
        }
        taints
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taint(key: &str) -> Taint {
        Taint {
            key: key.to_owned(),
            value: None,
            effect: "NoExecute".to_owned(),
        }
    }

    fn removed(key: &str) -> Removed {
        Removed {
            cluster: "member1".to_owned(),
            key: key.to_owned(),
            effect: "NoExecute".to_owned(),
        }
    }

    #[test]
    fn a_taint_that_the_case_removes_meanwhile_is_not_put_back() {
        let all = RemovedTaints::default();
        all.push(removed("before"));
        let mut taken = all.begin();
        taken.taints = vec![("member1".into(), vec![taint("before"), taint("meanwhile")])];
        all.push(removed("meanwhile"));
        assert_eq!(all.to_put_back(taken), [("member1".into(), vec![taint("before")])]);
    }
}
