//! Defaulting, and removal of nulls that the schema does not allow.

use serde_json::Value;

use super::node::Node;

/// Fills in defaults, then removes nulls that are neither nullable nor defaulted.
pub fn apply(node: &Node, object: &mut Value) {
    fill(node, object);
    drop_nulls(node, object);
}

/// Fills in defaults only.
pub fn fill(node: &Node, value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (name, property) in &node.properties {
                let Some(default) = &property.default else { continue };
                let missing = match map.get(name) {
                    None => true,
                    Some(present) => present.is_null() && !property.nullable,
                };
                if missing {
                    map.insert(name.clone(), default.clone());
                }
            }
            for (key, value) in map.iter_mut() {
                if let Some(property) = node.properties.get(key) {
                    fill(property, value);
                } else if let Some(schema) = node.additional_schema() {
                    fill_null(schema, value);
                    fill(schema, value);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = node.items.as_deref() {
                for item in items {
                    fill_null(schema, item);
                    fill(schema, item);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn fill_null(node: &Node, value: &mut Value) {
    if value.is_null()
        && !node.nullable
        && let Some(default) = &node.default
    {
        value.clone_from(default);
    }
}

fn drop_nulls(node: &Node, value: &mut Value) {
    match value {
        Value::Object(map) => map.retain(|key, value| {
            let Some(schema) = node.member(key) else { return true };
            if value.is_null() {
                return schema.nullable;
            }
            drop_nulls(schema, value);
            true
        }),
        Value::Array(items) => {
            if let Some(schema) = node.items.as_deref() {
                for item in items {
                    drop_nulls(schema, item);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::node::Node;
    use super::apply;
    use serde_json::{Value, json};

    fn check(schema: &Value, cases: &[(Value, Value)]) {
        let node = Node::build(schema);
        for (given, expected) in cases {
            let mut object = given.clone();
            apply(&node, &mut object);
            assert_eq!(&object, expected, "{given}");
        }
    }

    #[test]
    fn defaults_reach_nested_objects_items_and_map_values() {
        let schema = json!({"type": "object", "properties": {
            "s": {"type": "string", "default": "hello"},
            "o": {"type": "object", "default": {}, "properties": {"x": {"type": "string", "default": "inner"}}},
            "no": {"type": "object", "properties": {"x": {"type": "string", "default": "inner"}}},
            "items": {"type": "array", "items": {"type": "object", "properties": {"v": {"type": "integer", "default": 1}}}},
            "m": {"type": "object", "additionalProperties": {"type": "object", "properties": {"v": {"type": "integer", "default": 2}}}}
        }});
        check(
            &schema,
            &[
                (json!({}), json!({"s": "hello", "o": {"x": "inner"}})),
                (
                    json!({"s": null, "o": null}),
                    json!({"s": "hello", "o": {"x": "inner"}}),
                ),
                (
                    json!({"s": "mine", "no": {}, "items": [{}], "m": {"k": {}}}),
                    json!({"s": "mine", "no": {"x": "inner"}, "items": [{"v": 1}], "m": {"k": {"v": 2}}, "o": {"x": "inner"}}),
                ),
            ],
        );
    }

    #[test]
    fn nulls_stay_only_where_nullable() {
        let schema = json!({"type": "object", "properties": {
            "n": {"type": "string", "nullable": true}, "nn": {"type": "string"},
            "nd": {"type": "string", "nullable": true, "default": "d"}, "nnd": {"type": "string", "default": "d"},
            "an": {"type": "array", "items": {"type": "string"}}
        }});
        check(
            &schema,
            &[
                (json!({"n": null}), json!({"n": null, "nd": "d", "nnd": "d"})),
                (json!({"nn": null}), json!({"nd": "d", "nnd": "d"})),
                (json!({"nd": null, "nnd": null}), json!({"nd": null, "nnd": "d"})),
                (json!({"an": [null]}), json!({"an": [null], "nd": "d", "nnd": "d"})),
            ],
        );
    }
}
