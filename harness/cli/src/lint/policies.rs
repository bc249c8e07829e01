//! Checks policies: the paths and labels of preserved state, and the selectors.

use std::collections::BTreeSet;

use baton_core::{
    case::model::{Action, Case, Place, Step},
    pattern,
    spelling::suggestion,
    yaml::Diagnostic,
};
use serde_json::Value;

use super::{
    definitions::Definitions,
    paths::text,
    place::{Part, Segment, Sources, Way},
};

/// Returns errors about invalid paths, and about keys that are invalid for labels.
pub(super) fn errors(case: &Case, sources: &Sources<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (step, policy) in policies(case) {
        for behavior in ["cluster", "application"] {
            let rules = policy.pointer(&format!("/spec/failover/{behavior}/statePreservation/rules"));
            let mut aliases = BTreeSet::new();
            for (index, rule) in rules.and_then(Value::as_array).into_iter().flatten().enumerate() {
                let way = |name: &str| -> Way {
                    let keys = ["spec", "failover", behavior, "statePreservation", "rules"];
                    let mut way: Way = keys.map(|key| Segment::Key(key.to_owned())).to_vec();
                    way.extend([Segment::Item(index), Segment::Key(name.to_owned())]);
                    way
                };
                let mut tell = |name: &str, message: String, help: &str| {
                    let way = way(name);
                    let place = (way.as_slice(), Part::Value);
                    found.push(sources.diagnostic((case, step), policy, place, message, help.to_owned()));
                };
                if let Some(path) = rule["jsonPath"].as_str().filter(|path| !path.contains('{')) {
                    let message = format!("the path `{path}` has no braces: the text itself would be preserved");
                    tell(
                        "jsonPath",
                        message,
                        &format!("write `{{ .{} }}`", path.trim_start_matches(['$', '.'])),
                    );
                }
                let Some(alias) = rule["aliasLabelName"].as_str().filter(|alias| plain(alias)) else {
                    continue;
                };
                if let Some(reason) = no_label_key(alias) {
                    let help = "such as `example.com/state`: a domain, a slash, and up to 63 letters, digits, `-`, `_` and `.`";
                    tell(
                        "aliasLabelName",
                        format!("`{alias}` is not the key of a label: {reason}"),
                        help,
                    );
                }
                if !aliases.insert(alias) {
                    let message = format!("two rules keep their value under `{alias}`");
                    tell("aliasLabelName", message, "the second would overwrite the first");
                }
            }
        }
    }
    found
}

/// Returns warnings about selectors that select nothing, kinds without a definition, and unknown clusters.
pub(super) fn warnings(case: &Case, known: &Definitions, sources: &Sources<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let templates = applied(case).map(|(_, _, object)| object);
    let templates: Vec<&Value> = templates.filter(|object| is_workload(object)).collect();
    let selected = |it: &Value| {
        let mut all = policies(case).flat_map(|(_, policy)| selectors(policy));
        all.any(|(selector, namespace)| selects(selector, namespace, it))
    };
    // If every workload has a policy, other policies may select nothing on purpose.
    let forgotten = templates.iter().any(|it| !selected(it));
    for (step, policy) in policies(case).filter(|_| forgotten) {
        for (index, (selector, namespace)) in selectors(policy).enumerate() {
            if templates.iter().any(|it| selects(selector, namespace, it)) || !has_plain_texts(selector) {
                continue;
            }
            let named = |part: &str| {
                selector[part]
                    .as_str()
                    .map_or_else(String::new, |text| format!(" {text}"))
            };
            let message = format!(
                "the selector of{}{} selects nothing that this case applies",
                named("kind"),
                named("name")
            );
            let way = [
                Segment::Key("spec".to_owned()),
                Segment::Key("resourceSelectors".to_owned()),
                Segment::Item(index),
            ];
            let named = |it: &&Value| {
                let [kind, name, of] = ["/kind", "/metadata/name", "/apiVersion"].map(|pointer| text(it, pointer));
                format!("{kind} {name} of {of}")
            };
            let there: BTreeSet<String> = templates.iter().map(named).collect();
            let help = format!("it applies {}", Vec::from_iter(there).join(", "));
            found.push(sources.diagnostic((case, step), policy, (&way, Part::Value), message, help));
        }
    }
    found.extend(undefined(case, known, sources));
    found.extend(no_member(case, sources));
    found.extend(nowhere_to_go(case, sources));
    found
}

