//! `ControllerRevisions`.

use baton_apimachinery::field::ErrorList;
use serde_json::Value;

use super::ROOT;
use super::checks::{Check, run};

/// What is wrong with a revision.
pub(super) fn body(revision: &Value, found: &mut ErrorList) {
    run(&[Check::NotNegative("revision")], revision, &ROOT, found);
}

/// What a new revision keeps is an object.
pub(super) fn created(revision: &Value, found: &mut ErrorList) {
    let detail = match revision.get("data") {
        None | Some(Value::Null) => "data is mandatory",
        Some(Value::Object(_)) => return,
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            "data must be a valid JSON object"
        }
    };
    found.required(&ROOT.child("data"), detail);
}
