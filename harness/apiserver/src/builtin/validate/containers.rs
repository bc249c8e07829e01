//! Containers of a pod.

use std::collections::BTreeSet;

use serde_json::Value;

use super::checks::Check::{Do, Each, In, NotNegative, OneOf, OneOfIfSet};
use super::checks::{Check, list, members, number, port, port_number, run, text};
use super::pods::uses_host_network;
use super::{bounds, security, variables};
use crate::builtin::quantity::Quantity;
use crate::findings::{Field, Findings};
use crate::metadata::names;

const PULL_POLICIES: &[&str] = &["Always", "IfNotPresent", "Never"];
const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];

/// A container that runs as long as its pod.
const RUNS_ON: &[&[Check]] = &[&[Do(name_and_image)], CARE, CONTAINER];
/// One that ends before the others begin.
const RUNS_ONCE: &[&[Check]] = &[&[Do(name_and_image)], CONTAINER];

/// How it is looked after.
const CARE: &[Check] = &[
    In(
        "lifecycle",
        &[In("postStart", &[Do(handler)]), In("preStop", &[Do(handler)])],
    ),
    In("livenessProbe", &[Do(probe), Do(has_time_to_end), Do(succeeds_once)]),
    In("readinessProbe", &[Do(probe), Do(no_grace_period)]),
    In("startupProbe", &[Do(probe), Do(has_time_to_end), Do(succeeds_once)]),
];

/// What is checked of each.
const CONTAINER: &[Check] = &[
    Do(ports),
    Each("env", &[Do(variables::env)]),
    Do(variables::sources),
    OneOf("imagePullPolicy", PULL_POLICIES),
    OneOfIfSet("terminationMessagePolicy", &["File", "FallbackToLogsOnError"]),
    In("resources", &[Do(resources)]),
    Do(resize_policies),
    In("securityContext", security::OF_CONTAINER),
];

/// Checks the containers of a pod's specification.
pub(super) fn validate(spec: &Value, at: &Field<'_>, found: &mut Findings) {
    if list(spec, "containers").is_empty() {
        found.required(&at.child("containers"), "");
    }
    let volumes: BTreeSet<&str> = list(spec, "volumes")
        .iter()
        .map(|volume| text(volume, "name"))
        .collect();
    let mut seen = BTreeSet::new();
    let mut host_ports = BTreeSet::new();
    let grace = spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64);
    for field in ["containers", "initContainers"] {
        let at = at.child(field);
        for (index, container) in list(spec, field).iter().enumerate() {
            let at = at.item(index);
            if field == "initContainers" && text(container, "restartPolicy") != "Always" {
                one(container, RUNS_ONCE, &volumes, &mut seen, &at, found);
                not_looked_after(container, &at, found);
                continue;
            }
            one(container, RUNS_ON, &volumes, &mut seen, &at, found);
            naps(container, grace.unwrap_or(DEFAULT_GRACE_SECS), &at, found);
            if field == "containers" {
                shared_host_ports(container, uses_host_network(spec), &mut host_ports, &at, found);
            }
        }
    }
}

/// How long a pod that says nothing about it gets to end.
const DEFAULT_GRACE_SECS: i64 = 30;

/// Nobody sleeps longer than there is time.
fn naps(container: &Value, grace: i64, at: &Field<'_>, found: &mut Findings) {
    let at = at.child("lifecycle");
    for hook in ["postStart", "preStop"] {
        let sleep = container
            .get("lifecycle")
            .and_then(|hooks| hooks.get(hook)?.get("sleep"));
        let Some(sleep) = sleep else { continue };
        let seconds = number(sleep, "seconds");
        if !(0..=grace).contains(&seconds) {
            let detail = format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
            found.invalid(&at.child(hook).child("sleep"), seconds, &detail);
        }
    }
}

