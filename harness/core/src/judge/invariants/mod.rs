//! Invariants: rules that hold in every run, independent of its steps.
//!
//! - here: what is true of every failover; `copies`: how many copies there are and when; `pods`: the same at the level
//!   of pods; `shadows`: copies under other names;
//! - `bindings`: how many bindings and tasks there are; `causes`: when a task may be written; `old_copies`: how long old
//!   copies stay; `labels`: where
//!   injected labels are, and how long; `bare`: copies that lack them; `taints`: whose they are;
//! - `placement`: where workloads go, and what is left behind; `scheduled`: when a result may name a new cluster;
//!   `rates`: how fast; `tainting`: when clusters are tainted;
//!   `gates`: what the target leaves alone;
//! - `blocked`: what must be true of an eviction that cannot go ahead;
//! - `moves`: tasks, from the failure until the migration is over; `state`: what is kept and injected; `following`:
//!   what a task takes over from the policy; `failing`: copies while a cluster fails; `settles`: what is left some time after the last move; `excuses`: edits by users;
//! - `writers`: who writes what, and what is left at the end; `instances`: which instance of the target writes.
//!
//! Each invariant is a function of the `History` that says how often it had something to judge and what it found.
//! `history` sorts a timeline once, so that thousands of failovers in it are judged in little more time than it takes
//! to read them; `cluster` is what is kept of Clusters, `families` and `workload` tell which workload an object belongs
//! to.

mod bare;
mod bindings;
mod blocked;
mod causes;
mod cluster;
mod copies;
mod difference;
mod excuses;
mod failing;
mod families;
mod following;
mod gates;
mod history;
mod instances;
mod labels;
mod moves;
mod old_copies;
mod placement;
mod pods;
mod rates;
mod scheduled;
mod settles;
mod shadows;
mod state;
mod tainting;
mod taints;
mod writers;

pub use writers::{awaits_garbage_collector, left_over};

use std::collections::{BTreeMap, BTreeSet};

use self::{excuses::is_harness, history::History, instances::Target};
use super::{
    DifferenceKind, Finding,
    allowances::Allowances,
    failovers::{self, Task},
    order::Precedence,
    step_runs::before_clean_up,
};
use crate::{
    case::model::Invariant,
    names::{ClusterName, RequirementId},
    plan::Plan,
    timeline::{Change, Entry, HARNESS, ObjectId, Revision, Timeline},
};

/// Result of the invariants.
#[derive(Debug, Default)]
pub struct Judged {
    /// Everything found, by invariant, then in the order of the timeline.
    pub findings: Vec<Finding>,
    /// Checks without a result, because the order of two events is unknown.
    pub inconclusive: Vec<Finding>,
    /// Set if one of them has no result because two events came too close to each other.
    pub too_close: bool,
    /// Number of times that each invariant applied.
    pub judged: BTreeMap<Invariant, usize>,
    /// Number of times that a workload left a cluster: with an eviction task, or without one although the cluster failed.
    pub failovers: usize,
}

impl Judged {
    /// Returns the titles of the invariants that are broken.
    pub fn titles(&self) -> BTreeSet<String> {
        self.findings.iter().map(|finding| finding.title.clone()).collect()
    }
}

