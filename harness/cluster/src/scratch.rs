//! Temporary folders. They are removed even after the harness was killed, by the next run.

use std::{
    fs::{self, File, Permissions, TryLockError},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use tempfile::TempDir;

/// File in each folder that the harness holds a lock on. The system releases the lock when the harness ends.
const LOCK: &str = "in-use";

/// Prefix of the folders' names.
const OURS: &str = "baton-";

/// A folder that is removed when this is dropped, or else when the next one is created.
#[derive(Debug)]
pub struct Scratch {
    // Removed before the lock is released.
    folder: TempDir,
    _lock: File,
}

impl Scratch {
    /// Creates a private folder with its purpose in its name (`log`, `data`, …), and removes unused folders of the same
    /// owner, for any purpose.
    ///
    /// # Errors
    /// If the system refuses it; the error names the parent folder.
    pub fn new(purpose: &str) -> io::Result<Self> {
        let parent = std::env::temp_dir();
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", parent.display()));
        Self::new_in(&parent, purpose).map_err(named)
    }

    fn new_in(parent: &Path, purpose: &str) -> io::Result<Self> {
        // The error of creating a folder in it would name the new folder, which has a random name.
        fs::metadata(parent)?;
        // Some folders hold kubeconfigs with an administrator's token, or output of targets.
        let folder = tempfile::Builder::new()
            .prefix(&format!("{OURS}{purpose}-"))
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(parent)?;
        let (unlocked, name) = (folder.path().join("new"), folder.path().join(LOCK));
        let lock = new_private(&unlocked)?;
        lock.lock()?;
        // The file has its name only once it is locked.
        fs::rename(unlocked, name)?;
        for left in left_behind(parent, lock.metadata()?.uid())? {
            tracing::info!("removing {}, which an earlier run has left", left.display());
            // Another process may have removed it first.
            let _ = fs::remove_dir_all(left);
        }
        Ok(Self { folder, _lock: lock })
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Writes a new file that only its owner can read.
///
/// # Errors
/// If it exists, or cannot be written.
pub(crate) fn write_private(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    new_private(path)?.write_all(content.as_ref())
}

fn new_private(path: &Path) -> io::Result<File> {
    File::options().write(true).create_new(true).mode(0o600).open(path)
}

/// Folders of an owner whose lock is free. Other users' folders are ignored: they could be traps, such as a pipe in
/// place of the lock.
fn left_behind(parent: &Path, owner: u32) -> io::Result<Vec<PathBuf>> {
    let folders = fs::read_dir(parent)?.filter_map(Result::ok).filter(|entry| {
        entry.file_name().to_string_lossy().starts_with(OURS)
            && entry.metadata().is_ok_and(|it| it.is_dir() && it.uid() == owner)
    });
    let is_left = |folder: &PathBuf| {
        // A folder without a lock has just been created.
        let lock = File::open(folder.join(LOCK));
        lock.is_ok_and(|lock| !matches!(lock.try_lock(), Err(TryLockError::WouldBlock | TryLockError::Error(_))))
    };
    Ok(folders.map(|entry| entry.path()).filter(is_left).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn others_can_neither_enter_the_folder_nor_read_its_files() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::new_in(parent.path(), "test").unwrap();
        let file = scratch.path().join("kubeconfig");
        write_private(&file, "token").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(scratch.path()), mode(&file)), (0o700, 0o600));
        assert!(write_private(&file, "another").is_err(), "a file or a link that exists");
    }

    #[test]
    fn what_a_killed_harness_has_left_is_removed_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let folder = |name: &str| parent.path().join(name);
        for name in ["baton-log-killed", "baton-data-made-just-now", "of-another-user"] {
            fs::create_dir(folder(name)).unwrap();
        }
        for name in ["baton-log-killed", "of-another-user"] {
            fs::write(folder(name).join(LOCK), "").unwrap();
        }
        let somewhere = tempfile::tempdir().unwrap();
        fs::write(somewhere.path().join(LOCK), "").unwrap();
        symlink(somewhere.path(), folder("baton-link")).unwrap();
        let first = Scratch::new_in(parent.path(), "data").unwrap();
        assert!(!folder("baton-log-killed").exists(), "for any purpose");
        assert!(folder("baton-data-made-just-now").exists());
        assert!(folder("of-another-user").exists());
        assert!(folder("baton-link").is_symlink() && somewhere.path().exists());
        let owner = fs::metadata(first.path()).unwrap().uid();
        fs::create_dir(folder("baton-of-another")).unwrap();
        fs::write(folder("baton-of-another").join(LOCK), "").unwrap();
        assert_eq!(left_behind(parent.path(), owner + 1).unwrap(), Vec::<PathBuf>::new());
        assert_eq!(left_behind(parent.path(), owner).unwrap(), [folder("baton-of-another")]);
        let second = Scratch::new_in(parent.path(), "data").unwrap();
        assert!(first.path().exists() && first.path() != second.path());
        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists());
    }
}
