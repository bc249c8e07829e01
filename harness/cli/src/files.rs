//! The files of the suite: in a repository, or in the program, with the user's files laid over them.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Read as _},
    path::{Component, Path, PathBuf},
};

use baton_core::yaml;
use walkdir::WalkDir;

/// The catalogue of requirements; a folder that has it holds a whole suite.
pub(crate) const CATALOGUE: &str = "cases/requirements.yaml";

/// Source of the suite's files. Their names are paths in the repository, such as `fixtures/workloads/deploy.yaml`.
#[derive(Debug, Clone)]
pub struct Roots {
    folder: PathBuf,
    /// Set if files that the folder lacks come from the program.
    bundled: bool,
    /// Set if files of the folder replace those of the program.
    overlaid: bool,
}

impl Roots {
    /// The suite of a folder: all of it if the folder has a catalogue of requirements, as the repository does;
    /// otherwise the suite in the program, with the files of the folder laid over it.
    pub fn of(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            bundled: !folder.join(CATALOGUE).is_file(),
            overlaid: true,
        }
    }

    /// The suite in the program. No file replaces one of it; other files are read from the current folder when they are
    /// named.
    pub fn built_in() -> Self {
        Self {
            folder: PathBuf::from("."),
            bundled: true,
            overlaid: false,
        }
    }

    /// Returns the names of the files of the built-in suite that the folder replaces with other content.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn replaced(&self) -> io::Result<BTreeSet<String>> {
        let mut replaced = BTreeSet::new();
        for folder in ["cases", "fixtures"] {
            for name in self.own_yaml_below(folder)? {
                if let Some(built_in) = baton_suite::read(&name)
                    && read(&self.folder.join(&name))? != built_in
                {
                    replaced.insert(name);
                }
            }
        }
        Ok(replaced)
    }

    /// Folder for new cases and snapshots.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Path of a file, also if the file is only in the program.
    pub fn path(&self, name: &str) -> PathBuf {
        if self.folder == Path::new(".") {
            PathBuf::from(name)
        } else {
            self.folder.join(name)
        }
    }

    /// Reads a file; of one that is too large, only the beginning, so that the caller refuses it.
    ///
    /// If the file does not exist or cannot be read.
    pub fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        if !self.overlaid
            && let Some(text) = baton_suite::read(name)
        {
            return Ok(text.to_vec());
        }
        match read(&self.folder.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.bundled => {
                baton_suite::read(name).map(<[u8]>::to_vec).ok_or(error)
            }
            read => read,
        }
    }

    /// Returns the names of the YAML files below one of the suite's folders, such as `cases`, in order.
    ///
    /// If the folder cannot be read, or if it does not exist and the program does not replace it.
    pub fn yaml_below(&self, folder: &str) -> io::Result<Vec<String>> {
        if !self.folder.is_dir() {
            return Err(fs::metadata(&self.folder)
                .err()
                .unwrap_or(io::ErrorKind::NotADirectory.into()));
        }
        let mut names = BTreeSet::new();
        if self.bundled {
            let of_folder = |name: &String| Path::new(name).starts_with(folder) && is_yaml(Path::new(name));
            names.extend(baton_suite::paths().filter(of_folder));
        }
        if !self.overlaid {
            return Ok(names.into_iter().collect());
        }
        match yaml_files(&self.folder.join(folder)) {
            Ok(files) => names.extend(files.iter().filter_map(|file| self.name_of(file))),
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.bundled => {}
            Err(error) => return Err(error),
        }
        Ok(names.into_iter().collect())
    }

    /// Returns the names of those files below a folder that are not only in the program; empty if the folder does not
    /// exist.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn own_yaml_below(&self, folder: &str) -> io::Result<Vec<String>> {
        if !self.overlaid {
            return Ok(Vec::new());
        }
        match yaml_files(&self.folder.join(folder)) {
            Ok(files) => Ok(files.iter().filter_map(|file| self.name_of(file)).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Returns the name of a file of the suite, by whatever path it is reached; `None` if it is elsewhere.
    pub fn name_of(&self, file: &Path) -> Option<String> {
        let plain = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_)));
        let below = if self.folder == Path::new(".") && file.is_relative() {
            Some(file.strip_prefix(".").unwrap_or(file))
        } else {
            file.strip_prefix(&self.folder).ok()
        };
        if let Some(below) = below.filter(|below| plain(below)) {
            return Some(below.display().to_string());
        }
        let (file, folder) = (file.canonicalize().ok()?, self.folder.canonicalize().ok()?);
        file.strip_prefix(folder).ok().map(|below| below.display().to_string())
    }
}

