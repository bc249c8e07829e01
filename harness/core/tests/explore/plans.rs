//! Plans: their order, pairs, random plans, and plans with less than one that found something.

use std::{collections::BTreeSet, time::Duration};

use baton_core::{
    case::model::{MoveFault, Place},
    explore::{
        points::Point,
        shrink,
        space::{self, Random},
    },
};

use crate::{a_move, at, base, read};

fn point(class: &str, verb: &str, nth: u64) -> Point {
    Point {
        step: 0,
        is_tainted: false,
        has_failover_policy: false,
        at: at("ResourceBinding", verb, nth),
        class: class.to_owned(),
    }
}

#[test]
fn each_class_comes_once_before_any_comes_again_over_all_cases() {
    let one = [point("a", "patch", 1), point("a", "patch", 2), point("b", "patch", 3)];
    let other = [point("b", "patch", 1), point("c", "patch", 2)];
    let plans = space::plans(&[&one, &other], &[MoveFault::Rival], 1, 0);
    let order: Vec<(usize, &str)> = plans
        .iter()
        .map(|(case, plan)| (*case, plan.covers[0].class.as_str()))
        .collect();
    assert_eq!(order, [(0, "a"), (0, "b"), (1, "c"), (0, "a"), (1, "b")]);
}

#[test]
fn faults_are_tried_where_they_can_happen() {
    let on_control = [point("create", "create", 1)];
    let faults = |points: &[Point]| -> BTreeSet<MoveFault> {
        let plans = space::plans(&[points], &MoveFault::ALL, 1, 0);
        plans.iter().map(|(_, plan)| plan.moves[0].1.fault).collect()
    };
    let tried = faults(&on_control);
    assert!(!tried.contains(&MoveFault::Rival), "a creation has no rival");
    assert!(!tried.contains(&MoveFault::CutOff), "the control plane is not cut off");
    assert!(!tried.contains(&MoveFault::FlapTaints), "a taint comes later");
    assert!(
        !tried.contains(&MoveFault::TaintCluster),
        "the control plane has no taints"
    );
    assert!(
        !tried.contains(&MoveFault::EditPolicies),
        "the case has not applied a policy yet"
    );
    let mut on_member = point("patch", "patch", 1);
    on_member.at.on = Place::Members;
    on_member.is_tainted = true;
    on_member.has_failover_policy = true;
    assert_eq!(faults(&[on_member]), MoveFault::ALL.into_iter().collect());
}

#[test]
fn pairs_come_after_single_moves_and_their_second_move_is_later() {
    let points = [point("a", "patch", 1), point("b", "patch", 2), point("c", "patch", 3)];
    let faults = [MoveFault::Rival, MoveFault::LoseAnswer];
    let plans = |seed| space::plans(&[&points], &faults, 2, seed);
    let lengths: Vec<usize> = plans(0).iter().map(|(_, plan)| plan.moves.len()).collect();
    assert_eq!(lengths, [vec![1; 6], vec![2; 12]].concat());
    let pairs = plans(0).split_off(6);
    assert!(
        pairs
            .iter()
            .all(|(_, plan)| plan.moves[0].1.at.nth < plan.moves[1].1.at.nth)
    );
    assert_eq!(plans(0), plans(0));
    assert_ne!(plans(0), plans(1), "the order of pairs depends on the seed");
}

