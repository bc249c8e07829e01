//! Variants of a case: without the assertions that depend on time, and with moves.

use std::{collections::BTreeSet, ops::Range, time::Duration};

use serde_json::{Value, json};

use crate::{
    case::model::{Action, Case, Invariant, Move, Place},
    digest::Digest,
    timeline::{Event, Mark, Timeline},
    yaml::{decode::parse_duration, plain},
};

/// Steps that only look, and would blame an implementation for the time that a fault takes.
const LOOKS: [&str; 2] = ["assert", "snapshot"];

/// Longest time in which everything settles after the last move, without the periods of the case. It is longer than the judge
/// allows.
const SETTLES: Duration = Duration::from_secs(660);

/// A case that an exploration varies.
#[derive(Debug, Clone, PartialEq)]
pub struct Base {
    /// Name of the case.
    name: String,
    /// The file, without assertions and snapshots.
    root: Value,
    /// Number of the first planned step of each step of the file.
    first_planned: Vec<usize>,
    /// Set if the last step waits until everything has settled.
    settles: bool,
}

/// A finding as the title of a case.
#[derive(Debug, Clone)]
pub struct Title<'a> {
    /// Invariant that was broken.
    pub invariant: Invariant,
    /// Set if the case has the features that all requirements of the invariant need, so that the case may be about it.
    /// Otherwise a run of the case shows the finding without being about it.
    pub is_covered: bool,
    /// Comment above the case, one line each.
    pub comment: &'a [String],
}

impl Base {
    /// The case `root`, whose scenario has been filled in, for a timeline of a run without moves. Each assertion becomes the
    /// time that it took, so that later steps happen when they happened then.
    pub fn new(case: &Case, root: &Value, timeline: &Timeline, settles: bool) -> Self {
        let took = durations(timeline);
        let mut root = root.clone();
        let steps = root.pointer("/spec/steps").and_then(Value::as_array).cloned();
        let mut kept = Vec::new();
        let mut planned = 0;
        for (step, node) in case.steps.iter().zip(steps.unwrap_or_default()) {
            let count = planned_steps(&step.action);
            let is_look = node
                .as_object()
                .is_some_and(|it| it.keys().any(|key| LOOKS.contains(&key.as_str())));
            let time: Duration = (planned..planned + count).filter_map(|it| took.get(it)).sum();
            planned += count;
            if !is_look {
                kept.push((count, node));
            } else if !time.is_zero() {
                kept.push((1, elapse(time)));
            }
        }
        let used = |name: &str| kept.iter().any(|(_, node)| mentions(node, &format!("${{{name}}}")));
        let is_needed = |node: &Value| match node.pointer("/capture/name").and_then(Value::as_str) {
            Some(name) => used(name),
            None => true,
        };
        let needed: Vec<(usize, Value)> = kept.iter().filter(|(_, node)| is_needed(node)).cloned().collect();
        let mut first_planned = Vec::new();
        let mut planned = 0;
        for (count, _) in &needed {
            first_planned.push(planned);
            planned += count;
        }
        let mut steps: Vec<Value> = needed.into_iter().map(|(_, node)| node).collect();
        if settles {
            let most = SETTLES + longest_option(case).saturating_mul(2);
            steps.push(json!({"settle": format!("{}s", most.as_secs())}));
            first_planned.push(planned);
        }
        root["spec"]["steps"] = Value::Array(steps);
        root["spec"]["features"] = json!(case.features);
        if let Some(spec) = root["spec"].as_object_mut() {
            for name in ["requirements", "invariants", "scenarios"] {
                spec.remove(name);
            }
        }
        Self {
            name: case.id.to_string(),
            root,
            first_planned,
            settles,
        }
    }

    /// Returns true if a step up to this one taints a cluster with the effect `NoExecute`.
    pub fn taints_until(&self, step: usize) -> bool {
        let steps = self.root.pointer("/spec/steps").and_then(Value::as_array);
        let mut until = steps.into_iter().flatten().take(step + 1);
        until.any(|node| node.pointer("/taint/effect").is_some_and(|it| it == "NoExecute"))
    }

    /// A step of the file as one line of JSON; empty if there is none with this number.
    pub fn step_text(&self, step: usize) -> String {
        let found = self.root.pointer(&format!("/spec/steps/{step}"));
        found.map(Value::to_string).unwrap_or_default()
    }

    /// Number of steps that a smaller case may lack: all but the wait until everything has settled.
    pub fn removable_steps(&self) -> usize {
        self.first_planned.len() - usize::from(self.settles)
    }

    /// The case without the steps of a range. It may be invalid: a later step may need one of them.
    #[must_use]
    pub fn without_steps(&self, left_out: Range<usize>) -> Self {
        let mut smaller = self.clone();
        if let Some(steps) = smaller.root.pointer_mut("/spec/steps").and_then(Value::as_array_mut) {
            let mut number = 0..;
            steps.retain(|_| number.next().is_none_or(|number| !left_out.contains(&number)));
        }
        let mut number = 0..;
        smaller
            .first_planned
            .retain(|_| number.next().is_none_or(|number| !left_out.contains(&number)));
        smaller
    }