/// Checks a container as its sort is checked; `seen` are the names of those before it.
fn one<'a>(
    container: &'a Value,
    sort: &[&[Check]],
    volumes: &BTreeSet<&str>,
    seen: &mut BTreeSet<&'a str>,
    at: &Field<'_>,
    found: &mut Findings,
) {
    for checks in sort {
        run(checks, container, at, found);
    }
    mounts(container, volumes, at, found);
    named_once(container, seen, at, found);
}

/// A container that ends before the others begin is not looked after.
fn not_looked_after(container: &Value, at: &Field<'_>, found: &mut Findings) {
    for field in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
        if container.get(field).is_some() {
            let detail = "may not be set for init containers without restartPolicy=Always";
            found.forbidden(&at.child(field), detail);
        }
    }
}

fn named_once<'a>(container: &'a Value, seen: &mut BTreeSet<&'a str>, at: &Field<'_>, found: &mut Findings) {
    let name = text(container, "name");
    if !name.is_empty() && !seen.insert(name) {
        found.duplicate(&at.child("name"), name);
    }
}

/// What an ephemeral container cannot have.
const NOT_EPHEMERAL: &[&str] = &[
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
];

/// Checks the ephemeral containers of a pod's specification.
pub(super) fn validate_ephemeral(spec: &Value, at: &Field<'_>, found: &mut Findings) {
    const FORBIDDEN: &str = "cannot be set for an Ephemeral Container";
    let named = |field: &'static str| list(spec, field).iter().map(|each| text(each, "name"));
    let volumes: BTreeSet<&str> = named("volumes").collect();
    let targets: BTreeSet<&str> = named("containers").chain(named("initContainers")).collect();
    let mut seen = targets.clone();
    let at = at.child("ephemeralContainers");
    for (index, container) in list(spec, "ephemeralContainers").iter().enumerate() {
        let at = at.item(index);
        one(container, RUNS_ON, &volumes, &mut seen, &at, found);
        let target = text(container, "targetContainerName");
        if !target.is_empty() && !targets.contains(target) {
            found.not_found(&at.child("targetContainerName"), target);
        }
        for field in NOT_EPHEMERAL {
            let is_set = container.get(field).is_some_and(|value| match value {
                Value::Object(members) => *field == "lifecycle" || !members.is_empty(),
                Value::Array(items) => !items.is_empty(),
                other => !other.is_null(),
            });
            if is_set {
                found.forbidden(&at.child(field), FORBIDDEN);
            }
        }
        let mounts_at = at.child("volumeMounts");
        for (index, mount) in list(container, "volumeMounts").iter().enumerate() {
            let at = mounts_at.item(index);
            for field in ["subPath", "subPathExpr"] {
                if !text(mount, field).is_empty() {
                    found.forbidden(&at.child(field), FORBIDDEN);
                }
            }
        }
    }
}

fn name_and_image(container: &Value, at: &Field<'_>, found: &mut Findings) {
    let name = text(container, "name");
    found.required_each(&at.child("name"), name, names::dns_label(name));
    let image = text(container, "image");
    if image.is_empty() {
        found.required(&at.child("image"), "");
    } else if image.trim() != image {
        found.invalid(
            &at.child("image"),
            image,
            "must not have leading or trailing whitespace",
        );
    }
}

fn ports(container: &Value, at: &Field<'_>, found: &mut Findings) {
    let at = at.child("ports");
    let mut seen = BTreeSet::new();
    for (index, port) in list(container, "ports").iter().enumerate() {
        let at = at.item(index);
        let name = text(port, "name");
        let messages = if name.is_empty() {
            Vec::new()
        } else {
            names::port_name(name)
        };
        let is_valid = !name.is_empty() && messages.is_empty();
        found.invalid_each(&at.child("name"), name, messages);
        if is_valid && !seen.insert(name) {
            found.duplicate(&at.child("name"), name);
        }
        match number(port, "containerPort") {
            0 => found.required(&at.child("containerPort"), ""),
            number => port_number(number, &at.child("containerPort"), found),
        }
        if let Some(number) = port
            .get("hostPort")
            .and_then(Value::as_i64)
            .filter(|number| *number != 0)
        {
            port_number(number, &at.child("hostPort"), found);
        }
        run(&[OneOf("protocol", PROTOCOLS)], port, &at, found);
    }
}

