//! Preserves the state of the old copy: evaluates the policy's rules on its status (STP).

use std::collections::BTreeMap;
use std::fmt;

use baton_jsonpath::Template;
use serde_json::Value;

use crate::api::{StatePreservation, StatePreservationRule};

/// Maximum length of a label value.
const MAX_VALUE: usize = 63;

/// Reason why state cannot be preserved. The eviction waits until it can (STP-06, STP-08, STP-12).
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Obstacle {
    /// No status has been collected from the cluster yet.
    #[error("no status has been collected from the cluster yet; the eviction waits for it")]
    NotCollected,
    /// At least one rule does not yield a valid label value; all such rules are listed.
    #[error("{}", list(.0))]
    Rules(Vec<RuleProblem>),
}

impl Obstacle {
    /// Returns the machine-readable reason for conditions and events.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NotCollected => "StatusNotCollected",
            Self::Rules(problems) => match problems.first().map(|problem| &problem.kind) {
                Some(ProblemKind::Path(_)) => "StatePathInvalid",
                Some(ProblemKind::Value { .. }) => "StateValueInvalid",
                Some(ProblemKind::Missing(_)) | None => "StatePathMissing",
            },
        }
    }
}

/// Error of one rule.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RuleProblem {
    /// `aliasLabelName` of the rule.
    pub alias: String,
    /// `jsonPath` of the rule.
    pub path: String,
    /// Kind of the error.
    pub kind: ProblemKind,
}

/// Kind of error in a rule.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ProblemKind {
    /// The path does not parse.
    Path(String),
    /// The path matches nothing in the status.
    Missing(String),
    /// The result is not a valid label value.
    Value {
        /// Result of the path.
        value: String,
        /// Reason why the result is invalid.
        why: &'static str,
    },
}

impl fmt::Display for RuleProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule {} with path {}: ", self.alias, self.path)?;
        match &self.kind {
            ProblemKind::Path(why) => write!(f, "the path does not parse: {why}"),
            ProblemKind::Missing(why) => write!(f, "the path matches nothing in the status: {why}"),
            ProblemKind::Value { value, why } => write!(f, "{:?} is not a valid label value: {why}", shorten(value)),
        }
    }
}

