//! Regular expressions as Go's `regexp` reads them, for the `regex` crate.
//!
//! Both descend from RE2 and agree on almost everything. This module rewrites the differences: Perl classes are ASCII
//! in Go, `[` `&` `~` are plain inside a class there, a brace that opens no repetition is plain, `\Q…\E` quotes.

use std::iter::Peekable;
use std::str::Chars;

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use regex::{Regex, RegexBuilder};

/// Maximum size of a compiled expression in bytes.
const SIZE_LIMIT: usize = 4 << 20;
/// Maximum length of a pattern in bytes; Kubernetes has no limit but the size of a request.
const LENGTH_LIMIT: usize = 64 << 10;

/// Maximum number of remembered patterns, and maximum length of each.
const REMEMBERED: (usize, usize) = (200, 256);

/// Reason for which a pattern does not compile, in the words of Go's parser.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// The pattern is too long.
    #[error("expression nests too deeply")]
    TooLong,
    /// The problem, and the part of the pattern that has it.
    #[error("error parsing regexp: {0}: `{1}`")]
    Syntax(&'static str, String),
}

/// Compiles a pattern written for Go. Definitions and the servers of one process use the same few patterns again and
/// again, so the patterns compiled last are remembered.
pub fn compile(source: &str) -> Result<Regex, PatternError> {
    static KNOWN: LazyLock<Mutex<HashMap<String, Regex>>> = LazyLock::new(Mutex::default);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(regex) = known().get(source) {
        return Ok(regex.clone());
    }
    let regex = build(source)?;
    let (count, length) = REMEMBERED;
    if source.len() <= length {
        let mut known = known();
        if known.len() >= count {
            known.clear();
        }
        known.insert(source.to_owned(), regex.clone());
    }
    Ok(regex)
}

fn build(source: &str) -> Result<Regex, PatternError> {
    if source.len() > LENGTH_LIMIT {
        return Err(PatternError::TooLong);
    }
    RegexBuilder::new(&translate(source))
        .size_limit(SIZE_LIMIT)
        .dfa_size_limit(SIZE_LIMIT)
        .nest_limit(200)
        .build()
        .map_err(|_| {
            let (problem, part) = reason(source);
            PatternError::Syntax(problem, part.to_owned())
        })
}

/// Returns the message of Go's parser for the most common mistakes, and the part of the pattern that it quotes.
fn reason(source: &str) -> (&'static str, &str) {
    let mut open = 0_i64;
    let mut class: Option<usize> = None;
    let mut escaped = false;
    for (at, letter) in source.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' if class.is_none() => class = Some(at),
            ']' if class.is_some_and(|start| at > start + 1) => class = None,
            '(' if class.is_none() => open += 1,
            ')' if class.is_none() => {
                open -= 1;
                if open < 0 {
                    return ("unexpected )", source);
                }
            }
            _ => {}
        }
    }
    if escaped {
        return ("trailing backslash at end of expression", "");
    }
    if let Some(start) = class {
        return ("missing closing ]", &source[start..]);
    }
    if let Some(problem) = group(source) {
        return problem;
    }
    if open > 0 {
        return ("missing closing )", source);
    }
    if source.starts_with(['*', '+', '?']) {
        ("missing argument to repetition operator", &source[..1])
    } else {
        (PERL, source)
    }
}

const PERL: &str = "invalid or unsupported Perl syntax";

/// Returns the error for the first lookaround group, which Go does not support.
fn group(source: &str) -> Option<(&'static str, &str)> {
    let begin = ["(?=", "(?!", "(?<=", "(?<!"]
        .iter()
        .filter_map(|start| source.find(start))
        .min()?;
    let rest = source.get(begin..)?;
    if rest.starts_with("(?<") {
        return Some(("invalid named capture", rest));
    }
    Some((PERL, rest.get(..3)?))
}

fn translate(source: &str) -> String {
    let mut out = String::with_capacity(source.len() + 16);
    let mut rest = source.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '\\' => escape(&mut rest, &mut out, false),
            '[' => class(&mut rest, &mut out),
            '{' => brace(&mut rest, &mut out),
            '}' => out.push_str("\\}"),
            other => out.push(other),
        }
    }
    out
}