/// Judges a timeline by all invariants but the exempt ones. Some ask what the target was started with: the plan says
/// it.
pub fn judge(timeline: &Timeline, exempt: &BTreeSet<Invariant>, plan: Option<&Plan>) -> Judged {
    let history = History::of(before_clean_up(timeline), Precedence::of(timeline));
    let target = Target::of(timeline);
    let allowances = Allowances::of(plan, history.entries);
    let news = state::News::of(timeline, &allowances);
    let mut all = Judged::default();
    for invariant in Invariant::ALL
        .into_iter()
        .filter(|invariant| !exempt.contains(invariant))
    {
        let found = match invariant {
            Invariant::OriginGoneBeforeDestinationCreated => copies::origin_gone_first(&history),
            Invariant::AtMostOneLiveCopy => copies::at_most_one_copy(&history),
            Invariant::NoLabelOnTemplate => no_label_on_template(&history),
            Invariant::NoLabelOnPredecessor => no_label_on_predecessor(&history),
            Invariant::TaskNamesPredecessors => task_names_predecessors(&history),
            Invariant::PreservedStateNeverChanges => state_never_changes(&history),
            Invariant::ResultAndTaskDisjoint => result_and_task_disjoint(&history),
            Invariant::LateEvictionIsExplained => blocked::late_eviction_explained(&history, &allowances),
            Invariant::NothingLeftAfterCleanUp => writers::nothing_left(timeline),
            Invariant::OnlyTheTargetWritesBindings => writers::only_the_target(timeline),
            Invariant::NoWriteChangesNothing => writers::no_idle_write(timeline, &allowances),
            Invariant::OneInstanceWrites => instances::one_writes(timeline),
            Invariant::OneTaskPerCluster => bindings::one_task_per_cluster(&history),
            Invariant::OneBindingPerWorkload => bindings::one_binding_per_workload(&history),
            Invariant::NoEvictionBeforeItsTime => causes::no_eviction_before_its_time(&history, &allowances),
            Invariant::NoApplicationFailoverBeforeItsTime => {
                causes::no_application_failover_before_its_time(&history, &allowances)
            }
            Invariant::GracefullyNeverWithoutCopy => old_copies::gracefully_never_without_copy(&history, plan),
            Invariant::CopyStaysUnderNever => old_copies::stays_under_never(&history),
            Invariant::LabelsFromFirstRevision => labels::from_first_revision(&history),
            Invariant::LabelsUntilHealthy => labels::until_healthy(&history),
            Invariant::LabelsOnlyUnderDirectly => labels::only_under_directly(&history),
            Invariant::OthersTaintsSurvive => taints::others_taints_survive(timeline),
            Invariant::GateOffMovesNothing => gates::off_moves_nothing(&history, &target, plan),
            Invariant::EvictionRateKept => rates::kept(&history, plan),
            Invariant::OnlyPoliciesTaint => tainting::only_policies(&history, &target),
            Invariant::TaintNotBeforeItsWindow => tainting::not_before_the_window(&history, &target),
            Invariant::TaintStaysForItsWindow => tainting::stays_for_the_window(&history, &target),
            Invariant::PoliciesUntouched => gates::policies_untouched(&history, &target),
            Invariant::DestinationFits => placement::destination_fits(&history, &target, &allowances),
            Invariant::ReplicasAddUp => placement::replicas_add_up(&history, &target, &allowances),
            Invariant::TaskEndsWell => placement::task_ends_well(&history, &target, &allowances),
            Invariant::ScheduledOnlyAfterGone => scheduled::only_after_gone(timeline, plan),
            Invariant::MoveHasTask => moves::move_has_task(&history, &target, plan),
            Invariant::TaskStaysUntilOver => moves::task_stays(&history, &target, plan),
            Invariant::StatePreserved => state::preserved(&history, &target, plan, &news),
            Invariant::TaskFollowsPolicy => following::follows(&history, &target, plan),
            Invariant::StateReachesCopy => state::reaches_copy(&history, &target, plan, &news),
            Invariant::OneCopyWhileFailing => failing::one_copy(&history, plan),
            Invariant::Settles => settles::settles(timeline, &history, plan, &allowances),
            Invariant::ComesToRest => settles::comes_to_rest(timeline, &history, &target, plan, &allowances),
        };
        all.judged.insert(invariant, found.judged);
        all.findings.extend(found.findings);
        all.inconclusive.extend(found.inconclusive);
        all.too_close |= found.too_close;
    }
    let moved = all.judged.get(&Invariant::MoveHasTask).copied().unwrap_or_default();
    all.failovers = history.tasks.len().max(moved);
    all
}

#[derive(Default)]
struct Found {
    judged: usize,
    findings: Vec<Finding>,
    inconclusive: Vec<Finding>,
    too_close: bool,
}

