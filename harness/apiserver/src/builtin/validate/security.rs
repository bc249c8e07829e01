//! Security contexts of pods and containers.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::checks::Check::{Do, In, OneOfIfSet};
use super::checks::{Check, is_true, list, text};
use crate::findings::{Field, Findings};
use crate::metadata::names;

const PROFILES: &[&str] = &["Localhost", "RuntimeDefault", "Unconfined"];

/// The context of a container.
pub(super) const OF_CONTAINER: &[Check] = &[
    Do(run_as),
    OneOfIfSet("procMount", &["Default", "Unmasked"]),
    In("seccompProfile", &[Do(seccomp)]),
    In("appArmorProfile", &[Do(app_armor)]),
];

/// The context of a pod.
pub(super) const OF_POD: &[Check] = &[
    Do(fs_group),
    Do(run_as),
    Do(groups),
    Do(sysctls),
    OneOfIfSet("fsGroupChangePolicy", &["Always", "OnRootMismatch"]),
    In("seccompProfile", &[Do(seccomp)]),
    OneOfIfSet("supplementalGroupsPolicy", &["Merge", "Strict"]),
    OneOfIfSet("seLinuxChangePolicy", &["Recursive"]),
    In("appArmorProfile", &[Do(app_armor)]),
];

fn id(value: Option<&Value>, at: &Field<'_>, found: &mut Findings) {
    let value = value.and_then(Value::as_i64);
    if let Some(value) = value.filter(|value| !(0..=i64::from(i32::MAX)).contains(value)) {
        found.invalid(at, value, "must be between 0 and 2147483647, inclusive");
    }
}

fn fs_group(context: &Value, at: &Field<'_>, found: &mut Findings) {
    id(context.get("fsGroup"), &at.child("fsGroup"), found);
}

fn run_as(context: &Value, at: &Field<'_>, found: &mut Findings) {
    for field in ["runAsUser", "runAsGroup"] {
        id(context.get(field), &at.child(field), found);
    }
}

fn groups(context: &Value, at: &Field<'_>, found: &mut Findings) {
    let at = at.child("supplementalGroups");
    for (index, group) in list(context, "supplementalGroups").iter().enumerate() {
        id(Some(group), &at.item(index), found);
    }
}

fn sysctls(context: &Value, at: &Field<'_>, found: &mut Findings) {
    let at = at.child("sysctls");
    let mut seen = BTreeSet::new();
    for (index, sysctl) in list(context, "sysctls").iter().enumerate() {
        let (at, name) = (at.item(index), text(sysctl, "name"));
        if name.is_empty() {
            found.required(&at.child("name"), "");
        } else if !is_sysctl(name) {
            let detail = r"must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
            found.invalid(&at.child("name"), name, detail);
        } else if !seen.insert(name) {
            found.duplicate(&at.child("name"), name);
        }
    }
}

fn is_sysctl(name: &str) -> bool {
    name.len() <= 253 && name.split(['.', '/']).all(names::is_underscored_label)
}

/// What belongs to the node cannot be set where the node's is used.
pub(super) fn shared_sysctls(spec: &Value, at: &Field<'_>, found: &mut Findings) {
    let context = spec.get("securityContext").unwrap_or(&Value::Null);
    let at = at.child("securityContext.sysctls");
    for (index, sysctl) in list(context, "sysctls").iter().enumerate() {
        let name = text(sysctl, "name");
        let dotted = name.replace('/', ".");
        let of_messages = ["kernel.shm", "kernel.msg", "fs.mqueue."]
            .iter()
            .any(|prefix| dotted.starts_with(prefix));
        for (field, shared) in [
            ("hostNetwork", dotted.starts_with("net.")),
            ("hostIPC", of_messages || dotted == "kernel.sem"),
        ] {
            if shared && is_true(spec, field) {
                let at = at.item(index);
                found.invalid(
                    &at.child("name"),
                    name,
                    &format!("may not be specified when '{field}' is true"),
                );
            }
        }
    }
}

/// The type of a profile; whether it is one of the node's own.
fn kind(profile: &Value, of: &str, at: &Field<'_>, found: &mut Findings) -> bool {
    let kind = text(profile, "type");
    let at = at.child("type");
    if kind.is_empty() {
        found.required(&at, &format!("type is required when {of} is set"));
    } else if !PROFILES.contains(&kind) {
        found.not_supported(&at, kind, PROFILES);
    }
    kind == "Localhost"
}

fn seccomp(profile: &Value, at: &Field<'_>, found: &mut Findings) {
    let local = kind(profile, "seccompProfile", at, found);
    let at = at.child("localhostProfile");
    match (profile.get("localhostProfile").and_then(Value::as_str), local) {
        (None | Some(""), true) => found.required(&at, "must be set when seccomp type is Localhost"),
        (Some(path), true) => {
            if path.starts_with('/') {
                found.invalid(&at, path, "must be a relative path");
            }
            if path.split('/').any(|part| part == "..") {
                found.invalid(&at, path, "must not contain '..'");
            }
        }
        (Some(path), false) => {
            let quoted = format!(
                "{{\"Type\":{},\"LocalhostProfile\":{}}}",
                json!(text(profile, "type")),
                json!(path)
            );
            found.invalid_text(&at, &quoted, "can only be set when seccomp type is Localhost");
        }
        (None, false) => {}
    }
}

fn app_armor(profile: &Value, at: &Field<'_>, found: &mut Findings) {
    let local = kind(profile, "appArmorProfile", at, found);
    let at = at.child("localhostProfile");
    match (profile.get("localhostProfile").and_then(Value::as_str), local) {
        (None | Some(""), true) => found.required(&at, "must be set when AppArmor type is Localhost"),
        (Some(name), true) if name.trim() != name => found.invalid(&at, name, "must not be padded with whitespace"),
        (Some(name), false) => found.invalid(&at, name, "can only be set when AppArmor type is Localhost"),
        (Some(_), true) | (None, false) => {}
    }
}
