//! Secrets in texts that people and programs write: logs, messages, output of steps, files inside objects.
//!
//! After the name of a secret the rest of the line is dropped, because the end of a value cannot be recognised. Words
//! that are secrets by their shape are dropped alone.

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;
use serde_json::Value;

use super::{
    REDACTED,
    names::{is_password, is_secret_name},
    redact_deep,
    shapes::{matches, shapes},
};

/// Number of levels that are unpacked if texts contain texts.
pub(super) const DEPTH: usize = 4;

/// Number of brackets in a text that are tried as the beginning of JSON.
const BRACKETS: usize = 32;

/// First words of prose that follows a secret name and describes the secret.
const PROSE: &str = "a access all an are authentication cannot could does empty error expired failed for forbidden from \
                     has in incorrect invalid is length may missing must no not of only operation optional permission \
                     please required requires secret should the too unable unauthorized unknown will wrong";

/// Values that mean that there is none.
const NONE: &str = "true false null nil none yes no undefined required optional ... {} %s %v %q %w %d | > |- >- |+ >+";

// A text without a match contains no recognizable secret.
pattern!(
    SIGNS,
    r#"(?i)token|pass|pwd|secret|key|cred|auth|bearer|basic|cookie|jwt|psk|otp|mnemonic|wort|clave|contrase|senha|woord|parola|senord|kode|salasana|haslo|heslo|jelsz|sifre|sandi|sig=|signature|://|@tcp|@unix|@udp|asia|akia|gh[pousr]_|glpat|xox|sk[-_]|aiza|npm_|pypi-|dop_v1|hvs\.|sg\.|eyj|hooks\.slack|-----begin|-{1,2}u|(?:^|[\s"'])-[paw]|\benv\b|last-applied|\$(?:2|5|6|y|a)|%[0-9a-f]{2}|[^\x00-\x7f]|[a-z0-9+/_]{24}"#
);

// Identifiers in a line, which may be names of secrets, of one word or of two.
pattern!(
    NAMES,
    r"(?:\b(?i:api|access|secret|private|signing) (?i:key)\b)|[\p{L}\d_.-]+"
);

