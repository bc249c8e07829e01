//! What a run leaves in files: consumers of its events, one a format.
//!
//! - [`ReportFile`]: `--report FORMAT=PATH`; [`Reports`]: all that were asked for;
//! - [`page`]: the HTML page; [`matrix`]: pages that compare reports; [`file`](mod@file): files that are there as a whole or not at all.

pub mod file;
pub mod matrix;
pub mod page;

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    str::FromStr,
};

use baton_core::{
    case::model::Case,
    catalogue::Catalogue,
    event::Event,
    report::{Builder, ConformanceReport, junit, lines, model::ReportError, summary, timeline_view::TimelineView},
};
use thiserror::Error;

use page::TimelineViews;

/// The form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The `ConformanceReport`.
    Yaml,
    /// JUnit XML.
    Junit,
    /// Markdown for the summary of a CI job.
    Summary,
    /// Events as they happen, a line of JSON each.
    Jsonl,
    /// A page for people, with timelines.
    Html,
}

/// A report that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportFile {
    /// Its form.
    pub format: Format,
    /// Its file.
    pub path: PathBuf,
}

impl FromStr for ReportFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORMATS: &str = "yaml, junit, summary, jsonl and html";
        let (format, path) = text
            .split_once('=')
            .ok_or_else(|| format!("expected FORMAT=PATH, such as yaml=report.yaml; the formats are {FORMATS}"))?;
        let format = match format {
            "yaml" => Format::Yaml,
            "junit" => Format::Junit,
            "summary" => Format::Summary,
            "jsonl" => Format::Jsonl,
            "html" => Format::Html,
            other => return Err(format!("unknown format `{other}`; the formats are {FORMATS}")),
        };
        if path.is_empty() {
            return Err("expected a path after `=`".to_owned());
        }
        Ok(Self {
            format,
            path: PathBuf::from(path),
        })
    }
}

