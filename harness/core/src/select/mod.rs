//! Finds the objects of a world that a case refers to. [`Followed`] keeps track of them along a timeline.

mod followed;

use std::{collections::BTreeSet, sync::Arc};

use serde_json::Value;

use crate::{
    case::model::{ObjectRef, Place, Subject, Workloads},
    names::{ClusterName, RoleName, number_of_member},
    pattern::Bindings,
    timeline::{ObjectId, World},
};

pub use followed::Followed;

/// The kinds of bindings: what a scheduling result and its eviction tasks are kept in.
pub const BINDING_KINDS: [&str; 2] = ["ResourceBinding", "ClusterResourceBinding"];

/// The prefix of the namespaces on the control plane that hold a member's Works.
pub const EXECUTION_NAMESPACE: &str = "karmada-es-";

/// The clusters that a place stands for. None for a role that is not bound yet.
pub fn clusters(place: &Place, bindings: &Bindings, members: &[ClusterName]) -> Vec<ClusterName> {
    match place {
        Place::Control => vec![ClusterName::control()],
        Place::Members => members.to_vec(),
        Place::Role(role) => member(role, bindings).map(ClusterName::new).into_iter().collect(),
    }
}

/// The member that plays a role, or whose name stands in the place of one.
pub fn member<'a>(role: &'a RoleName, bindings: &'a Bindings) -> Option<&'a str> {
    let bound = bindings.get(role.as_str()).map(String::as_str);
    bound.or_else(|| number_of_member(role.as_str()).map(|_| role.as_str()))
}

/// Returns the field at a path whose parts are names of fields, or numbers of items of a list from 0.
pub fn field_of<'a>(object: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, part| match value {
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        _ => value.get(part),
    })
}

/// Place where a subject is searched: bindings, Works and Clusters are on the control plane, whatever the step's place.
pub fn place_of<'a>(subject: &Subject, place: &'a Place) -> &'a Place {
    match subject {
        Subject::Object(_) | Subject::EventOf(_) => place,
        Subject::BindingOf(_)
        | Subject::BindingsOf(_)
        | Subject::WorkOf { .. }
        | Subject::Cluster(_)
        | Subject::NoticeOf(_)
        | Subject::NewsOf(_) => &Place::Control,
    }
}

/// Returns `true` if an object belongs to a subject.
pub fn is_subject(subject: &Subject, id: &ObjectId, object: &Value, bindings: &Bindings) -> bool {
    match subject {
        Subject::Object(wanted) => is_object(wanted, id),
        Subject::BindingOf(workload) => {
            BINDING_KINDS.contains(&id.kind.as_str()) && refers_to(object.pointer("/spec/resource"), workload)
        }
        // Which labels the workloads have does not stand in their bindings: `find` looks.
        Subject::BindingsOf(workloads) => {
            let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            BINDING_KINDS.contains(&id.kind.as_str())
                && text("/spec/resource/kind") == workloads.kind
                && text("/spec/resource/namespace") == workloads.namespace.as_deref().unwrap_or_default()
        }
        Subject::WorkOf { workload, member } => {
            let manifests = object.pointer("/spec/workload/manifests").and_then(Value::as_array);
            id.kind == "Work"
                && self::member(member, bindings)
                    .is_some_and(|name| id.namespace == format!("{EXECUTION_NAMESPACE}{name}"))
                && manifests.is_some_and(|all| all.iter().any(|manifest| carries(manifest, workload)))
        }
        Subject::Cluster(role) => id.kind == "Cluster" && member(role, bindings).is_some_and(|name| name == id.name),
        Subject::EventOf(about) => id.kind == "Event" && about.iter().any(|about| is_event_of(about, object)),
        // Not an object, but the content of several.
        Subject::NoticeOf(_) | Subject::NewsOf(_) => false,
    }
}

/// The objects of a world that a subject speaks of, on one cluster.
pub fn find<'a>(
    subject: &'a Subject,
    cluster: &'a ClusterName,
    world: &'a World,
    bindings: &'a Bindings,
) -> impl Iterator<Item = (&'a ObjectId, &'a Arc<Value>)> {
    let meant = match subject {
        Subject::BindingsOf(workloads) => Some(templates(workloads, world)),
        _ => None,
    };
    let candidates = kinds(subject)
        .into_iter()
        .flat_map(move |kind| world.of_kind(cluster, kind));
    candidates
        .filter(move |(id, object)| is_subject(subject, id, object, bindings))
        .filter(move |(_, binding)| {
            let name = binding.pointer("/spec/resource/name").and_then(Value::as_str);
            let is_meant = |names: &BTreeSet<&str>| name.is_some_and(|name| names.contains(name));
            meant.as_ref().is_none_or(is_meant)
        })
}

/// The kinds of the objects that a subject speaks of, in the order of a world.
fn kinds(subject: &Subject) -> Vec<&str> {
    match subject {
        Subject::Object(wanted) => vec![&wanted.kind],
        Subject::BindingOf(_) | Subject::BindingsOf(_) => {
            let mut kinds = BINDING_KINDS.to_vec();
            kinds.sort_unstable();
            kinds
        }
        Subject::WorkOf { .. } => vec!["Work"],
        Subject::Cluster(_) => vec!["Cluster"],
        Subject::EventOf(_) => vec!["Event"],
        Subject::NoticeOf(_) | Subject::NewsOf(_) => Vec::new(),
    }
}