/// Returns warnings about names of clusters that the case does not have.
fn no_member(case: &Case, sources: &Sources<'_>) -> Vec<Diagnostic> {
    let members: Vec<String> = (1..=case.members).map(|number| format!("member{number}")).collect();
    let mut found = Vec::new();
    for (step, policy) in policies(case) {
        let names = policy.pointer(CLUSTER_NAMES).and_then(Value::as_array);
        for (index, name) in names.into_iter().flatten().enumerate() {
            let Some(name) = name
                .as_str()
                .filter(|name| plain(name) && !members.iter().any(|it| it == name))
            else {
                continue;
            };
            let mut way: Way = CLUSTER_NAMES
                .split('/')
                .skip(1)
                .map(|key| Segment::Key(key.to_owned()))
                .collect();
            way.push(Segment::Item(index));
            let message = format!("this case has no member {name}");
            let help = suggestion(name, members.iter().map(String::as_str));
            found.push(sources.diagnostic((case, step), policy, (&way, Part::Value), message, help));
        }
    }
    found
}

const CLUSTER_NAMES: &str = "/spec/placement/clusterAffinity/clusterNames";

/// Returns warnings about roles for another cluster where the policy of the workload names no other, and is not
/// changed.
fn nowhere_to_go(case: &Case, sources: &Sources<'_>) -> Vec<Diagnostic> {
    let is_patched = case
        .steps
        .iter()
        .any(|step| matches!(&step.action, Action::Patch { .. }));
    if is_patched {
        return Vec::new();
    }
    let mut found = Vec::new();
    for step in &case.steps {
        let Action::BindRole { role, from, not } = &step.action else {
            continue;
        };
        let of_workload = |(selector, _): &(&Value, Option<&str>)| {
            selector["kind"] == from.kind.as_str() && selector["name"] == from.name.as_str()
        };
        let mut policies = policies(case).filter(|(_, policy)| selectors(policy).any(|it| of_workload(&it)));
        let (Some((_, policy)), None) = (policies.next(), policies.next()) else {
            continue;
        };
        let names = policy.pointer(CLUSTER_NAMES).and_then(Value::as_array);
        let Some(names) = names.filter(|names| !names.is_empty() && names.len() <= not.len()) else {
            continue;
        };
        let there: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
        let message = format!(
            "the policy of {from} names no cluster for the role {role}: only {}",
            there.join(", ")
        );
        found.push(sources.of_step(case, step, message, "name more of them in its clusterAffinity"));
    }
    found
}

