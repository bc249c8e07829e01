//! Likely causes on the page.

use baton_core::{
    names::CaseId,
    report::{
        ConformanceReport,
        causes::{self, CauseGroup},
        described,
    },
};
use serde::Serialize;

/// Likely cause of several cases or defects.
#[derive(Serialize)]
pub(super) struct CauseView<'a> {
    group: &'a str,
    text: &'a str,
    cases: Vec<&'a CaseId>,
    defects: Vec<String>,
}

/// Returns the likely causes that explain several cases or defects.
pub(super) fn shared(report: &ConformanceReport) -> Vec<CauseView<'_>> {
    let all = causes::of(report).into_iter();
    all.filter(CauseGroup::is_shared).map(CauseView::of).collect()
}

impl<'a> CauseView<'a> {
    fn of(group: CauseGroup<'a>) -> Self {
        let CauseGroup { cause, cases, defects } = group;
        Self {
            group: &cause.group,
            text: &cause.text,
            cases,
            defects: defects.into_iter().map(described::headline).collect(),
        }
    }
}
