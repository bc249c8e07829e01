//! Secrets in texts that people and programs write: logs, messages, output of steps, files inside objects.

mod values;

use std::borrow::Cow;

use serde_json::Value;

use super::{REDACTED, is_secret_name, redact_deep, shapes};
use values::Lines;
pub(super) use values::{flag_without_value, is_short_flag, of_user};

/// Number of levels that are unpacked if texts contain texts.
pub(super) const DEPTH: usize = 4;

/// Number of brackets in a text that are tried as the beginning of JSON.
const BRACKETS: usize = 32;

/// Returns a text without its credentials. Everything else stays, so that the text remains useful.
pub fn text(text: &str) -> String {
    deep(text, DEPTH).into_owned()
}

/// Redacts a text that may contain `depth` levels of nested texts.
pub(super) fn deep(text: &str, depth: usize) -> Cow<'_, str> {
    if !shapes::is_suspicious(text) {
        return Cow::Borrowed(text);
    }
    if depth == 0 {
        // No ordinary program nests texts that deeply.
        return Cow::Owned(REDACTED.to_owned());
    }
    if let Some(told) = whole_json(text, depth) {
        return told;
    }
    let told = embedded_json(text, depth);
    let told = by_lines(&told);
    let told = shapes::shapes(&told, |inner| deep(inner, depth - 1) != inner);
    if told == text {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(told)
    }
}

/// Redacts a text that is JSON as a whole.
fn whole_json(text: &str, depth: usize) -> Option<Cow<'_, str>> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let value: Value = serde_json::from_str(text).ok()?;
    let mut told = value.clone();
    redact_deep(&mut told, depth - 1);
    Some(if told == value {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(told.to_string())
    })
}

/// Redacts JSON inside a text, as loggers write it.
fn embedded_json(text: &str, depth: usize) -> String {
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    for _ in 0..BRACKETS {
        let Some(at) = rest.find(['{', '[']) else { break };
        told.push_str(&rest[..at]);
        rest = &rest[at..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let taken = if let Some(Ok(value)) = values.next() {
            let taken = values.byte_offset();
            let mut clean = value.clone();
            redact_deep(&mut clean, depth - 1);
            if clean == value {
                told.push_str(&rest[..taken]);
            } else {
                told.push_str(&clean.to_string());
            }
            taken
        } else {
            told.push_str(&rest[..1]);
            1
        };
        rest = &rest[taken..];
    }
    told.push_str(rest);
    told
}

/// Redacts keys, blocks and lists that span several lines, and named values within lines.
fn by_lines(text: &str) -> String {
    let mut in_key = false;
    let mut block: Option<usize> = None;
    let mut after_flag = false;
    let mut scan = Lines::default();
    let mut told = Vec::new();
    for line in text.split('\n') {
        let begins = line.contains("-----BEGIN") && line.contains("PRIVATE KEY");
        let indent = line.len() - line.trim_start().len();
        let in_block = block.is_some_and(|outer| line.trim().is_empty() || indent > outer);
        if in_key || begins {
            if !in_key {
                told.push(before_key(line));
            }
            in_key = !line.contains("-----END");
            continue;
        }
        if in_block {
            continue;
        }
        block = None;
        let item = line
            .trim_start()
            .strip_prefix("- ")
            .map(|item| item.trim().trim_matches(['"', '\'']));
        if let Some(item) = item
            && after_flag
            && !item.starts_with('-')
        {
            told.push(format!("{}- {REDACTED}", &line[..indent]));
            after_flag = false;
            continue;
        }
        after_flag = item.is_some_and(flag_without_value);
        if is_block(line) {
            told.push(line.to_owned());
            told.push(format!("{}  {REDACTED}", &line[..indent]));
            block = Some(indent);
            continue;
        }
        told.push(scan.line(line));
    }
    told.join("\n")
}

/// Returns the first line of a private key without the key.
fn before_key(line: &str) -> String {
    let before = line.split("-----BEGIN").next().unwrap_or_default();
    format!("{before}{REDACTED}")
}

/// Returns `true` if a line begins a YAML block that is the value of a secret: `password: |`.
fn is_block(line: &str) -> bool {
    let Some((name, rest)) = line.split_once(':') else {
        return false;
    };
    let name = name.trim_start_matches([' ', '-']).trim_matches(['"', '\'']);
    let mut rest = rest.trim().chars();
    matches!(rest.next(), Some('|' | '>')) && rest.all(|c| matches!(c, '+' | '-' | '0'..='9')) && is_secret_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_secret_goes_and_the_rest_stays() {
        for (given, told) in [
            ("--token=canary -v=4", "--token=<redacted> -v=4"),
            (
                "level=info DB_PASSWORD=canary user=x",
                "level=info DB_PASSWORD=<redacted> user=x",
            ),
            (
                r#"{"password": "canary", "n": 1}"#,
                r#"{"n":1,"password":"<redacted>"}"#,
            ),
            (
                r#"patch {"env":[{"name":"API_TOKEN","value":"canary"},{"name":"MODE","value":"fast"}]}"#,
                r#"patch {"env":[{"name":"API_TOKEN","value":"<redacted>"},{"name":"MODE","value":"fast"}]}"#,
            ),
            ("    token: canary", "    token: <redacted>"),
            (
                "--api-token=canary token: canary for member1",
                "--api-token=<redacted> token: <redacted> for member1",
            ),
            ("--password=canary with spaces", "--password=<redacted>"),
            ("Authorization: Bearer canary", "Authorization: Bearer <redacted>"),
            ("sent Bearer canary to x", "sent Bearer <redacted> to x"),
            (
                "the token eyJhbGci.eyJpc3Mi.c2ln was rejected",
                "the token <redacted> was rejected",
            ),
            (
                "12:30:01 secretRef: member1, url=https://x:6443",
                "12:30:01 secretRef: member1, url=https://x:6443",
            ),
            ("é=ü token=", "é=ü token="),
        ] {
            assert_eq!(text(given), told);
        }
    }

    #[test]
    fn a_key_goes_with_all_of_its_lines() {
        let given = "read\n-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\nAwEHoUQD\n-----END EC PRIVATE KEY-----\ndone";
        assert_eq!(text(given), "read\n<redacted>\ndone");
        assert_eq!(text("-----BEGIN PRIVATE KEY-----\nMHcCAQEE"), "<redacted>");
        let certificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----";
        assert_eq!(text(certificate), certificate);
    }

    #[test]
    fn what_is_packed_too_deeply_goes_as_a_whole() {
        let mut packed = r#"{"password":"canary"}"#.to_owned();
        for _ in 0..9 {
            packed = serde_json::json!({"key": packed}).to_string();
        }
        assert!(!text(&packed).contains("canary"));
    }

    #[test]
    fn brackets_without_end_take_no_time() {
        let told = text(&format!("token=canary {}", "[{\"a\":".repeat(100_000)));
        assert!(told.starts_with("token=<redacted> "));
    }
}
