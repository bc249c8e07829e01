//! The quality of service of a pod.

use baton_apimachinery::quantity::Quantity;
use serde_json::Value;

/// `Guaranteed`, `Burstable` or `BestEffort`, from the requests and limits of all containers.
pub fn quality_of_service(spec: &Value) -> &'static str {
    let lists = ["containers", "initContainers"]
        .into_iter()
        .filter_map(|list| spec.get(list)?.as_array());
    let none = Value::Null;
    let (mut requests, mut limits, mut is_complete) = ([None; 2], [None; 2], true);
    for container in lists.flatten() {
        let resources = container.get("resources").unwrap_or(&none);
        let limited = amounts(resources, "limits");
        is_complete &= limited.iter().all(Option::is_some);
        add(&mut limits, limited);
        add(&mut requests, amounts(resources, "requests"));
    }
    class(requests, limits, is_complete)
}

/// Amounts of processor and memory; `None` for nothing.
type Computed = [Option<i128>; 2];

fn amounts(resources: &Value, kind: &str) -> Computed {
    ["cpu", "memory"].map(|resource| {
        let text = resources.get(kind)?.get(resource)?.as_str()?;
        Quantity::parse(text).map(Quantity::nanos).filter(|nanos| *nanos > 0)
    })
}

fn add(to: &mut Computed, more: Computed) {
    for (sum, more) in to.iter_mut().zip(more) {
        *sum = match (*sum, more) {
            (Some(sum), Some(more)) => Some(sum.saturating_add(more)),
            (sum, more) => sum.or(more),
        };
    }
}

fn class(requests: Computed, limits: Computed, is_complete: bool) -> &'static str {
    if requests.iter().chain(&limits).all(Option::is_none) {
        "BestEffort"
    } else if is_complete && requests == limits {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn quality_follows_from_requests_and_limits() {
        let container = |resources: Value| json!({"containers": [{"resources": resources}]});
        for (resources, expected) in [
            (json!({}), "BestEffort"),
            (json!({"requests": {"cpu": "1"}}), "Burstable"),
            (
                json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}),
                "Guaranteed",
            ),
        ] {
            assert_eq!(quality_of_service(&container(resources)), expected);
        }
    }
}
