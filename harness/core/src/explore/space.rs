//! The plans of an exploration, in the order in which they are tried.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
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

/// Time for which taints stay away in the second variant: long enough for a failover to end.
const AWAY: Duration = Duration::from_secs(120);

/// The reason why a fault cannot be injected at a point.
pub fn obstacle(fault: MoveFault, point: &Point) -> Option<&'static str> {
    match fault {
        MoveFault::Rival if point.at.verb == "create" => Some("an object that is created has no rival"),
        MoveFault::CutOff if point.at.on == Place::Control => Some("only members can be cut off"),
        MoveFault::TaintCluster if point.at.on == Place::Control => Some("the control plane has no taints"),
        MoveFault::EditPolicies if !point.has_failover_policy => Some("no policy of the case has spec.failover"),
        MoveFault::FlapTaints if !point.is_tainted => Some("no cluster has a taint of a user yet"),
        MoveFault::Rival
        | MoveFault::CutOff
        | MoveFault::CrashBefore
        | MoveFault::CrashAfter
        | MoveFault::LoseRequest
        | MoveFault::LoseAnswer
        | MoveFault::BreakConnections
        | MoveFault::HoldWatches
        | MoveFault::HoldKind
        | MoveFault::ExpireWatches
        | MoveFault::RefuseReads
        | MoveFault::StaleRestart
        | MoveFault::FlapTaints
        | MoveFault::TaintCluster
        | MoveFault::EditPolicies => None,
    }
}

/// Faults that can be injected at a point, with their durations.
fn faults_at(point: &Point) -> Vec<(MoveFault, Duration)> {
    let mut faults = Vec::new();
    for fault in MoveFault::ALL.into_iter().filter(|it| obstacle(*it, point).is_none()) {
        faults.push((fault, fault.default_duration()));
        match fault {
            MoveFault::CrashAfter => faults.push((fault, DOWN)),
            MoveFault::FlapTaints => faults.push((fault, AWAY)),
            _ => {}
        }
    }
    faults
}

/// Most plans with two moves.
const MOST_PAIRS: usize = 1_000_000;

/// The plans for the points of several cases, each with the number of its case: single moves at classes of writes that no plan
/// before has tried, then all other single moves; if `depth` is 2, pairs in an order that the seed decides. None if `depth`
/// is 0.
pub fn plans(cases: &[&[Point]], wanted: &[MoveFault], depth: usize, seed: u64) -> Vec<(usize, Plan)> {
    let mut tried = BTreeSet::new();
    let (mut first, mut others) = (Vec::new(), Vec::new());
    if depth == 0 {
        return first;
    }
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

/// A number that depends on a seed and two numbers.
fn key(seed: u64, first: usize, second: usize) -> u64 {
    let digest = Sha256::digest(format!("{seed} {first} {second}"));
    digest.iter().take(8).fold(0, |key, byte| key << 8 | u64::from(*byte))
}

/// Random plans of an exploration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Random {
    /// Number of plans that are drawn. There are fewer if some are drawn twice.
    pub number: usize,
    /// Number of moves of each plan.
    pub moves: RangeInclusive<usize>,
}

impl Random {
    /// Returns a number of plans with two to six moves each.
    pub fn plans(number: usize) -> Self {
        Self { number, moves: 2..=6 }
    }
}

/// Draws random plans, each with the number of its case. The seed decides them. Each plan draws the faults that it may have
/// before it draws moves, so that some plans have one kind of fault only.
pub fn random(cases: &[&[Point]], wanted: &[MoveFault], of: &Random, seed: u64) -> Vec<(usize, Plan)> {
    let (least, most) = (*of.moves.start(), *of.moves.end());
    let with_points: Vec<usize> = (0..cases.len()).filter(|case| cases[*case].len() >= least).collect();
    let mut plans = Vec::new();
    if with_points.is_empty() {
        return plans;
    }
    let mut known = BTreeSet::new();
    for plan in 0..of.number {
        let mut numbers = Draws { seed, plan, drawn: 0 };
        let case = with_points[numbers.below(with_points.len())];
        let points = cases[case];
        let some: Vec<MoveFault> = wanted.iter().copied().filter(|_| numbers.below(2) == 0).collect();
        let faults = if some.is_empty() { wanted } else { &some };
        let moves = least + numbers.below(most.min(points.len()) - least + 1);
        let mut at_points = BTreeSet::new();
        while at_points.len() < moves {
            at_points.insert(numbers.below(points.len()));
        }
        let mut drawn: Vec<PlannedMove> = Vec::new();
        let mut identity = Vec::new();
        for index in at_points {
            let mut possible: Vec<PlannedMove> = at(&points[index], faults).collect();
            if possible.is_empty() {
                continue;
            }
            let one = possible.swap_remove(numbers.below(possible.len()));
            identity.push((index, one.0.1.fault, one.0.1.lasts));
            drawn.push(one);
        }
        if drawn.len() >= least && known.insert((case, identity)) {
            let (moves, covers) = drawn.into_iter().unzip();
            plans.push((case, Plan { moves, covers }));
        }
    }
    plans
}

/// Random numbers of a plan.
struct Draws {
    seed: u64,
    plan: usize,
    drawn: usize,
}

impl Draws {
    /// A number below `limit`, which is not zero.
    fn below(&mut self, limit: usize) -> usize {
        self.drawn += 1;
        let number = key(self.seed, self.plan, self.drawn);
        // The remainder is smaller than `limit`, which fits.
        usize::try_from(number % limit as u64).unwrap_or_default()
    }
}
