//! `baton judge`.

use std::{fs, io::BufReader, path::Path};

use baton_cluster::runner::chain;
use baton_core::{
    case::model::Case,
    excerpt,
    judge::{self, Finding},
    timeline::{Mark, Timeline, TimelineError},
};

use super::{Exit, with_suite};
use crate::{
    args,
    load::{Roots, Suite},
    show, snapshots,
};

/// Judges a timeline by the case that it names, or a recording by the invariants.
pub(super) fn judge(roots: &Roots, arguments: &args::Judge) -> Exit {
    let Some(file) = arguments.timeline.as_ref().or(arguments.recording.as_ref()) else {
        return Exit::BadInput;
    };
    let timeline = match read_timeline(file) {
        Ok(timeline) => timeline,
        Err(error) => {
            eprintln!("error: {}: {}", file.display(), chain(&error));
            return Exit::BadInput;
        }
    };
    if arguments.recording.is_some() {
        return tell_findings(&judge::judge_recording(&timeline), &timeline);
    }
    let begin = timeline.marks().find_map(|(_, mark)| match mark {
        Mark::Begin(begin) => Some(begin),
        _ => None,
    });
    let Some(begin) = begin else {
        eprintln!("error: {} does not say which case it belongs to", file.display());
        eprintln!("help: if it is a recording of an implementation, judge it with --recording");
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

fn judge_by(case: &Case, roots: &Roots, timeline: &Timeline) -> Exit {
    let verdict = judge::judge(case, timeline);
    let differences = snapshots::differences(&roots.snapshots, case, &verdict.snapshots);
    for difference in &differences {
        println!(
            "snapshot {} differs from {}",
            difference.name,
            difference.file.display()
        );
        println!("{}", difference.diff.as_deref().unwrap_or("there is no such file"));
    }
    let exit = tell_findings(&verdict.findings, timeline);
    if exit == Exit::Conforms && differences.is_empty() {
        println!("shown: {}", show::ids(verdict.shown.iter()));
        return Exit::Conforms;
    }
    Exit::Deviates
}

fn tell_findings(findings: &[Finding], timeline: &Timeline) -> Exit {
    for finding in findings {
        println!("{finding}\n");
    }
    let Some(first) = findings.first() else {
        println!("{} entries: nothing to object to", timeline.entries().len());
        return Exit::Conforms;
    };
    println!("around the first of them (time, entry, cluster, what):");
    println!("{}", excerpt::around(timeline, first.seq).join("\n"));
    Exit::Deviates
}

fn read_timeline(file: &Path) -> Result<Timeline, TimelineError> {
    Timeline::read(BufReader::new(fs::File::open(file)?))
}
