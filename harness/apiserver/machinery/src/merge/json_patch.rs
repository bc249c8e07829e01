//! JSON patch (RFC 6902) as the API server understands it: a missing member may be replaced, and copying a missing
//! value copies `null`.

use serde_json::Value;

use super::go_type;

/// Maximum number of operations in a patch.
const MAX_OPERATIONS: usize = 10_000;

/// Maximum size of a document in bytes that copies may produce, so that they cannot double it endlessly.
const MAX_COPIED: usize = 3 * 1024 * 1024;

/// Reason for which a JSON patch cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonPatchError {
    /// The patch is not a list of operations: 400.
    #[error("error decoding patch: json: cannot unmarshal {0} into Go value of type []handlers.jsonPatchOp")]
    NotAList(&'static str),
    /// It has too many operations: 413.
    #[error("The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {0}")]
    TooLarge(usize),
    /// An operation does not apply: 422. The sender of a patch does not get the reason; errors about the patch of a
    /// webhook give it.
    #[error("the server rejected our request due to an error in our request")]
    Failed(#[from] OperationError),
}

/// Reason for which an operation does not apply, in the words of the library that the API server uses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OperationError {
    /// The operation is unknown.
    #[error("Unexpected kind: {0}")]
    Kind(String),
    /// The operation lacks a member.
    #[error("{0} operation failed to decode {1}: missing value")]
    Member(String, &'static str),
    /// The object has no such place.
    #[error("{0} operation does not apply: {1}: missing value")]
    Place(String, String),
    /// The parent of the place lacks its last step.
    #[error("error in {0} for {1}: {2}")]
    Step(String, String, Missing),
    /// The value at this place is another one.
    #[error("testing value {0} failed: test failed")]
    Test(String),
    /// Copies make the document too large.
    #[error("copies of more than {MAX_COPIED} bytes")]
    Copies,
}

/// Reason for which a path leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// No value exists at the path.
    #[error("missing path")]
    Path,
    /// The parent lacks this member.
    #[error("Unable to remove nonexistent key: {0}: missing value")]
    Member(String),
    /// The parent is a list, and the last step is not a number.
    #[error("value was not a proper array index: '{0}': strconv.Atoi: parsing {0:?}: invalid syntax")]
    NotAnIndex(String),
    /// The parent is a list without this position.
    #[error("Unable to access invalid index: {0}: invalid index referenced")]
    Index(String),
}

/// Applies a JSON patch to an object.
pub fn apply(object: &Value, patch: &Value) -> Result<Value, JsonPatchError> {
    let operations = match patch {
        Value::Array(operations) => operations,
        Value::Null => return Ok(object.clone()),
        other => return Err(JsonPatchError::NotAList(go_type(other))),
    };
    if operations.len() > MAX_OPERATIONS {
        return Err(JsonPatchError::TooLarge(operations.len()));
    }
    let mut document = object.clone();
    let mut copied = 0;
    for operation in operations {
        carry_out(operation, &mut document, &mut copied)?;
    }
    Ok(document)
}

/// Carries out one operation; `copied` counts the bytes that copies have made.
fn carry_out(operation: &Value, document: &mut Value, copied: &mut usize) -> Result<(), OperationError> {
    let text = |name: &str| operation.get(name).and_then(Value::as_str);
    let op = text("op").unwrap_or("unknown");
    if !matches!(op, "add" | "remove" | "replace" | "test" | "move" | "copy") {
        return Err(OperationError::Kind(op.to_owned()));
    }
    let no = |member| OperationError::Member(op.to_owned(), member);
    let path = text("path").ok_or_else(|| no("path"))?;
    let from = || text("from").ok_or_else(|| no("from: operation, missing from field"));
    let does_not_apply = |what: String| OperationError::Place(op.to_owned(), what);
    let lacks = |of: &str, at: &str, step| OperationError::Step(op.to_owned(), format!("{of}: '{at}'"), step);
    let destination = |missing: Missing| match missing {
        Missing::Path => does_not_apply(format!("doc is missing destination path: {path}")),
        step => lacks("path", path, step),
    };
    let place = Pointer::parse(path);
    let value = operation.get("value").cloned().unwrap_or_default();
    match op {
        "test" => {
            let known = place.get(document);
            if known.is_none() && !place.has_parent(document) {
                return Err(does_not_apply(format!("is missing path: {path}")));
            }
            if known.unwrap_or(&Value::Null) != &value {
                return Err(OperationError::Test(path.to_owned()));
            }
            Ok(())
        }
        "replace" => place.replace(document, value).map_err(|missing| {
            let what = if missing == Missing::Path { "path" } else { "key" };
            does_not_apply(format!("doc is missing {what}: {path}"))
        }),
        "move" => {
            let from = from()?;
            let origin = Pointer::parse(from);
            let moved = origin.remove(document).map_err(|missing| match missing {
                Missing::Path => does_not_apply(format!("doc is missing from path: {from}")),
                step => lacks("path", origin.last(), step),
            })?;
            place.add(document, moved).map_err(destination)
        }
        "copy" => {
            let from = from()?;
            let origin = Pointer::parse(from);
            let value = origin.existing(document).map_err(|missing| match missing {
                Missing::Path => does_not_apply(format!("doc is missing from path: {from}")),
                step => lacks("from", origin.last(), step),
            })?;
            *copied += value.to_string().len();
            if *copied > MAX_COPIED {
                return Err(OperationError::Copies);
            }
            place.add(document, value).map_err(destination)
        }
        // The other operations add or remove.
        _ => {
            let done = if op == "add" {
                place.add(document, value)
            } else {
                place.remove(document).map(drop)
            };
            done.map_err(|missing| match missing {
                Missing::Path => does_not_apply(format!("doc is missing path: {path:?}")),
                step => lacks("path", path, step),
            })
        }
    }
}

