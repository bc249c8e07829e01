//! The labels that are injected into new copies: from when on, until when, and where.

use std::ops::Range;

use super::{
    Found, History,
    bare::{self, on_template},
    bindings::said_healthy,
    excuses::is_edited,
    finding, injected, label,
};
use crate::{
    case::model::Invariant,
    judge::{Finding, failovers::Task, order::Before},
    timeline::{Change, Entry, ObjectId, Revision},
};

type Placed<'a> = (&'a Entry, &'a Revision);

/// One copy on one cluster, from its creation to its end: its revisions in order, at least one.
struct Copy<'a>(Vec<Placed<'a>>);

impl<'a> Copy<'a> {
    fn first(&self) -> Option<Placed<'a>> {
        self.0.first().copied()
    }
}

/// The copies that were created elsewhere after a task was written, and before the next one of the binding.
fn new_copies<'a>(history: &History<'a>, task: &Task) -> Vec<Copy<'a>> {
    let next = history
        .tasks_beside(task)
        .map(|it| it.written.seq)
        .filter(|seq| *seq > task.written.seq)
        .min();
    let mut copies: Vec<Copy<'a>> = Vec::new();
    let is_new = |(entry, revision): &&Placed<'a>| {
        let in_time = entry.seq > task.written.seq && next.is_none_or(|next| entry.seq < next);
        in_time && !revision.cluster.is_control() && revision.cluster != task.from
    };
    for (entry, revision) in history.copies_of(task).iter().filter(is_new) {
        let open = copies
            .iter_mut()
            .rfind(|copy| copy.first().is_some_and(|(_, it)| it.cluster == revision.cluster));
        match (revision.change, open) {
            (Change::Added, _) => copies.push(Copy(vec![(entry, revision)])),
            (Change::Modified, Some(copy)) => copy.0.push((entry, revision)),
            (Change::Modified | Change::List | Change::Deleted, _) => {}
        }
    }
    copies
}

/// REC-01: a copy that ever has an injected label has it from its first revision on, and no copy without it came before
/// that one.
pub(super) fn from_first_revision(history: &History<'_>) -> Found {
    let mut found = Found::default();
    for task in history.tasks.iter().filter(|task| !task.state.is_empty()) {
        let copies = new_copies(history, task);
        let firsts = copies.iter().filter_map(Copy::first);
        let labelled = firsts.into_iter().find(|(_, first)| !injected(task, first).is_empty());
        if let Some(bare) = labelled.and_then(|labelled| bare::before(history, task, labelled)) {
            let (entry, revision) = bare.created;
            let told = finding(
                Invariant::LabelsFromFirstRevision,
                entry,
                Some(ObjectId::of(revision)),
                format!("the label {} on each copy that is made for the failover", bare.key),
                "it was made without the label, and another one with it later".to_owned(),
            );
            match bare.of_failover {
                Before::Yes => found.findings.push(told),
                Before::No | Before::Unknown => found.cannot_tell(told),
            }
        }
        for (place, copy) in copies.iter().enumerate() {
            let Some((created, first)) = copy.first() else { continue };
            let told = |entry, key, seen: &str| {
                finding(
                    Invariant::LabelsFromFirstRevision,
                    entry,
                    Some(ObjectId::of(first)),
                    format!("the label {key} from the first revision of the copy on"),
                    seen.to_owned(),
                )
            };
            let later = copy.0.iter().find_map(|(entry, revision)| {
                let mut keys = injected(task, revision).into_iter();
                let late = keys.find(|key| label(first, key).is_none() && !on_template(history, task, key, entry));
                late.map(|key| (*entry, key))
            });
            found.judged += 1;
            if let Some((entry, key)) = later {
                found.findings.push(told(entry, key, "it came later"));
            } else if let Some(key) = lost_again(history, task, &copies[..place], copy) {
                found
                    .findings
                    .push(told(created, key, "the copy was made again without it"));
            }
        }
    }
    found
}

