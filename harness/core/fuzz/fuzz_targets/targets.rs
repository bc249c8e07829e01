//! Reads whatever the fuzzer thinks of as a target file.
#![no_main]

use std::{collections::BTreeSet, path::Path, sync::LazyLock};

use baton_core::{
    catalogue::Catalogue,
    implementation::read::{self, ReadContext},
    names::CaseId,
};
use libfuzzer_sys::fuzz_target;

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    Catalogue::parse(include_str!("../../../../cases/requirements.yaml")).expect("the catalogue is right")
});

fuzz_target!(|bytes: &[u8]| {
    let cases = BTreeSet::from([CaseId::new("held-by-finalizer")]);
    let context = ReadContext {
        catalogue: &CATALOGUE,
        cases: &cases,
    };
    if let Err(found) = read::read(Path::new("target.yaml"), bytes, &context) {
        found.iter().for_each(|it| drop(it.to_string()));
    }
});
