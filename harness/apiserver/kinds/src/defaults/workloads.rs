//! Defaults of the kinds that run pods.

use baton_apimachinery::meta;
use serde_json::{Map, Value};

use super::pods::TEMPLATE;
use super::rules::Rule::{Bool, Do, Each, Empty, If, In, Int, Text, TextIfNone};
use super::rules::{Object, Rule, set};

pub(super) const DEPLOYMENT: &[Rule] = &[In(
    "spec",
    &[
        Int("replicas", 1),
        Int("revisionHistoryLimit", 10),
        Int("progressDeadlineSeconds", 600),
        In(
            "strategy",
            &[
                Text("type", "RollingUpdate"),
                If(
                    "type",
                    "RollingUpdate",
                    &[
                        Empty("rollingUpdate"),
                        In(
                            "rollingUpdate",
                            &[TextIfNone("maxUnavailable", "25%"), TextIfNone("maxSurge", "25%")],
                        ),
                    ],
                ),
            ],
        ),
        TEMPLATE,
    ],
)];

pub(super) const REPLICA_SET: &[Rule] = &[In("spec", &[Int("replicas", 1), TEMPLATE])];

pub(super) const STATEFUL_SET: &[Rule] = &[In(
    "spec",
    &[
        Text("podManagementPolicy", "OrderedReady"),
        Int("replicas", 1),
        Int("revisionHistoryLimit", 10),
        In(
            "updateStrategy",
            &[
                Do(stateful_strategy),
                If("type", "RollingUpdate", &[In("rollingUpdate", &[Int("partition", 0)])]),
            ],
        ),
        Empty("persistentVolumeClaimRetentionPolicy"),
        In(
            "persistentVolumeClaimRetentionPolicy",
            &[Text("whenDeleted", "Retain"), Text("whenScaled", "Retain")],
        ),
        TEMPLATE,
        Each(
            "volumeClaimTemplates",
            &[
                Do(claim_type),
                In("spec", &[TextIfNone("volumeMode", "Filesystem")]),
                In("status", &[Text("phase", "Pending")]),
            ],
        ),
    ],
)];

/// Sets the type of a claim template, whatever the template says.
fn claim_type(template: &mut Object) {
    template.insert("apiVersion".to_owned(), Value::from("v1"));
    template.insert("kind".to_owned(), Value::from("PersistentVolumeClaim"));
}

/// Sets the default strategy, with empty details; a strategy that is already set gets no details. Drops
/// `maxUnavailable`.
fn stateful_strategy(strategy: &mut Object) {
    if strategy.get("type").and_then(Value::as_str).is_none_or(str::is_empty) {
        strategy.insert("type".to_owned(), Value::from("RollingUpdate"));
        set(strategy, "rollingUpdate", || Value::Object(Map::new()));
    }
    if let Some(details) = strategy.get_mut("rollingUpdate").and_then(Value::as_object_mut) {
        details.remove("maxUnavailable");
    }
}

pub(super) const JOB: &[Rule] = &[
    Do(labels_from_template),
    In(
        "spec",
        &[
            Do(completions),
            Int("parallelism", 1),
            Do(backoff_limit),
            TextIfNone("completionMode", "NonIndexed"),
            Bool("suspend", false),
            Bool("manualSelector", false),
            Do(pod_replacement),
            TEMPLATE,
        ],
    ),
];

/// Sets the labels of an object without labels to those of its template.
pub(crate) fn labels_from_template(object: &mut Object) {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let labels = meta::at(spec, &["template", "metadata", "labels"]).and_then(Value::as_object);
    let labels = labels.filter(|labels| !labels.is_empty()).cloned();
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    if let (Some(labels), Some(metadata)) = (labels, metadata) {
        metadata.entry("labels").or_insert(labels.into());
    }
}

/// Sets completions to one, unless only parallelism is given.
fn completions(spec: &mut Object) {
    if !spec.contains_key("parallelism") {
        set(spec, "completions", || Value::from(1));
    }
}

fn backoff_limit(spec: &mut Object) {
    let limit = if spec.contains_key("backoffLimitPerIndex") {
        i32::MAX
    } else {
        6
    };
    set(spec, "backoffLimit", || Value::from(limit));
}

fn pod_replacement(spec: &mut Object) {
    let policy = if spec.contains_key("podFailurePolicy") {
        "Failed"
    } else {
        "TerminatingOrFailed"
    };
    spec.entry("podReplacementPolicy")
        .or_insert_with(|| Value::from(policy));
}