impl Found {
    /// Notes a check without a result, because two events came too close to each other.
    fn cannot_tell(&mut self, finding: Finding) {
        self.inconclusive.push(finding);
        self.too_close = true;
    }
}

/// REC-08: a template never gets the labels that are injected into its copies.
fn no_label_on_template(history: &History<'_>) -> Found {
    let mut found = Found::default();
    for task in history.tasks.iter().filter(|task| !task.state.is_empty()) {
        found.judged += 1;
        let of_template = history.copies_of(task).iter().filter(|(_, it)| it.cluster.is_control());
        // What the owner had put there before the failover is the owner's.
        let own = of_template
            .clone()
            .take_while(|(entry, _)| entry.seq < task.written.seq)
            .last();
        let offending = of_template
            .skip_while(|(entry, _)| entry.seq < task.written.seq)
            .find_map(|(entry, revision)| {
                let injected = injected(task, revision);
                let new = injected
                    .into_iter()
                    .find(|key| own.and_then(|(_, own)| label(own, key)) != label(revision, key));
                new.map(|key| (entry, revision, key))
            });
        if let Some((entry, revision, key)) = offending {
            found.findings.push(finding(
                Invariant::NoLabelOnTemplate,
                entry,
                Some(ObjectId::of(revision)),
                format!("the template of {} without the label {key}", task.workload),
                format!("{key}={} on the template", label(revision, key).unwrap_or_default()),
            ));
        }
    }
    found
}

/// REC-03: while a task is pending, or before the first one, none of its clustersBeforeFailover is given its labels.
fn no_label_on_predecessor(history: &History<'_>) -> Found {
    let mut found = Found::default();
    for task in history.tasks.iter().filter(|task| !task.state.is_empty()) {
        let copies = history.copies_of(task);
        found.judged += 1;
        // A workload that returns may do so when the task is gone; the next task has a right to give it labels.
        let mut beside = history.tasks_beside(task).skip_while(|it| !std::ptr::eq(*it, task));
        let next = beside.nth(1);
        let is_of_task = |seq| {
            let before_next = next.is_none_or(|next| seq < next.written.seq);
            task.is_pending_at(seq) || (task.written.seq <= seq && before_next)
        };
        // Before the first failover there is nothing to inject: labels come with the template, or from a user.
        let is_first = history.tasks.iter().find(|it| it.workload == task.workload);
        let is_first = is_first.is_some_and(|it| std::ptr::eq(it, task));
        let is_early = |entry: &Entry, revision: &Revision, key: &str| {
            let by_target = revision.by.as_deref().is_some_and(|by| !HARNESS.contains(&by));
            is_first && entry.seq < task.written.seq && by_target && !bare::on_template(history, task, key, entry)
        };
        // Labels that the copies had before came with the template, or from an earlier failover, unless there was none.
        let mut had: BTreeSet<(&ClusterName, &str)> = BTreeSet::new();
        for (entry, revision) in copies {
            let here = task.before.contains(&revision.cluster) || revision.cluster == task.from;
            if !here || revision.change == Change::Deleted {
                continue;
            }
            for key in injected(task, revision) {
                let is_new = had.insert((&revision.cluster, key));
                if is_new && (is_of_task(entry.seq) || is_early(entry, revision, key)) {
                    found.findings.push(finding(
                        Invariant::NoLabelOnPredecessor,
                        entry,
                        Some(ObjectId::of(revision)),
                        format!(
                            "no label {key} on {}, which ran {} before",
                            revision.cluster, task.workload
                        ),
                        format!("{key}={}", label(revision, key).unwrap_or_default()),
                    ));
                }
            }
        }
    }
    found
}

