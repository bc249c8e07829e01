//! Terminal output during a run and at its end. [`defects`]: the part about defects; `table`: the table of results; `broken`:
//! cases that could not be run.

mod broken;
pub mod defects;
mod follow_up;
mod progress;
mod table;

use crate::terminal::{self, outln};
use std::{collections::BTreeMap, io::IsTerminal as _, path::PathBuf};

use baton_core::{
    catalogue::Consequence,
    event::{CaseOutcome, CaseResult, Event, RunStart, SnapshotDifference, Summary},
    judge::Verdict,
    names::{CaseId, ClusterName, RequirementId},
    report::{
        ConformanceReport,
        causes::{self, CauseGroup},
        described,
        model::{CaseNumbers, Defect},
    },
};
use indicatif::{ProgressBar, ProgressStyle};

use self::{
    broken::Repeated,
    progress::Log,
    table::{named, on_try, word},
};
pub use self::{
    follow_up::{FollowUp, quoted},
    table::results,
};
use crate::{args::Loudness, show};

/// Number of cases above which a run lists only those that do not conform.
const LISTED: usize = 50;

/// Number of likely causes that are listed at the end.
const LISTED_CAUSES: usize = 10;

/// Shows a run: with a progress bar on a terminal, with plain lines elsewhere.
pub struct Output {
    progress: Option<ProgressBar>,
    /// Lines for a log, without a terminal.
    log: Log,
    loudness: Loudness,
    /// Number of runs of cases.
    expected: usize,
    /// Commands that repeat a part of the run.
    again: FollowUp,
    /// Results by case and seed.
    results: BTreeMap<(CaseId, u64), CaseResult>,
}

impl Output {
    /// Creates the output for standard output and error.
    pub fn new(again: FollowUp, loudness: Loudness) -> Self {
        let progress = std::io::stderr().is_terminal() && !loudness.quiet;
        Self {
            progress: progress.then(ProgressBar::no_length),
            log: Log::new(),
            loudness,
            expected: 0,
            again,
            results: BTreeMap::new(),
        }
    }

    /// Adds an event.
    pub fn on_event(&mut self, event: &Event) {
        match event {
            Event::RunStarted(start) => self.begin(start),
            Event::CaseStarted { .. } => {}
            Event::StepStarted { case, text, .. } => {
                if let Some(progress) = &self.progress {
                    progress.set_message(terminal::line(&format!("{case}: {text}")));
                }
            }
            Event::Paused { case, kubeconfigs } => match &self.progress {
                Some(progress) => progress.suspend(|| outln!("{}", pause_text(case, kubeconfigs))),
                None => outln!("{}", pause_text(case, kubeconfigs)),
            },
            Event::CaseAgain { case, reason, .. } => {
                let text = format!(
                    "again         {case}: this result does not count: {}",
                    terminal::line(reason)
                );
                match &self.progress {
                    Some(progress) => progress.suspend(|| outln!("{text}")),
                    None => outln!("{text}"),
                }
            }
            Event::CaseEnded(result) => {
                match &self.progress {
                    Some(progress) => progress.inc(1),
                    None if self.lists(result) => outln!(
                        "{:<23}{}{} ({})",
                        word(result, None),
                        named(result),
                        on_try(result),
                        show::seconds(result.wall)
                    ),
                    None => {}
                }
                self.log.ended(result);
                if self.progress.is_none()
                    && !self.loudness.quiet
                    && let Some(line) = self.log.line(self.expected)
                {
                    outln!("{line}");
                }
                // The timeline is large and is read from files if it is needed.
                let kept = CaseResult {
                    timeline: None,
                    ..(**result).clone()
                };
                self.results.insert((kept.case.clone(), kept.seed), kept);
            }
            Event::RunEnded(_) => match self.progress.take() {
                Some(progress) => progress.finish_and_clear(),
                None if self.loudness.quiet => {}
                None => outln!(),
            },
        }
    }

