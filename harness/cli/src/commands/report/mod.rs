//! `baton report`.

mod verify;

use crate::terminal::{out, outln};
use std::{
    fs,
    io::{self, BufReader},
    path::{Path, PathBuf},
};

use baton_core::{
    catalogue::Consequence,
    digest::Digest,
    judge,
    report::{
        ConformanceReport, baseline,
        compare::{self, Direction, Moved},
        junit,
        merge::{self, MergeError},
        model::ReportError,
        summary,
        timeline_view::TimelineView,
    },
    timeline::{Timeline, TimelineError},
};
use thiserror::Error;

use super::{Exit, bad_input, not_loaded, with_suite};
use crate::{
    args,
    files::{self, Roots},
    load,
    report::{
        file, matrix,
        page::{self, TimelineViews},
    },
    show,
    signature::SignatureError,
};

/// Error when a report cannot be processed.
#[derive(Debug, Error)]
enum InputError {
    #[error("{} cannot be read", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{}", path.display())]
    Report { path: PathBuf, source: ReportError },
    #[error("{}", path.display())]
    Timeline { path: PathBuf, source: TimelineError },
    #[error(transparent)]
    Merge(#[from] MergeError),
    #[error("{} cannot be written", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{} is not the timeline that the report names: its digest differs", .0.display())]
    OtherTimeline(PathBuf),
    #[error("{} is read, and would be overwritten", .0.display())]
    Overwritten(PathBuf),
    #[error("the report cannot be written")]
    Form(#[from] ReportError),
    #[error("the page cannot be rendered")]
    Page(#[from] minijinja::Error),
    #[error(transparent)]
    Signature(#[from] SignatureError),
}

impl InputError {
    fn help(&self) -> &'static str {
        match self {
            Self::Signature(error) => error.help(),
            Self::Report { .. } => {
                "`baton run --report yaml=FILE` writes a report; timelines are for `baton judge` and `baton report html --recording`"
            }
            Self::Timeline { .. } => "`baton run --timelines FOLDER` writes timelines; this file may have been edited",
            Self::OtherTimeline(_) => "--timelines takes the folder of this report's timelines, unchanged",
            Self::Overwritten(_) => "name another file with --output",
            Self::Io { .. } | Self::Merge(_) | Self::Write { .. } | Self::Form(_) | Self::Page(_) => "",
        }
    }
}

/// Renders, converts, verifies, compares or merges reports.
pub(super) fn report(roots: &Roots, arguments: &args::Report) -> Exit {
    let done = match arguments {
        args::Report::Html {
            report,
            recording,
            timelines,
            output,
        } => keep([report, recording].into_iter().flatten(), output).and_then(|()| match (report, recording) {
            (_, Some(recording)) => recording_page(recording, output),
            (Some(report), None) => report_page(report, timelines.as_deref(), output),
            (None, None) => Ok(Exit::BadInput),
        }),
        args::Report::Verify { evidence, key } => verify::verify(roots, evidence, key.as_deref()),
        args::Report::Rejudge { evidence, output } => {
            keep([&evidence.report], output).and_then(|()| verify::rejudge(roots, evidence, output))
        }
        args::Report::Sign {
            evidence,
            key,
            partial,
            password_file,
        } => verify::sign(roots, evidence, key, *partial, password_file.as_deref()),
        args::Report::Keygen {
            name,
            no_password,
            password_file,
        } => verify::keygen(name, *no_password, password_file.as_deref()),
        args::Report::Baseline { report, remarks } => print_baseline(report, *remarks),
        args::Report::Matrix { reports, output } => write_matrix(reports, output),
        args::Report::Compare { before, after } => compare_reports(roots, before, after),
        args::Report::Junit { report, output } => {
            let read = keep([report], output).and_then(|()| read_report(report));
            read.and_then(|report| write(output, &junit::xml(&report)?))
        }
        args::Report::Summary { report } => read_report(report).map(|report| {
            out!("{}", summary::markdown(&report));
            Exit::Conforms
        }),
        args::Report::Merge { reports, output } => keep(reports, output).and_then(|()| merge_reports(reports, output)),
    };
    done.unwrap_or_else(|error| bad_input(&error, error.help()))
}

fn read_report(path: &Path) -> Result<ConformanceReport, InputError> {
    parse_report(path, &read_text(path)?)
}

fn read_text(path: &Path) -> Result<String, InputError> {
    files::read_text(path).map_err(|source| InputError::Io {
        path: path.to_owned(),
        source,
    })
}

fn parse_report(path: &Path, text: &str) -> Result<ConformanceReport, InputError> {
    ConformanceReport::parse(text).map_err(|source| InputError::Report {
        path: path.to_owned(),
        source,
    })
}

fn read_timeline(path: &Path) -> Result<Timeline, InputError> {
    let path = path.to_owned();
    match files::open(&path).map(|file| Timeline::read(BufReader::new(file))) {
        Ok(Ok(timeline)) => Ok(timeline),
        Ok(Err(source)) => Err(InputError::Timeline { path, source }),
        Err(source) => Err(InputError::Io { path, source }),
    }
}

/// Checks that no input is overwritten.
fn keep<'p>(inputs: impl IntoIterator<Item = &'p PathBuf>, output: &Path) -> Result<(), InputError> {
    let mut same = inputs.into_iter().filter(|input| file::is_same(input, output));
    same.next()
        .map_or(Ok(()), |input| Err(InputError::Overwritten(input.clone())))
}

/// Writes a file and prints its name; `-` is standard output.
fn write(path: &Path, text: &str) -> Result<Exit, InputError> {
    if path == Path::new("-") {
        out!("{text}");
        return Ok(Exit::Conforms);
    }
    let wrong = |source| InputError::Write {
        path: path.to_owned(),
        source,
    };
    file::write(path, text.as_bytes()).map_err(wrong)?;
    outln!("{}", path.display());
    Ok(Exit::Conforms)
}

fn recording_page(recording: &Path, output: &Path) -> Result<Exit, InputError> {
    let timeline = read_timeline(recording)?;
    let judged = judge::judge_recording(&timeline);
    let name = recording.file_stem().unwrap_or_default().to_string_lossy();
    write(output, &page::of_recording(&name, &timeline, &judged)?)
}

fn report_page(report: &Path, timelines: Option<&Path>, output: &Path) -> Result<Exit, InputError> {
    let report = read_report(report)?;
    let mut timeline_views = TimelineViews::new();
    for case in &report.cases {
        if let (Some(folder), Some(evidence)) = (timelines, &case.evidence)
            && let Some(name) = Path::new(&evidence.timeline).file_name()
        {
            let path = folder.join(name);
            let bytes = files::read_evidence(&path).map_err(|source| InputError::Io {
                path: path.clone(),
                source,
            })?;
            if Digest::of_bytes(&bytes) != evidence.digest {
                return Err(InputError::OtherTimeline(path));
            }
            let timeline = Timeline::read(bytes.as_slice()).map_err(|source| InputError::Timeline { path, source })?;
            let entries: Vec<u64> = case.findings.iter().map(|finding| finding.entry).collect();
            timeline_views.insert((case.name.clone(), case.seed), TimelineView::of(&timeline, &entries));
        }
    }
    write(output, &page::of_report(&report, &timeline_views)?)
}

fn print_baseline(report: &Path, remarks: bool) -> Result<Exit, InputError> {
    let least = if remarks {
        Consequence::Remark
    } else {
        Consequence::Deviation
    };
    out!(
        "{}",
        baseline::to_yaml(&baseline::of_defects(&read_report(report)?, least))?
    );
    Ok(Exit::Conforms)
}

fn write_matrix(reports: &[PathBuf], output: &Path) -> Result<Exit, InputError> {
    let reports: Vec<ConformanceReport> = reports.iter().map(|path| read_report(path)).collect::<Result<_, _>>()?;
    fs::create_dir_all(output).map_err(|source| InputError::Write {
        path: output.to_owned(),
        source,
    })?;
    for (name, page) in matrix::pages(&reports)? {
        write(&output.join(name), &page)?;
    }
    Ok(Exit::Conforms)
}

fn compare_reports(roots: &Roots, before: &Path, after: &Path) -> Result<Exit, InputError> {
    let (before, after) = (read_report(before)?, read_report(after)?);
    let catalogue = match load::catalogue(roots) {
        Ok(catalogue) => catalogue,
        Err(error) => return Ok(not_loaded(&error)),
    };
    let comparison = compare::compare(&before, &after, &catalogue);
    for note in &comparison.notes {
        outln!("note: {note}");
    }
    for line in &comparison.suite {
        outln!("suite: {line}");
    }
    for defect in &comparison.defects {
        let word = match defect.direction {
            Direction::Worse => "WORSE",
            Direction::Better => "better",
            Direction::Other => "other",
        };
        let known = if defect.known { " (known)" } else { "" };
        outln!("{word}: defect {}{known}: {}", defect.headline, defect.words());
    }
    let mut table = show::table(&["", "WHAT", "BEFORE", "AFTER"]);
    let parts = [
        ("WORSE", &comparison.worse),
        ("better", &comparison.better),
        ("other", &comparison.other),
    ];
    for (word, moved) in parts {
        for Moved { what, before, after } in moved {
            let told = |result: &Option<String>| result.clone().unwrap_or_else(|| "-".to_owned());
            table.add_row([word.to_owned(), what.clone(), told(before), told(after)]);
        }
    }
    if parts.iter().all(|(_, moved)| moved.is_empty()) {
        outln!("no result of a requirement or a case changed");
    } else {
        outln!("{}", table.trim_fmt());
    }
    Ok(if comparison.is_worse() {
        Exit::Deviates
    } else {
        Exit::Conforms
    })
}

fn merge_reports(reports: &[PathBuf], output: &Path) -> Result<Exit, InputError> {
    let reports: Vec<ConformanceReport> = reports.iter().map(|path| read_report(path)).collect::<Result<_, _>>()?;
    let merged = merge::merge(&reports)?;
    if let Some(words) = merged.partly() {
        outln!("{words}");
    }
    outln!("note: merging does not check the evidence; `baton report verify` does");
    write(output, &merged.to_yaml()?)
}
