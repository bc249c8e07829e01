//! The order of lists that a strategic merge patch has merged.

use serde_json::Value;

use super::error::MergeError;
use crate::go_fmt;

/// How items are matched: by the value of a key or, if the key is empty, by comparing whole items.
#[derive(Clone, Copy)]
pub(super) struct Order {
    pub(super) key: &'static str,
}

impl Order {
    fn same(self, left: &Value, right: &Value) -> bool {
        if self.key.is_empty() {
            return left == right;
        }
        left.get(self.key).is_some() && left.get(self.key) == right.get(self.key)
    }

    fn index(self, list: &[Value], item: &Value) -> Option<usize> {
        list.iter().position(|candidate| self.same(candidate, item))
    }
}

/// The value of the merge key of an item.
pub(super) fn key_of<'a>(item: &'a Value, key: &str) -> Result<&'a Value, MergeError> {
    item.get(key).ok_or_else(|| {
        MergeError::Internal(format!(
            "map: {} does not contain declared merge key: {key}",
            go_fmt::plain(item)
        ))
    })
}

/// Checks that the items of a patch have the order that the patch asks for.
pub fn check(by: Order, patch: &[Value], order: &[Value]) -> Result<(), MergeError> {
    let deleted = |item: &&Value| item.get("$patch").and_then(Value::as_str) == Some("delete");
    let mut wanted = patch.iter().filter(|item| !deleted(item)).peekable();
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    for place in order {
        wanted.next_if(|item| by.same(item, place));
    }
    if wanted.peek().is_none() {
        return Ok(());
    }
    Err(MergeError::Internal(format!(
        "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
        go_fmt::items(patch),
        go_fmt::items(order)
    )))
}

/// Orders a merged list: items of the patch have the order of the patch, and items that only the server has keep their
/// position relative to them.
pub(super) fn arrange(
    by: Order,
    merged: Vec<Value>,
    patch_order: &[Value],
    server_order: &[Value],
) -> Result<Vec<Value>, MergeError> {
    if !by.key.is_empty() {
        for item in merged.iter().chain(patch_order) {
            key_of(item, by.key)?;
        }
    }
    let (mut patched, mut server): (Vec<Value>, Vec<Value>) = merged
        .into_iter()
        .partition(|item| by.index(patch_order, item).is_some());
    patched.sort_by_key(|item| by.index(patch_order, item));
    server.sort_by_key(|item| by.index(server_order, item).unwrap_or(usize::MAX));
    let mut out = Vec::with_capacity(patched.len() + server.len());
    let (mut patched, mut server) = (patched.into_iter().peekable(), server.into_iter().peekable());
    loop {
        let before = match (server.peek(), patched.peek()) {
            (None, None) => return Ok(out),
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(left), Some(right)) => match (by.index(server_order, left), by.index(server_order, right)) {
                (Some(left), Some(right)) => left < right,
                _ => false,
            },
        };
        out.extend(if before { server.next() } else { patched.next() });
    }
}
