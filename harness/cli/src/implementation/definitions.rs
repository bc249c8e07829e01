//! Custom resource definitions of an implementation.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use baton_cluster::{
    error_chain::error_chain,
    fleet::Fleet as _,
    fleet::embedded::{Embedded, Options, Time},
};
use baton_core::yaml::plain;
use jiff::Timestamp;
use serde_json::Value;

use super::error::TargetFileError;
use crate::files;

/// Kinds that cases write and read. Cluster may be served by an aggregated API server instead.
const NEEDED: [&str; 5] = [
    "PropagationPolicy",
    "ClusterPropagationPolicy",
    "ResourceBinding",
    "ClusterResourceBinding",
    "Work",
];

/// Reads the definitions in a file, or in all YAML files of a folder and its subfolders.
///
/// If there are no definitions, one of them cannot be read, kinds are missing, or an API server refuses one.
pub(super) fn read(place: &Path) -> Result<Vec<Value>, TargetFileError> {
    let mut found: Vec<(PathBuf, Value)> = Vec::new();
    for file in files(place)? {
        let wrong = |reason: String| wrong(&file, reason);
        let text = files::read_text(&file).map_err(|error| wrong(error.to_string()))?;
        for document in plain::documents(&text) {
            let value = document.map_err(|error| wrong(error.to_string()))?;
            if value["kind"] == "CustomResourceDefinition" && value["metadata"]["name"].is_string() {
                found.push((file.clone(), value));
            }
        }
    }
    if found.is_empty() {
        return Err(wrong(place, "no CustomResourceDefinition is there".to_owned()));
    }
    let has = |kind: &&str| found.iter().any(|(_, it)| it["spec"]["names"]["kind"] == **kind);
    let lacking: Vec<_> = NEEDED.into_iter().filter(|kind| !has(kind)).collect();
    if !lacking.is_empty() {
        let lacking = lacking.join(", ");
        return Err(wrong(
            place,
            format!("no definition of {lacking}, which the cases need"),
        ));
    }
    try_out(&found)?;
    Ok(found.into_iter().map(|(_, definition)| definition).collect())
}

fn wrong(place: &Path, reason: String) -> TargetFileError {
    TargetFileError::Definitions {
        place: place.to_owned(),
        reason,
    }
}

fn files(place: &Path) -> Result<Vec<PathBuf>, TargetFileError> {
    let unreadable = |error: std::io::Error| wrong(place, error.to_string());
    if !fs::metadata(place).map_err(unreadable)?.is_dir() {
        return Ok(vec![place.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(place).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|it| it == "yaml" || it == "yml") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Creates the definitions on an API server one by one, so that an error names the file.
fn try_out(found: &[(PathBuf, Value)]) -> Result<(), TargetFileError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| wrong(Path::new("."), error.to_string()))?;
    let tried = async {
        let options = Options {
            definitions: Some(Arc::new(Vec::new())),
            bare: true,
            observed: false,
            ..Options::new(0, Time::Real(Timestamp::now()))
        };
        let fleet = Embedded::boot(options).await;
        let fleet = fleet.map_err(|error| wrong(Path::new("."), error_chain(&error)))?;
        for (file, definition) in found {
            let client = fleet.control().inside(baton_cluster::actions::BATON);
            let applied = baton_cluster::actions::apply(&client, definition, "default").await;
            applied.map_err(|error| wrong(file, error_chain(&error)))?;
        }
        Ok(())
    };
    runtime.block_on(tried)
}
