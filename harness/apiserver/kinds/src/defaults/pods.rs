//! Defaults of pods and pod templates.

use serde_json::{Map, Value};

use super::rules::Rule::{Also, Bool, Do, Each, Empty, In, Int, Text, TextIfNone};
use super::rules::{Object, Rule, set};

/// A Pod; it has more defaults than the templates of workloads.
pub(super) const POD: &[Rule] = &[In(
    "spec",
    &[
        Also(POD_SPEC),
        Bool("enableServiceLinks", true),
        Do(host_ports),
        Each("containers", &[In("resources", &[Do(requests_from_limits)])]),
        Each("initContainers", &[In("resources", &[Do(requests_from_limits)])]),
    ],
)];

/// The `template` of a workload.
pub(super) const TEMPLATE: Rule = In("template", &[In("spec", POD_SPEC)]);

const POD_SPEC: &[Rule] = &[
    Text("dnsPolicy", "ClusterFirst"),
    Text("restartPolicy", "Always"),
    Text("schedulerName", "default-scheduler"),
    Int("terminationGracePeriodSeconds", 30),
    Empty("securityContext"),
    Do(service_account),
    Each("containers", CONTAINER),
    Each("initContainers", CONTAINER),
    Each("volumes", VOLUME),
];

const CONTAINER: &[Rule] = &[
    Do(pull_policy),
    Text("terminationMessagePath", "/dev/termination-log"),
    Text("terminationMessagePolicy", "File"),
    Each("ports", &[Text("protocol", "TCP")]),
    Each("env", &[In("valueFrom", &[FIELD_REF])]),
    In("livenessProbe", PROBE),
    In("readinessProbe", PROBE),
    In("startupProbe", PROBE),
    In("lifecycle", &[In("postStart", HANDLER), In("preStop", HANDLER)]),
];

const HANDLER: &[Rule] = &[In("httpGet", &[Text("path", "/"), Text("scheme", "HTTP")])];

const PROBE: &[Rule] = &[
    Also(HANDLER),
    Int("timeoutSeconds", 1),
    Int("periodSeconds", 10),
    Int("successThreshold", 1),
    Int("failureThreshold", 3),
];

const FIELD_REF: Rule = In("fieldRef", &[Text("apiVersion", "v1")]);

const DOWNWARD_ITEMS: Rule = Each("items", &[FIELD_REF]);

const VOLUME: &[Rule] = &[
    Do(empty_dir),
    In("secret", &[Int("defaultMode", 420)]),
    In("configMap", &[Int("defaultMode", 420)]),
    In("downwardAPI", &[Int("defaultMode", 420), DOWNWARD_ITEMS]),
    In(
        "projected",
        &[
            Int("defaultMode", 420),
            Each(
                "sources",
                &[
                    In("serviceAccountToken", &[Int("expirationSeconds", 3600)]),
                    In("downwardAPI", &[DOWNWARD_ITEMS]),
                ],
            ),
        ],
    ),
    In("hostPath", &[TextIfNone("type", "")]),
];

fn text<'a>(object: &'a Object, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Sets the pull policy: the image without a tag or with the tag `latest` is always pulled.
fn pull_policy(container: &mut Object) {
    let image = text(container, "image");
    let name = image.rsplit('/').next().unwrap_or_default();
    let is_latest =
        !name.is_empty() && !name.contains('@') && name.split_once(':').is_none_or(|(_, tag)| tag == "latest");
    let policy = if is_latest { "Always" } else { "IfNotPresent" };
    set(container, "imagePullPolicy", || Value::from(policy));
}

fn empty_dir(volume: &mut Object) {
    if volume.keys().all(|field| field == "name") {
        volume.insert("emptyDir".to_owned(), Value::Object(Map::new()));
    }
}

/// Sets both fields of the service account's name to the same value.
fn service_account(spec: &mut Object) {
    let name = [text(spec, "serviceAccountName"), text(spec, "serviceAccount")]
        .into_iter()
        .find(|name| !name.is_empty())
        .map(str::to_owned);
    if let Some(name) = name {
        spec.insert("serviceAccount".to_owned(), Value::from(name.clone()));
        spec.insert("serviceAccountName".to_owned(), Value::from(name));
    }
}

/// Sets the host port of each container port if the pod uses the host's network.
fn host_ports(spec: &mut Object) {
    if spec.get("hostNetwork").and_then(Value::as_bool) != Some(true) {
        return;
    }
    let containers = spec.get_mut("containers").and_then(Value::as_array_mut);
    for container in containers.into_iter().flatten() {
        let ports = container.get_mut("ports").and_then(Value::as_array_mut);
        for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
            let number = port.get("containerPort").cloned().unwrap_or_default();
            set(port, "hostPort", || number);
        }
    }
}

/// Sets the request of each resource that has a limit but no request to the limit.
fn requests_from_limits(resources: &mut Object) {
    let Some(limits) = resources.get("limits").and_then(Value::as_object).cloned() else {
        return;
    };
    let requests = resources.entry("requests").or_insert_with(|| Value::Object(Map::new()));
    if let Some(requests) = requests.as_object_mut() {
        for (resource, limit) in limits {
            requests.entry(resource).or_insert(limit);
        }
    }
}