    /// Returns true if a line is printed for a case: in a large run, only for one that does not conform.
    fn lists(&self, result: &CaseResult) -> bool {
        let Loudness { verbose, quiet } = self.loudness;
        let conforms = matches!(&result.outcome, CaseOutcome::Conforms(verdict) if verdict.elsewhere.is_empty());
        let matters = !conforms && !matches!(result.outcome, CaseOutcome::Unsupported { .. });
        verbose || (!quiet && (matters || result.attempt() > 1 || self.expected <= LISTED))
    }

    fn begin(&mut self, start: &RunStart) {
        let RunStart {
            cases, backend, target, ..
        } = start;
        self.expected = *cases;
        if !self.loudness.quiet {
            outln!(
                "{} on {backend} clusters against {}\n",
                show::count(*cases, "case"),
                target.name
            );
        }
        if let Some(progress) = &self.progress {
            progress.set_length(*cases as u64);
            if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len}  {eta} left  {wide_msg}") {
                progress.set_style(style);
            }
        }
    }

    /// Prints the results of a run that has ended: a table, the defects, and the cases that prove nothing about the
    /// target.
    pub fn end(&self, summary: &Summary, report: &ConformanceReport) {
        let listed: Vec<&CaseResult> = self.results.values().filter(|result| self.lists(result)).collect();
        if !listed.is_empty() {
            let others = self.results.len() - listed.len();
            outln!("{}\n", results(listed.into_iter(), Some(report)));
            if others > 0 && !self.loudness.quiet {
                outln!(
                    "{} conform or are unsupported; -v lists them\n",
                    show::count(others, "more case")
                );
            }
        }
        self.defects(report);
        self.explanations();
        for (words, consequence) in [
            ("remarks: a SHOULD or an ADVICE is broken", Consequence::Remark),
            (
                "proposed: documents that the target does not claim",
                Consequence::Proposed,
            ),
        ] {
            let lines: Vec<_> = described::with(report, consequence).map(defects::headline).collect();
            if !lines.is_empty() {
                outln!("{words}\n  {}\n", lines.join("\n  "));
            }
        }
        let new = described::new_deviations(report).count();
        let known = described::known_deviations(report).count();
        if new + known > 0 {
            let known = if known > 0 {
                format!(", {known} more as the baseline says")
            } else {
                String::new()
            };
            outln!("{}{known}", show::count(new, "defect"));
        }
        outln!("{}", sum(&report.summary.cases, summary));
        let notes = [described::conforming_with_defects(report), report.partly()];
        for words in notes.into_iter().flatten() {
            outln!("{words}");
        }
    }

    /// Prints why cases could not be run or judged.
    fn explanations(&self) {
        let broken = self.results.values().filter_map(|result| match &result.outcome {
            CaseOutcome::Broken { reason } => Some((named(result), reason.as_str())),
            CaseOutcome::Conforms(_)
            | CaseOutcome::Deviates { .. }
            | CaseOutcome::Inconclusive { .. }
            | CaseOutcome::Unsupported { .. } => None,
        });
        let repeated = Repeated::of(broken);
        let is_repeated = |result: &CaseResult| repeated.iter().any(|it| it.cases.contains(&named(result)));
        for result in self.results.values().filter(|it| !is_repeated(it)) {
            if let Some(text) = explanation(result, &self.again) {
                outln!("{text}");
            }
        }
        for cases in &repeated {
            outln!("{cases}\n");
        }
    }

    /// Prints the defects: those that share a likely cause together, with the first of them in full.
    fn defects(&self, report: &ConformanceReport) {
        let causes = causes::of(report);
        let shared: Vec<&CauseGroup<'_>> = causes.iter().filter(|group| group.is_shared()).collect();
        let is_grouped = |defect: &Defect| shared.iter().any(|group| group.defects.contains(&defect));
        for group in &shared {
            outln!("=== {}\n", group.headline());
            let early = self.ended_early(group);
            if early > 0 {
                outln!(
                    "{} ended early: the likely cause is that of {}, which waited for the whole time (--full-waits waits \
                     in all)\n",
                    show::count(early, "case"),
                    group.cases.first().map_or("another case", |case| case.as_str())
                );
            }
            let mut of_group = group.defects.iter();
            if let Some(first) = of_group.next() {
                self.defect(first, report);
            }
            for defect in of_group {
                outln!(
                    "--- {}\n  cases     {}\n",
                    defects::headline(defect),
                    defects::cases(defect)
                );
            }
        }
        for defect in described::new_deviations(report).filter(|it| !is_grouped(it)) {
            self.defect(defect, report);
        }
        if shared.len() > 1 {
            let lines: Vec<String> = shared.iter().take(LISTED_CAUSES).map(|it| it.headline()).collect();
            outln!("likely causes\n  {}", lines.join("\n  "));
            if shared.len() > LISTED_CAUSES {
                outln!("  and {} more", shared.len() - LISTED_CAUSES);
            }
            outln!();
        }
    }

    /// Returns the number of cases of a group that ended early.
    fn ended_early(&self, group: &CauseGroup<'_>) -> usize {
        let early = self.results.values().filter(|it| it.outcome.early_end().is_some());
        early.filter(|it| group.cases.contains(&&it.case)).count()
    }

    /// Prints a defect with the evidence of its clearest case.
    fn defect(&self, defect: &Defect, report: &ConformanceReport) {
        outln!("--- {}", defects::headline(defect));
        outln!("{}", defects::details(defect, report));
        if let Some(text) = self.clearest(defect) {
            outln!("{text}");
        }
    }

    /// Returns the evidence of the case that shows a defect most clearly.
    fn clearest(&self, defect: &Defect) -> Option<String> {
        let name = defect.cases.first()?;
        let mut runs = self.results.range((name.clone(), 0)..=(name.clone(), u64::MAX));
        let (_, result) = runs.find(|(_, result)| shows(result, defect))?;
        Some(evidence(result, &self.again))
    }
}

