//! One revision of one object: as a tree while it is fresh, as the JSON that clients get from then on.
//!
//! A tree takes many times the room of its JSON. What nobody has written for as long as the history goes back is
//! therefore kept as JSON alone, with the labels beside it, which lists look at; whoever needs the tree gets it read
//! anew ([`Stored::value`]).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use bytes::Bytes;
use serde_json::Value;

use crate::meta;

/// What is nested deeper stays a tree, because it could not be read again.
const MAX_PACKED_DEPTH: usize = 100;

/// One revision of one object.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) revision: u64,
    /// Whether the write had fields that the schema does not know. The reference stores them and drops them when it
    /// reads the object, so that the next write has an effect even if it changes nothing.
    pub(crate) had_unknown_fields: bool,
    text: OnceLock<Text>,
    /// The labels of an object that is packed.
    labels: OnceLock<Labels>,
    tree: Mutex<Tree>,
}

type Labels = Box<[(Box<str>, Box<str>)]>;

#[derive(Debug)]
enum Tree {
    Kept(Arc<Value>),
    /// There as long as somebody has it in hand.
    Packed(Weak<Value>),
}

/// An object as JSON.
#[derive(Debug)]
pub(crate) struct Text {
    /// `{"kind":…,"apiVersion":…,"metadata":…}` and a line feed.
    whole: Bytes,
    /// Where the members behind the first two begin.
    rest: usize,
}

impl Text {
    pub(crate) fn write(object: &Value) -> Self {
        let typed = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
        let others: BTreeMap<&String, &Value> = object
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(key, _)| !matches!(key.as_str(), "apiVersion" | "kind"))
            .collect();
        // Trees of JSON can always be written.
        let others = serde_json::to_vec(&others).unwrap_or_default();
        let mut whole = Vec::with_capacity(others.len() + 80);
        crate::api::reply::write_head(&mut whole, typed("apiVersion"), typed("kind"));
        if others.len() > 2 {
            whole.push(b',');
        }
        let rest = whole.len();
        whole.extend_from_slice(others.get(1..).unwrap_or(b"}"));
        whole.push(b'\n');
        Self {
            whole: Bytes::from(whole.into_boxed_slice()),
            rest,
        }
    }

    /// The object and a line feed.
    pub(crate) fn whole(&self) -> &Bytes {
        &self.whole
    }

    /// The object alone.
    pub(crate) fn object(&self) -> &[u8] {
        self.whole.strip_suffix(b"\n").unwrap_or_default()
    }

    /// Whether the object is in this version.
    fn is_in(&self, api_version: &str) -> bool {
        let head = self.whole.get(..self.rest).unwrap_or_default();
        let version = head.strip_suffix(b",").unwrap_or(head).strip_suffix(b"\"");
        let before = version.and_then(|head| head.strip_suffix(api_version.as_bytes()));
        before.is_some_and(|before| before.ends_with(b"\"apiVersion\":\""))
    }

    /// What follows `apiVersion` and `kind`: `"metadata":…}`, or `}` alone.
    pub(crate) fn rest(&self) -> &[u8] {
        self.object().get(self.rest..).unwrap_or_default()
    }
}

impl Stored {
    pub(super) fn new(revision: u64, value: Value, had_unknown_fields: bool) -> Self {
        Self {
            revision,
            had_unknown_fields,
            text: OnceLock::new(),
            labels: OnceLock::new(),
            tree: Mutex::new(Tree::Kept(Arc::new(value))),
        }
    }

    fn tree(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The object.
    pub(crate) fn value(&self) -> Arc<Value> {
        let mut tree = self.tree();
        let packed = match &*tree {
            Tree::Kept(value) => return value.clone(),
            Tree::Packed(value) => value.upgrade(),
        };
        packed.unwrap_or_else(|| {
            let text = self.text.get().map(|text| text.whole.clone()).unwrap_or_default();
            // It has been written by this server.
            let value = Arc::new(serde_json::from_slice(&text).unwrap_or_default());
            *tree = Tree::Packed(Arc::downgrade(&value));
            value
        })
    }

    /// The object as JSON, written once.
    pub(crate) fn text(&self) -> &Text {
        self.text.get_or_init(|| Text::write(&self.value()))
    }

    /// Whether the object is in this version.
    pub(crate) fn is_in(&self, api_version: &str) -> bool {
        match self.text.get() {
            Some(text) => text.is_in(api_version),
            None => self.value().get("apiVersion").and_then(Value::as_str) == Some(api_version),
        }
    }

    /// Looks at the value of a label, `None` if it is not there.
    pub(crate) fn with_label<T>(&self, key: &str, look: impl FnOnce(Option<&str>) -> T) -> T {
        if let Some(labels) = self.labels.get() {
            let found = labels.iter().find(|(each, _)| **each == *key);
            return look(found.map(|(_, value)| &**value));
        }
        look(meta::label(&self.value(), key))
    }

    /// Keeps only the JSON from now on, if it has been written: there is a later revision, and hardly anybody asks for the
    /// tree of this one.
    pub(crate) fn supersede(&self) {
        if self.text.get().is_some() {
            self.pack();
        }
    }

    /// Keeps only the JSON from now on.
    pub(super) fn pack(&self) {
        let value = self.value();
        if !survives(&value, 0) {
            return;
        }
        self.text.get_or_init(|| Text::write(&value));
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

/// Whether a tree is the same when it has been written and read again. Fractions need not be, to the last bit.
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
        let stored = Stored::new(1, object(), false);
        stored.pack();
        assert!(matches!(&*stored.tree(), Tree::Packed(value) if value.upgrade().is_none()));
        assert_eq!(*stored.value(), object());
        assert!(stored.with_label("l", |value| value == Some("x")));
        assert!(stored.with_label("other", |value| value.is_none()));
        let in_hand = stored.value();
        assert!(Arc::ptr_eq(&in_hand, &stored.value()));
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
            let stored = Stored::new(1, value.clone(), false);
            stored.pack();
            assert!(matches!(*stored.tree(), Tree::Kept(_)));
            assert_eq!(*stored.value(), value);
        }
    }

    #[test]
    fn texts_begin_with_the_type() {
        let text = Text::write(&object());
        let whole: Value = serde_json::from_slice(text.whole()).expect("JSON");
        assert_eq!(whole, object());
        assert!(text.rest().starts_with(b"\"data\":") && text.rest().ends_with(b"}"));
        let bare = Text::write(&json!({"apiVersion": "v1", "kind": "Odd"}));
        assert_eq!(bare.rest(), b"}");
        assert!(bare.is_in("v1") && !bare.is_in("v") && !bare.is_in("1") && text.is_in("v1"));
        assert_eq!(&bare.whole()[..], b"{\"kind\":\"Odd\",\"apiVersion\":\"v1\"}\n");
    }
}