/// The names of the templates that are meant.
fn templates<'a>(workloads: &Workloads, world: &'a World) -> BTreeSet<&'a str> {
    let has_labels = |object: &Value| {
        let labels = object.pointer("/metadata/labels");
        let has =
            |(key, value): (&String, &String)| labels.and_then(|it| it.get(key)).and_then(Value::as_str) == Some(value);
        workloads.labels.iter().all(has)
    };
    let namespace = workloads.namespace.as_deref().unwrap_or_default();
    let control = ClusterName::control();
    let all = world.of_kind(&control, &workloads.kind);
    let meant = all.filter(|(id, object)| id.namespace == namespace && has_labels(object));
    meant.map(|(id, _)| id.name.as_str()).collect()
}

fn is_object(wanted: &ObjectRef, id: &ObjectId) -> bool {
    wanted.kind == id.kind && wanted.name == id.name && wanted.namespace.as_deref().unwrap_or_default() == id.namespace
}

/// Returns `true` if a reference (`spec.resource` of a binding) names a workload.
pub fn refers_to(reference: Option<&Value>, workload: &ObjectRef) -> bool {
    let text = |member: &str| {
        reference
            .and_then(|it| it.get(member))
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    text("kind") == workload.kind
        && text("name") == workload.name
        && text("namespace") == workload.namespace.as_deref().unwrap_or_default()
}

fn carries(manifest: &Value, workload: &ObjectRef) -> bool {
    let text = |pointer| manifest.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    text("/kind") == workload.kind
        && text("/metadata/name") == workload.name
        && text("/metadata/namespace") == workload.namespace.as_deref().unwrap_or_default()
}

/// Returns `true` if a text contains a name as a whole word: `q-1` is in `q-1-deployment`, not in `q-10-deployment`.
fn names(text: &str, name: &str) -> bool {
    let ends = |it: Option<char>| it.is_none_or(|it| !it.is_alphanumeric());
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        ends(before.chars().next_back()) && ends(after.chars().next())
    })
}

/// Returns `true` if an Event is about a workload or its binding.
pub fn is_event_about(workload: &ObjectRef, event: &Value) -> bool {
    let of = event.get("involvedObject").or_else(|| event.get("regarding"));
    let namespace = of.and_then(|of| of.get("namespace")).and_then(Value::as_str);
    let here = namespace.unwrap_or_default() == workload.namespace.as_deref().unwrap_or_default();
    let about = [Subject::Object(workload.clone()), Subject::BindingOf(workload.clone())];
    here && about.iter().any(|about| is_event_of(about, event))
}

fn is_event_of(about: &Subject, event: &Value) -> bool {
    // core/v1 and events.k8s.io/v1 name the same thing differently.
    let reference = event.get("involvedObject").or_else(|| event.get("regarding"));
    let text = |member: &str| {
        reference
            .and_then(|it| it.get(member))
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    match about {
        Subject::Object(wanted) => text("kind") == wanted.kind && text("name") == wanted.name,
        // An Event does not contain the binding. Its name usually begins with that of the workload; if not, the message names
        // the workload.
        Subject::BindingOf(workload) => {
            let message = event.get("message").or_else(|| event.get("note"));
            let message = message.and_then(Value::as_str).unwrap_or_default();
            BINDING_KINDS.contains(&text("kind")) && [text("name"), message].iter().any(|it| names(it, &workload.name))
        }
        Subject::WorkOf { .. } => text("kind") == "Work",
        Subject::Cluster(_) => text("kind") == "Cluster",
        Subject::EventOf(_) | Subject::NoticeOf(_) | Subject::NewsOf(_) | Subject::BindingsOf(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_part_of_a_path_is_a_field_or_the_number_of_an_item() {
        let object = json!({"items": [{"0": "a field"}, {"name": "second"}]});
        let at = |path: &str| {
            let parts: Vec<String> = path.split('.').map(str::to_owned).collect();
            field_of(&object, &parts).cloned()
        };
        assert_eq!(at("items.1.name"), Some(json!("second")));
        assert_eq!(at("items.0.0"), Some(json!("a field")));
        assert_eq!(at("items.2.name"), None);
        assert_eq!(at("items.first"), None);
    }

    #[test]
    fn an_event_is_about_a_binding_that_it_names_in_any_way() {
        let workload = ObjectRef {
            api_version: "apps/v1".to_owned(),
            kind: "Deployment".to_owned(),
            namespace: Some("default".to_owned()),
            name: "q-1".to_owned(),
        };
        let about = Subject::BindingOf(workload);
        let event = |kind: &str, name: &str, message: &str| json!({"involvedObject": {"kind": kind, "name": name}, "message": message});
        for (kind, name, message, is_about) in [
            ("ResourceBinding", "q-1-deployment", "", true),
            ("ClusterResourceBinding", "deployment.q-1", "", true),
            ("ResourceBinding", "5f0c", "the state of default/q-1 is lost", true),
            ("ResourceBinding", "q-10-deployment", "", false),
            ("ResourceBinding", "5f0c", "the state of q-12 is lost", false),
            ("Deployment", "q-1-deployment", "", false),
        ] {
            let event = event(kind, name, message);
            assert_eq!(is_event_of(&about, &event), is_about, "{event}");
        }
    }
}
