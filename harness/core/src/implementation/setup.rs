//! The gates and options that a target runs with for a case.

use std::collections::BTreeSet;

use super::TargetSpec;
use crate::case::model::ControllerSetup;

/// Gates of the specification that are off by default (GAT-01, GAT-02).
pub const OFF_BY_DEFAULT: [&str; 2] = ["Failover", INJECTION];

/// Gates of the specification, including the deprecated one (GAT-04).
pub const KNOWN_GATES: [&str; 3] = ["Failover", INJECTION, "GracefulEviction"];

/// The gate that enables the injection of preserved state.
const INJECTION: &str = "StatefulFailoverInjection";

/// The gates and options that a restart of a target can change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settable {
    /// Feature gates, by name.
    pub feature_gates: BTreeSet<String>,
    /// Options, by name without dashes.
    pub options: BTreeSet<String>,
}

impl TargetSpec {
    /// Returns the gates and options that the target runs with for a case: its defaults, with those that the case asks
    /// for.
    ///
    /// A case that names gates also relies on the defaults of those that it does not name. A case that names no gate
    /// runs with any gates. The gate for state injection does not matter unless state `is_preserved`.
    ///
    /// # Errors
    /// The gates and options that the target cannot set, in words. Such a case is unsupported.
    pub fn setup_for(&self, asked: &ControllerSetup, is_preserved: bool) -> Result<ControllerSetup, Vec<String>> {
        let mut setup = self.controller.clone();
        let mut lacking = Vec::new();
        for (gate, on) in gates(asked) {
            let now = self.controller.feature_gates.get(gate).copied();
            let by_default = OFF_BY_DEFAULT.contains(&gate).then_some(false);
            if self.settable.feature_gates.contains(gate) {
                setup.feature_gates.insert(gate.to_owned(), on);
            } else if !is_preserved && gate == INJECTION && !asked.feature_gates.contains_key(gate) {
                // Any value of the gate will do.
            } else if now.or(by_default) != Some(on) {
                let runs = now.map_or("does not say how it runs".to_owned(), |now| format!("runs with {now}"));
                lacking.push(format!(
                    "needs the feature gate {gate}={on}; this target {runs}, and `settable` does not list the gate"
                ));
            }
        }
        for (option, value) in &asked.options {
            let now = self.controller.options.get(option);
            if value == ControllerSetup::DEFAULT {
                if now.is_none() || self.settable.options.contains(option) {
                    setup.options.remove(option);
                } else {
                    lacking.push(format!(
                        "needs the default of the option {option}; this target sets it, and `settable` does not list the option"
                    ));
                }
            } else if self.settable.options.contains(option) {
                setup.options.insert(option.clone(), value.clone());
            } else if now != Some(value) {
                let runs = now.map_or("does not say how it runs".to_owned(), |now| format!("runs with {now}"));
                lacking.push(format!(
                    "needs the option {option}={value}; this target {runs}, and `settable` does not list the option"
                ));
            }
        }
        if lacking.is_empty() { Ok(setup) } else { Err(lacking) }
    }
}

/// Returns the gates that a case relies on.
fn gates(asked: &ControllerSetup) -> Vec<(&str, bool)> {
    let named = asked.feature_gates.iter().map(|(gate, on)| (gate.as_str(), *on));
    let silent = OFF_BY_DEFAULT
        .into_iter()
        .filter(|gate| !asked.feature_gates.is_empty() && !asked.feature_gates.contains_key(*gate))
        .map(|gate| (gate, false));
    named.chain(silent).collect()
}
