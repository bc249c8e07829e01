//! Copies without the labels that a later one of the same failover has: the workload has begun there without its state,
//! however soon they went.

use super::{History, injected, label};
use crate::{
    judge::{
        failovers::{self, Task},
        order::{Before, Placed},
    },
    names::ClusterName,
    timeline::{Change, Entry, HARNESS},
};

/// A copy that came before the one with the label, and lacks it.
pub(super) struct Bare<'a> {
    pub(super) created: Placed<'a>,
    pub(super) key: &'a str,
    /// Returns `true` if it belongs to this failover, and not to an earlier one.
    pub(super) of_failover: Before,
}

/// The first of them before a copy that was made with labels.
pub(super) fn before<'a>(history: &History<'a>, task: &'a Task, labelled: Placed<'a>) -> Option<Bare<'a>> {
    if !(task.is_directly() && task.ran_alone() && on_one_cluster(history, task, labelled)) {
        return None;
    }
    let keys = injected(task, labelled.1);
    let copies = history.copies_of(task);
    // What was before the copy that is left has nothing to do with this failover.
    let is_begin = |(entry, it): &&Placed<'a>| {
        let begins = matches!(it.change, Change::Added | Change::List);
        it.cluster == task.from && begins && entry.seq < task.written.seq
    };
    let begin = copies.iter().rfind(is_begin)?.0.seq;
    let made_meanwhile = copies.iter().copied().filter(|(entry, it)| {
        let meanwhile = (begin..labelled.0.seq).contains(&entry.seq);
        let by_harness = it.by.as_deref().is_some_and(|by| HARNESS.contains(&by));
        it.change == Change::Added && meanwhile && !by_harness
    });
    made_meanwhile.into_iter().find_map(|created| {
        let cluster = &created.1.cluster;
        let lacks = |key: &&&str| label(created.1, key).is_none() && !on_template(history, task, key, labelled.0);
        let key = keys.iter().find(lacks)?;
        if cluster.is_control() || belongs_elsewhere(history, task, cluster) {
            return None;
        }
        let of_failover = if was_named(history, task, begin, cluster) {
            history.precedence.before(history.written(task)?, created)
        } else {
            Before::Yes
        };
        (of_failover != Before::No).then_some(Bare {
            created,
            key,
            of_failover,
        })
    })
}

/// Returns `true` if the workload was scheduled to at most one cluster from the task to a copy: with several, no labels are
/// injected.
fn on_one_cluster(history: &History<'_>, task: &Task, until: Placed<'_>) -> bool {
    let meanwhile = task.written.seq..until.0.seq;
    let mut results = history.binding_of(task).iter();
    results.all(|(entry, it)| !meanwhile.contains(&entry.seq) || failovers::result_of(&it.object).len() <= 1)
}

/// Returns `true` if a cluster ran the workload before: then it gets no labels (REC-03), and its copy may have come back.
fn belongs_elsewhere(history: &History<'_>, task: &Task, cluster: &ClusterName) -> bool {
    task.before.contains(cluster) || history.tasks_beside(task).any(|it| it.from == *cluster)
}

/// Returns `true` if the scheduling result named a cluster between the copy that is left and the task: then a copy may
/// exist for another reason than this failover.
fn was_named(history: &History<'_>, task: &Task, begin: u64, cluster: &ClusterName) -> bool {
    let bindings = history.binding_of(task);
    // What was in force when the copy was made counts too.
    let in_force = bindings.iter().rfind(|(entry, _)| entry.seq < begin);
    let meanwhile = bindings
        .iter()
        .filter(|(entry, _)| (begin..task.written.seq).contains(&entry.seq));
    let mut results = in_force.into_iter().chain(meanwhile);
    results.any(|(_, it)| failovers::result_of(&it.object).contains(cluster))
}

/// Returns `true` if the template has a label with this value at an entry: then a copy gets it from the template.
pub(super) fn on_template(history: &History<'_>, task: &Task, key: &str, at: &Entry) -> bool {
    let template = history.copies_of(task).iter();
    let mut template = template.filter(|(entry, it)| it.cluster.is_control() && entry.seq < at.seq);
    template.any(|(_, it)| label(it, key) == task.state.get(key).map(String::as_str))
}
