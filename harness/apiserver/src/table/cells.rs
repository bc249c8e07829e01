//! Cells that are more than the value at a path.

use jiff::Timestamp;
use serde_json::{Map, Value};

/// The value at a path of keys.
pub(super) fn at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter()
        .try_fold(object, |value, key| value.get(*key))
        .filter(|value| !value.is_null())
}

/// The text at a path; empty if there is none.
pub(super) fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    at(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// The number at a path; zero if there is none.
pub(super) fn number(object: &Value, path: &[&str]) -> i64 {
    at(object, path).and_then(Value::as_i64).unwrap_or(0)
}

/// The items at a path.
pub(super) fn items<'a>(object: &'a Value, path: &[&str]) -> &'a [Value] {
    at(object, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// How many items or members are at a path.
pub(super) fn length(object: &Value, path: &[&str]) -> usize {
    match at(object, path) {
        Some(Value::Array(list)) => list.len(),
        Some(Value::Object(map)) => map.len(),
        _ => 0,
    }
}

/// The text at a path, `<none>` if there is none.
pub(super) fn or_none(object: &Value, path: &[&str]) -> Value {
    match at(object, path) {
        Some(Value::String(text)) if text.is_empty() => Value::from("<none>"),
        Some(value) => value.clone(),
        None => Value::from("<none>"),
    }
}

fn joined(parts: Vec<String>, otherwise: &str) -> Value {
    if parts.is_empty() {
        Value::from(otherwise)
    } else {
        Value::from(parts.join(","))
    }
}

/// How long ago an object was created.
pub(super) fn age_of(object: &Value, now: Timestamp) -> Value {
    age(
        at(object, &["metadata", "creationTimestamp"]).and_then(Value::as_str),
        now,
    )
}

/// How long ago a time is, in the short form of tables; `<unknown>` if there is none.
pub fn age(time: Option<&str>, now: Timestamp) -> Value {
    match time.and_then(|time| time.parse::<Timestamp>().ok()) {
        Some(time) => Value::from(short_duration(now.as_second() - time.as_second())),
        None => Value::from("<unknown>"),
    }
}

/// `5s`, `2m30s`, `5h12m`, `3d4h`, `2y40d`: two units while they matter.
fn short_duration(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    let pair = |big: i64, unit: &str, small: i64, small_unit: &str| {
        if small == 0 {
            format!("{big}{unit}")
        } else {
            format!("{big}{unit}{small}{small_unit}")
        }
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => pair(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => pair(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => pair(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => pair(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

fn containers(object: &Value, field: &str) -> Value {
    let spec = ["template", "jobTemplate"]
        .into_iter()
        .find_map(|template| at(object, &["spec", template]).or_else(|| at(object, &[template])));
    let spec = spec.map(|template| at(template, &["spec", "template"]).unwrap_or(template));
    let containers = spec
        .map(|template| items(template, &["spec", "containers"]))
        .unwrap_or_default();
    Value::from(
        containers
            .iter()
            .map(|container| text(container, &[field]))
            .collect::<Vec<_>>()
            .join(","),
    )
}

pub(super) fn container_names(object: &Value, _: Timestamp) -> Value {
    containers(object, "name")
}

pub(super) fn container_images(object: &Value, _: Timestamp) -> Value {
    containers(object, "image")
}

fn pairs(map: Option<&Map<String, Value>>) -> Vec<String> {
    let pair = |(key, value): (&String, &Value)| format!("{key}={}", value.as_str().unwrap_or_default());
    map.into_iter().flatten().map(pair).collect()
}

/// A label selector in the form that `-l` takes.
fn selector_text(selector: Option<&Value>) -> Value {
    let Some(selector) = selector else {
        return Value::from("<none>");
    };
    let mut parts = pairs(at(selector, &["matchLabels"]).and_then(Value::as_object));
    for expression in items(selector, &["matchExpressions"]) {
        let key = text(expression, &["key"]);
        let values: Vec<&str> = items(expression, &["values"])
            .iter()
            .filter_map(Value::as_str)
            .collect();
        parts.push(match text(expression, &["operator"]) {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    joined(parts, "<none>")
}

pub(super) fn label_selector(object: &Value, _: Timestamp) -> Value {
    selector_text(at(object, &["spec", "selector"]))
}

pub(super) fn pod_selector(object: &Value, _: Timestamp) -> Value {
    selector_text(at(object, &["spec", "podSelector"]))
}

pub(super) fn map_selector(object: &Value, _: Timestamp) -> Value {
    joined(
        pairs(at(object, &["spec", "selector"]).and_then(Value::as_object)),
        "<none>",
    )
}

pub(super) fn node_selector(object: &Value, _: Timestamp) -> Value {
    let path = &["spec", "template", "spec", "nodeSelector"];
    joined(pairs(at(object, path).and_then(Value::as_object)), "<none>")
}

pub(super) fn data_count(object: &Value, _: Timestamp) -> Value {
    Value::from(length(object, &["data"]) + length(object, &["binaryData"]))
}

pub(super) fn ready_of_replicas(object: &Value, _: Timestamp) -> Value {
    let ready = number(object, &["status", "readyReplicas"]);
    Value::from(format!("{ready}/{}", number(object, &["spec", "replicas"])))
}

pub(super) fn service_address(object: &Value, _: Timestamp) -> Value {
    or_none(object, &["spec", "clusterIP"])
}

pub(super) fn external_address(object: &Value, _: Timestamp) -> Value {
    let listed = items(object, &["spec", "externalIPs"])
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned);
    match text(object, &["spec", "type"]) {
        "ExternalName" => Value::from(text(object, &["spec", "externalName"])),
        "LoadBalancer" => {
            let ingress = items(object, &["status", "loadBalancer", "ingress"]).iter();
            let given = ingress.map(|each| {
                let address = text(each, &["ip"]);
                if address.is_empty() {
                    text(each, &["hostname"]).to_owned()
                } else {
                    address.to_owned()
                }
            });
            joined(given.chain(listed).collect(), "<pending>")
        }
        _ => joined(listed.collect(), "<none>"),
    }
}

pub(super) fn service_ports(object: &Value, _: Timestamp) -> Value {
    let port = |port: &Value| {
        let (number, protocol) = (number(port, &["port"]), text(port, &["protocol"]));
        match port.get("nodePort").and_then(Value::as_i64).filter(|node| *node > 0) {
            Some(node) => format!("{number}:{node}/{protocol}"),
            None => format!("{number}/{protocol}"),
        }
    };
    joined(items(object, &["spec", "ports"]).iter().map(port).collect(), "<none>")
}

pub(super) fn endpoints(object: &Value, _: Timestamp) -> Value {
    let mut all = Vec::new();
    for subset in items(object, &["subsets"]) {
        let ports = items(subset, &["ports"]);
        for address in items(subset, &["addresses"]) {
            let ip = text(address, &["ip"]);
            if ports.is_empty() {
                all.push(ip.to_owned());
            }
            all.extend(ports.iter().map(|port| format!("{ip}:{}", number(port, &["port"]))));
        }
    }
    shortened(all)
}

/// At most three items, and how many more there are.
fn shortened(mut all: Vec<String>) -> Value {
    let more = all.len().saturating_sub(3);
    all.truncate(3);
    match joined(all, "<none>") {
        Value::String(text) if more > 0 => Value::from(format!("{text} + {more} more...")),
        text => text,
    }
}

pub(super) fn slice_ports(object: &Value, _: Timestamp) -> Value {
    let ports = items(object, &["ports"]).iter();
    shortened_or(
        ports.map(|port| number(port, &["port"]).to_string()).collect(),
        "<unset>",
    )
}

pub(super) fn slice_endpoints(object: &Value, _: Timestamp) -> Value {
    let addresses = items(object, &["endpoints"])
        .iter()
        .flat_map(|endpoint| items(endpoint, &["addresses"]));
    shortened_or(
        addresses.filter_map(Value::as_str).map(str::to_owned).collect(),
        "<unset>",
    )
}

fn shortened_or(all: Vec<String>, otherwise: &str) -> Value {
    if all.is_empty() {
        Value::from(otherwise)
    } else {
        shortened(all)
    }
}

pub(super) fn node_status(object: &Value, _: Timestamp) -> Value {
    let ready = items(object, &["status", "conditions"])
        .iter()
        .find(|each| text(each, &["type"]) == "Ready");
    let mut status = match ready.map(|ready| text(ready, &["status"])) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if at(object, &["spec", "unschedulable"]) == Some(&Value::Bool(true)) {
        status.push_str(",SchedulingDisabled");
    }
    Value::from(status)
}

pub(super) fn node_roles(object: &Value, _: Timestamp) -> Value {
    let labels = at(object, &["metadata", "labels"]).and_then(Value::as_object);
    let role = |(key, value): (&String, &Value)| match key.strip_prefix("node-role.kubernetes.io/") {
        Some(role) if !role.is_empty() => Some(role.to_owned()),
        _ if key == "kubernetes.io/role" => value.as_str().map(str::to_owned),
        _ => None,
    };
    joined(labels.into_iter().flatten().filter_map(role).collect(), "<none>")
}

fn node_address(object: &Value, kind: &str) -> Value {
    let all = items(object, &["status", "addresses"]).iter();
    let found = all
        .filter(|each| text(each, &["type"]) == kind)
        .map(|each| text(each, &["address"]).to_owned());
    joined(found.take(1).collect(), "<none>")
}

pub(super) fn internal_address(object: &Value, _: Timestamp) -> Value {
    node_address(object, "InternalIP")
}

pub(super) fn external_node_address(object: &Value, _: Timestamp) -> Value {
    node_address(object, "ExternalIP")
}

fn node_info(object: &Value, field: &str) -> Value {
    let value = text(object, &["status", "nodeInfo", field]);
    Value::from(if value.is_empty() { "<unknown>" } else { value })
}

pub(super) fn os_image(object: &Value, _: Timestamp) -> Value {
    node_info(object, "osImage")
}

pub(super) fn kernel(object: &Value, _: Timestamp) -> Value {
    node_info(object, "kernelVersion")
}

pub(super) fn runtime(object: &Value, _: Timestamp) -> Value {
    node_info(object, "containerRuntimeVersion")
}

fn job_condition(object: &Value, kind: &str) -> bool {
    let conditions = items(object, &["status", "conditions"]).iter();
    conditions
        .filter(|each| text(each, &["status"]) == "True")
        .any(|each| text(each, &["type"]) == kind)
}

pub(super) fn job_status(object: &Value, _: Timestamp) -> Value {
    let kinds = [("Complete", "Complete"), ("Failed", "Failed")];
    let found = kinds
        .into_iter()
        .find(|(kind, _)| job_condition(object, kind))
        .map(|(_, word)| word);
    let deleted = (!text(object, &["metadata", "deletionTimestamp"]).is_empty()).then_some("Terminating");
    let later = [
        ("Suspended", "Suspended"),
        ("FailureTarget", "FailureTarget"),
        ("SuccessCriteriaMet", "SuccessCriteriaMet"),
    ];
    let later = later
        .into_iter()
        .find(|(kind, _)| job_condition(object, kind))
        .map(|(_, word)| word);
    Value::from(found.or(deleted).or(later).unwrap_or("Running"))
}

pub(super) fn job_completions(object: &Value, _: Timestamp) -> Value {
    let done = number(object, &["status", "succeeded"]);
    let parallelism = number(object, &["spec", "parallelism"]);
    Value::from(match at(object, &["spec", "completions"]).and_then(Value::as_i64) {
        Some(wanted) => format!("{done}/{wanted}"),
        None if parallelism > 1 => format!("{done}/1 of {parallelism}"),
        None => format!("{done}/1"),
    })
}

pub(super) fn job_duration(object: &Value, now: Timestamp) -> Value {
    let time = |field: &str| text(object, &["status", field]).parse::<Timestamp>().ok();
    match (time("startTime"), time("completionTime")) {
        (None, _) => Value::from(""),
        (Some(start), end) => Value::from(short_duration(end.unwrap_or(now).as_second() - start.as_second())),
    }
}

pub(super) fn last_schedule(object: &Value, now: Timestamp) -> Value {
    match at(object, &["status", "lastScheduleTime"]).and_then(Value::as_str) {
        Some(time) => age(Some(time), now),
        None => Value::from("<none>"),
    }
}

/// `true` or `false`, as Go prints a boolean.
pub(super) fn suspended(object: &Value, _: Timestamp) -> Value {
    Value::from(if at(object, &["spec", "suspend"]) == Some(&Value::Bool(true)) {
        "True"
    } else {
        "False"
    })
}

pub(super) fn last_seen(object: &Value, now: Timestamp) -> Value {
    let series = at(object, &["series", "lastObservedTime"]);
    let time = series
        .or_else(|| at(object, &["lastTimestamp"]))
        .or_else(|| at(object, &["deprecatedLastTimestamp"]));
    age(time.or_else(|| at(object, &["eventTime"])).and_then(Value::as_str), now)
}

pub(super) fn first_seen(object: &Value, now: Timestamp) -> Value {
    let time = at(object, &["firstTimestamp"]).or_else(|| at(object, &["deprecatedFirstTimestamp"]));
    age(time.or_else(|| at(object, &["eventTime"])).and_then(Value::as_str), now)
}

fn regarding(object: &Value) -> &Value {
    object
        .get("involvedObject")
        .or_else(|| object.get("regarding"))
        .unwrap_or(&Value::Null)
}

pub(super) fn event_object(object: &Value, _: Timestamp) -> Value {
    let about = regarding(object);
    Value::from(format!(
        "{}/{}",
        text(about, &["kind"]).to_lowercase(),
        text(about, &["name"])
    ))
}

pub(super) fn event_subobject(object: &Value, _: Timestamp) -> Value {
    Value::from(text(regarding(object), &["fieldPath"]))
}

pub(super) fn event_source(object: &Value, _: Timestamp) -> Value {
    let source = object
        .get("source")
        .or_else(|| object.get("deprecatedSource"))
        .unwrap_or(&Value::Null);
    let parts = [text(source, &["component"]), text(source, &["host"])];
    Value::from(
        parts
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(", "),
    )
}

pub(super) fn event_message(object: &Value, _: Timestamp) -> Value {
    let message = [text(object, &["message"]), text(object, &["note"])].concat();
    Value::from(message.trim())
}

pub(super) fn event_count(object: &Value, _: Timestamp) -> Value {
    let counts = [
        number(object, &["series", "count"]),
        number(object, &["count"]),
        number(object, &["deprecatedCount"]),
    ];
    Value::from(counts.into_iter().find(|count| *count > 0).unwrap_or(1))
}

pub(super) fn access_modes(object: &Value, _: Timestamp) -> Value {
    let claimed = items(object, &["status", "accessModes"]);
    let modes = if claimed.is_empty() && at(object, &["spec", "capacity"]).is_some() {
        items(object, &["spec", "accessModes"])
    } else {
        claimed
    };
    let short = |mode: &Value| match mode.as_str() {
        Some("ReadWriteOnce") => "RWO",
        Some("ReadOnlyMany") => "ROX",
        Some("ReadWriteMany") => "RWX",
        Some("ReadWriteOncePod") => "RWOP",
        _ => "",
    };
    Value::from(modes.iter().map(short).collect::<Vec<_>>().join(","))
}

pub(super) fn phase_or_terminating(object: &Value, _: Timestamp) -> Value {
    let is_deleted = !text(object, &["metadata", "deletionTimestamp"]).is_empty();
    Value::from(if is_deleted {
        "Terminating"
    } else {
        text(object, &["status", "phase"])
    })
}

pub(super) fn claim(object: &Value, _: Timestamp) -> Value {
    let claim = at(object, &["spec", "claimRef"]);
    Value::from(claim.map_or(String::new(), |claim| {
        format!("{}/{}", text(claim, &["namespace"]), text(claim, &["name"]))
    }))
}

pub(super) fn unset(object: &Value, _: Timestamp) -> Value {
    let class = text(object, &["spec", "volumeAttributesClassName"]);
    Value::from(if class.is_empty() { "<unset>" } else { class })
}

pub(super) fn role(object: &Value, _: Timestamp) -> Value {
    Value::from(format!(
        "{}/{}",
        text(object, &["roleRef", "kind"]),
        text(object, &["roleRef", "name"])
    ))
}

fn subjects(object: &Value, kind: &str) -> Value {
    let all = items(object, &["subjects"])
        .iter()
        .filter(|each| text(each, &["kind"]) == kind);
    let name = |subject: &Value| match text(subject, &["namespace"]) {
        "" => text(subject, &["name"]).to_owned(),
        namespace => format!("{namespace}/{}", text(subject, &["name"])),
    };
    Value::from(all.map(name).collect::<Vec<_>>().join(", "))
}

pub(super) fn users(object: &Value, _: Timestamp) -> Value {
    subjects(object, "User")
}

pub(super) fn groups(object: &Value, _: Timestamp) -> Value {
    subjects(object, "Group")
}

pub(super) fn service_accounts(object: &Value, _: Timestamp) -> Value {
    subjects(object, "ServiceAccount")
}

pub(super) fn or_not_available(object: &Value, field: &str) -> Value {
    match at(object, &["spec", field]) {
        Some(Value::String(text)) => Value::from(text.clone()),
        Some(value) => Value::from(value.to_string()),
        None => Value::from("N/A"),
    }
}

pub(super) fn min_available(object: &Value, _: Timestamp) -> Value {
    or_not_available(object, "minAvailable")
}

pub(super) fn max_unavailable(object: &Value, _: Timestamp) -> Value {
    or_not_available(object, "maxUnavailable")
}

pub(super) fn scale_target(object: &Value, _: Timestamp) -> Value {
    let target = at(object, &["spec", "scaleTargetRef"]).unwrap_or(&Value::Null);
    Value::from(format!("{}/{}", text(target, &["kind"]), text(target, &["name"])))
}

pub(super) fn metrics(object: &Value, _: Timestamp) -> Value {
    let metric = |metric: &Value| {
        let name = text(metric, &["resource", "name"]);
        let target = at(metric, &["resource", "target", "averageUtilization"]).and_then(Value::as_i64);
        match target {
            Some(target) => format!("{name}: <unknown>/{target}%"),
            None => format!("{name}: <unknown>"),
        }
    };
    joined(
        items(object, &["spec", "metrics"]).iter().map(metric).collect(),
        "<none>",
    )
}

pub(super) fn ingress_hosts(object: &Value, _: Timestamp) -> Value {
    let hosts = items(object, &["spec", "rules"])
        .iter()
        .map(|rule| text(rule, &["host"]));
    let hosts: Vec<String> = hosts.filter(|host| !host.is_empty()).map(str::to_owned).collect();
    if hosts.is_empty() {
        Value::from("*")
    } else {
        shortened(hosts)
    }
}

pub(super) fn ingress_address(object: &Value, _: Timestamp) -> Value {
    let all = items(object, &["status", "loadBalancer", "ingress"]).iter();
    let address = all.map(|each| [text(each, &["ip"]), text(each, &["hostname"])].concat());
    Value::from(address.collect::<Vec<_>>().join(","))
}

pub(super) fn ingress_ports(object: &Value, _: Timestamp) -> Value {
    Value::from(if length(object, &["spec", "tls"]) > 0 {
        "80, 443"
    } else {
        "80"
    })
}

pub(super) fn owner(object: &Value, _: Timestamp) -> Value {
    let owners = items(object, &["metadata", "ownerReferences"]).iter();
    let mut controllers = owners.filter(|owner| owner.get("controller") == Some(&Value::Bool(true)));
    let Some(owner) = controllers.next() else {
        return Value::from("<none>");
    };
    let group = text(owner, &["apiVersion"])
        .split_once('/')
        .map(|(group, _)| format!(".{group}"))
        .unwrap_or_default();
    Value::from(format!(
        "{}{group}/{}",
        text(owner, &["kind"]).to_lowercase(),
        text(owner, &["name"])
    ))
}
