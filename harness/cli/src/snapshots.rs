//! Snapshots against their files.
//!
//! The files are insta's, so that `cargo test` and `baton run` compare with the same ones, and `cargo insta review`
//! or `baton run --accept-snapshots` is how they change. They are read before anything runs: what is under test could
//! write them, too.

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

/// The head of a snapshot file, which names the test that compares it.
const HEAD: &str = "---\nsource: harness/cli/tests/cases.rs\n---\n";

/// The name of a snapshot among those of its area.
pub fn name(case: &Case, snapshot: &SnapshotText) -> String {
    format!("{}-{}", case.id, snapshot.name)
}

/// The folder of an area.
pub fn folder(roots: &Roots, case: &Case) -> PathBuf {
    roots.path(&format!("snapshots/{}", case.area))
}

/// What files of snapshots said when they were read, by the names of the files.
#[derive(Debug, Clone, Default)]
pub struct Stored(BTreeMap<String, String>);

impl Stored {
    /// Reads the files of cases; one that is not there is not stored.
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

/// The name of the file of a snapshot.
fn file_of(case: &Case, snapshot: &str) -> String {
    format!("snapshots/{}/{}-{snapshot}.snap", case.area, case.id)
}

/// The snapshots that are not as what was stored.
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

/// Writes snapshots to their files, as insta would, and gives the files.
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

/// What stands behind the head of a snapshot file.
fn content(text: &str) -> Option<String> {
    let (_, behind) = text.strip_prefix("---\n")?.split_once("\n---\n")?;
    Some(behind.to_owned())
}