fn shared_host_ports<'a>(
    container: &'a Value,
    host_network: bool,
    taken: &mut BTreeSet<(&'a str, &'a str, i64)>,
    at: &Field<'_>,
    found: &mut Findings,
) {
    let at = at.child("ports");
    for (index, port) in list(container, "ports").iter().enumerate() {
        let number = number(port, "hostPort");
        if number == 0 {
            continue;
        }
        let field = at.item(index);
        let field = field.child("hostPort");
        if host_network && number != super::checks::number(port, "containerPort") {
            found.invalid(&field, number, "must match `containerPort` when `hostNetwork` is true");
        }
        let (protocol, address) = (text(port, "protocol"), text(port, "hostIP"));
        if !taken.insert((protocol, address, number)) {
            found.duplicate(&field, format!("{protocol}/{address}/{number}"));
        }
    }
}

fn mounts(container: &Value, volumes: &BTreeSet<&str>, at: &Field<'_>, found: &mut Findings) {
    let all = at.child("volumeMounts");
    let mut paths = BTreeSet::new();
    for (index, mount) in list(container, "volumeMounts").iter().enumerate() {
        let at = all.item(index);
        let (name, path) = (text(mount, "name"), text(mount, "mountPath"));
        if name.is_empty() {
            found.required(&at.child("name"), "");
        }
        if !volumes.contains(name) {
            found.not_found(&at.child("name"), name);
        }
        if path.is_empty() {
            found.required(&at.child("mountPath"), "");
        }
        if !paths.insert(path) {
            found.invalid(&at.child("mountPath"), path, "must be unique");
        }
        // Which of the mounts it is is not told.
        inner_path("subPath", mount, &all, found);
        let expression = text(mount, "subPathExpr");
        if !expression.is_empty() && !text(mount, "subPath").is_empty() {
            let detail = "subPathExpr and subPath are mutually exclusive";
            found.invalid(&at.child("subPathExpr"), expression, detail);
        }
        inner_path("subPathExpr", mount, &all, found);
    }
}

fn inner_path(field: &str, mount: &Value, at: &Field<'_>, found: &mut Findings) {
    let path = text(mount, field);
    if path.starts_with('/') {
        found.invalid(&at.child(field), path, "must be a relative path");
    }
    if path.split('/').any(|part| part == "..") {
        found.invalid(&at.child(field), path, "must not contain '..'");
    }
}

fn no_grace_period(probe: &Value, at: &Field<'_>, found: &mut Findings) {
    if let Some(seconds) = probe.get("terminationGracePeriodSeconds") {
        let at = at.child("terminationGracePeriodSeconds");
        found.invalid(&at, seconds.clone(), "must not be set for readinessProbes");
    }
}

fn resize_policies(container: &Value, at: &Field<'_>, found: &mut Findings) {
    for policy in list(container, "resizePolicy") {
        let policy = text(policy, "restartPolicy");
        if !RESIZE_POLICIES.contains(&policy) {
            found.not_supported(&at.child("resizePolicy"), policy, RESIZE_POLICIES);
        }
    }
}

const RESIZE_POLICIES: &[&str] = &["NotRequired", "RestartContainer"];

const PROBE: &[Check] = &[
    NotNegative("initialDelaySeconds"),
    NotNegative("timeoutSeconds"),
    NotNegative("periodSeconds"),
    NotNegative("successThreshold"),
    NotNegative("failureThreshold"),
];

fn probe(probe: &Value, at: &Field<'_>, found: &mut Findings) {
    handler(probe, at, found);
    run(PROBE, probe, at, found);
}

