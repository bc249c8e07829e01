//! Strategic merge patches are not decoded but restored from maps, and their errors have different words.

use serde_json::Value;

const CANNOT: &str = "json: cannot unmarshal ";

/// Converts the error of a decoder to that of the code that restores objects from maps.
pub(in crate::handlers) fn worded(error: &str) -> String {
    if error.starts_with("illegal base64 data") {
        return format!("error decoding from json: {error}");
    }
    let parts = error
        .strip_prefix(CANNOT)
        .and_then(|rest| rest.split_once(" into Go struct field "))
        .and_then(|(given, rest)| Some((given, rest.split_once(" of type ")?.1)));
    match parts {
        Some((given, wanted)) => restored(given, wanted),
        None => error.to_owned(),
    }
}

/// `given` is `string`, `number`, `number 1.5` and so on; `wanted` is the Go type.
fn restored(given: &str, wanted: &str) -> String {
    let (kind, number) = given.split_once(' ').unwrap_or((given, ""));
    let go_kind = match kind {
        "number" if number.contains(['.', 'e', 'E']) => "float64",
        "number" => "int64",
        "array" => "slice",
        "object" => "map",
        other => other,
    };
    match wanted {
        "string" if go_kind == "int64" => "cannot convert int64 to string".to_owned(),
        "int32" | "int64" if go_kind == "float64" => format!("cannot convert float64 to {wanted}"),
        "string" | "bool" | "int32" | "int64" => format!("unrecognized type: {wanted}"),
        list if list.starts_with("[]") => format!("cannot restore slice from {go_kind}"),
        map if map.starts_with("map[") => format!("cannot restore map from {go_kind}"),
        _ => format!("cannot restore struct from: {go_kind}"),
    }
}

/// Returns the rest of a patch after a merge: without the order directives and the lists that they order.
pub(in crate::handlers) fn left_of(patch: &Value) -> Value {
    const ORDER: &str = "$setElementOrder/";
    let Value::Object(members) = patch else {
        return patch.clone();
    };
    let ordered = |key: &str| key.starts_with(ORDER) || members.contains_key(&format!("{ORDER}{key}"));
    let left = members.iter().filter(|(key, _)| !ordered(key));
    left.map(|(key, value)| (key.clone(), left_of(value))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_of_decoders_become_those_of_maps() {
        for (given, wanted, expected) in [
            ("string", "int32", "unrecognized type: int32"),
            ("number 1.5", "int32", "cannot convert float64 to int32"),
            ("number", "string", "cannot convert int64 to string"),
            ("bool", "string", "unrecognized type: string"),
            ("string", "[]v1.Container", "cannot restore slice from string"),
            ("array", "map[string][]uint8", "cannot restore map from slice"),
            ("number", "v1.ObjectMeta", "cannot restore struct from: int64"),
        ] {
            let error = format!("json: cannot unmarshal {given} into Go struct field A.b of type {wanted}");
            assert_eq!(worded(&error), expected);
        }
        assert_eq!(worded("unable to parse quantity"), "unable to parse quantity");
    }

    #[test]
    fn ordered_lists_are_gone_from_patches() {
        let patch = json!({"spec": {"$setElementOrder/a": [1], "a": [1], "b": {"c": null}}});
        assert_eq!(left_of(&patch), json!({"spec": {"b": {"c": null}}}));
    }
}
