//! Requests for certificates.

use std::collections::BTreeSet;

use base64::Engine as _;
use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::metadata::names;
use serde_json::Value;

use super::ROOT;
use super::checks::{list, text, texts};

/// What a certificate can be for.
pub const USAGES: &[&str] = &[
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];
/// A signer that only an older version knew.
const LEGACY: &str = "kubernetes.io/legacy-unknown";
const MIN_SECONDS: i64 = 600;
const DOMAIN_MAX: usize = 253;
/// A domain, a slash, and a label before another domain.
const SIGNER_MAX: usize = DOMAIN_MAX + 1 + DOMAIN_MAX + 63 + 1;

/// What is asked for.
pub(super) fn body(request: &Value, found: &mut ErrorList) {
    let none = Value::Null;
    let spec = request.get("spec").unwrap_or(&none);
    let at = ROOT.child("spec");
    let block = pem::parse(decoded(spec.get("request")));
    // What is in it is for the signer to read.
    if block.map_or(true, |block| block.tag() != "CERTIFICATE REQUEST") {
        let value = spec.get("request").cloned().unwrap_or_default();
        found.invalid(
            &at.child("request"),
            value,
            "PEM block type must be CERTIFICATE REQUEST",
        );
    }
    usages(&texts(spec, "usages"), &at.child("usages"), found);
    let name = text(spec, "signerName");
    let field = at.child("signerName");
    if name == LEGACY {
        found.invalid(
            &field,
            name,
            "the legacy signerName is not allowed via this API version",
        );
    } else {
        signer(name, &field, found);
    }
    let seconds = spec.get("expirationSeconds").and_then(Value::as_i64);
    if let Some(seconds) = seconds.filter(|seconds| *seconds < MIN_SECONDS) {
        let detail = "may not specify a duration less than 600 seconds (10 minutes)";
        found.invalid(&at.child("expirationSeconds"), seconds, detail);
    }
}

fn decoded(value: Option<&Value>) -> Vec<u8> {
    let encoded = value.and_then(Value::as_str).unwrap_or_default();
    base64::engine::general_purpose::STANDARD
        .decode(encoded)
        .unwrap_or_default()
}

fn usages(usages: &[&str], at: &FieldPath<'_>, found: &mut ErrorList) {
    if usages.is_empty() {
        found.required(at, "");
    }
    for (index, usage) in usages.iter().enumerate() {
        if !USAGES.contains(usage) {
            found.not_supported(&at.item(index), *usage, USAGES);
        }
    }
    let mut seen = BTreeSet::new();
    for (index, usage) in usages.iter().enumerate() {
        if !seen.insert(usage) {
            found.duplicate(&at.item(index), *usage);
        }
    }
}

/// `example.com/signer-name`.
fn signer(name: &str, at: &FieldPath<'_>, found: &mut ErrorList) {
    if name.is_empty() {
        found.required(at, "");
        return;
    }
    let Some((domain, path)) = name.split_once('/').filter(|(_, path)| !path.contains('/')) else {
        let detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        found.invalid(at, name, detail);
        return;
    };
    if domain.len() > DOMAIN_MAX {
        found.too_long(at, DOMAIN_MAX);
    }
    labels(domain, names::dns_label, at, found);
    if !domain.contains('.') {
        let detail = "should be a domain with at least two segments separated by dots";
        found.invalid(at, domain, detail);
    }
    labels(path, names::dns_subdomain, at, found);
    if name.len() > SIGNER_MAX {
        found.too_long(at, SIGNER_MAX);
    }
}

/// Only the first label that is wrong is told.
fn labels(segment: &str, rule: fn(&str) -> Vec<String>, at: &FieldPath<'_>, found: &mut ErrorList) {
    if let Some(label) = segment.split('.').find(|label| !rule(label).is_empty()) {
        for problem in rule(label) {
            found.invalid(at, segment, &format!("validating label {label:?}: {problem}"));
        }
    }
}

