//! Lanes of timelines as the page carries them: several cases in one compressed bundle.
//!
//! Timelines of a suite repeat each other: the same paths, values and writers. A bundle has each text of its events once, and
//! the events refer to it by number. Times and entries are differences from the event before, which compress better. The whole
//! is JSON, compressed in the format of zlib and written as base64. The script of the page decompresses a bundle when the first
//! of its cases is opened.

use std::{
    collections::{BTreeMap, HashMap},
    io::{self, Write as _},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use baton_core::report::timeline_view::{Lane, TimelineView, Window};
use flate2::{Compression, write::ZlibEncoder};
use serde::Serialize;
use serde_json::Value;

/// Number of cases in a bundle. More cases compress better, and take longer to decompress when one of them is opened.
pub(super) const CASES_IN_BUNDLE: usize = 48;

/// Bundle before its compression.
#[derive(Serialize)]
struct Bundle<'a> {
    /// Texts of all events, each once.
    texts: Vec<String>,
    /// Timelines by the key of their case.
    timelines: BTreeMap<&'a str, Packed<'a>>,
}

/// Timeline whose events name their texts by number, and have their time (in milliseconds) and entry as differences from the
/// event before.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Packed<'a> {
    lanes: &'a [Lane],
    events: Vec<Value>,
    windows: &'a [Window],
    left_out: usize,
}

/// Texts with their numbers.
#[derive(Default)]
struct Texts {
    numbers: HashMap<String, usize>,
    all: Vec<String>,
}

impl Texts {
    /// Replaces each text in a value by its number; names of fields stay.
    fn number(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => {
                let next = self.all.len();
                let number = *self.numbers.entry(text.clone()).or_insert(next);
                if number == next {
                    self.all.push(std::mem::take(text));
                }
                *value = number.into();
            }
            Value::Array(elements) => {
                for element in elements {
                    self.number(element);
                }
            }
            Value::Object(fields) => {
                for field in fields.values_mut() {
                    self.number(field);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Bundle of these timelines, each with the key of its case, as base64.
///
/// # Errors
/// If an event has no JSON form.
pub(super) fn bundle(views: &[(&str, &TimelineView)]) -> io::Result<String> {
    let mut texts = Texts::default();
    let mut timelines = BTreeMap::new();
    for (key, view) in views {
        let mut events = Vec::with_capacity(view.events.len());
        let mut before = (0, 0);
        for drawn in &view.events {
            let mut event = serde_json::to_value(drawn)?;
            texts.number(&mut event);
            let now = (milliseconds(drawn.at), drawn.entry.cast_signed());
            event["at"] = (now.0 - before.0).into();
            event["entry"] = (now.1 - before.1).into();
            before = now;
            events.push(event);
        }
        let packed = Packed {
            lanes: &view.lanes,
            events,
            windows: &view.windows,
            left_out: view.left_out,
        };
        timelines.insert(*key, packed);
    }
    let bundle = Bundle {
        texts: texts.all,
        timelines,
    };
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&serde_json::to_vec(&bundle)?)?;
    Ok(BASE64_STANDARD.encode(encoder.finish()?))
}

#[expect(clippy::cast_possible_truncation, reason = "runs take hours at most")]
fn milliseconds(seconds: f64) -> i64 {
    (seconds * 1000.0).round() as i64
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use baton_core::report::timeline_view::{Drawn, What};
    use flate2::read::ZlibDecoder;

    use super::*;

    #[test]
    fn a_text_of_several_timelines_is_in_a_bundle_once() {
        let event = Drawn {
            at: 1.5,
            entry: 7,
            lane: 0,
            what: What::Step,
            text: "apply </script>".to_owned(),
            object: String::new(),
            by: None,
            changes: Vec::new(),
            more: 0,
            findings: vec![0],
        };
        let next = Drawn {
            at: 1.75,
            entry: 9,
            ..event.clone()
        };
        let view = TimelineView {
            lanes: Vec::new(),
            events: vec![event, next],
            windows: Vec::new(),
            likely_cause: None,
            left_out: 3,
        };
        let text = bundle(&[("case-one", &view), ("case-two", &view)]).unwrap();
        assert!(!text.contains('<'), "{text}");
        let compressed = BASE64_STANDARD.decode(text).unwrap();
        let mut json = String::new();
        ZlibDecoder::new(&compressed[..]).read_to_string(&mut json).unwrap();
        let bundle: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(bundle["texts"].as_array().unwrap().len(), 2, "{json}");
        for case in ["case-one", "case-two"] {
            let timeline = &bundle["timelines"][case];
            let event = &timeline["events"][0];
            let text = |field: &str| &bundle["texts"][usize::try_from(event[field].as_u64().unwrap()).unwrap()];
            assert_eq!(
                (text("text"), text("what")),
                (&"apply </script>".into(), &"step".into())
            );
            assert_eq!((&event["entry"], &timeline["leftOut"]), (&7.into(), &3.into()));
            let next = &timeline["events"][1];
            assert_eq!((&next["entry"], &next["at"]), (&2.into(), &250.into()));
        }
    }
}
