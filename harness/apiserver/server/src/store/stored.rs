//! One revision of one object: as a tree while it is new, later as the JSON that clients get.
//!
//! The JSON is stored once, as the line that watches of the revision receive: lists and answers send a part of it. A
//! tree takes many times the memory of its JSON. An object without a write in the whole history is therefore stored as
//! JSON only, together with its labels, because lists need them; [`Stored::value`] parses the tree again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use baton_apimachinery::meta;
use bytes::Bytes;
use serde_json::Value;

use super::change::Change;

/// Maximum depth of a packed object; deeper ones stay trees, because they could not be parsed again.
const MAX_PACKED_DEPTH: usize = 100;

/// One revision of one object.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) revision: u64,
    /// The effect of the commit on the object.
    pub(crate) change: Change,
    /// `true` if the write had fields that the schema does not know. The reference stores them and drops them when it
    /// reads the object, so that the next write has an effect even if it changes nothing.
    pub(crate) had_unknown_fields: bool,
    /// Set if there is a later revision, or the object is gone.
    is_past: AtomicBool,
    text: OnceLock<Text>,
    /// The labels of a packed object.
    labels: OnceLock<Labels>,
    tree: Mutex<Tree>,
}

type Labels = Box<[(Box<str>, Box<str>)]>;

#[derive(Debug)]
enum Tree {
    Kept(Arc<Value>),
    /// Available as long as another reference to the tree exists.
    Packed(Weak<Value>),
}

/// An object as JSON, and the line of a watch around it.
#[derive(Debug)]
pub(crate) struct Text {
    /// `{"type":…,"object":{"kind":…,"apiVersion":…,"metadata":…}}` and a line feed.
    line: Bytes,
    /// Offset of the object.
    object: usize,
    /// Offset of the members after the first two.
    rest: usize,
}

const LINE_END: &[u8] = b"}\n";

impl Text {
    pub(crate) fn write(change: Change, object: &Value) -> Self {
        let typed = |key: &str| meta::text(object, key);
        let others: BTreeMap<&String, &Value> = object
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(key, _)| !matches!(key.as_str(), "apiVersion" | "kind"))
            .collect();
        // JSON trees can always be written.
        let others = serde_json::to_vec(&others).unwrap_or_default();
        let mut line = Vec::with_capacity(others.len() + 140);
        write_line_head(&mut line, change.watch_type());
        let object = line.len();
        write_head(&mut line, typed("apiVersion"), typed("kind"));
        if others.len() > 2 {
            line.push(b',');
        }
        let rest = line.len();
        line.extend_from_slice(others.get(1..).unwrap_or(b"}"));
        line.extend_from_slice(LINE_END);
        Self {
            line: Bytes::from(line.into_boxed_slice()),
            object,
            rest,
        }
    }

    /// Returns the watch line of the commit.
    pub(crate) fn line(&self) -> &Bytes {
        &self.line
    }

    /// Returns the watch line for another type of event.
    pub(crate) fn line_of(&self, typed: &str) -> Bytes {
        let mut line = Vec::with_capacity(self.line.len() + typed.len());
        write_line_head(&mut line, typed);
        line.extend_from_slice(self.object());
        line.extend_from_slice(LINE_END);
        Bytes::from(line)
    }

    /// Returns the object as JSON.
    pub(crate) fn object(&self) -> &[u8] {
        self.rest_from(self.object)
    }

    fn rest_from(&self, begin: usize) -> &[u8] {
        let end = self.line.len() - LINE_END.len();
        self.line.get(begin..end).unwrap_or_default()
    }

    /// Returns `true` if the object is in this version.
    fn is_in(&self, api_version: &str) -> bool {
        let head = self.line.get(..self.rest).unwrap_or_default();
        let version = head.strip_suffix(b",").unwrap_or(head).strip_suffix(b"\"");
        let before = version.and_then(|head| head.strip_suffix(api_version.as_bytes()));
        before.is_some_and(|before| before.ends_with(b"\"apiVersion\":\""))
    }

    /// Returns the JSON after `apiVersion` and `kind`: `"metadata":…}`, or only `}`.
    pub(crate) fn rest(&self) -> &[u8] {
        self.rest_from(self.rest)
    }
}

/// Writes `{"kind":…,"apiVersion":…`.
pub(crate) fn write_head(out: &mut Vec<u8>, api_version: &str, kind: &str) {
    out.extend_from_slice(b"{\"kind\":\"");
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(b"\",\"apiVersion\":\"");
    out.extend_from_slice(api_version.as_bytes());
    out.push(b'"');
}

fn write_line_head(line: &mut Vec<u8>, typed: &str) {
    line.extend_from_slice(b"{\"type\":\"");
    line.extend_from_slice(typed.as_bytes());
    line.extend_from_slice(b"\",\"object\":");
}

impl Stored {
    pub(super) fn new(revision: u64, change: Change, value: Value, had_unknown_fields: bool) -> Self {
        Self {
            revision,
            change,
            had_unknown_fields,
            // A deleted object is only sent to watches, which need no tree.
            is_past: AtomicBool::new(change == Change::Deleted),
            text: OnceLock::new(),
            labels: OnceLock::new(),
            tree: Mutex::new(Tree::Kept(Arc::new(value))),
        }
    }