/// Returns warnings about objects of custom kinds that are applied before their definition.
fn undefined(case: &Case, known: &Definitions, sources: &Sources<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut defined: BTreeSet<(String, String)> = BTreeSet::new();
    for (step, on, object) in applied(case) {
        let place = |place: &Place| if *place == Place::Control { "control" } else { "members" }.to_owned();
        if object["kind"] == "CustomResourceDefinition" {
            let name = format!("{}/{}", text(object, "/spec/group"), text(object, "/spec/names/kind"));
            defined.extend(on.iter().map(|it| (place(it), name.clone())));
            continue;
        }
        let (api_version, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let of_kubernetes = !group.contains('.') || group.ends_with(".k8s.io");
        if of_kubernetes || group.ends_with("karmada.io") {
            continue;
        }
        let mut places: BTreeSet<String> = on.iter().map(place).collect();
        let mut all = policies(case).flat_map(|(_, policy)| selectors(policy));
        if all.any(|(selector, namespace)| selects(selector, namespace, object)) {
            places.insert("members".to_owned());
        }
        for place in places {
            if defined.contains(&(place.clone(), format!("{group}/{kind}"))) {
                continue;
            }
            let message =
                format!("no step before this one applies the definition of {kind} ({api_version}) on {place}");
            let help = if known.has(group, &kind) {
                "apply it first, on: [control, members]".to_owned()
            } else {
                format!(
                    "apply the CustomResourceDefinition of {kind} first: `- apply: {{on: [control, members], file: …}}`"
                )
            };
            let way = [Segment::Key("kind".to_owned())];
            found.push(sources.diagnostic((case, step), object, (&way, Part::Value), message, help));
        }
    }
    found
}

/// Returns the selectors of a policy, each with the namespace of the policy, if it has one.
fn selectors(policy: &Value) -> impl Iterator<Item = (&Value, Option<&str>)> {
    let selectors = policy.pointer("/spec/resourceSelectors").and_then(Value::as_array);
    let namespace = policy.pointer("/metadata/namespace").and_then(Value::as_str);
    selectors
        .into_iter()
        .flatten()
        .map(move |selector| (selector, namespace))
}

/// Returns `true` if policies select an object: it is neither a policy nor a definition.
fn is_workload(object: &Value) -> bool {
    !text(object, "/apiVersion").contains("karmada.io/") && object["kind"] != "CustomResourceDefinition"
}

/// Returns the policies that a case writes, whole or in part.
pub(super) fn policies(case: &Case) -> impl Iterator<Item = (&Step, &Value)> {
    let is_policy = |kind: &str| matches!(kind, "PropagationPolicy" | "ClusterPropagationPolicy");
    let written = case.steps.iter().flat_map(|step| {
        let writes = step.action.facts().writes.into_iter();
        writes.map(move |write| (step, write))
    });
    let of_policies = written.filter(move |(_, write)| write.object().is_some_and(|(_, kind, _)| is_policy(kind)));
    of_policies.map(|(step, write)| (step, write.value))
}

/// Returns the objects that a case applies, each with its step and place.
pub(super) fn applied(case: &Case) -> impl Iterator<Item = (&Step, &[Place], &Value)> {
    case.steps.iter().flat_map(|step| {
        let applied = step.action.facts().writes.into_iter().filter(|it| it.into.is_none());
        applied.map(move |it| (step, it.on, it.value))
    })
}

/// Returns `true` if a text has no references.
pub(super) fn plain(text: &str) -> bool {
    pattern::references(text).is_empty()
}

/// Returns `true` if no text in a value has references.
pub(super) fn has_plain_texts(value: &Value) -> bool {
    match value {
        Value::String(text) => plain(text),
        Value::Array(items) => items.iter().all(has_plain_texts),
        Value::Object(members) => members.values().all(has_plain_texts),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

/// Returns `true` if a selector of a policy selects an object; `namespace` is that of the policy.
fn selects(selector: &Value, namespace: Option<&str>, object: &Value) -> bool {
    let same = |name: &str, pointer: &str| {
        let wanted = selector[name].as_str().unwrap_or_default();
        wanted.is_empty() || object.pointer(pointer).and_then(Value::as_str) == Some(wanted)
    };
    let space = |value: Option<&str>| value.unwrap_or("default").to_owned();
    let wanted = selector["namespace"].as_str().or(namespace);
    let of_object = object.pointer("/metadata/namespace").and_then(Value::as_str);
    // It is unknown here whether the kind is namespaced; an object of a kind that is not has no namespace.
    let same_namespace = wanted.is_none_or(|wanted| wanted == space(of_object));
    let labels = selector
        .pointer("/labelSelector/matchLabels")
        .and_then(Value::as_object);
    let has = |(key, value): (&String, &Value)| object["metadata"]["labels"].get(key) == Some(value);
    same("apiVersion", "/apiVersion")
        && same("kind", "/kind")
        && same("name", "/metadata/name")
        && same_namespace
        && labels.is_none_or(|labels| labels.iter().all(has))
}

/// Returns the reason why a text is not a valid label key.
pub(super) fn no_label_key(key: &str) -> Option<&'static str> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let ends = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.ends_with(|c: char| c.is_ascii_alphanumeric())
    };
    let within = |text: &str, more: &[char]| text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(&c));
    if name.is_empty() || name.len() > 63 {
        return Some("the name has 1 to 63 characters");
    }
    if !ends(name) || !within(name, &['-', '_', '.']) {
        return Some("the name has letters, digits, `-`, `_` and `.`, and a letter or digit at both ends");
    }
    let lower = |part: &str| ends(part) && within(part, &['-']) && !part.chars().any(|c| c.is_ascii_uppercase());
    match prefix {
        Some(prefix) if prefix.len() > 253 || !prefix.split('.').all(lower) => {
            Some("what stands before the slash is a DNS name")
        }
        Some(_) | None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::no_label_key;

    #[test]
    fn keys_of_labels_are_those_of_kubernetes() {
        let long = "a".repeat(64);
        for wrong in [
            "",
            "a/",
            "/a",
            "a b",
            "-a",
            "a-",
            "A_B/c",
            "a..b/c",
            "a/b/c",
            long.as_str(),
        ] {
            assert!(no_label_key(wrong).is_some(), "{wrong}");
        }
        for right in [
            "a",
            "A_b.c-d",
            "baton.dev/state",
            "failover.karmada.io/failover-jobid",
            &long[1..],
        ] {
            assert_eq!(no_label_key(right), None, "{right}");
        }
    }
}
