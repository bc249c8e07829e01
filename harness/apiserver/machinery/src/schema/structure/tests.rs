use crate::go_fmt;
use serde_json::{Value, json};

use super::check;

fn findings(root_rest: Value) -> Vec<String> {
    let mut schema = json!({"type": "object"});
    if let (Value::Object(schema), Value::Object(rest)) = (&mut schema, root_rest) {
        schema.extend(rest);
    }
    let mut texts: Vec<String> = check(&schema, "S", false).iter().map(ToString::to_string).collect();
    texts.sort();
    texts
}

fn property(schema: &Value) -> Value {
    json!({"properties": {"a": schema}})
}

#[test]
fn refusals_of_a_property() {
    let cases = [
        (
            json!({"properties": {"x": {"type": "string"}}}),
            vec!["S.properties[a].type: Required value: must not be empty for specified object fields"],
        ),
        (
            json!({"type": "array"}),
            vec!["S.properties[a].items: Required value: must be specified"],
        ),
        (
            json!({"type": "array", "items": {}}),
            vec!["S.properties[a].items.type: Required value: must not be empty for specified array items"],
        ),
        (
            json!({"$ref": "#/x"}),
            vec!["S.properties[a].$ref: Forbidden: $ref is not supported"],
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}),
            vec![
                "S.properties[a].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
            ],
        ),
        (
            json!({"anyOf": [{"type": "string"}]}),
            vec![
                "S.properties[a].anyOf[0].type: Forbidden: must be empty to be structural",
                "S.properties[a].type: Required value: must not be empty for specified object fields",
            ],
        ),
        (
            json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
            vec![],
        ),
        (
            json!({"x-kubernetes-int-or-string": true, "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"pattern": "a"}]}),
            vec![],
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "ring"}),
            vec![
                r#"S.properties[a].x-kubernetes-list-type: Unsupported value: "ring": supported values: "atomic", "set", "map""#,
            ],
        ),
        (
            json!({"type": "string", "x-kubernetes-embedded-resource": true}),
            vec![
                "S.properties[a].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
                r#"S.properties[a].type: Invalid value: "string": must be object if x-kubernetes-embedded-resource is true"#,
            ],
        ),
        (
            json!({"type": "integer", "default": "x"}),
            vec![r#"S.properties[a].default: Invalid value: "string":  in body must be of type integer: "string""#],
        ),
        (
            json!({"type": "object", "properties": {"b": {"type": "string"}}, "default": {"c": 1}}),
            vec![r#"S.properties[a].default: Invalid value: {"c":1}: must not have unknown fields"#],
        ),
        (
            json!({"type": "strin"}),
            vec![
                r#"S.properties[a].type: Unsupported value: "strin": supported values: "array", "boolean", "integer", "number", "object", "string""#,
            ],
        ),
    ];
    for (schema, expected) in cases {
        assert_eq!(findings(property(&schema)), expected, "{schema}");
    }
}

#[test]
fn nested_schemas_and_defaults_of_a_property() {
    let cases: [(Value, Vec<&str>); 4] = [
        (
            json!({"type": "array", "items": {"type": "string"}, "default": ["x", 1]}),
            vec![
                r#"S.properties[a].default.[1]: Invalid value: "integer": [1] in body must be of type string: "integer""#,
            ],
        ),
        (
            json!({"type": "string", "pattern": "(?=a)"}),
            vec![
                r#"S.properties[a].pattern: Invalid value: "(?=a)": must be a valid regular expression, but isn't: error parsing regexp: invalid or unsupported Perl syntax: `(?=`"#,
            ],
        ),
        (
            json!({"type": "object", "anyOf": [{"properties": {"z": {"minLength": 1}}}]}),
            vec![],
        ),
        (json!({"type": "object", "not": {"properties": {"z": {}}}}), vec![]),
    ];
    for (schema, expected) in cases {
        assert_eq!(findings(property(&schema)), expected, "{schema}");
    }
}

#[test]
fn refusals_at_the_root() {
    let cases = [
        (
            json!({"type": "array", "items": {"type": "string"}}),
            vec![r#"S.type: Invalid value: "array": must be object at the root"#],
        ),
        (
            json!({"allOf": [{"properties": {"z": {"minimum": 1}}}]}),
            vec!["S.properties[z]: Required value: because it is defined in S.allOf[0].properties[z]"],
        ),
        (
            json!({"properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}}),
            vec![
                "S.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
            ],
        ),
        (
            json!({"properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}}}}}),
            vec![],
        ),
        (
            json!({"nullable": true}),
            vec!["S.nullable: Forbidden: nullable cannot be true at the root"],
        ),
    ];
    for (schema, expected) in cases {
        assert_eq!(findings(schema.clone()), expected, "{schema}");
    }
}

#[test]
fn hostile_nesting_is_refused() {
    let mut schema = json!({"type": "string"});
    for _ in 0..400 {
        schema = json!({"type": "array", "items": schema});
    }
    assert_eq!(check(&schema, "S", false).len(), 1);
}

#[test]
fn rules_that_do_not_compile_are_refused() {
    let with_rule = |rule: Value| {
        json!({"properties": {"a": {"type": "object", "properties": {"i": {"type": "integer"}, "s": {"type": "string"},
            "l": {"type": "array", "items": {"type": "string"}}}, "x-kubernetes-validations": [rule]}}})
    };
    let good = [
        "self.i > 0 && self.s.startsWith('a')",
        "!has(self.s) || self.l.all(x, x.size() > 1)",
        "oldSelf.i <= self.i",
        "self.l.exists_one(x, x == self.s) ? true : self.i == 1",
        "self == oldSelf",
    ];
    for rule in good {
        assert_eq!(
            findings(with_rule(json!({ "rule": rule }))),
            Vec::<String>::new(),
            "{rule}"
        );
    }
    let bad = [
        (
            "self.nope == 1",
            "compilation failed: ERROR: <input>:1:5: undefined field 'nope'\n | self.nope == 1\n | ....^",
        ),
        ("nope == 1", "undeclared reference to 'nope' (in container '')"),
        (
            "self.i == 'x'",
            "found no matching overload for '_==_' applied to '(int, string)'",
        ),
        (
            "self.i + 's' == 's'",
            "found no matching overload for '_+_' applied to '(int, string)'",
        ),
        (
            "self.i.startsWith('x')",
            "found no matching overload for 'startsWith' applied to 'int.(string)'",
        ),
        ("self.i", "cel expression must evaluate to a bool"),
        ("self.i >", "compilation failed: ERROR: <input>:1:9: Syntax error"),
    ];
    for (rule, part) in bad {
        let found = findings(with_rule(json!({ "rule": rule })));
        assert_eq!(found.len(), 1, "{rule}: {found:?}");
        let start = format!(
            "S.properties[a].x-kubernetes-validations[0].rule: Invalid value: {{\"Rule\":{}",
            go_fmt::escaped(json!(rule).to_string())
        );
        assert!(
            found[0].starts_with(&start) && found[0].contains(part),
            "{rule}: {}",
            found[0]
        );
    }
    let found = findings(with_rule(json!({"rule": "self.i > 0", "optionalOldSelf": true})));
    assert!(
        found[0].ends_with("Invalid value: true: may not be set if oldSelf is not used in rule"),
        "{found:?}"
    );
    let items = json!({"properties": {"a": {"type": "array", "items": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}}});
    let found = findings(items);
    assert!(
        found[0].ends_with("oldSelf cannot be used on the uncorrelatable portion of the schema within S.properties[a]"),
        "{found:?}"
    );
}
