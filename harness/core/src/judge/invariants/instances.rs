//! Several instances of the target: which of them writes.

use std::collections::BTreeSet;

use super::{Found, finding};
use crate::{
    case::model::Invariant,
    timeline::{HARNESS, Mark, ObjectId, Revision, Timeline},
};

/// Kinds by which instances agree on who leads: all of them write those.
const OF_ELECTION: [&str; 2] = ["Lease", "Namespace"];

/// The user agents under which the instances of the target write, as far as it says.
pub(super) fn writers(timeline: &Timeline) -> BTreeSet<&str> {
    let named = timeline.marks().filter_map(|(_, mark)| match mark {
        Mark::Writers(writers) => Some(writers),
        _ => None,
    });
    named.flatten().map(String::as_str).collect()
}

/// The names under which the target writes.
pub(super) struct Target<'a>(BTreeSet<&'a str>);

impl<'a> Target<'a> {
    pub(super) fn of(timeline: &'a Timeline) -> Self {
        Self(writers(timeline))
    }

    /// Returns `true` if the target made a revision, and `None` if the writer is unknown. A recording does not name the
    /// target: all writers but the harness count as the target.
    pub(super) fn wrote(&self, revision: &Revision) -> Option<bool> {
        let by = revision.by.as_deref()?;
        Some(if self.0.is_empty() {
            !HARNESS.contains(&by)
        } else {
            self.0.contains(by)
        })
    }
}

/// EVQ-07: once another instance writes, the one before it never does again. Whoever leads may change; that two of them
/// write by turns means that both think they do.
pub(super) fn one_writes(timeline: &Timeline) -> Found {
    let mut found = Found::default();
    let writers = writers(timeline);
    if writers.len() < 2 {
        return found;
    }
    let mut before: BTreeSet<&str> = BTreeSet::new();
    let mut present: Option<&str> = None;
    for (entry, revision) in timeline.revisions() {
        let by = revision.by.as_deref().filter(|by| writers.contains(by));
        let Some(by) = by.filter(|_| !OF_ELECTION.contains(&revision.kind.as_str())) else {
            continue;
        };
        if let Some(other) = present.filter(|other| *other != by) {
            found.judged += 1;
            before.insert(other);
            if before.contains(by) {
                found.findings.push(finding(
                    Invariant::OneInstanceWrites,
                    entry,
                    Some(ObjectId::of(revision)),
                    format!("no write of {by:?} after {other:?} has written"),
                    format!("a write of {by:?}"),
                ));
            }
        }
        present = Some(by);
    }
    found
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use serde_json::json;

    use super::*;
    use crate::{
        names::ClusterName,
        timeline::{Change, Entry, Event},
    };

    fn timeline(writes: &[(&str, &str)]) -> Timeline {
        let mark = Event::Mark(Mark::Writers(["a", "b"].map(str::to_owned).into()));
        let write = |(by, kind): &(&str, &str)| {
            Event::Revision(Revision {
                cluster: ClusterName::control(),
                kind: (*kind).to_owned(),
                change: Change::Modified,
                object: Arc::new(json!({"metadata": {"name": "x"}})),
                by: Some((*by).to_owned()),
            })
        };
        let events = std::iter::once(mark).chain(writes.iter().map(write));
        let entries = events.zip(1..).map(|(event, seq)| Entry {
            at: Duration::ZERO,
            seq,
            event,
        });
        Timeline::new(entries.collect()).unwrap()
    }

    #[test]
    fn leadership_may_change_and_not_go_back_and_forth() {
        for (writes, judged, found) in [
            (&[("a", "Work"), ("a", "Work")][..], 0, 0),
            (&[("a", "Work"), ("b", "Lease"), ("baton", "Work"), ("b", "Work")], 1, 0),
            (&[("a", "Work"), ("b", "Work"), ("a", "Lease")], 1, 0),
            (&[("a", "Work"), ("b", "Work"), ("a", "Work")], 2, 1),
        ] {
            let outcome = one_writes(&timeline(writes));
            assert_eq!((outcome.judged, outcome.findings.len()), (judged, found), "{writes:?}");
        }
    }
}
