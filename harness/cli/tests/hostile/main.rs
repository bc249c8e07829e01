//! Targets that try to pass although they do not conform. Each tries another way; no way leads to *conforms*.
//!
//! Most of them are the reference controller with a defect (it preserves no state) that [`tricks`] try to hide; others
//! are sound, and try to hide additional actions. The target is this test binary: started by the harness with the name
//! of a trick, [`the_target_itself`] plays it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what fails here fails a test")]

mod tricks;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
    time::Duration,
};

use baton::{
    files::Roots,
    implementation::Described,
    load::{self, Suite},
    options::RunOptions,
    output, run,
};
use baton_core::{
    case::model::{Case, Phase},
    digest::Digest,
    event::{CaseOutcome, CaseResult},
    implementation::{Exec, Launch, template::Template},
    judge::Verdict,
};
use rstest::rstest;

/// Case that they run.
const CASE: &str = "deployment-directly";

/// Finding that the new copy lacks the preserved labels when it is first seen.
const LABELS: &str = "first seen: Deployment deploy";

/// Tricks after which the awaited condition never holds.
const IN_VAIN: [&str; 5] = [
    "ready-alone",
    "second-copy",
    "deletes-what-the-harness-made",
    "warm-standby",
    "refuses-by-webhook",
];

/// Tricks that leave an object behind, for whose removal the harness waits.
const LEAVE: [&str; 2] = ["leaves-a-work-as-the-harness", "leaves-a-work-as-the-collector"];

/// The unchanged suite, which takes longer to read than a trick takes to play.
static SUITE: LazyLock<Suite> = LazyLock::new(|| Suite::load(&Roots::of(&root())).unwrap());

/// Variable with the name of the trick.
const TRICK: &str = "HOSTILE_TRICK";

/// Variable with a folder that has what the target would otherwise have to search for.
const FOLDER: &str = "HOSTILE_FOLDER";