/// Returns true if a run of a case has the finding of a defect.
fn shows(result: &CaseResult, defect: &Defect) -> bool {
    let verdict = result.outcome.verdict();
    let mut findings = verdict.into_iter().flat_map(Verdict::all_findings);
    findings.any(|finding| (finding.seq, &finding.title) == (defect.finding.entry, &defect.finding.title))
}

fn pause_text(case: &CaseId, kubeconfigs: &BTreeMap<ClusterName, PathBuf>) -> String {
    let mut lines = vec![format!("\n{case} failed; its clusters are still running:")];
    lines.extend(
        kubeconfigs
            .iter()
            .map(|(name, file)| format!("{name:<10} {}", file.display())),
    );
    if kubeconfigs.is_empty() {
        lines.push("(without kubeconfigs)".to_owned());
    }
    lines.push("press Enter to continue, Ctrl-C to end the run".to_owned());
    lines.join("\n")
}

/// Returns the requirements that a case could not judge, with the reason, one per line.
pub fn not_judged(verdict: &Verdict) -> Vec<String> {
    let mut reasons: BTreeMap<&str, Vec<&RequirementId>> = BTreeMap::new();
    for (id, reason) in &verdict.not_judged {
        reasons.entry(reason).or_default().push(id);
    }
    let lines = reasons.into_iter();
    lines
        .map(|(reason, ids)| format!("not judged: {}: {reason}\n", show::ids(ids.into_iter())))
        .collect()
}

