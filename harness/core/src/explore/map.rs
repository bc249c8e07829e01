//! The map of an exploration: the states of workloads as boxes, one column for each phase, and the transitions between them as
//! lines, as SVG.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use super::{
    journal::{Journal, Outcome},
    states::{Phase, Transition},
};

/// The most interesting run that had a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Had {
    /// A run without faults.
    Baseline,
    /// A plan that found nothing, or a lead.
    Plan,
    /// A plan that deviates.
    Deviation,
}

impl Had {
    /// CSS class.
    fn class(self) -> &'static str {
        match self {
            Self::Baseline => "calm",
            Self::Plan => "new",
            Self::Deviation => "bad",
        }
    }
}

const WIDTH: usize = 190;
const HEIGHT: usize = 36;
const GAP_X: usize = 60;
const GAP_Y: usize = 14;
const TOP: usize = 30;

/// Draws the map of a journal; an empty text if no workload changed its state.
pub fn svg(journal: &Journal) -> String {
    let transitions = transitions(journal);
    let mut states: BTreeMap<&str, Had> = BTreeMap::new();
    for (transition, had) in &transitions {
        for state in [&transition.from, &transition.to] {
            let of_state = states.entry(state).or_insert(*had);
            *of_state = (*of_state).min(*had);
        }
    }
    let mut columns = vec![Vec::new(); Phase::ALL.len()];
    for state in states.keys() {
        if let Some(column) = Phase::ALL.iter().position(|phase| Phase::of(state) == Some(*phase)) {
            columns[column].push(*state);
        }
    }
    let rows = columns.iter().map(Vec::len).max().unwrap_or_default();
    if rows == 0 {
        return String::new();
    }
    let places: BTreeMap<&str, (usize, usize)> = columns
        .iter()
        .enumerate()
        .flat_map(|(column, states)| {
            states
                .iter()
                .enumerate()
                .map(move |(row, state)| (*state, (column, row)))
        })
        .map(|(state, (column, row))| (state, (column * (WIDTH + GAP_X), TOP + row * (HEIGHT + GAP_Y))))
        .collect();
    let width = Phase::ALL.len() * (WIDTH + GAP_X) - GAP_X;
    let height = TOP + rows * (HEIGHT + GAP_Y);
    let mut svg = format!(
        r#"<svg class="map" role="img" aria-label="States and transitions" viewBox="-4 0 {} {height}" width="{}" height="{height}">"#,
        width + 8,
        width + 8
    );
    for (column, phase) in Phase::ALL.into_iter().enumerate() {
        let x = column * (WIDTH + GAP_X);
        put(
            &mut svg,
            format_args!(r#"<text class="phase" x="{x}" y="16">{}</text>"#, phase.name()),
        );
    }
    for (transition, had) in &transitions {
        if let (Some(from), Some(to)) = (places.get(&*transition.from), places.get(&*transition.to)) {
            line(&mut svg, *from, *to, transition, *had);
        }
    }
    for (state, (x, y)) in &places {
        let had = states.get(state).map_or("", |had| had.class());
        put(
            &mut svg,
            format_args!(r#"<rect class="{had}" x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="4"/>"#),
        );
        let text = state.split_once(": ").map_or(*state, |(_, text)| text);
        let (first, second) = text
            .match_indices(", ")
            .nth(1)
            .map_or((text, ""), |(at, _)| text.split_at(at));
        for (text, down) in [(first, 15), (second.trim_start_matches(", "), 29)] {
            put(
                &mut svg,
                format_args!(r#"<text x="{}" y="{}">{text}</text>"#, x + 8, y + down),
            );
        }
    }
    svg.push_str("</svg>");
    svg
}

/// All transitions, with the most interesting run that had them.
fn transitions(journal: &Journal) -> Vec<(&Transition, Had)> {
    let mut all: BTreeMap<&Transition, Had> = journal.baseline.iter().map(|it| (it, Had::Baseline)).collect();
    for line in journal.plans() {
        let had = match line.outcome {
            Outcome::Deviates => Had::Deviation,
            Outcome::Conforms | Outcome::Lead | Outcome::NotHappened | Outcome::Inconclusive | Outcome::Broken => {
                Had::Plan
            }
        };
        for transition in &line.reached {
            let of_transition = all.entry(transition).or_insert(had);
            *of_transition = (*of_transition).max(had);
        }
    }
    all.into_iter().collect()
}

/// Draws a transition: between columns as a curve from side to side, within a column as an arc on the left.
fn line(svg: &mut String, from: (usize, usize), to: (usize, usize), transition: &Transition, had: Had) {
    let middle = |y: usize| y + HEIGHT / 2;
    let (from_y, to_y) = (middle(from.1), middle(to.1));
    let (start, end, bend_start, bend_end) = match from.0.cmp(&to.0) {
        Ordering::Less => {
            let (start, end) = (from.0 + WIDTH, to.0);
            (start, end, start + GAP_X / 2, end - GAP_X / 2)
        }
        Ordering::Greater => {
            let (start, end) = (from.0, to.0 + WIDTH);
            (start, end, start - GAP_X / 2, end + GAP_X / 2)
        }
        Ordering::Equal => {
            let side = from.0 + WIDTH;
            (side, side, side + GAP_X / 2, side + GAP_X / 2)
        }
    };
    let Transition { from, to } = transition;
    put(
        svg,
        format_args!(
            r#"<path class="{}" d="M{start} {from_y}C{bend_start} {from_y} {bend_end} {to_y} {end} {to_y}"><title>{from} → {to}</title></path>"#,
            had.class()
        ),
    );
}

/// Adds text. Writing into memory cannot fail.
fn put(svg: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = svg.write_fmt(text);
}

/// The states of some transitions.
pub fn states<'a>(transitions: impl IntoIterator<Item = &'a Transition>) -> BTreeSet<&'a str> {
    let both = |it: &'a Transition| [it.from.as_str(), it.to.as_str()];
    transitions.into_iter().flat_map(both).collect()
}
