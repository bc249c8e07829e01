//! How fast clusters are emptied.

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value;

use super::{Found, History, blaming, causes::is_by_taint, finding, taints};
use crate::{
    case::model::{Action, ControllerSetup, Fault, Invariant},
    judge::failovers::{Moment, Task},
    names::ClusterName,
    plan::Plan,
    timeline::{Change, Entry, Event, Mark, ObjectId},
};

/// How much a clock that has whole seconds, and an observer that hears a little later, may bring two tasks together.
const NEAR: Duration = Duration::from_secs(1);

/// Time after a change of the share of faulty clusters in which the old rate may still be in force.
const LATE: Duration = Duration::from_secs(2);

/// Values of the options; each has the default of the documents.
struct Options {
    normal: f64,
    secondary: f64,
    threshold: f64,
    large: f64,
}

impl Options {
    fn of(setup: &ControllerSetup) -> Self {
        let number = |name: &str, default: f64| {
            let given = setup.options.get(name).and_then(|text| text.parse().ok());
            given.unwrap_or(default)
        };
        Self {
            normal: number("resource-eviction-rate", 0.5),
            secondary: number("secondary-resource-eviction-rate", 0.1),
            threshold: number("unhealthy-cluster-threshold", 0.55),
            large: number("large-cluster-num-threshold", 10.0),
        }
    }

    /// Evictions a second, and the requirement that says so.
    fn rate(&self, clusters: &BTreeMap<ObjectId, [bool; 2]>, reading: usize) -> (f64, &'static str) {
        #[expect(clippy::cast_precision_loss, reason = "there are at most some dozens of clusters")]
        let count = |number: usize| number as f64;
        let all = count(clusters.len());
        let faulty = count(clusters.values().filter(|faulty| faulty[reading]).count());
        if all == 0.0 || faulty / all <= self.threshold {
            (self.normal, "RAT-01")
        } else if all > self.large {
            (self.secondary, "RAT-02")
        } else {
            (0.0, "RAT-03")
        }
    }
}

/// The rate from an entry on.
struct InForce {
    since: Moment,
    rate: f64,
    says: &'static str,
}

/// The rates in force. Whether a faulty cluster is one with a taint or one that is not ready, no document says: the
/// higher rate counts.
fn in_force(history: &History<'_>, options: &Options) -> Vec<InForce> {
    let mut clusters = BTreeMap::new();
    let mut rates: Vec<InForce> = Vec::new();
    for entry in history.entries {
        let Event::Revision(revision) = &entry.event else {
            continue;
        };
        if revision.kind != "Cluster" {
            continue;
        }
        let id = ObjectId::of(revision);
        if revision.change == Change::Deleted {
            clusters.remove(&id);
        } else {
            let tainted = taints::of(&revision.object)
                .iter()
                .any(|(_, effect)| matches!(effect.as_str(), "NoExecute" | "PreferNoExecute"));
            clusters.insert(id, [tainted, is_unready(&revision.object)]);
        }
        let (one, other) = (options.rate(&clusters, 0), options.rate(&clusters, 1));
        let (rate, says) = if one.0 >= other.0 { one } else { other };
        rates.push(InForce {
            since: entry.into(),
            rate,
            says,
        });
    }
    rates
}

fn is_unready(cluster: &Value) -> bool {
    let conditions = cluster.pointer("/status/conditions").and_then(Value::as_array);
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|it| it["type"] == "Ready" && it["status"] != "True")
}

/// RAT-01, RAT-02, RAT-03: of the evictions from one cluster no more begin in any time than the rate allows, the first
/// one being free; while evictions are stopped, none does.
pub(super) fn kept(history: &History<'_>, plan: Option<&Plan>) -> Found {
    let mut found = Found::default();
    // What is asked of a faster run is not asked of rates.
    let Some(plan) = plan.filter(|plan| (plan.time_factor - 1.0).abs() < f64::EPSILON) else {
        return found;
    };
    let options = Options::of(&plan.controller);
    // No document says what a rate of 0 means.
    if options.normal <= 0.0 {
        return found;
    }
    let rates = in_force(history, &options);
    let restarts = restarts(history, plan);
    let other_setup = history.entries.iter().find_map(|entry| match &entry.event {
        Event::Mark(Mark::StepStarted { step, .. }) => {
            let action = plan.steps.get(*step).map(|step| &step.action);
            matches!(action, Some(Action::Start(_))).then_some(entry.seq)
        }
        Event::Mark(_) | Event::Revision(_) => None,
    });
    let mut of_clusters: BTreeMap<&ClusterName, Vec<&Task>> = BTreeMap::new();
    for task in &history.tasks {
        let by_taint = history
            .written(task)
            .is_some_and(|(_, revision)| is_by_taint(history, revision, task));
        if by_taint && other_setup.is_none_or(|seq| task.written.seq < seq) {
            of_clusters.entry(&task.from).or_default().push(task);
        }
    }
    for tasks in of_clusters.values() {
        for tasks in runs(tasks, &restarts) {
            found.judged += tasks.len();
            if let Some((task, rate, seen)) = stopped(tasks, &rates).or_else(|| too_many(tasks, &rates)) {
                tell(history, task, rate, seen, &mut found);
            }
        }
    }
    found
}

