//! `baton judge`.

use crate::terminal::{errln, out, outln};
use std::{fs, io::BufReader, path::Path};

use baton_cluster::error_chain::error_chain;
use baton_core::{
    case::model::Case,
    excerpt,
    judge::{
        self, Finding, Verdict,
        recorded::{self, Recorded},
    },
    plan::Plan,
    timeline::{Timeline, TimelineError},
};

use super::{Exit, with_suite};
use crate::{
    args,
    files::Roots,
    load::Suite,
    output, show,
    snapshots::{self, Stored},
};

/// Judges a timeline by the case that it names, or a recording by the invariants.
pub(super) fn judge(roots: &Roots, arguments: &args::Judge) -> Exit {
    let Some(file) = arguments.timeline.as_ref().or(arguments.recording.as_ref()) else {
        return Exit::BadInput;
    };
    let timeline = match read_timeline(file) {
        Ok(timeline) => timeline,
        Err(error) => {
            errln!("error: {}: {}", file.display(), error_chain(&error));
            return Exit::BadInput;
        }
    };
    if timeline.entries().is_empty() {
        errln!("error: {} is empty: there is nothing to judge", file.display());
        return Exit::BadInput;
    }
    if let Some(case) = &arguments.case {
        return with_suite(Suite::select(roots, std::slice::from_ref(case)), |suite| {
            let exits = suite.cases.iter().map(|case| recorded_by(case, &timeline));
            exits.fold(Exit::Conforms, Exit::and)
        });
    }
    if arguments.recording.is_some() {
        return by_invariants(&timeline);
    }
    let Some(begin) = timeline.begin() else {
        errln!("error: {} does not name its case", file.display());
        errln!("help: judge a recording with --recording");
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

/// Judges a recording by the invariants alone.
fn by_invariants(timeline: &Timeline) -> Exit {
    let judged = judge::judge_recording(timeline);
    let exit = report(&judged.findings, &judged.inconclusive, timeline);
    let judged = judged
        .judged
        .iter()
        .any(|(invariant, count)| !invariant.proves().is_empty() && *count > 0);
    match exit {
        Exit::Conforms if !judged => {
            errln!("error: nothing was judged: no workload fails over in this recording");
            Exit::Broken
        }
        exit => exit,
    }
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
    let exit = unsupported(&verdict, exit);
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
    let differences = snapshots::differences(roots, &Stored::read(roots, [case]), case, &verdict.snapshots);
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
    let exit = unsupported(&verdict, exit);
    if differences.is_empty() { exit } else { Exit::Deviates }
}

/// A case that the implementation does not support says nothing of it.
fn unsupported(verdict: &Verdict, exit: Exit) -> Exit {
    let Some(reason) = &verdict.unsupported else {
        return exit;
    };
    outln!("unsupported: {reason}");
    exit.and(Exit::Broken)
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
