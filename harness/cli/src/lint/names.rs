//! Names and labels that no API server accepts.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::{
    case::model::{Action, Case, Condition, Expect, ObjectRef, Step, Subject, Write},
    pattern::Pattern,
    spelling::suggestion,
    yaml::Diagnostic,
};
use baton_decide::preserve::why_no_label_value;
use serde_json::Value;

use super::{
    paths::text,
    place::{Part, Segment, Sources},
    policies::{applied, no_label_key, plain},
};

/// Kinds of this group have names with colons, such as `system:node`.
const RBAC: &str = "rbac.authorization.k8s.io/";

const NAME_HELP: &str = "such as `my-policy.v1`: lower-case letters, digits, `-` and `.`, up to 253 characters";

const VALUE_HELP: &str = "up to 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends";

/// Returns errors about the names and labels of applied objects.
pub(super) fn errors(case: &Case, sources: &Sources<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (step, _, object) in applied(case) {
        let mut tell = |keys: &[&str], part, message: String, help: &str| {
            let way: Vec<Segment> = keys.iter().map(|key| Segment::Key((*key).to_owned())).collect();
            found.push(sources.diagnostic((case, step), object, (&way, part), message, help.to_owned()));
        };
        let (api_version, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
        let name = text(object, "/metadata/name");
        if let Some(reason) = no_name(&api_version, &name) {
            let message = format!("`{name}` is not a valid name of a {kind}: {reason}");
            tell(&["metadata", "name"], Part::Value, message, NAME_HELP);
        }
        let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
        for (key, value) in labels.into_iter().flatten() {
            if let Some(reason) = no_label_key(key).filter(|_| plain(key)) {
                let message = format!("`{key}` is not the key of a label: {reason}");
                tell(
                    &["metadata", "labels", key],
                    Part::Key,
                    message,
                    "such as `example.com/state`",
                );
            }
            if let Some(value) = value.as_str().filter(|value| !is_label_value(value)) {
                let message = format!("`{value}` is not a valid label value");
                tell(&["metadata", "labels", key], Part::Value, message, VALUE_HELP);
            }
        }
    }
    found
}

/// Returns warnings about steps that look for names and labels which no object can have.
pub(super) fn warnings(case: &Case, sources: &Sources<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for step in &case.steps {
        for object in looked_for(step) {
            if let Some(reason) = no_name(&object.api_version, &object.name) {
                let message = format!("no {} has the name `{}`: {reason}", object.kind, object.name);
                found.push(sources.of_step(case, step, message, NAME_HELP));
            }
        }
        for condition in expected(step) {
            let Expect::Match(whole) = &condition.expect else {
                continue;
            };
            let labels = member(whole, "metadata").and_then(|metadata| member(metadata, "labels"));
            let Some(Pattern::Map(labels)) = labels else { continue };
            for (key, pattern) in labels.iter().filter(|(_, pattern)| **pattern != Pattern::Absent) {
                if let Some(reason) = no_label_key(key).filter(|_| plain(key)) {
                    let message = format!("no object has the label `{key}`: {reason}");
                    found.push(sources.of_step(case, step, message, "such as `example.com/state`"));
                }
                if let Pattern::Text(value) = pattern
                    && !is_label_value(value)
                {
                    let message = format!("no label has the value `{value}`");
                    found.push(sources.of_step(case, step, message, VALUE_HELP));
                }
            }
        }
    }
    found
}

/// Returns warnings about objects that no step creates, although steps create others of the same kind: an assertion about what
/// such an object never has would hold whatever the implementation does.
pub(super) fn unknown(case: &Case, sources: &Sources<'_>) -> Vec<Diagnostic> {
    let mut written: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for step in &case.steps {
        let writes = step.action.facts().writes;
        let whole = writes.iter().filter(|it| it.into.is_none());
        for (_, kind, name) in whole.filter_map(Write::object) {
            written.entry(kind).or_default().insert(name);
        }
    }
    let (mut found, mut told) = (Vec::new(), BTreeSet::new());
    for step in &case.steps {
        let conditions = step.action.facts().conditions;
        let objects = conditions
            .iter()
            .filter_map(|it| of_subject(&it.of))
            .chain(looked_for(step));
        for object in objects.filter(|it| plain(&it.name)) {
            let Some(names) = written
                .get(object.kind.as_str())
                .filter(|it| !it.contains(object.name.as_str()))
            else {
                continue;
            };
            if !told.insert((object.kind.clone(), object.name.clone())) {
                continue;
            }
            let message = format!("no step creates the {} `{}`", object.kind, object.name);
            found.push(sources.of_step(case, step, message, &suggestion(&object.name, names.iter().copied())));
        }
    }
    found
}

/// Returns the object that a subject names, or whose binding or Work it is.
fn of_subject(subject: &Subject) -> Option<&ObjectRef> {
    match subject {
        Subject::Object(of) | Subject::BindingOf(of) | Subject::WorkOf { workload: of, .. } => Some(of),
        Subject::BindingsOf(_)
        | Subject::Cluster(_)
        | Subject::EventOf(_)
        | Subject::NoticeOf(_)
        | Subject::NewsOf(_) => None,
    }
}

/// Returns the objects that a step names.
fn looked_for(step: &Step) -> Vec<&ObjectRef> {
    match &step.action {
        Action::BindRole { from, .. } => vec![from],
        Action::Capture { of, .. } => of_subject(of).into_iter().collect(),
        action => {
            let changed = action.facts().changes.map(|(_, of)| of);
            let looked_at = expected(step).into_iter().map(|it| &it.of);
            changed.into_iter().chain(looked_at).filter_map(of_subject).collect()
        }
    }
}

/// Returns the conditions that a step expects to be met.
pub(super) fn expected(step: &Step) -> Vec<&Condition> {
    let facts = step.action.facts();
    if facts.forbids { Vec::new() } else { facts.conditions }
}

fn member<'p>(pattern: &'p Pattern, name: &str) -> Option<&'p Pattern> {
    match pattern {
        Pattern::Map(members) => members.get(name),
        _ => None,
    }
}

