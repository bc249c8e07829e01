//! Differences between the recording and the replay.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::normalise::untold;

/// Maps the numbered placeholders of the recording to those of the replay.
#[derive(Debug, Clone, Default)]
pub struct Binding {
    recorded: BTreeMap<String, String>,
    replayed: BTreeMap<String, String>,
}

impl Binding {
    /// Returns `true` if two texts are equal and their placeholders stand for the same values everywhere.
    fn same(&mut self, recorded: &str, replayed: &str) -> bool {
        static TOKEN: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"<(uid|rv):\d+>").expect("a pattern"));
        if untold(recorded) != untold(replayed) {
            return false;
        }
        let pairs = TOKEN.find_iter(recorded).zip(TOKEN.find_iter(replayed));
        for (mine, theirs) in pairs.map(|(mine, theirs)| (mine.as_str(), theirs.as_str())) {
            let bound = self.recorded.get(mine).is_none_or(|bound| bound == theirs)
                && self.replayed.get(theirs).is_none_or(|bound| bound == mine);
            if !bound {
                return false;
            }
            self.recorded.insert(mine.to_owned(), theirs.to_owned());
            self.replayed.insert(theirs.to_owned(), mine.to_owned());
        }
        true
    }
}

fn difference(path: &str, recorded: &Value, replayed: &Value) -> Result<(), String> {
    let short = |value: &Value| -> String { value.to_string().chars().take(600).collect() };
    Err(format!("{path}: expected {}, got {}", short(recorded), short(replayed)))
}

/// Compares two values; all members must be equal.
pub fn exact(recorded: &Value, replayed: &Value, path: &str, binding: &mut Binding) -> Result<(), String> {
    match (recorded, replayed) {
        (Value::Object(mine), Value::Object(theirs)) => {
            if let Some((name, value)) = theirs.iter().find(|(name, _)| !has(mine, name)) {
                return Err(format!("{path}/{name}: unexpected {value}"));
            }
            for (name, value) in mine {
                let theirs = theirs
                    .iter()
                    .find(|(other, _)| untold(other) == untold(name))
                    .ok_or_else(|| format!("{path}/{name}: missing, expected {value}"))?;
                exact(value, theirs.1, &format!("{path}/{name}"), binding)?;
            }
            Ok(())
        }
        (Value::Array(mine), Value::Array(theirs)) if mine.len() == theirs.len() => {
            for (index, (mine, theirs)) in mine.iter().zip(theirs).enumerate() {
                exact(mine, theirs, &format!("{path}/{index}"), binding)?;
            }
            Ok(())
        }
        _ => scalar(recorded, replayed, path, binding),
    }
}

fn has(members: &serde_json::Map<String, Value>, name: &str) -> bool {
    members.contains_key(name) || members.keys().any(|other| untold(other) == untold(name))
}

fn scalar(recorded: &Value, replayed: &Value, path: &str, binding: &mut Binding) -> Result<(), String> {
    match (recorded, replayed) {
        (Value::String(mine), Value::String(theirs)) if binding.same(mine, theirs) => Ok(()),
        (Value::Number(mine), Value::Number(theirs)) if mine.as_f64() == theirs.as_f64() => Ok(()),
        (Value::Null, Value::Null) => Ok(()),
        (Value::Bool(mine), Value::Bool(theirs)) if mine == theirs => Ok(()),
        _ => difference(path, recorded, replayed),
    }
}

/// Checks that every member of the recording is present; an item of a list may match any item.
pub fn subset(recorded: &Value, replayed: &Value, path: &str, binding: &mut Binding) -> Result<(), String> {
    match (recorded, replayed) {
        (Value::Object(mine), Value::Object(theirs)) => {
            for (name, value) in mine {
                let theirs = theirs
                    .get(name)
                    .ok_or_else(|| format!("{path}/{name}: missing, expected {value}"))?;
                subset(value, theirs, &format!("{path}/{name}"), binding)?;
            }
            Ok(())
        }
        (Value::Array(mine), Value::Array(theirs)) => {
            for (index, item) in mine.iter().enumerate() {
                let found = theirs.iter().any(|other| {
                    let mut attempt = binding.clone();
                    let same = subset(item, other, "", &mut attempt).is_ok();
                    if same {
                        *binding = attempt;
                    }
                    same
                });
                if !found {
                    return Err(format!("{path}/{index}: missing, expected {item}"));
                }
            }
            Ok(())
        }
        (Value::String(any), _) if any == "<any>" => Ok(()),
        _ => scalar(recorded, replayed, path, binding),
    }
}

/// Removes a path; `*` matches every member or item.
pub fn drop_path(value: &mut Value, pointer: &str) {
    let Some((head, rest)) = pointer.trim_start_matches('/').split_once('/') else {
        let last = pointer.trim_start_matches('/').replace("~1", "/").replace("~0", "~");
        match value {
            Value::Object(members) if last == "*" => members.clear(),
            Value::Object(members) => drop(members.remove(&last)),
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    if last == "*" || last == index.to_string() {
                        *item = Value::Null;
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        return;
    };
    let head = head.replace("~1", "/").replace("~0", "~");
    match value {
        Value::Object(members) => {
            let chosen = members.iter_mut().filter(|(name, _)| head == "*" || **name == head);
            chosen.for_each(|(_, inner)| drop_path(inner, rest));
        }
        Value::Array(items) => {
            let chosen = items.iter_mut().enumerate();
            chosen
                .filter(|(index, _)| head == "*" || head == index.to_string())
                .for_each(|(_, inner)| drop_path(inner, rest));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
