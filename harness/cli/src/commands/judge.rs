//! `baton judge`.

use crate::terminal::{errln, out, outln};
use std::{io::BufReader, path::Path};

use baton_cluster::error_chain::error_chain;
use baton_core::{
    case::model::Case,
    catalogue::{Asked, Consequence},
    excerpt,
    judge::{
        self, Finding, Verdict, Weighed,
        recorded::{self, Recorded},
    },
    plan::Plan,
    timeline::{Timeline, TimelineError},
};

use super::{Exit, not_loaded, with_suite};
use crate::{
    args,
    files::{self, Roots},
    load::{self, LoadError, Suite},
    output, show,
    snapshots::{self, Stored},
};

/// Judges a timeline by the case that it names, or a recording by the invariants.
pub(super) fn judge(roots: &Roots, arguments: &args::Judge) -> Exit {
    let Some(file) = arguments.timeline.as_ref().or(arguments.recording.as_ref()) else {
        return Exit::BadInput;
    };
    let timeline = match timeline(file, arguments.recording.is_some()) {
        Ok(timeline) => timeline,
        Err(exit) => return exit,
    };
    let asked = match arguments.target.as_deref().map(|file| asked(roots, file)).transpose() {
        Ok(asked) => asked.unwrap_or_default(),
        Err(error) => return not_loaded(&error),
    };
    if arguments.recording.is_some() {
        let Some(case) = &arguments.case else {
            return by_invariants(&timeline, &asked);
        };
        return with_suite(Suite::select(roots, std::slice::from_ref(case)), |suite| {
            let plans = suite
                .cases
                .iter()
                .map(|case| (case, Plan::of(case).asking(asked.clone())));
            let exits = plans.map(|(case, plan)| recorded_by(case, &plan, &timeline));
            exits.fold(Exit::Conforms, Exit::and)
        });
    }
    let Some(begin) = timeline.begin() else {
        errln!("error: {} does not name its case", file.display());
        errln!("help: judge a recording with --recording");
        return Exit::BadInput;
    };
    let wanted = arguments.case.clone().unwrap_or_else(|| begin.case.to_string());
    let suite = Suite::select(roots, std::slice::from_ref(&wanted));
    if let (Err(LoadError::NoSuchCase { .. }), None) = (&suite, &arguments.case) {
        errln!(
            "error: {} is of the case {wanted}, which is not below cases/",
            file.display()
        );
        errln!("help: name its file with --case");
        return Exit::BadInput;
    }
    with_suite(suite, |suite| {
        // A file may have several scenarios; the timeline belongs to one of them.
        let Some(case) = suite.cases.iter().find(|case| case.id == begin.case) else {
            errln!(
                "error: {} is of the case {}, which is not in {wanted}",
                file.display(),
                begin.case
            );
            errln!("help: name the file of that case with --case, or leave --case out");
            return Exit::BadInput;
        };
        judge_by(case, &Plan::of(case).asking(asked), roots, &timeline)
    })
}

/// Reads a timeline that has entries. Only a recording may lack some.
fn timeline(file: &Path, is_recording: bool) -> Result<Timeline, Exit> {
    let (error, help) = match read_timeline(file) {
        Err(error) => (
            error_chain(&error),
            "`baton run --timelines FOLDER` writes timelines; this file may have been edited",
        ),
        Ok(timeline) if timeline.entries().is_empty() => {
            errln!("error: {} is empty: there is nothing to judge", file.display());
            return Err(Exit::BadInput);
        }
        Ok(timeline) => match missing(&timeline).filter(|_| !is_recording) {
            None => return Ok(timeline),
            Some(missing) => (
                missing,
                "judge the whole file, as `baton run --timelines FOLDER` wrote it",
            ),
        },
    };
    errln!("error: {}: {error}", file.display());
    errln!("help: {help}");
    Err(Exit::BadInput)
}

/// Returns which entries the timeline of a run lacks, if any.
fn missing(timeline: &Timeline) -> Option<String> {
    if let Some(line) = timeline.gap() {
        return Some(format!("entries are missing before line {line}"));
    }
    let ends_early = timeline.begin().is_some() && !timeline.is_closed();
    ends_early.then(|| "the last entries are missing: the timeline ends before the run did".to_owned())
}

