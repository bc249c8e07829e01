//! Decides if a case can share a control plane with other cases, each on separate members.
//!
//! It can if nothing that it does or that is done for it reaches further than its namespace and its members. Whatever is
//! not known to stay there makes it a case that has the control plane to itself: to be too careful only costs time.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::model::{Action, Case, Place, Subject};
use crate::{names::number_of_member, timeline::DEFAULT_NAMESPACE};

/// Namespaced kinds, by group. Nobody but the owner of the namespace is affected by their objects.
const NAMESPACED: [(&str, &[&str]); 5] = [
    (
        "",
        &[
            "ConfigMap",
            "PersistentVolumeClaim",
            "Pod",
            "Secret",
            "Service",
            "ServiceAccount",
        ],
    ),
    ("apps", &["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"]),
    ("batch", &["CronJob", "Job"]),
    ("networking.k8s.io", &["NetworkPolicy"]),
    ("policy.karmada.io", &[POLICY]),
];

const POLICY: &str = "PropagationPolicy";

const DEFINITION: &str = "CustomResourceDefinition";

/// An early event could come late while other cases keep the target busy, and stay unseen.
const LETS_TIME_PASS: &str = "lets time pass to see that nothing happens, which a busy target may only delay";

/// Features that are about all evictions of an implementation together.
const OF_ALL: [&str; 4] = [
    "EvictionRate",
    "SecondaryEvictionRate",
    "EvictionQueue",
    "EvictionMetrics",
];

impl Case {
    /// Returns the reason for which it needs a separate control plane, in words; `None` if it can share one.
    pub fn alone(&self) -> Option<String> {
        if let Some(feature) = self.features.iter().find(|it| OF_ALL.contains(&it.as_str())) {
            return Some(format!("is about {feature}, which all evictions share"));
        }
        if let Some(option) = self.controller.options.keys().find(|it| it.ends_with("-rate")) {
            return Some(format!("sets {option}, which all evictions share"));
        }
        if let Some(name) = self.foreign_member() {
            return Some(format!(
                "speaks of {name}, which is none of its {} members",
                self.members
            ));
        }
        let own = Own {
            kinds: self.own_kinds(),
            has_templates: self.has_templates(),
        };
        self.steps.iter().find_map(|step| reaches_further(&step.action, &own))
    }

    /// Returns `true` if its policies could place an object on clusters.
    fn has_templates(&self) -> bool {
        let is_template = |object: &Value| object["kind"] != POLICY && object["kind"] != DEFINITION;
        self.applied_to_control().any(is_template)
    }

    /// The objects that it applies to the control plane.
    fn applied_to_control(&self) -> impl Iterator<Item = &Value> {
        let written = self.steps.iter().flat_map(|step| step.action.facts().writes);
        let to_control = written.filter(|it| it.into.is_none() && it.on.contains(&Place::Control));
        to_control.map(|it| it.value)
    }

    /// The definitions that it applies to the control plane, by name.
    pub fn definitions(&self) -> BTreeMap<&str, &Value> {
        let definitions = self.applied_to_control().filter(|object| object["kind"] == DEFINITION);
        definitions
            .filter_map(|it| Some((it["metadata"]["name"].as_str()?, it)))
            .collect()
    }

    /// The namespaced kinds that it defines itself, with their groups.
    fn own_kinds(&self) -> BTreeSet<(&str, &str)> {
        let definitions = self.definitions();
        let specs = definitions.values().map(|definition| &definition["spec"]);
        let namespaced = specs.filter(|spec| spec["scope"] == "Namespaced");
        namespaced
            .filter_map(|spec| Some((spec["group"].as_str()?, spec["names"]["kind"].as_str()?)))
            .collect()
    }

    /// Returns a member that it names and does not have: on a shared control plane, another case may have it.
    fn foreign_member(&self) -> Option<String> {
        let split = |it: char| !it.is_ascii_alphanumeric();
        let text = serde_json::to_string(&self.steps).unwrap_or_default();
        let of_steps = text
            .split(split)
            .filter(|word| number_of_member(word).is_some_and(|it| it > self.members));
        // Its namespace is called after it.
        let of_name = self
            .id
            .as_str()
            .split(split)
            .filter(|word| number_of_member(word).is_some());
        of_steps.chain(of_name).next().map(str::to_owned)
    }
}

