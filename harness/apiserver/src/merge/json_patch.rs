//! JSON patch (RFC 6902) as the API server understands it: a member that is not there may be replaced, and copying what
//! is not there copies `null`.

use serde_json::Value;

/// Most operations of a patch.
const MAX_OPERATIONS: usize = 10_000;

/// Largest document that copies may make, so that they cannot double it without end.
const MAX_COPIED: usize = 3 * 1024 * 1024;

/// Why a JSON patch cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonPatchError {
    /// It is no list of operations: 400.
    #[error("error decoding patch: json: cannot unmarshal {0} into Go value of type []handlers.jsonPatchOp")]
    NotAList(&'static str),
    /// It has too many operations: 413.
    #[error("The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {0}")]
    TooLarge(usize),
    /// An operation does not apply: 422.
    #[error("the server rejected our request due to an error in our request")]
    Failed,
}

type Outcome<T> = Result<T, JsonPatchError>;

/// Applies a JSON patch to an object.
pub fn apply(object: &Value, patch: &Value) -> Outcome<Value> {
    let operations = match patch {
        Value::Array(operations) => operations,
        Value::Object(_) => return Err(JsonPatchError::NotAList("object")),
        Value::String(_) => return Err(JsonPatchError::NotAList("string")),
        Value::Number(_) => return Err(JsonPatchError::NotAList("number")),
        Value::Bool(_) => return Err(JsonPatchError::NotAList("bool")),
        Value::Null => return Ok(object.clone()),
    };
    if operations.len() > MAX_OPERATIONS {
        return Err(JsonPatchError::TooLarge(operations.len()));
    }
    let mut document = object.clone();
    let mut copied = 0;
    for operation in operations {
        let text = |name: &str| operation.get(name).and_then(Value::as_str);
        let place = Pointer::parse(text("path").ok_or(JsonPatchError::Failed)?)?;
        let from = || Pointer::parse(text("from").ok_or(JsonPatchError::Failed)?);
        let value = operation.get("value").cloned().unwrap_or_default();
        match text("op").ok_or(JsonPatchError::Failed)? {
            "add" => place.add(&mut document, value)?,
            "remove" => drop(place.remove(&mut document)?),
            "replace" => place.replace(&mut document, value)?,
            "test" => {
                if place.get(&document).unwrap_or(&Value::Null) != &value {
                    return Err(JsonPatchError::Failed);
                }
            }
            "move" => {
                let moved = from()?.remove(&mut document)?;
                place.add(&mut document, moved)?;
            }
            "copy" => {
                let value = from()?.existing(&document)?;
                copied += value.to_string().len();
                if copied > MAX_COPIED {
                    return Err(JsonPatchError::Failed);
                }
                place.add(&mut document, value)?;
            }
            _ => return Err(JsonPatchError::Failed),
        }
    }
    Ok(document)
}

/// A JSON pointer.
struct Pointer(Vec<String>);

impl Pointer {
    fn parse(text: &str) -> Outcome<Self> {
        if text.is_empty() {
            return Ok(Self(Vec::new()));
        }
        // What stands before the first slash does not matter, but there must be one.
        let (_, rest) = text.split_once('/').ok_or(JsonPatchError::Failed)?;
        let unescape = |part: &str| part.replace("~1", "/").replace("~0", "~");
        Ok(Self(rest.split('/').map(unescape).collect()))
    }

