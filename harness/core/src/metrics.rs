//! Metrics in the text format of Prometheus, as far as cases ask for them: names, labels and values.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;

/// Size limit of an answer, far above that of any target.
pub const MOST_BYTES: usize = 16 * 1024 * 1024;

/// One line of the text: a metric with its labels and its value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sample {
    /// Name, such as `evict_total` or `evict_processing_latency_seconds_count`.
    pub name: String,
    /// Labels of the sample.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Value as text, because it may be `NaN` or `+Inf`.
    pub value: String,
}

impl Sample {
    /// Returns the value: an integer or a fraction if it is a finite number, otherwise a text.
    pub fn number(&self) -> Value {
        let Ok(number) = self.value.parse::<f64>() else {
            return json!(self.value);
        };
        #[expect(clippy::cast_possible_truncation, reason = "whole and small enough")]
        if number.fract() == 0.0 && number.abs() < 1e15 {
            json!(number as i64)
        } else if number.is_finite() {
            json!(number)
        } else {
            json!(self.value)
        }
    }
}

/// Returns `true` if a sample of this name belongs to the metric. The parts of a histogram or summary have its name and
/// a suffix.
pub fn is_part(sample: &str, metric: &str) -> bool {
    let suffix = sample.strip_prefix(metric);
    suffix.is_some_and(|suffix| ["", "_count", "_sum", "_bucket"].contains(&suffix))
}

/// Names of metrics in an implementation that uses other names than cases do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    /// Prefix of all names.
    pub prefix: Option<String>,
    /// Names in the implementation, without the prefix, by the names that cases use.
    pub own: BTreeMap<String, String>,
}

impl Names {
    /// Renames samples to the names that cases use.
    pub fn translate(&self, samples: &mut [Sample]) {
        for sample in samples {
            let name = sample.name.as_str();
            let plain = self.prefix.as_deref().and_then(|prefix| name.strip_prefix(prefix));
            let plain = plain.unwrap_or(name);
            let named = self.own.iter().find_map(|(name, own)| {
                let part = plain.strip_prefix(own.as_str())?;
                is_part(plain, own).then(|| format!("{name}{part}"))
            });
            sample.name = named.unwrap_or_else(|| plain.to_owned());
        }
    }
}

/// A line that is not a metric.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {number} is not a metric: {line:?}")]
pub struct NotMetric {
    /// Number of the line, from 1.
    pub number: usize,
    /// Text of the line.
    pub line: String,
}

/// Parses the text format of Prometheus 0.0.4 or `OpenMetrics` 1.0.
///
/// # Errors
/// The first line that is not a metric.
pub fn read(text: &str) -> Result<Vec<Sample>, NotMetric> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let samples = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    samples
        .map(|(number, line)| {
            sample(line).ok_or_else(|| NotMetric {
                number,
                line: line.to_owned(),
            })
        })
        .collect()
}

/// Parses `name{label="value",…} value`, and an optional timestamp.
fn sample(line: &str) -> Option<Sample> {
    let end = line.find(['{', ' ', '\t'])?;
    let (name, rest) = line.split_at(end);
    let is_name = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == ':';
    if name.is_empty() || !name.chars().all(is_name) {
        return None;
    }
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (BTreeMap::new(), rest),
    };
    let value = rest.split_whitespace().next()?;
    value.parse::<f64>().ok()?;
    Some(Sample {
        name: name.to_owned(),
        labels,
        value: value.to_owned(),
    })
}

/// Parses the labels up to the closing brace. Returns them and the rest of the text.
fn labels(mut rest: &str) -> Option<(BTreeMap<String, String>, &str)> {
    let mut labels = BTreeMap::new();
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        if let Some(behind) = rest.strip_prefix('}') {
            return Some((labels, behind));
        }
        let (name, behind) = rest.split_once("=\"")?;
        let (value, behind) = quoted(behind)?;
        labels.insert(name.trim().to_owned(), value);
        rest = behind;
    }
}

/// Parses a text up to its closing quote. Returns it and the rest of the text.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((place, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[place + 1..])),
            '\\' => value.push(match characters.next()?.1 {
                'n' => '\n',
                other => other,
            }),
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_labels_and_values_are_read() {
        let text = "# HELP a Something\na 1\nb_count{x=\"1\",y=\"a\\\"b,}\"} 2.5 1700000000\nc NaN\nd{} +Inf\n# EOF\n";
        let samples = read(text).unwrap();
        let names: Vec<_> = samples.iter().map(|it| (it.name.as_str(), it.number())).collect();
        let expected = [
            ("a", json!(1)),
            ("b_count", json!(2.5)),
            ("c", json!("NaN")),
            ("d", json!("+Inf")),
        ];
        assert_eq!(names, expected);
        assert_eq!(samples[1].labels["y"], "a\"b,}");
    }

    #[test]
    fn names_of_an_implementation_become_those_of_cases() {
        let mut samples =
            read("x_queue_depth 1\nx_latency_sum 2\nx_latencyish 3\nevict_rate 4\nx_evict_rate 5\n").unwrap();
        let own = [("evict_total", "queue_depth"), ("evict_latency", "latency")];
        let names = Names {
            prefix: Some("x_".to_owned()),
            own: own.map(|(name, own)| (name.to_owned(), own.to_owned())).into(),
        };
        names.translate(&mut samples);
        let names: Vec<_> = samples.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "evict_total",
                "evict_latency_sum",
                "latencyish",
                "evict_rate",
                "evict_rate"
            ]
        );
    }

    #[test]
    fn what_is_no_metric_is_told_with_its_line() {
        for line in ["<html>", "a", "a{b} 1", "a{b=\"c} 1", "a one", "{x=\"1\"} 1"] {
            let error = read(&format!("ok 1\n{line}\n")).unwrap_err();
            assert!(error.to_string().starts_with("line 2 "), "{error}");
        }
    }
}
