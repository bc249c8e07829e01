//! Texts in reports of older versions, which differ from those of today.

use crate::report::model::{CaseReport, FindingReport};

/// Returns a case in the form of an older report: without a likely cause if that has none, and with its references, such as
/// `${origin}`, in the place of the values that they stand for.
pub(super) fn as_reported(reported: &CaseReport, mut case: CaseReport) -> CaseReport {
    if reported.likely_cause.is_none() {
        case.likely_cause = None;
    }
    let lists = [
        (&reported.findings, &mut case.findings),
        (&reported.elsewhere, &mut case.elsewhere),
        (&reported.remarks, &mut case.remarks),
        (&reported.proposed, &mut case.proposed),
    ];
    for (reported, again) in lists {
        for (reported, again) in reported.iter().zip(again) {
            keep_references(reported, again);
        }
    }
    case
}

fn keep_references(reported: &FindingReport, again: &mut FindingReport) {
    if reported.expected.contains("${") && stands_for(&reported.expected, &again.expected) {
        again.expected.clone_from(&reported.expected);
    }
}

/// Returns `true` if a text with references stands for another one: the parts between the references are the same. A reference
/// has the form of a name, and stands for one word.
fn stands_for(with_references: &str, with_values: &str) -> bool {
    let mut parts = with_references.split("${");
    let Some(mut rest) = parts.next().and_then(|first| with_values.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        let Some((name, literal)) = part.split_once('}') else {
            return false;
        };
        let found = if parts.peek().is_none() {
            rest.strip_suffix(literal).map(|value| (value, ""))
        } else {
            rest.split_once(literal)
        };
        let Some((_, after)) = found.filter(|(value, _)| is_name(name) && is_word(value)) else {
            return false;
        };
        rest = after;
    }
    rest.is_empty()
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|it| it.is_ascii_alphanumeric() || it == '-' || it == '_')
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_references_stands_for_one_with_values() {
        assert!(stands_for(
            "{name: \"${origin}\"} on ${destination}, twice",
            "{name: \"member1\"} on member2, twice"
        ));
        assert!(stands_for("on ${origin}", "on member1"));
        assert!(!stands_for("on ${origin}", "at member1"));
        assert!(!stands_for(
            "{name: \"${origin}\"} on control",
            "{name: \"member1\"} on member2"
        ));
        assert!(!stands_for("${origin}", "any text of several words"));
        assert!(!stands_for("on ${it conforms}", "on member1"));
        assert!(!stands_for(
            "{name: \"${origin}\"} here",
            "{name: \"member1\"} here and there"
        ));
    }
}
