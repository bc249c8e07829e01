//! The rest of the language, beyond `fixtures/jsonpath/vectors.jsonl`: consequences of the rules of the original.

use baton_jsonpath::{EvaluateErrorKind, ParseErrorKind, Template, limits};
use serde_json::{Value, json};

fn data() -> Value {
    json!({
        "items": [
            {"name": "a", "n": 1, "f": 1.5, "ready": true, "ports": [{"p": 1}, {"p": 2}], "labels": {"x.io/y": "1"}},
            {"name": "b", "n": 2, "f": 2.5, "ready": false, "ports": [{"p": 3}], "labels": {"x.io/y": "2"}},
            {"name": "c", "n": 3, "f": 3.5, "ready": true, "ports": [], "labels": {"x.io/y": "3"}, "extra": null},
        ],
        "mixed": [{"k": 1}, {"k": "1"}, {"k": null}],
        "empty": [], "none": null, "text": "ab", "readyReplicas": 2,
        "million": 1_000_000.0, "stamp": 1_734_462_491_693.0, "huge": u64::MAX, "html": {"a": "<b>&"},
    })
}

fn answer(path: &str) -> String {
    match Template::parse(path) {
        Err(error) => format!("parse: {}", error.kind),
        Ok(template) => match template.evaluate(&data()) {
            Ok(text) => text,
            Err(error) => format!("execute: {}", error.kind),
        },
    }
}

