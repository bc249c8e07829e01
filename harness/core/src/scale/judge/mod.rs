//! Follows the workloads of a run, revision by revision, and judges them on the way. What is kept is in proportion to the
//! number of workloads, not to the length of the run.

mod binding;
mod broken;
#[cfg(test)]
mod tests;
mod workload;

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::{binding::Bound, workload::Workload};
pub use self::{
    broken::{Broken, Violation, Violations},
    workload::Told,
};
use super::{
    kinds::Kind,
    parameters::{Parameters, Profile},
    phases::Times,
    rate::RateCheck,
    workloads::{self, Layout},
};
use crate::{
    names::ClusterName,
    timeline::{Change, Entry, Event, Revision},
};

/// Default grace period of an eviction under Gracefully.
const GRACE: Duration = Duration::from_secs(600);

/// A workload without an event for this time will not move any more, unless it waits for its turn at a rate. Longer than the
/// grace period.
const AT_REST: Duration = Duration::from_secs(900);

/// Replicas of a workload that has moved without an event for this time will not be changed any more.
const FINAL: Duration = Duration::from_secs(3);

/// Follows the workloads of a run.
#[derive(Debug)]
pub struct Judge {
    profile: Profile,
    failing: Vec<ClusterName>,
    namespace: String,
    /// Set if the order of events on different clusters is known.
    is_exact: bool,
    failed_at: Option<Duration>,
    workloads: Vec<Workload>,
    /// The rate of each failing cluster, if there is one.
    rates: BTreeMap<ClusterName, RateCheck>,
    /// Time between two evictions from one cluster at the rate.
    turn: Duration,
    /// The last eviction.
    last_turn: Duration,
    violations: Violations,
    progress: Progress,
    revisions: u64,
}

/// Numbers of workloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Progress {
    /// Workloads whose replicas are all ready somewhere.
    pub placed: usize,
    /// Workloads with a copy on a member that failed.
    pub affected: usize,
    /// Affected workloads that are healthy elsewhere.
    pub healthy: usize,
    /// Affected workloads that are healthy elsewhere, with neither old copy nor task left.
    pub settled: usize,
}

impl Judge {
    /// A judge of a run in this namespace. `is_exact` says whether the order of events on different clusters is known.
    pub fn new(parameters: &Parameters, layout: &Layout, namespace: &str, is_exact: bool) -> Self {
        let check = |name: &ClusterName| Some((name.clone(), RateCheck::new(parameters.rate?)));
        let workload = |number| {
            let kind = layout.kind(number);
            Workload::new(kind, workloads::replicas(number, parameters.profile, kind))
        };
        Self {
            profile: parameters.profile,
            failing: layout.failing().to_vec(),
            namespace: namespace.to_owned(),
            is_exact,
            failed_at: None,
            workloads: (0..parameters.workloads).map(workload).collect(),
            rates: layout.failing().iter().filter_map(check).collect(),
            turn: parameters.rate.map_or(Duration::ZERO, |rate| {
                Duration::try_from_secs_f64(1.0 / rate).unwrap_or(Duration::MAX)
            }),
            last_turn: Duration::ZERO,
            violations: Violations::default(),
            progress: Progress::default(),
            revisions: 0,
        }
    }

    /// The members fail now. Workloads with a copy on one of them must move; all others must stay.
    pub fn fail(&mut self, at: Duration) {
        self.failed_at = Some(at);
        for workload in &mut self.workloads {
            let on_failing = |name: &ClusterName| self.failing.contains(name);
            workload.affected = workload.copies.keys().any(on_failing);
        }
        self.progress.affected = self.workloads.iter().filter(|it| it.affected).count();
    }

    /// When the members failed.
    pub fn failed_at(&self) -> Option<Duration> {
        self.failed_at
    }

