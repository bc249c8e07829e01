//! Limit ranges.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::metadata::names;
use baton_apimachinery::quantity::{NANOS_OF_ONE, Quantity};
use serde_json::Value;

use super::ROOT;
use super::checks::{list, members, text};
use super::resource_names::{amount, is_huge, of_container, standard};

/// What is wrong with a limit range.
pub(super) fn range(range: &Value, found: &mut ErrorList) {
    let at = ROOT.child("spec.limits");
    let mut seen = BTreeSet::new();
    let limits = range.get("spec").map(|spec| list(spec, "limits")).unwrap_or_default();
    for (index, limit) in limits.iter().enumerate() {
        let at = at.item(index);
        let kind = text(limit, "type");
        let field = at.child("type");
        let wrong = names::qualified_name(kind);
        let standard = kind.contains('/') || matches!(kind, "Pod" | "Container" | "PersistentVolumeClaim");
        if wrong.is_empty() && !standard {
            found.invalid(&field, kind, "must be a standard limit type or fully qualified");
        }
        found.invalid_each(&field, kind, wrong);
        if !seen.insert(kind) {
            found.duplicate(&field, kind);
        }
        self::limit(kind, limit, &at, found);
    }
}

fn limit(kind: &str, limit: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let mut resources = BTreeSet::new();
    for field in ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] {
        let at_field = at.child(field);
        let given = members(limit, field);
        if kind == "Pod" && matches!(field, "default" | "defaultRequest") {
            if given.is_some_and(|given| !given.is_empty()) {
                found.forbidden(&at_field, "may not be specified when `type` is 'Pod'");
            }
            continue;
        }
        if kind == "PersistentVolumeClaim" && field == "maxLimitRequestRatio" {
            let bounds = ["min", "max"].map(|bound| members(limit, bound).and_then(|bound| bound.get("storage")));
            if bounds == [None, None] {
                let detail = "either minimum or maximum storage value is required, but neither was provided";
                found.required(&at.child("limits"), detail);
            }
        }
        for resource in given.into_iter().flatten().map(|(resource, _)| resource) {
            resource_of_limit(kind, resource, &at_field.key(resource), found);
            resources.insert(resource.as_str());
        }
    }
    for resource in resources {
        bounds(kind, limit, resource, at, found);
    }
}

fn resource_of_limit(kind: &str, resource: &str, at: &FieldPath<'_>, found: &mut ErrorList) {
    if matches!(kind, "Pod" | "Container") {
        of_container(resource, at, found);
    } else {
        standard(resource, at, found);
    }
}

fn bounds(kind: &str, limit: &Value, resource: &str, at: &FieldPath<'_>, found: &mut ErrorList) {
    // What a pod cannot be given is compared with nothing.
    let is_skipped = |field: &str| kind == "Pod" && matches!(field, "default" | "defaultRequest");
    let of = |field: &str| {
        let amounts = members(limit, field).filter(|_| !is_skipped(field));
        amount(amounts.and_then(|amounts| amounts.get(resource)))
    };
    let above = |one: Option<(Quantity, &str)>, other: Option<(Quantity, &str)>| matches!((one, other), (Some((one, _)), Some((other, _))) if one.nanos().cmp(&other.nanos()) == Ordering::Greater);
    let (min, max) = (of("min"), of("max"));
    let (default, request) = (of("default"), of("defaultRequest"));
    let written = |amount: Option<(Quantity, &str)>| amount.map(|(_, text)| text.to_owned()).unwrap_or_default();
    // What is compared, what is said to be wrong, and where.
    for ((low, low_name), (high, high_name), wrong, field) in [
        ((min, "min"), (max, "max"), min, "min"),
        ((min, "min"), (request, "default request"), request, "defaultRequest"),
        ((request, "default request"), (max, "max"), request, "defaultRequest"),
        (
            (request, "default request"),
            (default, "default limit"),
            request,
            "defaultRequest",
        ),
        ((min, "min"), (default, "default"), min, "default"),
        ((default, "default"), (max, "max"), max, "default"),
    ] {
        if above(low, high) {
            let (low, high) = (written(low), written(high));
            let detail = format!("{low_name} value {low} is greater than {high_name} value {high}");
            found.invalid(&at.child(field).key(resource), written(wrong), &detail);
        }
    }
    if let Some((ratio, text)) = of("maxLimitRequestRatio") {
        let at = at.child("maxLimitRequestRatio");
        self::ratio(ratio, text, [min, max], &at.key(resource), found);
    }
    // Only what the system itself measures can be promised more than once.
    let is_promised_once = resource.contains('/') || is_huge(resource);
    if let (true, Some((default, _)), Some((request, _))) = (is_promised_once, default, request)
        && default.nanos() != request.nanos()
    {
        let (default, request) = (default.canonical(), request.canonical());
        let detail = format!("default value {default} must equal to defaultRequest value {request} in {resource}");
        found.invalid(&at.child("defaultRequest").key(resource), request, &detail);
    }
}

fn ratio(
    ratio: Quantity,
    text: &str,
    bounds: [Option<(Quantity, &str)>; 2],
    field: &FieldPath<'_>,
    found: &mut ErrorList,
) {
    if ratio.nanos() < NANOS_OF_ONE {
        found.invalid(field, text, &format!("ratio {text} is less than 1"));
    }
    if let [Some((min, _)), Some((max, _))] = bounds {
        let widest = max.as_f64() / min.as_f64();
        if ratio.as_f64() > widest {
            let detail = format!("ratio {text} is greater than max/min = {widest:.6}");
            found.invalid(field, text, &detail);
        }
    }
}
