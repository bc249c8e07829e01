//! Conditions about the target's metrics.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::Duration,
};

use serde::Serialize;
use serde_json::{Value, json};

use super::Mode;
use crate::{
    metrics::{Sample, is_part},
    names::RequirementId,
    pattern::{Bindings, Mismatch, Pattern},
};

/// A metric, and what it must say.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Metric {
    /// `name`, without what a target may put before it. The parts of a histogram or summary have this name too.
    pub name: String,
    /// `labels` that it has; others do not matter.
    pub labels: BTreeMap<String, Pattern>,
    /// `is`: what its value must be; nothing matches if there is no such metric.
    pub is: Pattern,
}

/// An assertion about a metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricAssertion {
    /// When it must hold: now, eventually or consistently.
    pub mode: Mode,
    /// Expectation.
    pub metric: Metric,
    /// Time that the mode `eventually` waits; by default the time that collecting a status may take.
    pub within: Option<Duration>,
    /// Requirements that are shown if it holds.
    pub proves: BTreeSet<RequirementId>,
}

impl Metric {
    /// Returns the samples that do not meet the expectation; none if all do.
    pub fn mismatches(&self, samples: &[Sample], bindings: &Bindings) -> Vec<Mismatch> {
        let is_meant = |sample: &&Sample| {
            let label = |name: &String| sample.labels.get(name).map(|text| json!(text));
            let has = |(name, pattern): (&String, &Pattern)| pattern.matches(label(name).as_ref(), bindings);
            is_part(&sample.name, &self.name) && self.labels.iter().all(has)
        };
        let found: Vec<Value> = samples.iter().filter(is_meant).map(Sample::number).collect();
        let differs = |value: Option<&Value>| {
            let mut found = self.is.mismatches(value, bindings);
            for mismatch in &mut found {
                mismatch.path.clone_from(&self.name);
            }
            found
        };
        if found.is_empty() {
            return differs(None);
        }
        let mut nearest = Vec::new();
        for value in &found {
            nearest = differs(Some(value));
            if nearest.is_empty() {
                break;
            }
        }
        nearest
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let none = Bindings::new();
        f.write_str(&self.name)?;
        let label = |(name, value): (&String, &Pattern)| format!("{name}={}", value.describe(&none));
        let labels: Vec<_> = self.labels.iter().map(label).collect();
        if !labels.is_empty() {
            write!(f, "{{{}}}", labels.join(","))?;
        }
        write!(f, " is {}", self.is.describe(&none))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(is: &Value, kind: &Value) -> Vec<String> {
        let text = "evict_kind_total{cluster_name=\"member1\",resource_kind=\"apps/v1/Deployment\"} 3.0\n";
        let metric = Metric {
            name: "evict_kind_total".to_owned(),
            labels: BTreeMap::from([
                ("cluster_name".to_owned(), Pattern::Text("${origin}".to_owned())),
                ("resource_kind".to_owned(), Pattern::from_value(kind).unwrap()),
            ]),
            is: Pattern::from_value(is).unwrap(),
        };
        let bindings = Bindings::from([("origin".to_owned(), "member1".to_owned())]);
        let found = metric.mismatches(&crate::metrics::read(text).unwrap(), &bindings);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_metric_is_found_by_its_labels_and_compared() {
        let kind = json!({"mentions": ["apps/v1", "Deployment"]});
        assert!(seen(&json!(3), &kind).is_empty());
        assert_eq!(seen(&json!(4), &kind), ["evict_kind_total: expected 4, seen 3"]);
        assert_eq!(
            seen(&json!(3), &json!("Job")),
            ["evict_kind_total: expected 3, seen nothing"]
        );
        assert!(seen(&json!({"any": [0, null]}), &json!("Job")).is_empty());
    }
}
