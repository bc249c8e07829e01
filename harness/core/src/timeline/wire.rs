//! Timelines as JSON lines: one entry a line, revisions in the format of recordings.
//!
//! ```json
//! {"t": 0.25, "seq": 12, "cluster": "member1", "kind": "Deployment", "type": "ADDED", "object": {…}, "by": "…"}
//! {"t": 0.31, "seq": 13, "mark": {"roleBound": {"role": "origin", "cluster": "member1"}}}
//! ```
//!
//! Recordings have neither `seq` nor `by`; a line's number is its place in the order then.

use std::{io, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::{Change, Entry, Event, Mark, Revision, Timeline};
use crate::{names::ClusterName, yaml::without_byte_order_mark};

/// No run lasts longer, whatever clock it has: some three thousand years. Times can be added to each other then.
const LONGEST: Duration = Duration::from_secs(100_000_000_000);

/// A text that is not a timeline.
#[derive(Debug, Error)]
pub enum TimelineError {
    /// A line is no JSON, or not of the format.
    #[error("line {line}: this is no entry of a timeline")]
    Line {
        /// The line's number, from 1.
        line: usize,
        /// The parser's reason.
        source: serde_json::Error,
    },
    /// A line lacks a member.
    #[error("line {line}: a revision needs `{member}`")]
    Missing {
        /// The line's number, from 1.
        line: usize,
        /// Name of the missing field.
        member: &'static str,
    },
    /// A time is negative, no number, or later than any run can last.
    #[error("line {line}: `t` must be seconds since the beginning, not {t}")]
    Time {
        /// The line's number, from 1.
        line: usize,
        /// The value that was found.
        t: f64,
    },
    /// An entry stands before the one it should follow.
    #[error("line {line}: seq {seq} does not follow {last}")]
    Order {
        /// The line's number, from 1.
        line: usize,
        /// The entry's place.
        seq: u64,
        /// The place of the entry before it.
        last: u64,
    },
    /// The text could not be read or written.
    #[error("the timeline cannot be read or written")]
    Io(#[from] io::Error),
}

/// A line as it is written. Which members are there tells a revision from a mark.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    t: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cluster: Option<ClusterName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    change: Option<Change>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    object: Option<Arc<Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mark: Option<Mark>,
}

impl Timeline {
    /// Reads JSON lines; skips empty lines and a byte order mark.
    pub fn read(reader: impl io::BufRead) -> Result<Self, TimelineError> {
        let mut timeline = Self::default();
        for (number, text) in (1..).zip(reader.lines()) {
            let text = text?;
            let text = without_byte_order_mark(&text);
            if text.trim().is_empty() {
                continue;
            }
            let line = serde_json::from_str(text).map_err(|source| TimelineError::Line { line: number, source })?;
            timeline.push(entry(line, number)?)?;
        }
        Ok(timeline)
    }

    /// Writes JSON lines.
    pub fn write(&self, mut writer: impl io::Write) -> Result<(), TimelineError> {
        for entry in self.entries() {
            serde_json::to_writer(&mut writer, &line(entry)).map_err(io::Error::from)?;
            writer.write_all(b"\n")?;
        }
        Ok(())
    }
}

fn entry(line: Line, number: usize) -> Result<Entry, TimelineError> {
    let at = Duration::try_from_secs_f64(line.t).ok().filter(|at| *at <= LONGEST);
    let at = at.ok_or(TimelineError::Time {
        line: number,
        t: line.t,
    })?;
    let missing = |member| TimelineError::Missing { line: number, member };
    let event = match line.mark {
        Some(mark) => Event::Mark(mark),
        None => Event::Revision(Revision {
            cluster: line.cluster.ok_or_else(|| missing("cluster"))?,
            kind: line.kind.ok_or_else(|| missing("kind"))?,
            change: line.change.ok_or_else(|| missing("type"))?,
            object: line.object.ok_or_else(|| missing("object"))?,
            by: line.by,
        }),
    };
    Ok(Entry {
        at,
        seq: line.seq.unwrap_or(number as u64),
        event,
    })
}

/// A time as it is written: microseconds are what a clock of a cluster can tell apart; more digits only hide the time.
pub(super) fn rounded(at: Duration) -> Duration {
    const MICRO: u32 = 1000;
    let below = at.subsec_nanos() % MICRO;
    let floor = at.saturating_sub(Duration::from_nanos(below.into()));
    if below < MICRO / 2 {
        floor
    } else {
        floor.saturating_add(Duration::from_micros(1))
    }
}

fn line(entry: &Entry) -> Line {
    let t = (entry.at.as_secs_f64() * 1e6).round() / 1e6;
    let empty = Line {
        t,
        seq: Some(entry.seq),
        cluster: None,
        kind: None,
        change: None,
        object: None,
        by: None,
        mark: None,
    };
    match &entry.event {
        Event::Mark(mark) => Line {
            mark: Some(mark.clone()),
            ..empty
        },
        Event::Revision(revision) => Line {
            cluster: Some(revision.cluster.clone()),
            kind: Some(revision.kind.clone()),
            change: Some(revision.change),
            object: Some(Arc::clone(&revision.object)),
            by: revision.by.clone(),
            ..empty
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let text = concat!(
            r#"{"t":0.25,"seq":3,"cluster":"member1","kind":"Pod","type":"ADDED","object":{"metadata":{"name":"p"}}}"#,
            "\n",
            r#"{"t":0.5,"seq":7,"mark":{"roleBound":{"role":"origin","cluster":"member1"}}}"#,
            "\n",
        );
        let timeline = Timeline::read(text.as_bytes()).unwrap();
        let mut written = Vec::new();
        timeline.write(&mut written).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), text);
    }

    #[test]
    fn a_time_is_the_same_before_and_after_it_was_written() {
        for nanos in [0, 499, 500, 6_591_307_724, 1_999_999_999, 86_400_123_456_500] {
            let mark = Event::Mark(Mark::CleanUp);
            let at = Duration::from_nanos(nanos);
            let timeline = Timeline::new(vec![Entry {
                at,
                seq: 1,
                event: mark,
            }])
            .unwrap();
            let mut text = Vec::new();
            timeline.write(&mut text).unwrap();
            assert_eq!(Timeline::read(text.as_slice()).unwrap(), timeline, "{nanos} ns");
        }
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        let text = "\u{feff}{\"t\":0,\"seq\":1,\"mark\":\"cleanUp\"}\n";
        assert_eq!(Timeline::read(text.as_bytes()).unwrap().entries().len(), 1);
    }

    #[test]
    fn lines_without_seq_are_in_the_order_of_the_file() {
        let text = "{\"t\":0,\"cluster\":\"control\",\"kind\":\"Work\",\"type\":\"LIST\",\"object\":{}}\n".repeat(2);
        let timeline = Timeline::read(text.as_bytes()).unwrap();
        assert_eq!(
            timeline.entries().iter().map(|entry| entry.seq).collect::<Vec<_>>(),
            [1, 2]
        );
    }

    #[test]
    fn errors_name_the_line() {
        let error = |text: &str| Timeline::read(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(error("\n{\"t\":1}"), "line 2: a revision needs `cluster`");
        assert_eq!(
            error("{\"t\":-1}"),
            "line 1: `t` must be seconds since the beginning, not -1"
        );
        assert_eq!(
            error("{\"t\":1.8e19}"),
            "line 1: `t` must be seconds since the beginning, not 18000000000000000000"
        );
        assert_eq!(error("nonsense"), "line 1: this is no entry of a timeline");
        let mark = r#"{"t":0,"seq":2,"mark":"cleanUp"}"#;
        assert_eq!(error(&format!("{mark}\n{mark}")), "line 2: seq 2 does not follow 2");
    }
}