/// The consequences of the requirements for the implementation of a target file.
fn asked(roots: &Roots, target: &Path) -> Result<Asked, LoadError> {
    let suite = Suite::load(roots)?;
    let target = load::target(roots, target, &suite)?;
    Ok(Asked::of(&suite.catalogue, &target.features, &target.documents))
}

/// Judges a recording by the invariants alone. A recording without a failover shows nothing about failovers.
fn by_invariants(timeline: &Timeline, asked: &Asked) -> Exit {
    let judged = judge::judge_recording(timeline);
    let found = Weighed::of(judged.findings, asked, Consequence::Deviation);
    let open = Weighed::of(judged.inconclusive, asked, Consequence::Deviation);
    let exit = report(&found.deviations, &open.deviations, timeline);
    remarks(&found.remarks, &found.proposed);
    outln!("failovers: {}", judged.failovers);
    if judged.failovers > 0 || exit != Exit::Conforms {
        return exit;
    }
    let rules = judged
        .judged
        .iter()
        .filter(|(rule, count)| !rule.proves().is_empty() && **count > 0);
    let rules: Vec<&str> = rules.map(|(rule, _)| rule.name()).collect();
    errln!("error: no workload fails over in this recording");
    if !rules.is_empty() {
        errln!(
            "note: only these invariants had something to judge: {}",
            rules.join(", ")
        );
    }
    errln!("help: begin the recording before a cluster fails, and end it when its workloads run elsewhere");
    Exit::Broken
}

/// Judges a recording by a case.
fn recorded_by(case: &Case, plan: &Plan, timeline: &Timeline) -> Exit {
    let Recorded {
        verdict,
        assumed,
        missing,
    } = recorded::judge_by(plan, timeline);
    outln!("{}: {}\n", case.id, case.title);
    for step in assumed {
        outln!("assumed, since it leaves no trace in a recording: {step}");
    }
    let exit = of_verdict(&verdict, timeline);
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

fn judge_by(case: &Case, plan: &Plan, roots: &Roots, timeline: &Timeline) -> Exit {
    let verdict = judge::judge(plan, timeline);
    let differences = snapshots::differences(roots, &Stored::read(roots, [case]), case, &verdict.snapshots);
    for difference in &differences {
        outln!(
            "snapshot {} differs from {}",
            difference.name,
            difference.file.display()
        );
        outln!("{}", difference.diff.as_deref().unwrap_or("the file does not exist"));
    }
    let exit = of_verdict(&verdict, timeline);
    outln!("shown: {}", show::ids(verdict.shown.iter()));
    for line in output::not_judged(&verdict) {
        out!("{line}");
    }
    verdict.warnings.iter().for_each(|warning| outln!("warning: {warning}"));
    let exit = unsupported(&verdict, exit);
    if differences.is_empty() { exit } else { Exit::Deviates }
}

/// Reports a case that the implementation does not support: its result does not count.
fn unsupported(verdict: &Verdict, exit: Exit) -> Exit {
    let Some(reason) = &verdict.unsupported else {
        return exit;
    };
    outln!("unsupported: {reason}");
    exit.and(Exit::Broken)
}

/// Prints the findings of a verdict.
fn of_verdict(verdict: &Verdict, timeline: &Timeline) -> Exit {
    let deviations: Vec<Finding> = verdict.findings.iter().chain(&verdict.elsewhere).cloned().collect();
    let exit = report(&deviations, &verdict.inconclusive, timeline);
    remarks(&verdict.remarks, &verdict.proposed);
    exit
}

/// Prints findings that make no case deviate.
fn remarks(remarks: &[Finding], proposed: &[Finding]) {
    for (word, findings) in [("remark", remarks), ("proposed", proposed)] {
        for finding in findings {
            outln!("{word}: {finding}\n");
        }
    }
}

/// Prints the findings. Inconclusive findings are neither a deviation nor a proof.
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
    Timeline::read(BufReader::new(files::open(file)?))
}
