//! The files of the conformance suite, as they were when the program was built: cases and their catalogue, the objects
//! that cases apply, snapshots, configurations of kind clusters, examples of targets. With them, the program runs the
//! whole suite on a machine without the repository.
//!
//! A separate crate, so that an edited case does not compile other crates again.

use include_dir::{Dir, File, include_dir};

/// The SHA-256 of all cases, of what they apply and of the snapshots, as hexadecimal digits.
pub const DIGEST: &str = env!("BATON_SUITE_DIGEST");

/// The folders, by their names in the repository.
static FOLDERS: &[(&str, Dir<'static>)] = &[
    ("cases", include_dir!("$CARGO_MANIFEST_DIR/../../cases")),
    ("fixtures/crds", include_dir!("$CARGO_MANIFEST_DIR/../../fixtures/crds")),
    (
        "fixtures/flink",
        include_dir!("$CARGO_MANIFEST_DIR/../../fixtures/flink"),
    ),
    (
        "fixtures/scenarios",
        include_dir!("$CARGO_MANIFEST_DIR/../../fixtures/scenarios"),
    ),
    (
        "fixtures/simulator",
        include_dir!("$CARGO_MANIFEST_DIR/../../fixtures/simulator"),
    ),
    (
        "fixtures/targets",
        include_dir!("$CARGO_MANIFEST_DIR/../../fixtures/targets"),
    ),
    (
        "fixtures/workloads",
        include_dir!("$CARGO_MANIFEST_DIR/../../fixtures/workloads"),
    ),
    ("kind-config", include_dir!("$CARGO_MANIFEST_DIR/../../kind-config")),
    ("snapshots", include_dir!("$CARGO_MANIFEST_DIR/../../snapshots")),
];

/// The content of a file, by its path in the repository, such as `cases/requirements.yaml`.
pub fn read(path: &str) -> Option<&'static [u8]> {
    FOLDERS.iter().find_map(|(name, folder)| {
        let below = path.strip_prefix(name)?.strip_prefix('/')?;
        Some(folder.get_file(below)?.contents())
    })
}

/// The paths of all files.
pub fn paths() -> impl Iterator<Item = String> {
    let named = |name: &str, file: &File<'_>| format!("{name}/{}", file.path().display());
    FOLDERS
        .iter()
        .flat_map(move |(name, folder)| files_of(folder).into_iter().map(move |file| named(name, file)))
}

fn files_of<'a>(folder: &'a Dir<'a>) -> Vec<&'a File<'a>> {
    let below = folder.dirs().flat_map(files_of);
    folder.files().chain(below).collect()
}

#[cfg(test)]
mod tests {
    use super::{paths, read};

    #[test]
    fn a_file_is_found_by_its_path_in_the_repository() {
        let catalogue = include_bytes!("../../../cases/requirements.yaml");
        assert_eq!(read("cases/requirements.yaml"), Some(&catalogue[..]));
        assert_eq!(read("cases"), None);
        assert_eq!(read("cases/../cases/requirements.yaml"), None);
        assert!(paths().all(|path| read(&path).is_some()));
        assert!(paths().any(|path| path == "cases/proposal/flink-jobid-directly.yaml"));
    }
}
