//! The state of a workload that fails over: kept in its task, and injected into the next copy.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::Value;

use super::{
    Found, History, blaming,
    blocked::{failing_since, is_label_value},
    causes,
    excuses::{asks_the_same, is_edited, is_harness, is_on, is_set_aside},
    finding,
    instances::Target,
    label, moves,
};
use crate::{
    case::model::Invariant,
    judge::{
        DifferenceKind, Finding,
        allowances::Allowances,
        failovers::{self, Task},
        order::Placed,
    },
    names::ClusterName,
    plan::Plan,
    timeline::{Change, HANDS, ObjectId, Timeline},
    workload::Workload,
};

/// Time within which an implementation may not have heard of a status, or of a rule.
const NEWS: Duration = Duration::from_secs(5);

/// The changes that an implementation knows of.
pub(super) struct News<'a> {
    has_virtual_time: bool,
    allowances: &'a Allowances,
}

impl<'a> News<'a> {
    pub(super) fn of(timeline: &Timeline, allowances: &'a Allowances) -> Self {
        Self {
            has_virtual_time: timeline.begin().is_some_and(|begin| begin.virtual_time),
            allowances,
        }
    }

    /// The moment before which all changes are known to the writer of a revision of a binding because of which a workload
    /// leaves a cluster.
    fn known_before(&self, history: &History<'_>, written: Placed<'_>, cluster: &ClusterName) -> Duration {
        let known = self.allowances.known_before(written.0.at, NEWS);
        let due = || failing_since(history, cluster.as_str(), &written.1.object, written.0);
        match self.has_virtual_time.then(due).flatten() {
            // Virtual time goes on only once all news is known. From the moment when the eviction is due, a writer may
            // repeat a request that was refused.
            Some(due) => known.max(self.allowances.known_before(due.at, Duration::ZERO)),
            None => known,
        }
    }
}

/// The gate of state preservation and injection.
const GATE: &str = "StatefulFailoverInjection";

/// True if the implementation keeps state in this run. In a recording, a task with state shows it.
fn is_kept(history: &History<'_>, plan: Option<&Plan>) -> bool {
    is_on(plan, GATE).unwrap_or_else(|| history.tasks.iter().any(|task| !task.state.is_empty()))
}

/// STP-01, STP-02, STP-03: a task has an entry for each rule, with the value that was collected last. Rules whose path is
/// more than a row of fields are left to cases, as are paths that match nothing.
pub(super) fn preserved(history: &History<'_>, target: &Target<'_>, plan: Option<&Plan>, news: &News<'_>) -> Found {
    let mut found = Found::default();
    if !is_kept(history, plan) {
        return found;
    }
    for task in history.tasks.iter().filter(|task| task.ran_alone()) {
        let Some(written) = history.written(task).filter(|it| target.wrote(it.1) == Some(true)) else {
            continue;
        };
        let Some(kind) = causes::failure_kind(history, written.1, task) else {
            continue;
        };
        let known = news.known_before(history, written, &task.from);
        let expected = collected(history.binding_of(task), written, known, &task.from, kind);
        let reported = |alias: &str, kept: &str| is_reported(history, task, written, known, (kind, alias, kept));
        if expected.is_empty() || is_set_aside(written) {
            continue;
        }
        found.judged += 1;
        let missing: Vec<&str> = expected
            .keys()
            .filter(|alias| !task.first_state.contains_key(**alias))
            .copied()
            .collect();
        let of = |expected: String, seen: String| {
            finding(
                Invariant::StatePreserved,
                written.0,
                Some(task.binding.clone()),
                expected,
                seen,
            )
        };
        if !missing.is_empty() {
            let told = of(
                format!(
                    "{} in preservedLabelState of the task from {}",
                    missing.join(", "),
                    task.from
                ),
                format!("{:?}", task.first_state),
            );
            let kind = DifferenceKind::Missing;
            let blamed = if missing.len() == expected.len() {
                "STP-02"
            } else {
                "STP-03"
            };
            found.findings.push(blaming(Finding { kind, ..told }, blamed));
        }
        for (alias, values) in &expected {
            let kept = task.first_state.get(*alias);
            let Some(kept) = kept.filter(|kept| !(values.contains(*kept) || reported(alias, kept))) else {
                continue;
            };
            let is = |text: &String| text.parse::<f64>().ok();
            let same_number = values.iter().any(|value| is(value).is_some() && is(value) == is(kept));
            let told = of(
                format!(
                    "{alias}: {:?}, as it was collected last",
                    values.last().map_or("", String::as_str)
                ),
                format!("{kept:?}"),
            );
            found
                .findings
                .push(blaming(told, if same_number { "STP-07" } else { "STP-01" }));
        }
    }
    found
}

