use serde_json::json;

use super::*;

fn mismatches(pattern: &Value, value: &Value) -> Vec<String> {
    let bindings = Bindings::from([("origin".to_owned(), "member2".to_owned())]);
    let pattern = Pattern::from_value(pattern).unwrap();
    pattern
        .mismatches(Some(value), &bindings)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn a_map_matches_by_subset() {
    assert!(mismatches(&json!({"a": {"b": 1}}), &json!({"a": {"b": 1, "c": 2}, "d": 3})).is_empty());
    assert_eq!(
        mismatches(&json!({"a": {"b": 1}}), &json!({"a": {}})),
        ["a.b: expected 1, seen nothing"]
    );
    assert_eq!(
        mismatches(&json!({"a": {"x/y": "v"}}), &json!({})),
        [r#"a["x/y"]: expected "v", seen nothing"#]
    );
}

#[test]
fn what_must_be_there_is_needed_and_what_may_be_left_out_is_not() {
    let pattern = json!({"a": {"contains": [{"b": 1, "c": null}]}, "d": {"any": [null, 1]}, "e": {"oneOf": [1, null]}, "f": {"oneOf": [1]}});
    let needed = Pattern::from_value(&pattern).unwrap().needed();
    assert_eq!(needed, [vec!["a", "b"], vec!["f"]]);
}

#[test]
fn null_means_absent_also_where_the_parent_is_absent() {
    assert!(mismatches(&json!({"a": {"b": null}}), &json!({})).is_empty());
    assert_eq!(
        mismatches(&json!({"a": null}), &json!({"a": 1})),
        ["a: expected nothing, seen 1"]
    );
}

#[test]
fn null_also_means_an_empty_list_or_map() {
    let pattern = json!({"spec": {"gracefulEvictionTasks": null}});
    for empty in [json!(null), json!([]), json!({})] {
        assert!(mismatches(&pattern, &json!({"spec": {"gracefulEvictionTasks": empty}})).is_empty());
    }
    let there = json!({"spec": {"gracefulEvictionTasks": {"present": true}}});
    for empty in [json!(null), json!([]), json!({})] {
        let found = mismatches(&there, &json!({"spec": {"gracefulEvictionTasks": empty}}));
        assert_eq!(found.len(), 1, "{empty}");
    }
    for present in [json!([{}]), json!({"a": 1}), json!(""), json!(0), json!(false)] {
        let found = mismatches(&pattern, &json!({"spec": {"gracefulEvictionTasks": present}}));
        assert_eq!(found.len(), 1, "{present}");
        assert!(mismatches(&there, &json!({"spec": {"gracefulEvictionTasks": present}})).is_empty());
    }
}

#[test]
fn references_are_put_in() {
    assert!(mismatches(&json!({"c": "${origin}"}), &json!({"c": "member2"})).is_empty());
    assert_eq!(
        mismatches(&json!({"c": "on ${origin} of ${unknown}"}), &json!({"c": "x"})),
        [r#"c: expected "on member2 of ${unknown}", seen "x""#]
    );
}

#[test]
fn a_text_mentions_what_it_must() {
    let object = json!({"m": "eviction from member2 waits: rule a"});
    assert!(mismatches(&json!({"m": {"mentions": ["${origin}", "rule a"]}}), &object).is_empty());
    assert_eq!(
        mismatches(&json!({"m": {"mentions": ["${origin}", "rule b"]}}), &object),
        [r#"m: expected a text with ["rule b"] in it, seen "eviction from member2 waits: rule a""#]
    );
    assert_eq!(mismatches(&json!({"n": {"mentions": ["a"]}}), &object).len(), 1);
    assert!(Pattern::from_value(&json!({"m": {"mentions": [1]}})).is_err());
}

#[test]
fn numbers_and_alternatives_have_matchers() {
    let object = json!({"n": 3, "s": "member2"});
    assert!(mismatches(&json!({"n": {"atLeast": 3}}), &object).is_empty());
    assert!(mismatches(&json!({"n": {"atMost": 3}}), &object).is_empty());
    assert_eq!(
        mismatches(&json!({"n": {"atLeast": 4}}), &object),
        ["n: expected at least 4, seen 3"]
    );
    assert_eq!(
        mismatches(&json!({"n": {"atMost": 2}}), &object),
        ["n: expected at most 2, seen 3"]
    );
    assert_eq!(mismatches(&json!({"x": {"atMost": 2}}), &object).len(), 1);
    assert!(mismatches(&json!({"s": {"oneOf": ["a", "${origin}"]}}), &object).is_empty());
    assert!(mismatches(&json!({"x": {"oneOf": [1, null]}}), &object).is_empty());
    assert_eq!(
        mismatches(&json!({"s": {"oneOf": ["a", 1]}}), &object),
        [r#"s: expected one of "a", 1, seen "member2""#]
    );
    assert!(mismatches(&json!({"any": [{"n": 4}, {"s": "${origin}"}]}), &object).is_empty());
    assert!(mismatches(&json!({"x": {"any": [600, null]}}), &object).is_empty());
    assert_eq!(
        mismatches(&json!({"n": {"any": [600, null]}}), &object),
        ["n: expected either 600 or nothing, seen 3"]
    );
}

#[test]
fn times_texts_and_totals_have_matchers() {
    let object = json!({"t": "2026-01-01T00:05:00Z", "s": "member2", "l": [{"n": 2}, {"n": 1, "x": 4}, {}]});
    let after = |least: &str, most: &str| json!({"t": {"after": {"time": "2026-01-01T00:00:00.5Z", "atLeast": least, "atMost": most}}});
    assert!(mismatches(&after("299s", "300s"), &object).is_empty());
    assert_eq!(
        mismatches(&after("300s", "400s"), &object),
        [
            r#"t: expected a time at least 300 s and at most 400 s after 2026-01-01T00:00:00.5Z, seen "2026-01-01T00:05:00Z""#
        ]
    );
    assert_eq!(mismatches(&after("1s", "299s"), &object).len(), 1);
    assert!(mismatches(&json!({"s": {"pattern": "^member[0-9]$"}}), &object).is_empty());
    assert_eq!(
        mismatches(&json!({"s": {"pattern": "^member$"}}), &object),
        [r#"s: expected a text like /^member$/, seen "member2""#]
    );
    assert!(mismatches(&json!({"l": {"total": {"of": "n", "is": 3}}}), &object).is_empty());
    assert_eq!(
        mismatches(&json!({"l": {"total": {"of": "n", "is": {"atLeast": 4}}}}), &object),
        ["l: expected a list with a total of n: at least 4, seen a total of 3"]
    );
    assert!(mismatches(&json!({"none": {"total": {"of": "n", "is": 0}}}), &object).is_empty());
    for wrong in [
        json!({"pattern": "("}),
        json!({"after": {"time": "x"}}),
        json!({"after": {"time": "x", "atLeast": 3}}),
        json!({"after": {"time": "x", "atLeast": "3s", "atBest": "4s"}}),
        json!({"total": {"of": "n"}}),
        json!({"total": {"of": "n", "is": 3, "at": 1}}),
    ] {
        assert!(Pattern::from_value(&json!({"x": wrong.clone()})).is_err(), "{wrong}");
    }
}

#[test]
fn of_several_candidates_the_nearest_is_explained() {
    let tasks = json!({"l": [{"n": "a", "v": 1}, {"n": "b", "v": 1, "w": 1}]});
    assert_eq!(
        mismatches(&json!({"l": {"contains": [{"n": "b", "v": 2}]}}), &tasks),
        ["l[1].v: expected 2, seen 1"]
    );
    let none = mismatches(&json!({"l": {"contains": [{"n": "c", "v": 2}]}}), &tasks);
    assert!(none[0].starts_with("l: expected an element like"), "{none:?}");
}

#[test]
fn lists_say_how_they_are_meant() {
    let list = json!({"l": [{"n": "a", "v": 1}, {"n": "b"}]});
    assert!(mismatches(&json!({"l": {"contains": [{"n": "b"}]}}), &list).is_empty());
    assert!(mismatches(&json!({"l": {"exactly": [{"n": "a"}, {"n": "b"}]}}), &list).is_empty());
    assert!(mismatches(&json!({"l": {"lacks": [{"n": "c"}]}}), &list).is_empty());
    assert!(mismatches(&json!({"l": {"exactly": []}}), &json!({})).is_empty());
    assert_eq!(mismatches(&json!({"l": {"exactly": [{"n": "a"}]}}), &list).len(), 1);
    assert_eq!(mismatches(&json!({"l": {"lacks": [{"n": "a"}]}}), &list).len(), 1);
    assert!(Pattern::from_value(&json!({"l": []})).is_err());
}

#[test]
fn the_only_candidate_of_a_list_is_explained() {
    assert_eq!(
        mismatches(
            &json!({"l": {"contains": [{"n": "a", "v": 2}]}}),
            &json!({"l": [{"n": "a", "v": 1}]})
        ),
        ["l[0].v: expected 2, seen 1"]
    );
}

#[test]
fn a_difference_has_a_kind() {
    let kind = |pattern: &Value, value: &Value| {
        let found = Pattern::from_value(pattern)
            .unwrap()
            .mismatches(Some(value), &Bindings::new());
        found.into_iter().next().unwrap().kind
    };
    let time = json!("2026-01-01T00:00:10Z");
    let after = |bounds: Value| {
        let mut bounds = bounds;
        bounds["time"] = json!("2026-01-01T00:00:00Z");
        json!({"a": {"after": bounds}})
    };
    for (pattern, value, expected) in [
        (json!({"a": 1}), json!({}), DifferenceKind::Missing),
        (json!({"a": 1}), json!({"a": null}), DifferenceKind::Missing),
        (json!({"a": 1}), json!({"a": 2}), DifferenceKind::Different),
        (json!({"a": null}), json!({"a": 2}), DifferenceKind::Unexpected),
        (json!({"a": {"contains": [1]}}), json!({}), DifferenceKind::Missing),
        (
            json!({"a": {"contains": [1]}}),
            json!({"a": [2]}),
            DifferenceKind::Different,
        ),
        (
            json!({"a": {"exactly": []}}),
            json!({"a": [2]}),
            DifferenceKind::Unexpected,
        ),
        (
            json!({"a": {"lacks": [2]}}),
            json!({"a": [2]}),
            DifferenceKind::Unexpected,
        ),
        (
            after(json!({"atLeast": "20s"})),
            json!({"a": time}),
            DifferenceKind::TooEarly,
        ),
        (
            after(json!({"atMost": "5s"})),
            json!({"a": time}),
            DifferenceKind::TooLate,
        ),
    ] {
        assert_eq!(kind(&pattern, &value), expected, "{pattern} {value}");
    }
}

#[test]
fn a_pattern_is_about_the_place_that_all_its_demands_share() {
    let field = |pattern: &Value| Pattern::from_value(pattern).unwrap().field();
    let label = json!({"metadata": {"labels": {"a.b/c": "d"}}});
    assert_eq!(field(&label).as_deref(), Some("metadata.labels[]"));
    let task = json!({"spec": {"gracefulEvictionTasks": {"contains": [{"fromCluster": "x", "purgeMode": "Never"}]}}});
    assert_eq!(field(&task).as_deref(), Some("spec.gracefulEvictionTasks"));
    assert_eq!(field(&json!({"a": 1, "b": 2})), None);
}
