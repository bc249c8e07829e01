//! Names and their values in a line: `token=…`, `"password": "…"`, `--password …`, `<secret>…</secret>`.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use super::super::{REDACTED, is_secret_name, names::is_password, shapes::decoded};

/// First words of prose that follows a secret name and describes the secret.
const PROSE: [&str; 44] = [
    "a",
    "access",
    "all",
    "an",
    "are",
    "authentication",
    "cannot",
    "could",
    "does",
    "empty",
    "error",
    "expired",
    "failed",
    "for",
    "forbidden",
    "from",
    "has",
    "in",
    "incorrect",
    "invalid",
    "is",
    "length",
    "may",
    "missing",
    "must",
    "no",
    "not",
    "of",
    "only",
    "operation",
    "optional",
    "permission",
    "please",
    "required",
    "requires",
    "secret",
    "should",
    "the",
    "too",
    "unable",
    "unauthorized",
    "unknown",
    "will",
    "wrong",
];

/// Folders of files. A value that begins with one is a path.
const FOLDERS: [&str; 9] = [
    "/var/", "/etc/", "/run/", "/root", "/home/", "/tmp/", "/opt/", "/usr/", "/dev/",
];

/// Authentication schemes that precede a credential.
const SCHEMES: [&str; 7] = [
    "bearer",
    "basic",
    "token",
    "apikey",
    "digest",
    "negotiate",
    "aws4-hmac-sha256",
];

/// Programs that take a password after a short flag.
const SHORT: [(&str, &str); 6] = [
    ("sshpass", "-p"),
    ("login", "-p"),
    ("mysql", "-p"),
    ("mariadb", "-p"),
    ("redis-cli", "-a"),
    ("ldap", "-w"),
];

/// A flag and its value, on a command line or in a list.
static FLAGS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?:^|[\s"'\[(,=])(?P<flag>--?[A-Za-z][A-Za-z0-9_.-]*)(?:["'],\s*["']|\s+)(?P<value>"[^"]*"|'[^']*'|[^\s"']+)"#,
    )
    .ok()
});

/// `the password is "…"`, `the token was x7…`.
static SENTENCES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?i)\b(?:password|passphrase|passwd|token|api[ _-]?key|access key|secret key)(?:\s+(?:is|was|to|now|of))*\s+(?:["'`](?P<quoted>[^"'`]+)["'`]|(?:is|was)\s+(?P<word>[^\s"'`]*\d[^\s"'`]*))"#,
    )
    .ok()
});

/// Redacts line by line. The name of a value may be in an earlier line.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// Value of the latest member `name` or `key`, which names the member `value`.
    called: String,
}

impl Lines {
    /// Returns a line without the values of secrets.
    pub(super) fn line(&mut self, line: &str) -> String {
        sentences(&flags(&self.named(line)))
    }

    fn named(&mut self, line: &str) -> String {
        let mut told = String::with_capacity(line.len());
        let (mut done, mut from) = (0, 0);
        while let Some((at, width)) = separator(line, from) {
            from = at + width;
            let Some(named) = Named::at(line, done, at, width) else {
                continue;
            };
            let value = &line[named.value.clone()];
            if matches!(named.name, "name" | "key") {
                value.clone_into(&mut self.called);
            }
            let secret = is_secret_name(named.name) || (named.name == "value" && is_secret_name(&self.called));
            let secret = secret || (named.name == "auth" && decoded(value).is_some_and(|it| it.contains(':')));
            let secret = secret || (named.is_key_of_two_words(line));
            let secret =
                secret || (named.is_in_query(line) && matches!(named.name, "sig" | "signature" | "X-Amz-Signature"));
            if secret && !value.is_empty() && !named.is_harmless(line) {
                told.push_str(&line[done..named.value.start]);
                told.push_str(REDACTED);
                done = named.value.end;
                from = from.max(done);
            }
        }
        told.push_str(&line[done..]);
        told
    }
}

/// Returns the next position where a name may end, and the width of the separator.
fn separator(line: &str, mut from: usize) -> Option<(usize, usize)> {
    loop {
        let found = line[from..].find(['=', ':', '>', '%'])? + from;
        let rest = &line[found..];
        if !rest.starts_with('%') {
            return Some((found, 1));
        }
        if rest.starts_with("%3D") || rest.starts_with("%3d") {
            return Some((found, 3));
        }
        from = found + 1;
    }
}

