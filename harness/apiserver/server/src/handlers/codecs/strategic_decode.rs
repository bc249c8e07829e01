//! Strategic merge patches are not decoded but restored from maps, and their errors have different words.

use baton_apikinds::codec::DecodeError;
use serde_json::Value;

/// Returns the error of a decoder in the words of the code that restores objects from maps.
pub(in crate::handlers) fn worded(error: &DecodeError) -> String {
    match error {
        DecodeError::Bytes(error) => format!("error decoding from json: {error}"),
        DecodeError::Type(error) if error.place != "value" => restored(&error.found, &error.wanted),
        other => other.to_string(),
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
    use baton_apimachinery::go_json::UnmarshalTypeError;
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
            let error = UnmarshalTypeError {
                found: given.to_owned(),
                place: "struct field A.b".to_owned(),
                wanted: wanted.to_owned(),
            };
            assert_eq!(worded(&error.into()), expected);
        }
        let other = "boolean or JSON schema expected";
        assert_eq!(worded(&DecodeError::Schema), other);
    }

    #[test]
    fn ordered_lists_are_gone_from_patches() {
        let patch = json!({"spec": {"$setElementOrder/a": [1], "a": [1], "b": {"c": null}}});
        assert_eq!(left_of(&patch), json!({"spec": {"b": {"c": null}}}));
    }
}
