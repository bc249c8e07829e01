//! Resource quotas: what an object counts for, and whether that is still granted, as the `ResourceQuota` admission
//! plugin says it.
//!
//! What counts is the quota's status: nothing is granted by a quota, nor refused, before a controller has written what
//! is hard.

use std::collections::BTreeMap;

use baton_apimachinery::quantity::Quantity;
use serde_json::{Value, json};

use crate::qos::quality_of_service;

/// How much of which resource.
type Amounts = BTreeMap<String, Quantity>;

/// The kinds of the core group that are counted by their plain names too.
const PLAIN: &[&str] = &[
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
];

/// What every container must say if a quota grants it.
const COMPUTE: &[(&str, &str, &str)] = &[
    ("cpu", "requests", "cpu"),
    ("ephemeral-storage", "requests", "ephemeral-storage"),
    ("limits.cpu", "limits", "cpu"),
    ("limits.ephemeral-storage", "limits", "ephemeral-storage"),
    ("limits.memory", "limits", "memory"),
    ("memory", "requests", "memory"),
    ("requests.cpu", "requests", "cpu"),
    ("requests.ephemeral-storage", "requests", "ephemeral-storage"),
    ("requests.memory", "requests", "memory"),
];

/// Whether a resource is counted, and not measured.
pub(super) fn is_counted(resource: &str) -> bool {
    PLAIN.contains(&resource) || matches!(resource, "services.loadbalancers" | "services.nodeports")
}

/// Whether a resource is measured, and one that quotas know.
pub(super) fn is_measured(resource: &str) -> bool {
    resource == "requests.storage" || COMPUTE.iter().any(|(name, _, _)| *name == resource)
}

/// An object that is to be stored.
#[derive(Debug, Clone, Copy)]
pub struct Charged<'a> {
    /// Its group.
    pub group: &'a str,
    /// Its resource: `pods`.
    pub plural: &'a str,
    /// The object.
    pub new: &'a Value,
    /// What it was; `None` if it is created.
    pub old: Option<&'a Value>,
}

/// The quota with the object counted in; `None` if it does not count there.
///
/// # Errors
/// Why the quota forbids it.
pub fn charge(quota: &Value, charged: &Charged<'_>) -> Result<Option<Value>, String> {
    let hard = amounts(quota.pointer("/status/hard"));
    if hard.is_empty() || !is_in_scope(quota, charged) {
        return Ok(None);
    }
    let name = quota
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if charged.old.is_none() && is_pods(charged) {
        let missing = unspecified(charged.new, &hard);
        if !missing.is_empty() {
            return Err(format!("failed quota: {name}: must specify {}", missing.join("; ")));
        }
    }
    let before = charged.old.map(|old| usage(charged, old)).unwrap_or_default();
    let mut requested = usage(charged, charged.new);
    requested.retain(|resource, _| hard.contains_key(resource));
    for (resource, amount) in &mut requested {
        if let Some(before) = before.get(resource) {
            *amount = amount.minus(*before);
        }
    }
    requested.retain(|_, amount| amount.nanos() > 0);
    if requested.is_empty() {
        return Ok(None);
    }
    let mut used = amounts(quota.pointer("/status/used"));
    used.retain(|resource, _| hard.contains_key(resource));
    let mut exceeded = [Vec::new(), Vec::new(), Vec::new()];
    for (resource, amount) in &requested {
        let limit = hard[resource];
        let now = used.get(resource).copied();
        let sum = now.map_or(*amount, |now| now.plus(*amount));
        if sum.nanos() > limit.nanos() {
            let now = now.map_or_else(|| "0".to_owned(), Quantity::canonical);
            for (list, amount) in exceeded.iter_mut().zip([amount.canonical(), now, limit.canonical()]) {
                list.push(format!("{resource}={amount}"));
            }
        }
        used.insert(resource.clone(), sum);
    }
    let [asked, taken, limits] = exceeded.map(|list| list.join(","));
    if !asked.is_empty() {
        return Err(format!(
            "exceeded quota: {name}, requested: {asked}, used: {taken}, limited: {limits}"
        ));
    }
    let mut quota = quota.clone();
    for (resource, amount) in used {
        quota["status"]["used"][resource] = json!(amount.canonical());
    }
    Ok(Some(quota))
}

fn amounts(value: Option<&Value>) -> Amounts {
    let amounts = value.and_then(Value::as_object).into_iter().flatten();
    amounts
        .filter_map(|(resource, amount)| Some((resource.clone(), Quantity::parse(amount.as_str()?)?)))
        .collect()
}

fn is_pods(charged: &Charged<'_>) -> bool {
    charged.group.is_empty() && charged.plural == "pods"
}

