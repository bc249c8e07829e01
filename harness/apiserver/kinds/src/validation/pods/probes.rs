//! How containers are looked after: what is done when they start and end, and how it is found out how they are.

use baton_apimachinery::field::{ErrorList, FieldPath};
use serde_json::Value;

use crate::validation::checks::Check::{NotNegative, OneOf, Port, Required};
use crate::validation::checks::{Check, list, number, port, run, text};

/// How long a pod that says nothing about it gets to end.
const DEFAULT_GRACE_SECS: i64 = 30;

/// Checks all of it; `spec` is that of the pod.
pub(crate) fn validate(container: &Value, spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if let Some(hooks) = container.get("lifecycle") {
        lifecycle(hooks, spec, &at.child("lifecycle"), found);
    }
    for (field, checks) in PROBES {
        run(&[Check::In(field, checks)], container, at, found);
    }
}

/// A container that ends before the others begin is not looked after.
pub(crate) fn none(container: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    for field in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
        if container.get(field).is_some() {
            let detail = "may not be set for init containers without restartPolicy=Always";
            found.forbidden(&at.child(field), detail);
        }
    }
}

const PROBES: [(&str, &[Check]); 3] = [
    ("livenessProbe", &[Check::Do(probe), Check::Do(succeeds_once)]),
    ("readinessProbe", &[Check::Do(probe), Check::Do(no_grace_period)]),
    ("startupProbe", &[Check::Do(probe), Check::Do(succeeds_once)]),
];

const PROBE: &[Check] = &[
    NotNegative("initialDelaySeconds"),
    NotNegative("timeoutSeconds"),
    NotNegative("periodSeconds"),
    NotNegative("successThreshold"),
    NotNegative("failureThreshold"),
    Check::Positive("terminationGracePeriodSeconds"),
];

fn probe(probe: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    handler(probe, None, at, found);
    run(PROBE, probe, at, found);
}

fn succeeds_once(probe: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let threshold = number(probe, "successThreshold");
    if threshold != 1 {
        found.invalid(&at.child("successThreshold"), threshold, "must be 1");
    }
}

fn no_grace_period(probe: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if let Some(seconds) = probe.get("terminationGracePeriodSeconds") {
        let at = at.child("terminationGracePeriodSeconds");
        found.invalid(&at, seconds.clone(), "must not be set for readinessProbes");
    }
}

fn lifecycle(hooks: &Value, spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let grace = spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64);
    for field in ["postStart", "preStop"] {
        if let Some(hook) = hooks.get(field) {
            let grace = grace.unwrap_or(DEFAULT_GRACE_SECS);
            handler(hook, Some(grace), &at.child(field), found);
        }
    }
}

/// What is done; nobody sleeps longer than there is time.
fn handler(handler: &Value, grace: Option<i64>, at: &FieldPath<'_>, found: &mut ErrorList) {
    let mut count = 0;
    for kind in ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] {
        let Some(action) = handler.get(kind) else { continue };
        let at = at.child(kind);
        count += 1;
        if count > 1 {
            found.forbidden(&at, "may not specify more than 1 handler type");
            continue;
        }
        match kind {
            "exec" if list(action, "command").is_empty() => found.required(&at.child("command"), ""),
            "httpGet" => {
                run(&[Required("path")], action, &at, found);
                port(action.get("port"), &at.child("port"), found);
                run(&[OneOf("scheme", &["HTTP", "HTTPS"])], action, &at, found);
                headers(action, &at.child("httpHeaders"), found);
            }
            "tcpSocket" => port(action.get("port"), &at.child("port"), found),
            "grpc" => run(&[Port("port")], action, &at, found),
            "sleep" => {
                if let Some(grace) = grace {
                    sleep(action, grace, &at, found);
                }
            }
            _ => {}
        }
    }
    if count == 0 {
        found.required(at, "must specify a handler type");
    }
}

fn sleep(action: &Value, grace: i64, at: &FieldPath<'_>, found: &mut ErrorList) {
    let seconds = number(action, "seconds");
    if !(0..=grace).contains(&seconds) {
        let detail = format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
        found.invalid(at, seconds, &detail);
    }
}

fn headers(action: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    for header in list(action, "httpHeaders") {
        let name = text(header, "name");
        let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if name.is_empty() || !name.bytes().all(is_valid) {
            let detail = "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', \
                regex used for validation is '[-A-Za-z0-9]+')";
            found.invalid(at, name, detail);
        }
    }
}
