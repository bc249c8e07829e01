use serde_json::{Value, json};

use super::super::program::Program;
use super::eval::Evaluator;
use super::library::convert::display;
use super::scope::Scope;
use super::value::Val;

fn eval(source: &str, object: &Value) -> String {
    let program = Program::parse(source).unwrap_or_else(|error| panic!("{source}: {error}"));
    let bound = [("self", Val::of_json(object, None))];
    match Evaluator::new(1_000_000).eval(program.expr(), &Scope::root(&bound)) {
        Ok(value) => display(&value),
        Err(error) => format!("error: {error}"),
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn expressions_have_the_values_of_cel() {
    let object = json!({
        "i": 3, "s": "abc", "l": [3, 1, 2], "names": ["a", "b"], "o": {"x": 1, "a.b": 2, "namespace": "n"}, "empty": [],
        "d": 1.5, "t": "2024-01-02T03:04:05Z"
    });
    let cases = [
        ("self.i + 4", "7"),
        ("self.i == 3 && self.s.startsWith('ab')", "true"),
        ("self.nope", "error: no such key: nope"),
        ("has(self.nope) || self.i > 1", "true"),
        ("self.nope == 1 || true", "true"),
        ("true || self.nope == 1", "true"),
        ("self.nope == 1 && false", "false"),
        ("self.l.all(x, x > 0)", "true"),
        ("self.l.exists(x, x == 2)", "true"),
        ("self.l.exists_one(x, x > 2)", "true"),
        ("self.l.exists(x, 1 / (x - 3) > 5 || x == 2)", "true"),
        ("self.l.map(x, x * 2)", "[6, 2, 4]"),
        ("self.l.map(x, x > 1, x * 2)", "[6, 4]"),
        ("self.l.filter(x, x > 1)", "[3, 2]"),
        ("self.o.all(k, k != 'z')", "true"),
        ("self.l.sum()", "6"),
        ("self.l.min() + self.l.max()", "4"),
        ("self.l.isSorted()", "false"),
        ("self.l.indexOf(2)", "2"),
        ("self.empty.min()", "error: min called on empty list"),
        ("1 in self.l", "true"),
        ("'x' in self.o", "true"),
        ("self.l[5]", "error: index out of bounds: 5"),
        ("self.o['a.b']", "2"),
        ("self.o.a__dot__b", "2"),
        ("self.o.__namespace__", "n"),
        ("1 / 0", "error: division by zero"),
        ("9223372036854775807 + 1", "error: integer overflow"),
        ("'a' + 1", "error: no such overload"),
        ("size('äb') == 2 && size(self.l) == 3 && self.s.size() == 3", "true"),
        ("'a,b,c'.split(',')", "[a, b, c]"),
        ("['a', 'b'].join('-')", "a-b"),
        ("'hello'.replace('l', 'L', 1)", "heLlo"),
        ("'hello'.substring(1, 3)", "el"),
        ("'hello'.indexOf('l') + 'hello'.lastIndexOf('l')", "5"),
        ("'Ab'.lowerAscii() + 'Ab'.upperAscii()", "abAB"),
        ("' a '.trim()", "a"),
        ("'abc123'.find('[0-9]+')", "123"),
        ("'1 2 3'.findAll('[0-9]', 2)", "[1, 2]"),
        ("'abc'.matches('^a.c$') && matches('abc', 'b')", "true"),
        ("'%s is %d'.format(['a', 1])", "a is 1"),
        ("int('7') + int(2.9)", "9"),
        ("double('1.5') == self.d", "true"),
        ("string(1) + string(true)", "1true"),
        ("type(1) == int", "true"),
        ("timestamp(self.t).getFullYear()", "2024"),
        ("timestamp(self.t) < timestamp('2025-01-01T00:00:00Z')", "true"),
        ("duration('1h') > duration('59m')", "true"),
        ("duration('90s').getMinutes()", "1"),
        ("self.?nope.orValue(5)", "5"),
        ("self.?o.?x.hasValue()", "true"),
        ("self.?i.optMap(v, v + 1).value()", "4"),
        ("optional.of(1).or(optional.of(2)).value()", "1"),
        ("[1, ?self.?nope, 2]", "[1, 2]"),
        ("url('https://example.com:80/a?b=c').getPort()", "80"),
        ("url('https://example.com/a?b=c').getQuery()", "{b: [c]}"),
        ("isURL('no')", "false"),
        ("ip('1.2.3.4').family()", "4"),
        ("cidr('10.0.0.0/8').containsIP('10.1.2.3')", "true"),
        ("cidr('10.0.0.0/8').containsCIDR('11.0.0.0/16')", "false"),
        ("quantity('1Ki').compareTo(quantity('1024'))", "0"),
        ("quantity('1.5').isGreaterThan(quantity('1400m'))", "true"),
        ("isQuantity('1Xi')", "false"),
        (
            "isSemver('1.2.3-a') && !isSemver('v1.2') && isSemver('v1.2', true)",
            "true",
        ),
        (
            "semver('1.2.3').major() + semver('1.2.3').minor() + semver('1.2.3').patch()",
            "6",
        ),
        ("semver('1.2.3-a').isLessThan(semver('1.2.3'))", "true"),
        ("semver('v01.2', true) == semver('1.2.0+x')", "true"),
        ("semver('1.2.3').compareTo(semver('1.10.0'))", "-1"),
        ("sets.contains([1, 2], [2]) && sets.equivalent([1, 1], [1])", "true"),
        ("!format.dns1123Label().validate('A').hasValue()", "false"),
        ("{'a': 1}.a == 1 && {'a': 1} == {'a': 1}", "true"),
        ("1.0 == 1 && 1u == 1", "true"),
        ("b'abc' == bytes('abc')", "true"),
        ("self.i > 2 ? 'big' : 'small'", "big"),
    ];
    for (source, expected) in cases {
        assert_eq!(eval(source, &object), expected, "{source}");
    }
}

#[test]
fn runaway_expressions_are_stopped() {
    let list: Vec<i64> = (0..2000).collect();
    let object = json!({ "l": list });
    let source = "self.l.all(a, self.l.all(b, self.l.all(c, a + b + c >= 0)))";
    assert_eq!(
        eval(source, &object),
        "error: operation cancelled: actual cost limit exceeded"
    );
}

#[test]
fn deep_nesting_is_an_error_and_nothing_worse() {
    for source in [
        format!("{}1{}", "(".repeat(5000), ")".repeat(5000)),
        format!("{}1", "-".repeat(5000)),
        format!("{}true", "!".repeat(5000)),
        format!("{}1{}", "[".repeat(5000), "]".repeat(5000)),
        format!("self{}", ".a".repeat(5000)),
        vec!["1"; 5000].join("+"),
        vec!["true"; 5000].join("&&"),
        vec!["true?1"; 2000].join(":"),
    ] {
        if Program::parse(&source).is_ok() {
            eval(&source, &json!({}));
        }
    }
}

#[test]
fn syntax_errors_show_the_place() {
    let error = Program::parse("this does not compile").unwrap_err().to_string();
    assert!(
        error.starts_with("ERROR: <input>:1:6: Syntax error: mismatched input 'does'"),
        "{error}"
    );
    assert!(error.contains("\n | this does not compile\n | .....^"), "{error}");
}
