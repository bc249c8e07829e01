//! Evidence of a case: its timeline, and the log of its target. [`runs`] gives each run a folder if no other folder is
//! given.

pub mod runs;

use std::{
    fs::{self, Permissions},
    io::{self, Read as _, Seek as _, SeekFrom},
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::LazyLock,
};

use baton_cluster::scratch::Scratch;
use baton_core::{
    case::model::Case,
    digest::Digest,
    event::{CaseOutcome, CaseResult, Evidence},
    redact,
    timeline::Timeline,
};
use jiff::Timestamp;
use runs::RunFolder;
use tempfile::TempDir;

use crate::{context::CaseContext, options::RunOptions, report::file, terminal};

/// Largest size of a log in bytes.
const LONGEST_LOG: u64 = 1 << 20;

/// Default folder for the folders of runs, which hold the timelines of failed cases: a folder of the user's state. If
/// there is no home folder, it is a new folder each time, because other users could create one whose name they know.
pub fn folder_by_default() -> PathBuf {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
        state.map_or_else(new_folder, |state| state.join("baton/timelines"))
    });
    FOLDER.clone()
}

/// Folder of this run below [`folder_by_default`]. It is created when the first file is written.
pub(crate) fn folder_of_run() -> PathBuf {
    static FOLDER: LazyLock<Option<RunFolder>> =
        LazyLock::new(|| RunFolder::new(&folder_by_default(), Timestamp::now()).ok());
    // If the folder cannot be created, writing into it reports the error.
    FOLDER.as_ref().map_or_else(folder_by_default, |run| run.path.clone())
}

/// Returns the absolute path in an environment variable.
fn absolute(variable: &str) -> Option<PathBuf> {
    let path = PathBuf::from(std::env::var_os(variable)?);
    path.is_absolute().then_some(path)
}

fn new_folder() -> PathBuf {
    let folder = tempfile::Builder::new()
        .prefix("baton-timelines-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir();
    // If that fails too, writing into the current folder reports the error.
    folder.map_or_else(|_| PathBuf::from("baton-timelines"), TempDir::keep)
}

/// Creates a folder and its parents, accessible only to the owner; an existing folder stays as it is.
pub(crate) fn create_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Creates the folder if it does not exist, and fails if timelines could not be written to it.
pub(crate) fn check(folder: &Path) -> io::Result<()> {
    create_folder(folder)?;
    file::check(&folder.join("timeline"))
}

/// Name of a case's timeline. Has the seed if there are several, and the attempt if it is not the first.
pub(crate) fn name(case: &Case, context: &CaseContext) -> String {
    let mut name = case.id.to_string();
    if context.options().repeat > 1 {
        name = format!("{name}.seed-{}", context.seed);
    }
    if context.attempt > 1 {
        name = format!("{name}.try-{}", context.attempt);
    }
    format!("{name}.jsonl")
}

/// Writes a timeline to a folder, under this name or, if that exists, under the next free one.
pub(crate) fn keep(timeline: &Timeline, folder: &Path, name: &str) -> io::Result<Evidence> {
    create_folder(folder)?;
    let mut text = Vec::new();
    timeline.write(&mut text).map_err(io::Error::other)?;
    Ok(Evidence {
        file: file::write_new(folder, name, &text)?,
        digest: Digest::of_bytes(&text),
    })
}

/// Log of a target that is a program, while a case runs.
pub(crate) struct Log {
    /// Path of the log.
    pub(crate) file: PathBuf,
    name: String,
    /// Removes the folder of the log unless the log is kept.
    _folder: Option<Scratch>,
}

impl Log {
    pub(crate) fn new(case: &Case) -> Self {
        let name = format!("{}.target.log", case.id);
        let folder = Scratch::new("log").ok();
        // In a folder that all users share, the name may belong to another user.
        let file = folder
            .as_ref()
            .map_or_else(|| PathBuf::from("/dev/null"), |it| it.path().join(&name));
        Self {
            file,
            name,
            _folder: folder,
        }
    }

    /// Keeps the log next to the timeline or, if the run broke and there is no timeline, in its place.
    pub(crate) fn keep(self, options: &RunOptions, result: &mut CaseResult) {
        let broken = matches!(result.outcome, CaseOutcome::Broken { .. });
        let written = fs::metadata(&self.file).is_ok_and(|it| it.len() > 0);
        let beside = result.evidence.as_ref().and_then(|evidence| evidence.file.parent());
        let folder = match beside {
            Some(folder) => folder.to_owned(),
            None if broken => options.timelines.clone().unwrap_or_else(folder_of_run),
            None => return,
        };
        if written && create_folder(&folder).is_ok() {
            result.log = self.copy(&folder).ok();
        }
    }

    /// Copies the log; of a long one, only the end, because a target may write without limit.
    fn copy(&self, folder: &Path) -> io::Result<PathBuf> {
        let mut file = fs::File::open(&self.file)?;
        let cut = file.metadata()?.len().saturating_sub(LONGEST_LOG);
        file.seek(SeekFrom::Start(cut))?;
        let mut log = Vec::new();
        file.take(LONGEST_LOG).read_to_end(&mut log)?;
        let mut text = String::from_utf8_lossy(&log).into_owned();
        if cut > 0 {
            text = format!("(the first {cut} bytes are left out)\n{text}");
        }
        let text = redact::text(&text);
        file::write_new(folder, &self.name, terminal::clean(&text, false).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_in_the_folder_leads_nowhere() {
        let root = tempfile::tempdir().unwrap();
        let (folder, other) = (root.path().join("timelines"), root.path().join("of-somebody-else"));
        fs::write(&other, "theirs").unwrap();
        create_folder(&folder).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        symlink(&other, folder.join("case.jsonl")).unwrap();
        let kept = keep(&Timeline::new(Vec::new()).unwrap(), &folder, "case.jsonl").unwrap();
        assert_eq!(kept.file, folder.join("case.2.jsonl"));
        assert_eq!(fs::metadata(&kept.file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_to_string(&other).unwrap(), "theirs");
    }

    #[test]
    fn what_an_earlier_run_has_left_stays() {
        let folder = tempfile::tempdir().unwrap();
        let timeline = Timeline::new(Vec::new()).unwrap();
        let names = [(); 3].map(|()| keep(&timeline, folder.path(), "case.jsonl").unwrap().file);
        let names = names.map(|name| name.file_name().unwrap().to_string_lossy().into_owned());
        assert_eq!(names, ["case.jsonl", "case.2.jsonl", "case.3.jsonl"]);
    }
}