/// State that the rules of a binding select just before an entry: by alias, the values of a cluster that were collected last
/// before `known` and since then, latest last. Rules without a value, and rules that have changed since, are left out.
fn collected<'a>(
    revisions: &[Placed<'a>],
    at: Placed<'a>,
    known: Duration,
    cluster: &ClusterName,
    kind: &str,
) -> BTreeMap<&'a str, Vec<String>> {
    let pointer = format!("/spec/failover/{kind}/statePreservation/rules");
    let rules = |binding: Placed<'a>| -> Option<&'a Vec<Value>> { binding.1.object.pointer(&pointer)?.as_array() };
    let until = revisions.partition_point(|it| it.0.seq <= at.0.seq);
    let Some(last_known) = revisions[..until].partition_point(|it| it.0.at < known).checked_sub(1) else {
        return BTreeMap::new();
    };
    let lately = &revisions[last_known..until];
    let Some(asked) = rules(at).filter(|asked| lately.iter().all(|it| rules(*it) == Some(*asked))) else {
        return BTreeMap::new();
    };
    let of_rule = |rule: &'a Value| {
        let alias = rule["aliasLabelName"].as_str()?;
        let path = plain(rule["jsonPath"].as_str()?)?;
        let values: Option<Vec<String>> = lately.iter().map(|it| status(&it.1.object, cluster, &path)).collect();
        let values = values.filter(|values| values.iter().all(|value| !value.is_empty() && is_label_value(value)))?;
        Some((alias, values))
    };
    asked.iter().filter_map(of_rule).collect()
}

/// Returns `true` if the old copy itself had a value when the controller certainly knew its status, or since then. An
/// implementation may take the state from there before the binding repeats it.
fn is_reported(
    history: &History<'_>,
    task: &Task,
    written: Placed<'_>,
    known: Duration,
    (kind, alias, kept): (&str, &str, &str),
) -> bool {
    let pointer = format!("/spec/failover/{kind}/statePreservation/rules");
    let rules = written.1.object.pointer(&pointer).and_then(Value::as_array);
    let rule = rules.and_then(|rules| rules.iter().find(|it| it["aliasLabelName"] == alias));
    let Some(path) = rule.and_then(|it| plain(it["jsonPath"].as_str()?)) else {
        return false;
    };
    let of_copy = history.copies_of(task).iter().filter(|(_, it)| it.cluster == task.from);
    let revisions: Vec<Placed<'_>> = of_copy
        .copied()
        .take_while(|(entry, _)| entry.seq < written.0.seq)
        .collect();
    let since = revisions
        .partition_point(|(entry, _)| entry.at < known)
        .saturating_sub(1);
    let mut reported = revisions[since..]
        .iter()
        .filter_map(|(_, it)| text_at(it.object.get("status")?, &path));
    reported.any(|value| value == kept)
}

/// The fields of a path that is a row of fields, such as `{ .jobStatus.jobID }`.
fn plain(path: &str) -> Option<Vec<&str>> {
    let inner = path
        .trim()
        .strip_prefix('{')?
        .strip_suffix('}')?
        .trim()
        .strip_prefix('.')?;
    let is_field =
        |field: &&str| !field.is_empty() && field.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
    let fields: Vec<&str> = inner.split('.').collect();
    fields.iter().all(is_field).then_some(fields)
}

/// A text, a whole number or a truth value of the status that was collected of a cluster.
fn status(binding: &Value, cluster: &ClusterName, path: &[&str]) -> Option<String> {
    let items = binding.pointer("/status/aggregatedStatus")?.as_array()?;
    let item = items.iter().find(|item| item["clusterName"] == cluster.as_str())?;
    text_at(item.get("status")?, path)
}

/// A text, a whole number or a truth value of a status.
fn text_at(status: &Value, path: &[&str]) -> Option<String> {
    match path.iter().try_fold(status, |value, field| value.get(field))? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) if number.is_i64() || number.is_u64() => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// REC-01, REC-02, STP-12: the next copy has all of the state in its first revision, whether a task has kept it or not.
