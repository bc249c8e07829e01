//! Network policies.

use baton_apimachinery::field::ErrorList;
use serde_json::Value;

use super::ROOT;
use super::checks::Check::{Do, In, Selector};
use super::checks::{run, texts};

const TYPES: &[&str] = &["Egress", "Ingress"];

/// Validates the selector and the types of a policy.
pub(super) fn body(policy: &Value, found: &mut ErrorList) {
    let types = Do(|spec, at, found| {
        let at = at.child("policyTypes");
        for (index, kind) in texts(spec, "policyTypes").into_iter().enumerate() {
            if !TYPES.contains(&kind) {
                found.not_supported(&at.item(index), kind, TYPES);
            }
        }
    });
    run(&[In("spec", &[Selector("podSelector")])], policy, &ROOT, found);
    run(
        &[types],
        policy.get("spec").unwrap_or(&Value::Null),
        &ROOT.child("spec"),
        found,
    );
}
