//! Reading the cases of the repository.
#![allow(dead_code, reason = "each test uses a part of it")]

pub mod spoiled;
pub mod story;

use std::{
    path::{Path, PathBuf},
    sync::LazyLock,
};

use baton_core::{
    case::{
        model::Case,
        read,
        refs::{FixtureError, Objects, ReadContext},
    },
    catalogue::Catalogue,
    yaml::Diagnostic,
};

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The only case of a file below `cases/`.
#[expect(clippy::panic, reason = "a test cannot go on without its case")]
pub fn case(file: &str) -> Case {
    match read_cases(&root().join("cases").join(file)) {
        Ok(cases) => cases
            .into_iter()
            .next()
            .unwrap_or_else(|| panic!("there is no case in {file}")),
        Err(found) => panic!("{}", lines(&found)),
    }
}

/// All cases below `cases/`.
pub fn all() -> &'static [Case] {
    static ALL: LazyLock<Vec<Case>> = LazyLock::new(|| {
        let areas = std::fs::read_dir(root().join("cases")).into_iter().flatten().flatten();
        let files = areas
            .filter_map(|area| std::fs::read_dir(area.path()).ok())
            .flatten()
            .flatten();
        files
            .flat_map(|file| read_cases(&file.path()).unwrap_or_default())
            .collect()
    });
    &ALL
}

/// The case of this name, wherever it is below `cases/`.
#[expect(clippy::panic, reason = "a test cannot go on without its case")]
pub fn case_named(name: &str) -> Case {
    let case = all().iter().find(|case| case.id.as_str() == name);
    case.unwrap_or_else(|| panic!("there is no case {name}")).clone()
}

/// Reads the cases of a file of the repository.
pub fn read_cases(file: &Path) -> Result<Vec<Case>, Vec<Diagnostic>> {
    read_bytes(file, &std::fs::read(file).unwrap_or_default())
}

/// The catalogue of the repository.
pub fn catalogue() -> &'static Catalogue {
    static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
        let text = std::fs::read_to_string(root().join("cases/requirements.yaml")).unwrap_or_default();
        Catalogue::parse(&text).unwrap_or_default()
    });
    &CATALOGUE
}

/// Reads cases with the repository around it; any path whose braces are balanced passes for a JSONPath.
pub fn read_bytes(file: &Path, bytes: &[u8]) -> Result<Vec<Case>, Vec<Diagnostic>> {
    let fixture = |name: &str| {
        std::fs::read_to_string(root().join("fixtures").join(name))
            .map_err(|error| FixtureError::Read(error.kind().into()))
    };
    let check_path = |path: &str| {
        let balanced = path.matches('{').count() == path.matches('}').count();
        if balanced { Ok(()) } else { Err("unclosed".into()) }
    };
    let fixtures = [
        "scenarios/workloads.yaml",
        "workloads/deploy.yaml",
        "workloads/sts.yaml",
    ]
    .map(str::to_owned);
    let context = ReadContext {
        catalogue: catalogue(),
        fixture: &fixture,
        fixtures: &fixtures,
        check_path: &check_path,
        check_admission: &|_, _| Ok(()),
        objects: Objects::default(),
    };
    read::read(file, "proposal", bytes, &context)
}

/// Diagnostics, a line each.
pub fn lines(found: &[Diagnostic]) -> String {
    found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