    /// Number of the step in the file that a planned step belongs to, from 0.
    pub fn step_of(&self, planned: usize) -> usize {
        self.first_planned
            .partition_point(|first| *first <= planned)
            .saturating_sub(1)
    }

    /// The file with these moves, each before a step. All names of files below `cases/` differ from `name`.
    pub fn with(&self, name: &str, moves: &[(usize, Move)], title: Option<&Title<'_>>) -> String {
        let mut root = self.root.clone();
        root["metadata"] = json!({"name": name});
        if let Some(steps) = root.pointer_mut("/spec/steps").and_then(Value::as_array_mut) {
            let mut sorted: Vec<&(usize, Move)> = moves.iter().collect();
            sorted.sort_by_key(|(step, _)| *step);
            for (step, it) in sorted.into_iter().rev() {
                steps.insert((*step).min(steps.len()), json!({"move": as_yaml(it)}));
            }
        }
        let faults: Vec<String> = moves.iter().map(|(_, it)| it.to_string()).collect();
        let faults = if faults.is_empty() {
            "no fault".to_owned()
        } else {
            faults.join("; ")
        };
        root["spec"]["title"] = json!(format!("{} holds with {faults}", self.name));
        let mut text = String::new();
        if let Some(title) = title {
            root["spec"]["title"] = json!(format!("{} holds in {}: {faults}", title.invariant.name(), self.name));
            if title.is_covered {
                root["spec"]["invariants"] = json!([title.invariant.name()]);
            }
            for line in title.comment {
                text.push_str("# ");
                text.push_str(line);
                text.push('\n');
            }
        }
        // What was read from YAML can be written as YAML.
        text.push_str(&plain::write(&root).unwrap_or_default());
        text
    }

    /// Identity of a plan: the same for the same case, seed and moves.
    pub fn plan_id(&self, seed: u64, moves: &[(usize, Move)]) -> String {
        let moves: Vec<_> = moves.iter().map(|(step, it)| (step, it)).collect();
        let digest = Digest::of_json(&(&self.root, seed, moves));
        digest.as_str().chars().skip("sha256:".len()).take(8).collect()
    }
}

/// Number of planned steps of a step: one for each place where something is applied.
fn planned_steps(action: &Action) -> usize {
    match action {
        Action::Apply { on, .. } => on.len(),
        _ => 1,
    }
}

/// Time that each planned step took.
fn durations(timeline: &Timeline) -> Vec<Duration> {
    let mut began = Vec::new();
    let mut took = Vec::new();
    for entry in timeline.entries() {
        match &entry.event {
            Event::Mark(Mark::StepStarted { .. }) => began.push(entry.at),
            Event::Mark(Mark::StepEnded { step, .. }) => {
                took.resize((*step + 1).max(took.len()), Duration::ZERO);
                took[*step] = entry.at.saturating_sub(began.last().copied().unwrap_or_default());
            }
            Event::Mark(_) | Event::Revision(_) => {}
        }
    }
    took
}

fn elapse(time: Duration) -> Value {
    json!({"elapse": format!("{}ms", time.as_millis() + 1)})
}

/// The longest period among the options that the target is started with.
fn longest_option(case: &Case) -> Duration {
    let options = case.controller.options.values();
    options.filter_map(|it| parse_duration(it)).max().unwrap_or_default()
}

fn mentions(node: &Value, text: &str) -> bool {
    match node {
        Value::String(it) => it.contains(text),
        Value::Array(items) => items.iter().any(|it| mentions(it, text)),
        Value::Object(members) => members.values().any(|it| mentions(it, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A move as a case file has it.
pub fn as_yaml(it: &Move) -> Value {
    let mut at = json!({"write": it.at.kind, "does": it.at.verb});
    if it.at.on != Place::Control {
        at["on"] = json!(it.at.on.to_string());
    }
    if let Some(subresource) = &it.at.subresource {
        at["subresource"] = json!(subresource);
    }
    if it.at.nth > 1 {
        at["nth"] = json!(it.at.nth);
    }
    let mut node = json!({"at": at, "do": it.fault.name()});
    if it.fault.takes_time() && it.lasts != it.fault.default_duration() {
        node["for"] = json!(format!("{}ms", it.lasts.as_millis()));
    }
    node
}

/// Reasons why a case cannot be explored; empty if it can.
pub fn obstacles(case: &Case) -> BTreeSet<&'static str> {
    use crate::case::model::Fault;
    let of = |action: &Action| match action {
        Action::Run(_) => Some("it runs a command, which could wait for a write that a move holds"),
        Action::Inject(Fault::StopControllerAfter(_)) => Some("it stops the controller between two writes itself"),
        Action::Inject(Fault::Move(_)) => Some("it has moves already"),
        Action::Start(_) => Some("it starts the controller with other options"),
        _ => None,
    };
    case.steps.iter().filter_map(|step| of(&step.action)).collect()
}