/// A name, its separator and the range of its value.
struct Named<'l> {
    name: &'l str,
    begins: usize,
    /// Separator between the name and the value.
    by: &'l str,
    value: Range<usize>,
    quoted: bool,
}

impl<'l> Named<'l> {
    /// Finds the name that ends before `at` and does not begin before `done`.
    fn at(line: &'l str, done: usize, at: usize, width: usize) -> Option<Self> {
        let by = &line[at..at + width];
        let rest = &line[at + width..];
        if by == ":" && (rest.starts_with(['/', ':', '=']) || line[..at].ends_with(':')) && !rest.starts_with("=\"") {
            return None;
        }
        let before = line[done..at].trim_end_matches(['"', '\'', ' ', '\\', ']', ':']);
        let length = before.len() - before.trim_end_matches(is_of_name).len();
        let begins = done + before.len() - length;
        let name = &line[begins..begins + length];
        if name.is_empty() {
            return None;
        }
        let opened = line[done..begins].chars().next_back();
        if by == ">" && opened != Some('<') {
            return None;
        }
        let skipped = rest.len() - rest.trim_start_matches([' ', '\t', '=', '>']).len();
        let mut named = Self {
            name,
            begins,
            by,
            value: at + width + skipped..at + width + skipped,
            quoted: false,
        };
        let at_start = line[..begins]
            .chars()
            .all(|c| matches!(c, ' ' | '\t' | '-' | '"' | '\'' | '{'))
            || line[..begins].trim() == "export";
        named.find(line, skipped > 0, at_start, opened.filter(|c| matches!(c, '"' | '\'')));
        Some(named)
    }

    /// Finds the end of the value.
    fn find(&mut self, line: &str, spaced: bool, at_start: bool, enclosing: Option<char>) {
        let start = self.value.start;
        let rest = &line[start..];
        let slashes = rest.len() - rest.trim_start_matches('\\').len();
        let quote = rest[slashes..].chars().next().filter(|c| matches!(c, '"' | '\'' | '`'));
        let (start, length) = if let Some(quote) = quote {
            self.quoted = true;
            let inside = &rest[slashes + 1..];
            (start + slashes + 1, closing(inside, quote, slashes))
        } else {
            let skipped = scheme(rest);
            let rest = &rest[skipped..];
            let names_itself = |word: &str| self.name.to_ascii_lowercase().ends_with(word);
            let length = if self.by == ">" {
                rest.find('<').unwrap_or(rest.len())
            } else if rest.starts_with('[') {
                rest.find(']').unwrap_or(rest.len())
            } else if let Some(end) = enclosing.and_then(|quote| rest.find(quote))
                && !line[self.begins + self.name.len()..start].contains(['"', '\''])
            {
                end
            } else if names_itself("cookie")
                || names_itself("authorization")
                || (at_start && (spaced || is_rest(rest) && !(self.is_flag() && has_name(rest))))
            {
                // Ends at a quote that encloses the whole pair.
                rest.find(['"', '\'']).unwrap_or(rest.trim_end().len())
            } else {
                word(rest, self.by == "%3D" || self.by == "%3d")
            };
            (start + skipped, length)
        };
        self.value = start..start + length;
    }

    /// `--api-token=…`.
    fn is_flag(&self) -> bool {
        self.name.starts_with('-')
    }

    /// `API key: …`.
    fn is_key_of_two_words(&self, line: &str) -> bool {
        let plain = self.name.to_ascii_lowercase();
        if !matches!(plain.as_str(), "key" | "id") {
            return false;
        }
        let before = line[..self.begins].trim_end();
        let from = before
            .rfind(|c: char| !(is_of_name(c) || c == ' '))
            .map_or(0, |at| at + 1);
        before.is_char_boundary(from) && is_secret_name(&line[from..self.begins + self.name.len()])
    }

    fn is_in_query(&self, line: &str) -> bool {
        line[..self.begins].ends_with(['?', '&'])
    }