/// Returns the numbers of those cases that can share a control plane; each of the others must run alone.
pub fn together(cases: &[&Case]) -> BTreeSet<usize> {
    let mut defined: BTreeMap<&str, &Value> = BTreeMap::new();
    let mut together = BTreeSet::new();
    for (number, case) in cases.iter().enumerate() {
        let definitions = case.definitions();
        // They stay while others may need them, so that all must mean the same by a kind.
        let agrees = |(name, definition): (&&str, &&Value)| defined.get(*name).is_none_or(|it| it == definition);
        if case.alone().is_none() && definitions.iter().all(agrees) {
            defined.extend(definitions);
            together.insert(number);
        }
    }
    together
}

/// Objects and clusters that belong to a case.
struct Own<'a> {
    /// The namespaced kinds that it defines, with their groups.
    kinds: BTreeSet<(&'a str, &'a str)>,
    /// Set if its policies have an object to place.
    has_templates: bool,
}

/// Returns the reason for which a step may affect other cases, or others may change its result.
fn reaches_further(action: &Action, own: &Own<'_>) -> Option<String> {
    if let Action::Refused(refused) = action {
        return reaches_further(&refused.request, own);
    }
    let facts = action.facts();
    let changed = facts.changes.and_then(|(on, of)| subject(on, of, own));
    let written = || {
        facts.writes.iter().find_map(|write| match write.into {
            Some(_) => widened(&write.value["spec"]),
            None if write.on.contains(&Place::Control) => object(write.value, own),
            None => None,
        })
    };
    let disturbed = changed.or_else(written).or(facts.disturbs);
    disturbed.or_else(|| facts.passes.map(|_| LETS_TIME_PASS.to_owned()))
}

/// Returns the reason for which an object on the control plane may affect other cases.
fn object(object: &Value, own: &Own<'_>) -> Option<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
    if kind == DEFINITION {
        return None;
    }
    if !is_namespaced(&api_version, &kind, own) {
        return Some(format!("applies a {kind}, which is not known to stay in a namespace"));
    }
    let namespace = text(&object["metadata"]["namespace"]);
    if !matches!(namespace.as_str(), "" | DEFAULT_NAMESPACE) {
        return Some(format!("applies a {kind} in the namespace {namespace}"));
    }
    if kind == POLICY && own.has_templates && !names_clusters(&object["spec"]["placement"]) {
        return Some("has a policy that does not name its clusters".to_owned());
    }
    None
}

fn is_namespaced(api_version: &str, kind: &str, own: &Own<'_>) -> bool {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let known = NAMESPACED
        .iter()
        .any(|(of, kinds)| *of == group && kinds.contains(&kind));
    known || own.kinds.contains(&(group, kind))
}

/// Returns `true` if each affinity of a placement names its clusters.
fn names_clusters(placement: &Value) -> bool {
    let named = |affinity: &Value| {
        affinity["clusterNames"]
            .as_array()
            .is_some_and(|names| !names.is_empty())
    };
    let several = placement["clusterAffinities"].as_array();
    named(&placement["clusterAffinity"]) || several.is_some_and(|all| !all.is_empty() && all.iter().all(named))
}

/// Returns the reason for which a patch lets a policy or a binding use clusters that it does not name.
fn widened(spec: &Value) -> Option<String> {
    let members = spec.as_object()?;
    let placement = members.get("placement")?;
    let clear = |affinity: &Value| {
        let names = affinity.get("clusterNames");
        affinity.is_object() && names.is_none_or(|names| names.as_array().is_some_and(|it| !it.is_empty()))
    };
    let kept = match placement.get("clusterAffinity") {
        _ if !placement.is_object() => false,
        Some(affinity) => clear(affinity),
        None => true,
    };
    let several = placement.get("clusterAffinities");
    let kept = kept && several.is_none_or(|_| names_clusters(placement));
    (!kept).then(|| "lets a policy have clusters that it does not name".to_owned())
}

/// Returns the reason for which the changes of a step may affect other cases. Objects on members belong to the case.
fn subject(on: &Place, of: &Subject, own: &Own<'_>) -> Option<String> {
    match of {
        Subject::Object(object) => {
            let stays = *on != Place::Control || is_namespaced(&object.api_version, &object.kind, own);
            let namespace = object.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE);
            (!stays || namespace != DEFAULT_NAMESPACE)
                .then(|| format!("changes {object}, which is not known to be the case's own"))
        }
        Subject::Cluster(_) => Some("changes more of a Cluster than its taints".to_owned()),
        Subject::BindingOf(_)
        | Subject::BindingsOf(_)
        | Subject::WorkOf { .. }
        | Subject::EventOf(_)
        | Subject::NoticeOf(_)
        | Subject::NewsOf(_) => None,
    }
}