#[track_caller]
fn all(cases: &[(&str, &str)]) {
    let wrong: Vec<_> = cases
        .iter()
        .map(|(path, want)| (path, want, answer(path)))
        .filter(|(_, want, got)| *want != got)
        .map(|(path, want, got)| format!("{path}\n  want {want}\n   got {got}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn ranges_nest_and_run_on() {
    all(&[
        // The third item has no ports: a range without values goes through its body with nothing, which has no `.p`.
        (
            "{range .items[*]}{.name}:{range .ports[*]}{.p},{end};{end}",
            "execute: p is not found",
        ),
        (
            "{range .items[0:2]}{.name}:{range .ports[*]}{.p},{end};{end}.",
            "a:1,2,;b:3,;.",
        ),
        (
            "{range .items[0:2]}{range @.ports[*]}{.p}{end}|{range .ports[*]}{.p}{end}/{end}",
            "12|12/3|3/",
        ),
        ("{range .empty[*]}x{end}y", "y"),
        ("{range .empty[*]}{.x}{end}", "execute: x is not found"),
        ("{end}", "execute: not in range, nothing to end"),
        ("{range .items[*]}{end}{end}", "execute: not in range, nothing to end"),
        // Without an end, the rest of the template runs for every value, and then once more.
        ("{range .items[*].n}{@}", RUN_ON),
        ("{range .items[*].extra}{@}{end}", "<no value>"),
        ("{range .text}{@}{end}", "ab"),
        ("{range .items[*]['name','n']}{@} {end}", "a b c 1 2 3 "),
    ]);
}

const RUN_ON: &str = concat!(
    r#"123{"empty":[],"html":{"a":"\u003cb\u003e\u0026"},"huge":18446744073709551615,"items":[{"f":1.5,"labels":"#,
    r#"{"x.io/y":"1"},"n":1,"name":"a","ports":[{"p":1},{"p":2}],"ready":true},{"f":2.5,"labels":{"x.io/y":"2"},"#,
    r#""n":2,"name":"b","ports":[{"p":3}],"ready":false},{"extra":null,"f":3.5,"labels":{"x.io/y":"3"},"n":3,"#,
    r#""name":"c","ports":[],"ready":true}],"million":1000000,"mixed":[{"k":1},{"k":"1"},{"k":null}],"none":null,"#,
    r#""readyReplicas":2,"stamp":1734462491693,"text":"ab"}"#
);

#[test]
fn filters_compare_one_type() {
    all(&[
        (r#"{.items[?(@.name=="b")].n}"#, "2"),
        ("{.items[?(@.name!='b')].n}", "1 3"),
        ("{.items[?(@.n<2)].name}", "a"),
        ("{.items[?(@.n<=2)].name}", "a b"),
        ("{.items[?(@.n>2)].name}", "c"),
        ("{.items[?(@.n>=2)].name}", "b c"),
        ("{.items[?(@.f>=2.5)].name}", "b c"),
        ("{.items[?(@.name>'a')].name}", "b c"),
        ("{.items[?(@.ready==true)].name}", "a c"),
        ("{.items[?(@.ready<true)].name}", "execute: invalid type for comparison"),
        ("{.items[?(@.f==2)].name}", "execute: incompatible types for comparison"),
        (
            "{.items[?(@.n==1.0)].name}",
            "execute: incompatible types for comparison",
        ),
        (
            "{.items[?(@.n=='1')].name}",
            "execute: incompatible types for comparison",
        ),
        ("{.items[?(@.ports==1)].name}", "execute: invalid type for comparison"),
        ("{.mixed[?(@.k==1)]}", "execute: incompatible types for comparison"),
        ("{.mixed[?(@.k==@.k)]}", "execute: invalid type for comparison"),
        ("{.items[?(@.n=1)].name}", "execute: unrecognized filter operator ="),
        ("{.items[?(@.n<>1)].name}", "execute: unrecognized filter operator <>"),
        (
            "{.items[?(@.n==)].name}",
            "parse: unrecognized character in action: U+003D '='",
        ),
        ("{.items[?(@.gone==1)].name}", "execute: gone is not found"),
        ("{.items[?(@.extra)].name}", "c"),
        // Without a left side the right one is not evaluated.
        ("{.items[?(@.ports[0:0].p==@.gone)].name}", ""),
        ("{.items[?(@.gone)].name}", ""),
        ("{.items[?(@.labels.x\\.io/y=='2')].name}", "b"),
        (
            "{.items[?(@.ports[0].p==3)].name}",
            "execute: array index out of bounds: index 0, length 0",
        ),
        // A condition without an operator overlooks the error of a step, but not the values that it was given.
        ("{.items[?(@.ports[0])].name}", "a b c"),
        ("{.items[?(@.ports[0].p)].name}", "a b c"),
        ("{.items[?(@.ports[*].p)].name}", "a b"),
        (
            "{.items[?(@.ports[*].p==3)].name}",
            "execute: can only compare one element at a time",
        ),
        ("{.items[?(@.name)]['n']}", "1 2 3"),
        (
            "{.text[?(@.a)]}",
            "execute: ab is not array or slice and cannot be filtered",
        ),
        (
            "{.html[?(@.a)]}",
            "execute: map[a:<b>&] is not array or slice and cannot be filtered",
        ),
        ("{.items[?()].name}", "a b c"),
        (r#"{.items[?(@.name==")")].n}"#, ""),
    ]);
}

#[test]
fn slices_and_unions() {
    all(&[
        ("{.items[-1:].name}", "c"),
        ("{.items[-2:-1].name}", "b"),
        ("{.items[:2].name}", "a b"),
        ("{.items[0:3:2].name}", "a c"),
        ("{.items[].name}", "a"),
        ("{.items[:].name}", "a b c"),
        ("{.items[1:1].name}", ""),
        ("{.items[9:9].name}", ""),
        (
            "{.items[-1:0].name}",
            "execute: starting index 2 is greater than ending index 0",
        ),
        (
            "{.items[0:9].name}",
            "execute: array index out of bounds: index 8, length 3",
        ),
        ("{.items[0:3:-1].name}", "execute: step must be > 0"),
        ("{.items[0:1:2:3]}", "parse: invalid array index 0:1:2:3"),
        ("{.items[-]}", "parse: array index - is not a number"),
        (
            "{.items[9223372036854775808]}",
            "parse: array index 9223372036854775808 is not a number",
        ),
        (
            "{.items[9223372036854775807]}",
            "execute: array index out of bounds: index 9223372036854775807, length 3",
        ),
        (
            "{.items[-9223372036854775808]}",
            "execute: array index out of bounds: index -9223372036854775805, length 3",
        ),
        ("{.items[0, 2].name}", "a c"),
        ("{.items[0]['name', 'n']}", "a 1"),
        ("{.items[0]['name','gone']}", "execute: gone is not found"),
        ("{.items[0,?(@.n==3)].name}", "a c"),
        ("{['items','empty']}", ITEMS_AND_EMPTY),
        ("{.text[*]}", "execute: string is not array or slice"),
        ("{.html[0]}", "execute: map[string]interface {} is not array or slice"),
        ("{.none[0]}", ""),
        ("{.none.x}", "execute: x is not found"),
    ]);
}

const ITEMS_AND_EMPTY: &str = concat!(
    r#"[{"f":1.5,"labels":{"x.io/y":"1"},"n":1,"name":"a","ports":[{"p":1},{"p":2}],"ready":true},"#,
    r#"{"f":2.5,"labels":{"x.io/y":"2"},"n":2,"name":"b","ports":[{"p":3}],"ready":false},"#,
    r#"{"extra":null,"f":3.5,"labels":{"x.io/y":"3"},"n":3,"name":"c","ports":[],"ready":true}] []"#
);

#[test]
fn descent_and_wildcards() {
    all(&[
        ("{..p}", "1 2 3"),
        (
            "{..ports[0].p}",
            "execute: array index out of bounds: index 0, length 0",
        ),
        ("{.items[0:2]..p}", "1 2 3"),
        ("{..labels.x\\.io/y}", "1 2 3"),
        ("{...p}", "1 2 3"),
        ("{....p}", "parse: invalid multiple recursive descent"),
        ("{..gone}", "execute: gone is not found"),
        ("{..p.gone}", "execute: gone is not found"),
        ("{.readyReplicas..x}", ""),
        ("{.text..}", "ab"),
        ("{.text.*}", "97 98"),
        ("{.items[0].ports.*}", r#"{"p":1} {"p":2}"#),
        ("{.items[0].ports[*].*}", "1 2"),
        ("{.items[0].*}", r#"1.5 {"x.io/y":"1"} 1 a [{"p":1},{"p":2}] true"#),
        ("{.none.*}", ""),
        ("{..[0]}", "execute: map[string]interface {} is not array or slice"),
    ]);
}

#[test]
fn texts_quotes_and_escapes() {
    all(&[
        (r#"{"a\tb"}{'c\'d'}{"e'f"}{'g"h'}"#, "a\tbc'de'fg\"h"),
        (r#"{"\u00e9\x41"}"#, "éA"),
        (r#"{"\q"}"#, r#"parse: unquote string "\q" error invalid syntax"#),
        (r#"{"open}"#, "parse: unterminated quoted string"),
        ("{'open}", "parse: unterminated quoted string"),
        ("{\"two\nlines\"}", "parse: unterminated quoted string"),
        ("{.a\n}", "parse: unclosed action"),
        ("{.items[0}", "parse: unterminated array"),
        ("{.items[?(@.a}", "parse: unterminated filter"),
        ("{.items[?(@.a)}", "parse: unclosed array expect ]"),
        ("{.items[?(@.a),0]}", "parse: unclosed array expect ]"),
        ("{1.2.3}", "parse: cannot parse number 1.2.3"),
        ("{-}", "parse: cannot parse number -"),
        ("{\t.text}", "parse: unrecognized character in action: U+0009"),
        ("{.text,.text}", "parse: unrecognized character in action: U+002C ','"),
        ("{['a,b']}", "parse: invalid array index 'a"),
        (r#"{["text"]}"#, r#"parse: invalid array index "text""#),
        ("{.items[0].labels['x\\.io/y']}", "1"),
        ("{.items[0].labels['x.io/y']}", "execute: x is not found"),
        ("{@.text}{$.text}{ .text }", "ababab"),
        ("{.items[0] .name}", "a"),
        ("{.items[0:2].n 7}", "7 7"),
        ("{.text \"lit\"}", "lit"),
        ("{+5}{1e5}", "execute: unrecognized identifier e5"),
        ("}{.text}{", "parse: unclosed action"),
        ("é{.text}☃", "éab☃"),
    ]);
}

#[test]
fn numbers_keep_their_digits() {
    all(&[
        ("{.huge}", "18446744073709551615"),
        ("{.million}", "1000000"),
        ("{.stamp}", "1734462491693"),
        ("{1734462491693}", "1734462491693"),
        ("{.html}", r#"{"a":"\u003cb\u003e\u0026"}"#),
        ("{.html.a}", "<b>&"),
        ("{.none}{.items[2].extra}", "nullnull"),
    ]);
}

#[test]
fn the_keys_that_are_read_first_are_known() {
    let keys = |path: &str| {
        let template = Template::parse(path).expect("parses");
        template
            .leading_keys()
            .iter()
            .map(|keys| keys.join("."))
            .collect::<Vec<_>>()
    };
    assert_eq!(keys("x{.a.b[0].c}-{@.d}{..e}{'f'}{$['g'].h}"), ["a.b", "d", "g.h"]);
    assert_eq!(keys("{.a}{range .b[*]}{.c}{end}{.d}"), ["a"]);
}

#[test]
fn a_null_value_is_no_value() {
    let evaluate = |path: &str| {
        Template::parse(path)
            .expect("parses")
            .evaluate(&Value::Null)
            .map_err(|e| e.kind)
    };
    assert_eq!(evaluate("{}"), Ok("<no value>".to_owned()));
    assert_eq!(
        evaluate("{.a}"),
        Err(EvaluateErrorKind::NotFound {
            key: "a".to_owned(),
            nearest: None
        })
    );
}

#[test]
fn a_parse_error_says_where_and_what_was_expected() {
    let error = Template::parse("é{.a[?(@.b==\"c\"].d}").expect_err("does not parse");
    assert_eq!((error.offset, error.column), (5, 5));
    assert_eq!(error.kind, ParseErrorKind::UnterminatedFilter);
    assert_eq!(
        error.to_string(),
        "unterminated filter at column 5: expected `)]` after the condition"
    );

    let error = Template::parse("{.a['b', x]}").expect_err("does not parse");
    assert_eq!(
        (error.column, error.to_string().contains("a key in single quotes")),
        (10, true)
    );
    let error = Template::parse("{.a[?(@.b==|)]}").expect_err("does not parse");
    assert_eq!(error.column, 12);
}

#[test]
fn a_missing_key_says_where_and_what_was_probably_meant() {
    let template = Template::parse("x{.readyReplica}").expect("parses");
    let error = template.evaluate(&data()).expect_err("misses");
    assert_eq!(error.to_string(), "readyReplica is not found (column 3)");
    assert_eq!(error.help().as_deref(), Some("did you mean `readyReplicas`?"));

    let error = Template::parse("{.items[0].Name.x}")
        .expect("parses")
        .evaluate(&data())
        .expect_err("misses");
    assert_eq!(
        (error.column, error.help().as_deref()),
        (11, Some("did you mean `name`?"))
    );
    let error = Template::parse("{.zzz}")
        .expect("parses")
        .evaluate(&data())
        .expect_err("misses");
    assert_eq!(error.help(), None);
}

#[track_caller]
fn ends_in(path: &str, value: &Value, want: &EvaluateErrorKind) {
    let got = Template::parse(path).map(|template| template.evaluate(value));
    assert_eq!(
        got.as_ref().map(|got| got.as_ref().map_err(|error| &error.kind)),
        Ok(Err(want))
    );
}

#[test]
fn a_long_path_is_refused() {
    let long = format!("{{{}}}", ".a".repeat(limits::MAX_TEMPLATE_BYTES / 2 - 2));
    ends_in(
        &long,
        &data(),
        &EvaluateErrorKind::NotFound {
            key: "a".to_owned(),
            nearest: None,
        },
    );
    assert_eq!(
        Template::parse(&format!("{long}{long}")).expect_err("too long").kind,
        ParseErrorKind::TooLong
    );
}

#[test]
fn a_path_that_multiplies_is_stopped() {
    let list = json!(vec![0; 100]);
    ends_in(
        &"{range @}".repeat(limits::MAX_DEPTH + 1),
        &list,
        &EvaluateErrorKind::TooDeep,
    );
    ends_in(
        &"{[*][?(@==\"y\")]}".repeat(2_000),
        &json!([vec!["x"; 4_000]]),
        &EvaluateErrorKind::TooMuchWork,
    );
    ends_in(
        &"{$}".repeat(20_000),
        &json!(vec!["x"; 100]),
        &EvaluateErrorKind::TooLong,
    );
    // Every range goes through the values of all the ranges before it, and once more: 2 to the power of 200.
    ends_in(&"{range @}x".repeat(200), &json!(1), &EvaluateErrorKind::TooMuchWork);
    ends_in(
        &format!("{{{}}}", "[0,0]".repeat(200)),
        &nested(100, "x"),
        &EvaluateErrorKind::TooMuchWork,
    );
}

#[test]
fn a_value_that_would_exhaust_the_query_is_refused() {
    let wide = json!({ "k".repeat(500_000): vec![0; 100_000] });
    ends_in("{..x}", &wide, &EvaluateErrorKind::TooMuchWork);
    let deep = nested(limits::MAX_DEPTH + 2, "x");
    ends_in("{..x}", &deep, &EvaluateErrorKind::TooDeep);
    ends_in("{}", &deep, &EvaluateErrorKind::TooDeep);
    assert_eq!(
        Template::parse("{..}")
            .expect("parses")
            .evaluate(&nested(50, ""))
            .map(|text| text.len()),
        Ok(2_699)
    );
}

/// Recursive functions succeed on a stack far smaller than that of any thread.
#[test]
fn a_small_stack_is_enough() {
    let paths = [
        "{..x}".to_owned(),
        "{..}".to_owned(),
        "{}".to_owned(),
        "{range @}".repeat(limits::MAX_DEPTH),
        format!("{{{}}}", "['a'][?(@.b'[?(@.c\"[?(@.d)]\" \")]' ')]".repeat(200)),
    ];
    let value = nested(limits::MAX_DEPTH - 1, "x");
    let run = move || {
        for path in paths {
            if let Ok(template) = Template::parse(&path) {
                drop(template.evaluate(&value));
            }
        }
    };
    let thread = std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(run)
        .expect("a thread starts");
    thread.join().expect("the stack is large enough");
}

/// Messages show the value that could not be filtered, but not a whole status.
#[test]
fn messages_are_not_long() {
    let value = json!({"a": [1, 2.5, null, "x", {"b": true, "a": []}], "z": vec![nested(500, "y"); 10], "zz": "é".repeat(9_000)});
    let error = Template::parse("{[?(@.a)]}")
        .expect("parses")
        .evaluate(&value)
        .expect_err("not a list");
    let text = error.to_string();
    assert!(
        text.starts_with("map[a:[1 2.5 <nil> x map[a:[] b:true]] z:[[[["),
        "{text}"
    );
    assert!(
        text.contains("… is not array or slice and cannot be filtered") && text.chars().count() < 1_100,
        "{text}"
    );
}

fn nested(depth: usize, inside: &str) -> Value {
    (0..depth).fold(json!(inside), |inside, _| json!([inside]))
}