/// When instances of the implementation began anew, which need not know when the one before them did something, and
/// when its requests began or ceased to fail or to take longer: what it had decided one after the other may be written
/// at once.
fn restarts(history: &History<'_>, plan: &Plan) -> Vec<Restart> {
    let begins = |step: usize| {
        let action = plan.steps.get(step).map(|step| &step.action);
        matches!(
            action,
            Some(Action::Inject(
                Fault::StopController
                    | Fault::StopControllerAfter(_)
                    | Fault::StartController
                    | Fault::AddController(_)
                    | Fault::CrashController(_)
                    | Fault::CutOff(_)
                    | Fault::Heal(_)
                    | Fault::Fail(..)
                    | Fault::Delay(..)
            ))
        )
    };
    let restart = |entry: &Entry| {
        let until = match &entry.event {
            Event::Mark(Mark::StepStarted { step, .. } | Mark::StepEnded { step, .. }) if begins(*step) => entry.at,
            // It is noted before the write that it happens at, which may be an eviction and may be seen late.
            Event::Mark(Mark::Moved { .. }) => entry.at + LATE,
            Event::Mark(_) | Event::Revision(_) => return None,
        };
        Some(Restart {
            since: entry.into(),
            until,
        })
    };
    history.entries.iter().filter_map(restart).collect()
}

/// A time in which what one instance of the implementation did ends, and what the next one does begins.
struct Restart {
    since: Moment,
    until: Duration,
}

/// The tasks between which nothing began anew.
fn runs<'a, 't>(tasks: &'a [&'t Task], restarts: &[Restart]) -> Vec<&'a [&'t Task]> {
    let apart = |one: &&Task, next: &&Task| {
        restarts.iter().any(|restart| {
            restart.since.seq < next.written.seq
                && (one.written.seq <= restart.since.seq || one.written.at <= restart.until)
        })
    };
    tasks.chunk_by(|one, next| !apart(one, next)).collect()
}

/// A task that was written though evictions had been stopped for a while.
fn stopped<'t, 'r>(tasks: &[&'t Task], rates: &'r [InForce]) -> Option<(&'t Task, &'r InForce, String)> {
    tasks.iter().find_map(|task| {
        let until = rates.partition_point(|it| it.since.seq <= task.written.seq);
        let off = rates[..until].iter().rev().take_while(|it| it.rate == 0.0).last();
        let off = off.filter(|it| it.since.at + LATE < task.written.at)?;
        let for_secs = (task.written.at.saturating_sub(off.since.at)).as_secs_f64();
        Some((
            *task,
            off,
            format!("a task after {for_secs:.0} s in which there was to be none"),
        ))
    })
}

/// More tasks in some time than the highest rate in it allows.
fn too_many<'t, 'r>(tasks: &[&'t Task], rates: &'r [InForce]) -> Option<(&'t Task, &'r InForce, String)> {
    for (index, first) in tasks.iter().enumerate() {
        let after = rates.partition_point(|it| it.since.at <= first.written.at).max(1) - 1;
        let mut next = after;
        let mut highest = rates.get(after)?;
        for (count, last) in (2_u32..).zip(&tasks[index + 1..]) {
            while let Some(rate) = rates.get(next).filter(|it| it.since.at <= last.written.at) {
                if rate.rate >= highest.rate {
                    highest = rate;
                }
                next += 1;
            }
            let time = last.written.at.saturating_sub(first.written.at);
            let most = 1.0 + highest.rate * (time + NEAR).as_secs_f64();
            if f64::from(count) > most + 1e-6 {
                let seen = format!("{count} of them in {:.3} s", time.as_secs_f64());
                return Some((last, highest, seen));
            }
        }
    }
    None
}

fn tell(history: &History<'_>, task: &Task, rate: &InForce, seen: String, found: &mut Found) {
    let Some((entry, _)) = history.written(task) else {
        return;
    };
    let told = finding(
        Invariant::EvictionRateKept,
        entry,
        Some(task.binding.clone()),
        if rate.rate < 1.0 {
            let secs = (1e3 / rate.rate).round() / 1e3;
            format!("at most one eviction every {secs} s from {}", task.from)
        } else {
            format!("at most {} evictions a second from {}", rate.rate, task.from)
        },
        seen,
    );
    found.findings.push(blaming(told, rate.says));
}