    /// Takes the next entry of the timeline.
    pub fn take(&mut self, entry: &Entry) {
        let Event::Revision(revision) = &entry.event else {
            return;
        };
        self.revisions += 1;
        if !is_in(&revision.object, &self.namespace) {
            return;
        }
        if revision.kind == "ResourceBinding" {
            let of = |member: &str| text(&revision.object["spec"]["resource"], member);
            if revision.change != Change::Deleted
                && let Some(number) = self.workload(of("/kind"), of("/name"))
            {
                self.change(number, |this| this.binding(entry.at, number, &revision.object));
            }
        } else if let Some(number) = self.workload(&revision.kind, text(&revision.object, "/metadata/name")) {
            self.change(number, |this| this.copy(entry.at, number, revision));
        }
    }

    /// The number of the workload with this kind and name.
    fn workload(&self, kind: &str, name: &str) -> Option<usize> {
        let number = workloads::number(name)?;
        let workload = self.workloads.get(number)?;
        (workload.kind.name() == kind).then_some(number)
    }

    /// Carries out a change of a workload, and keeps the numbers of workloads up to date.
    fn change(&mut self, number: usize, with: impl FnOnce(&mut Self)) {
        let count = |of: &Self| {
            let workload = of.workloads.get(number)?;
            let is_healthy = workload.affected && workload.times.healthy.is_some();
            Some([
                workload.is_placed,
                is_healthy,
                workload.affected && of.is_settled(workload),
            ])
        };
        let Some(before) = count(self) else {
            return;
        };
        with(self);
        let after = count(self).unwrap_or(before);
        let progress = &mut self.progress;
        let numbers = [&mut progress.placed, &mut progress.healthy, &mut progress.settled];
        for (number, (before, after)) in numbers.into_iter().zip(before.into_iter().zip(after)) {
            *number = *number + usize::from(after) - usize::from(before);
        }
    }

    /// A revision of a workload, or of one of its copies.
    fn copy(&mut self, at: Duration, number: usize, revision: &Revision) {
        let Some(workload) = self.workloads.get_mut(number) else {
            return;
        };
        if revision.cluster.is_control() {
            workload.times.created.get_or_insert(at);
            return;
        }
        let cluster = &revision.cluster;
        workload.last = at;
        match revision.change {
            Change::Deleted => {
                workload.copies.remove(cluster);
                workload.tell(at, || format!("copy on {cluster} gone"));
                self.copy_gone(at, number, cluster);
            }
            Change::Added | Change::List | Change::Modified => {
                let is_new = !workload.copies.contains_key(cluster);
                let is_ready = is_ready(workload.kind, &revision.object);
                workload.copies.insert(cluster.clone(), is_ready);
                if is_new {
                    workload.times.placed.get_or_insert(at);
                    workload.tell(at, || format!("copy on {cluster} created"));
                    self.copy_created(at, number, revision);
                }
            }
        }
    }

    fn copy_gone(&mut self, at: Duration, number: usize, cluster: &ClusterName) {
        let workload = &mut self.workloads[number];
        if self.failed_at.is_none() {
            return;
        }
        if !workload.affected {
            let seen = format!("its copy on {cluster} was removed");
            self.violations
                .add(Broken::MovedWithoutNeed, number, at, workload, seen);
            return;
        }
        let is_last = !workload.copies.keys().any(|name| self.failing.contains(name));
        if self.failing.contains(cluster) && is_last {
            workload.times.gone = Some(at);
            let within_grace = workload.times.task.is_none_or(|task| at < task + GRACE);
            let has_other = workload.times.healthy.is_some() || workload.copies.values().any(|ready| *ready);
            if self.profile == Profile::Gracefully && self.is_exact && within_grace && !has_other {
                let seen = format!("its copy on {cluster} was removed while no other copy was ready");
                self.violations.add(Broken::GoneTooEarly, number, at, workload, seen);
            }
        }
    }

