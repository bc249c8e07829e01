//! Runtime classes: what the `RuntimeClass` admission plugin adds to pods, and what it refuses.

use baton_apimachinery::go_fmt;
use baton_apimachinery::metadata::names;
use serde_json::Value;

/// Why a pod is forbidden.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RuntimeRefused {
    /// No class can have this name.
    #[error("{0}")]
    Name(String),
    /// There is no such class.
    #[error("pod rejected: RuntimeClass {0:?} not found")]
    NotFound(String),
    /// The pod says another overhead than its class.
    #[error("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")]
    OtherOverhead,
    /// The pod says an overhead, and its class does not.
    #[error("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")]
    Overhead,
    /// The pod is to run where its class does not.
    #[error("conflict: runtimeClass.scheduling.nodeSelector[{key}] = {wanted}; pod.spec.nodeSelector[{key}] = {given}")]
    Elsewhere {
        /// Of the label.
        key: String,
        /// By the class.
        wanted: String,
        /// By the pod.
        given: String,
    },
}

/// Adds to a new pod what its runtime class says: overhead, and where it runs. `class` finds a class by its name.
///
/// # Errors
/// What the plugin refuses.
pub fn run_as_class(pod: &mut Value, class: impl FnOnce(&str) -> Option<Value>) -> Result<(), RuntimeRefused> {
    let Some(spec) = pod.get_mut("spec").filter(|spec| spec.is_object()) else {
        return Ok(());
    };
    let name = spec.get("runtimeClassName").and_then(Value::as_str);
    let class = match name {
        Some("") => return Err(RuntimeRefused::Name("resource name may not be empty".to_owned())),
        Some(name) => {
            let problems = names::path_segment(name, false);
            if !problems.is_empty() {
                let problem = format!(
                    "invalid resource name {}: [{}]",
                    go_fmt::quoted(name),
                    problems.join(" ")
                );
                return Err(RuntimeRefused::Name(problem));
            }
            class(name).ok_or_else(|| RuntimeRefused::NotFound(name.to_owned()))?
        }
        None => Value::Null,
    };
    let given = spec.get("overhead").filter(|overhead| !overhead.is_null());
    match (class.pointer("/overhead/podFixed"), given) {
        (Some(fixed), Some(given)) if fixed != given => return Err(RuntimeRefused::OtherOverhead),
        (Some(fixed), _) => spec["overhead"] = fixed.clone(),
        (None, Some(_) | None) => {}
    }
    let Some(scheduling) = class.get("scheduling") else {
        return Ok(());
    };
    for (key, wanted) in scheduling["nodeSelector"].as_object().into_iter().flatten() {
        let given = spec
            .get("nodeSelector")
            .and_then(|selector| selector.get(key))
            .and_then(Value::as_str);
        let wanted = wanted.as_str().unwrap_or_default();
        if let Some(given) = given.filter(|given| *given != wanted) {
            let (key, wanted, given) = (key.clone(), wanted.to_owned(), given.to_owned());
            return Err(RuntimeRefused::Elsewhere { key, wanted, given });
        }
        spec["nodeSelector"][key] = Value::from(wanted);
    }
    for toleration in scheduling["tolerations"].as_array().into_iter().flatten() {
        match spec.get_mut("tolerations").and_then(Value::as_array_mut) {
            Some(tolerations) if tolerations.contains(toleration) => {}
            Some(tolerations) => tolerations.push(toleration.clone()),
            None => spec["tolerations"] = Value::Array(vec![toleration.clone()]),
        }
    }
    Ok(())
}

/// Whether a pod has an overhead that its class does not say; `class` finds a class by its name.
///
/// # Errors
/// [`RuntimeRefused::Overhead`].
pub fn check_overhead(pod: &Value, class: impl FnOnce(&str) -> Option<Value>) -> Result<(), RuntimeRefused> {
    if pod.pointer("/spec/overhead").is_none() {
        return Ok(());
    }
    let name = pod.pointer("/spec/runtimeClassName").and_then(Value::as_str);
    let fixed = name
        .and_then(class)
        .and_then(|class| class.pointer("/overhead/podFixed").cloned());
    fixed.map(drop).ok_or(RuntimeRefused::Overhead)
}
