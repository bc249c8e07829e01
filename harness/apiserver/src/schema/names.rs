//! The name rules of Kubernetes that this module needs, with the server's words for a violation.

const DNS_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const DNS_1123_SUBDOMAIN: &str = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const DNS_1123_LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const NAME_PART: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const QUALIFIED: &str = "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

fn lower_alphanumeric(letter: u8) -> bool {
    letter.is_ascii_lowercase() || letter.is_ascii_digit()
}

fn ends(text: &str, start: fn(u8) -> bool, end: fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|first| start(*first)) && bytes.last().is_some_and(|last| end(*last))
}

/// What is wrong with a DNS-1035 label; all findings joined as the server joins them.
pub fn dns_1035_label(text: &str) -> Option<String> {
    let mut found = Vec::new();
    if text.len() > 63 {
        found.push("must be no more than 63 characters");
    }
    let shape = ends(text, |first| first.is_ascii_lowercase(), lower_alphanumeric)
        && text.bytes().all(|letter| lower_alphanumeric(letter) || letter == b'-');
    if !shape {
        found.push(DNS_1035);
    }
    (!found.is_empty()).then(|| found.join(","))
}

/// What is wrong with a DNS-1123 label.
pub fn dns_1123_label(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if text.len() > 63 {
        found.push("must be no more than 63 characters".to_owned());
    }
    if text.contains('.') || !is_subdomain(text) {
        found.push(DNS_1123_LABEL.to_owned());
    }
    found
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(|part| {
        ends(part, lower_alphanumeric, lower_alphanumeric)
            && part.bytes().all(|letter| lower_alphanumeric(letter) || letter == b'-')
    })
}

/// What is wrong with a DNS-1123 subdomain.
pub fn dns_1123_subdomain(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if text.len() > 253 {
        found.push("must be no more than 253 characters".to_owned());
    }
    if !is_subdomain(text) {
        found.push(DNS_1123_SUBDOMAIN.to_owned());
    }
    found
}

/// What is wrong with a name as a part of a URL path; of a prefix only the letters count.
pub fn path_segment(text: &str, prefix: bool) -> Option<String> {
    if !prefix && matches!(text, "." | "..") {
        return Some(format!("may not be '{text}'"));
    }
    let forbidden = ["/", "%"].into_iter().filter(|letter| text.contains(letter));
    let found: Vec<String> = forbidden.map(|letter| format!("may not contain '{letter}'")).collect();
    (!found.is_empty()).then(|| found.join(", "))
}

fn is_name_part(text: &str) -> bool {
    ends(
        text,
        |first| first.is_ascii_alphanumeric(),
        |last| last.is_ascii_alphanumeric(),
    ) && text
        .bytes()
        .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, b'-' | b'_' | b'.'))
}

/// What is wrong with the key of a label or annotation.
pub fn qualified_name(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let parts: Vec<&str> = text.split('/').collect();
    let name = match parts.as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                found.push("prefix part must be non-empty".to_owned());
            } else {
                found.extend(
                    dns_1123_subdomain(prefix)
                        .into_iter()
                        .map(|detail| format!("prefix part {detail}")),
                );
            }
            *name
        }
        _ => return vec![QUALIFIED.to_owned()],
    };
    if name.is_empty() {
        found.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        found.push("name part must be no more than 63 characters".to_owned());
    }
    if !is_name_part(name) {
        found.push(NAME_PART.to_owned());
    }
    found
}

/// What is wrong with the value of a label.
pub fn label_value(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if text.len() > 63 {
        found.push("must be no more than 63 characters".to_owned());
    }
    if !text.is_empty() && !is_name_part(text) {
        found.push(LABEL_VALUE.to_owned());
    }
    found
}
