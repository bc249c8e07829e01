//! Exploration: moments, plans and variants of a case, what refutes an implementation, and the journal.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "what fails here fails a test"
)]

mod common;
#[path = "explore/plans.rs"]
mod plans;
#[path = "explore/states.rs"]
mod states;

use std::{collections::BTreeSet, path::Path, time::Duration};

use baton_core::{
    case::model::{Action, Case, Fault, Invariant, Move, MoveFault, Place, WritePoint},
    digest::Digest,
    event::Shard,
    explore::{
        TargetWrite,
        coverage::{self, Reached},
        journal::{Entry, Head, Journal, JournalError, Line, Outcome, Pair, Part},
        oracle::{self, Signature},
        points,
        variant::{self, Base, Title},
    },
    judge,
    plan::Plan,
    timeline::{Change, Mark, StepEnd, Timeline},
};
use common::story::Story;
use rstest::rstest;
use serde_json::{Value, json};

const FILE: &str = r#"
apiVersion: baton.dev/v1alpha1
kind: Case
metadata: {name: varied}
spec:
  title: A Deployment moves
  features: [Propagation, NoExecuteEviction, PurgeDirectly]
  members: 2
  steps:
    - apply: {on: control, file: workloads/deploy.yaml}
    - bindRole: {role: origin, from: {kind: Deployment, name: deploy}}
    - capture: {name: asserted, on: origin, of: {kind: Deployment, name: deploy}, field: spec.replicas}
    - capture: {name: applied, on: origin, of: {kind: Deployment, name: deploy}, field: spec.replicas}
    - assert: {mode: now, on: origin, of: {kind: Deployment, name: deploy}, match: {spec: {replicas: "${asserted}"}}, proves: [POL-01]}
    - patch: {on: control, of: {kind: Deployment, name: deploy}, merge: {spec: {replicas: "${applied}"}}}
    - taint: {cluster: origin, key: baton.dev/failed, effect: NoExecute}
"#;

fn read(text: &str) -> Case {
    let cases = common::read_bytes(Path::new("varied.yaml"), text.as_bytes());
    cases.map_err(|found| common::lines(&found)).unwrap().remove(0)
}

fn root() -> Value {
    baton_core::yaml::parse(Path::new("varied.yaml"), FILE.as_bytes())
        .unwrap()
        .0
        .value()
}

/// A run of the case in which step 4, an assertion, took two seconds.
fn run_without_faults() -> Timeline {
    let step = |story: Story, number: usize, from: f64, until: f64| {
        let text = String::new();
        let begun = story.mark(from, Mark::StepStarted { step: number, text });
        let end = StepEnd::Done;
        begun.mark(until, Mark::StepEnded { step: number, end })
    };
    let mut story = Story::in_order();
    for number in 0..7 {
        let (from, until) = if number < 4 { (1.0, 1.0) } else { (3.0, 3.0) };
        story = if number == 4 {
            step(story, 4, 1.0, 3.0)
        } else {
            step(story, number, from, until)
        };
        if number == 1 {
            let role = "origin".into();
            let cluster = "member1".into();
            story = story.mark(1.0, Mark::RoleBound { role, cluster });
        }
    }
    story.timeline()
}

fn base() -> Base {
    Base::new(&read(FILE), &root(), &run_without_faults(), true)
}

fn write(step: usize, cluster: &str, verb: &str, kind: &str, name: Option<&str>) -> TargetWrite {
    TargetWrite {
        step,
        cluster: cluster.into(),
        verb: verb.to_owned(),
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        subresource: None,
        name: name.map(str::to_owned),
        client: "a-controller".to_owned(),
    }
}

fn at(kind: &str, verb: &str, nth: u64) -> WritePoint {
    WritePoint {
        on: Place::Control,
        kind: kind.to_owned(),
        verb: verb.to_owned(),
        subresource: None,
        nth,
    }
}

fn a_move(fault: MoveFault) -> Move {
    Move {
        at: at("ResourceBinding", "patch", 2),
        fault,
        lasts: fault.default_duration(),
    }
}

