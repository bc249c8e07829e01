//! Defaults of the kinds that run pods.

use serde_json::{Map, Value};

use super::pods::TEMPLATE;
use super::rules::Rule::{Bool, Do, Each, If, In, Int, Text, TextIfNone};
use super::rules::{Object, Rule, set};
use crate::well_known::TEMPLATE_GENERATION;

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
                        Do(make_rolling_update),
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

pub(super) const REPLICATION_CONTROLLER: &[Rule] = &[
    Do(labels_from_template),
    In("spec", &[Do(selector_from_template), Int("replicas", 1), TEMPLATE]),
];

/// A daemon set says as an annotation which template it is at, 0 before it is stored.
fn template_generation(set: &mut Object) {
    let Some(metadata) = set.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    let annotations = metadata
        .entry("annotations")
        .or_insert_with(|| Value::Object(Map::new()));
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.entry(TEMPLATE_GENERATION).or_insert_with(|| "0".into());
    }
}

pub(super) const DAEMON_SET: &[Rule] = &[
    Do(template_generation),
    In(
        "spec",
        &[
            Int("revisionHistoryLimit", 10),
            In(
                "updateStrategy",
                &[
                    Text("type", "RollingUpdate"),
                    If(
                        "type",
                        "RollingUpdate",
                        &[
                            Do(make_rolling_update),
                            In("rollingUpdate", &[Int("maxUnavailable", 1), Int("maxSurge", 0)]),
                        ],
                    ),
                    // With another type they are nothing, and written all the same.
                    In("rollingUpdate", &[Int("maxUnavailable", 0), Int("maxSurge", 0)]),
                ],
            ),
            TEMPLATE,
        ],
    ),
];

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
        Do(make_claim_retention),
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

/// Whatever a template of claims says that it is, it is one.
fn claim_type(template: &mut Object) {
    template.insert("apiVersion".to_owned(), Value::from("v1"));
    template.insert("kind".to_owned(), Value::from("PersistentVolumeClaim"));
}

/// Only a strategy that is chosen for a set gets its details as well; how many pods may be missing is not looked at.
fn stateful_strategy(strategy: &mut Object) {
    if strategy.get("type").and_then(Value::as_str).is_none_or(str::is_empty) {
        strategy.insert("type".to_owned(), Value::from("RollingUpdate"));
        make_rolling_update(strategy);
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
            FAILURE_POLICY,
            TEMPLATE,
        ],
    ),
];

const FAILURE_POLICY: Rule = In(
    "podFailurePolicy",
    &[Each("rules", &[Each("onPodConditions", &[Text("status", "True")])])],
);

pub(super) const CRON_JOB: &[Rule] = &[In(
    "spec",
    &[
        Text("concurrencyPolicy", "Allow"),
        Bool("suspend", false),
        Int("successfulJobsHistoryLimit", 3),
        Int("failedJobsHistoryLimit", 1),
        In("jobTemplate", &[In("spec", &[FAILURE_POLICY, TEMPLATE])]),
    ],
)];

fn make(object: &mut Object, field: &str) {
    set(object, field, || Value::Object(Map::new()));
}

fn make_rolling_update(strategy: &mut Object) {
    make(strategy, "rollingUpdate");
}

fn make_claim_retention(spec: &mut Object) {
    make(spec, "persistentVolumeClaimRetentionPolicy");
}

fn template_labels(spec: Option<&Value>) -> Option<Value> {
    let labels = spec?.get("template")?.get("metadata")?.get("labels")?;
    labels
        .as_object()
        .is_some_and(|labels| !labels.is_empty())
        .then(|| labels.clone())
}

/// Labels of the template are those of the object if it has none.
pub(crate) fn labels_from_template(object: &mut Object) {
    let Some(labels) = template_labels(object.get("spec")) else {
        return;
    };
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.entry("labels").or_insert(labels);
    }
}

fn selector_from_template(spec: &mut Object) {
    let labels = spec
        .get("template")
        .and_then(|template| template.get("metadata")?.get("labels"))
        .cloned();
    if let Some(labels) = labels {
        set(spec, "selector", || labels);
    }
}

/// One completion, unless parallelism alone is given.
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