/// The label that the copy before this one on the same cluster had, and that this one lacks, although the task is still there
/// and that copy was never healthy.
fn lost_again<'t>(history: &History<'_>, task: &'t Task, earlier: &[Copy<'_>], copy: &Copy<'_>) -> Option<&'t str> {
    let (created, first) = copy.first().filter(|(entry, _)| task.is_pending_at(entry.seq))?;
    let mut firsts = earlier.iter().rev().filter_map(Copy::first);
    let (begun, before) = firsts.find(|(_, it)| it.cluster == first.cluster)?;
    let mut keys = injected(task, before).into_iter();
    let lost = keys.find(|key| label(first, key).is_none())?;
    let is_excused = was_healthy(history, task, first.cluster.as_str(), begun.seq..created.seq)
        || history
            .written(task)
            .is_none_or(|written| is_edited(history, written, begun.seq, created.seq));
    (!is_excused).then_some(lost)
}

/// Returns `true` if the copy on a cluster was reported as healthy by one of these entries.
fn was_healthy(history: &History<'_>, task: &Task, cluster: &str, entries: Range<u64>) -> bool {
    said_healthy(history, task).any(|(there, (it, _))| there == cluster && entries.contains(&it.seq))
}

/// REC-11: an injected label is not taken away before the copy was healthy for the first time, as long as its task is
/// there.
pub(super) fn until_healthy(history: &History<'_>) -> Found {
    let mut found = Found::default();
    for task in history.tasks.iter().filter(|task| !task.state.is_empty()) {
        for copy in new_copies(history, task) {
            let Some((created, first)) = copy.first() else { continue };
            let keys = injected(task, first);
            if keys.is_empty() {
                continue;
            }
            found.judged += 1;
            // What goes with its task is a matter of when the task is cleared.
            let with_task = |entry: &Entry| task.cleared.is_none_or(|cleared| entry.seq < cleared.seq);
            let lost = copy
                .0
                .iter()
                .filter(|(entry, _)| with_task(entry))
                .find_map(|(entry, revision)| {
                    let key = keys.iter().find(|key| label(revision, key).is_none())?;
                    Some((*entry, *revision, *key))
                });
            let Some((entry, revision, key)) = lost else { continue };
            let cluster = first.cluster.as_str();
            if !was_healthy(history, task, cluster, created.seq..entry.seq) {
                found.findings.push(finding(
                    Invariant::LabelsUntilHealthy,
                    entry,
                    Some(ObjectId::of(revision)),
                    format!("the label {key} until the copy is healthy"),
                    "it was taken away before".to_owned(),
                ));
            }
        }
    }
    found
}

/// Returns the reason for which a task's state must not be injected.
fn why_none(task: &Task) -> String {
    if task.is_directly() || task.purge_mode.is_empty() {
        format!("the workload was on {} clusters", task.result_before.len())
    } else {
        format!("the purge mode is {}", task.purge_mode)
    }
}

/// REC-05, REC-06: no label of a task's state comes with a copy that was made under another mode than Directly, or of a
/// workload on several clusters.
pub(super) fn only_under_directly(history: &History<'_>) -> Found {
    let mut found = Found::default();
    // Where neither the task nor the policy names the mode, it is not known.
    let never = |task: &&Task| {
        let may = task.is_single() && (task.is_directly() || task.purge_mode.is_empty());
        !task.state.is_empty() && !may
    };
    for task in history.tasks.iter().filter(never) {
        for copy in new_copies(history, task) {
            let Some((entry, first)) = copy.first() else { continue };
            found.judged += 1;
            let mut keys = injected(task, first).into_iter();
            if let Some(key) = keys.find(|key| !on_template(history, task, key, entry)) {
                let broken = finding(
                    Invariant::LabelsOnlyUnderDirectly,
                    entry,
                    Some(ObjectId::of(first)),
                    format!("no label {key}: {}", why_none(task)),
                    format!("{key}={}", label(first, key).unwrap_or_default()),
                );
                // Each requirement is refuted by what it speaks of alone.
                let spared = match (task.is_directly() || task.purge_mode.is_empty(), task.is_single()) {
                    (true, _) => "REC-05",
                    (false, true) => "REC-06",
                    (false, false) => "",
                };
                let requirements = broken.requirements.iter().filter(|id| id.as_str() != spared);
                found.findings.push(Finding {
                    requirements: requirements.cloned().collect(),
                    ..broken
                });
            }
        }
    }
    found
}
