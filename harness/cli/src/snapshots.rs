//! Snapshots against their files.
//!
//! The files are insta's, so that `cargo test` and `baton run` compare with the same ones, and `cargo insta review`
//! or `baton run --accept-snapshots` is how they change.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use baton_core::{case::model::Case, event::SnapshotDifference, judge::SnapshotText};
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

/// The snapshots that are not as their files.
pub fn differences(roots: &Roots, case: &Case, taken: &[SnapshotText]) -> Vec<SnapshotDifference> {
    let difference = |snapshot: &SnapshotText| {
        let file = format!("snapshots/{}/{}.snap", case.area, name(case, snapshot));
        let stored = roots.read(&file).ok();
        let stored = stored.and_then(|text| content(&String::from_utf8_lossy(&text)));
        let diff = stored.as_ref().map(|stored| {
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
