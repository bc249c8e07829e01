//! Finds out from the timeline of a canary failover which features of the target work.

use std::collections::BTreeMap;

use baton_core::{
    case::model::{Action, Expect},
    cause,
    judge::failovers,
    names::{ClusterName, RequirementId, RoleName},
    plan::Plan,
    select::BINDING_KINDS,
    timeline::{Change, Entry, Mark, Revision, StepEnd, Timeline, World},
    workload::Workload,
};

/// Alias that the canary's policy gives to its state.
pub const ALIAS: &str = "baton.dev/canary";

/// State of the canary: its number of replicas.
const STATE: &str = "2";

/// Kind and name of the canary.
const WORKLOAD: (&str, &str) = ("Deployment", "baton-canary");

/// Stage of a failover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// A policy brings a workload to a member.
    Propagation,
    /// A taint leads to an eviction task.
    Eviction,
    /// The task holds the workload's state.
    Preservation,
    /// The new copy is created with the state in its labels.
    Injection,
}

impl Stage {
    /// Features that the stage needs; it proves the first of them.
    pub fn features(self) -> &'static [&'static str] {
        match self {
            Self::Propagation => &["Propagation"],
            Self::Eviction => &["NoExecuteEviction", "FailoverGate"],
            Self::Preservation => &["StatePreservation", "StatefulInjectionGate"],
            Self::Injection => &["LabelInjection", "StatefulInjectionGate"],
        }
    }

    /// Requirement that the stage proves.
    pub fn requirement(self) -> RequirementId {
        RequirementId::new(match self {
            Self::Propagation => "POL-02",
            Self::Eviction => "TNT-01",
            Self::Preservation => "STP-01",
            Self::Injection => "REC-01",
        })
    }
}

/// Result of checking a timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sign {
    /// All expected stages happened.
    Fine,
    /// The stage did not happen, after everything before it; with a description.
    Absent(Stage, String),
    /// Another problem; with a description.
    Wrong(String),
}

/// Checks the timeline of the canary; `expects` returns `true` for stages that should happen.
pub fn look(plan: &Plan, timeline: &Timeline, expects: &dyn Fn(Stage) -> bool) -> Sign {
    let Some((step, end)) = ended_badly(timeline) else {
        return carried_along(timeline, expects);
    };
    let more = match end {
        StepEnd::TimedOut { .. } => circumstances(timeline),
        _ => String::new(),
    };
    match stopped(plan, timeline, step, end) {
        Sign::Fine => Sign::Fine,
        Sign::Absent(stage, seen) => Sign::Absent(stage, seen + &more),
        Sign::Wrong(seen) => Sign::Wrong(seen + &more),
    }
}

/// Describes possible causes of a step that timed out: members to which nothing can be scheduled, and other causes on
/// the timeline.
fn circumstances(timeline: &Timeline) -> String {
    let mut told = vec![String::new()];
    told.extend(cause::unfit_members(&World::after(timeline.entries())));
    told.extend(cause::of_timeout(timeline).map(|cause| format!("likely cause: {}", cause.text)));
    told.join("\n")
}

fn ended_badly(timeline: &Timeline) -> Option<(usize, &StepEnd)> {
    timeline.marks().find_map(|(_, mark)| match mark {
        Mark::StepEnded { step, end } if *end != StepEnd::Done => Some((*step, end)),
        _ => None,
    })
}

