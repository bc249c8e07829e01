//! The rules for names and keys. Each function returns the messages for an invalid value, and none for a valid one.

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const QUALIFIED: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

/// A rule for names: gets the name, and whether it is a prefix to which more is appended (`generateName`).
pub type NameRule = fn(&str, bool) -> Vec<String>;

/// `must be no more than 63 characters`.
pub fn too_long(max: usize) -> String {
    format!("must be no more than {max} characters")
}

fn too_many_bytes(max: usize) -> String {
    format!("must be no more than {max} bytes")
}

/// `MESSAGE (e.g. 'a',  or 'b', regex used for validation is 'REGEX')`.
fn with_regex(message: &str, regex: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!(
        "{message} (e.g. {}regex used for validation is '{regex}')",
        examples.join(" or ")
    )
}

fn label_words() -> String {
    with_regex(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', \
         and must start and end with an alphanumeric character",
        LABEL,
        &["my-name", "123-abc"],
    )
}

fn subdomain_words() -> String {
    with_regex(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
         and must start and end with an alphanumeric character",
        SUBDOMAIN,
        &["example.com"],
    )
}

fn qualified_words() -> String {
    with_regex(
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
        QUALIFIED,
        &["MyName", "my.name", "123-abc"],
    )
}

/// Returns `true` if all bytes satisfy `inner` and the first and the last also satisfy `outer`.
fn is_framed(text: &str, inner: fn(u8) -> bool, outer: fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    match (bytes.first(), bytes.last()) {
        (Some(first), Some(last)) => outer(*first) && outer(*last) && bytes.iter().all(|byte| inner(*byte)),
        _ => false,
    }
}

