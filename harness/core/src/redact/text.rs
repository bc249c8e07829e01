//! Secrets in texts that people and programs write: logs, messages, what a step says.

use super::{REDACTED, is_jwt, is_outside, is_secret_name};

/// A text without what could let somebody in. What is not secret stays, so that it still says something.
pub fn text(text: &str) -> String {
    let mut in_key = false;
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let begins = line.contains("-----BEGIN") && line.contains("PRIVATE KEY-----");
        if in_key || begins {
            if !in_key {
                lines.push(REDACTED.to_owned());
            }
            in_key = !line.contains("-----END");
        } else {
            lines.push(words(&named_values(line)));
        }
    }
    lines.join("\n")
}

/// `token=…`, `"password": "…"`, `{"name":"API_TOKEN","value":"…"}`.
fn named_values(line: &str) -> String {
    let mut told = String::with_capacity(line.len());
    let mut rest = line;
    // The value of a member `name`, which says what the member `value` is.
    let mut called = String::new();
    while let Some(at) = rest.find(['=', ':']) {
        let (before, after) = rest.split_at(at + 1);
        told.push_str(before);
        rest = after;
        let name = last_name(&before[..at]);
        let (skipped, value) = value_of(rest);
        if name == "name" {
            value.clone_into(&mut called);
        }
        let secret = is_secret_name(name) || (name == "value" && is_secret_name(&called));
        if secret && !name.is_empty() && !value.is_empty() {
            told.push_str(&rest[..skipped]);
            told.push_str(REDACTED);
            rest = &rest[skipped + value.len()..];
        }
    }
    told.push_str(rest);
    told
}

/// The name at the end of a text, without the quote behind it.
fn last_name(text: &str) -> &str {
    let text = text.trim_end_matches(['"', '\'', ' ', '\\']);
    let begins = text.rfind(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')));
    begins.map_or(text, |at| {
        let width = text[at..].chars().next().map_or(1, char::len_utf8);
        &text[at + width..]
    })
}

/// How much of a text stands before the value that it begins with, and the value.
fn value_of(text: &str) -> (usize, &str) {
    let mut value = text.trim_start_matches([' ', '"', '\'', '\\']);
    for scheme in ["Bearer ", "Basic "] {
        value = value.strip_prefix(scheme).unwrap_or(value);
    }
    let ends = value.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ';' | '&' | '}' | ')' | '\\'));
    (text.len() - value.len(), &value[..ends.unwrap_or(value.len())])
}

/// JSON Web Tokens, and what follows `Bearer`.
fn words(line: &str) -> String {
    let mut told = String::with_capacity(line.len());
    let mut rest = line;
    let mut bearer = false;
    while !rest.is_empty() {
        let outside = rest.find(|c| !is_outside(c)).unwrap_or(rest.len());
        let between = &rest[..outside];
        told.push_str(between);
        rest = &rest[outside..];
        let inside = rest.find(is_outside).unwrap_or(rest.len());
        let word = &rest[..inside];
        let secret = is_jwt(word) || (bearer && between == " " && !word.is_empty());
        told.push_str(if secret { REDACTED } else { word });
        bearer = word == "Bearer";
        rest = &rest[inside..];
    }
    told
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
                r#"{"password": "<redacted>", "n": 1}"#,
            ),
            (
                r#"patch {"env":[{"name":"API_TOKEN","value":"canary"},{"name":"MODE","value":"fast"}]}"#,
                r#"patch {"env":[{"name":"API_TOKEN","value":"<redacted>"},{"name":"MODE","value":"fast"}]}"#,
            ),
            ("    token: canary", "    token: <redacted>"),
            ("Authorization: Bearer canary", "Authorization: Bearer <redacted>"),
            ("sent Bearer canary to x", "sent Bearer <redacted> to x"),
            (
                "the token eyJhbGci.eyJpc3Mi.c2ln was no good",
                "the token <redacted> was no good",
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
}
