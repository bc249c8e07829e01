//! The two versions of `HorizontalPodAutoscaler`: stored as `v2`; `v1` knows one metric, the use of the processor, and
//! keeps everything else in annotations.

use baton_apimachinery::go_values;
use baton_apimachinery::meta;
use serde_json::{Map, Value, json};

use crate::resources::Resource;
use crate::{codec, defaults};

const GROUP: &str = "autoscaling";
const KIND: &str = "HorizontalPodAutoscaler";
const V1: &str = "autoscaling/v1";
const V2: &str = "autoscaling/v2";

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

/// The processor, in percent of what is requested, as `v2` has it.
const CPU: [(&str, &str); 2] = [("type", "Resource"), ("name", "cpu")];

/// A field of a metric: its name in `v1`, where it is in `v2`, and what `v1` says where it is not set. `*` stands for
/// what a metric is wanted to be (`target`) or is (`current`).
type Place = (&'static str, &'static [&'static str], Option<&'static str>);

/// A kind of metric: the member that it is in, its fields when it is wanted, its fields when it is reported.
type Metric = (&'static str, &'static [Place], &'static [Place]);

const NAME: Place = ("metricName", &["metric", "name"], None);
const SELECTOR: Place = ("selector", &["metric", "selector"], None);
const TARGET: Place = ("target", &["describedObject"], None);

/// In the order in which `v1` writes them.
const FIELDS: &[Metric] = &[
    (
        "resource",
        &[
            ("name", &["name"], None),
            ("targetAverageUtilization", &["*", "averageUtilization"], None),
            ("targetAverageValue", &["*", "averageValue"], None),
        ],
        &[
            ("name", &["name"], None),
            ("currentAverageUtilization", &["*", "averageUtilization"], None),
            ("currentAverageValue", &["*", "averageValue"], Some("0")),
        ],
    ),
    (
        "containerResource",
        &[
            ("name", &["name"], None),
            ("targetAverageUtilization", &["*", "averageUtilization"], None),
            ("targetAverageValue", &["*", "averageValue"], None),
            ("container", &["container"], None),
        ],
        &[
            ("name", &["name"], None),
            ("currentAverageUtilization", &["*", "averageUtilization"], None),
            ("currentAverageValue", &["*", "averageValue"], Some("0")),
            ("container", &["container"], None),
        ],
    ),
    (
        "pods",
        &[
            NAME,
            ("targetAverageValue", &["*", "averageValue"], Some("0")),
            SELECTOR,
        ],
        &[
            NAME,
            ("currentAverageValue", &["*", "averageValue"], Some("0")),
            SELECTOR,
        ],
    ),
    (
        "object",
        &[
            TARGET,
            NAME,
            ("targetValue", &["*", "value"], Some("0")),
            SELECTOR,
            ("averageValue", &["*", "averageValue"], None),
        ],
        &[
            TARGET,
            NAME,
            ("currentValue", &["*", "value"], Some("0")),
            SELECTOR,
            ("averageValue", &["*", "averageValue"], None),
        ],
    ),
    (
        "external",
        &[
            NAME,
            ("metricSelector", &["metric", "selector"], None),
            ("targetValue", &["*", "value"], None),
            ("targetAverageValue", &["*", "averageValue"], None),
        ],
        &[
            NAME,
            ("metricSelector", &["metric", "selector"], None),
            ("currentValue", &["*", "value"], Some("0")),
            ("currentAverageValue", &["*", "averageValue"], None),
        ],
    ),
];

/// Whether a metric is wanted or reported.
#[derive(Clone, Copy)]
enum Side {
    Wanted,
    Reported,
}

impl Side {
    fn member(self) -> &'static str {
        match self {
            Self::Wanted => "target",
            Self::Reported => "current",
        }
    }

    fn places(self, metric: &Metric) -> &'static [Place] {
        match self {
            Self::Wanted => metric.1,
            Self::Reported => metric.2,
        }
    }
}

/// Turns an object into the one of the other version.
pub(super) fn convert(object: &Value, api_version: &str) -> Value {
    let mut converted = object.clone();
    if api_version == V1 {
        to_v1(&mut converted);
    } else {
        to_v2(&mut converted);
    }
    converted["apiVersion"] = api_version.into();
    let version = api_version.rsplit('/').next().unwrap_or_default();
    // What was converted has the types of its version.
    let _ = codec::decode(GROUP, version, KIND, &mut converted);
    converted
}