/// REC-04: a task names the clusters that ran the workload before, if its state will be injected.
fn task_names_predecessors(history: &History<'_>) -> Found {
    let mut found = Found::default();
    let injecting = |task: &&Task| task.is_directly() && task.is_single() && !task.state.is_empty();
    for task in history.tasks.iter().filter(injecting) {
        found.judged += 1;
        let expected = if task.result_before.is_empty() {
            BTreeSet::from([task.from.clone()])
        } else {
            task.result_before.clone()
        };
        if let (Some((entry, _)), true) = (history.written(task), task.before != expected) {
            let told = finding(
                Invariant::TaskNamesPredecessors,
                entry,
                Some(task.binding.clone()),
                format!(
                    "clustersBeforeFailover [{}] in the task from {}",
                    listed(&expected),
                    task.from
                ),
                format!("[{}]", listed(&task.before)),
            );
            let kind = if task.before.is_empty() {
                DifferenceKind::Missing
            } else {
                DifferenceKind::Different
            };
            found.findings.push(Finding { kind, ..told });
        }
    }
    found
}

/// STP-11: what a task has preserved stays what it is.
fn state_never_changes(history: &History<'_>) -> Found {
    let mut found = Found {
        judged: history.tasks.len(),
        ..Found::default()
    };
    for task in &history.tasks {
        let Some((moment, now)) = &task.state_changed else {
            continue;
        };
        if let Some((entry, _)) = history.binding_at(task, moment.seq) {
            found.findings.push(finding(
                Invariant::PreservedStateNeverChanges,
                entry,
                Some(task.binding.clone()),
                format!(
                    "preservedLabelState of the task from {} unchanged, or as collected of it: {:?}",
                    task.from, task.state
                ),
                format!("{now:?}"),
            ));
        }
    }
    found
}

/// PRG-11: a cluster that a Directly task empties is not in the scheduling result.
fn result_and_task_disjoint(history: &History<'_>) -> Found {
    let mut found = Found::default();
    for task in history.tasks.iter().filter(|task| task.is_directly()) {
        found.judged += 1;
        // A user may name the cluster again, to stop the migration (GRE-11).
        let mut is_by_user = false;
        let both = history.binding_of(task).iter().find(|(entry, revision)| {
            let both = task.is_pending_at(entry.seq) && failovers::result_of(&revision.object).contains(&task.from);
            is_by_user = both && (is_by_user || is_harness(revision));
            both && !is_by_user
        });
        if let Some((entry, _)) = both {
            found.findings.push(finding(
                Invariant::ResultAndTaskDisjoint,
                entry,
                Some(task.binding.clone()),
                format!(
                    "{} not in the scheduling result while a Directly task empties it",
                    task.from
                ),
                format!("{} in spec.clusters and in a pending task", task.from),
            ));
        }
    }
    found
}

/// The keys of a task's state that an object has as labels, with the same values.
fn injected<'a>(task: &'a Task, revision: &Revision) -> Vec<&'a str> {
    let same = |(key, value): &(&String, &String)| label(revision, key) == Some(value.as_str());
    task.state.iter().filter(same).map(|(key, _)| key.as_str()).collect()
}

fn label<'a>(revision: &'a Revision, key: &str) -> Option<&'a str> {
    revision.object.pointer("/metadata/labels")?.get(key)?.as_str()
}

fn listed(clusters: &BTreeSet<ClusterName>) -> String {
    clusters.iter().map(ClusterName::as_str).collect::<Vec<_>>().join(", ")
}

/// Returns the title of an invariant's findings.
pub fn title(invariant: Invariant) -> String {
    format!("invariant {}", invariant.name())
}

fn finding(invariant: Invariant, entry: &Entry, object: Option<ObjectId>, expected: String, seen: String) -> Finding {
    let (field, kind) = difference::of(invariant);
    Finding {
        requirements: invariant.proves(),
        field: field.map(str::to_owned),
        kind,
        title: title(invariant),
        step: None,
        expected,
        seen,
        object,
        seq: entry.seq,
        at: entry.at,
        mismatches: Vec::new(),
        follows: None,
    }
}

/// The finding, where only one of the requirements of its invariant is refuted.
fn blaming(finding: Finding, requirement: &str) -> Finding {
    Finding {
        requirements: BTreeSet::from([RequirementId::new(requirement)]),
        ..finding
    }
}
