//! Functions for templates in rules, in addition to those of minijinja.
//!
//! | call | returns |
//! |---|---|
//! | `now()` | the present time in the format of the API |
//! | `unix_millis()` | the present time as a number |
//! | `hex(n)` | n new random hexadecimal digits, reproducible by seed |
//! | `address()` | an IP address for a pod |
//! | `file(path)` | the content of a file in the folder that all members share; undefined if it does not exist |
//! | `files(folder)` | the contents of the files below a folder, by path |
//! | `latest(folder)` | the path of the latest file below a folder |
//! | `hash(value)` | a hash of a value, such as a pod template, as ten letters and digits |
//! | `suffix(text, n)` | a hash of a text and a number, as five letters and digits |
//! | `holds(object, type)` | whether the object's condition of this type is `"True"` |
//! | `list \| holding(type)` | the objects whose condition of this type is `"True"` |
//! | `list \| where(path, value)` | the objects with this value at the path; a missing value does not match |
//! | `transition(object, type, status)` | the time since when the condition has had this status; now, if it has another
//! status |

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use minijinja::{Environment, Error, ErrorKind, Value};

use crate::{clock::Clock, storage::Storage};

/// Converts data to a value for templates.
pub(crate) fn data(value: impl serde::Serialize) -> Value {
    minijinja::value::Serde(value).into()
}

/// State of `now`, `hex` and `address`. One per simulator.
#[derive(Clone)]
pub(super) struct Source {
    clock: Clock,
    /// State of a splitmix64 generator; its sequence is a function of the seed alone.
    state: Arc<AtomicU64>,
    addresses: Arc<AtomicU64>,
    network: u8,
    storage: Storage,
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").finish_non_exhaustive()
    }
}

impl Source {
    /// A source for one cluster of a fleet; each cluster's name gives a different sequence.
    pub(super) fn new(clock: Clock, seed: u64, cluster: &str, storage: Storage) -> Self {
        let start = fnv(cluster.as_bytes()) ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self {
            clock,
            state: Arc::new(AtomicU64::new(start)),
            addresses: Arc::new(AtomicU64::new(0)),
            network: fnv(cluster.as_bytes()).to_le_bytes()[0],
            storage,
        }
    }

    fn next(&self) -> u64 {
        let step = 0x9e37_79b9_7f4a_7c15_u64;
        let mixed = self.state.fetch_add(step, Ordering::Relaxed).wrapping_add(step);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn hex(&self, digits: usize) -> String {
        let mut text = String::new();
        while text.len() < digits {
            let bytes = self.next().to_be_bytes();
            let halves = bytes
                .iter()
                .flat_map(|byte| [u32::from(byte >> 4), u32::from(byte & 15)]);
            text.extend(halves.filter_map(|half| char::from_digit(half, 16)));
        }
        text.truncate(digits);
        text
    }

    fn address(&self) -> String {
        let [low, high, ..] = self
            .addresses
            .fetch_add(1, Ordering::Relaxed)
            .wrapping_add(1)
            .to_le_bytes();
        format!("10.{}.{high}.{low}", self.network)
    }
}

/// Functions that need a running simulator.
const NEED_A_SOURCE: [&str; 8] = [
    "now",
    "unix_millis",
    "hex",
    "address",
    "transition",
    "file",
    "files",
    "latest",
];

/// Adds the functions without state, and placeholders for the others.
pub(super) fn add(environment: &mut Environment<'static>) {
    environment.add_function("hash", |value: Value| letters(fnv(value.to_string().as_bytes()), 10));
    environment.add_function("suffix", |text: &str, number: u64| {
        letters(fnv(format!("{text}/{number}").as_bytes()), 5)
    });
    environment.add_function("holds", |object: Value, kind: &str| holds(&object, kind));
    environment.add_filter("holding", |objects: Value, kind: &str| -> Result<Vec<Value>, Error> {
        Ok(objects.try_iter()?.filter(|object| holds(object, kind)).collect())
    });
    let there = |object: &Value, path: &str, value: &Value| {
        let found = path
            .split('.')
            .try_fold(object.clone(), |value, key| value.get_attr(key));
        found.is_ok_and(|found| found == *value)
    };
    environment.add_filter(
        "where",
        move |objects: Value, path: &str, value: Value| -> Result<Vec<Value>, Error> {
            Ok(objects
                .try_iter()?
                .filter(|object| there(object, path, &value))
                .collect())
        },
    );
    for name in NEED_A_SOURCE {
        environment.add_function(name, move || -> Result<Value, Error> {
            let problem = format!("{name} needs a simulator");
            Err(Error::new(ErrorKind::InvalidOperation, problem))
        });
    }
}

/// Replaces the placeholders by functions with a source.
pub(super) fn bind(environment: &mut Environment<'static>, source: Source) {
    let at = Arc::clone(&source.clock);
    let now = move || at().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let clock = Arc::clone(&source.clock);
    environment.add_function("unix_millis", move || clock().as_millisecond());
    environment.add_function("now", now.clone());
    environment.add_function("transition", move |object: Value, kind: &str, status: &str| {
        since(&object, kind, status).unwrap_or_else(|| Value::from(now()))
    });
    let random = source.clone();
    environment.add_function("hex", move |digits: usize| random.hex(digits.min(256)));
    let storage = source.storage.clone();
    environment.add_function("address", move || source.address());
    bind_storage(environment, storage);
}

/// Replaces the placeholders of the functions that read the shared folder.
pub(crate) fn bind_storage(environment: &mut Environment<'static>, storage: Storage) {
    let (files, latest) = (storage.clone(), storage.clone());
    environment.add_function("file", move |path: &str| {
        storage.read(path).map_or(Value::UNDEFINED, data)
    });
    environment.add_function("files", move |folder: &str| data(files.below(folder)));
    environment.add_function("latest", move |folder: &str| latest.latest(folder));
}

fn condition(object: &Value, kind: &str) -> Option<Value> {
    let conditions = object.get_attr("status").ok()?.get_attr("conditions").ok()?;
    conditions
        .try_iter()
        .ok()?
        .find(|condition| condition.get_attr("type").is_ok_and(|of| of.as_str() == Some(kind)))
}

fn holds(object: &Value, kind: &str) -> bool {
    let status = condition(object, kind).and_then(|condition| condition.get_attr("status").ok());
    status.is_some_and(|status| status.as_str() == Some("True"))
}

fn since(object: &Value, kind: &str, status: &str) -> Option<Value> {
    let condition = condition(object, kind)?;
    let same = condition.get_attr("status").is_ok_and(|is| is.as_str() == Some(status));
    let since = condition.get_attr("lastTransitionTime").ok()?;
    (same && since.as_str().is_some()).then_some(since)
}

/// FNV-1a: a hash that is stable across platforms and versions, unlike that of the standard library.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Encodes a number in the letters and digits that Kubernetes uses for generated names, which spell no words.
fn letters(mut number: u64, count: usize) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let base = LETTERS.len() as u64;
    let mut text = String::new();
    for _ in 0..count {
        let at = usize::try_from(number % base).unwrap_or_default();
        text.push(char::from(LETTERS[at]));
        number /= base;
    }
    text
}
