//! Creates a folder for each run below Baton's folder of timelines, and removes the folders of earlier runs.
//!
//! Removes only folders that have the name of a run, contain nothing but timelines and logs, and are not in use: each
//! run holds a lock on its folder.

use std::{
    ffi::OsStr,
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use jiff::Timestamp;

use super::create_folder;

/// Number of latest runs whose folders are kept.
pub const KEPT: usize = 20;

/// Format of a folder's name: the time of the first file, so that names sort by time.
const NAME: &str = "%Y-%m-%dT%H-%M-%SZ";

/// Folder of the current run. No other run removes it until this value is dropped.
#[derive(Debug)]
pub(super) struct RunFolder {
    pub(super) path: PathBuf,
    _lock: File,
}

impl RunFolder {
    /// Creates a folder below `parent`.
    pub(super) fn new(parent: &Path, now: Timestamp) -> io::Result<Self> {
        create_folder(parent)?;
        let name = now.strftime(NAME).to_string();
        let mut path = parent.join(&name);
        for number in 2_u32.. {
            if let Some(lock) = take(&path)? {
                return Ok(Self { path, _lock: lock });
            }
            path = parent.join(format!("{name}.{number}"));
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

/// Creates and locks a folder; returns `None` if it exists already or another run holds its lock.
fn take(path: &Path) -> io::Result<Option<File>> {
    use std::os::unix::fs::DirBuilderExt as _;
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
        Err(error) => return Err(error),
    }
    let lock = File::open(path)?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        // A run that prunes holds the lock to see whether the folder is in use.
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// A folder of an earlier run that could not be removed.
#[derive(Debug)]
pub struct NotRemoved {
    /// The folder.
    pub folder: PathBuf,
    /// Error from the system.
    pub reason: io::Error,
}

/// Removes the folders of all runs below `parent` but the latest `kept`. Returns those that could not be removed; an
/// error does not stop the others from being removed.
pub fn prune(parent: &Path, kept: usize) -> Vec<NotRemoved> {
    prune_by(parent, kept, |folder| fs::remove_dir_all(folder))
}

fn prune_by(parent: &Path, kept: usize, remove: impl Fn(&Path) -> io::Result<()>) -> Vec<NotRemoved> {
    // If nothing has been kept yet, there is nothing to remove; if the folder cannot be read, writing to it reports the
    // error.
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|it| it.is_dir()));
    let mut runs: Vec<(String, u32, PathBuf)> = folders
        .filter_map(|entry| {
            let (began, number) = name_of_run(&entry.file_name())?;
            Some((began, number, entry.path()))
        })
        .collect();
    runs.sort();
    let earlier = runs.len().saturating_sub(kept);
    let tried = runs.drain(..earlier).filter_map(|(_, _, folder)| {
        let reason = end(&folder, &remove).err()?;
        Some(NotRemoved { folder, reason })
    });
    tried.collect()
}

/// Parses the name of a run's folder: the time when the run began, and its number within that second.
fn name_of_run(name: &OsStr) -> Option<(String, u32)> {
    let name = name.to_str()?;
    let (began, number) = name.split_once('.').map_or((name, Some(1)), |(began, number)| {
        (began, number.parse().ok().filter(|it| *it > 1))
    });
    jiff::civil::DateTime::strptime(NAME, began).ok()?;
    Some((began.to_owned(), number?))
}

/// Returns `true` for a timeline, a log, or the temporary file of one that remains if a run was killed.
fn is_of_run(file: &OsStr) -> bool {
    let kind = Path::new(file).extension().and_then(OsStr::to_str);
    matches!(kind, Some("jsonl" | "log")) || file.to_str().is_some_and(|it| it.starts_with(".baton-"))
}

/// Removes the folder of a run, unless it is in use or contains files that no run has written.
fn end(folder: &Path, remove: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    let lock = match File::open(folder) {
        Ok(lock) => lock,
        // Another run removed it in between.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(()),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if !(entry.file_type()?.is_file() && is_of_run(&name)) {
            return Ok(());
        }
    }
    match remove(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Err(_) | Ok(()) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn run(parent: &Path, name: &str) -> PathBuf {
        let folder = parent.join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("case.jsonl"), "{}").unwrap();
        fs::write(folder.join("case.target.log"), "").unwrap();
        fs::write(folder.join(".baton-x7Y"), "{").unwrap();
        folder
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_795_000_000 + second).unwrap()
    }

    #[test]
    fn each_run_has_a_folder_of_its_own_for_its_owner_alone() {
        let parent = tempfile::tempdir().unwrap();
        let runs = [at(0), at(0), at(1)].map(|now| RunFolder::new(parent.path(), now).unwrap());
        let told = ["2026-11-18T11-06-40Z", "2026-11-18T11-06-40Z.2", "2026-11-18T11-06-41Z"];
        assert_eq!(names(parent.path()), told);
        let mode = fs::metadata(&runs[0].path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert!(told.iter().all(|name| name_of_run(OsStr::new(name)).is_some()));
    }

    #[test]
    fn the_latest_stay_and_the_tenth_of_a_second_comes_after_the_second() {
        let parent = tempfile::tempdir().unwrap();
        for name in [
            "2026-11-18T11-06-40Z",
            "2026-11-18T11-06-40Z.2",
            "2026-11-18T11-06-40Z.10",
            "2026-11-17T00-00-00Z",
        ] {
            run(parent.path(), name);
        }
        assert!(prune(parent.path(), 2).is_empty());
        assert_eq!(
            names(parent.path()),
            ["2026-11-18T11-06-40Z.10", "2026-11-18T11-06-40Z.2"]
        );
        assert!(prune(parent.path(), 2).is_empty());
        assert_eq!(names(parent.path()).len(), 2);
        assert!(prune(&parent.path().join("none"), 2).is_empty());
    }

    #[test]
    fn what_a_run_is_using_stays_until_it_has_ended() {
        let parent = tempfile::tempdir().unwrap();
        let using = RunFolder::new(parent.path(), at(0)).unwrap();
        let other = RunFolder::new(parent.path(), at(1)).unwrap();
        drop(other);
        assert!(prune(parent.path(), 0).is_empty());
        assert_eq!(names(parent.path()), ["2026-11-18T11-06-40Z"]);
        drop(using);
        assert!(prune(parent.path(), 0).is_empty());
        assert!(names(parent.path()).is_empty());
    }

    #[test]
    fn what_cannot_be_removed_is_told_and_the_others_go() {
        let parent = tempfile::tempdir().unwrap();
        let all = ["2026-11-01T00-00-00Z", "2026-11-02T00-00-00Z", "2026-11-03T00-00-00Z"];
        let [_, stuck, _] = all.map(|name| run(parent.path(), name));
        let told = prune_by(parent.path(), 0, |folder| {
            if folder == stuck {
                Err(io::ErrorKind::PermissionDenied.into())
            } else {
                fs::remove_dir_all(folder)
            }
        });
        assert_eq!(names(parent.path()), [all[1]]);
        let told: Vec<_> = told.iter().map(|it| (&it.folder, it.reason.kind())).collect();
        assert_eq!(told, [(&stuck, io::ErrorKind::PermissionDenied)]);
    }

    #[test]
    fn what_is_not_of_a_run_stays_and_links_lead_nowhere() {
        let root = tempfile::tempdir().unwrap();
        let (parent, elsewhere) = (root.path().join("timelines"), root.path().join("elsewhere"));
        run(&elsewhere, "2026-11-01T00-00-00Z");
        for name in [
            "2026-11-02",
            "mine",
            "2026-11-02T00-00-00Z.1",
            "2026-11-02T00-00-00Z.x",
            "2026-13-02T00-00-00Z",
        ] {
            run(&parent, name);
        }
        fs::write(parent.join("last-run.json"), "{}").unwrap();
        fs::write(parent.join("2026-11-03T00-00-00Z"), "a file").unwrap();
        symlink(
            elsewhere.join("2026-11-01T00-00-00Z"),
            parent.join("2026-11-04T00-00-00Z"),
        )
        .unwrap();
        // Files that a user put into the folder of a run: a link, a folder, a file of another kind.
        symlink(&elsewhere, run(&parent, "2026-11-05T00-00-00Z").join("link.jsonl")).unwrap();
        run(&run(&parent, "2026-11-06T00-00-00Z"), "inside");
        fs::write(run(&parent, "2026-11-07T00-00-00Z").join("notes.md"), "mine").unwrap();
        let before = names(&parent);
        run(&parent, "2026-11-08T00-00-00Z");
        assert!(prune(&parent, 0).is_empty());
        assert_eq!(names(&parent), before);
        assert!(elsewhere.join("2026-11-01T00-00-00Z/case.jsonl").exists());
        assert!(parent.join("2026-11-07T00-00-00Z/case.jsonl").exists());
    }
}
