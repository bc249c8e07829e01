//! `baton judge`.

use crate::stdout::{out, outln};
use std::{fs, io::BufReader, path::Path};

use baton_cluster::error_chain::error_chain;
use baton_core::{
    case::model::Case,
    excerpt,
    judge::{
        self, Finding,
        recorded::{self, Recorded},
    },
    plan::Plan,
    timeline::{Timeline, TimelineError},
};

use super::{Exit, with_suite};
use crate::{args, files::Roots, load::Suite, output, show, snapshots};

/// Judges a timeline by the case that it names, or a recording by the invariants.
pub(super) fn judge(roots: &Roots, arguments: &args::Judge) -> Exit {
    let Some(file) = arguments.timeline.as_ref().or(arguments.recording.as_ref()) else {
        return Exit::BadInput;
    };
    let timeline = match read_timeline(file) {
        Ok(timeline) => timeline,
        Err(error) => {
            eprintln!("error: {}: {}", file.display(), error_chain(&error));
            return Exit::BadInput;
        }
    };
    if let Some(case) = &arguments.case {
        return with_suite(Suite::select(roots, std::slice::from_ref(case)), |suite| {
            let exits = suite.cases.iter().map(|case| recorded_by(case, &timeline));
            exits.fold(Exit::Conforms, Exit::and)
        });
    }
    if arguments.recording.is_some() {
        let judged = judge::judge_recording(&timeline);
        return report(&judged.findings, &judged.inconclusive, &timeline);
    }
    let Some(begin) = timeline.begin() else {
        eprintln!("error: {} does not name its case", file.display());
        eprintln!("help: judge a recording with --recording");
        return Exit::BadInput;
    };
    with_suite(Suite::select(roots, &[begin.case.to_string()]), |suite| {
        let mut exit = Exit::Conforms;
        for case in &suite.cases {
            exit = judge_by(case, roots, &timeline);
        }
        exit
    })
}

/// Judges a recording by a case.
fn recorded_by(case: &Case, timeline: &Timeline) -> Exit {
    let Recorded {
        verdict,
        assumed,
        missing,
    } = recorded::judge_by(&Plan::of(case), timeline);
    outln!("{}: {}\n", case.id, case.title);
    for step in assumed {
        outln!("assumed, since it leaves no trace in a recording: {step}");
    }
    let exit = report(&verdict.findings, &verdict.inconclusive, timeline);
    outln!("shown: {}", show::ids(verdict.shown.iter()));
    for line in output::not_judged(&verdict) {
        out!("{line}");
    }
    verdict.warnings.iter().for_each(|warning| outln!("warning: {warning}"));
    if let Some(reason) = &verdict.unsupported {
        outln!("unsupported: {reason}");
    }
    match missing {
        None => exit,
        Some(step) => {
            outln!("\nthe recording does not show this step, so nothing after it is judged: {step}");
            exit.and(Exit::Broken)
        }
    }
}

fn judge_by(case: &Case, roots: &Roots, timeline: &Timeline) -> Exit {
    let verdict = judge::judge(&Plan::of(case), timeline);
    let differences = snapshots::differences(roots, case, &verdict.snapshots);
    for difference in &differences {
        outln!(
            "snapshot {} differs from {}",
            difference.name,
            difference.file.display()
        );
        outln!("{}", difference.diff.as_deref().unwrap_or("the file does not exist"));
    }
    let exit = report(&verdict.findings, &verdict.inconclusive, timeline);
    outln!("shown: {}", show::ids(verdict.shown.iter()));
    for line in output::not_judged(&verdict) {
        out!("{line}");
    }
    verdict.warnings.iter().for_each(|warning| outln!("warning: {warning}"));
    if let Some(reason) = &verdict.unsupported {
        outln!("unsupported: {reason}");
    }
    if differences.is_empty() { exit } else { Exit::Deviates }
}

/// Prints the findings. What is inconclusive neither deviates nor conforms.
fn report(findings: &[Finding], inconclusive: &[Finding], timeline: &Timeline) -> Exit {
    for finding in findings {
        outln!("{finding}\n");
    }
    if !inconclusive.is_empty() {
        outln!("the order of these events is unknown:\n");
    }
    for finding in inconclusive {
        outln!("{finding}\n");
    }
    let Some(first) = findings.iter().chain(inconclusive).next() else {
        outln!("{} entries: no deviation", timeline.entries().len());
        return Exit::Conforms;
    };
    outln!("timeline around the first finding (time, entry, cluster, event):");
    outln!("{}", excerpt::around(timeline, first.seq).join("\n"));
    if findings.is_empty() {
        Exit::Broken
    } else {
        Exit::Deviates
    }
}

fn read_timeline(file: &Path) -> Result<Timeline, TimelineError> {
    Timeline::read(BufReader::new(fs::File::open(file)?))
}