fn list(problems: &[RuleProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Shortens a value for messages.
fn shorten(value: &str) -> String {
    if value.chars().count() <= 100 {
        value.to_owned()
    } else {
        value.chars().take(100).chain(['…']).collect()
    }
}

/// Evaluates all rules on a status (STP-01 to STP-05). Values of `earlier` are kept for rules without a newer value:
/// they are the state of a failover from which the workload has not recovered (STP-14).
pub fn preserve(
    preservation: &StatePreservation,
    status: Option<&Value>,
    earlier: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, Obstacle> {
    let Some(status) = status else {
        let all_known = preservation
            .rules
            .iter()
            .all(|rule| earlier.contains_key(&rule.alias_label_name));
        return if all_known {
            Ok(known(preservation, earlier))
        } else {
            Err(Obstacle::NotCollected)
        };
    };
    let mut state = BTreeMap::new();
    let mut problems = Vec::new();
    for rule in &preservation.rules {
        match (extract(rule, status), earlier.get(&rule.alias_label_name)) {
            (Ok(value), _) => {
                state.insert(rule.alias_label_name.clone(), value);
            }
            (Err(ProblemKind::Missing(_)), Some(value)) => {
                state.insert(rule.alias_label_name.clone(), value.clone());
            }
            (Err(kind), _) => problems.push(problem(rule, kind)),
        }
    }
    if problems.is_empty() {
        Ok(state)
    } else {
        Err(Obstacle::Rules(problems))
    }
}

fn known(preservation: &StatePreservation, earlier: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let rules = preservation.rules.iter();
    rules
        .filter_map(|rule| earlier.get_key_value(&rule.alias_label_name))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect()
}

/// Returns the rules whose path does not parse, for reports about the policy (VAL-02).
pub fn unparsable(preservation: &StatePreservation) -> Vec<RuleProblem> {
    let parse = |rule: &StatePreservationRule| Template::parse(&rule.json_path).err();
    preservation
        .rules
        .iter()
        .filter_map(|rule| Some(problem(rule, ProblemKind::Path(parse(rule)?.to_string()))))
        .collect()
}

fn problem(rule: &StatePreservationRule, kind: ProblemKind) -> RuleProblem {
    RuleProblem {
        alias: rule.alias_label_name.clone(),
        path: rule.json_path.clone(),
        kind,
    }
}

fn extract(rule: &StatePreservationRule, status: &Value) -> Result<String, ProblemKind> {
    let template = Template::parse(&rule.json_path).map_err(|error| ProblemKind::Path(error.to_string()))?;
    let value = template.find(status).map_err(|error| {
        let help = error.help().map(|help| format!("; {help}")).unwrap_or_default();
        ProblemKind::Missing(format!("{error}{help}"))
    })?;
    let value = value.ok_or_else(|| ProblemKind::Missing("nothing passes its filter".to_owned()))?;
    match why_no_label_value(&value) {
        Some(why) => Err(ProblemKind::Value { value, why }),
        None => Ok(value),
    }
}

/// Returns the reason why a text is not a valid label value; `None` if it is valid (STP-12).
pub fn why_no_label_value(value: &str) -> Option<&'static str> {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if value.len() > MAX_VALUE {
        return Some("it is longer than 63 characters");
    }
    if !value.chars().all(is_inner) {
        return Some("only letters, digits, '-', '_' and '.' are allowed");
    }
    let is_edge = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    (!is_edge(value.chars().next()) || !is_edge(value.chars().last()))
        .then_some("it must begin and end with a letter or digit")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn rules(rules: &[(&str, &str)]) -> StatePreservation {
        let rule = |(alias, path): &(&str, &str)| StatePreservationRule {
            alias_label_name: (*alias).to_owned(),
            json_path: (*path).to_owned(),
        };
        StatePreservation {
            rules: rules.iter().map(rule).collect(),
        }
    }

    fn none() -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    #[test]
    fn every_rule_yields_an_entry() {
        let status =
            json!({"replicas": 2, "readyReplicas": 1, "jobStatus": {"jobID": "e6fd", "at": 1_734_462_491_693_i64}});
        let rules = rules(&[
            ("r", "{ .replicas }"),
            ("j", "{ .jobStatus.jobID }"),
            ("t", "{.jobStatus.at}"),
        ]);
        let state = preserve(&rules, Some(&status), &none()).unwrap();
        let expected = [("j", "e6fd"), ("r", "2"), ("t", "1734462491693")];
        assert_eq!(state, expected.map(|(k, v)| (k.to_owned(), v.to_owned())).into());
    }

    #[test]
    fn one_rule_that_misses_stops_all_and_is_named() {
        let rules = rules(&[("ok", "{.replicas}"), ("a/b", "{.status.replicas}")]);
        let obstacle = preserve(&rules, Some(&json!({"replicas": 2})), &none()).unwrap_err();
        assert_eq!(obstacle.reason(), "StatePathMissing");
        let message = obstacle.to_string();
        assert!(
            message.contains("rule a/b with path {.status.replicas}") && !message.contains("rule ok"),
            "{message}"
        );
    }

    #[test]
    fn what_cannot_be_a_label_is_told_not_bent() {
        for (value, reason) in [
            (json!("a/b"), "StateValueInvalid"),
            (json!("x".repeat(64)), "StateValueInvalid"),
            (json!("-a"), "StateValueInvalid"),
            (json!({"a": 1}), "StateValueInvalid"),
        ] {
            let obstacle = preserve(&rules(&[("k", "{.v}")]), Some(&json!({"v": value})), &none()).unwrap_err();
            assert_eq!(obstacle.reason(), reason, "{obstacle}");
        }
        let obstacle = preserve(&rules(&[("k", "{.v")]), Some(&json!({"v": 1})), &none()).unwrap_err();
        assert_eq!(obstacle.reason(), "StatePathInvalid");
    }

    #[test]
    fn an_empty_text_is_a_value_and_a_filter_that_nothing_passes_is_none() {
        let status = json!({"v": "", "paused": false, "share": 0.25, "list": [{"n": "a"}]});
        for (path, expected) in [("{.v}", ""), ("{.paused}", "false"), ("{.share}", "0.25")] {
            let state = preserve(&rules(&[("k", path)]), Some(&status), &none()).unwrap();
            assert_eq!(state["k"], expected, "{path}");
        }
        for path in ["{.list[?(@.n==\"b\")].n}", "{range .list[?(@.n==\"b\")]}{.n}{end}"] {
            let obstacle = preserve(&rules(&[("k", path)]), Some(&status), &none()).unwrap_err();
            assert_eq!(obstacle.reason(), "StatePathMissing", "{path}");
        }
    }

    #[test]
    fn nothing_collected_waits() {
        assert_eq!(
            preserve(&rules(&[("k", "{.v}")]), None, &none()),
            Err(Obstacle::NotCollected)
        );
        assert_eq!(preserve(&rules(&[]), None, &none()), Ok(none()));
    }

    #[test]
    fn state_not_recovered_from_is_kept_where_nothing_newer_is_known() {
        let earlier = BTreeMap::from([("j".to_owned(), "old".to_owned()), ("r".to_owned(), "2".to_owned())]);
        let rules = rules(&[("j", "{.jobID}"), ("r", "{.replicas}")]);
        assert_eq!(preserve(&rules, None, &earlier), Ok(earlier.clone()));
        let state = preserve(&rules, Some(&json!({"replicas": 3})), &earlier).unwrap();
        assert_eq!((state["j"].as_str(), state["r"].as_str()), ("old", "3"));
    }

    proptest! {
        #[test]
        fn what_is_preserved_is_a_label_value(text in ".{1,80}") {
            match preserve(&rules(&[("k", "{.v}")]), Some(&json!({"v": text})), &none()) {
                Ok(state) => {
                    prop_assert_eq!(&state["k"], &text);
                    prop_assert!(why_no_label_value(&text).is_none());
                }
                Err(obstacle) => prop_assert_eq!(obstacle.reason(), "StateValueInvalid"),
            }
        }
    }
}
