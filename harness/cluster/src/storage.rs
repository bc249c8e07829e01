//! Shared folder of all members of a fleet, as a volume or a bucket that each of them mounts: jobs keep their
//! checkpoints and results in it. Held in memory until the fleet ends.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;

/// A shared folder. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Storage(Arc<Mutex<Files>>);

#[derive(Debug, Default)]
struct Files {
    /// By path: number of the write that stored the file, and its content.
    by_path: BTreeMap<String, (u64, Value)>,
    writes: u64,
}

impl Storage {
    fn files(&self) -> MutexGuard<'_, Files> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes or overwrites a file.
    pub fn write(&self, path: &str, content: Value) {
        let mut files = self.files();
        files.writes += 1;
        let at = files.writes;
        files.by_path.insert(path.to_owned(), (at, content));
    }

    /// Content of a file; `None` if it does not exist.
    pub fn read(&self, path: &str) -> Option<Value> {
        self.files().by_path.get(path).map(|(_, content)| content.clone())
    }

    /// Contents of the files below a folder, sorted by path.
    pub fn below(&self, folder: &str) -> Vec<Value> {
        let files = self.files();
        let below = files.by_path.iter().filter(|(path, _)| is_below(path, folder));
        below.map(|(_, (_, content))| content.clone()).collect()
    }

    /// Path of the latest file below a folder.
    pub fn latest(&self, folder: &str) -> Option<String> {
        let files = self.files();
        let below = files.by_path.iter().filter(|(path, _)| is_below(path, folder));
        below.max_by_key(|(_, (at, _))| *at).map(|(path, _)| path.clone())
    }
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_latest_file_of_a_folder_is_the_one_written_last() {
        let storage = Storage::default();
        for (path, content) in [("/a/x-9", 9), ("/a/x-10", 10), ("/ab/y", 1), ("/a", 0)] {
            storage.write(path, json!(content));
        }
        assert_eq!(storage.latest("/a").as_deref(), Some("/a/x-10"));
        storage.write("/a/x-9", json!(99));
        assert_eq!(storage.latest("/a").as_deref(), Some("/a/x-9"));
        assert_eq!(storage.below("/a"), [json!(10), json!(99)]);
        assert_eq!(storage.latest("/b"), None);
        assert_eq!(storage.clone().read("/ab/y"), Some(json!(1)));
    }
}
