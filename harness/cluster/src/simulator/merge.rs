//! JSON merge patches and subsets, on plain values.

use serde_json::Value;

/// Applies a merge patch: objects are merged, `null` removes a field, other values replace.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    let Value::Object(target) = target else {
        return;
    };
    for (name, value) in patch {
        if value.is_null() {
            target.remove(name);
        } else {
            merge(target.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}

/// Checks whether `whole` contains all of `part`: fields of objects, and items of lists by position.
pub(super) fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part
            .iter()
            .all(|(name, part)| whole.get(name).map_or(part.is_null(), |whole| contains(whole, part))),
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(whole, part)| contains(whole, part))
        }
        (whole, part) => whole == part,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn null_removes_and_maps_merge() {
        let mut status = json!({"replicas": 2, "readyReplicas": 1, "deep": {"a": 1}});
        merge(
            &mut status,
            &json!({"readyReplicas": null, "absent": null, "deep": {"b": {"c": null}}}),
        );
        assert_eq!(status, json!({"replicas": 2, "deep": {"a": 1, "b": {}}}));
    }

    #[test]
    fn defaults_of_the_server_do_not_make_a_difference() {
        let stored = json!({"containers": [{"name": "c", "terminationMessagePath": "/dev/termination-log"}]});
        assert!(contains(
            &stored,
            &json!({"containers": [{"name": "c"}], "absent": null})
        ));
        assert!(!contains(&stored, &json!({"containers": [{"name": "d"}]})));
        assert!(!contains(&stored, &json!({"containers": []})));
    }
}