/// Fills in the defaults, which are those of `v2`; the annotations of `v1` are never stored.
pub(super) fn complete(resource: &Resource, object: &mut Value) {
    if resource.version == "v1" {
        *object = convert(object, V2);
        defaults::default(GROUP, KIND, object);
        *object = convert(object, V1);
    } else {
        defaults::default(GROUP, KIND, object);
        take_annotations(object);
    }
}

/// Takes out what `v1` keeps in annotations.
fn take_annotations(object: &mut Value) -> Map<String, Value> {
    let mut taken = Map::new();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
        && let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut)
    {
        for key in [METRICS, CURRENT, CONDITIONS, BEHAVIOR] {
            let read = annotations.remove(key);
            let read = read.and_then(|text| serde_json::from_str(text.as_str()?).ok());
            taken.extend(read.map(|value| (key.to_owned(), value)));
        }
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
    taken
}

fn member<'a>(object: &'a mut Value, name: &str) -> Option<&'a mut Map<String, Value>> {
    object.get_mut(name).and_then(Value::as_object_mut)
}

fn to_v1(object: &mut Value) {
    take_annotations(object);
    let mut annotations = Vec::new();
    if let Some(spec) = member(object, "spec") {
        let metrics = list(spec.remove("metrics"));
        let (cpu, others): (Vec<Value>, Vec<Value>) = metrics
            .into_iter()
            .partition(|metric| utilization(metric, Side::Wanted).is_some());
        if let Some(percent) = cpu.first().and_then(|metric| utilization(metric, Side::Wanted)) {
            spec.insert("targetCPUUtilizationPercentage".to_owned(), percent.clone());
        }
        annotations.extend(metrics_text(&others, Side::Wanted).map(|text| (METRICS, text)));
        annotations.extend(spec.remove("behavior").map(|behavior| {
            (
                BEHAVIOR,
                go_values::text("autoscaling.HorizontalPodAutoscalerBehavior", &behavior),
            )
        }));
    }
    if let Some(status) = member(object, "status") {
        let metrics = list(status.remove("currentMetrics"));
        let mut percents = metrics.iter().filter_map(|metric| utilization(metric, Side::Reported));
        if let Some(percent) = percents.next() {
            status.insert("currentCPUUtilizationPercentage".to_owned(), percent.clone());
        }
        annotations.extend(metrics_text(&metrics, Side::Reported).map(|text| (CURRENT, text)));
        let conditions = list(status.remove("conditions"));
        if !conditions.is_empty() {
            annotations.push((CONDITIONS, text(&conditions.into())));
        }
    }
    for (key, text) in annotations {
        meta::set_annotation(object, key, &text);
    }
}

