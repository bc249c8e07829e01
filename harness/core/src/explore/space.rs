//! The plans of an exploration, in the order in which they are tried.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use sha2::{Digest as _, Sha256};

use super::{journal::Pair, points::Point};
use crate::case::model::{Move, MoveFault, Place};

/// A plan: moves, each before a step of the variant's file, with the numbers of their points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The moves.
    pub moves: Vec<(usize, Move)>,
    /// Class of the point and fault of each move, for coverage.
    pub covers: Vec<Pair>,
}

/// Time for which a crashed target stays down in the second variant: less than any timeout of a step.
const DOWN: Duration = Duration::from_secs(30);

/// Faults that can be injected at a point, with their durations.
fn faults_at(point: &Point) -> Vec<(MoveFault, Duration)> {
    let mut faults = Vec::new();
    for fault in MoveFault::ALL {
        let fits = match fault {
            MoveFault::Rival => point.at.verb != "create",
            MoveFault::CutOff => point.at.on != Place::Control,
            MoveFault::CrashBefore
            | MoveFault::CrashAfter
            | MoveFault::LoseRequest
            | MoveFault::LoseAnswer
            | MoveFault::BreakConnections
            | MoveFault::HoldWatches => true,
        };
        if fits {
            faults.push((fault, fault.default_duration()));
        }
        if fault == MoveFault::CrashAfter {
            faults.push((fault, DOWN));
        }
    }
    faults
}

/// Most plans with two moves.
const MOST_PAIRS: usize = 1_000_000;

/// The plans for the points of several cases, each with the number of its case: single moves at classes of writes that no plan
/// before has tried, then all other single moves; if `depth` is 2, pairs in an order that the seed decides.
pub fn plans(cases: &[&[Point]], wanted: &[MoveFault], depth: usize, seed: u64) -> Vec<(usize, Plan)> {
    let mut tried = BTreeSet::new();
    let (mut first, mut others) = (Vec::new(), Vec::new());
    for (case, points) in cases.iter().enumerate() {
        for plan in singles(points, wanted) {
            let is_new = tried.insert(plan.covers.clone());
            if is_new { &mut first } else { &mut others }.push((case, plan));
        }
    }
    first.append(&mut others);
    if depth > 1 && !cases.is_empty() {
        let most = MOST_PAIRS / cases.len();
        let of_cases = cases.iter().enumerate();
        let mut keyed: Vec<_> = of_cases
            .flat_map(|(case, points)| pairs(points, wanted, seed, most).map(move |(key, plan)| (key, case, plan)))
            .collect();
        keyed.sort_by_key(|(key, case, _)| (*key, *case));
        first.extend(keyed.into_iter().map(|(_, case, plan)| (case, plan)));
    }
    first
}

/// Plans with one move: the first point of every class with every fault, then the second of every class, and so on.
fn singles(points: &[Point], wanted: &[MoveFault]) -> Vec<Plan> {
    let mut by_class: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, point) in points.iter().enumerate() {
        by_class.entry(&point.class).or_default().push(index);
    }
    // Ordered by the time of their first points: a run that is cut short has covered the beginning of the failover.
    let mut classes: Vec<&Vec<usize>> = by_class.values().collect();
    classes.sort();
    let most = classes.iter().map(|it| it.len()).max().unwrap_or_default();
    let mut plans = Vec::new();
    for rank in 0..most {
        for index in classes.iter().filter_map(|class| class.get(rank)) {
            plans.extend(at(&points[*index], wanted).map(|(it, covers)| Plan {
                moves: vec![it],
                covers: vec![covers],
            }));
        }
    }
    plans
}

/// Plans with two moves, the second at a later point than the first, at most `most`: each with the number that orders it.
fn pairs(points: &[Point], wanted: &[MoveFault], seed: u64, most: usize) -> impl Iterator<Item = (u64, Plan)> {
    let mut moves = Vec::new();
    for (index, point) in points.iter().enumerate() {
        moves.extend(at(point, wanted).map(|it| (index, it)));
    }
    let mut keyed = Vec::new();
    for (first, one) in moves.iter().enumerate() {
        for (second, other) in moves.iter().enumerate().skip(first + 1) {
            if one.0 < other.0 {
                keyed.push((key(seed, first, second), first, second));
            }
        }
    }
    keyed.sort_unstable();
    keyed.truncate(most);
    keyed.into_iter().map(move |(key, first, second)| {
        let [(it, one), (other, two)] = [first, second].map(|index| moves[index].1.clone());
        let plan = Plan {
            moves: vec![it, other],
            covers: vec![one, two],
        };
        (key, plan)
    })
}

type PlannedMove = ((usize, Move), Pair);

fn at<'a>(point: &'a Point, wanted: &'a [MoveFault]) -> impl Iterator<Item = PlannedMove> + 'a {
    let faults = faults_at(point).into_iter().filter(|(fault, _)| wanted.contains(fault));
    faults.map(|(fault, lasts)| {
        let it = Move {
            at: point.at.clone(),
            fault,
            lasts,
        };
        let pair = Pair {
            class: point.class.clone(),
            fault,
        };
        ((point.step, it), pair)
    })
}

/// Position of a pair in the order of a seed.
fn key(seed: u64, first: usize, second: usize) -> u64 {
    let digest = Sha256::digest(format!("{seed} {first} {second}"));
    digest.iter().take(8).fold(0, |key, byte| key << 8 | u64::from(*byte))
}

/// Plans with fewer moves than one that found something.
pub fn smaller(moves: &[(usize, Move)]) -> Vec<Vec<(usize, Move)>> {
    if moves.len() < 2 {
        return Vec::new();
    }
    let without = |left_out: usize| {
        let kept = moves.iter().enumerate().filter(|(index, _)| *index != left_out);
        kept.map(|(_, it)| it.clone()).collect()
    };
    (0..moves.len()).map(without).collect()
}