// Separator of a name and its value. A flag may have its value in the next argument.
pattern!(
    SEPARATOR,
    r#"^["'`\\\]\s]*(?:=>|:=|[=:：＝])[\s=>]*(?P<open>[\\\[]*["'`]?[\[\s]*)"#
);
pattern!(NEXT_ARGUMENT, r#"^(?:["'],\s*["']|\s+["']?)"#);
pattern!(
    SENTENCE,
    r#"^(?:\s+(?:is|was|to|now|of))*\s+(?P<open>["'`])|^\s+(?:is|was)\s+(?P<word>\S*\d)"#
);

// Passwords without a name: `-u user:password`, `-pPASSWORD` and `-p PASSWORD`, and the lines of a netrc file.
pattern!(
    USER,
    r#"(?:^|[\s"'\[])(?:-u|-U|--user|--proxy-user|--userpwd)(?:["'],\s*|[\s=]+)["']?(?P<user>[^\s:"']+):[^\s/"']"#
);
pattern!(
    SHORT,
    r#"(?:^|[\s"'\[])(?P<flag>-[pPaw])(?P<gap>(?:["'],\s*["']|\s)?\s*["']?)(?P<value>[^\s"']+)"#
);
pattern!(PROGRAMS, r"sshpass|login|mysql|mariadb|mongo|redis-cli|ldap");
pattern!(
    NETRC,
    r"\blogin\s+\S+\s+(?:password|account)\s+|^\s*password\s+(?P<only>\S+)$"
);

/// Returns a text without its credentials. What precedes them stays, so that the text remains useful.
pub fn text(text: &str) -> String {
    deep(text, DEPTH).into_owned()
}

/// Redacts a text that may contain `depth` levels of nested texts.
pub(super) fn deep(text: &str, depth: usize) -> Cow<'_, str> {
    if !matches(&SIGNS, text) {
        return Cow::Borrowed(text);
    }
    if depth == 0 {
        // No ordinary program nests texts that deeply.
        return Cow::Owned(REDACTED.to_owned());
    }
    if let Some(told) = whole_json(text, depth) {
        return told;
    }
    let told = by_lines(&shapes(&embedded_json(text, depth), |inner| {
        deep(inner, depth - 1) != inner
    }));
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

/// Lines that belong to a secret of an earlier line.
enum Pending {
    /// None.
    Nothing,
    /// The lines of a private key, to its end.
    Key,
    /// The lines that are indented further: `password: |`.
    Block(usize),
    /// The next item of a list: `- --password`.
    Item,
    /// The value of a named entry: `name: API_TOKEN`.
    Value,
}

/// Redacts the values of names in each line, and the lines that belong to them.
fn by_lines(text: &str) -> String {
    let mut pending = Pending::Nothing;
    let mut told = Vec::new();
    for line in text.split('\n') {
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        let item = bare.strip_prefix("- ").map(|item| item.trim_start_matches(['"', '\'']));
        let of_secret = match &pending {
            Pending::Nothing => false,
            Pending::Key => {
                if line.contains("-----END") {
                    pending = Pending::Nothing;
                }
                continue;
            }
            Pending::Block(outer) => bare.is_empty() || indent > *outer,
            Pending::Item => item.is_some_and(|item| !item.starts_with('-')),
            Pending::Value => bare.trim_start_matches(['"', '\'']).starts_with("value"),
        };
        if of_secret {
            told.push(format!("{}{REDACTED}", &line[..indent]));
            continue;
        }
        pending = Pending::Nothing;
        if let Some((before, key)) = line.split_once("-----BEGIN")
            && key.contains("PRIVATE KEY")
        {
            told.push(format!("{before}{REDACTED}"));
            if !key.contains("-----END") {
                pending = Pending::Key;
            }
            continue;
        }
        let (clean, next) = one_line(line, indent);
        told.push(clean);
        pending = next;
    }
    told.join("\n")
}

/// Drops the rest of a line after the name of a secret; also says which lines belong to it.
fn one_line(line: &str, indent: usize) -> (String, Pending) {
    let drop_from = |at: usize, next: Pending| (format!("{}{REDACTED}", &line[..at]), next);
    let mut earliest = without_name(line);
    let mut next = Pending::Nothing;
    let names = NAMES.as_ref().into_iter().flat_map(|names| names.find_iter(line));
    for found in names {
        let (before, behind) = (&line[..found.start()], &line[found.end()..]);
        let name = found.as_str();
        let in_query = before.ends_with(['?', '&']) && matches!(name, "sig" | "signature" | "X-Amz-Signature");
        if !in_query && !is_secret_name(&name.replace(' ', "_")) {
            continue;
        }
        let value = value_of(name, before, behind);
        let rest = behind.trim_matches(['"', '\'', ' ', ',', '}']);
        if let Some(at) = value {
            earliest = Some(earliest.map_or(found.end() + at, |it| it.min(found.end() + at)));
            break;
        }
        let entry = rest
            .split_once("value")
            .map(|(_, it)| it.trim_start_matches(['"', '\'', '\\', ':', '=', ' ']));
        if is_entry(before) && entry.is_some_and(|it| !it.starts_with(REDACTED)) {
            earliest = Some(earliest.map_or(found.end(), |it| it.min(found.end())));
            break;
        }
        next = if is_entry(before) && rest.is_empty() {
            Pending::Value
        } else if name.starts_with('-') && before.trim_end_matches(['"', '\'']).ends_with("- ") && rest.is_empty() {
            Pending::Item
        } else if matches!(
            rest.strip_prefix([':', '：']).map(str::trim),
            Some("" | "|" | ">" | "|-" | ">-" | "|+" | ">+")
        ) {
            Pending::Block(indent)
        } else {
            Pending::Nothing
        };
    }
    match earliest {
        Some(at) => drop_from(at, Pending::Nothing),
        None => (line.to_owned(), next),
    }
}

/// Returns `true` if a name is the value of `name`, `key` or `path`: an entry of this name has the secret as its value.
fn is_entry(before: &str) -> bool {
    let before = before.trim_end_matches(['"', '\'', ' ', '\\', '/']);
    let before = before.strip_suffix([':', '=']).unwrap_or_default();
    ["name", "key", "path"]
        .iter()
        .any(|it| before.trim_end_matches(['"', '\'', '\\']).ends_with(it))
}

/// Returns the position of the value behind the name of a secret; `None` if there is none, or one that is harmless.
fn value_of(name: &str, before: &str, behind: &str) -> Option<usize> {
    if before.ends_with('<') && behind.starts_with('>') {
        return Some(1);
    }
    let flag = name.starts_with('-');
    if let Some(found) = SEPARATOR.as_ref()?.captures(behind) {
        let by = &found[0];
        let value = &behind[by.len()..];
        let quoted = found["open"].contains(['"', '\'', '`']);
        let colon = by.contains(':') && !by.contains(":=");
        let of_path = colon && (before.ends_with('/') || value.starts_with(['/', ':'])) && by.len() == 1;
        let reference = matches!(name, "secret" | "secrets") && is_reference(value);
        let prose = colon && !quoted && by.ends_with(' ') && is_prose(value);
        let nested = !quoted && value.starts_with(['{', '&']);
        let harmless = of_path || reference || prose || nested || is_placeholder(value, name);
        return (!harmless).then_some(by.len());
    }
    if flag && let Some(found) = NEXT_ARGUMENT.as_ref()?.find(behind) {
        let value = &behind[found.end()..];
        return (!value.starts_with('-') && !is_placeholder(value, name)).then_some(found.end());
    }
    // Kubernetes quotes the name of a Secret.
    if matches!(name.to_ascii_lowercase().as_str(), "secret" | "secrets" | "credentials") {
        return None;
    }
    let found = SENTENCE.as_ref()?.captures(behind)?;
    let start = found.name("word").map_or(found[0].len(), |word| word.start());
    (!is_placeholder(&behind[start..], name)).then_some(start)
}

/// Returns the position of a password without a name.
fn without_name(line: &str) -> Option<usize> {
    let user = USER.as_ref()?.captures_iter(line).find_map(|found| {
        let user = found.name("user")?;
        // `--user 1000:1000` is a user and a group.
        (!is_number(user.as_str())).then(|| user.end() + 1)
    });
    let program = matches(&PROGRAMS, line);
    let short = SHORT.as_ref()?.captures_iter(line).find_map(|found| {
        let value = found.name("value")?;
        let (flag, text) = (&found["flag"], value.as_str());
        let attached = found["gap"].is_empty();
        let port = text
            .trim_end_matches([']', ','])
            .bytes()
            .all(|it| it.is_ascii_digit() || it == b':');
        // `-print` and `-profile=x` are flags of several letters.
        let word = text.split('=').next().unwrap_or_default();
        let other = attached && word.bytes().all(|it| it.is_ascii_lowercase() || it == b'-');
        let harmless = port || other || text.starts_with(['-', '/']) || text.len() == 1;
        let password = matches!(flag, "-p" | "-P") && !harmless;
        (password || (program && !text.starts_with('-'))).then(|| value.start())
    });
    let netrc = NETRC.as_ref()?.captures(line).and_then(|found| {
        let only = found.name("only");
        let prose = only.is_some_and(|it| is_prose(it.as_str()));
        let at = only.map_or(found[0].len() + found.get(0)?.start(), |it| it.start());
        (!prose).then_some(at)
    });
    [user, short, netrc].into_iter().flatten().min()
}

/// Returns `true` for a placeholder, or a value that means that there is none.
fn is_placeholder(value: &str, name: &str) -> bool {
    let first = value
        .split([' ', '\t', '"', '\'', '`', ',', ';', '&', '<'])
        .next()
        .unwrap_or_default();
    let first = first.trim_end_matches([')', ']', '.', '\\']);
    let variable = value.strip_prefix('$').is_some_and(|rest| {
        let inner = rest.trim_start_matches(['{', '(']);
        inner.starts_with(|c: char| c.is_ascii_uppercase())
    });
    let folder = first.starts_with('/') && first[1..].contains('/');
    first.is_empty() && !value.starts_with(REDACTED) && !value.starts_with(['&', '<', ';', ',', '\t'])
        || NONE.split(' ').any(|none| none.eq_ignore_ascii_case(first))
        || value.starts_with(REDACTED)
        || variable
        || folder
        || first.starts_with("{{")
        || first.chars().all(|c| c == '*')
        || (is_number(first) && first.len() < 6 && !is_password(name))
}

/// Returns `true` for `namespace/name` of a Secret.
fn is_reference(value: &str) -> bool {
    let first = value
        .split(|c: char| c.is_whitespace() || c == '"')
        .next()
        .unwrap_or_default();
    let is_name = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || matches!(it, b'-' | b'.'))
    };
    first
        .split_once('/')
        .is_some_and(|(namespace, name)| is_name(namespace) && is_name(name))
}

