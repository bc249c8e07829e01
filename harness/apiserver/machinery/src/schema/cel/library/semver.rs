//! Semantic versions.

use semver::Version;

use super::super::budget::Budget;
use super::super::error::{CelError, Outcome};
use super::super::value::Val;

pub(super) fn call<'a>(_: &mut Budget, name: &str, is_member: bool, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    if is_member {
        return of_version(name, args).map(Ok);
    }
    let (text, normalized) = match args {
        [Val::Str(text)] => (text.as_str(), false),
        [Val::Str(text), Val::Bool(normalized)] => (text.as_str(), *normalized),
        _ => return None,
    };
    let text = if normalized { normalize(text) } else { text.to_owned() };
    let version = Version::parse(&text);
    Some(match name {
        "isSemver" => Ok(Val::Bool(version.is_ok())),
        "semver" => version
            .map(|version| Val::Semver(version.into()))
            .map_err(|_| CelError::Eval(reason(&text))),
        _ => return None,
    })
}

fn of_version<'a>(name: &str, args: &[Val<'a>]) -> Option<Val<'a>> {
    let part = |part: u64| Val::Int(i64::try_from(part).unwrap_or(i64::MAX));
    Some(match (name, args) {
        ("major", [Val::Semver(version)]) => part(version.major),
        ("minor", [Val::Semver(version)]) => part(version.minor),
        ("patch", [Val::Semver(version)]) => part(version.patch),
        ("isLessThan", [Val::Semver(a), Val::Semver(b)]) => Val::Bool(a.cmp_precedence(b).is_lt()),
        ("isGreaterThan", [Val::Semver(a), Val::Semver(b)]) => Val::Bool(a.cmp_precedence(b).is_gt()),
        ("compareTo", [Val::Semver(a), Val::Semver(b)]) => Val::Int(a.cmp_precedence(b) as i64),
        _ => return None,
    })
}

/// Removes the `v` of a version and zeros before its numbers, and adds missing numbers.
fn normalize(text: &str) -> String {
    let text = text.trim_start_matches('v');
    let end = text.find(['-', '+']).unwrap_or(text.len());
    let (numbers, rest) = text.split_at(end);
    let mut numbers: Vec<&str> = numbers.splitn(3, '.').map(without_zeros).collect();
    numbers.resize(numbers.len().max(3), "0");
    format!("{}{rest}", numbers.join("."))
}

fn without_zeros(number: &str) -> &str {
    let shortened = number.trim_start_matches('0');
    if shortened.is_empty() && !number.is_empty() {
        "0"
    } else {
        shortened
    }
}

/// Returns the reason for which a version is invalid, in the words of the server.
fn reason(text: &str) -> String {
    const PARTS: [&str; 3] = ["major", "minor", "patch"];
    if text.is_empty() {
        return "Version string empty".to_owned();
    }
    let end = text.find(['-', '+']).unwrap_or(text.len());
    let numbers: Vec<&str> = text.splitn(3, '.').collect();
    if numbers.len() < PARTS.len() {
        return "No Major.Minor.Patch elements found".to_owned();
    }
    let patch = text
        .get(..end)
        .unwrap_or(text)
        .splitn(3, '.')
        .nth(2)
        .unwrap_or_default();
    for (part, number) in PARTS.into_iter().zip([numbers[0], numbers[1], patch]) {
        if number.is_empty() {
            return "strconv.ParseUint: parsing \"\": invalid syntax".to_owned();
        }
        if number.bytes().any(|byte| !byte.is_ascii_digit()) {
            return format!("Invalid character(s) found in {part} number {number:?}");
        }
        if number.len() > 1 && number.starts_with('0') {
            let mut part = part.to_owned();
            part[..1].make_ascii_uppercase();
            return format!("{part} number must not contain leading zeroes {number:?}");
        }
    }
    match text.get(end..) {
        Some("-") => "Prerelease is empty".to_owned(),
        Some("+") => "Build meta data is empty".to_owned(),
        _ => format!(
            "Invalid character(s) found in prerelease {:?}",
            text.get(end + 1..).unwrap_or_default()
        ),
    }
}
