//! Files that a run writes: each format is a consumer of its events.
//!
//! - [`ReportFile`]: `--report FORMAT=PATH`; [`Reports`]: all requested reports;
//! - [`page`]: the HTML page; [`matrix`]: pages that compare reports; [`file`](mod@file): writes files atomically.

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

/// Format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The `ConformanceReport`.
    Yaml,
    /// JUnit XML.
    Junit,
    /// Markdown for the summary of a CI job.
    Summary,
    /// Events as they happen, one line of JSON each.
    Jsonl,
    /// A page for people, with timelines.
    Html,
}

/// Requested report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportFile {
    /// Format of the report.
    pub format: Format,
    /// Path of the file.
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

/// Error when a report cannot be written, because of its arguments or during the run.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The file cannot be created or written.
    #[error("the report {} cannot be written", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error from the system.
        source: io::Error,
    },
    /// Another run writes to the file.
    #[error("another run is writing to {}", .0.display())]
    InUse(PathBuf),
    /// Two reports have the same file.
    #[error("two reports would be written to {}", .0.display())]
    Twice(PathBuf),
    /// The report cannot be converted to the format.
    #[error(transparent)]
    Form(#[from] ReportError),
    /// An event cannot be converted to JSON.
    #[error("an event cannot be written as JSON")]
    Line(#[from] serde_json::Error),
    /// The page's template does not fit its data.
    #[error("the page cannot be rendered")]
    Page(#[from] minijinja::Error),
}

impl WriteError {
    /// Returns a remedy for the user; empty if none is known.
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
    /// Views of timelines; `None` if no page is requested.
    timeline_views: Option<TimelineViews>,
    lines: Vec<(PathBuf, fs::File)>,
    failed: Option<WriteError>,
}

impl Reports {
    /// Opens the reports of a run, and checks that all of them can be written. Only files of events are created now.
    ///
    /// [`WriteError`] for the first report that cannot be written.
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

    /// Adds an event. Errors are reported at the end.
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
            // One write per line, so that a reader who follows the file never sees half a line.
            file.write_all(line.as_bytes()).map_err(WriteError::of(path))?;
        }
        Ok(())
    }

    /// Returns the report so far; `None` if the run has not begun.
    pub fn report(&self) -> Option<ConformanceReport> {
        self.builder.report()
    }

    /// Writes the reports that are written as a whole. Returns the path or the error of each report.
    pub fn finish(self) -> Vec<Result<PathBuf, WriteError>> {
        let mut written: Vec<_> = match self.failed {
            Some(error) => vec![Err(error)],
            None => self.lines.into_iter().map(|(path, _)| Ok(path)).collect(),
        };
        let Some(report) = self.builder.report() else {
            return written;
        };
        let timeline_views = self.timeline_views.unwrap_or_default();
        // An error does not keep the other reports from being written.
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

/// Creates a file of events. Two runs at once would mix their lines.
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