/// Returns `true` if a value begins like a sentence about a secret.
fn is_prose(value: &str) -> bool {
    let first = value.split_whitespace().next().unwrap_or_default();
    let first = first.trim_end_matches(['.', ',', ';', ':', '!']).to_ascii_lowercase();
    PROSE.split_whitespace().any(|it| it == first)
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_patterns_can_be_read() {
        for pattern in [
            &SIGNS,
            &NAMES,
            &SEPARATOR,
            &NEXT_ARGUMENT,
            &SENTENCE,
            &USER,
            &SHORT,
            &PROGRAMS,
            &NETRC,
        ] {
            assert!(pattern.is_some());
        }
    }

    #[test]
    fn what_follows_a_secret_goes_and_the_rest_stays() {
        for (given, told) in [
            ("-v=4 --token=canary x", "-v=4 --token=<redacted>"),
            (
                "level=info DB_PASSWORD=canary user=x",
                "level=info DB_PASSWORD=<redacted>",
            ),
            (
                r#"{"password": "canary", "n": 1}"#,
                r#"{"n":1,"password":"<redacted>"}"#,
            ),
            (
                r#"patch {"env":[{"name":"API_TOKEN","value":"canary"},{"name":"MODE","value":"fast"}]}"#,
                r#"patch {"env":[{"name":"API_TOKEN","value":"<redacted>"},{"name":"MODE","value":"<redacted>"}]}"#,
            ),
            ("    token: canary", "    token: <redacted>"),
            ("Authorization: Bearer canary", "Authorization: <redacted>"),
            ("sent Bearer canary to x", "sent Bearer <redacted> to x"),
            (
                "the token eyJhbGci.eyJpc3Mi.c2ln was rejected",
                "the token <redacted> was rejected",
            ),
            ("password: |\n  canary\nport: 1", "password: |\n  <redacted>\nport: 1"),
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
        assert_eq!(told, "token=<redacted>");
    }
}
