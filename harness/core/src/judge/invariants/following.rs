//! The purge mode and the grace period that an eviction task takes over from the policy.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    Found, History, blaming, causes,
    excuses::{ASKED_BY, is_set_aside},
    failing::MODE,
    finding,
    instances::Target,
};
use crate::{
    case::model::Invariant,
    judge::{
        DifferenceKind, Finding,
        failovers::{DEFAULT_MODE, Task},
        order::Placed,
    },
    plan::Plan,
    timeline::{Event, ObjectId},
};

/// POL-05, PRG-08, APP-07, GRE-05: a task has the purge mode of the policy, or of the option where no policy has one, and no
/// other grace period than that of the policy. Each value that the binding had until then is accepted: which of them counts
/// after an edit is the business of cases.
pub(super) fn follows(history: &History<'_>, target: &Target<'_>, plan: Option<&Plan>) -> Found {
    let mut found = Found::default();
    for task in &history.tasks {
        let Some(written) = history.written(task).filter(|it| target.wrote(it.1) == Some(true)) else {
            continue;
        };
        let Some(kind) = causes::failure_kind(history, written.1, task) else {
            continue;
        };
        let Some(asked) = Asked::of(history, task, kind, plan).filter(|_| !is_set_aside(written)) else {
            continue;
        };
        found.judged += 1;
        found.findings.extend(asked.mode_differs(task, written));
        found.findings.extend(asked.period_differs(task, written));
    }
    found
}

/// Settings of policies, or of an option, for evictions of one kind.
struct Asked {
    /// The purge modes, in their present spelling.
    modes: BTreeSet<String>,
    /// The values of `gracePeriodSeconds`.
    periods: BTreeSet<u64>,
    /// The requirement that a task with another mode breaks.
    mode_by: &'static str,
    /// The requirement that a task with another period breaks.
    period_by: &'static str,
}

impl Asked {
    /// Returns the settings that a binding had until a task was written. `None` if there were none.
    fn of(history: &History<'_>, task: &Task, kind: &str, plan: Option<&Plan>) -> Option<Self> {
        let pointer = format!("/spec/failover/{kind}");
        let until = history.binding_of(task);
        let until = &until[..until.partition_point(|it| it.0.seq <= task.written.seq)];
        let said: Vec<Option<&Value>> = until
            .iter()
            .map(|it| it.1.object.pointer(&pointer).filter(|it| !it.is_null()))
            .collect();
        let (mode_by, period_by) = if kind == "cluster" {
            ("POL-05", "GRE-05")
        } else {
            ("APP-07", "APP-07")
        };
        let told: Vec<&Value> = said.iter().flatten().copied().collect();
        if told.is_empty() {
            // A policy may say what the binding does not repeat.
            let option = plan.and_then(|plan| plan.controller.options.get(MODE));
            let option = option.filter(|_| kind == "cluster" && !is_in_a_policy(history, &pointer))?;
            return Some(Self {
                modes: BTreeSet::from([present(option).to_owned()]),
                periods: BTreeSet::new(),
                mode_by: "PRG-08",
                period_by,
            });
        }
        if told.len() < said.len() {
            return None;
        }
        let mode =
            |it: &&Value| present(it.get("purgeMode").and_then(Value::as_str).unwrap_or(DEFAULT_MODE)).to_owned();
        let period = |it: &&Value| it.get("gracePeriodSeconds").and_then(Value::as_u64);
        Some(Self {
            modes: told.iter().map(mode).collect(),
            periods: told.iter().filter_map(period).collect(),
            mode_by,
            period_by,
        })
    }

    /// The finding about a mode that nothing asks for. A task need not name its mode in order to follow it.
    fn mode_differs(&self, task: &Task, written: Placed<'_>) -> Option<Finding> {
        let mode = present(&task.purge_mode);
        let differs = !mode.is_empty() && !self.modes.contains(mode);
        let expected = || self.modes.iter().cloned().collect::<Vec<_>>().join(" or ");
        differs.then(|| {
            let told = about(task, written, "purgeMode", &expected(), task.purge_mode.clone());
            blaming(told, self.mode_by)
        })
    }

    /// The finding about a grace period other than that of the policy.
    fn period_differs(&self, task: &Task, written: Placed<'_>) -> Option<Finding> {
        let tasks = written.1.object.pointer("/spec/gracefulEvictionTasks")?.as_array()?;
        let of_task = tasks.iter().find(|it| it["fromCluster"] == task.from.as_str())?;
        let period = of_task.get("gracePeriodSeconds")?.as_u64()?;
        let differs = !self.periods.is_empty() && !self.periods.contains(&period);
        let expected = || {
            let all: Vec<String> = self.periods.iter().map(ToString::to_string).collect();
            all.join(" or ")
        };
        differs.then(|| {
            let told = about(task, written, "gracePeriodSeconds", &expected(), period.to_string());
            blaming(told, self.period_by)
        })
    }
}

fn about(task: &Task, written: Placed<'_>, field: &str, asked: &str, seen: String) -> Finding {
    let expected = format!("{field} {asked} in the task from {}, as the policy says", task.from);
    let told = finding(
        Invariant::TaskFollowsPolicy,
        written.0,
        Some(task.binding.clone()),
        expected,
        seen,
    );
    Finding {
        field: Some(format!("spec.gracefulEvictionTasks[].{field}")),
        kind: DifferenceKind::Different,
        ..told
    }
}

/// A purge mode in its present spelling (POL-06).
fn present(mode: &str) -> &str {
    match mode {
        "Immediately" => "Directly",
        "Graciously" => "Gracefully",
        mode => mode,
    }
}

/// Returns `true` if any policy of the run has a value there.
fn is_in_a_policy(history: &History<'_>, pointer: &str) -> bool {
    history.entries.iter().any(|entry| match &entry.event {
        Event::Revision(it) if ASKED_BY.contains(&ObjectId::of(it).kind.as_str()) => {
            it.object.pointer(pointer).is_some_and(|it| !it.is_null())
        }
        Event::Revision(_) | Event::Mark(_) => false,
    })
}