#[test]
fn a_variant_has_time_instead_of_assertions_and_keeps_what_later_steps_need() {
    let text = base().with("variant", &[], None);
    let variant = read(&text);
    let kinds: Vec<&str> = variant
        .steps
        .iter()
        .map(|step| match &step.action {
            Action::Apply { .. } => "apply",
            Action::BindRole { .. } => "bindRole",
            Action::Capture { .. } => "capture",
            Action::Elapse(_) => "elapse",
            Action::Patch { .. } => "patch",
            Action::Settle(_) => "settle",
            _ => "other",
        })
        .collect();
    assert_eq!(
        kinds,
        ["apply", "bindRole", "capture", "elapse", "patch", "other", "settle"],
        "{text}"
    );
    let Action::Elapse(took) = &variant.steps[3].action else {
        panic!("{text}")
    };
    assert_eq!(took.as_secs(), 2, "{text}");
    assert!(text.contains("name: applied") && !text.contains("asserted"), "{text}");
    assert_eq!(variant.features, read(FILE).features);
}

#[test]
fn moves_stand_before_their_steps_and_are_read_as_they_were_written() {
    let moves: Vec<(usize, Move)> = MoveFault::ALL
        .into_iter()
        .enumerate()
        .map(|(number, fault)| {
            let mut it = a_move(fault);
            it.at.nth = number as u64 + 1;
            if fault == MoveFault::CrashAfter {
                it.lasts = Duration::from_secs(30);
            }
            if fault.needs_member() {
                it.at.on = Place::Role("origin".into());
            }
            if fault == MoveFault::Rival {
                it.at.subresource = Some("status".to_owned());
            }
            (5, it)
        })
        .collect();
    let variant = read(&base().with("variant", &moves, None));
    let found: Vec<&Move> = variant.steps[5..]
        .iter()
        .map_while(|step| match &step.action {
            Action::Inject(Fault::Move(it)) => Some(it),
            _ => None,
        })
        .collect();
    assert_eq!(found, moves.iter().map(|(_, it)| it).collect::<Vec<_>>());
    let after = variant.steps[5 + moves.len()].action.to_string();
    assert!(after.starts_with("taint"), "{after}");
}

#[rstest]
#[case::the_case_has_its_features(true, &[Invariant::OneCopyWhileFailing])]
#[case::it_would_be_about_more_than_its_features(false, &[])]
fn a_finding_is_a_case_with_its_reason(#[case] is_covered: bool, #[case] about: &[Invariant]) {
    let comment = ["expected one copy".to_owned(), "seen two".to_owned()];
    let title = Title {
        invariant: Invariant::OneCopyWhileFailing,
        is_covered,
        comment: &comment,
    };
    let text = base().with("found", &[(5, a_move(MoveFault::LoseAnswer))], Some(&title));
    assert!(text.starts_with("# expected one copy\n# seen two\n"), "{text}");
    let case = read(&text);
    assert_eq!(case.invariants.iter().copied().collect::<Vec<_>>(), about);
    assert!(case.title.contains("lose the answer"), "{}", case.title);
}

#[test]
fn the_identity_of_a_plan_depends_on_seed_and_moves() {
    let base = base();
    let ids = [
        base.plan_id(1, &[]),
        base.plan_id(2, &[]),
        base.plan_id(1, &[(5, a_move(MoveFault::Rival))]),
        base.plan_id(1, &[(4, a_move(MoveFault::Rival))]),
        base.plan_id(1, &[(5, a_move(MoveFault::LoseAnswer))]),
    ];
    assert_eq!(BTreeSet::from(ids.clone()).len(), ids.len());
    assert_eq!(base.plan_id(1, &[]), ids[0]);
}

#[test]
fn a_moment_is_named_by_its_role_once_that_is_bound_and_counted_within_its_step() {
    let writes = [
        write(0, "control", "create", "ResourceBinding", None),
        write(0, "member1", "create", "Deployment", None),
        write(5, "member1", "delete", "Deployment", Some("deploy")),
        write(5, "member2", "create", "Deployment", None),
        write(5, "control", "deletecollection", "Work", None),
        write(5, "control", "patch", "ResourceBinding", Some("deploy")),
        write(5, "control", "patch", "ResourceBinding", Some("deploy")),
    ];
    let points = points::points(&base(), &writes, &run_without_faults());
    let named: Vec<(usize, String)> = points.iter().map(|it| (it.step, it.at.to_string())).collect();
    let expected = [
        (0, "create 1 of ResourceBinding on control"),
        (0, "create 1 of Deployment on members"),
        (5, "delete 1 of Deployment on origin"),
        (5, "create 1 of Deployment on members"),
        (5, "patch 1 of ResourceBinding on control"),
        (5, "patch 2 of ResourceBinding on control"),
    ];
    assert_eq!(named, expected.map(|(step, text)| (step, text.to_owned())));
}

