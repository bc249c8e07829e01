//! What goes from the specifications of pods, wherever they are: fields whose feature is off.

use serde_json::{Map, Value};

use crate::resources::Resource;

/// Drops them from an object of a kind that has such a specification.
pub(super) fn drop_disabled(resource: &Resource, members: &mut Map<String, Value>) {
    let path: &[&str] = match (resource.group, resource.kind) {
        ("", "Pod") => &["spec"],
        ("apps", "Deployment" | "ReplicaSet" | "StatefulSet") | ("batch", "Job") => &["spec", "template", "spec"],
        _ => return,
    };
    let mut object = Some(members);
    for key in path {
        object = object.and_then(|object| object.get_mut(*key)?.as_object_mut());
    }
    let Some(spec) = object else { return };
    spec.remove("schedulingGroup");
    let volumes = spec.get_mut("volumes").and_then(Value::as_array_mut);
    for volume in volumes.into_iter().flatten().filter_map(Value::as_object_mut) {
        projections(volume);
    }
    for field in ["containers", "initContainers", "ephemeralContainers"] {
        let containers = spec.get_mut(field).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
            stop_signal(container);
        }
    }
}

/// Volumes are not made from trust bundles and certificates yet.
fn projections(volume: &mut Map<String, Value>) {
    let sources = volume
        .get_mut("projected")
        .and_then(|projected| projected.get_mut("sources")?.as_array_mut());
    for source in sources.into_iter().flatten().filter_map(Value::as_object_mut) {
        for field in ["clusterTrustBundle", "podCertificate"] {
            source.remove(field);
        }
    }
}

/// A container that says nothing but its signal says nothing.
fn stop_signal(container: &mut Map<String, Value>) {
    let Some(hooks) = container.get_mut("lifecycle").and_then(Value::as_object_mut) else {
        return;
    };
    if hooks.remove("stopSignal").is_some() && hooks.is_empty() {
        container.remove("lifecycle");
    }
}
