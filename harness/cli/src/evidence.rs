//! What is kept of a case: its timeline, and what its target wrote.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use baton_core::{
    case::model::Case,
    digest::Digest,
    event::{CaseOutcome, CaseResult, Evidence},
    redact,
    timeline::Timeline,
};
use tempfile::TempDir;

use crate::settings::Settings;

/// Where timelines of cases that failed are kept if nobody says where.
pub fn folder_by_default() -> PathBuf {
    std::env::temp_dir().join("baton-timelines")
}

/// The name of a case's timeline: with the seed if there are several, with the try if it is not the first.
pub(crate) fn name(case: &Case, settings: &Settings, attempt: u32) -> String {
    let mut name = case.id.to_string();
    if settings.repeat > 1 {
        name = format!("{name}.seed-{}", settings.seed);
    }
    if attempt > 1 {
        name = format!("{name}.try-{attempt}");
    }
    format!("{name}.jsonl")
}

/// Writes a timeline.
pub(crate) fn keep(timeline: &Timeline, file: &Path) -> io::Result<Evidence> {
    fs::create_dir_all(file.parent().unwrap_or(file))?;
    let mut text = Vec::new();
    timeline.write(&mut text).map_err(io::Error::other)?;
    fs::write(file, &text)?;
    Ok(Evidence {
        file: file.to_owned(),
        digest: Digest::of_bytes(&text),
    })
}

/// What a target that is a program writes while a case runs.
pub(crate) struct Log {
    /// Where it is written.
    pub(crate) file: PathBuf,
    name: String,
    /// Gone with the folder if it need not be kept.
    _folder: Option<TempDir>,
}

impl Log {
    pub(crate) fn new(case: &Case) -> Self {
        let name = format!("{}.target.log", case.id);
        let folder = tempfile::Builder::new().prefix("baton-log-").tempdir().ok();
        // Without a folder the target will say that it cannot write.
        let file = folder
            .as_ref()
            .map_or_else(std::env::temp_dir, |it| it.path().to_owned())
            .join(&name);
        Self {
            file,
            name,
            _folder: folder,
        }
    }

    /// Keeps it beside the timeline, or, if there is none because the run broke, where that would have been.
    pub(crate) fn keep(self, settings: &Settings, result: &mut CaseResult) {
        let broken = matches!(result.outcome, CaseOutcome::Broken { .. });
        let written = fs::metadata(&self.file).is_ok_and(|it| it.len() > 0);
        let beside = result.evidence.as_ref().and_then(|evidence| evidence.file.parent());
        let folder = match beside {
            Some(folder) => folder.to_owned(),
            None if broken => settings.timelines.clone().unwrap_or_else(folder_by_default),
            None => return,
        };
        let file = folder.join(&self.name);
        if written && fs::create_dir_all(&folder).is_ok() && self.copy(&file).is_ok() {
            result.log = Some(file);
        }
    }

    /// What a target writes may hold anything.
    fn copy(&self, to: &Path) -> io::Result<()> {
        let log = fs::read(&self.file)?;
        fs::write(to, redact::text(&String::from_utf8_lossy(&log)))
    }
}