fn to_v2(object: &mut Value) {
    let taken = take_annotations(object);
    let listed = |key: &str, side: Side| {
        let metrics = taken.get(key).and_then(Value::as_array);
        metrics.map(|metrics| metrics.iter().map(|metric| metric_v2(metric, side)).collect::<Vec<_>>())
    };
    if let Some(spec) = member(object, "spec") {
        let mut metrics = listed(METRICS, Side::Wanted).unwrap_or_default();
        if let Some(percent) = spec.remove("targetCPUUtilizationPercentage") {
            let target = json!({"type": "Utilization", "averageUtilization": percent});
            metrics.push(json!({"type": "Resource", "resource": {"name": "cpu", "target": target}}));
        }
        if !metrics.is_empty() {
            spec.insert("metrics".to_owned(), metrics.into());
        }
        let behavior = taken.get(BEHAVIOR).filter(|behavior| behavior.is_object());
        spec.extend(behavior.map(|behavior| ("behavior".to_owned(), lower(behavior))));
    }
    if let Some(status) = member(object, "status") {
        let percent = status.remove("currentCPUUtilizationPercentage").map(|percent| {
            json!([{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": percent}}}])
        });
        let current = listed(CURRENT, Side::Reported).map(Value::from).or(percent);
        status.extend(current.map(|metrics| ("currentMetrics".to_owned(), metrics)));
        let conditions = taken.get(CONDITIONS).filter(|conditions| conditions.is_array());
        status.extend(conditions.map(|conditions| ("conditions".to_owned(), conditions.clone())));
    }
}

fn list(value: Option<Value>) -> Vec<Value> {
    match value {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// How much of the processor a metric of `v2` is about, if that is what it is about.
fn utilization(metric: &Value, side: Side) -> Option<&Value> {
    let resource = metric.get("resource")?;
    let [(kind_key, kind), (name_key, name)] = CPU;
    let is_cpu = metric.get(kind_key)?.as_str() == Some(kind) && resource.get(name_key)?.as_str() == Some(name);
    let percent = resource.get(side.member())?.get("averageUtilization")?;
    is_cpu.then_some(percent)
}

/// The fields of a `v1` metric as `v2` has them.
fn metric_v2(metric: &Value, side: Side) -> Value {
    let mut converted = json!({"type": metric.get("type")});
    for fields in FIELDS {
        let Some(given) = metric.get(fields.0).filter(|given| given.is_object()) else {
            continue;
        };
        let mut inner = json!({});
        for (name, path, _) in side.places(fields) {
            let Some(value) = given.get(name) else { continue };
            let mut at = &mut inner;
            for step in *path {
                at = &mut at[if *step == "*" { side.member() } else { step }];
            }
            *at = value.clone();
        }
        settle_target(&mut inner, side);
        converted[fields.0] = inner;
    }
    converted
}

/// `v2` says which of the three ways a metric is wanted in, and has only that.
fn settle_target(metric: &mut Value, side: Side) {
    let Some(target) = metric.get_mut(side.member()).and_then(Value::as_object_mut) else {
        return;
    };
    match side {
        Side::Wanted => {
            let by = ["averageUtilization", "averageValue"]
                .into_iter()
                .find(|key| target.contains_key(*key));
            if by == Some("averageValue") {
                target.remove("value");
            }
            let kind = match by {
                Some("averageUtilization") => "Utilization",
                Some(_) => "AverageValue",
                None => "Value",
            };
            target.insert("type".to_owned(), kind.into());
        }
        Side::Reported if target.contains_key("averageUtilization") => {
            target.retain(|key, value| key != "averageValue" || value.as_str() != Some("0"));
        }
        Side::Reported => {}
    }
}

/// Metrics of `v2` as the JSON that `v1` keeps them as; `None` if there are none.
fn metrics_text(metrics: &[Value], side: Side) -> Option<String> {
    let texts: Vec<String> = metrics.iter().map(|metric| metric_text(metric, side)).collect();
    (!texts.is_empty()).then(|| format!("[{}]", texts.join(",")))
}

fn metric_text(metric: &Value, side: Side) -> String {
    let mut parts = vec![format!("\"type\":{}", metric.get("type").unwrap_or(&Value::Null))];
    for fields in FIELDS {
        let Some(inner) = metric.get(fields.0) else { continue };
        let members = side.places(fields).iter().filter_map(|(name, path, missing)| {
            let value = path.iter().try_fold(inner, |at, step| {
                at.get(if *step == "*" { side.member() } else { step })
            });
            let value = value.map(text).or(missing.map(|missing| format!("{missing:?}")))?;
            Some(format!("{name:?}:{value}"))
        });
        parts.push(format!("{:?}:{{{}}}", fields.0, members.collect::<Vec<_>>().join(",")));
    }
    format!("{{{}}}", parts.join(","))
}

/// The members of the structures that are kept as text, in their order.
const ORDER: [&str; 13] = [
    "type",
    "status",
    "lastTransitionTime",
    "reason",
    "message",
    "kind",
    "name",
    "apiVersion",
    "matchLabels",
    "matchExpressions",
    "key",
    "operator",
    "values",
];

/// JSON with its members in the order of the structures of `v1`.
fn text(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(key, _)| ORDER.iter().position(|each| each == key));
            let members: Vec<String> = members
                .into_iter()
                .map(|(key, value)| format!("{key:?}:{}", text(value)))
                .collect();
            format!("{{{}}}", members.join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(text).collect::<Vec<_>>().join(",")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

/// A behaviour with the names of `v2`, which begin small, without what is not set.
fn lower(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| {
                let mut characters = key.chars();
                let first = characters.next().map(|first| first.to_ascii_lowercase());
                (first.into_iter().chain(characters).collect::<String>(), lower(value))
            })
            .collect(),
        Value::Array(items) => items.iter().map(lower).collect(),
        other => other.clone(),
    }
}