/// A run of a plan with one move, in which two copies exist under Directly.
fn two_copies(happened: bool, fault: MoveFault) -> (Plan, Timeline) {
    let case = common::case("proposal/deployment-directly.yaml");
    let mut plan = Plan::of(&case);
    plan.steps.truncate(0);
    let moves = Plan::of_actions("moved", 2, [Action::Inject(Fault::Move(a_move(fault)))]);
    plan.steps = moves.steps;
    let mut story = Story::in_order().step(0.0, 0);
    if happened {
        let it = a_move(fault);
        story = story.mark(
            1.0,
            Mark::Moved {
                step: 0,
                text: it.to_string(),
                member: None,
                lasts_secs: 0.0,
            },
        );
    }
    let story = story.copy(2.0, "member1", Change::Added).mark(400.0, Mark::CleanUp);
    (plan, story.timeline())
}

#[test]
fn a_move_that_did_not_happen_leaves_the_run_inconclusive() {
    for happened in [true, false] {
        let (plan, timeline) = two_copies(happened, MoveFault::Rival);
        let verdict = judge::judge(&plan, &timeline);
        let of_move = verdict
            .inconclusive
            .iter()
            .filter(|it| it.title == "a move did not happen");
        assert_eq!(of_move.count(), usize::from(!happened), "{:?}", verdict.inconclusive);
        let shown = oracle::shown(&verdict, &[&a_move(MoveFault::Rival)]);
        assert_eq!(shown.incomplete, !happened);
    }
}

fn finding(invariant: Invariant, requirement: Option<&str>) -> judge::Finding {
    let (plan, timeline) = two_copies(false, MoveFault::Rival);
    let mut finding = judge::judge(&plan, &timeline).inconclusive.remove(0);
    finding.title = judge::invariants::title(invariant);
    finding.requirements = requirement.map(Into::into).into_iter().collect();
    finding
}

#[rstest]
#[case::an_invariant(Invariant::OneCopyWhileFailing, Some("PRG-03"), MoveFault::CutOff, true)]
#[case::no_document_demands_it(Invariant::OneCopyWhileFailing, None, MoveFault::CutOff, false)]
#[case::it_depends_on_time(Invariant::TaskEndsWell, Some("REC-01"), MoveFault::CutOff, false)]
#[case::it_may_not_have_heard(Invariant::DestinationFits, Some("TNT-01"), MoveFault::HoldWatches, false)]
#[case::it_has_heard(Invariant::DestinationFits, Some("TNT-01"), MoveFault::CrashAfter, true)]
fn only_what_holds_under_every_fault_refutes(
    #[case] invariant: Invariant,
    #[case] requirement: Option<&str>,
    #[case] fault: MoveFault,
    #[case] refutes: bool,
) {
    let (plan, timeline) = two_copies(true, fault);
    let mut verdict = judge::judge(&plan, &timeline);
    verdict.findings = vec![finding(invariant, requirement)];
    (verdict.elsewhere, verdict.remarks, verdict.proposed) = Default::default();
    let shown = oracle::shown(&verdict, &[&a_move(fault)]);
    assert_eq!(
        (shown.deviations.len(), shown.leads.len()),
        (usize::from(refutes), usize::from(!refutes))
    );
    assert_eq!(Signature::of(&verdict.findings[0]).invariant(), Some(invariant));
}

#[test]
fn findings_of_steps_are_leads() {
    let (plan, timeline) = two_copies(false, MoveFault::Rival);
    let mut verdict = judge::judge(&plan, &timeline);
    verdict.findings = verdict.inconclusive.clone();
    (verdict.elsewhere, verdict.remarks, verdict.proposed) = Default::default();
    assert!(oracle::shown(&verdict, &[]).deviations.is_empty());
}

fn head(seed: u64) -> Head {
    let cases = [("a".to_owned(), Digest::of_json(&1))].into();
    Head::new("reference 0.1".to_owned(), "embedded".to_owned(), seed, cases)
}