    /// Returns `true` if the value is not a secret, although its name is that of one.
    fn is_harmless(&self, line: &str) -> bool {
        let value = &line[self.value.clone()];
        let plain = value.trim_matches(['[', ' ']);
        if is_placeholder(plain, self.name) {
            return true;
        }
        let before = line[..self.begins].chars().next_back();
        let spaced = line[..self.value.start].ends_with(' ');
        let of_path = self.by == ":" && !spaced && before == Some('/');
        let reference = matches!(self.name, "secret" | "secrets") && is_reference(plain);
        let prose = self.by == ":" && spaced && !self.quoted && (is_prose(value) || is_count(value, self.name));
        of_path || reference || prose || (!self.quoted && plain.starts_with(['{', '&']))
    }
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// Returns the length of a text that ends at a quote with this number of backslashes before it.
fn closing(text: &str, quote: char, slashes: usize) -> usize {
    let mut from = 0;
    while let Some(at) = text[from..].find(quote) {
        let before = &text[..from + at];
        let escaped = before.len() - before.trim_end_matches('\\').len();
        if escaped == slashes {
            return before.len() - slashes;
        }
        // A quote with fewer backslashes ends the enclosing text.
        if escaped < slashes {
            return before.len() - escaped;
        }
        from += at + quote.len_utf8();
    }
    text.len()
}

/// Returns the length of an authentication scheme at the beginning of a text, with the space after it; 0 if there is
/// none.
fn scheme(text: &str) -> usize {
    let Some((word, _)) = text.split_once(' ') else {
        return 0;
    };
    if SCHEMES.contains(&word.to_ascii_lowercase().as_str()) {
        word.len() + 1
    } else {
        0
    }
}

/// Returns `true` if the whole rest of a line is the value of the name at its beginning.
fn is_rest(text: &str) -> bool {
    !text.contains('=') && !text.contains(" -") && !text.contains('/') && !text.contains(['"', '\'', '&', ';', ','])
}

/// Returns `true` if another name follows the first word of a text: `x7 token: …`.
fn has_name(text: &str) -> bool {
    let names = text
        .split_whitespace()
        .skip(1)
        .filter_map(|word| word.strip_suffix(':'));
    names
        .into_iter()
        .any(|name| !name.is_empty() && name.chars().all(is_of_name))
}

/// Returns the length of the unquoted value at the beginning of a text.
fn word(text: &str, encoded: bool) -> usize {
    let mut end = text.len();
    for (at, c) in text.char_indices() {
        let parts = matches!(c, ',' | ';' | '&') && {
            let rest = &text[at + 1..];
            rest.is_empty() || rest.starts_with(' ') || begins_with_name(rest)
        };
        if c.is_whitespace()
            || matches!(c, '"' | '\'' | '`' | '<')
            || parts
            || (encoded && text[at..].starts_with("%26"))
        {
            end = at;
            break;
        }
    }
    text[..end].trim_end_matches([')', '}', ']', '\\', '.', ',', ';']).len()
}

fn begins_with_name(text: &str) -> bool {
    let behind = text.trim_start_matches(|c: char| is_of_name(c) || c == ' ');
    behind.len() < text.len() && behind.starts_with(['=', ':'])
}

/// Returns `true` for a placeholder, or a value that means that there is none.
fn is_placeholder(value: &str, name: &str) -> bool {
    let plain = value.to_ascii_lowercase();
    let words = [
        "",
        "true",
        "false",
        "null",
        "nil",
        "none",
        "yes",
        "no",
        "undefined",
        "required",
        "optional",
        "...",
        "{}",
    ];
    let number = value.bytes().all(|byte| byte.is_ascii_digit()) && value.len() < 6 && !is_password(name);
    let variable = value.strip_prefix('$').is_some_and(|rest| {
        let inner = rest.trim_start_matches(['{', '(']).trim_end_matches(['}', ')']);
        !inner.is_empty()
            && inner
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    });
    words.contains(&plain.as_str())
        || number
        || variable
        || value.starts_with(REDACTED)
        || value.chars().all(|c| c == '*')
        || matches!(value, "%s" | "%v" | "%q" | "%w" | "%d")
        || FOLDERS.iter().any(|folder| value.starts_with(folder))
        || (value.starts_with("{{") && value.ends_with("}}"))
}

/// `namespace/name` of a Secret.
fn is_reference(value: &str) -> bool {
    let is_name = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || matches!(it, b'-' | b'.'))
    };
    value
        .split_once('/')
        .is_some_and(|(namespace, name)| is_name(namespace) && is_name(name))
}

