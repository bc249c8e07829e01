//! Limit ranges: what the `LimitRanger` admission plugin adds to pods, and what it refuses.

use baton_apimachinery::quantity::Quantity;
use serde_json::{Map, Value, json};

/// Where a pod says what was added.
const ANNOTATION: &str = "kubernetes.io/limit-ranger";

/// The lists of containers in a pod, and what messages call one of them.
const CONTAINERS: [(&str, &str); 2] = [("containers", "container"), ("initContainers", "init container")];

/// Adds what a limit range gives to containers of a new pod that say nothing themselves.
pub fn fill(pod: &mut Value, range: &Value) {
    let defaults = |kind: &str| -> Map<String, Value> {
        let mut all = Map::new();
        for limit in limits(range).filter(|limit| limit["type"] == "Container") {
            all.extend(limit[kind].as_object().cloned().unwrap_or_default());
        }
        all
    };
    let (requests, limits) = (defaults("defaultRequest"), defaults("default"));
    let mut said = Vec::new();
    for (list, called) in CONTAINERS {
        let containers = pod.pointer_mut(&format!("/spec/{list}")).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let name = container["name"].as_str().unwrap_or_default().to_owned();
            for (kind, defaults, word) in [("requests", &requests, "request"), ("limits", &limits, "limit")] {
                let added = add(container, kind, defaults);
                if !added.is_empty() {
                    said.push(format!("{} {word} for {called} {name}", added.join(", ")));
                }
            }
        }
    }
    if !said.is_empty() {
        pod["metadata"]["annotations"][ANNOTATION] = json!(format!("LimitRanger plugin set: {}", said.join("; ")));
    }
}

/// Adds the amounts that a container does not have, and says of which resources.
fn add(container: &mut Value, kind: &str, defaults: &Map<String, Value>) -> Vec<String> {
    let missing: Vec<String> = defaults
        .keys()
        .filter(|resource| container["resources"][kind].get(resource).is_none())
        .cloned()
        .collect();
    for resource in &missing {
        container["resources"][kind][resource] = defaults[resource].clone();
    }
    missing
}

/// What a limit range forbids in a new object; nothing in kinds other than pods and claims of volumes.
pub fn refused(kind: &str, object: &Value, range: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for limit in limits(range) {
        match (kind, limit["type"].as_str().unwrap_or_default()) {
            ("Pod", per @ "Container") => {
                for (list, _) in CONTAINERS {
                    for container in object["spec"][list].as_array().into_iter().flatten() {
                        let resources = &container["resources"];
                        let amounts = Amounts {
                            requests: read(&resources["requests"]),
                            limits: read(&resources["limits"]),
                        };
                        amounts.judge(limit, per, &mut found);
                    }
                }
            }
            ("Pod", per @ "Pod") => Amounts::of_pod(&object["spec"]).judge(limit, per, &mut found),
            ("PersistentVolumeClaim", per @ "PersistentVolumeClaim") => {
                judge_claim(&read(&object["spec"]["resources"]["requests"]), limit, per, &mut found);
            }
            _ => {}
        }
    }
    found
}

fn limits(range: &Value) -> impl Iterator<Item = &Value> {
    range["spec"]["limits"].as_array().into_iter().flatten()
}

pub(super) type Quantities = Vec<(String, Quantity)>;

fn read(amounts: &Value) -> Quantities {
    let amounts = amounts.as_object().into_iter().flatten();
    amounts
        .filter_map(|(resource, amount)| Some((resource.clone(), Quantity::parse(amount.as_str()?)?)))
        .collect()
}

fn of(amounts: &Quantities, resource: &str) -> Option<Quantity> {
    amounts
        .iter()
        .find(|(name, _)| name == resource)
        .map(|(_, amount)| *amount)
}

/// What the containers of a pod request and are limited to, all together.
pub(super) fn amounts_of_pod(spec: &Value) -> (Quantities, Quantities) {
    let Amounts { requests, limits } = Amounts::of_pod(spec);
    (requests, limits)
}