    fn tree(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the object as a tree.
    pub(crate) fn value(&self) -> Arc<Value> {
        let mut tree = self.tree();
        let packed = match &*tree {
            Tree::Kept(value) => return value.clone(),
            Tree::Packed(value) => value.upgrade(),
        };
        packed.unwrap_or_else(|| {
            let text = self.text.get().map(Text::object).unwrap_or_default();
            // This server has written the text.
            let value = Arc::new(serde_json::from_slice(text).unwrap_or_default());
            *tree = Tree::Packed(Arc::downgrade(&value));
            value
        })
    }

    /// Returns the object as JSON, which is written only once.
    pub(crate) fn text(&self) -> &Text {
        if let Some(text) = self.text.get() {
            return text;
        }
        let text = self.text.get_or_init(|| Text::write(self.change, &self.value()));
        if self.is_past.load(Ordering::Relaxed) {
            self.pack();
        }
        text
    }

    /// Returns `true` if the object is in this version.
    pub(crate) fn is_in(&self, api_version: &str) -> bool {
        match self.text.get() {
            Some(text) => text.is_in(api_version),
            None => self.value().get("apiVersion").and_then(Value::as_str) == Some(api_version),
        }
    }

    /// Calls `look` with the value of a label, or `None` if the object does not have it.
    pub(crate) fn with_label<T>(&self, key: &str, look: impl FnOnce(Option<&str>) -> T) -> T {
        if let Some(labels) = self.labels.get() {
            let found = labels.iter().find(|(each, _)| **each == *key);
            return look(found.map(|(_, value)| &**value));
        }
        look(meta::label(&self.value(), key))
    }

    /// Marks the revision as superseded. The tree of such a revision is rarely needed: only the JSON is kept, once it
    /// has been written.
    pub(crate) fn supersede(&self) {
        self.is_past.store(true, Ordering::Relaxed);
        if self.text.get().is_some() {
            self.pack();
        }
    }

    /// Keeps only the JSON from now on.
    pub(super) fn pack(&self) {
        // Without this, a past revision would be parsed again for nothing.
        if matches!(*self.tree(), Tree::Packed(_)) {
            return;
        }
        let value = self.value();
        if !survives(&value, 0) {
            return;
        }
        self.text.get_or_init(|| Text::write(self.change, &value));
        self.labels.get_or_init(|| {
            let labels = meta::at(&value, &["metadata", "labels"]).and_then(Value::as_object);
            let texts = labels
                .into_iter()
                .flatten()
                .filter_map(|(key, value)| Some((key.as_str().into(), value.as_str()?.into())));
            texts.collect()
        });
        let mut tree = self.tree();
        if matches!(*tree, Tree::Kept(_)) {
            *tree = Tree::Packed(Arc::downgrade(&value));
        }
    }
}

/// Returns `true` if writing and parsing a tree gives the same tree. Fractions may differ in the last bit.
fn survives(value: &Value, depth: usize) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => true,
        Value::Number(number) => !number.is_f64(),
        Value::Array(items) => depth < MAX_PACKED_DEPTH && items.iter().all(|item| survives(item, depth + 1)),
        Value::Object(members) => depth < MAX_PACKED_DEPTH && members.values().all(|inner| survives(inner, depth + 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object() -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"l": "x"}}, "data": {"k": "v"}})
    }

    #[test]
    fn what_is_packed_is_the_same() {
        let stored = Stored::new(1, Change::Added, object(), false);
        stored.pack();
        assert!(matches!(&*stored.tree(), Tree::Packed(value) if value.upgrade().is_none()));
        assert_eq!(*stored.value(), object());
        assert!(stored.with_label("l", |value| value == Some("x")));
        assert!(stored.with_label("other", |value| value.is_none()));
        let in_hand = stored.value();
        assert!(Arc::ptr_eq(&in_hand, &stored.value()));
    }

    #[test]
    fn what_is_past_is_packed_when_it_has_been_written() {
        let is_packed = |stored: &Stored| matches!(&*stored.tree(), Tree::Packed(_));
        let gone = Stored::new(2, Change::Deleted, object(), false);
        let past = Stored::new(1, Change::Added, object(), false);
        past.supersede();
        for stored in [gone, past] {
            assert!(!is_packed(&stored));
            let written: Value = serde_json::from_slice(stored.text().object()).expect("JSON");
            assert_eq!(written, object());
            assert!(is_packed(&stored));
        }
        let present = Stored::new(1, Change::Added, object(), false);
        present.text();
        assert!(!is_packed(&present));
        present.supersede();
        assert!(is_packed(&present));
    }

    #[test]
    fn what_would_not_be_the_same_is_not_packed() {
        let mut deep = json!(1);
        for _ in 0..MAX_PACKED_DEPTH {
            deep = json!([deep]);
        }
        for odd in [json!(0.1), deep] {
            let mut value = object();
            value["spec"] = odd;
            let stored = Stored::new(1, Change::Added, value.clone(), false);
            stored.pack();
            assert!(matches!(*stored.tree(), Tree::Kept(_)));
            assert_eq!(*stored.value(), value);
        }
    }

    #[test]
    fn texts_begin_with_the_type() {
        let text = Text::write(Change::Modified, &object());
        let line: Value = serde_json::from_slice(text.line()).expect("JSON");
        assert_eq!(line, json!({"type": "MODIFIED", "object": object()}));
        assert_eq!(&text.line_of("MODIFIED"), text.line());
        let alone: Value = serde_json::from_slice(text.object()).expect("JSON");
        assert_eq!(alone, object());
        assert!(text.rest().starts_with(b"\"data\":") && text.rest().ends_with(b"}"));
        let bare = Text::write(Change::Existing, &json!({"apiVersion": "v1", "kind": "Odd"}));
        assert_eq!(bare.rest(), b"}");
        assert!(bare.is_in("v1") && !bare.is_in("v") && !bare.is_in("1") && text.is_in("v1"));
        assert_eq!(bare.object(), b"{\"kind\":\"Odd\",\"apiVersion\":\"v1\"}");
    }
}
