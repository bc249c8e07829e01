//! What the containers of a pod ask for together.

use std::collections::BTreeMap;

use baton_apimachinery::quantity::Quantity;
use serde_json::Value;

/// Amounts of resources.
type Amounts = BTreeMap<String, Quantity>;

/// The `requests` or `limits` of all containers: of those that run side by side the sum, of those that run before
/// them what the most demanding of them needs.
pub(super) fn of_containers(spec: &Value, kind: &str) -> Amounts {
    let mut sum = Amounts::new();
    for container in list(spec, "containers") {
        add(&mut sum, &amounts(container, kind));
    }
    let (mut staying, mut most) = (Amounts::new(), Amounts::new());
    for container in list(spec, "initContainers") {
        let wanted = amounts(container, kind);
        let mut now = staying.clone();
        add(&mut now, &wanted);
        if container.get("restartPolicy").is_some_and(|policy| policy == "Always") {
            add(&mut sum, &wanted);
            staying.clone_from(&now);
        }
        raise(&mut most, &now);
    }
    raise(&mut sum, &most);
    sum
}

/// Whether a pod as a whole can ask for a resource.
pub(super) fn is_of_pod(resource: &str) -> bool {
    matches!(resource, "cpu" | "memory") || resource.starts_with("hugepages-")
}

fn list<'a>(spec: &'a Value, field: &str) -> &'a [Value] {
    spec.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn amounts(container: &Value, kind: &str) -> Amounts {
    let given = container
        .get("resources")
        .and_then(|resources| resources.get(kind)?.as_object());
    let given = given.into_iter().flatten();
    given
        .filter_map(|(resource, amount)| Some((resource.clone(), Quantity::parse(amount.as_str()?)?)))
        .collect()
}

fn add(to: &mut Amounts, more: &Amounts) {
    for (resource, amount) in more {
        let sum = to.get(resource).map_or(*amount, |before| before.plus(*amount));
        to.insert(resource.clone(), sum);
    }
}

fn raise(to: &mut Amounts, others: &Amounts) {
    for (resource, amount) in others {
        if to.get(resource).is_none_or(|before| amount.nanos() > before.nanos()) {
            to.insert(resource.clone(), *amount);
        }
    }
}
