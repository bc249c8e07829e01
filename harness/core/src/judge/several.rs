//! Assertions that are not about one object at one moment: which of two things came first, what a metric said.

use std::time::Duration;

use super::{
    Finding,
    finding::DifferenceKind,
    step_runs::{Judged, Ran},
};
use crate::{
    case::model::{Condition, Expect, MetricAssertion, Mode, Sequence},
    pattern::Mismatch,
    select,
    timeline::{Change, Entry, Event, Mark, ObjectId, Order, Revision, StepEnd, Timeline},
    watch::Known,
};

/// Judges whether one thing came before another, as far as both have come before the step.
pub fn order(
    number: usize,
    sequence: &Sequence,
    run: &Ran<'_>,
    timeline: &Timeline,
    (lost, judged): (&Option<String>, &mut Judged),
) {
    let proves = || sequence.proves.iter().cloned();
    if let Some(reason) = lost {
        return judged.leave_open(proves(), reason);
    }
    let entries = &timeline.entries()[..=run.entries.start];
    let known = Known::after(entries);
    let first = first_moment(&sequence.first, entries, &known);
    let then = first_moment(&sequence.then, entries, &known);
    let kind = if first.is_some() && then.is_some() {
        DifferenceKind::Order
    } else {
        DifferenceKind::Never
    };
    let seen = match (first, then) {
        (Some(first), Some(then)) if too_close(first, then, timeline) => {
            let reason = format!(
                "it is not known which of the two moments of step {} came first",
                number + 1
            );
            return judged.leave_open(proves(), &reason);
        }
        (Some((first, _)), Some((then, _))) if first.seq < then.seq => return judged.proved.extend(proves()),
        (Some((first, _)), Some((then, _))) => format!(
            "the other way round: {} at {} s, and {} at {} s",
            sequence.then,
            then.at.as_secs_f64(),
            sequence.first,
            first.at.as_secs_f64()
        ),
        (None, Some((then, _))) => format!(
            "{} at {} s; not seen so far: {}",
            sequence.then,
            then.at.as_secs_f64(),
            sequence.first
        ),
        (None, None) => format!("not seen so far: {}", sequence.first),
        (Some(_), None) => format!("not seen so far: {}", sequence.then),
    };
    let (entry, revision) = then
        .or(first)
        .map_or((&entries[run.entries.start], None), |(entry, it)| (entry, Some(it)));
    judged.findings.push(Finding {
        requirements: sequence.proves.clone(),
        field: None,
        kind,
        title: format!("order: {}, then {}", sequence.first.subject(), sequence.then.subject()),
        step: Some(number),
        expected: format!("first {}; then {}", sequence.first, sequence.then),
        seen,
        object: revision.map(ObjectId::of),
        seq: entry.seq,
        at: entry.at,
        mismatches: Vec::new(),
        follows: None,
    });
}

type Placed<'a> = (&'a Entry, &'a Revision);

/// The first revision of which a condition holds.
fn first_moment<'a>(condition: &Condition, entries: &'a [Entry], known: &Known) -> Option<Placed<'a>> {
    let place = select::place_of(&condition.of, &condition.on);
    let clusters = select::clusters(place, &known.bindings, &known.members);
    let holds = |revision: &Revision| {
        let gone = revision.change == Change::Deleted;
        match &condition.expect {
            Expect::Present => !gone,
            Expect::Absent => gone,
            Expect::Match(pattern) => !gone && pattern.matches(Some(&revision.object), &known.bindings),
            Expect::NoMatch(pattern) => gone || !pattern.matches(Some(&revision.object), &known.bindings),
            Expect::Count(_) => false,
        }
    };
    entries.iter().find_map(|entry| {
        let Event::Revision(revision) = &entry.event else {
            return None;
        };
        let id = ObjectId::of(revision);
        let meant =
            clusters.contains(&id.cluster) && select::is_subject(&condition.of, &id, &revision.object, &known.bindings);
        (meant && holds(revision)).then_some((entry, revision))
    })
}

/// Returns `true` if the order of two events is unknown. Events of one kind on one cluster are in order.
fn too_close(first: Placed<'_>, then: Placed<'_>, timeline: &Timeline) -> bool {
    let order = timeline.begin().map_or(Order::ARRIVAL, |begin| begin.order);
    let Order::Arrival { uncertainty_secs } = order else {
        return false;
    };
    let together = first.1.cluster == then.1.cluster && first.1.kind == then.1.kind;
    let uncertainty = Duration::try_from_secs_f64(uncertainty_secs).unwrap_or_default();
    !together && first.0.at.abs_diff(then.0.at) <= uncertainty
}

/// Judges what was scraped in a step.
pub fn metric(
    number: usize,
    assertion: &MetricAssertion,
    run: &Ran<'_>,
    timeline: &Timeline,
    (lost, judged): (&Option<String>, &mut Judged),
) {
    let proves = || assertion.proves.iter().cloned();
    if let Some(reason) = lost {
        return judged.leave_open(proves(), reason);
    }
    let entries = &timeline.entries()[run.entries.clone()];
    let bindings = Known::after(&timeline.entries()[..run.entries.start]).bindings;
    let scraped = entries.iter().filter_map(|entry| match &entry.event {
        Event::Mark(Mark::Scraped { samples }) => Some((entry, assertion.metric.mismatches(samples, &bindings))),
        Event::Mark(_) | Event::Revision(_) => None,
    });
    let scraped: Vec<(&Entry, Vec<Mismatch>)> = scraped.collect();
    let decisive = match assertion.mode {
        // Of several looks, the last one that was not like that; one that was settles it.
        Mode::Eventually => match scraped.iter().find(|(_, mismatches)| mismatches.is_empty()) {
            Some(held) => Some(held),
            None => scraped.last(),
        },
        Mode::Consistently(_) => {
            let broken = scraped.iter().find(|(_, mismatches)| !mismatches.is_empty());
            broken.or(scraped.last())
        }
        Mode::Now | Mode::Observed | Mode::Never | Mode::FirstSeen => scraped.first(),
    };
    let Some((entry, mismatches)) = decisive else {
        return judged.leave_open(proves(), "the run ended before the metrics were looked at");
    };
    if mismatches.is_empty() {
        return judged.proved.extend(proves());
    }
    let waited = match &run.end {
        Some((StepEnd::TimedOut { waited_secs, .. }, _)) => format!(", for {waited_secs} s"),
        _ => String::new(),
    };
    judged.findings.push(Finding {
        requirements: assertion.proves.clone(),
        field: Some(assertion.metric.name.clone()),
        kind: mismatches.first().map_or(DifferenceKind::Different, |first| first.kind),
        title: format!("{}: a metric", assertion.mode),
        step: Some(number),
        expected: assertion.metric.to_string(),
        seen: format!("another value{waited}"),
        object: None,
        seq: entry.seq,
        at: entry.at,
        mismatches: mismatches.clone(),
        follows: None,
    });
}