/// Quotas with scopes are about pods alone, and about those that are in all of them.
fn is_in_scope(quota: &Value, charged: &Charged<'_>) -> bool {
    let scopes = quota.pointer("/spec/scopes").and_then(Value::as_array);
    let scopes = scopes.into_iter().flatten().filter_map(Value::as_str);
    let selectors = quota
        .pointer("/spec/scopeSelector/matchExpressions")
        .and_then(Value::as_array);
    let spec = &charged.new["spec"];
    let holds = |scope: &str| {
        let best_effort = quality_of_service(spec) == "BestEffort";
        let ends = spec["activeDeadlineSeconds"]
            .as_i64()
            .is_some_and(|seconds| seconds >= 0);
        is_pods(charged)
            && match scope {
                "BestEffort" => best_effort,
                "NotBestEffort" => !best_effort,
                "Terminating" => ends,
                "NotTerminating" => !ends,
                _ => false,
            }
    };
    let selected = |selector: &Value| {
        let scope = selector["scopeName"].as_str().unwrap_or_default();
        let class = spec["priorityClassName"].as_str().filter(|class| !class.is_empty());
        let listed = || {
            let values = selector["values"].as_array().into_iter().flatten();
            class.is_some_and(|class| values.filter_map(Value::as_str).any(|value| value == class))
        };
        match (scope, selector["operator"].as_str().unwrap_or_default()) {
            ("PriorityClass", _) if !is_pods(charged) => false,
            ("PriorityClass", "In") => listed(),
            ("PriorityClass", "NotIn") => !listed(),
            ("PriorityClass", "Exists") => class.is_some(),
            ("PriorityClass", "DoesNotExist") => class.is_none(),
            _ => holds(scope),
        }
    };
    scopes.into_iter().all(holds) && selectors.into_iter().flatten().all(selected)
}

/// What containers do not say although the quota grants it: `requests.cpu for: a,b`.
fn unspecified(pod: &Value, hard: &Amounts) -> Vec<String> {
    let mut missing = Vec::new();
    for (granted, kind, resource) in COMPUTE {
        if !hard.contains_key(*granted) {
            continue;
        }
        let lists = ["containers", "initContainers"];
        let containers = lists.iter().filter_map(|list| pod["spec"][list].as_array()).flatten();
        let mut silent: Vec<&str> = containers
            .filter(|container| container["resources"][kind].get(resource).is_none())
            .filter_map(|container| container["name"].as_str())
            .collect();
        silent.sort_unstable();
        if !silent.is_empty() {
            missing.push(format!("{granted} for: {}", silent.join(",")));
        }
    }
    missing
}

/// What an object counts for.
fn usage(charged: &Charged<'_>, object: &Value) -> Amounts {
    let mut usage = Amounts::new();
    let one = Quantity::whole_number(1);
    let dot = if charged.group.is_empty() { "" } else { "." };
    usage.insert(format!("count/{}{dot}{}", charged.plural, charged.group), one);
    if !charged.group.is_empty() {
        return usage;
    }
    if PLAIN.contains(&charged.plural) {
        usage.insert(charged.plural.to_owned(), one);
    }
    match charged.plural {
        "pods" => of_pod(object, &mut usage),
        "services" => of_service(object, &mut usage),
        "persistentvolumeclaims" => of_claim(object, &mut usage),
        _ => {}
    }
    usage
}

fn of_pod(pod: &Value, usage: &mut Amounts) {
    if matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed")) {
        usage.clear();
        return;
    }
    let (requests, limits) = crate::limits::amounts_of_pod(&pod["spec"]);
    for (resource, amount) in requests {
        if matches!(resource.as_str(), "cpu" | "memory" | "ephemeral-storage") {
            usage.insert(resource.clone(), amount);
        }
        usage.insert(format!("requests.{resource}"), amount);
    }
    for (resource, amount) in limits {
        usage.insert(format!("limits.{resource}"), amount);
    }
}

fn of_service(service: &Value, usage: &mut Amounts) {
    let spec = &service["spec"];
    let ports = spec["ports"].as_array().map_or(0, Vec::len);
    let count = |count: usize| Quantity::whole_number(i64::try_from(count).unwrap_or(i64::MAX));
    match spec["type"].as_str() {
        Some("NodePort") => {
            usage.insert("services.nodeports".to_owned(), count(ports));
        }
        Some("LoadBalancer") => {
            let allocates = spec["allocateLoadBalancerNodePorts"] != Value::Bool(false);
            let ports = if allocates { ports } else { 0 };
            usage.insert("services.nodeports".to_owned(), count(ports));
            usage.insert("services.loadbalancers".to_owned(), count(1));
        }
        _ => {}
    }
}

fn of_claim(claim: &Value, usage: &mut Amounts) {
    let spec = &claim["spec"];
    let storage = spec["resources"]["requests"]["storage"]
        .as_str()
        .and_then(Quantity::parse);
    if let Some(storage) = storage {
        usage.insert("requests.storage".to_owned(), storage);
    }
    if let Some(class) = spec["storageClassName"].as_str().filter(|class| !class.is_empty()) {
        let of_class = |resource: &str| format!("{class}.storageclass.storage.k8s.io/{resource}");
        usage.insert(of_class("persistentvolumeclaims"), Quantity::whole_number(1));
        if let Some(storage) = storage {
            usage.insert(of_class("requests.storage"), storage);
        }
    }
}
