//! Shadow copies: a workload that runs on a member under another name, as another kind, or in another namespace.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    judge::order::Placed,
    names::ClusterName,
    timeline::{Change, HARNESS, Revision},
    workload::Workload,
};

/// Shadow copies by cluster and uid.
#[derive(Default)]
pub(super) struct Shadows(BTreeMap<(ClusterName, String), Workload>);

impl Shadows {
    /// Takes in the next revision on a member that is not a copy by its name. Returns the workload that it is a shadow copy
    /// of.
    ///
    /// An object is one if a target created or changed it, without an owner and without a binding, and if it runs the
    /// containers of exactly one workload that has a binding, alone or with others. Objects that clusters create have an
    /// owner, or other containers.
    pub(super) fn take(
        &mut self,
        revision: &Revision,
        copies: &BTreeMap<Workload, Vec<Placed<'_>>>,
    ) -> Option<Workload> {
        let uid = revision.object.pointer("/metadata/uid").and_then(Value::as_str)?;
        let key = (revision.cluster.clone(), uid.to_owned());
        if let Some(workload) = self.0.get(&key) {
            return Some(workload.clone());
        }
        let by_target = revision.by.as_deref().is_some_and(|by| !HARNESS.contains(&by));
        let owned = revision.object.pointer("/metadata/ownerReferences").is_some();
        if matches!(revision.change, Change::List | Change::Deleted) || !by_target || owned {
            return None;
        }
        let here = containers(&revision.object)?;
        let mut same = copies.iter().filter(|(_, revisions)| {
            let template = revisions.iter().rfind(|(_, it)| it.cluster.is_control());
            let template = template.and_then(|(_, it)| containers(&it.object));
            template.is_some_and(|template| are_same(template, here))
        });
        let (workload, _) = same.next()?;
        if same.next().is_some() {
            return None;
        }
        self.0.insert(key, workload.clone());
        Some(workload.clone())
    }
}

/// The containers of a pod, or of the pods that an object creates.
fn containers(object: &Value) -> Option<&Vec<Value>> {
    let of_template = object.pointer("/spec/template/spec/containers");
    let of_pod = || object.pointer("/spec/containers");
    let found = of_template.or_else(of_pod)?.as_array();
    found.filter(|it| !it.is_empty())
}

/// Returns `true` if these containers do what those of the template do: an image that is only loaded in advance runs another
/// command.
fn are_same(template: &[Value], here: &[Value]) -> bool {
    let same = |a: &Value, b: &Value| {
        image(a) == image(b) && ["command", "args"].iter().all(|member| a.get(member) == b.get(member))
    };
    template.iter().all(|a| here.iter().any(|b| same(a, b)))
}

/// The image of a container without the parts that may be left out: `docker.io/library/nginx:latest` is `nginx`.
fn image(container: &Value) -> Option<&str> {
    let image = container.get("image")?.as_str()?;
    let image = image.strip_prefix("docker.io/").unwrap_or(image);
    let image = image.strip_prefix("library/").unwrap_or(image);
    Some(image.strip_suffix(":latest").unwrap_or(image))
}
