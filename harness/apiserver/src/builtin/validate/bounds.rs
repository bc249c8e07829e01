//! Limit ranges and resource quotas.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde_json::Value;

use super::ROOT;
use super::checks::{list, members, text, texts};
use crate::builtin::quantity::{NANOS_OF_ONE, Quantity};
use crate::builtin::quotas;
use crate::findings::{Field, Findings};
use crate::metadata::names;
use crate::quoted;

/// What a quota with a scope can limit: pods and what they ask for. Of pods that ask for nothing it is their number alone.
const OF_PODS: &[&str] = &[
    "cpu",
    "limits.cpu",
    "limits.memory",
    "memory",
    "pods",
    "requests.cpu",
    "requests.memory",
];

const SCOPES: &[&str] = &[
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
    "VolumeAttributesClass",
];

const CONFLICTING: [[&str; 2]; 2] = [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];

fn amount(value: Option<&Value>) -> Option<(Quantity, &str)> {
    let text = value?.as_str()?;
    Some((Quantity::parse(text)?, text))
}

/// What is wrong with a limit range.
pub(super) fn range(range: &Value, found: &mut Findings) {
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

fn limit(kind: &str, limit: &Value, at: &Field<'_>, found: &mut Findings) {
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

fn resource_of_limit(kind: &str, resource: &str, at: &Field<'_>, found: &mut Findings) {
    if matches!(kind, "Pod" | "Container") {
        of_container(resource, at, found);
    } else {
        standard(resource, at, found);
    }
}

/// What a container can ask for.
pub(super) fn of_container(resource: &str, at: &Field<'_>, found: &mut Findings) {
    standard(resource, at, found);
    if !resource.contains('/') && !is_of_container(resource) {
        found.invalid(at, resource, "must be a standard resource for containers");
    }
}

/// A resource is a known one, or somebody's own.
pub(super) fn standard(resource: &str, at: &Field<'_>, found: &mut Findings) {
    let wrong = names::qualified_name(resource);
    let known = is_of_container(resource) || is_of_quota(resource) || resource == "storage";
    if wrong.is_empty() && !resource.contains('/') && !known {
        found.invalid(at, resource, "must be a standard resource type or fully qualified");
    }
    found.invalid_each(at, resource, wrong);
}

fn is_of_container(resource: &str) -> bool {
    matches!(resource, "cpu" | "ephemeral-storage" | "memory") || is_huge(resource)
}

/// Whether these are huge pages of some size.
pub(super) fn is_huge(resource: &str) -> bool {
    resource.starts_with("hugepages-")
}

fn is_of_quota(resource: &str) -> bool {
    let is_huge = is_huge(resource.strip_prefix("requests.").unwrap_or(resource));
    quotas::is_counted(resource) || quotas::is_measured(resource) || is_huge
}

fn bounds(kind: &str, limit: &Value, resource: &str, at: &Field<'_>, found: &mut Findings) {
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

fn ratio(ratio: Quantity, text: &str, bounds: [Option<(Quantity, &str)>; 2], field: &Field<'_>, found: &mut Findings) {
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

/// What is wrong with a resource quota.
pub(super) fn quota(quota: &Value, found: &mut Findings) {
    let Some(spec) = quota.get("spec") else { return };
    let at = ROOT.child("spec");
    amounts("hard", spec, &at, found);
    scopes(spec, &at, found);
    selector(spec, &at, found);
}

/// What is wrong with the status of a resource quota.
pub(super) fn quota_status(quota: &Value, found: &mut Findings) {
    let Some(status) = quota.get("status") else { return };
    for field in ["hard", "used"] {
        amounts(field, status, &ROOT.child("status"), found);
    }
}

fn amounts(field: &str, of: &Value, at: &Field<'_>, found: &mut Findings) {
    let at = at.child(field);
    for (name, value) in members(of, field).into_iter().flatten() {
        let at = at.key(name);
        standard(name, &at, found);
        if !name.contains('/') && !is_of_quota(name) {
            found.invalid(&at, name.as_str(), "must be a standard resource for quota");
        }
        let Some((quantity, _)) = amount(Some(value)) else {
            continue;
        };
        if quantity.nanos() < 0 {
            found.invalid(&at, value.clone(), "must be greater than or equal to 0");
        } else if quantity.nanos() % NANOS_OF_ONE != 0 && (quotas::is_counted(name) || name.starts_with("count/")) {
            found.invalid(&at, value.clone(), "must be an integer");
        }
    }
}

/// Whether a scope can limit all that a quota limits.
fn is_applicable(scope: &str, spec: &Value) -> bool {
    let fits = |resource: &str| match scope {
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => matches!(resource, "persistentvolumeclaims" | "requests.storage"),
        _ if !SCOPES.contains(&scope) => true,
        _ => OF_PODS.contains(&resource),
    };
    let mut limited = members(spec, "hard")
        .into_iter()
        .flatten()
        .map(|(resource, _)| resource);
    limited.all(|resource| !is_of_quota(resource) || fits(resource))
}

fn are_conflicting(scopes: &BTreeSet<&str>) -> usize {
    let conflicts = CONFLICTING.iter();
    conflicts
        .filter(|pair| pair.iter().all(|scope| scopes.contains(scope)))
        .count()
}

fn scopes(spec: &Value, at: &Field<'_>, found: &mut Findings) {
    let at = at.child("scopes");
    let all = list(spec, "scopes");
    let mut seen = BTreeSet::new();
    for scope in texts(spec, "scopes") {
        if !SCOPES.contains(&scope) {
            found.invalid(&at, all.to_vec(), "unsupported scope");
        }
        if !is_applicable(scope, spec) {
            found.invalid(&at, all.to_vec(), "unsupported scope applied to resource");
        }
        seen.insert(scope);
    }
    for _ in 0..are_conflicting(&seen) {
        found.invalid(&at, all.to_vec(), "conflicting scopes");
    }
}

fn selector(spec: &Value, at: &Field<'_>, found: &mut Findings) {
    let Some(selector) = spec.get("scopeSelector") else {
        return;
    };
    let at = at.child("scopeSelector.matchExpressions");
    let mut seen = BTreeSet::new();
    for expression in list(selector, "matchExpressions") {
        let (scope, operator) = (text(expression, "scopeName"), text(expression, "operator"));
        let values = texts(expression, "values");
        if !SCOPES.contains(&scope) {
            found.invalid(&at.child("scopeName"), scope, "unsupported scope");
        }
        if !is_applicable(scope, spec) {
            found.invalid_text(
                &at,
                &quoted::text("core.ScopeSelector", selector),
                "unsupported scope applied to resource",
            );
        }
        if !matches!(scope, "PriorityClass" | "VolumeAttributesClass")
            && SCOPES.contains(&scope)
            && operator != "Exists"
        {
            let detail = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
                ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or \
                ResourceQuotaScopeCrossNamespacePodAffinity";
            found.invalid(&at.child("operator"), operator, detail);
        }
        match operator {
            "In" | "NotIn" if values.is_empty() => {
                let detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                found.required(&at.child("values"), detail);
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                found.invalid(&at.child("values"), list(expression, "values").to_vec(), detail);
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => found.invalid(&at.child("operator"), other, "not a valid selector operator"),
        }
        seen.insert(scope);
    }
    for _ in 0..are_conflicting(&seen) {
        found.invalid(&at, Value::Null, "conflicting scopes");
    }
}

/// The scopes of a quota stay.
pub(super) fn quota_change(new: &Value, old: &Value, found: &mut Findings) {
    let of = |quota: &Value| {
        quota
            .get("spec")
            .and_then(|spec| spec.get("scopes"))
            .cloned()
            .unwrap_or_default()
    };
    let set = |scopes: &Value| -> BTreeSet<String> {
        let scopes = scopes.as_array().into_iter().flatten();
        scopes.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let (new, old) = (of(new), of(old));
    if set(&new) != set(&old) {
        found.invalid(&ROOT.child("spec.scopes"), new, "field is immutable");
    }
}