/// What is asked for.
struct Amounts {
    requests: Quantities,
    limits: Quantities,
}

impl Amounts {
    /// Of a pod: the sum of its containers, or the largest of those that run before them if that is more.
    fn of_pod(spec: &Value) -> Self {
        let total = |kind: &str| {
            let mut total = Quantities::new();
            let mut put = |amounts: Quantities, join: &dyn Fn(Quantity, Quantity) -> Quantity| {
                for (resource, amount) in amounts {
                    match total.iter_mut().find(|(name, _)| *name == resource) {
                        Some((_, sum)) => *sum = join(*sum, amount),
                        None => total.push((resource, amount)),
                    }
                }
            };
            for container in spec["containers"].as_array().into_iter().flatten() {
                put(read(&container["resources"][kind]), &Quantity::plus);
            }
            for container in spec["initContainers"].as_array().into_iter().flatten() {
                put(read(&container["resources"][kind]), &|sum, amount| {
                    if amount.nanos() > sum.nanos() { amount } else { sum }
                });
            }
            total
        };
        Self {
            requests: total("requests"),
            limits: total("limits"),
        }
    }

    fn judge(&self, limit: &Value, per: &str, found: &mut Vec<String>) {
        for (resource, least) in read(&limit["min"]) {
            let rule = format!("minimum {resource} usage per {per} is {}", least.canonical());
            let too_little = |amount: Quantity| amount.nanos() < least.nanos();
            match (of(&self.requests, &resource), of(&self.limits, &resource)) {
                (None, _) => found.push(format!("{rule}.  No request is specified")),
                (Some(request), _) if too_little(request) => {
                    found.push(format!("{rule}, but request is {}", request.canonical()));
                }
                (_, Some(limit)) if too_little(limit) => {
                    found.push(format!("{rule}, but limit is {}", limit.canonical()));
                }
                _ => {}
            }
        }
        for (resource, most) in read(&limit["max"]) {
            let rule = format!("maximum {resource} usage per {per} is {}", most.canonical());
            let too_much = |amount: Quantity| amount.nanos() > most.nanos();
            match (of(&self.requests, &resource), of(&self.limits, &resource)) {
                (_, None) => found.push(format!("{rule}.  No limit is specified")),
                (_, Some(limit)) if too_much(limit) => {
                    found.push(format!("{rule}, but limit is {}", limit.canonical()));
                }
                (Some(request), _) if too_much(request) => {
                    found.push(format!("{rule}, but request is {}", request.canonical()));
                }
                _ => {}
            }
        }
        for (resource, most) in read(&limit["maxLimitRequestRatio"]) {
            let rule = format!(
                "{resource} max limit to request ratio per {per} is {}",
                most.canonical()
            );
            let positive = |amounts| of(amounts, &resource).filter(|amount: &Quantity| amount.nanos() > 0);
            match (positive(&self.requests), positive(&self.limits)) {
                (None, _) => found.push(format!("{rule}, but no request is specified or request is 0")),
                (_, None) => found.push(format!("{rule}, but no limit is specified or limit is 0")),
                (Some(request), Some(limit)) => {
                    let ratio = limit.as_f64() / request.as_f64();
                    if ratio > most.as_f64() {
                        found.push(format!("{rule}, but provided ratio is {ratio:.6}"));
                    }
                }
            }
        }
    }
}

fn judge_claim(requests: &Quantities, limit: &Value, per: &str, found: &mut Vec<String>) {
    for (bound, word, is_beyond) in [
        ("min", "minimum", i128::lt as fn(&i128, &i128) -> bool),
        ("max", "maximum", i128::gt),
    ] {
        for (resource, bound) in read(&limit[bound]) {
            let rule = format!("{word} {resource} usage per {per} is {}", bound.canonical());
            match of(requests, &resource) {
                None => found.push(format!("{rule}.  No request is specified")),
                Some(request) if is_beyond(&request.nanos(), &bound.nanos()) => {
                    found.push(format!("{rule}, but request is {}", request.canonical()));
                }
                Some(_) => {}
            }
        }
    }
}
