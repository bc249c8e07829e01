//! Reads whatever the fuzzer thinks of as a report; what can be read can be written, verified, converted and compared.
#![no_main]

use std::{collections::BTreeMap, sync::LazyLock};

use baton_core::{
    catalogue::Catalogue,
    report::{
        ConformanceReport, compare, junit, summary,
        verify::{self, VerifyContext},
    },
};
use libfuzzer_sys::fuzz_target;

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    Catalogue::parse(include_str!("../../../../cases/requirements.yaml")).expect("the catalogue is right")
});

fuzz_target!(|text: &str| {
    let Ok(report) = ConformanceReport::parse(text) else {
        return;
    };
    let written = report.to_yaml().expect("it was read");
    let again = ConformanceReport::parse(&written).expect("it was written");
    drop(junit::xml(&again));
    drop(summary::markdown(&again));
    drop(compare::compare(&report, &again));
    let context = VerifyContext {
        catalogue: &CATALOGUE,
        cases: &BTreeMap::new(),
        timeline: &|_| Err(std::io::ErrorKind::NotFound.into()),
        snapshots: &|_, _| Vec::new(),
    };
    let came = verify::verify(&report, &context);
    assert!(!came.objections.is_empty(), "nothing bears it out");
});
