use serde_json::{Value, json};

use super::super::node::Node;
use super::super::path::Path;
use super::{Outcome, check, keyed};

fn findings(schema: &Value, value: &Value) -> Vec<String> {
    let node = Node::build(schema);
    let mut outcome = Outcome::default();
    let root = Path::root("");
    check(&node, value, None, &root.field("x"), &mut outcome);
    keyed::check(&node, value, None, &root.field("x"), &mut outcome.errors);
    let mut texts: Vec<String> = outcome.errors.iter().map(ToString::to_string).collect();
    texts.sort();
    texts
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn every_keyword_has_its_words() {
    let string = || json!({"type": "string"});
    let cases = [
        (
            string(),
            json!(5),
            vec![r#"x: Invalid value: "integer": x in body must be of type string: "integer""#],
        ),
        (
            string(),
            json!(null),
            vec![r#"x: Invalid value: "null": x in body must be of type string: "null""#],
        ),
        (
            json!({"type": "integer"}),
            json!(1.5),
            vec![
                r#"<nil>: Invalid value: "": Checked value must be of type integer (default format) in x"#,
                r#"x: Invalid value: "number": x in body must be of type integer: "number""#,
            ],
        ),
        (
            json!({"type": "integer", "format": "int32"}),
            json!(3_000_000_000_u32),
            vec![r#"<nil>: Invalid value: "": Checked value must be of type integer with format int32 in x"#],
        ),
        (json!({"type": "integer"}), json!(2.0), vec![]),
        (
            json!({"x-kubernetes-int-or-string": true}),
            json!(true),
            vec![r#"x: Invalid value: "boolean": x in body must be of type integer,string: "boolean""#],
        ),
        (
            json!({"type": "integer", "minimum": 1}),
            json!(0),
            vec!["x: Invalid value: 0: x in body should be greater than or equal to 1"],
        ),
        (
            json!({"type": "number", "maximum": 10, "exclusiveMaximum": true}),
            json!(10),
            vec!["x: Invalid value: 10: x in body should be less than 10"],
        ),
        (
            json!({"type": "number", "multipleOf": 0.5}),
            json!(1.3),
            vec!["x: Invalid value: 1.3: x in body should be a multiple of 0.5"],
        ),
        (json!({"type": "number", "multipleOf": 0.1}), json!(0.3), vec![]),
        (
            json!({"type": "string", "maxLength": 3}),
            json!("abcd"),
            vec!["x: Too long: may not be more than 3 bytes"],
        ),
        (json!({"type": "string", "maxLength": 3}), json!("ééé"), vec![]),
        (
            json!({"type": "string", "pattern": "^[a-z]+$"}),
            json!("A"),
            vec![r#"x: Invalid value: "A": x in body should match '^[a-z]+$'"#],
        ),
        (
            json!({"type": "string", "format": "date"}),
            json!("yesterday"),
            vec![r#"x: Invalid value: "yesterday": x in body must be of type date: "yesterday""#],
        ),
        (
            json!({"type": "integer", "enum": [1, 2]}),
            json!(3),
            vec![r#"x: Unsupported value: 3: supported values: "1", "2""#],
        ),
        (
            json!({"type": "array", "items": string(), "minItems": 1}),
            json!([]),
            vec!["x: Invalid value: 0: x in body should have at least 1 items"],
        ),
        (
            json!({"type": "array", "items": string(), "maxItems": 1}),
            json!(["a", "b"]),
            vec!["x: Too many: 2: must have at most 1 item"],
        ),
        (
            json!({"type": "object", "minProperties": 1}),
            json!({}),
            vec!["x: Invalid value: 0: x in body should have at least 1 properties"],
        ),
        (
            json!({"type": "object", "required": ["a"]}),
            json!({}),
            vec!["x.a: Required value"],
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "integer"}}),
            json!({"k": "v"}),
            vec![r#"x.k: Invalid value: "string": x.k in body must be of type integer: "string""#],
        ),
        (
            json!({"type": "array", "items": string(), "x-kubernetes-list-type": "set"}),
            json!(["a", "b", "a"]),
            vec![r#"x[2]: Duplicate value: "a""#],
        ),
    ];
    for (schema, value, expected) in cases {
        assert_eq!(findings(&schema, &value), expected, "{value} against {schema}");
    }
}

#[test]
fn composites_say_what_the_best_alternative_lacks() {
    let one_of = json!({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
    let cases = [
        (
            one_of.clone(),
            json!({}),
            vec![
                r#"<nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). Found none valid"#,
                "x.a: Required value",
            ],
        ),
        (
            one_of,
            json!({"a": 1, "b": 1}),
            vec![
                r#"<nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). Found 2 valid alternatives"#,
            ],
        ),
        (
            json!({"type": "integer", "anyOf": [{"minimum": 5}, {"maximum": 1}]}),
            json!(3),
            vec![
                r#"<nil>: Invalid value: "": "x" must validate at least one schema (anyOf)"#,
                "x: Invalid value: 3: x in body should be greater than or equal to 5",
            ],
        ),
        (
            json!({"type": "integer", "allOf": [{"minimum": 5}]}),
            json!(3),
            vec![
                r#"<nil>: Invalid value: "": "x" must validate all the schemas (allOf). None validated"#,
                "x: Invalid value: 3: x in body should be greater than or equal to 5",
            ],
        ),
        (
            json!({"type": "integer", "not": {"enum": [3]}}),
            json!(3),
            vec![r#"<nil>: Invalid value: "": "x" must not validate the schema (not)"#],
        ),
    ];
    for (schema, value, expected) in cases {
        assert_eq!(findings(&schema, &value), expected, "{value} against {schema}");
    }
}
