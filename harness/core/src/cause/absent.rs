//! Causes that show by something that is missing: a workload without a binding, a binding without a cluster.

use serde_json::Value;

use super::{Cause, bindings, list, text};
use crate::{
    case::model::Phase,
    timeline::{ObjectId, World},
    workload::Workload,
};

const POLICY_KINDS: [&str; 2] = ["PropagationPolicy", "ClusterPropagationPolicy"];

/// A workload that a policy selects by its name and that no binding refers to.
pub(super) fn unbound(world: &World) -> Option<Cause> {
    unbound_workload(world, |_| true)
}

/// Such a workload that is also wanted.
pub(super) fn unbound_workload(world: &World, is_wanted: impl Fn(&ObjectId) -> bool) -> Option<Cause> {
    let mut selected = selected(world).filter(|(_, template)| is_wanted(template));
    let (policy, template) = selected.find(|(_, template)| !is_bound(world, template))?;
    let mut kinds: Vec<&str> = bindings(world)
        .filter_map(|(_, binding)| text(binding, "/spec/resource/kind"))
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    let others = if kinds.is_empty() {
        "there are no bindings at all".to_owned()
    } else {
        format!("the bindings refer to: {}", kinds.join(", "))
    };
    let text = format!(
        "no binding refers to {} {}, which {} {} selects; {others}",
        template.kind, template.name, policy.kind, policy.name
    );
    let group = format!(
        "no binding refers to a {} that a {} selects",
        template.kind, policy.kind
    );
    Some(Cause::new(group, text))
}

/// Returns each policy with each template that it selects by name.
pub(super) fn selected(world: &World) -> impl Iterator<Item = (&ObjectId, &ObjectId)> {
    let policies = world.objects().filter(|(id, _)| {
        let is_policy = POLICY_KINDS.contains(&id.kind.as_str());
        is_policy && id.cluster.is_control()
    });
    policies.flat_map(move |(policy, object)| {
        let selectors = list(object, "/spec/resourceSelectors").iter();
        selectors.flat_map(move |selector| {
            let templates = world.objects();
            let templates =
                templates.filter(move |(id, object)| selects(selector, policy, id) && has_version(selector, object));
            templates.map(move |(template, _)| (policy, template))
        })
    })
}

/// Returns true if a selector of a policy names this object of the control plane. Selectors by labels are left out: objects
/// of the implementation itself may have the labels, too.
fn selects(selector: &Value, policy: &ObjectId, id: &ObjectId) -> bool {
    let namespace = text(selector, "/namespace").unwrap_or(&policy.namespace);
    id.cluster.is_control()
        && text(selector, "/kind") == Some(id.kind.as_str())
        && text(selector, "/name") == Some(id.name.as_str())
        && (namespace.is_empty() || namespace == id.namespace)
}

/// Returns true unless an object and a selector name different versions.
fn has_version(selector: &Value, object: &Value) -> bool {
    let versions = text(selector, "/apiVersion").zip(text(object, "/apiVersion"));
    versions.is_none_or(|(wanted, version)| wanted == version)
}

/// A workload without a binding that no policy selects, because the one that names it has another version in its selector.
pub(super) fn of_another_version(world: &World) -> Option<Cause> {
    let mut policies = world
        .objects()
        .filter(|(id, _)| POLICY_KINDS.contains(&id.kind.as_str()));
    policies.find_map(|(policy, object)| {
        let mut selectors = list(object, "/spec/resourceSelectors").iter();
        selectors.find_map(|selector| {
            let mut named = world.objects().filter(|(id, _)| selects(selector, policy, id));
            let (template, object) = named.find(|(_, object)| !has_version(selector, object))?;
            if is_bound(world, template) {
                return None;
            }
            let [wanted, version] = [selector, &**object].map(|it| text(it, "/apiVersion").unwrap_or_default());
            let text = format!(
                "{} {} selects {} {} of {wanted}; this one is of {version}",
                policy.kind, policy.name, template.kind, template.name
            );
            Some(Cause::new("a policy selects another version of a workload", text))
        })
    })
}

fn is_bound(world: &World, template: &ObjectId) -> bool {
    bindings(world).any(|(_, binding)| Workload::of_binding(binding).includes(template))
}