/// Returns the YAML files below a folder, sorted by path. Follows links, each circle once; skips hidden files, such as those
/// that editors create for an open file, and pipes, devices and other special files.
///
/// # Errors
/// [`NotFound`](io::ErrorKind::NotFound) if the folder does not exist, and only then; another kind for a broken link in it.
pub(crate) fn yaml_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let is_shown = |entry: &walkdir::DirEntry| entry.depth() == 0 || !is_hidden(entry.path());
    for entry in WalkDir::new(folder)
        .follow_links(true)
        .into_iter()
        .filter_entry(is_shown)
    {
        match entry {
            Ok(entry) if entry.file_type().is_file() && is_yaml(entry.path()) => files.push(entry.into_path()),
            Ok(_) => {}
            Err(error) if error.loop_ancestor().is_some() || error.path().is_some_and(is_hidden) => {}
            Err(error) => return Err(unreadable(error)),
        }
    }
    files.sort();
    Ok(files)
}

fn is_hidden(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Returns the error of a walk. Callers take `NotFound` for a folder that does not exist, so a broken link has another kind.
fn unreadable(error: walkdir::Error) -> io::Error {
    let is_broken_link = error.depth() > 0
        && error
            .io_error()
            .is_some_and(|error| error.kind() == io::ErrorKind::NotFound);
    match error.path() {
        Some(path) if is_broken_link => io::Error::other(format!("{} is a broken link; remove it", path.display())),
        _ => error.into(),
    }
}

/// Reads a file; of one that is too large, only the beginning, so that the caller refuses it.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?
        .take(yaml::LARGEST_FILE as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Largest size of a report, a timeline or a recording in bytes.
pub(crate) const LARGEST_EVIDENCE: u64 = 1 << 30;

/// Opens a regular file that is not too large. Reading a device, or a pipe without a writer, would never end.
pub(crate) fn open(path: &Path) -> io::Result<fs::File> {
    // Checked before, because opening a pipe waits for a writer.
    let regular = |metadata: fs::Metadata| {
        let refused = |reason: String| Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        match metadata {
            it if it.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            it if !it.is_file() => refused("not a regular file; copy its content to a file first".to_owned()),
            it if it.len() > LARGEST_EVIDENCE => refused(format!(
                "the file has {} bytes; at most {LARGEST_EVIDENCE} are read",
                it.len()
            )),
            _ => Ok(()),
        }
    };
    regular(fs::metadata(path)?)?;
    let file = fs::File::open(path)?;
    regular(file.metadata()?)?;
    Ok(file)
}

/// Reads the content of a report, a timeline or a recording.
pub(crate) fn read_evidence(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(LARGEST_EVIDENCE).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a text file.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_evidence(path)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

fn is_yaml(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "yaml" || extension == "yml")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn an_empty_folder_has_the_suite_of_the_program() {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots::of(folder.path());
        assert!(roots.yaml_below("cases").unwrap().len() > 100);
        assert!(roots.read(CATALOGUE).is_ok());
        assert!(roots.read("cases/none.yaml").is_err());
    }

    #[test]
    fn files_of_ones_own_lie_over_those_of_the_program() {
        let folder = tempfile::tempdir().unwrap();
        let own = |name: &str, text: &str| {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        own("cases/mine/first.yaml", "mine");
        own("fixtures/workloads/deploy.yaml", "other");
        let roots = Roots::of(folder.path());
        let bundled = Roots::of(Path::new("/"));
        assert_eq!(
            roots.yaml_below("cases").unwrap().len(),
            bundled.yaml_below("cases").unwrap().len() + 1
        );
        assert_eq!(roots.read("fixtures/workloads/deploy.yaml").unwrap(), b"other");
        assert!(roots.read("fixtures/workloads/sts.yaml").is_ok());
    }

    #[test]
    fn replaced_files_are_named_and_do_not_reach_the_built_in_suite() {
        let folder = tempfile::tempdir().unwrap();
        let own = |name: &str, text: &[u8]| {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        let same = "fixtures/workloads/sts.yaml";
        own("fixtures/workloads/deploy.yaml", b"other");
        own(same, baton_suite::read(same).unwrap());
        own("cases/mine/first.yaml", b"mine");
        let roots = Roots::of(folder.path());
        assert_eq!(
            roots.replaced().unwrap(),
            BTreeSet::from(["fixtures/workloads/deploy.yaml".to_owned()])
        );
        let built_in = Roots {
            folder: folder.path().to_owned(),
            ..Roots::built_in()
        };
        assert_eq!(built_in.replaced().unwrap(), BTreeSet::new());
        let deploy = "fixtures/workloads/deploy.yaml";
        assert_eq!(built_in.read(deploy).unwrap(), baton_suite::read(deploy).unwrap());
        assert_eq!(built_in.read("cases/mine/first.yaml").unwrap(), b"mine");
        assert!(
            !built_in
                .yaml_below("cases")
                .unwrap()
                .contains(&"cases/mine/first.yaml".to_owned())
        );
    }

    #[test]
    fn a_folder_with_a_catalogue_is_a_whole_suite() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("cases")).unwrap();
        fs::write(folder.path().join(CATALOGUE), "").unwrap();
        let roots = Roots::of(folder.path());
        assert_eq!(roots.yaml_below("cases").unwrap(), [CATALOGUE]);
        assert!(roots.read("fixtures/workloads/deploy.yaml").is_err());
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Roots::of(&folder.path().join("none")).yaml_below("cases").is_err());
    }

    #[test]
    fn circles_of_links_and_pipes_end() {
        let folder = tempfile::tempdir().unwrap();
        symlink(folder.path(), folder.path().join("again")).unwrap();
        fs::write(folder.path().join("one.yaml"), "").unwrap();
        let pipe = folder.path().join("pipe.yaml");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        assert_eq!(yaml_files(folder.path()).unwrap(), [folder.path().join("one.yaml")]);
        assert!(read(&pipe).is_err());
    }

    #[test]
    fn links_of_editors_are_skipped_and_broken_links_named() {
        let folder = tempfile::tempdir().unwrap();
        let case = folder.path().join("cases/one.yaml");
        fs::create_dir(folder.path().join("cases")).unwrap();
        fs::write(&case, "").unwrap();
        fs::write(folder.path().join("cases/.hidden.yaml"), "").unwrap();
        symlink("me@host.1:2", folder.path().join("cases/.#one.yaml")).unwrap();
        let roots = Roots::of(folder.path());
        assert_eq!(roots.own_yaml_below("cases").unwrap(), ["cases/one.yaml"]);
        symlink("nowhere", folder.path().join("cases/two.yaml")).unwrap();
        for error in [
            roots.own_yaml_below("cases").unwrap_err(),
            roots.yaml_below("cases").unwrap_err(),
        ] {
            assert!(error.to_string().contains("cases/two.yaml is a broken link"), "{error}");
        }
    }

    #[test]
    fn a_file_has_its_name_whatever_way_leads_to_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("cases")).unwrap();
        let file = folder.path().join("cases/one.yaml");
        fs::write(&file, "").unwrap();
        let roots = Roots::of(folder.path());
        for way in [file.clone(), folder.path().join("cases/../cases/one.yaml")] {
            assert_eq!(roots.name_of(&way).as_deref(), Some("cases/one.yaml"));
        }
        assert_eq!(roots.name_of(Path::new("/etc/hostname")), None);
    }
}
