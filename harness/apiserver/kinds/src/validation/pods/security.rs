//! Security contexts of pods and containers.

use std::collections::BTreeSet;

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::go_values;
use baton_apimachinery::metadata::names;
use serde_json::Value;

use super::windows;
use crate::validation::checks::Check::{Do, In, OneOfIfSet};
use crate::validation::checks::{Check, is_true, list, run, text, texts};

const LOCAL: &str = "Localhost";
const PROFILES: &[&str] = &[LOCAL, "RuntimeDefault", "Unconfined"];

const MAX_PATH: usize = 4095;

/// The context of a container; `own_users` says whether its pod has users of its own.
pub(crate) fn of_container(context: &Value, own_users: bool, at: &FieldPath<'_>, found: &mut ErrorList) {
    run_as(context, at, found);
    run(&[OneOfIfSet("procMount", &["Default", UNMASKED])], context, at, found);
    if text(context, "procMount") == UNMASKED && !own_users {
        let detail = "`hostUsers` must be false to use `Unmasked`";
        found.invalid(&at.child("procMount"), UNMASKED, detail);
    }
    run(&[In("seccompProfile", &[Do(seccomp)])], context, at, found);
    escalation(context, at, found);
    run(&[In("windowsOptions", &[Do(windows::options)])], context, at, found);
    run(&[In("appArmorProfile", &[Do(app_armor)])], context, at, found);
}

/// The context of a pod.
pub(crate) fn of_pod(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let Some(context) = spec.get("securityContext") else {
        return;
    };
    let at = at.child("securityContext");
    id(context.get("fsGroup"), &at.child("fsGroup"), found);
    run_as(context, &at, found);
    groups(context, &at, found);
    shared_processes(spec, &at, found);
    sysctls(context, spec, &at, found);
    run(OF_POD, context, &at, found);
}

const OF_POD: &[Check] = &[
    OneOfIfSet("fsGroupChangePolicy", &["Always", "OnRootMismatch"]),
    In("seccompProfile", &[Do(seccomp)]),
    In("windowsOptions", &[Do(windows::options)]),
    In("appArmorProfile", &[Do(app_armor)]),
    OneOfIfSet("supplementalGroupsPolicy", &["Merge", "Strict"]),
    OneOfIfSet("seLinuxChangePolicy", &["Recursive"]),
];

const UNMASKED: &str = "Unmasked";

/// What can do everything already cannot be kept from doing more.
fn escalation(context: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if context.get("allowPrivilegeEscalation").and_then(Value::as_bool) != Some(false) {
        return;
    }
    if is_true(context, "privileged") {
        let detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
        found.invalid_text(at, &go_values::text("core.SecurityContext", context), detail);
    }
    let added = context
        .get("capabilities")
        .map(|capabilities| texts(capabilities, "add"));
    for _ in added.iter().flatten().filter(|added| **added == "CAP_SYS_ADMIN") {
        let detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
        found.invalid_text(at, &go_values::text("core.SecurityContext", context), detail);
    }
}

fn id(value: Option<&Value>, at: &FieldPath<'_>, found: &mut ErrorList) {
    let value = value.and_then(Value::as_i64);
    if let Some(value) = value.filter(|value| !(0..=i64::from(i32::MAX)).contains(value)) {
        found.invalid(at, value, "must be between 0 and 2147483647, inclusive");
    }
}

fn run_as(context: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    for field in ["runAsUser", "runAsGroup"] {
        id(context.get(field), &at.child(field), found);
    }
}

fn groups(context: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("supplementalGroups");
    for (index, group) in list(context, "supplementalGroups").iter().enumerate() {
        id(Some(group), &at.item(index), found);
    }
}

fn shared_processes(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if is_true(spec, "hostPID") && is_true(spec, "shareProcessNamespace") {
        let at = at.child("shareProcessNamespace");
        found.invalid(&at, true, "ShareProcessNamespace and HostPID cannot both be enabled");
    }
}

fn sysctls(context: &Value, spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("sysctls");
    let mut seen = BTreeSet::new();
    for (index, sysctl) in list(context, "sysctls").iter().enumerate() {
        let (at, name) = (at.item(index), text(sysctl, "name"));
        let at = at.child("name");
        if name.is_empty() {
            found.required(&at, "");
        } else if !is_sysctl(name) {
            let detail = r"must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
            found.invalid(&at, name, detail);
        } else if !seen.insert(name) {
            found.duplicate(&at, name);
        }
        shared_sysctl(name, spec, &at, found);
    }
}

fn is_sysctl(name: &str) -> bool {
    name.len() <= 253 && name.split(['.', '/']).all(names::is_underscored_label)
}

/// What belongs to the node cannot be set where the node's is used.
fn shared_sysctl(name: &str, spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let dotted = name.replace('/', ".");
    let of_messages = ["kernel.shm", "kernel.msg", "fs.mqueue."]
        .iter()
        .any(|prefix| dotted.starts_with(prefix));
    for (field, shared) in [
        ("hostNetwork", dotted.starts_with("net.")),
        ("hostIPC", of_messages || dotted == "kernel.sem"),
    ] {
        if shared && is_true(spec, field) {
            let detail = format!("may not be specified when '{field}' is true");
            found.invalid(at, name, &detail);
        }
    }
}

/// The type of a profile.
fn kind<'a>(profile: &'a Value, of: &str, at: &FieldPath<'_>, found: &mut ErrorList) -> &'a str {
    let kind = text(profile, "type");
    let at = at.child("type");
    if kind.is_empty() {
        found.required(&at, &format!("type is required when {of} is set"));
    } else if !PROFILES.contains(&kind) {
        found.not_supported(&at, kind, PROFILES);
    }
    kind
}

fn seccomp(profile: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let is_local = kind(profile, "seccompProfile", at, found) == LOCAL;
    let at = at.child("localhostProfile");
    match (profile.get("localhostProfile").and_then(Value::as_str), is_local) {
        (None, true) => found.required(&at, "must be set when seccomp type is Localhost"),
        (Some(path), true) => {
            if path.starts_with('/') {
                found.invalid(&at, path, "must be a relative path");
            }
            if path.split('/').any(|part| part == "..") {
                found.invalid(&at, path, "must not contain '..'");
            }
        }
        (Some(_), false) => {
            let quoted = go_values::text("core.SeccompProfile", profile);
            found.invalid_text(&at, &quoted, "can only be set when seccomp type is Localhost");
        }
        (None, false) => {}
    }
}

fn app_armor(profile: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let kind = kind(profile, "appArmorProfile", at, found);
    let name = profile.get("localhostProfile").and_then(Value::as_str);
    let at = at.child("localhostProfile");
    match (kind, name) {
        (LOCAL, None | Some("")) => found.required(&at, "must be set when AppArmor type is Localhost"),
        (LOCAL, Some(name)) => {
            if name.trim() != name {
                found.invalid(&at, name, "must not be padded with whitespace");
            }
            if name.len() > MAX_PATH {
                found.too_long(&at, MAX_PATH);
            }
        }
        ("RuntimeDefault" | "Unconfined", Some(name)) => {
            found.invalid(&at, name, "can only be set when AppArmor type is Localhost");
        }
        _ => {}
    }
}