    fn copy_created(&mut self, at: Duration, number: usize, revision: &Revision) {
        let workload = &mut self.workloads[number];
        let cluster = &revision.cluster;
        if self.failed_at.is_none() || !workload.affected || self.failing.contains(cluster) {
            return;
        }
        let is_first = workload.times.new.is_none();
        workload.times.new.get_or_insert(at);
        if self.profile != Profile::Directly {
            return;
        }
        let old = workload.copies.keys().find(|name| self.failing.contains(name));
        if let Some(old) = old.filter(|_| self.is_exact) {
            let seen = format!("created on {cluster} while its copy on {old} was still there");
            self.violations.add(Broken::TwoCopies, number, at, workload, seen);
        }
        // Copies that are created anew, once the migration is over, need no state.
        if !is_first {
            return;
        }
        for (rule, expected) in workload.kind.state_rules().iter().zip(&workload.collected.values) {
            let label = rule.label;
            let labels = &revision.object["metadata"]["labels"];
            let value = labels.get(label).and_then(Value::as_str);
            match value {
                None if !expected.is_empty() => {
                    let seen = format!("created on {cluster} without the label {label}");
                    self.violations.add(Broken::LabelMissing, number, at, workload, seen);
                }
                Some(value) if !expected.is_empty() && !expected.contains(value) => {
                    let seen = format!("created on {cluster} with {label}={value}, and {expected:?} was collected");
                    self.violations.add(Broken::LabelWrong, number, at, workload, seen);
                }
                None | Some(_) => {}
            }
        }
    }

    fn binding(&mut self, at: Duration, number: usize, object: &Value) {
        let Some(workload) = self.workloads.get_mut(number) else {
            return;
        };
        let bound = Bound::read(object, workload.kind);
        workload.last = at;
        if workload.times.task.is_none() {
            for failing in &self.failing {
                workload.collected.learn(&bound, failing);
            }
        }
        let is_well = bound.ready_on_result() >= workload.replicas;
        if self.failed_at.is_none() {
            workload.is_placed = is_well;
        } else if workload.affected {
            self.affected_binding(at, number, &bound, is_well);
        } else if bound.has_tasks() || bound.clusters() != workload.bound.clusters() {
            let seen = format!("its binding names {}", bound.words());
            self.violations
                .add(Broken::MovedWithoutNeed, number, at, workload, seen);
        }
        let workload = &mut self.workloads[number];
        if bound.clusters() != workload.bound.clusters() || bound.tasks != workload.bound.tasks {
            workload.tell(at, || format!("binding names {}", bound.words()));
        }
        workload.bound = bound;
    }

    fn affected_binding(&mut self, at: Duration, number: usize, bound: &Bound, is_well: bool) {
        let workload = &mut self.workloads[number];
        let failing: Vec<ClusterName> = self.failing.clone();
        for cluster in &failing {
            let is_new = bound.tasks.contains(cluster) && !workload.bound.tasks.contains(cluster);
            if is_new && workload.had_task.insert(cluster.clone()) {
                workload.times.task.get_or_insert(at);
                self.last_turn = at;
                let too_early = self.rates.get_mut(cluster).is_some_and(|rate| rate.is_too_early(at));
                if too_early {
                    let seen = format!("its eviction from {cluster} came before the rate allows it");
                    self.violations.add(Broken::RateExceeded, number, at, workload, seen);
                }
            }
            let left = workload.bound.names(cluster) && !bound.names(cluster);
            if left && !workload.had_task.contains(cluster) {
                let seen = format!("{cluster} left spec.clusters without a task");
                self.violations
                    .add(Broken::MovedWithoutTask, number, at, workload, seen);
            }
        }
        let elsewhere = !failing.iter().any(|it| bound.names(it));
        if is_well && elsewhere && workload.times.healthy.is_none() {
            workload.times.healthy = Some(at);
            workload.tell(at, || "healthy elsewhere".to_owned());
        }
    }

