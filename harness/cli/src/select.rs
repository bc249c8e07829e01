//! Selects the cases to run.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::{
    case::model::Case,
    catalogue::Catalogue,
    event::{Shard, Suite},
    names::{CaseId, Feature, RequirementId},
    spelling::suggestion,
};
use thiserror::Error;

use crate::{
    args::{Profile, Selection},
    run,
    show::count,
};

/// Error when no case is selected because of the arguments.
#[derive(Debug, Error)]
pub enum SelectError {
    /// There is no such requirement.
    #[error("unknown requirement `{name}`")]
    Requirement {
        /// Name that was given.
        name: String,
        /// Names that exist.
        help: String,
    },
    /// There is no such feature.
    #[error("unknown feature `{name}`")]
    Feature {
        /// Name that was given.
        name: String,
        /// Names that exist.
        help: String,
    },
    /// No case has such a label.
    #[error("no case has the label `{name}`")]
    Label {
        /// Label that was given.
        name: String,
        /// Labels that exist.
        help: String,
    },
    /// There are more shards than cases.
    #[error("the shard {shard} has no case: only {} selected", count(*.cases, "case"))]
    EmptyShard {
        /// Shard that is empty.
        shard: Shard,
        /// Number of selected cases.
        cases: usize,
    },
    /// No case matches.
    #[error("no case matches {asked}")]
    Nothing {
        /// Description of the selection.
        asked: String,
        /// Remedy.
        help: String,
    },
}

impl SelectError {
    /// Returns a remedy for the user.
    pub fn help(&self) -> &str {
        match self {
            Self::Requirement { help, .. }
            | Self::Feature { help, .. }
            | Self::Label { help, .. }
            | Self::Nothing { help, .. } => help,
            Self::EmptyShard { .. } => "use as many shards as there are cases, or fewer",
        }
    }
}

/// Selected cases, and the suite that they are a part of.
#[derive(Debug)]
pub struct Selected {
    /// The cases.
    pub cases: Vec<Case>,
    /// All cases that match, also those of other shards.
    pub suite: Suite,
}

/// Selects cases. `failed` are the cases that count as failed for `--rerun-failed`.
///
/// [`SelectError`] if an argument names something that does not exist, or if no case matches.
pub fn select(
    cases: Vec<Case>,
    catalogue: &Catalogue,
    wanted: &Selection,
    failed: Option<&BTreeSet<CaseId>>,
) -> Result<Selected, SelectError> {
    known(wanted, catalogue)?;
    labels_known(wanted, &cases)?;
    let help = what_there_is(&cases);
    let fits = |case: &Case| {
        let name = format!("{}/{}", case.area, case.id);
        let named = |pattern: &String| matches(pattern, case.id.as_str()) || matches(pattern, &name);
        let about = |id: &String| case.requirements.contains(&RequirementId::new(id.as_str()));
        let needs = |feature: &String| case.features.contains(&Feature::new(feature.as_str()));
        let profile = if case.features.is_subset(catalogue.core()) {
            Profile::Core
        } else {
            Profile::Extended
        };
        wanted.profile.is_none_or(|wanted| wanted == profile)
            && any(&wanted.filter, named)
            && any(&wanted.requirement, about)
            && any(&wanted.feature, needs)
            && any(&wanted.label, |label| has_label(case, label))
            && failed.is_none_or(|failed| failed.contains(&case.id))
    };
    let mut cases: Vec<Case> = cases.into_iter().filter(fits).collect();
    if cases.is_empty() {
        return Err(SelectError::Nothing {
            asked: asked(wanted),
            help,
        });
    }
    let mut suite = run::suite_of(&cases);
    suite.shard = wanted.shard;
    if let Some(shard) = wanted.shard {
        // Sorted by name, so that the order of files and folders does not matter; dealt in turn, so that shards have
        // equal sizes.
        cases.sort_by(|one, other| one.id.cmp(&other.id));
        let mut number = 0;
        cases.retain(|_| {
            number += 1;
            number % shard.of == shard.number % shard.of
        });
        if cases.is_empty() {
            return Err(SelectError::EmptyShard {
                shard,
                cases: suite.cases,
            });
        }
    }
    Ok(Selected { cases, suite })
}

fn any(wanted: &[String], fits: impl Fn(&String) -> bool) -> bool {
    wanted.is_empty() || wanted.iter().any(fits)
}

/// Returns `true` if a case has a label: `key=value`, or `key` with any value.
fn has_label(case: &Case, label: &str) -> bool {
    match label.split_once('=') {
        Some((key, value)) => case.labels.get(key).is_some_and(|it| it == value),
        None => case.labels.contains_key(label),
    }
}

