//! Properties of any input, tested with inputs that resemble templates.

use baton_jsonpath::exercise::exercise;
use proptest::prelude::*;

/// Pieces with a meaning in the language, and some without.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "[?(",
    ")]",
    "(",
    ")",
    "..",
    ".",
    ".a",
    ".b",
    "['a']",
    "['a','b']",
    "[0]",
    "[-1]",
    "[*]",
    "[1:]",
    "[::2]",
    "[0,1]",
    ".*",
    "*",
    "@",
    "$",
    " ",
    ",",
    "'",
    "\"",
    "\\",
    "\\'",
    "==",
    "!=",
    "<",
    ">=",
    "=",
    "1",
    "-1",
    "1.5",
    "true",
    "range ",
    "end",
    "{range .a[*]}",
    "{end}",
    "x",
    "é",
    "☃",
    "\n",
    "\t",
    "/",
    "|",
    "~",
    ":",
    "0",
    "9223372036854775807",
    "-9223372036854775808",
];

fn template() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..40).prop_map(|pieces| pieces.concat())
}

fn action() -> impl Strategy<Value = String> {
    prop::collection::vec(template(), 1..4).prop_map(|actions| format!("{{{}}}", actions.join("}{")))
}

fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        (-1e30..1e30_f64).prop_map(|number| format!("{number:e}")),
        "[a-z\\\\\"é☃]{0,6}".prop_map(|text| serde_json::Value::String(text).to_string()),
    ];
    leaf.prop_recursive(5, 64, 5, |inside| {
        prop_oneof![
            prop::collection::vec(inside.clone(), 0..5).prop_map(|list| format!("[{}]", list.join(","))),
            prop::collection::btree_map("[ab]", inside, 0..3).prop_map(|object| {
                let entries: Vec<_> = object.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
                format!("{{{}}}", entries.join(","))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_answered(input in "\\PC{0,200}") {
        prop_assert_eq!(exercise(&input), Ok(()));
    }

    #[test]
    fn anything_like_a_template_is_answered(path in prop_oneof![template(), action()], value in value()) {
        prop_assert_eq!(exercise(&format!("{path}\0{value}")), Ok(()));
    }

    #[test]
    fn text_without_braces_stands_for_itself(text in "[^{]{0,60}", value in value()) {
        let template = baton_jsonpath::Template::parse(&text).expect("parses");
        let value = serde_json::from_str(&value).expect("is JSON");
        prop_assert_eq!(template.evaluate(&value), Ok(text));
        prop_assert!(!template.reads_value());
    }
}