fn has_time_to_end(probe: &Value, at: &Field<'_>, found: &mut Findings) {
    let seconds = probe.get("terminationGracePeriodSeconds").and_then(Value::as_i64);
    if let Some(seconds) = seconds.filter(|seconds| *seconds <= 0) {
        let at = at.child("terminationGracePeriodSeconds");
        found.invalid(&at, seconds, "must be greater than 0");
    }
}

fn succeeds_once(probe: &Value, at: &Field<'_>, found: &mut Findings) {
    let threshold = number(probe, "successThreshold");
    if threshold != 1 {
        found.invalid(&at.child("successThreshold"), threshold, "must be 1");
    }
}

fn handler(handler: &Value, at: &Field<'_>, found: &mut Findings) {
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
                run(&[Check::Required("path")], action, &at, found);
                port(action.get("port"), &at.child("port"), found);
                run(&[OneOf("scheme", &["HTTP", "HTTPS"])], action, &at, found);
                headers(action, &at.child("httpHeaders"), found);
            }
            "tcpSocket" => port(action.get("port"), &at.child("port"), found),
            "grpc" => run(&[Check::Port("port")], action, &at, found),
            _ => {}
        }
    }
    if count == 0 {
        found.required(at, "must specify a handler type");
    }
}

fn headers(action: &Value, at: &Field<'_>, found: &mut Findings) {
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

/// Huge pages come in whole ones, and with something to compute with.
fn huge_pages(resources: &Value, at: &Field<'_>, found: &mut Findings) {
    let asked = ["limits", "requests"].map(|kind| members(resources, kind));
    let names = || asked.iter().flatten().flat_map(|amounts| amounts.keys());
    if names().any(|name| bounds::is_huge(name)) && !names().any(|name| matches!(name.as_str(), "cpu" | "memory")) {
        found.forbidden(at, "HugePages require cpu or memory");
    }
}

pub(super) fn resources(resources: &Value, at: &Field<'_>, found: &mut Findings) {
    let nanos = |value: &Value| Quantity::parse(value.as_str().unwrap_or("0")).map_or(0, Quantity::nanos);
    let limits = members(resources, "limits");
    let resources_limits = at.child("limits");
    for kind in ["limits", "requests"] {
        let at = at.child(kind);
        for (resource, quantity) in members(resources, kind).into_iter().flatten() {
            let field = at.key(resource);
            bounds::of_container(resource, &field, found);
            if nanos(quantity) < 0 {
                found.invalid(&field, quantity.clone(), "must be greater than or equal to 0");
            }
            if bounds::is_huge(resource) {
                let size = resource.strip_prefix("hugepages-").and_then(Quantity::parse);
                let size = size.map_or(0, Quantity::nanos);
                if size <= 0 || nanos(quantity) % size != 0 {
                    let amount = quantity.as_str().unwrap_or_default();
                    let detail = format!("{amount} is not positive integer multiple of {resource}");
                    found.invalid(&field, quantity.clone(), &detail);
                }
            }
            let extended = resource.contains('/');
            if extended && nanos(quantity) % 1_000_000_000 != 0 {
                found.invalid(&field, quantity.clone(), "must be an integer");
            }
            let limit = limits.and_then(|limits| limits.get(resource));
            let exact = (extended || bounds::is_huge(resource)) && kind == "requests";
            match limit {
                None if exact => {
                    let detail = "Limit must be set for non overcommitable resources";
                    found.required(&resources_limits, detail);
                }
                Some(limit) if exact && nanos(quantity) != nanos(limit) => {
                    let limit = limit.as_str().unwrap_or_default();
                    found.invalid(
                        &at,
                        quantity.clone(),
                        &format!("must be equal to {resource} limit of {limit}"),
                    );
                    continue;
                }
                _ => {}
            }
            if let Some(limit) = limit.filter(|limit| kind == "requests" && nanos(quantity) > nanos(limit)) {
                let limit = limit.as_str().unwrap_or_default();
                let detail = format!("must be less than or equal to {resource} limit of {limit}");
                found.invalid(&at, quantity.clone(), &detail);
            }
        }
    }
    huge_pages(resources, at, found);
}
