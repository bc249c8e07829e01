//! What a `HorizontalPodAutoscaler` watches: `cpu: 40%/80%`.

use jiff::Timestamp;
use serde_json::Value;

use super::cells::{at, items, text};

/// At most this many metrics are shown.
const SHOWN: usize = 2;

/// The metrics with what they are and what they are to be.
pub(super) fn targets(object: &Value, _: Timestamp) -> Value {
    let reported = items(object, &["status", "currentMetrics"]);
    let metrics = items(object, &["spec", "metrics"]).iter().enumerate();
    let texts: Vec<String> = metrics
        .map(|(index, metric)| target(metric, reported.get(index).unwrap_or(&Value::Null)))
        .collect();
    let shown = texts.get(..SHOWN).unwrap_or(&texts).join(", ");
    Value::from(match texts.len() {
        0 => "<none>".to_owned(),
        count if count > SHOWN => format!("{shown} + {} more...", count - SHOWN),
        _ => shown,
    })
}

fn target(metric: &Value, reported: &Value) -> String {
    let source = match text(metric, &["type"]) {
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        "Pods" => "pods",
        "Object" => "object",
        "External" => "external",
        _ => return "<unknown type>".to_owned(),
    };
    let value = |of: &Value, side: &str, field: &str| Some(at(of, &[source, side, field])?.as_str()?.to_owned());
    let percent =
        |of: &Value, side: &str| Some(format!("{}%", at(of, &[source, side, "averageUtilization"])?.as_i64()?));
    let average = value(metric, "target", "averageValue");
    let is_average = average.is_some();
    let (is, wanted) = match source {
        "resource" | "containerResource" if !is_average => (
            percent(reported, "current"),
            percent(metric, "target").unwrap_or_else(|| "<auto>".to_owned()),
        ),
        _ => {
            let field = if is_average { "averageValue" } else { "value" };
            let wanted = average.or_else(|| value(metric, "target", "value"));
            (
                value(reported, "current", field),
                wanted.unwrap_or_else(|| "0".to_owned()),
            )
        }
    };
    let is = is.unwrap_or_else(|| "<unknown>".to_owned());
    match source {
        "resource" | "containerResource" => format!("{}: {is}/{wanted}", text(metric, &[source, "name"])),
        "object" | "external" if is_average => format!("{is}/{wanted} (avg)"),
        _ => format!("{is}/{wanted}"),
    }
}

/// The fewest replicas, as text.
pub(super) fn fewest(object: &Value, _: Timestamp) -> Value {
    let fewest = at(object, &["spec", "minReplicas"]).and_then(Value::as_i64);
    Value::from(fewest.map_or_else(|| "<unset>".to_owned(), |fewest| fewest.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metrics_are_shown_with_what_they_are_and_are_to_be() {
        let cpu = json!({"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 80}}});
        let average =
            json!({"type": "External", "external": {"metric": {"name": "e"}, "target": {"averageValue": "9"}}});
        let object = json!({"type": "Object", "object": {"target": {"value": "7"}}});
        let reported = json!({"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 40}}});
        let shown = |metrics: &Value| {
            let object = json!({"spec": {"metrics": metrics}, "status": {"currentMetrics": [reported]}});
            targets(&object, Timestamp::UNIX_EPOCH)
        };
        assert_eq!(shown(&json!([cpu])), json!("cpu: 40%/80%"));
        assert_eq!(shown(&json!([cpu, average])), json!("cpu: 40%/80%, <unknown>/9 (avg)"));
        assert_eq!(
            shown(&json!([cpu, object, cpu])),
            json!("cpu: 40%/80%, <unknown>/7 + 1 more...")
        );
        assert_eq!(shown(&json!([])), json!("<none>"));
    }
}