/// A JSON pointer; `None` if it has no slash and therefore leads nowhere.
struct Pointer(Option<Vec<String>>);

impl Pointer {
    fn parse(text: &str) -> Self {
        if text.is_empty() {
            return Self(Some(Vec::new()));
        }
        // The text before the first slash is ignored, but there must be a slash.
        let unescape = |part: &str| part.replace("~1", "/").replace("~0", "~");
        Self(
            text.split_once('/')
                .map(|(_, rest)| rest.split('/').map(unescape).collect()),
        )
    }

    fn is_root(&self) -> bool {
        self.0.as_ref().is_some_and(Vec::is_empty)
    }

    fn last(&self) -> &str {
        self.0.iter().flatten().next_back().map_or("", String::as_str)
    }

    fn get<'v>(&self, document: &'v Value) -> Option<&'v Value> {
        let mut here = document;
        for part in self.0.as_ref()? {
            here = step(here, part)?;
        }
        Some(here)
    }

    fn has_parent(&self, document: &Value) -> bool {
        let Some((_, parents)) = self.0.as_ref().and_then(|parts| parts.split_last()) else {
            return false;
        };
        let parent = parents.iter().try_fold(document, |here, part| step(here, part));
        parent.is_some_and(|parent| parent.is_object() || parent.is_array())
    }

    /// Returns the value that contains the last step, and that step.
    fn parent<'v>(&self, document: &'v mut Value) -> Result<(&'v mut Value, &str), Missing> {
        let (last, parents) = self
            .0
            .as_ref()
            .and_then(|parts| parts.split_last())
            .ok_or(Missing::Path)?;
        let mut here = document;
        for part in parents {
            here = match here {
                Value::Object(members) => members.get_mut(part).ok_or(Missing::Path)?,
                Value::Array(items) => {
                    let at = index(part, items.len()).map_err(|_| Missing::Path)?;
                    items.get_mut(at).ok_or(Missing::Path)?
                }
                _ => return Err(Missing::Path),
            };
        }
        Ok((here, last))
    }

    fn add(&self, document: &mut Value, value: Value) -> Result<(), Missing> {
        if self.is_root() {
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
                // One index more than there are items: the position after the last item.
                items.insert(index(position, items.len() + 1)?, value);
                Ok(())
            }
            _ => Err(Missing::Path),
        }
    }

    fn remove(&self, document: &mut Value) -> Result<Value, Missing> {
        match self.parent(document)? {
            (Value::Object(members), name) => members.remove(name).ok_or_else(|| Missing::Member(name.to_owned())),
            (Value::Array(items), position) => Ok(items.remove(index(position, items.len())?)),
            _ => Err(Missing::Path),
        }
    }

    fn replace(&self, document: &mut Value, value: Value) -> Result<(), Missing> {
        if self.is_root() {
            return self.add(document, value);
        }
        match self.parent(document)? {
            (Value::Object(_), _) => self.add(document, value),
            (Value::Array(items), position) => {
                let at = index(position, items.len())?;
                items.get_mut(at).map(|item| *item = value).ok_or(Missing::Path)
            }
            _ => Err(Missing::Path),
        }
    }

    /// Returns the value to copy: `null` for a missing member.
    fn existing(&self, document: &Value) -> Result<Value, Missing> {
        let mut document = document.clone();
        if self.is_root() {
            return Ok(document);
        }
        match self.parent(&mut document)? {
            (Value::Object(members), name) => Ok(members.remove(name).unwrap_or_default()),
            (Value::Array(items), position) => Ok(items.swap_remove(index(position, items.len())?)),
            _ => Err(Missing::Path),
        }
    }
}

