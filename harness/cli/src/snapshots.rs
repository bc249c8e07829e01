//! Compares snapshots with their files.
//!
//! The files are insta's: `cargo test` and `baton run` compare with the same files, and `cargo insta review` or `baton
//! run --accept-snapshots` changes them. They are read before any case runs, because the implementation under test
//! could overwrite them.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use baton_core::{
    case::model::{Action, Case},
    event::SnapshotDifference,
    judge::SnapshotText,
};
use similar::TextDiff;

use crate::{files::Roots, report::file};

/// Head of a snapshot file; it names the test that compares the snapshot.
const HEAD: &str = "---\nsource: harness/cli/tests/cases.rs\n---\n";

/// Returns the name of a snapshot among those of its area.
pub fn name(case: &Case, snapshot: &SnapshotText) -> String {
    format!("{}-{}", case.id, snapshot.name)
}

/// Returns the folder of an area.
pub fn folder(roots: &Roots, case: &Case) -> PathBuf {
    roots.path(&format!("snapshots/{}", case.area))
}

/// Contents of snapshot files at the time of reading, by file name.
#[derive(Debug, Clone, Default)]
pub struct Stored(BTreeMap<String, String>);

impl Stored {
    /// Reads the snapshot files of cases; a file that does not exist is not stored.
    pub fn read<'a>(roots: &Roots, cases: impl IntoIterator<Item = &'a Case>) -> Self {
        let snapshots = cases.into_iter().flat_map(|case| {
            let steps = case.steps.iter().filter_map(|step| match &step.action {
                Action::Snapshot(snapshot) => Some(&snapshot.name),
                _ => None,
            });
            steps.map(|name| file_of(case, name))
        });
        let read = |file: String| {
            let text = roots.read(&file).ok()?;
            Some((file, content(&String::from_utf8_lossy(&text))?))
        };
        Self(snapshots.filter_map(read).collect())
    }
}

/// Returns the file name of a snapshot.
fn file_of(case: &Case, snapshot: &str) -> String {
    format!("snapshots/{}/{}-{snapshot}.snap", case.area, case.id)
}

/// Returns the snapshots that differ from the stored ones.
pub fn differences(roots: &Roots, stored: &Stored, case: &Case, taken: &[SnapshotText]) -> Vec<SnapshotDifference> {
    let difference = |snapshot: &SnapshotText| {
        let file = file_of(case, &snapshot.name);
        let stored = stored.0.get(&file);
        let diff = stored.map(|stored| {
            TextDiff::from_lines(stored.trim_end(), snapshot.text.trim_end())
                .unified_diff()
                .header("stored", "seen")
                .to_string()
        });
        let same = diff.as_ref().is_some_and(String::is_empty);
        (!same).then(|| SnapshotDifference {
            name: snapshot.name.clone(),
            file: roots.path(&file),
            diff,
        })
    };
    taken.iter().filter_map(difference).collect()
}

/// Writes snapshots to their files, as insta would, and returns the files.
///
/// # Errors
/// If one cannot be written.
pub fn accept(differing: Vec<SnapshotDifference>, taken: &[SnapshotText]) -> io::Result<Vec<PathBuf>> {
    let write = |difference: SnapshotDifference| {
        let snapshot = taken.iter().find(|snapshot| snapshot.name == difference.name);
        let text = snapshot.map(|snapshot| snapshot.text.trim_end()).unwrap_or_default();
        fs::create_dir_all(difference.file.parent().unwrap_or(Path::new(".")))?;
        file::write(&difference.file, format!("{HEAD}{text}\n").as_bytes())?;
        Ok(difference.file)
    };
    differing.into_iter().map(write).collect()
}

/// Returns the content of a snapshot file after its head.
fn content(text: &str) -> Option<String> {
    let (_, behind) = text.strip_prefix("---\n")?.split_once("\n---\n")?;
    Some(behind.to_owned())
}