#[test]
fn random_plans_have_two_to_six_moves_at_different_writes_and_the_seed_decides_them() {
    let points: Vec<Point> = (1..=20).map(|nth| point("a", "patch", nth)).collect();
    let plans = |seed| space::random(&[&[], &points], &MoveFault::ALL, &Random::plans(50), seed);
    let drawn = plans(3);
    assert!(drawn.len() > 40, "{}", drawn.len());
    for (case, plan) in &drawn {
        assert_eq!(*case, 1, "the first case has no writes");
        assert!((2..=6).contains(&plan.moves.len()), "{plan:?}");
        let writes: BTreeSet<u64> = plan.moves.iter().map(|(_, it)| it.at.nth).collect();
        assert_eq!(writes.len(), plan.moves.len(), "{plan:?}");
        assert_eq!(plan.covers.len(), plan.moves.len());
    }
    let one_kind = |(_, plan): &&(usize, space::Plan)| {
        let faults: BTreeSet<MoveFault> = plan.moves.iter().map(|(_, it)| it.fault).collect();
        faults.len() == 1
    };
    assert!(
        drawn.iter().filter(one_kind).count() > 0,
        "some plans have one fault only"
    );
    assert_eq!(drawn, plans(3));
    assert_ne!(drawn, plans(4));
    assert_eq!(space::random(&[&[]], &MoveFault::ALL, &Random::plans(5), 3), []);
    assert_eq!(space::plans(&[&points], &MoveFault::ALL, 0, 3), []);
}

#[test]
fn random_plans_have_as_many_moves_as_asked_for() {
    let points: Vec<Point> = (1..=20).map(|nth| point("a", "patch", nth)).collect();
    for moves in [2, 5] {
        let random = Random {
            number: 50,
            moves: moves..=moves,
        };
        let drawn = space::random(&[&points[..4], &points], &MoveFault::ALL, &random, 3);
        assert!(drawn.len() > 10, "{}", drawn.len());
        let cases: BTreeSet<usize> = drawn.iter().map(|(case, _)| *case).collect();
        assert_eq!(cases.contains(&0), moves < 5, "the first case has four writes");
        assert!(drawn.iter().all(|(_, plan)| plan.moves.len() == moves), "{drawn:?}");
    }
}

#[test]
fn a_smaller_plan_lacks_one_move() {
    let (one, other) = ((0, a_move(MoveFault::Rival)), (1, a_move(MoveFault::LoseAnswer)));
    let smaller = shrink::fewer_moves(&[one.clone(), other.clone()]);
    assert_eq!(smaller, [vec![other], vec![one.clone()]]);
    assert!(shrink::fewer_moves(&[one]).is_empty());
}

#[test]
fn a_plan_shrinks_to_fewer_moves_then_weaker_ones_then_fewer_steps() {
    let mut crash = a_move(MoveFault::CrashAfter);
    crash.lasts = Duration::from_secs(30);
    let moves = [(5, crash), (6, a_move(MoveFault::Rival))];
    let base = base();
    let candidates = shrink::candidates(&base, &moves);
    let lengths: Vec<usize> = candidates.iter().map(|it| it.moves.len()).collect();
    assert_eq!(lengths[..3], [1, 1, 2]);
    assert_eq!(candidates[2].moves[0].1, a_move(MoveFault::CrashAfter));
    // Six steps without the time at the end: halves, then single ones.
    let steps = |it: &shrink::Candidate| read(&it.base.with("variant", &[], None)).steps.len();
    let whole = steps(&candidates[0]);
    let smaller = &candidates[3..];
    assert!(smaller.iter().all(|it| it.has_fewer_steps && it.moves.len() == 2));
    assert_eq!(smaller.len(), 2 + 6);
    let of_last = smaller.last().unwrap();
    assert_eq!(steps(of_last), whole - 1);
    assert_eq!(of_last.moves[0].0, 5, "the move stands before a step that is left");
    let of_first = &smaller[2];
    assert_eq!(of_first.base.removable_steps(), base.removable_steps() - 1);
    assert_eq!((of_first.moves[0].0, of_first.moves[1].0), (4, 5));
}

#[test]
fn the_weakest_moves_of_a_case_without_steps_do_not_shrink() {
    let base = base();
    let empty = base.without_steps(0..base.removable_steps());
    assert_eq!(empty.removable_steps(), 0);
    for fault in [MoveFault::LoseAnswer, MoveFault::LoseRequest, MoveFault::Rival] {
        assert_eq!(shrink::candidates(&empty, &[(0, a_move(fault))]), []);
    }
    let weaker = shrink::candidates(&empty, &[(0, a_move(MoveFault::CrashBefore))]);
    assert_eq!(weaker[0].moves[0].1.fault, MoveFault::LoseRequest);
}