fn line(plan: &str, outcome: Outcome) -> Line {
    Line {
        plan: plan.to_owned(),
        case: "a".to_owned(),
        moves: vec!["at patch 1 of Work on control: lose the answer".to_owned()],
        covers: vec![pair(MoveFault::LoseAnswer)],
        outcome,
        found: Vec::new(),
        shrunk: Vec::new(),
        reached: BTreeSet::new(),
    }
}

fn pair(fault: MoveFault) -> Pair {
    Pair {
        class: "patch Work on control: spec".to_owned(),
        fault,
    }
}

/// A journal with these entries.
fn written(seed: u64, entries: &[Entry]) -> String {
    let entries = entries.iter().map(|it| serde_json::to_string(it).unwrap());
    let lines = std::iter::once(serde_json::to_string(&head(seed)).unwrap()).chain(entries);
    lines.map(|line| line + "\n").collect()
}

#[test]
fn a_journal_is_read_up_to_the_line_that_a_killed_process_left() {
    let lines = [line("one", Outcome::Conforms), line("two", Outcome::Broken)];
    let known = [pair(MoveFault::LoseAnswer), pair(MoveFault::Rival)].into();
    let cut_off = &serde_json::to_string(&line("three", Outcome::Lead)).unwrap()[..30];
    let text = written(
        1,
        &[Entry::Known {
            known,
            baseline: BTreeSet::new(),
        }],
    ) + cut_off
        + "\n";
    let rest = written(1, &lines.clone().map(Entry::Plan));
    let (_, rest) = rest.split_once('\n').unwrap();
    let journal = Journal::read(&(text + rest)).unwrap();
    assert_eq!(journal.lines, lines);
    assert_eq!(journal.known.len(), 2);
    journal.check(&head(1)).unwrap();
}

#[rstest]
#[case::no_part_is_recorded(&[], &[], 0)]
#[case::a_whole_exploration(&[(1, 1, 5)], &[], 3)]
#[case::one_of_three(&[(2, 3, 4)], &["1/3", "3/3"], 2)]
#[case::two_of_three(&[(1, 3, 4), (2, 3, 4)], &["3/3"], 6)]
#[case::a_shard_and_the_whole(&[(2, 3, 4), (1, 1, 12)], &[], 10)]
#[case::a_shard_that_cannot_be(&[(2, 3, 4), (5, 3, 7)], &["1/3", "3/3"], 2)]
#[case::shards_of_two_splits(&[(1, 3, 4), (2, 3, 4), (1, 4, 3)], &["3/3"], 6)]
fn a_journal_knows_which_plans_it_lacks(
    #[case] parts: &[(usize, usize, usize)],
    #[case] missing: &[&str],
    #[case] not_run: usize,
) {
    let part = |(number, of, plans): &(usize, usize, usize)| {
        let shard = Shard {
            number: *number,
            of: *of,
        };
        Entry::Part(Part {
            shard,
            of: Some(Digest::of_bytes(b"all plans")),
            plans: *plans,
        })
    };
    let lines = [line("one", Outcome::Conforms), line("two", Outcome::Broken)].map(Entry::Plan);
    let entries: Vec<Entry> = parts.iter().map(part).chain(lines).collect();
    let journal = Journal::read(&written(1, &entries)).unwrap();
    let told: Vec<String> = journal.missing().iter().map(ToString::to_string).collect();
    assert_eq!(
        (told, journal.not_run()),
        (missing.iter().map(ToString::to_string).collect(), not_run)
    );
}

#[test]
fn shards_of_different_plans_are_not_merged() {
    let journal = |number: usize, of: usize, plans: &[u8]| {
        let part = Entry::Part(Part {
            shard: Shard { number, of },
            of: Some(Digest::of_bytes(plans)),
            plans: 4,
        });
        Journal::read(&written(1, &[part])).unwrap()
    };
    let mut merged = journal(1, 3, b"crashes");
    merged.merge(journal(2, 3, b"crashes")).unwrap();
    // A later exploration of the same cases with other faults is another split.
    merged.merge(journal(1, 1, b"lost answers")).unwrap();
    let error = merged.merge(journal(3, 3, b"lost answers")).unwrap_err();
    assert!(error.to_string().contains("its set of plans"), "{error}");
    assert_eq!(merged.missing().len(), 0);
}