fn labels_known(wanted: &Selection, cases: &[Case]) -> Result<(), SelectError> {
    let unknown = |label: &&String| !cases.iter().any(|case| has_label(case, label));
    let Some(name) = wanted.label.iter().find(unknown) else {
        return Ok(());
    };
    let labels = cases.iter().flat_map(|case| &case.labels);
    let labels: BTreeSet<String> = labels.map(|(key, value)| format!("{key}={value}")).collect();
    Err(SelectError::Label {
        name: name.clone(),
        help: suggestion(name, labels.iter().map(String::as_str)),
    })
}

fn known(wanted: &Selection, catalogue: &Catalogue) -> Result<(), SelectError> {
    let features: Vec<&str> = catalogue.features().into_iter().map(Feature::as_str).collect();
    let unknown = |names: &[String], known: &[&str]| {
        let name = names.iter().find(|name| !known.contains(&name.as_str()))?;
        Some((name.clone(), suggestion(name, known.to_vec())))
    };
    let absent = |id: &&String| catalogue.get(&RequirementId::new(id.as_str())).is_none();
    if let Some(name) = wanted.requirement.iter().find(absent) {
        return Err(SelectError::Requirement {
            name: name.clone(),
            help: catalogue.suggestion(name),
        });
    }
    match unknown(&wanted.feature, &features) {
        Some((name, help)) => Err(SelectError::Feature { name, help }),
        None => Ok(()),
    }
}

fn asked(wanted: &Selection) -> String {
    let options = [
        ("--filter", &wanted.filter),
        ("--requirement", &wanted.requirement),
        ("--feature", &wanted.feature),
        ("--label", &wanted.label),
    ];
    let mut words: Vec<String> = options
        .into_iter()
        .flat_map(|(option, values)| values.iter().map(move |value| format!("{option} {value}")))
        .collect();
    if let Some(profile) = wanted.profile {
        let name = match profile {
            Profile::Core => "core",
            Profile::Extended => "extended",
        };
        words.push(format!("--profile {name}"));
    }
    if wanted.rerun_failed {
        words.push("--rerun-failed".to_owned());
    }
    words.join(" ")
}

fn what_there_is(cases: &[Case]) -> String {
    if cases.is_empty() {
        return "there are no cases here".to_owned();
    }
    let mut areas: BTreeMap<&str, usize> = BTreeMap::new();
    for case in cases {
        *areas.entry(&case.area).or_default() += 1;
    }
    let areas: Vec<String> = areas
        .into_iter()
        .map(|(area, count)| format!("{area} {count}"))
        .collect();
    format!(
        "there are {} cases: {}; `baton list` shows them",
        cases.len(),
        areas.join(", ")
    )
}

/// Returns true if a case is in an area, such as `proposal` or `cases/proposal`, or if its name matches a pattern with `*`
/// or `?`, such as `queue/*`.
pub(crate) fn is_area_or_glob(name: &str, case: &Case) -> bool {
    let name = name.strip_prefix("cases/").unwrap_or(name).trim_end_matches('/');
    if name.contains(['*', '?']) {
        return matches(name, case.id.as_str()) || matches(name, &format!("{}/{}", case.area, case.id));
    }
    let below = case.area.strip_prefix(name);
    !name.is_empty() && below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

/// Returns `true` if a name matches a pattern: as a whole if the pattern has `*` or `?`, otherwise in any part.
fn matches(pattern: &str, name: &str) -> bool {
    if !pattern.contains(['*', '?']) {
        return name.contains(pattern);
    }
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    // Position of the last `*`, and the length of the name that it has matched so far.
    let mut star: Option<(usize, usize)> = None;
    let (mut at, mut place) = (0, 0);
    while place < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, place));
                at += 1;
            }
            Some(c) if *c == '?' || *c == name[place] => {
                at += 1;
                place += 1;
            }
            Some(_) | None => match star {
                Some((before, taken)) => {
                    star = Some((before, taken + 1));
                    at = before + 1;
                    place = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_pattern_fits_a_part_or_with_wildcards_the_whole() {
        for (pattern, name, fits) in [
            ("directly", "flink-jobid-directly", true),
            ("purge/", "purge/cut-off", true),
            ("flink*", "flink-jobid-directly", true),
            ("*direct", "flink-jobid-directly", false),
            ("*jobid*", "flink-jobid-directly", true),
            ("cut-?ff", "cut-off", true),
            ("cut-??ff", "cut-off", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b", "abab", true),
            ("*", "", true),
            ("?", "", false),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }
}