/// The target, if the harness has started this binary as such; nothing otherwise.
#[test]
fn the_target_itself() {
    if let Ok(trick) = std::env::var(TRICK) {
        tricks::play(&trick, Path::new(&std::env::var(FOLDER).unwrap()));
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Copies the suite to a separate folder, to which a target may write.
fn own_suite(folder: &Path) -> Roots {
    for part in ["cases", "fixtures", "snapshots"] {
        copy(&root().join(part), &folder.join(part));
    }
    Roots::of(folder)
}

/// Runs the case against a target that plays a trick, with a suite and timelines below a folder that it knows.
fn against(trick: &str, folder: &Path, roots: Roots, case: &Case) -> CaseResult {
    let template = |text: &str| Template::parse(text).unwrap();
    let file = root().join("fixtures/targets/reference.yaml");
    let mut spec = load::target(&roots, &file, &SUITE).unwrap();
    let Launch::Exec(programs) = &mut spec.run else {
        panic!("the reference target is a command")
    };
    let itself = std::env::current_exe().unwrap();
    let args = ["--exact", "the_target_itself", "--nocapture", "--"];
    let env = [(TRICK, trick.to_owned()), (FOLDER, folder.display().to_string())];
    programs[0] = Exec {
        command: template(&itself.display().to_string()),
        args: args.map(template).into(),
        env: env.map(|(name, value)| (name.to_owned(), template(&value))).into(),
        // It serves no webhook.
        ready: None,
        ..programs[0].clone()
    };
    spec.metrics = None;
    if IN_VAIN.contains(&trick) {
        spec.timeouts.factor = Some(0.2);
    }
    if LEAVE.contains(&trick) {
        spec.timeouts.phases.insert(Phase::Clear, Duration::from_secs(10));
    }
    let settings = RunOptions {
        timelines: Some(folder.join("timelines")),
        ..RunOptions::new(roots)
    };
    let settings = settings.with_target(Described::new(spec).unwrap()).unwrap();
    run::run_case(case, &settings, &|_| {})
}

fn played(trick: &str) -> (CaseResult, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("timelines")).unwrap();
    let case = SUITE.cases.iter().find(|case| case.id.as_str() == CASE).unwrap();
    let result = against(trick, folder.path(), Roots::of(&root()), case);
    (result, folder)
}

/// The findings of a case, with the requirements that they refute.
fn findings(result: &CaseResult) -> String {
    let verdict = result.outcome.verdict();
    let findings: Vec<_> = verdict.into_iter().flat_map(Verdict::all_findings).collect();
    assert!(!findings.is_empty(), "{:?}", result.outcome);
    let told = findings
        .into_iter()
        .map(|it| format!("{:?} {} {}\n", it.requirements, it.title, it.seen));
    told.collect()
}

/// A sound target without a trick conforms: the reference for the other tests.
#[test]
fn who_is_sound_and_plays_no_trick_conforms() {
    let (result, _folder) = played("sound");
    assert!(
        matches!(result.outcome, CaseOutcome::Conforms(_)),
        "{:?}",
        result.outcome
    );
}

#[rstest]
// It has the defect, and does nothing to hide it.
#[case::nothing("none", LABELS)]
// Who only says that members are ready does not move anything.
#[case::ready_alone("ready-alone", "could not be carried out")]
// The labels are put on the new copy once it is there: the first revision counts.
#[case::labels_later("labels-later", LABELS)]
// The same, under the user agent of the harness: by the harness is only what it does itself.
#[case::as_the_harness("labels-later-as-the-harness", LABELS)]
// The same, dated back, with a claim of who owned the fields.
#[case::dated_back("labels-dated-back", LABELS)]
// The same, as fast as it can, to be there before the observer: every revision is seen, in the server's order.
#[case::race("labels-in-a-race", LABELS)]
// The new copy is deleted, and created again with labels: the task does not have them.
#[case::created_again("created-again", "STP-01")]
// A copy without labels is there and gone before the scheduling result names the cluster; the one that follows has them.
#[case::bare_copy_first("bare-copy-first", "made without the label")]
// The labels are put on the template, from where they come to copies: templates must not have them.
#[case::on_the_template("labels-on-the-template", "REC-08")]
// A second copy with labels is there before the first is gone: never two.
#[case::second_copy("second-copy", "PRG-0")]
// The eviction task and annotations say what the judge is to say.
#[case::says_so_itself("says-so-itself", LABELS)]
// Events and ConfigMaps that look like entries and fences of a timeline are objects like others.
#[case::forged_events("forged-events", LABELS)]
// The taint is taken away and set anew, and the Cluster says that nothing was wrong.
#[case::cluster_objects("cluster-objects", LABELS)]
// What the harness has applied is deleted when the cluster fails: by what it is seen depends on what comes first.
#[case::deletes("deletes-what-the-harness-made", "RequirementId")]
// The kubeconfigs are overwritten: the harness does not go by them.
#[case::kubeconfigs("overwrites-kubeconfigs", LABELS)]
// Thousands of events are written during the failover.
#[case::flood_of_events("flood-of-events", LABELS)]
// Megabytes of good verdicts are printed.
#[case::flood_of_lines("flood-of-lines", LABELS)]
// Hundreds of connections are opened and held.
#[case::descriptors("holds-connections", LABELS)]
// What it leaves behind was written as the harness, or as the garbage collector.
#[case::left_as_the_harness("leaves-a-work-as-the-harness", "POL-14")]
#[case::left_as_the_collector("leaves-a-work-as-the-collector", "POL-14")]
// The workload runs on the next cluster before it has left: under another name, as a bare pod, in another namespace, as
// another kind. What runs the same containers is a copy.
#[case::under_another_name("under-another-name", "PRG-03")]
#[case::as_a_bare_pod("as-a-bare-pod", "PRG-03")]
#[case::in_another_namespace("in-another-namespace", "PRG-03")]
#[case::as_another_kind("as-another-kind", "PRG-03")]
// It waits there, under its own name and without replicas.
#[case::warm_standby("warm-standby", "PRG-0")]
// The first copy has the labels before anything has failed.
#[case::labels_in_advance("labels-in-advance", "REC-03")]
// The task is written without the state, and changed when the new copy is there.
#[case::task_in_hindsight("task-in-hindsight", LABELS)]
// The binding is deleted, so that no task is there any more.
#[case::binding_made_anew("binding-made-anew", LABELS)]
// Events are deleted: what was recorded stays.
#[case::deletes_events("deletes-events", LABELS)]
// Objects carry the harness's marks, and the harness's objects lose them.
#[case::tampers_with_marks("tampers-with-marks", LABELS)]
// The policy loses its rules before the failover: what the case demands does not change.
#[case::edits_the_policy("edits-the-policy", LABELS)]
// The template has the labels for the moment in which the new copy is created.
#[case::edits_the_workload("edits-the-workload", "REC-08")]
// The template has the labels, and the managed fields say that the user wrote them.
#[case::template_as_the_user("template-as-the-user", "REC-08")]
// The workload is scheduled back to the failed cluster, and away again at once.
#[case::there_and_back("there-and-back", "PRG-11")]
// A webhook that nothing answers keeps the case from tainting a cluster.
#[case::refuses_by_webhook("refuses-by-webhook", "could not be carried out")]
fn a_trick_is_seen_through(#[case] trick: &str, #[case] by: &str) {
    let (result, _folder) = played(trick);
    let told = findings(&result);
    assert!(told.contains(by), "{told}");
}

#[test]
fn who_ends_at_once_with_success_has_not_passed() {
    let (result, _folder) = played("ends-at-once");
    let CaseOutcome::Broken { reason } = &result.outcome else {
        panic!("{:?}", result.outcome)
    };
    assert!(reason.contains("ended unexpectedly: exit status: 0"), "{reason}");
}

#[test]
fn verdicts_and_control_characters_that_it_prints_are_shown_as_its_words() {
    let (result, _folder) = played("prints-a-verdict");
    let CaseOutcome::Broken { reason } = &result.outcome else {
        panic!("{:?}", result.outcome)
    };
    assert!(reason.contains("428 conform"), "its last lines are reported: {reason}");
    let log = fs::read_to_string(result.log.as_ref().unwrap()).unwrap();
    assert!(!log.contains('\u{1b}') && log.contains("␛[2J"), "{log}");
    assert!(
        output::explanation(&result, &output::FollowUp::default())
            .unwrap()
            .contains("BROKEN"),
        "{reason}"
    );
}

/// The target has written a timeline of a run that conforms, and a link, to the place of the harness's files.
#[test]
fn a_timeline_that_it_has_put_in_place_is_no_evidence() {
    let (result, folder) = played("puts-a-timeline-in-place");
    assert!(findings(&result).contains(LABELS));
    let evidence = result.evidence.unwrap();
    assert_eq!(
        evidence.file,
        folder.path().join("timelines/deployment-directly.3.jsonl")
    );
    let written = fs::read(&evidence.file).unwrap();
    assert_eq!(evidence.digest, Digest::of_bytes(&written));
    assert_eq!(fs::read_to_string(folder.path().join("elsewhere")).unwrap(), "mine");
}

/// The target rewrites the case and the catalogue during the run.
#[test]
fn a_case_that_it_rewrites_was_read_before() {
    let folder = tempfile::tempdir().unwrap();
    let roots = own_suite(folder.path());
    let before = Suite::select(&roots, &[CASE.to_owned()]).unwrap();
    let result = against("rewrites-the-suite", folder.path(), roots.clone(), &before.cases[0]);
    assert!(findings(&result).contains(LABELS));
    assert_eq!(result.digest, Digest::of_case(&before.cases[0]));
    assert!(
        Suite::select(&roots, &[CASE.to_owned()]).is_err(),
        "it has not been rewritten"
    );
}

/// The target ignores SIGTERM, and has started other processes: all of them are gone when the case has ended.
#[test]
fn nothing_of_a_target_that_does_not_want_to_end_outlives_its_case() {
    let (result, folder) = played("does-not-end");
    assert!(findings(&result).contains(LABELS));
    let pids = fs::read_to_string(folder.path().join("pids")).unwrap();
    assert_eq!(pids.lines().count(), 2, "{pids}");
    for pid in pids.lines() {
        // The remains of a process may wait for their new parent; they no longer run.
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "{pid} still runs: {state}");
    }
}