/// Describes the step that did not end well.
fn stopped(plan: &Plan, timeline: &Timeline, step: usize, end: &StepEnd) -> Sign {
    let Some(step) = plan.steps.get(step) else {
        return Sign::Wrong("the run ended early".to_owned());
    };
    let waited = match end {
        StepEnd::Done => return Sign::Fine,
        StepEnd::TimedOut { waited_secs, .. } | StepEnd::GivenUp { waited_secs, .. } => {
            format!("within {waited_secs} s")
        }
        StepEnd::Refused { message } => return Sign::Wrong(format!("{}: refused: {message}", step.action)),
        StepEnd::TargetEnded => return Sign::Wrong(format!("the target exited: {}", status(timeline))),
        StepEnd::Unsupported { reason } => return Sign::Wrong(format!("{}: unsupported: {reason}", step.action)),
        StepEnd::HotLoop(hot) => return Sign::Wrong(hot.to_string()),
    };
    let origin = RoleName::new("origin");
    if let Some(cluster) = timeline.role(&origin).filter(|_| !had_copy(timeline, &origin)) {
        let (kind, name) = WORKLOAD;
        return Sign::Wrong(format!(
            "no {kind} {name} was ever seen on {cluster}: a copy has the kind, the namespace and the name of its template"
        ));
    }
    if let (None, Some(other)) = (binding(timeline), binding_of_another(timeline)) {
        let (kind, name) = WORKLOAD;
        return Sign::Wrong(format!(
            "a policy for {kind} {name} led to no binding with that in `spec.resource` {waited}, but to {other}"
        ));
    }
    match &step.action {
        Action::BindRole { role, .. } if *role == origin => Sign::Absent(
            Stage::Propagation,
            match binding(timeline) {
                None => format!("a policy for a Deployment led to no binding {waited}"),
                Some(kind) => format!("a policy for a Deployment led to a {kind}, but to no cluster in it {waited}"),
            },
        ),
        Action::BindRole { .. } => Sign::Wrong(format!(
            "the workload was evicted, but not scheduled to another member {waited}"
        )),
        Action::Wait { until, .. } => match &until.expect {
            Expect::Absent if failovers::tasks(timeline.entries()).is_empty() => {
                let origin = timeline.role(&origin).map_or("its cluster", ClusterName::as_str);
                let seen = format!("a NoExecute taint on {origin} led to no eviction task {waited}");
                Sign::Absent(Stage::Eviction, seen)
            }
            Expect::Absent => Sign::Wrong(format!(
                "an eviction task was written, but the old copy was not removed {waited}"
            )),
            Expect::Present => Sign::Wrong(format!("the old copy was removed, but no new one was created {waited}")),
            Expect::Match(_) if has_status(timeline) => Sign::Wrong(format!(
                "the workload's status got into its binding, but not that it is Healthy {waited}: cases wait for \
                 `status.aggregatedStatus[].health`, or for the health in the status of its Work"
            )),
            Expect::Match(_) | Expect::NoMatch(_) | Expect::Count(_) => Sign::Wrong(format!(
                "the workload's status did not get from the member into its binding {waited}"
            )),
        },
        other => Sign::Wrong(format!("{other}: not {waited}")),
    }
}

/// Describes a new binding that is for another workload than the canary.
fn binding_of_another(timeline: &Timeline) -> Option<String> {
    let mut made = timeline
        .revisions()
        .filter(|(_, revision)| BINDING_KINDS.contains(&revision.kind.as_str()) && revision.change == Change::Added);
    let (_, revision) = made.next()?;
    let workload = Workload::of_binding(&revision.object);
    Some(format!("a {} of {workload}", revision.kind))
}

/// Returns `true` if the canary ever existed on the cluster of a role.
fn had_copy(timeline: &Timeline, role: &RoleName) -> bool {
    let cluster = timeline.role(role);
    timeline.revisions().any(|(_, revision)| {
        Some(&revision.cluster) == cluster
            && revision.kind == WORKLOAD.0
            && revision.object.pointer("/metadata/name").and_then(|it| it.as_str()) == Some(WORKLOAD.1)
    })
}

/// Returns `true` if the status of the workload has reached the canary's binding.
fn has_status(timeline: &Timeline) -> bool {
    let bindings = timeline
        .revisions()
        .filter(|(_, revision)| BINDING_KINDS.contains(&revision.kind.as_str()));
    let mut statuses = bindings.filter_map(|(_, it)| it.object.pointer("/status/aggregatedStatus")?.as_array());
    statuses.any(|items| items.iter().any(|item| item["status"]["readyReplicas"] == 2))
}