fn is_lower(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn is_label(text: &str) -> bool {
    is_framed(text, |byte| is_lower(byte) || byte == b'-', is_lower)
}

/// Returns `true` for a label that may also contain underscores.
pub fn is_underscored_label(text: &str) -> bool {
    is_framed(text, |byte| is_lower(byte) || matches!(byte, b'-' | b'_'), is_lower)
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

fn is_qualified_part(text: &str) -> bool {
    is_framed(
        text,
        |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'),
        |byte| byte.is_ascii_alphanumeric(),
    )
}

/// A DNS label: a Namespace's name, a container's name.
pub fn dns_label(value: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if value.len() > 63 {
        messages.push(too_long(63));
    }
    if !is_label(value) {
        messages.push(if is_subdomain(value) {
            "must not contain dots".to_owned()
        } else {
            label_words()
        });
    }
    messages
}

/// A DNS subdomain: most names.
pub fn dns_subdomain(value: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if value.len() > 253 {
        messages.push(too_long(253));
    }
    if !is_subdomain(value) {
        messages.push(subdomain_words());
    }
    messages
}

/// A DNS subdomain below a `*.`.
pub fn wildcard_subdomain(value: &str) -> Vec<String> {
    if value.len() <= 253 && value.strip_prefix("*.").is_some_and(is_subdomain) {
        return Vec::new();
    }
    vec![with_regex(
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of \
         lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
        &format!("\\*\\.{SUBDOMAIN}"),
        &["*.example.com"],
    )]
}

/// A DNS label that begins with a letter: a Service's name.
pub fn dns_1035_label(value: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if value.len() > 63 {
        messages.push(too_long(63));
    }
    if !is_label(value) || !value.starts_with(|first: char| first.is_ascii_lowercase()) {
        messages.push(with_regex(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', \
             start with an alphabetic character, and end with an alphanumeric character",
            "[a-z]([-a-z0-9]*[a-z0-9])?",
            &["my-name", "abc-123"],
        ));
    }
    messages
}

/// [`dns_1035_label`] with all messages in one.
pub fn dns_1035_in_one(value: &str) -> Option<String> {
    let messages = dns_1035_label(value);
    (!messages.is_empty()).then(|| messages.join(","))
}

/// A key of a label or annotation, with or without a prefix.
pub fn qualified_name(value: &str) -> Vec<String> {
    let mut messages = Vec::new();
    let mut parts = value.split('/');
    let name = match (parts.next(), parts.next(), parts.next()) {
        (Some(name), None, _) => name,
        (Some(prefix), Some(name), None) => {
            messages.extend(prefix_messages(prefix));
            name
        }
        _ => {
            messages.push(format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                qualified_words()
            ));
            return messages;
        }
    };
    if name.is_empty() {
        messages.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        messages.push(format!("name part {}", too_many_bytes(63)));
    }
    if !is_qualified_part(name) {
        messages.push(format!("name part {}", qualified_words()));
    }
    messages
}

fn prefix_messages(prefix: &str) -> Vec<String> {
    if prefix.is_empty() {
        return vec!["prefix part must be non-empty".to_owned()];
    }
    let mut messages = Vec::new();
    if prefix.len() > 253 {
        messages.push(format!("prefix part {}", too_many_bytes(253)));
    }
    if !is_subdomain(prefix) {
        messages.push(format!("prefix part {}", subdomain_words()));
    }
    messages
}

/// The value of a label.
pub fn label_value(value: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if value.len() > 63 {
        messages.push(too_many_bytes(63));
    }
    if !value.is_empty() && !is_qualified_part(value) {
        messages.push(with_regex(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', \
             and must start and end with an alphanumeric character",
            "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?",
            &["MyValue", "my_value", "12345"],
        ));
    }
    messages
}

/// A key in the data of a `ConfigMap` or `Secret`.
pub fn config_key(value: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if value.len() > 253 {
        messages.push(too_long(253));
    }
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if value.is_empty() || !value.bytes().all(known) {
        messages.push(with_regex(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            "[-._a-zA-Z0-9]+",
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }
    if value == "." {
        messages.push("must not be '.'".to_owned());
    } else if value == ".." {
        messages.push("must not be '..'".to_owned());
    } else if value.starts_with("..") {
        messages.push("must not start with '..'".to_owned());
    }
    messages
}

/// The name of an environment variable: printable ASCII without `=`.
pub fn env_name(value: &str) -> Vec<String> {
    if !value.is_empty() && value.bytes().all(|byte| (0x20..0x7f).contains(&byte) && byte != b'=') {
        return Vec::new();
    }
    vec!["a valid environment variable name must consist only of printable ASCII characters other than '='".to_owned()]
}

/// The name of a port, as in the IANA service names.
pub fn port_name(value: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if value.len() > 15 {
        messages.push(too_long(15));
    }
    if !value.bytes().all(|byte| is_lower(byte) || byte == b'-') || value.is_empty() {
        messages.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !value.bytes().any(|byte| byte.is_ascii_lowercase()) {
        messages.push("must contain at least one letter (a-z)".to_owned());
    }
    if value.contains("--") {
        messages.push("must not contain consecutive hyphens".to_owned());
    }
    if value.starts_with('-') || value.ends_with('-') {
        messages.push("must not begin or end with a hyphen".to_owned());
    }
    messages
}

/// Validates a single segment of a path.
pub fn segment(value: &str) -> Vec<String> {
    path_segment(value, false)
}

/// A name that may be a segment of a path: the rule of RBAC.
pub fn path_segment(value: &str, prefix: bool) -> Vec<String> {
    let mut messages = Vec::new();
    if !prefix && matches!(value, "." | "..") {
        return vec![format!("may not be '{value}'")];
    }
    for part in ["/", "%"].into_iter().filter(|part| value.contains(part)) {
        messages.push(format!("may not contain '{part}'"));
    }
    messages
}

/// Masks the last dash of a prefix: a prefix may end with dashes, a name may not.
fn masked(value: &str, prefix: bool) -> std::borrow::Cow<'_, str> {
    match value.strip_suffix('-') {
        Some(rest) if prefix && !rest.is_empty() => {
            let kept: String = rest
                .chars()
                .take(rest.chars().count().saturating_sub(1))
                .chain(['a'])
                .collect();
            kept.into()
        }
        _ => value.into(),
    }
}

/// [`dns_label`] as a rule.
pub fn is_dns_label(value: &str, prefix: bool) -> Vec<String> {
    dns_label(&masked(value, prefix))
}

/// [`dns_subdomain`] as a rule.
pub fn is_dns_subdomain(value: &str, prefix: bool) -> Vec<String> {
    dns_subdomain(&masked(value, prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUBDOMAIN_WORDS: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
        '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', \
        regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

    #[test]
    fn names_are_refused_in_the_words_of_the_api() {
        let long = "a".repeat(254);
        for (rule, value, expected) in [
            (is_dns_subdomain as NameRule, "a.b", &[][..]),
            (is_dns_subdomain, "A", &[SUBDOMAIN_WORDS]),
            (is_dns_subdomain, "a..b", &[SUBDOMAIN_WORDS]),
            (is_dns_subdomain, "", &[SUBDOMAIN_WORDS]),
            (is_dns_subdomain, &long, &["must be no more than 253 characters"]),
            (is_dns_label, "a.b", &["must not contain dots"]),
            (path_segment, "a/b", &["may not contain '/'"]),
            (path_segment, "..", &["may not be '..'"]),
        ] {
            assert_eq!(rule(value, false), expected, "{value}");
        }
    }

    #[test]
    fn a_prefix_may_end_with_a_dash() {
        assert!(is_dns_subdomain("gen-", true).is_empty());
        assert_eq!(is_dns_subdomain("a.b.", true).len(), 1);
        assert!(is_dns_subdomain("a-", false).len() == 1);
    }

    #[test]
    fn qualified_names() {
        for (value, expected) in [
            ("example.com/k", &[][..]),
            ("/k", &["prefix part must be non-empty"]),
            ("K.9_z", &[]),
        ] {
            assert_eq!(qualified_name(value), expected, "{value}");
        }
        assert_eq!(qualified_name("").len(), 2);
        assert_eq!(
            qualified_name(&"k".repeat(64)),
            ["name part must be no more than 63 bytes"]
        );
        assert!(qualified_name("a/b/c")[0].starts_with("a valid label key must consist of"));
    }
}