/// Returns the reason why an object cannot have this name. Kinds may have narrower rules.
fn no_name(api_version: &str, name: &str) -> Option<&'static str> {
    if name.is_empty() || !plain(name) {
        return None;
    }
    if api_version.starts_with(RBAC) {
        let reason = "a name has no `/` and no `%`, and is neither `.` nor `..`";
        return (name.contains(['/', '%']) || matches!(name, "." | "..")).then_some(reason);
    }
    if name.len() > 253 {
        return Some("it has more than 253 characters");
    }
    let is_label = |part: &str| {
        let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !part.is_empty() && part.chars().all(inner) && !part.starts_with('-') && !part.ends_with('-')
    };
    let reason = "a name has lower-case letters, digits, `-` and `.`, and a letter or digit at both ends";
    (!name.split('.').all(is_label)).then_some(reason)
}

/// Returns `true` if a label can have this value, or one that a reference stands for.
fn is_label_value(value: &str) -> bool {
    !plain(value) || why_no_label_value(value).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_kubernetes() {
        for wrong in ["Policy", "a_b", "-a", "a-", "a..b", "a b", &"a".repeat(254)] {
            assert!(no_name("apps/v1", wrong).is_some(), "{wrong}");
        }
        for right in ["a", "a-b.c", "7", "${name}", &"a".repeat(253)] {
            assert_eq!(no_name("apps/v1", right), None, "{right}");
        }
        let rbac = "rbac.authorization.k8s.io/v1";
        assert_eq!(no_name(rbac, "system:Node"), None);
        assert!(no_name(rbac, "a/b").is_some());
    }

    #[test]
    fn values_of_labels_are_those_of_kubernetes() {
        for wrong in ["s3://bucket", "a b", "-a", "a.", &"a".repeat(64)] {
            assert!(!is_label_value(wrong), "{wrong}");
        }
        for right in ["", "2", "a_B.c-d", "${jobID}/x", &"a".repeat(63)] {
            assert!(is_label_value(right), "{right}");
        }
    }
}
