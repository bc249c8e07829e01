//! Folders for things that are thrown away, also those of a harness that was killed and could not do it itself.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

/// In each folder, a file that the harness holds a lock on. The system releases it when the harness is gone.
const LOCK: &str = "in-use";

/// A folder that goes when this is dropped, or, if that never happens, when somebody makes the next one.
#[derive(Debug)]
pub(crate) struct Scratch {
    // Removed before the lock is released.
    folder: TempDir,
    _lock: File,
}

impl Scratch {
    /// Makes one whose name begins with a prefix, after removing those with the same prefix that nobody uses any more.
    pub(crate) fn new(prefix: &str) -> io::Result<Self> {
        Self::new_in(&std::env::temp_dir(), prefix)
    }

    fn new_in(parent: &Path, prefix: &str) -> io::Result<Self> {
        for left in left_behind(parent, prefix)? {
            tracing::info!("removing {}, which an earlier run has left", left.display());
            // Whoever else removes it meanwhile is welcome.
            let _ = fs::remove_dir_all(left);
        }
        let folder = tempfile::Builder::new().prefix(prefix).tempdir_in(parent)?;
        let (unlocked, name) = (folder.path().join("new"), folder.path().join(LOCK));
        let lock = File::create(&unlocked)?;
        lock.lock()?;
        // Nobody sees it unlocked under its name.
        fs::rename(unlocked, name)?;
        Ok(Self { folder, _lock: lock })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Folders whose lock nobody holds.
fn left_behind(parent: &Path, prefix: &str) -> io::Result<Vec<PathBuf>> {
    let folders = fs::read_dir(parent)?.filter_map(Result::ok).filter(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().starts_with(prefix)
    });
    let is_left = |folder: &PathBuf| {
        // One without a lock has just been made.
        let lock = File::open(folder.join(LOCK));
        lock.is_ok_and(|lock| !matches!(lock.try_lock(), Err(TryLockError::WouldBlock | TryLockError::Error(_))))
    };
    Ok(folders.map(|entry| entry.path()).filter(is_left).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_harness_has_left_is_removed_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let folder = |name: &str| parent.path().join(name);
        for name in ["baton-test-killed", "baton-test-made-just-now", "baton-other-killed"] {
            fs::create_dir(folder(name)).unwrap();
        }
        for name in ["baton-test-killed", "baton-other-killed"] {
            fs::write(folder(name).join(LOCK), "").unwrap();
        }
        let first = Scratch::new_in(parent.path(), "baton-test-").unwrap();
        assert!(!folder("baton-test-killed").exists());
        assert!(folder("baton-test-made-just-now").exists());
        assert!(folder("baton-other-killed").exists());
        let second = Scratch::new_in(parent.path(), "baton-test-").unwrap();
        assert!(first.path().exists() && first.path() != second.path());
        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists());
    }
}
