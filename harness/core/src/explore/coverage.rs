//! Coverage of an exploration: for each class of writes and each fault, the worst result of its plans.

use std::collections::BTreeMap;

use super::journal::{Journal, Line, Outcome};
use crate::case::model::MoveFault;

/// Result of a pair of a class of writes and a fault, from the least to the most interesting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reached {
    /// No plan with it was run.
    Untried,
    /// Its plans were run, and the write did not come.
    NotHappened,
    /// Nothing was found.
    Conforms,
    /// A run has no result.
    Broken,
    /// Something is odd.
    Lead,
    /// An invariant is broken.
    Deviates,
}

impl Reached {
    fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Conforms => Self::Conforms,
            Outcome::Deviates => Self::Deviates,
            Outcome::Lead => Self::Lead,
            Outcome::NotHappened => Self::NotHappened,
            Outcome::Inconclusive | Outcome::Broken => Self::Broken,
        }
    }
}

/// A pair of a class of writes and a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// The worst result.
    pub reached: Reached,
    /// Number of plans that were run with it.
    pub plans: usize,
}

/// A class of writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The class.
    pub class: String,
    /// A cell for each of [`MoveFault::ALL`]; `None` if the fault cannot be injected at these writes, or was left out.
    pub cells: Vec<Option<Cell>>,
}

/// The coverage of an exploration, by class in alphabetical order.
pub fn rows(journal: &Journal) -> Vec<Row> {
    let mut cells: BTreeMap<(&str, MoveFault), Cell> = BTreeMap::new();
    let untried = Cell {
        reached: Reached::Untried,
        plans: 0,
    };
    for pair in &journal.known {
        cells.insert((&pair.class, pair.fault), untried);
    }
    for line in journal.plans() {
        for pair in &line.covers {
            let cell = cells.entry((&pair.class, pair.fault)).or_insert(untried);
            cell.plans += 1;
            cell.reached = cell.reached.max(Reached::of(line.outcome));
        }
    }
    let mut rows: Vec<Row> = Vec::new();
    for ((class, fault), cell) in cells {
        if rows.last().is_none_or(|row| row.class != class) {
            rows.push(Row {
                class: class.to_owned(),
                cells: vec![None; MoveFault::ALL.len()],
            });
        }
        let column = MoveFault::ALL.iter().position(|it| *it == fault);
        if let (Some(row), Some(column)) = (rows.last_mut(), column) {
            row.cells[column] = Some(cell);
        }
    }
    rows
}

/// Plans that show the same, with the first of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group<'a> {
    /// The first plan.
    pub first: &'a Line,
    /// Number of plans.
    pub plans: usize,
}

/// The plans with an outcome, grouped by the first line of their first finding, in the order of their first plans.
pub fn groups(journal: &Journal, outcome: Outcome) -> Vec<Group<'_>> {
    let mut places = BTreeMap::new();
    let mut groups: Vec<Group<'_>> = Vec::new();
    for line in journal.plans().into_iter().filter(|line| line.outcome == outcome) {
        let title = line.found.first().and_then(|it| it.lines().next()).unwrap_or_default();
        let place = *places.entry(title).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.plans += 1,
            None => groups.push(Group { first: line, plans: 1 }),
        }
    }
    groups
}
