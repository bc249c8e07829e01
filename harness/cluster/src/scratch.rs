//! Folders for things that are thrown away, also those of a harness that was killed and could not do it itself.

use std::{
    fs::{self, File, Permissions, TryLockError},
    io::{self, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
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
        let parent = std::env::temp_dir();
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", parent.display()));
        Self::new_in(&parent, prefix).map_err(named)
    }

    fn new_in(parent: &Path, prefix: &str) -> io::Result<Self> {
        for left in left_behind(parent, prefix)? {
            tracing::info!("removing {}, which an earlier run has left", left.display());
            // Whoever else removes it meanwhile is welcome.
            let _ = fs::remove_dir_all(left);
        }
        // Kubeconfigs with an administrator's token lie in it.
        let folder = tempfile::Builder::new()
            .prefix(prefix)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(parent)?;
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

/// Writes a new file that only its owner can read.
///
/// # Errors
/// If it is there already, or cannot be written.
pub(crate) fn write_private(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(content.as_ref())
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
    fn others_can_neither_enter_the_folder_nor_read_its_files() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::new_in(parent.path(), "baton-test-").unwrap();
        let file = scratch.path().join("kubeconfig");
        write_private(&file, "token").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(scratch.path()), mode(&file)), (0o700, 0o600));
        assert!(
            write_private(&file, "another").is_err(),
            "a file, or a link, that is there already"
        );
    }

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
