//! Several versions of one definition.

use std::cmp::Ordering;
use std::fmt::Write as _;

use serde_json::Value;

use super::is_true;
use crate::meta::text;

/// Changes only the `apiVersion` of an object: the conversion for definitions without a webhook.
pub fn set_version(object: &mut Value, api_version: &str) {
    if let Some(members) = object.as_object_mut() {
        members.insert("apiVersion".to_owned(), Value::from(api_version));
    }
}

/// Returns the warning that every answer of a deprecated version carries.
pub fn deprecation_warning(spec: &Value, version: &Value) -> Option<String> {
    if !is_true(version, "deprecated") {
        return None;
    }
    if let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) {
        return Some(warning.to_owned());
    }
    let (group, kind) = (
        text(spec, "group"),
        text(spec.get("names").unwrap_or(&Value::Null), "kind"),
    );
    let name = text(version, "name");
    let mut warning = format!("{group}/{name} {kind} is deprecated");
    let versions = spec.get("versions").and_then(Value::as_array);
    let better = versions
        .into_iter()
        .flatten()
        .filter(|other| is_true(other, "served") && !is_true(other, "deprecated"))
        .map(|other| text(other, "name"))
        .filter(|other| compare(name, other) == Ordering::Less)
        .max_by(|left, right| compare(left, right));
    if let Some(better) = better {
        let _ = write!(warning, "; use {group}/{better} {kind}");
    }
    Some(warning)
}

/// Orders version names by stability: `v1` over `v1beta1` over `v1alpha1` over any other name.
fn compare(left: &str, right: &str) -> Ordering {
    match (rank(left), rank(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => right.cmp(left),
    }
}

/// Returns the stability, the major and the minor number.
fn rank(name: &str) -> Option<(u8, u64, u64)> {
    let rest = name.strip_prefix('v')?;
    let split = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    let major = rest.get(..split)?.parse().ok()?;
    let rest = rest.get(split..)?;
    if rest.is_empty() {
        return Some((2, major, 0));
    }
    let beta = rest.strip_prefix("beta").map(|minor| (1, minor));
    let (stability, minor) = beta.or_else(|| rest.strip_prefix("alpha").map(|minor| (0, minor)))?;
    Some((stability, major, minor.parse().ok()?))
}