#[test]
fn an_absurd_number_of_shards_is_no_burden() {
    let shard = Shard {
        number: 1,
        of: usize::MAX,
    };
    let part = Entry::Part(Part {
        shard,
        of: Some(Digest::of_bytes(b"all plans")),
        plans: usize::MAX,
    });
    let journal = Journal::read(&written(1, &[part])).unwrap();
    assert_eq!((journal.missing().len(), journal.not_run()), (100, usize::MAX));
}

#[test]
fn a_plan_without_a_result_is_replaced_by_a_later_one() {
    let lines = [
        line("one", Outcome::Broken),
        line("one", Outcome::Inconclusive),
        line("two", Outcome::Lead),
        line("one", Outcome::Conforms),
        line("two", Outcome::Broken),
    ];
    let journal = Journal::read(&written(1, &lines.map(Entry::Plan))).unwrap();
    let plans: Vec<_> = journal
        .plans()
        .iter()
        .map(|it| (it.plan.as_str(), it.outcome))
        .collect();
    assert_eq!(plans, [("one", Outcome::Conforms), ("two", Outcome::Lead)]);
}

#[test]
fn shards_are_merged_and_summed_up() {
    let known = || Entry::Known {
        known: [pair(MoveFault::LoseAnswer), pair(MoveFault::Rival)].into(),
        baseline: BTreeSet::new(),
    };
    let mut deviating = line("two", Outcome::Deviates);
    deviating.found = vec!["state is lost\n  seen nothing".to_owned()];
    let one = written(1, &[known(), Entry::Plan(line("one", Outcome::Conforms))]);
    let other = written(1, &[known(), Entry::Plan(deviating.clone())]);
    let mut merged = Journal::read(&one).unwrap();
    merged.merge(Journal::read(&other).unwrap()).unwrap();

    let rows = coverage::rows(&merged);
    assert_eq!(rows.len(), 1, "{rows:?}");
    let cell = |fault| {
        let column = MoveFault::ALL.iter().position(|it| *it == fault).unwrap();
        rows[0].cells[column].map(|it| (it.reached, it.plans))
    };
    assert_eq!(cell(MoveFault::LoseAnswer), Some((Reached::Deviates, 2)));
    assert_eq!(cell(MoveFault::Rival), Some((Reached::Untried, 0)));
    assert_eq!(cell(MoveFault::CutOff), None);
    let groups = coverage::groups(&merged, Outcome::Deviates);
    assert_eq!(
        groups.iter().map(|it| (it.first, it.plans)).collect::<Vec<_>>(),
        [(&deviating, 1)]
    );

    let of_another_seed = Journal::read(&written(2, &[])).unwrap();
    let error = merged.merge(of_another_seed).unwrap_err();
    assert!(matches!(error, JournalError::Other { field: "seed" }));
}

#[test]
fn a_journal_of_something_else_is_refused() {
    let of = |expected: &Head| Journal::read(&written(1, &[])).unwrap().check(expected).unwrap_err();
    assert!(matches!(of(&head(2)), JournalError::Other { field: "seed" }));
    let mut other = head(1);
    other.cases.insert("b".to_owned(), Digest::of_json(&2));
    assert!(matches!(of(&other), JournalError::Other { field: "set of cases" }));
    for text in [String::new(), json!({"format": 1}).to_string()] {
        assert!(matches!(Journal::read(&text), Err(JournalError::Head(_))), "{text}");
    }
    let text = written(1, &[]) + "{\"plan\": 3}\n";
    assert!(matches!(
        Journal::read(&text),
        Err(JournalError::Line { number: 2, .. })
    ));
}

#[rstest]
#[case::commands("- run: {command: drain}")]
#[case::stops(
    "- controller: {stop: {after: created, on: origin, of: {kind: Deployment, name: deploy}}}\n    - controller: start"
)]
#[case::moves("- move: {at: {write: Deployment, does: create, on: origin}, do: crashAfter}")]
fn what_cannot_be_explored_has_a_reason(#[case] step: &str) {
    let case = read(&format!("{FILE}    {step}\n"));
    assert_eq!(variant::obstacles(&case).len(), 1);
    assert_eq!(variant::obstacles(&read(FILE)), BTreeSet::new());
}
