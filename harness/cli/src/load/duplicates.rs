//! Cases with the same name.

use std::{collections::BTreeMap, path::Path};

use baton_core::{
    case::model::Case,
    names::CaseId,
    yaml::{self, Diagnostic, Node},
};

use crate::files;

/// Removes cases that have the name of another one, because they would overwrite its evidence, and returns an error for
/// each. A case of the program stays, or else the first.
pub(super) fn distinct(cases: Vec<Case>) -> (Vec<Case>, Vec<Diagnostic>) {
    let mut stay: BTreeMap<CaseId, usize> = BTreeMap::new();
    for (number, case) in cases.iter().enumerate() {
        let first = stay.entry(case.id.clone()).or_insert(number);
        if is_own(&cases[*first]) && !is_own(case) {
            *first = number;
        }
    }
    let told = cases.iter().enumerate().filter_map(|(number, case)| {
        let other = stay.get(&case.id).filter(|stays| **stays != number)?;
        Some(name_is_taken(case, &cases[*other]))
    });
    let told = told.collect();
    let mut number = 0..;
    let stays = |case: &Case| number.next() == stay.get(&case.id).copied();
    (cases.into_iter().filter(stays).collect(), told)
}

/// Returns `true` if a case is in a file of the user, and not in the program.
fn is_own(case: &Case) -> bool {
    case.file.exists()
}

/// The error of a case with the name of another one.
pub(super) fn name_is_taken(case: &Case, other: &Case) -> Diagnostic {
    let name = name_in(&case.file);
    let of_program = if is_own(other) { "" } else { " in the built-in suite" };
    Diagnostic {
        file: case.file.clone(),
        line: name.as_ref().map_or(1, |name| name.line),
        column: name.as_ref().map_or(1, |name| name.column),
        span: name.map_or(0..0, |name| name.span),
        message: format!("`{}` is also the name of {}{of_program}", case.id, other.file.display()),
        help: Some("give it another `metadata.name`".to_owned()),
    }
}

/// Returns the name of the case in a file, also if the case is invalid.
pub(super) fn name_in(file: &Path) -> Option<Node> {
    let text = files::read(file).ok()?;
    let (root, _) = yaml::parse(file, &text).ok()?;
    root.get("metadata")?.get("name").cloned()
}