/// What may be said about a request: the approval decides, the status has the certificate.
pub(super) fn change(new: &Value, old: &Value, subresource: Option<&str>, found: &mut ErrorList) {
    let none = Value::Null;
    let (new, old) = (new.get("status").unwrap_or(&none), old.get("status").unwrap_or(&none));
    let at = ROOT.child("status.conditions");
    conditions(list(new, "conditions"), list(old, "conditions"), &at, found);
    let certificate_at = ROOT.child("status.certificate");
    let changes_certificate = new.get("certificate") != old.get("certificate");
    if changes_certificate && let Err(problem) = certificate(new) {
        found.invalid(&certificate_at, "<certificate data>", &problem);
    }
    let count = |status: &Value, kind: &str| {
        let of_kind = |condition: &&Value| text(condition, "type") == kind;
        list(status, "conditions").iter().filter(of_kind).count()
    };
    for kind in ["Approved", "Denied", "Failed"] {
        if count(new, kind) < count(old, kind) {
            found.forbidden(&at, &format!("updates may not remove a condition of type {kind:?}"));
        }
    }
    if subresource != Some("approval") {
        for kind in ["Approved", "Denied"] {
            if count(new, kind) > count(old, kind) {
                found.forbidden(&at, &format!("updates may not add a condition of type {kind:?}"));
            }
        }
    }
    if changes_certificate && subresource != Some("status") {
        found.forbidden(&certificate_at, "updates may not set certificate content");
    } else if changes_certificate && !text(old, "certificate").is_empty() {
        found.forbidden(&certificate_at, "updates may not modify existing certificate content");
    }
}

/// What was wrong before is borne.
fn conditions(new: &[Value], old: &[Value], at: &FieldPath<'_>, found: &mut ErrorList) {
    let kinds =
        |conditions: &[Value]| -> Vec<String> { conditions.iter().map(|each| text(each, "type").to_owned()).collect() };
    let (after, before) = (kinds(new), kinds(old));
    let has_both = |kinds: &[String]| {
        ["Approved", "Denied"]
            .iter()
            .all(|kind| kinds.iter().any(|each| each == kind))
    };
    let has_twice = before.iter().collect::<BTreeSet<_>>().len() < before.len();
    let has_empty = before.iter().any(String::is_empty);
    for (index, condition) in new.iter().enumerate() {
        let (kind, status) = (text(condition, "type"), text(condition, "status"));
        let place = at.item(index);
        if kind.is_empty() && !has_empty {
            found.required(&place.child("type"), "");
        }
        let allowed: &[&str] = match kind {
            "Approved" | "Denied" | "Failed" => &["True"],
            _ => &["False", "True", "Unknown"],
        };
        if status.is_empty() {
            found.required(&place.child("status"), "");
        } else if !allowed.contains(&status) {
            found.not_supported(&place.child("status"), status, allowed);
        }
        let seen = after.get(..index).unwrap_or_default();
        let other = match kind {
            "Approved" => Some("Denied"),
            "Denied" => Some("Approved"),
            _ => None,
        };
        if !has_both(&before) && other.is_some_and(|other| seen.iter().any(|each| each == other)) {
            found.invalid(at, kind, "Approved and Denied conditions are mutually exclusive");
        }
        if !has_twice && seen.iter().any(|each| each == kind) {
            found.duplicate(&place.child("type"), kind);
        }
    }
}

/// A certificate is one or more blocks of nothing but certificates.
fn certificate(status: &Value) -> Result<(), String> {
    let bytes = decoded(status.get("certificate"));
    if bytes.is_empty() {
        return Ok(());
    }
    let blocks = pem::parse_many(&bytes).unwrap_or_default();
    for block in &blocks {
        if block.tag() != "CERTIFICATE" {
            return Err(format!(
                "only CERTIFICATE PEM blocks are allowed, found {:?}",
                block.tag()
            ));
        }
        if block.headers().iter().next().is_some() {
            return Err("no PEM block headers are permitted".to_owned());
        }
    }
    if blocks.is_empty() {
        return Err("must contain at least one CERTIFICATE PEM block".to_owned());
    }
    Ok(())
}
