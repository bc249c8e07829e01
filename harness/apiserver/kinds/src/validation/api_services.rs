//! `APIServices`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::meta;
use baton_apimachinery::metadata::names;
use serde_json::Value;

use super::ROOT;
use super::checks::{is_true, list, number, text};

/// What is wrong with an `APIService`.
pub(super) fn body(object: &Value, found: &mut ErrorList) {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let (group, version) = (text(spec, "group"), text(spec, "version"));
    let name = meta::name(object).unwrap_or_default();
    let required = format!("{version}.{group}");
    if names::path_segment(name, false).is_empty() && name != required {
        let detail = format!("must be `spec.version+\".\"+spec.group`: {required:?}");
        found.invalid(&ROOT.child("metadata").child("name"), name, &detail);
    }
    let at = ROOT.child("spec");
    if group.is_empty() && version != "v1" {
        let detail = "only v1 may have an empty group and it better be legacy kube";
        found.required(&at.child("group"), detail);
    }
    if !group.is_empty() {
        found.invalid_each(&at.child("group"), group, names::dns_subdomain(group));
    }
    found.invalid_each(&at.child("version"), version, names::dns_1035_label(version));
    for (field, most) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1000)] {
        let priority = number(spec, field);
        if !(1..=most).contains(&priority) {
            let detail = format!("must be positive and less than {most}");
            found.invalid(&at.child(field), priority, &detail);
        }
    }
    certificates(spec, &at, found);
}

/// Where the server is, and whom to trust there.
fn certificates(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let trusts_anybody = is_true(spec, "insecureSkipTLSVerify");
    let bytes = BASE64.decode(text(spec, "caBundle")).map_or(0, |bytes| bytes.len());
    let (skip, bundle) = (at.child("insecureSkipTLSVerify"), at.child("caBundle"));
    let Some(service) = spec.get("service").filter(|service| service.is_object()) else {
        if bytes > 0 {
            found.invalid(
                &bundle,
                format!("{bytes} bytes"),
                "local APIServices may not have a caBundle",
            );
        }
        if trusts_anybody {
            found.invalid(&skip, true, "local APIServices may not have insecureSkipTLSVerify");
        }
        return;
    };
    let at = at.child("service");
    for field in ["namespace", "name"] {
        if text(service, field).is_empty() {
            found.required(&at.child(field), "");
        }
    }
    let port = number(service, "port");
    if !(1..=65535).contains(&port) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        found.invalid(&at.child("port"), port, detail);
    }
    if trusts_anybody && bytes > 0 {
        found.invalid(&skip, true, "may not be true if caBundle is present");
    }
}

/// What is wrong with the status of one.
pub(super) fn status(object: &Value, found: &mut ErrorList) {
    let at = ROOT.child("status.conditions");
    let status = object.get("status").unwrap_or(&Value::Null);
    for (index, condition) in list(status, "conditions").iter().enumerate() {
        let value = text(condition, "status");
        let known = ["True", "False", "Unknown"];
        if !known.contains(&value) {
            found.not_supported(&at.item(index).child("status"), value, &known);
        }
    }
}