    fn get<'v>(&self, document: &'v Value) -> Option<&'v Value> {
        let mut here = document;
        for part in &self.0 {
            here = match here {
                Value::Object(members) => members.get(part)?,
                Value::Array(items) => items.get(index(part, items.len()).ok()?)?,
                _ => return None,
            };
        }
        Some(here)
    }

    /// What holds the last step, and that step.
    fn parent<'v>(&self, document: &'v mut Value) -> Outcome<(&'v mut Value, &str)> {
        let (last, parents) = self.0.split_last().ok_or(JsonPatchError::Failed)?;
        let mut here = document;
        for part in parents {
            here = match here {
                Value::Object(members) => members.get_mut(part).ok_or(JsonPatchError::Failed)?,
                Value::Array(items) => {
                    let at = index(part, items.len())?;
                    items.get_mut(at).ok_or(JsonPatchError::Failed)?
                }
                _ => return Err(JsonPatchError::Failed),
            };
        }
        Ok((here, last))
    }

    fn add(&self, document: &mut Value, value: Value) -> Outcome<()> {
        if self.0.is_empty() {
            *document = value;
            return Ok(());
        }
        match self.parent(document)? {
            (Value::Object(members), name) => {
                members.insert(name.to_owned(), value);
                Ok(())
            }
            (Value::Array(items), "-") => {
                items.push(value);
                Ok(())
            }
            (Value::Array(items), position) => {
                // One more than there are items: the place behind the last.
                let at = index(position, items.len() + 1)?;
                if at > items.len() {
                    return Err(JsonPatchError::Failed);
                }
                items.insert(at, value);
                Ok(())
            }
            _ => Err(JsonPatchError::Failed),
        }
    }

    fn remove(&self, document: &mut Value) -> Outcome<Value> {
        match self.parent(document)? {
            (Value::Object(members), name) => members.remove(name).ok_or(JsonPatchError::Failed),
            (Value::Array(items), position) => {
                let at = index(position, items.len())?;
                if at >= items.len() {
                    return Err(JsonPatchError::Failed);
                }
                Ok(items.remove(at))
            }
            _ => Err(JsonPatchError::Failed),
        }
    }

    fn replace(&self, document: &mut Value, value: Value) -> Outcome<()> {
        if self.0.is_empty() {
            *document = value;
            return Ok(());
        }
        match self.parent(document)? {
            (Value::Object(members), name) => {
                members.insert(name.to_owned(), value);
                Ok(())
            }
            (Value::Array(items), position) => {
                let at = index(position, items.len())?;
                *items.get_mut(at).ok_or(JsonPatchError::Failed)? = value;
                Ok(())
            }
            _ => Err(JsonPatchError::Failed),
        }
    }

    /// The value to copy: `null` for a member that is not there.
    fn existing(&self, document: &Value) -> Outcome<Value> {
        let mut document = document.clone();
        if self.0.is_empty() {
            return Ok(document);
        }
        match self.parent(&mut document)? {
            (Value::Object(members), name) => Ok(members.remove(name).unwrap_or_default()),
            (Value::Array(items), position) => {
                let at = index(position, items.len())?;
                items.get(at).cloned().ok_or(JsonPatchError::Failed)
            }
            _ => Err(JsonPatchError::Failed),
        }
    }
}

/// A position in a list; negative ones count from the end.
fn index(part: &str, length: usize) -> Outcome<usize> {
    let position: i64 = part.parse().map_err(|_| JsonPatchError::Failed)?;
    if position >= 0 {
        return usize::try_from(position).map_err(|_| JsonPatchError::Failed);
    }
    let from_end = usize::try_from(position.unsigned_abs()).map_err(|_| JsonPatchError::Failed)?;
    length.checked_sub(from_end).ok_or(JsonPatchError::Failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn operations_do_what_the_api_server_does() {
        let object = json!({"data": {"k": "v"}, "list": ["a", "b"]});
        for (patch, expected) in [
            (
                json!({"op": "replace", "path": "/data/new", "value": "x"}),
                json!({"data": {"k": "v", "new": "x"}, "list": ["a", "b"]}),
            ),
            (
                json!({"op": "copy", "from": "/data/nope", "path": "/data/x"}),
                json!({"data": {"k": "v", "x": null}, "list": ["a", "b"]}),
            ),
            (
                json!({"op": "move", "from": "/data/k", "path": "/data/m"}),
                json!({"data": {"m": "v"}, "list": ["a", "b"]}),
            ),
            (
                json!({"op": "add", "path": "/list/-", "value": "c"}),
                json!({"data": {"k": "v"}, "list": ["a", "b", "c"]}),
            ),
            (
                json!({"op": "add", "path": "/list/0", "value": "c"}),
                json!({"data": {"k": "v"}, "list": ["c", "a", "b"]}),
            ),
            (
                json!({"op": "remove", "path": "/list/-1"}),
                json!({"data": {"k": "v"}, "list": ["a"]}),
            ),
            (json!({"op": "test", "path": "/data/k", "value": "v"}), object.clone()),
        ] {
            assert_eq!(apply(&object, &json!([patch])), Ok(expected), "{patch}");
        }
    }

    #[test]
    fn operations_that_do_not_apply_fail() {
        let object = json!({"data": {"k": "v"}, "list": ["a"]});
        for patch in [
            json!({"op": "test", "path": "/data/k", "value": "other"}),
            json!({"op": "remove", "path": "/data/nope"}),
            json!({"op": "replace", "path": "/nope/new", "value": "x"}),
            json!({"op": "add", "path": "/list/3", "value": "x"}),
            json!({"op": "replace", "path": "/list/1", "value": "x"}),
            json!({"op": "explode", "path": "/data/k"}),
            json!({"path": "/data/k"}),
            json!({"op": "add", "value": "x"}),
            json!({"op": "add", "path": "data", "value": {}}),
        ] {
            assert_eq!(apply(&object, &json!([patch])), Err(JsonPatchError::Failed), "{patch}");
        }
        assert_eq!(apply(&object, &json!({})), Err(JsonPatchError::NotAList("object")));
    }
}