/// Returns `true` if a value begins like a sentence about a secret.
fn is_prose(value: &str) -> bool {
    let first = value
        .split(|c: char| !c.is_ascii_alphabetic())
        .next()
        .unwrap_or_default();
    value.contains(' ') && PROSE.contains(&first.to_ascii_lowercase().as_str())
        || first == value && PROSE.contains(&first)
}

/// Returns `true` if a value is a number of items, with more text after it: `pass: 12, fail: 3`.
fn is_count(value: &str, name: &str) -> bool {
    let first = value.split([' ', ',']).next().unwrap_or_default();
    let counted = matches!(
        name.to_ascii_lowercase().as_str(),
        "pass" | "tokens" | "secrets" | "passwords"
    );
    counted && first.len() < value.len() && first.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns `true` for a flag whose value is a secret and the next argument: `--password`.
pub(in crate::redact) fn flag_without_value(text: &str) -> bool {
    text.starts_with('-') && text.chars().all(is_of_name) && is_secret_name(text)
}

/// Returns `true` if the program on the line takes a password after this short flag.
pub(in crate::redact) fn is_short_flag(line: &str, flag: &str) -> bool {
    SHORT
        .iter()
        .any(|(program, short)| *short == flag && line.contains(program))
}

/// Redacts the values of flags that are the next argument.
fn flags(line: &str) -> String {
    let Some(pattern) = FLAGS.as_ref() else {
        return REDACTED.to_owned();
    };
    let mut told = String::with_capacity(line.len());
    let (mut done, mut from) = (0, 0);
    while let Some(found) = pattern.captures_at(line, from) {
        let (Some(flag), Some(value)) = (found.name("flag"), found.name("value")) else {
            break;
        };
        // The text after a flag without a secret value may be the next flag.
        from = flag.end();
        let given = value.as_str().trim_matches(['"', '\'']);
        let start = value.start() + value.as_str().len() - value.as_str().trim_start_matches(['"', '\'']).len();
        let end = start + given.trim_end_matches([']', ')', ',', ';']).len();
        let secret = flag_without_value(flag.as_str()) || is_short_flag(line, flag.as_str());
        let range = if secret && !given.starts_with('-') && !is_placeholder(given, flag.as_str()) {
            start..end
        } else if let Some(at) = of_user(flag.as_str(), given) {
            start + at..end
        } else {
            continue;
        };
        if range.start < range.end && range.start >= done {
            told.push_str(&line[done..range.start]);
            told.push_str(REDACTED);
            done = range.end;
            from = from.max(done);
        }
    }
    told.push_str(&line[done..]);
    told
}

/// Returns the position of the password in `--user name:password`; `None` without a password.
pub(in crate::redact) fn of_user(flag: &str, value: &str) -> Option<usize> {
    let takes = matches!(flag, "-u" | "-U" | "--user" | "--proxy-user" | "--userpwd");
    let (user, password) = value.split_once(':').filter(|_| takes)?;
    // `--user 1000:1000` is a user and a group.
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    (!number(user) && !password.is_empty() && !password.starts_with('/')).then_some(user.len() + 1)
}

/// Redacts secrets in sentences, such as `the password is "…"`.
fn sentences(line: &str) -> String {
    let Some(pattern) = SENTENCES.as_ref() else {
        return REDACTED.to_owned();
    };
    let mut told = String::with_capacity(line.len());
    let mut done = 0;
    for found in pattern.captures_iter(line) {
        let Some(value) = found.name("quoted").or_else(|| found.name("word")) else {
            continue;
        };
        if !is_placeholder(value.as_str(), "password") && !value.as_str().starts_with('<') {
            told.push_str(&line[done..value.start()]);
            told.push_str(REDACTED);
            done = value.end();
        }
    }
    told.push_str(&line[done..]);
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_patterns_can_be_read() {
        assert!(FLAGS.is_some() && SENTENCES.is_some());
    }
}
