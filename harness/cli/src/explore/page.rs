//! The page of an exploration: one HTML file without scripts and external resources.

use baton_core::{
    case::model::MoveFault,
    explore::{
        coverage::{self, Cell, Group, Reached},
        journal::{Journal, Line, Outcome},
        map,
        shrink::Shrunk,
    },
};
use minijinja::{AutoEscape, Environment, Error, value::Serde};
use serde::Serialize;

use super::{Explored, shards};

const TEMPLATE: &str = include_str!("page/explored.html");

/// Data of the template.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct View<'a> {
    journal: About<'a>,
    outcomes: Vec<(&'static str, usize)>,
    /// Plans that were not run.
    left: usize,
    /// Parts of the plans that are missing, for people; empty if there are none.
    missing: String,
    tried: usize,
    known: usize,
    /// Deviations, then leads.
    found: Vec<Found<'a>>,
    /// File names of cases that replay deviations.
    cases: &'a [String],
    /// States and transitions as SVG.
    map: String,
    states: usize,
    faults: Vec<&'static str>,
    rows: Vec<Row>,
}

/// The first line of the journal.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct About<'a> {
    target: &'a str,
    backend: &'a str,
    seed: u64,
    baton: &'a str,
    cases: usize,
}

/// Plans that found the same.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Found<'a> {
    word: &'static str,
    plans: usize,
    case: &'a str,
    moves: &'a [String],
    shown: &'a [String],
    /// The result of shrinking the first plan, for each finding.
    shrunk: &'a [Shrunk],
}

/// A class of writes.
#[derive(Debug, Serialize)]
struct Row {
    class: String,
    cells: Vec<Option<ShownCell>>,
}

/// A cell: CSS class, sign and title.
#[derive(Debug, Serialize)]
struct ShownCell {
    class: &'static str,
    sign: &'static str,
    title: String,
}

impl From<Cell> for ShownCell {
    fn from(Cell { reached, plans }: Cell) -> Self {
        let (class, sign, words) = match reached {
            Reached::Untried => ("untried", "·", "not tried"),
            Reached::NotHappened => ("absent", "–", "did not happen"),
            Reached::Conforms => ("conforms", "✓", "conforms"),
            Reached::Broken => ("broken", "!", "a run has no result"),
            Reached::Lead => ("lead", "?", "lead"),
            Reached::Deviates => ("deviates", "✗", "deviates"),
        };
        Self {
            class,
            sign,
            title: format!("{words}; {plans} plans"),
        }
    }
}

fn found<'a>(word: &'static str, Group { first, plans }: Group<'a>) -> Found<'a> {
    let Line {
        case,
        moves,
        found,
        shrunk,
        ..
    } = first;
    Found {
        word,
        plans,
        case,
        moves,
        shown: found,
        shrunk,
    }
}

/// Renders the page of a journal. `cases`: file names of the cases that replay its deviations.
///
/// # Errors
/// [`Error`] if the template is invalid.
pub fn render(journal: &Journal, cases: &[String]) -> Result<String, Error> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_template("page", TEMPLATE)?;
    let explored = Explored::of(journal);
    let deviations = coverage::groups(journal, Outcome::Deviates).into_iter();
    let leads = coverage::groups(journal, Outcome::Lead).into_iter();
    let rows = coverage::rows(journal).into_iter();
    let view = View {
        journal: About {
            target: &journal.head.target,
            backend: &journal.head.backend,
            seed: journal.head.seed,
            baton: &journal.head.baton,
            cases: journal.head.cases.len(),
        },
        outcomes: explored.plans.into_iter().collect(),
        left: explored.left,
        missing: if explored.missing.is_empty() {
            String::new()
        } else {
            shards(&explored.missing)
        },
        tried: explored.tried.len(),
        map: map::svg(journal),
        states: map::states(explored.baseline.iter().chain(&explored.reached)).len(),
        known: explored.known.len(),
        found: deviations
            .map(|it| found("deviates", it))
            .chain(leads.map(|it| found("lead", it)))
            .collect(),
        cases,
        faults: MoveFault::ALL.map(MoveFault::name).to_vec(),
        rows: rows
            .map(|row| Row {
                class: row.class,
                cells: row.cells.into_iter().map(|cell| cell.map(ShownCell::from)).collect(),
            })
            .collect(),
    };
    environment.get_template("page")?.render(Serde(view))
}