/// Returns the kind of the canary's binding; `None` if there is no binding.
fn binding(timeline: &Timeline) -> Option<String> {
    let bindings = timeline
        .revisions()
        .filter(|(_, revision)| BINDING_KINDS.contains(&revision.kind.as_str()));
    let mut of_canary = bindings.filter(|(_, revision)| {
        let workload = Workload::of_binding(&revision.object);
        (workload.kind.as_str(), workload.name.as_str()) == WORKLOAD
    });
    of_canary.next().map(|(_, revision)| revision.kind.clone())
}

fn status(timeline: &Timeline) -> &str {
    let ended = timeline.marks().find_map(|(_, mark)| match mark {
        Mark::TargetEnded { status, .. } => Some(status.as_str()),
        _ => None,
    });
    ended.unwrap_or_default()
}

/// Describes the state of the canary that its new copy got only after it was created; `None` if it had it from the start,
/// or never.
pub fn late_label(timeline: &Timeline) -> Option<String> {
    let (created, first) = revisions_of_new_copy(timeline).next()?;
    if state_of(first).is_some() {
        return None;
    }
    let late = revisions_of_new_copy(timeline).find(|(_, revision)| state_of(revision) == Some(STATE));
    let (entry, _) = late?;
    let after = entry.at.saturating_sub(created.at).as_secs_f64();
    Some(format!(
        "{}: the new copy got the label {ALIAS}={STATE} only {after:.3} s after it was created\n  moment    {:.3} s, entry {}",
        Stage::Injection.requirement(),
        entry.at.as_secs_f64(),
        entry.seq
    ))
}

/// Returns the revisions of the new copy.
fn revisions_of_new_copy(timeline: &Timeline) -> impl Iterator<Item = (&Entry, &Revision)> {
    let destination = timeline.role(&RoleName::new("destination"));
    timeline.revisions().filter(move |(_, revision)| {
        Some(&revision.cluster) == destination
            && revision.change != Change::Deleted
            && revision.kind == WORKLOAD.0
            && revision.object.pointer("/metadata/name").and_then(|it| it.as_str()) == Some(WORKLOAD.1)
    })
}

/// Returns the state of the canary in the labels of a copy.
fn state_of(revision: &Revision) -> Option<&str> {
    revision.object.pointer("/metadata/labels")?.get(ALIAS)?.as_str()
}

/// Checks what the workload took along after it has moved.
fn carried_along(timeline: &Timeline, expects: &dyn Fn(Stage) -> bool) -> Sign {
    let tasks = failovers::tasks(timeline.entries());
    let Some(task) = tasks.first() else {
        return Sign::Wrong("the workload moved, but no eviction task was written".to_owned());
    };
    let injected = labels_of_new_copy(timeline);
    let found = [
        (Stage::Preservation, "the eviction task", "preserves", &task.state),
        (Stage::Injection, "the new copy", "has the label", &injected),
    ];
    for (stage, what, does, state) in found.into_iter().filter(|(stage, ..)| expects(*stage)) {
        match state.get(ALIAS).map(String::as_str) {
            Some(STATE) => {}
            Some(other) => {
                let seen = format!("{what} {does} {ALIAS}={other}, expected {STATE}");
                return Sign::Wrong(seen);
            }
            // The cases judge the moment.
            None if stage == Stage::Injection && late_label(timeline).is_some() => {}
            None => {
                let seen = format!("the workload moved, but {what} has none of its state");
                return Sign::Absent(stage, seen);
            }
        }
    }
    Sign::Fine
}

/// Returns the labels with which the new copy was created.
fn labels_of_new_copy(timeline: &Timeline) -> BTreeMap<String, String> {
    let first = revisions_of_new_copy(timeline).next();
    let labels = first.and_then(|(_, revision)| revision.object.pointer("/metadata/labels")?.as_object());
    let pair = |(key, value): (&String, &serde_json::Value)| Some((key.clone(), value.as_str()?.to_owned()));
    labels.into_iter().flatten().filter_map(pair).collect()
}