fn step<'v>(here: &'v Value, part: &str) -> Option<&'v Value> {
    match here {
        Value::Object(members) => members.get(part),
        Value::Array(items) => items.get(index(part, items.len()).ok()?),
        _ => None,
    }
}

/// A position in a list of this length; negative ones count from the end.
fn index(part: &str, length: usize) -> Result<usize, Missing> {
    let position: i64 = part.parse().map_err(|_| Missing::NotAnIndex(part.to_owned()))?;
    let size = usize::try_from(position.unsigned_abs()).unwrap_or(usize::MAX);
    let at = if position >= 0 {
        Some(size)
    } else {
        length.checked_sub(size)
    };
    at.filter(|at| *at < length)
        .ok_or_else(|| Missing::Index(part.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
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

    #[rstest]
    #[case(json!({"op": "test", "path": "/data/k", "value": "other"}), "testing value /data/k failed: test failed")]
    #[case(json!({"op": "test", "path": "/x/y", "value": null}), "test operation does not apply: is missing path: /x/y: missing value")]
    #[case(json!({"op": "remove", "path": "/data/nope"}), "error in remove for path: '/data/nope': Unable to remove nonexistent key: nope: missing value")]
    #[case(json!({"op": "remove", "path": ""}), "remove operation does not apply: doc is missing path: \"\": missing value")]
    #[case(json!({"op": "remove", "path": "/list/-2"}), "error in remove for path: '/list/-2': Unable to access invalid index: -2: invalid index referenced")]
    #[case(json!({"op": "replace", "path": "/nope/new", "value": "x"}), "replace operation does not apply: doc is missing path: /nope/new: missing value")]
    #[case(json!({"op": "replace", "path": "/list/1", "value": "x"}), "replace operation does not apply: doc is missing key: /list/1: missing value")]
    #[case(json!({"op": "add", "path": "/list/3", "value": "x"}), "error in add for path: '/list/3': Unable to access invalid index: 3: invalid index referenced")]
    #[case(json!({"op": "add", "path": "/list/q", "value": "x"}), "error in add for path: '/list/q': value was not a proper array index: 'q': strconv.Atoi: parsing \"q\": invalid syntax")]
    #[case(json!({"op": "add", "path": "data", "value": {}}), "add operation does not apply: doc is missing path: \"data\": missing value")]
    #[case(json!({"op": "add", "path": "/data/k/l", "value": 1}), "add operation does not apply: doc is missing path: \"/data/k/l\": missing value")]
    #[case(json!({"op": "move", "from": "/data/nope", "path": "/data/x"}), "error in move for path: 'nope': Unable to remove nonexistent key: nope: missing value")]
    #[case(json!({"op": "move", "from": "/data/k", "path": "/x/y"}), "move operation does not apply: doc is missing destination path: /x/y: missing value")]
    #[case(json!({"op": "copy", "from": "/x/y", "path": "/data/x"}), "copy operation does not apply: doc is missing from path: /x/y: missing value")]
    #[case(json!({"op": "copy", "path": "/data/x"}), "copy operation failed to decode from: operation, missing from field: missing value")]
    #[case(json!({"op": "explode", "path": "/data/k"}), "Unexpected kind: explode")]
    #[case(json!({"path": "/data/k"}), "Unexpected kind: unknown")]
    #[case(json!({"op": "add", "value": "x"}), "add operation failed to decode path: missing value")]
    fn operations_that_do_not_apply_fail(#[case] patch: Value, #[case] why: &str) {
        let object = json!({"data": {"k": "v"}, "list": ["a"]});
        let Err(JsonPatchError::Failed(failed)) = apply(&object, &json!([patch])) else {
            panic!("{patch} applies");
        };
        assert_eq!(failed.to_string(), why);
    }

    #[test]
    fn a_patch_is_a_list() {
        assert_eq!(apply(&json!({}), &json!({})), Err(JsonPatchError::NotAList("object")));
    }
}