/// Why a report cannot be written. What is asked for is wrong, or became so while the cases ran.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The file cannot be made or written.
    #[error("the report {} cannot be written", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another run writes its lines there.
    #[error("another run is writing to {}", .0.display())]
    InUse(PathBuf),
    /// Two reports are to become one file.
    #[error("two reports would be written to {}", .0.display())]
    Twice(PathBuf),
    /// The report does not fit its form.
    #[error(transparent)]
    Form(#[from] ReportError),
    /// An event has no JSON form.
    #[error("an event cannot be written as JSON")]
    Line(#[from] serde_json::Error),
    /// The page's template and what is put in do not fit together.
    #[error("the page cannot be rendered")]
    Page(#[from] minijinja::Error),
}

impl WriteError {
    /// What to do about it; empty if nothing is known to help.
    pub fn help(&self) -> &'static str {
        match self {
            Self::File { .. } => "the folder must exist and be writable",
            Self::Twice(_) | Self::InUse(_) => "give each report a different path",
            Self::Form(_) | Self::Line(_) | Self::Page(_) => "",
        }
    }

    fn of(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::File {
            path: path.to_owned(),
            source,
        }
    }
}

/// All reports of a run.
#[derive(Debug)]
pub struct Reports {
    builder: Builder,
    whole: Vec<ReportFile>,
    /// None if nobody wants a page.
    timeline_views: Option<TimelineViews>,
    lines: Vec<(PathBuf, fs::File)>,
    failed: Option<WriteError>,
}

impl Reports {
    /// For a run of some of these cases. Makes sure that all reports can be written. Only the files of lines are begun.
    ///
    /// # Errors
    /// [`WriteError`] for the first that cannot.
    pub fn open(wanted: &[ReportFile], catalogue: &Catalogue, all: &[Case]) -> Result<Self, WriteError> {
        for (index, report) in wanted.iter().enumerate() {
            file::check(&report.path).map_err(WriteError::of(&report.path))?;
            if wanted[..index].iter().any(|other| other.path == report.path) {
                return Err(WriteError::Twice(report.path.clone()));
            }
        }
        let (lines, whole): (Vec<_>, Vec<_>) = wanted.iter().cloned().partition(|it| it.format == Format::Jsonl);
        let open = |ReportFile { path, .. }: ReportFile| Ok((path.clone(), begin(&path)?));
        Ok(Self {
            builder: Builder::new(catalogue, all),
            timeline_views: whole
                .iter()
                .any(|it| it.format == Format::Html)
                .then(TimelineViews::new),
            whole,
            lines: lines.into_iter().map(open).collect::<Result<_, WriteError>>()?,
            failed: None,
        })
    }

    /// Takes in an event. What goes wrong is told at the end.
    pub fn on_event(&mut self, event: &Event) {
        self.builder.on_event(event);
        if let (Some(timeline_views), Event::CaseEnded(result)) = (&mut self.timeline_views, event)
            && let Some(timeline) = &result.timeline
        {
            let entries: Vec<u64> = result.outcome.findings().iter().map(|finding| finding.seq).collect();
            let key = (result.case.clone(), result.seed);
            timeline_views.insert(key, TimelineView::of(timeline, &entries));
        }
        if self.failed.is_none() && !self.lines.is_empty() {
            self.failed = self.write_line(event).err();
        }
    }

    fn write_line(&mut self, event: &Event) -> Result<(), WriteError> {
        let line = format!("{}\n", lines::line(event)?);
        for (path, file) in &mut self.lines {
            // One write a line, so that nobody who follows the file sees half of one.
            file.write_all(line.as_bytes()).map_err(WriteError::of(path))?;
        }
        Ok(())
    }

    /// The report of what it has taken in; none if the run has not begun.
    pub fn report(&self) -> Option<ConformanceReport> {
        self.builder.report()
    }

    /// Writes what is written as a whole, and says of each report whether it is there: its file, or what went wrong.
    pub fn finish(self) -> Vec<Result<PathBuf, WriteError>> {
        let mut written: Vec<_> = match self.failed {
            Some(error) => vec![Err(error)],
            None => self.lines.into_iter().map(|(path, _)| Ok(path)).collect(),
        };
        let Some(report) = self.builder.report() else {
            return written;
        };
        let timeline_views = self.timeline_views.unwrap_or_default();
        // One that cannot be written keeps no other from being.
        written.extend(self.whole.into_iter().map(|ReportFile { format, path }| {
            let text = match format {
                Format::Yaml => report.to_yaml()?,
                Format::Junit => junit::xml(&report)?,
                Format::Summary => summary::markdown(&report),
                Format::Html => page::of_report(&report, &timeline_views)?,
                Format::Jsonl => return Ok(path),
            };
            file::write(&path, text.as_bytes()).map_err(WriteError::of(&path))?;
            Ok(path)
        }));
        written
    }
}

/// Begins a file of lines. Two runs at once would write into each other's.
fn begin(path: &Path) -> Result<fs::File, WriteError> {
    let special = file::is_special(path);
    let mut options = fs::File::options();
    let file = options.write(true).create(!special).truncate(false).open(path);
    let file = file.map_err(WriteError::of(path))?;
    if special {
        return Ok(file);
    }
    match file.try_lock() {
        Ok(()) => file.set_len(0).map_err(WriteError::of(path))?,
        Err(fs::TryLockError::WouldBlock) => return Err(WriteError::InUse(path.to_owned())),
        Err(fs::TryLockError::Error(source)) => return Err(WriteError::of(path)(source)),
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_report_says_what_is_expected() {
        let told = |text: &str| text.parse::<ReportFile>().unwrap_err();
        assert!(told("report.yaml").starts_with("expected FORMAT=PATH"));
        assert!(told("pdf=x").starts_with("unknown format `pdf`"));
        assert_eq!(told("yaml="), "expected a path after `=`");
    }

    #[test]
    fn two_reports_do_not_become_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let wanted = [Format::Yaml, Format::Junit].map(|format| ReportFile {
            format,
            path: path.clone(),
        });
        let error = Reports::open(&wanted, &Catalogue::default(), &[]).unwrap_err();
        assert!(matches!(error, WriteError::Twice(_)), "{error}");
    }
}