    /// Numbers of workloads.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    fn is_settled(&self, workload: &Workload) -> bool {
        let on_failing = workload.copies.keys().any(|name| self.failing.contains(name));
        workload.times.healthy.is_some() && !on_failing && !workload.bound.has_tasks()
    }

    /// Judges what is left at the end. Workloads on the way are not judged: whether nothing will happen any more is known
    /// only where the order is exact and nothing has happened for a long time. A sum of replicas is final as soon as the run
    /// is complete and nothing has happened for some seconds.
    pub fn finish(&mut self, now: Duration, is_complete: bool) {
        for number in 0..self.workloads.len() {
            let workload = &self.workloads[number];
            if !workload.affected {
                continue;
            }
            let waits_from = match workload.times.task {
                Some(_) => workload.last,
                None => workload.last.max(self.last_turn).saturating_add(self.turn),
            };
            let quiet = now.saturating_sub(waits_from);
            let at_rest = self.is_exact && quiet >= AT_REST;
            let is_final = at_rest || (is_complete && quiet >= FINAL);
            let total = workload.bound.total();
            let (broken, seen) = if workload.times.healthy.is_none() {
                (
                    Broken::NeverMoved,
                    "nothing happens any more, and it is not healthy elsewhere".to_owned(),
                )
            } else if let Some(left) = workload.copies.keys().find(|it| self.failing.contains(it)) {
                (Broken::CopyLeft, format!("its copy on {left} is still there"))
            } else if workload.bound.has_tasks() {
                (
                    Broken::TaskLeft,
                    format!("its binding still names {}", workload.bound.words()),
                )
            } else if self.profile == Profile::Divided && total != workload.replicas {
                let seen = format!(
                    "its result has {total} replicas, and the workload {}",
                    workload.replicas
                );
                (Broken::ReplicasLost, seen)
            } else {
                continue;
            };
            if at_rest || (is_final && broken == Broken::ReplicasLost) {
                self.violations.add(broken, number, now, workload, seen);
            }
        }
    }

    /// Violations so far.
    pub fn violations(&self) -> &Violations {
        &self.violations
    }

    /// Times of the workloads that had to move, or of all before members fail.
    pub fn times(&self) -> impl Iterator<Item = &Times> {
        let all = self.failed_at.is_none();
        self.workloads
            .iter()
            .filter(move |it| all || it.affected)
            .map(|it| &it.times)
    }

    /// Names of the first workloads that are not settled, or not placed before members fail.
    pub fn missing(&self, most: usize) -> Vec<String> {
        let is_missing = |workload: &Workload| match self.failed_at {
            None => !workload.is_placed,
            Some(_) => workload.affected && !self.is_settled(workload),
        };
        let numbered = self.workloads.iter().enumerate();
        let missing = numbered.filter(|(_, it)| is_missing(it));
        missing.map(|(number, _)| workloads::name(number)).take(most).collect()
    }

    /// Number of revisions that were judged.
    pub fn revisions(&self) -> u64 {
        self.revisions
    }

    /// Rules that could not be judged, as sentences.
    pub fn not_judged(&self) -> Vec<String> {
        if self.is_exact {
            return Vec::new();
        }
        let what = match self.profile {
            Profile::Directly => "whether two copies were there at the same time",
            Profile::Gracefully => "whether the old copy stayed until the new one was ready",
            Profile::Divided => return Vec::new(),
        };
        vec![format!(
            "{what}: the order of events on different clusters is not known"
        )]
    }
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn is_in(object: &Value, namespace: &str) -> bool {
    text(object, "/metadata/namespace") == namespace
}

/// Checks whether all replicas of a copy are ready, as its cluster reports.
fn is_ready(kind: Kind, copy: &Value) -> bool {
    let wanted = copy["spec"]["replicas"].as_u64().unwrap_or(1);
    wanted > 0 && kind.ready(&copy["status"]) >= wanted
}