/// A binding without a cluster, where a step waited for the scheduler.
pub(super) fn unscheduled(world: &World, phase: &str) -> Option<Cause> {
    if phase != Phase::Schedule.name() {
        return None;
    }
    let (id, _) = bindings(world).find(|(_, binding)| list(binding, "/spec/clusters").is_empty())?;
    let text = format!("{} {} has no cluster in `spec.clusters`", id.kind, id.name);
    Some(Cause::new("a binding has no cluster", text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        names::ClusterName,
        timeline::{Change, Revision},
    };

    fn world(objects: &[(&str, Value)]) -> World {
        let entries = (1..).zip(objects).map(|(seq, (kind, object))| crate::timeline::Entry {
            at: std::time::Duration::ZERO,
            seq,
            event: crate::timeline::Event::Revision(Revision {
                cluster: ClusterName::control(),
                kind: (*kind).to_owned(),
                change: Change::Added,
                object: std::sync::Arc::new(object.clone()),
                by: None,
            }),
        });
        World::after(&entries.collect::<Vec<_>>())
    }

    fn named(kind: &'static str, name: &str) -> (&'static str, Value) {
        (kind, json!({"metadata": {"name": name, "namespace": "default"}}))
    }

    fn policy(kind: &str, name: &str) -> (&'static str, Value) {
        let (policy, mut object) = named("PropagationPolicy", "policy");
        object["spec"] = json!({"resourceSelectors": [{"apiVersion": "v1", "kind": kind, "name": name}]});
        (policy, object)
    }

    fn binding(kind: &str, name: &str) -> (&'static str, Value) {
        let (binding, mut object) = named("ResourceBinding", "binding");
        object["spec"] = json!({"resource": {"kind": kind, "namespace": "default", "name": name}});
        (binding, object)
    }

    #[test]
    fn a_selected_workload_without_a_binding_is_named_with_its_policy() {
        let job = [named("Job", "job"), policy("Job", "job")];
        let unbound = |world: &World| unbound(world).map(|cause| cause.text);
        assert_eq!(
            unbound(&world(&job)).as_deref(),
            Some("no binding refers to Job job, which PropagationPolicy policy selects; there are no bindings at all")
        );
        let [one, two] = job.clone();
        let of_another = [one, two, binding("Deployment", "job")];
        assert_eq!(
            unbound(&world(&of_another)).as_deref(),
            Some(
                "no binding refers to Job job, which PropagationPolicy policy selects; the bindings refer to: Deployment"
            )
        );
        let [one, two] = job;
        assert_eq!(unbound(&world(&[one, two, binding("Job", "job")])), None);
        assert_eq!(unbound(&world(&[named("Job", "job"), policy("Job", "other")])), None);
    }

    #[test]
    fn a_selector_of_another_version_is_the_cause_and_selects_nothing() {
        let [mut job, mut policy] = [named("Job", "job"), policy("Job", "job")];
        job.1["apiVersion"] = json!("batch/v1");
        policy.1["spec"]["resourceSelectors"][0]["apiVersion"] = json!("batch/v2");
        let objects = world(&[job.clone(), policy.clone()]);
        let told = "PropagationPolicy policy selects Job job of batch/v2; this one is of batch/v1";
        assert_eq!(
            of_another_version(&objects).map(|cause| cause.text).as_deref(),
            Some(told)
        );
        assert_eq!(unbound(&objects), None);
        policy.1["spec"]["resourceSelectors"][0]["apiVersion"] = json!("batch/v1");
        let objects = world(&[job, policy]);
        assert_eq!(of_another_version(&objects), None);
        assert!(unbound(&objects).is_some());
    }

    #[test]
    fn a_binding_without_a_cluster_is_a_cause_where_a_step_waited_for_the_scheduler() {
        let world = world(&[binding("Job", "job")]);
        let found = unscheduled(&world, Phase::Schedule.name());
        assert_eq!(
            found.as_ref().map(|cause| cause.text.as_str()),
            Some("ResourceBinding binding has no cluster in `spec.clusters`")
        );
        assert_eq!(unscheduled(&world, Phase::Collect.name()), None);
    }
}
