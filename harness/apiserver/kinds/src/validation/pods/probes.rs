//! Probes and lifecycle hooks of containers: their handlers.

use baton_apimachinery::field::{ErrorList, FieldPath};
use serde_json::Value;

use crate::validation::checks::Check::{Do, In};
use crate::validation::checks::{Check, run};

const HANDLER: &[Check] = &[Do(one_handler)];

const PROBES: &[Check] = &[
    In("lifecycle", &[In("postStart", HANDLER), In("preStop", HANDLER)]),
    In("livenessProbe", HANDLER),
    In("readinessProbe", HANDLER),
    In("startupProbe", HANDLER),
];

/// Validates that each probe and hook of a container has one handler.
pub(super) fn validate(container: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    run(PROBES, container, at, found);
}

fn one_handler(probe: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let kinds = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];
    let given = || kinds.into_iter().filter(|kind| probe.get(*kind).is_some());
    if given().next().is_none() {
        found.required(at, "must specify a handler type");
    }
    for kind in given().skip(1) {
        found.forbidden(&at.child(kind), "may not specify more than 1 handler type");
    }
}