/// Notes about one case, apart from its defects: the reason why it could not be judged, snapshots that differ, earlier tries.
pub fn explanation(result: &CaseResult, again: &FollowUp) -> Option<String> {
    let mut lines = Vec::new();
    for (number, failed) in (1..).zip(&result.failed_tries) {
        lines.push(format!("try {number} failed: {failed}"));
    }
    match &result.outcome {
        // A case that ended early is listed with its cause.
        CaseOutcome::Conforms(_)
        | CaseOutcome::Unsupported { .. }
        | CaseOutcome::Inconclusive {
            likely_cause: Some(_), ..
        } => {}
        CaseOutcome::Broken { reason } => lines.push(reason.clone()),
        CaseOutcome::Inconclusive {
            verdict,
            excerpt,
            likely_cause: None,
        } => {
            lines.push("no deviation was found, but the order or the outcome of this is unknown:".to_owned());
            lines.extend(verdict.inconclusive.iter().map(|finding| format!("{finding}\n")));
            lines.push(around(excerpt));
            lines.extend(files(result, again));
        }
        CaseOutcome::Deviates { snapshots, .. } => {
            lines.extend(snapshots.iter().map(|snapshot| differing(snapshot, result, again)));
            if !snapshots.is_empty() {
                lines.extend(files(result, again));
            }
        }
    }
    for file in &result.accepted {
        lines.push(format!("snapshot written: {}", file.display()));
    }
    let head = format!("--- {} {}: {}", named(result), word(result, None), result.title);
    (!lines.is_empty()).then(|| format!("{head}\n{}", lines.join("\n")))
}

/// The evidence of a case that shows a defect: the likely cause, the timeline around it, and its files.
fn evidence(result: &CaseResult, again: &FollowUp) -> String {
    let mut lines = vec![format!("shown by {}: {}", named(result), result.title)];
    if let CaseOutcome::Deviates {
        verdict,
        excerpt,
        likely_cause,
        ..
    } = &result.outcome
    {
        lines.extend(
            likely_cause
                .iter()
                .map(|cause| format!("likely cause: {}\n", cause.text)),
        );
        lines.extend(not_judged(verdict));
        lines.extend(verdict.warnings.iter().map(|warning| format!("warning: {warning}\n")));
        lines.push(around(excerpt));
    }
    lines.push(format!("run it alone:  {}", again.run(None, &result.case)));
    lines.extend(files(result, again));
    lines.join("\n")
}

/// The part of a timeline around a finding.
fn around(excerpt: &[String]) -> String {
    format!(
        "timeline around the first finding (time, entry, cluster, event):\n{}\n",
        excerpt.join("\n")
    )
}

fn differing(snapshot: &SnapshotDifference, result: &CaseResult, again: &FollowUp) -> String {
    let file = snapshot.file.display();
    match &snapshot.diff {
        Some(diff) => format!("snapshot {} differs from {file}:\n{diff}", snapshot.name),
        None => format!(
            "snapshot {} has no file {file} yet; write it with `{}`\n",
            snapshot.name,
            again.run(Some("--accept-snapshots"), &result.case)
        ),
    }
}

/// The files that a case left, and the command that judges them again.
fn files(result: &CaseResult, again: &FollowUp) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(evidence) = &result.evidence {
        lines.push(format!("full timeline: {}", evidence.file.display()));
        lines.push(format!(
            "judge again:   {}\n",
            again.judge(&evidence.file, &result.case)
        ));
    }
    if let Some(file) = &result.log {
        lines.push(format!("output of the target: {}\n", file.display()));
    }
    lines
}

/// The last line of a run: the numbers of its report, the cases that were not started, and the time.
fn sum(cases: &CaseNumbers, summary: &Summary) -> String {
    let verb = |number: usize, word: &str| format!("{word}{}", if number == 1 { "s" } else { "" });
    let mut parts = vec![format!("{} {}", cases.conforming, verb(cases.conforming, "conform"))];
    let known = format!("{} as the baseline says", verb(cases.known, "deviate"));
    let with_remarks = format!("{} with remarks", verb(cases.with_remarks, "conform"));
    for (number, words) in [
        (cases.with_remarks, with_remarks.as_str()),
        (cases.deviating, verb(cases.deviating, "deviate").as_str()),
        (cases.inconclusive, "inconclusive"),
        (cases.known, &known),
        (cases.unsupported, "unsupported"),
        (cases.broken, "could not be run"),
        (summary.not_begun, "not started"),
    ] {
        if number > 0 {
            parts.push(format!("{number} {words}"));
        }
    }
    format!("{} in {}", parts.join(", "), show::seconds(summary.wall))
}