pub(super) fn reaches_copy(history: &History<'_>, target: &Target<'_>, plan: Option<&Plan>, news: &News<'_>) -> Found {
    let mut found = Found::default();
    if !is_kept(history, plan) || is_on(plan, "Failover") == Some(false) {
        return found;
    }
    let carried = |task: &&Task| task.is_directly() && task.ran_alone() && !task.state.is_empty();
    for task in history.tasks.iter().filter(carried) {
        let Some(written) = history.written(task) else { continue };
        let next = history
            .tasks_beside(task)
            .map(|it| it.written.seq)
            .filter(|seq| *seq > task.written.seq)
            .min();
        let mut before = task.before.clone();
        before.insert(task.from.clone());
        let ends = [task.called_off.map(|over| over.seq), next, by_hand(history, task)];
        let until = ends.into_iter().flatten().min().unwrap_or(u64::MAX);
        let cleared = task.cleared.and_then(|cleared| history.binding_at(task, cleared.seq));
        let is_of_task = |copy: Placed<'_>| {
            let named = cleared.is_some_and(|it| failovers::result_of(&it.1.object).contains(&copy.1.cluster));
            task.is_pending_at(copy.0.seq) || named
        };
        let moved = Moved {
            from: written,
            before: &before,
            until,
        };
        let copy = moved.first_copy(history).filter(|copy| is_of_task(*copy));
        let Some(copy) = copy else { continue };
        found.judged += 1;
        found.findings.extend(lacking(history, &task.state, &moved, copy));
    }
    for moved in moves::without_task(history, target, plan) {
        let id = ObjectId::of(moved.now.1);
        let revisions = history.bindings.get(&id).map(Vec::as_slice).unwrap_or_default();
        let policy = moved
            .now
            .1
            .object
            .pointer("/spec/failover/cluster/purgeMode")
            .and_then(Value::as_str);
        let known = news.known_before(history, moved.now, &moved.cluster);
        let state = collected(revisions, moved.before, known, &moved.cluster, "cluster");
        if !matches!(policy, Some("Directly" | "Immediately")) || state.is_empty() {
            continue;
        }
        let last = |(alias, values): (&str, Vec<String>)| Some((alias.to_owned(), values.into_iter().next_back()?));
        let state: BTreeMap<String, String> = state.into_iter().filter_map(last).collect();
        let next = history.tasks_of(&id).map(|it| it.written.seq);
        let until = next.filter(|seq| *seq > moved.now.0.seq).min().unwrap_or(u64::MAX);
        let before = BTreeSet::from([moved.cluster.clone()]);
        let moved = Moved {
            from: moved.now,
            before: &before,
            until,
        };
        if let Some(copy) = moved.first_copy(history) {
            found.judged += 1;
            found.findings.extend(lacking(history, &state, &moved, copy));
        }
    }
    found
}

/// When a user took the task out.
fn by_hand(history: &History<'_>, task: &Task) -> Option<u64> {
    let (entry, cleared) = history.binding_at(task, task.cleared?.seq)?;
    (cleared.by.as_deref() == Some(HANDS)).then_some(entry.seq)
}

/// A workload that has left some clusters.
struct Moved<'h, 'a> {
    /// The revision of its binding with which it left.
    from: Placed<'a>,
    /// Clusters that ran it before.
    before: &'h BTreeSet<ClusterName>,
    /// Entry from which on it moves for another reason.
    until: u64,
}

impl<'a> Moved<'_, 'a> {
    /// The revisions of its copies elsewhere.
    fn copies<'h>(&self, history: &'h History<'a>) -> impl Iterator<Item = Placed<'a>> + 'h + use<'_, 'h, 'a> {
        let (from, until, before) = (self.from.0.seq, self.until, self.before.clone());
        let all = history
            .copies(&Workload::of_binding(&self.from.1.object))
            .iter()
            .copied();
        all.filter(move |(entry, it)| {
            let meanwhile = from < entry.seq && entry.seq < until;
            meanwhile && !it.cluster.is_control() && !before.contains(&it.cluster)
        })
    }

    /// The first copy that is made for the move, if nothing else asks for one by then.
    fn first_copy(&self, history: &History<'a>) -> Option<Placed<'a>> {
        let copy = self.copies(history).find(|(_, it)| it.change == Change::Added)?;
        let id = ObjectId::of(self.from.1);
        let in_force = history
            .bindings
            .get(&id)?
            .iter()
            .rfind(|it| it.0.seq < copy.0.seq)
            .copied()?;
        let is_single = failovers::result_of(&in_force.1.object).len() <= 1;
        let is_excused = is_harness(copy.1)
            || is_set_aside(in_force)
            || !asks_the_same(&in_force.1.object, &self.from.1.object)
            || is_edited(history, in_force, self.from.0.seq, copy.0.seq);
        (is_single && !is_excused).then_some(copy)
    }
}

/// The finding about a copy that lacks labels. One that gets them later, or comes before one that has them, is the
/// business of `labelsFromFirstRevision`.
fn lacking<'a>(
    history: &History<'a>,
    state: &BTreeMap<String, String>,
    moved: &Moved<'_, 'a>,
    copy: Placed<'a>,
) -> Option<Finding> {
    let has = |it: Placed<'_>, key: &String, value: &String| label(it.1, key) == Some(value.as_str());
    let (key, value) = state.iter().find(|(key, value)| !has(copy, key, value))?;
    if moved.copies(history).any(|it| has(it, key, value)) {
        return None;
    }
    let other = label(copy.1, key);
    let expected = if is_label_value(value) {
        format!("the label {key}={value:?} on the new copy in its first revision")
    } else {
        format!("no new copy without the state of {key}, which is {value:?} in the task and is not a valid label value")
    };
    let told = finding(
        Invariant::StateReachesCopy,
        copy.0,
        Some(ObjectId::of(copy.1)),
        expected,
        other.map_or_else(|| "no such label".to_owned(), |other| format!("{key}={other:?}")),
    );
    let kind = if other.is_some() {
        DifferenceKind::Different
    } else {
        DifferenceKind::Missing
    };
    let blamed = match (is_label_value(value), other) {
        (_, Some(_)) => "REC-02",
        (false, None) => "STP-12",
        (true, None) => "REC-01",
    };
    Some(blaming(Finding { kind, ..told }, blamed))
}
