//! Matchers that hold for any value, and matchers that no value meets.

use baton_core::{
    case::model::{Case, Expect},
    pattern::{Pattern, path},
    spelling::nearly_same,
    yaml::Diagnostic,
};

use super::place::Sources;

/// Matchers whose names are unlikely names of fields. Next to other keys in a map, each would be the name of a field.
const MATCHERS: [&str; 7] = ["atLeast", "atMost", "contains", "exactly", "lacks", "mentions", "oneOf"];

/// All matchers.
const ALL_MATCHERS: [&str; 12] = [
    "after", "any", "atLeast", "atMost", "contains", "exactly", "lacks", "mentions", "oneOf", "pattern", "present",
    "total",
];

/// Mistake in a matcher: the problem and the remedy.
type Mistake = (String, &'static str);

/// Returns warnings about the matchers of a case.
pub(super) fn warnings(case: &Case, sources: &Sources<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for step in &case.steps {
        let mut mistakes = Vec::new();
        for condition in step.action.facts().conditions {
            match &condition.expect {
                Expect::Present | Expect::Absent => {}
                Expect::Match(pattern) | Expect::NoMatch(pattern) => of_whole(pattern, &mut mistakes),
                Expect::Count(count) => {
                    if let Some(like) = &count.like {
                        of_whole(like, &mut mistakes);
                    }
                    of_part(&count.is, "is", &mut mistakes);
                }
            }
        }
        let told = mistakes.into_iter();
        found.extend(told.map(|(message, help)| sources.of_step(case, step, message, help)));
    }
    found
}

/// Finds mistakes in the pattern of a whole object.
fn of_whole(pattern: &Pattern, mistakes: &mut Vec<Mistake>) {
    match pattern {
        Pattern::Map(members) if members.is_empty() => {
            let message = "an empty pattern matches any object".to_owned();
            mistakes.push((
                message,
                "name the fields that matter, or write `present: true` or `absent: true`",
            ));
        }
        _ => of_part(pattern, "", mistakes),
    }
}

/// Finds mistakes in a pattern, and in the patterns in it.
fn of_part(pattern: &Pattern, at: &str, mistakes: &mut Vec<Mistake>) {
    let here = if at.is_empty() { "the object" } else { at };
    let mut tell = |what: &str, help| mistakes.push((format!("{here}: {what}"), help));
    match pattern {
        Pattern::Contains(items) if items.is_empty() => tell(
            "`contains: []` matches any list",
            "name the elements that must be there",
        ),
        Pattern::Lacks(items) if items.is_empty() => tell(
            "`lacks: []` matches any list",
            "name the elements that must not be there",
        ),
        Pattern::Mentions(texts) if texts.is_empty() => {
            tell("`mentions: []` matches anything", "name the texts that must be there");
        }
        Pattern::OneOf(values) if values.is_empty() => {
            tell("`oneOf: []` matches nothing", "name the values that are allowed");
        }
        Pattern::After(after)
            if after
                .at_least
                .zip(after.at_most)
                .is_some_and(|(least, most)| least > most) =>
        {
            tell(
                "no time meets both bounds of `after`",
                "`atLeast` must not be greater than `atMost`",
            );
        }
        Pattern::Map(members) if members.len() > 1 => {
            if let Some(matcher) = MATCHERS.iter().find(|it| members.contains_key(**it)) {
                let what = format!("`{matcher}` is the name of a field here: a matcher is the only key of its map");
                tell(
                    &what,
                    "write one matcher here, and the other one in another step, or list the values with `oneOf`",
                );
            }
        }
        Pattern::Map(members) if members.len() == 1 => {
            if let Some(what) = members.keys().next().and_then(|key| misspelt(key)) {
                tell(&what, "see the matchers and their arguments in the guide of the cases");
            }
        }
        _ => {}
    }
    match pattern {
        Pattern::Map(members) => {
            for (key, member) in members {
                of_part(member, &path::join(at, key), mistakes);
            }
        }
        Pattern::Contains(items) | Pattern::Exactly(items) | Pattern::Lacks(items) | Pattern::Any(items) => {
            for item in items {
                of_part(item, &format!("{at}[]"), mistakes);
            }
        }
        Pattern::Total { is, .. } => of_part(is, at, mistakes),
        Pattern::Absent
        | Pattern::Present
        | Pattern::Text(_)
        | Pattern::Exact(_)
        | Pattern::Mentions(_)
        | Pattern::AtLeast(_)
        | Pattern::AtMost(_)
        | Pattern::OneOf(_)
        | Pattern::Regex(_)
        | Pattern::After(_) => {}
    }
}

/// Returns what is wrong with the only key of a map, if it is nearly the name of a matcher, or one that is unlikely to be the
/// name of a field and has an argument that the matcher does not take.
fn misspelt(key: &str) -> Option<String> {
    if MATCHERS.contains(&key) {
        return Some(format!(
            "`{key}` is the name of a field here: the matcher does not take this argument"
        ));
    }
    let is_near = |it: &&&str| it.eq_ignore_ascii_case(key) || key.len() > SHORT && nearly_same(key, it);
    let near = ALL_MATCHERS.iter().find(is_near).filter(|it| **it != key)?;
    Some(format!(
        "`{key}` is the name of a field here; did you mean the matcher `{near}`?"
    ))
}

/// Length up to which a name that differs by one letter is taken for another word.
const SHORT: usize = 5;