fn escape(rest: &mut Peekable<Chars<'_>>, out: &mut String, in_class: bool) {
    let Some(letter) = rest.next() else {
        out.push('\\');
        return;
    };
    let (open, close) = if in_class { ("", "") } else { ("[", "]") };
    match letter {
        'd' => out.extend([open, "0-9", close]),
        'w' => out.extend([open, "0-9A-Za-z_", close]),
        's' => out.extend([open, "\\t\\n\\x0C\\r ", close]),
        'D' => out.push_str("[^0-9]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        'S' => out.push_str("[^\\t\\n\\x0C\\r ]"),
        'b' if !in_class => out.push_str("(?-u:\\b)"),
        'Q' if !in_class => quote(rest, out),
        '<' | '>' => out.push(letter),
        other => out.extend(['\\', other]),
    }
}

fn quote(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    let mut text = String::new();
    for letter in rest.by_ref() {
        text.push(letter);
        if text.ends_with("\\E") {
            text.truncate(text.len() - 2);
            break;
        }
    }
    out.push_str(&regex::escape(&text));
}

fn class(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    out.push('[');
    if rest.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    if rest.next_if_eq(&']').is_some() {
        out.push_str("\\]");
    }
    while let Some(letter) = rest.next() {
        match letter {
            ']' => {
                out.push(']');
                return;
            }
            '\\' => escape(rest, out, true),
            '[' if rest.peek() == Some(&':') => named_class(rest, out),
            '[' | '&' | '~' => out.extend(['\\', letter]),
            '-' if rest.peek() == Some(&'-') => out.push_str("\\-"),
            other => out.push(other),
        }
    }
}

fn named_class(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    out.push('[');
    for letter in rest.by_ref() {
        out.push(letter);
        if letter == ']' {
            return;
        }
    }
}

fn brace(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    let ahead: String = rest.clone().take_while(|letter| *letter != '}').take(12).collect();
    let repetition = ahead.starts_with(|first: char| first.is_ascii_digit())
        && ahead.chars().all(|letter| letter.is_ascii_digit() || letter == ',')
        && ahead.matches(',').count() <= 1
        && rest.clone().nth(ahead.chars().count()) == Some('}');
    if !repetition {
        out.push_str("\\{");
        return;
    }
    out.push('{');
    for letter in rest.by_ref() {
        out.push(letter);
        if letter == '}' {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::compile;

    #[test]
    fn patterns_mean_what_they_mean_in_go() {
        let cases = [
            (r"^\d+$", "12", true),
            (r"^\d+$", "١٢", false),
            (r"^[\d.]+$", "1.2", true),
            (r"^[[a]$", "[", true),
            (r"^{.*}$", "{x}", true),
            (r"^a{2}$", "aa", true),
            (r"^a{2,3}$", "aaaa", false),
            (r"^[a&&b]$", "&", true),
            (r"^\Qa.b\E$", "a.b", true),
            (r"^\Qa.b\E$", "axb", false),
            (r"^[^]]$", "a", true),
            (r"^[[:alpha:]]+$", "ab", true),
            (r"^(https?://)?[\w-]+$", "https://a-b", true),
        ];
        for (pattern, text, expected) in cases {
            let regex = compile(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
            assert_eq!(regex.is_match(text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn mistakes_are_worded_as_go_words_them() {
        let cases = [
            ("([a", "error parsing regexp: missing closing ]: `[a`"),
            ("(a", "error parsing regexp: missing closing ): `(a`"),
            ("a)", "error parsing regexp: unexpected ): `a)`"),
            (
                "*a",
                "error parsing regexp: missing argument to repetition operator: `*`",
            ),
            (
                "a\\",
                "error parsing regexp: trailing backslash at end of expression: ``",
            ),
        ];
        for (pattern, message) in cases {
            assert_eq!(compile(pattern).unwrap_err().to_string(), message);
        }
    }
}
