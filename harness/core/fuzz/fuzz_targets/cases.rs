//! Reads whatever the fuzzer thinks of as a case file, expands its scenarios and plans what comes of it.
#![no_main]

use std::{path::Path, sync::LazyLock};

use baton_core::{
    case::{
        read,
        refs::{FixtureError, Objects, ReadContext},
    },
    catalogue::Catalogue,
    plan::Plan,
};
use libfuzzer_sys::fuzz_target;

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    Catalogue::parse(include_str!("../../../../cases/requirements.yaml")).expect("the catalogue is right")
});

const SCENARIOS: &str = include_str!("../../../../fixtures/scenarios/workloads.yaml");

fuzz_target!(|bytes: &[u8]| {
    let names = ["deploy.yaml", "scenarios/workloads.yaml"].map(str::to_owned);
    let context = ReadContext {
        catalogue: &CATALOGUE,
        fixture: &|name| match name {
            "scenarios/workloads.yaml" => Ok(SCENARIOS.to_owned()),
            "deploy.yaml" => Ok("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: deploy}\n".to_owned()),
            _ => Err(FixtureError::Missing),
        },
        fixtures: &names,
        check_path: &|_| Ok(()),
        check_admission: &|_, _| Ok(()),
        objects: Objects::default(),
    };
    match read::read(Path::new("case.yaml"), "area", bytes, &context) {
        Ok(cases) => cases.iter().for_each(|case| drop(Plan::of(case).to_string())),
        Err(found) => found.iter().for_each(|it| drop(it.to_string())),
    }
});
