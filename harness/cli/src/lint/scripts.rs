//! Checks that the scripts of customizations are valid Lua.

use baton_core::{
    case::model::{Action, Case, Subject},
    yaml::Diagnostic,
};
use baton_decide::interpret;
use serde_json::Value;

use super::{
    place::{Part, Segment, Sources},
    policies::applied,
};

/// Returns errors in the scripts of a case as warnings, except in a case about messages for users: it may break them on
/// purpose.
pub(super) fn warnings(case: &Case, sources: &Sources<'_>) -> Vec<Diagnostic> {
    let tells = case.steps.iter().any(|step| match &step.action {
        Action::Assert(assertion) => matches!(
            assertion.condition.of,
            Subject::EventOf(_) | Subject::NoticeOf(_) | Subject::NewsOf(_)
        ),
        _ => false,
    });
    if tells {
        return Vec::new();
    }
    let customizations = applied(case).filter(|(_, _, object)| object["kind"] == "ResourceInterpreterCustomization");
    let mut found = Vec::new();
    for (step, _, object) in customizations {
        let mut scripts = Vec::new();
        scripts_in(
            &object["spec"],
            &mut vec![Segment::Key("spec".to_owned())],
            &mut scripts,
        );
        for (way, script) in scripts {
            if let Err(problem) = interpret::compile(script) {
                let message = format!("this script is not valid Lua: {problem}");
                let help = "an implementation cannot run it; where that is what the case is about, assert what people are told";
                found.push(sources.diagnostic((case, step), object, (&way, Part::Value), message, help.to_owned()));
            }
        }
    }
    found
}

/// Collects the scripts below a value, with the path of each.
fn scripts_in<'o>(value: &'o Value, way: &mut Vec<Segment>, found: &mut Vec<(Vec<Segment>, &'o str)>) {
    for (key, member) in value.as_object().into_iter().flatten() {
        way.push(Segment::Key(key.clone()));
        match member {
            Value::String(script) if key == "luaScript" => found.push((way.clone(), script)),
            other => scripts_in(other, way, found),
        }
        way.pop();
    }
}
