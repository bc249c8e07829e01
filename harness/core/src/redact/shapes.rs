//! Words that are secrets by their shape: tokens of well-known makers, credentials in addresses, encoded secrets.

use std::{borrow::Cow, sync::LazyLock};

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use regex::{Captures, Regex};

use super::REDACTED;

/// Prefix of the tokens in clusters that the harness starts, so that they are recognized in any text.
pub const OWN_TOKEN: &str = "baton-token-";

// Tokens and keys in the form of their makers, hashes of passwords, and credentials in addresses.
pattern!(
    TOKENS,
    r#"baton-token-[0-9a-f]+|\beyJ[\w-]*\.[\w-]+\.[\w-]*|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bgh[pousr]_[A-Za-z0-9]{20,}|\b(?:github_pat_|glpat-|sk[-_]|pypi-|dop_v1_)[\w-]{16,}|\b(?:xox[abeprs]-|hvs\.)[\w-]{10,}|\b(?:AIza|npm_)[\w-]{30,}|\bSG\.[\w-]{10,}\.[\w-]{10,}|\bAGE-SECRET-KEY-1[A-Z0-9]+|hooks\.slack\.com/services/[\w/]+|\$(?:2[aby]|5|6|y|apr1|argon2[a-z]*)\$[^\s"']{10,}"#
);
pattern!(
    ADDRESSES,
    r#"(?P<before>[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@"'<>]*:)[^\s/"'<>]+(?P<at>@)|(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)[\w~-]{16,}@|(?P<driver>\b[\w.-]+:)[^\s"']+(?P<net>@(?:tcp|unix|udp)\()"#
);
pattern!(
    SCHEMES,
    r"(?P<scheme>\b(?i:bearer|basic)\s+)(?P<value>[A-Za-z0-9+/=._~-]+)"
);
pattern!(
    OF_BEARER,
    r"^(?i:tokens?|auth\w*|scheme|challenge|realm|error|credentials|header)[.=]*$"
);

// Words that may be encoded texts.
pattern!(BASE64, r"[A-Za-z0-9+/_-]{24,}={0,2}");
pattern!(PERCENT, r#"[^\s"'<>]*%[0-9A-Fa-f]{2}[^\s"'<>]*"#);

/// First bytes of compressed data in base64: gzip, zlib, zstd, xz and bzip2.
const COMPRESSED: [&str; 6] = ["H4sI", "eJ", "eN", "KLUv", "/Td6", "Qlpo"];

/// Redacts words that are secrets by their shape, whatever precedes them; `changes` says if redaction changes a decoded
/// text.
pub(super) fn shapes(text: &str, changes: impl Fn(&str) -> bool) -> String {
    let told = replace(&TOKENS, text, |_| REDACTED.to_owned());
    let told = replace(&ADDRESSES, &told, |found| {
        let part = |name: &str| found.name(name).map_or("", |it| it.as_str());
        let before = format!("{}{}{}", part("before"), part("scheme"), part("driver"));
        let behind = if part("net").is_empty() { "@" } else { part("net") };
        format!("{before}{REDACTED}{behind}")
    });
    let told = replace(&SCHEMES, &told, |found| {
        let (scheme, value) = (&found["scheme"], &found["value"]);
        let secret = if scheme.trim_end().eq_ignore_ascii_case("bearer") {
            !matches(&OF_BEARER, value)
        } else {
            decoded(value).is_some_and(|it| it.contains(':'))
        };
        format!("{scheme}{}", if secret { REDACTED } else { value })
    });
    let told = replace(&PERCENT, &told, |found| {
        let secret = changes(&unescaped(&found[0]));
        if secret { REDACTED } else { &found[0] }.to_owned()
    });
    let told = replace(&BASE64, &told, |found| {
        let word = &found[0];
        let compressed = COMPRESSED.iter().any(|first| word.starts_with(first));
        let secret = compressed || decoded(word).is_some_and(|it| changes(&it));
        if secret { REDACTED } else { word }.to_owned()
    });
    told.into_owned()
}

/// Returns `true` if a pattern matches.
pub(super) fn matches(pattern: &LazyLock<Option<Regex>>, text: &str) -> bool {
    pattern.as_ref().is_none_or(|it| it.is_match(text))
}

fn replace<'t>(
    pattern: &LazyLock<Option<Regex>>,
    text: &'t str,
    with: impl Fn(&Captures<'_>) -> String,
) -> Cow<'t, str> {
    match pattern.as_ref() {
        Some(pattern) => pattern.replace_all(text, |found: &Captures<'_>| with(found)),
        None => Cow::Borrowed(REDACTED),
    }
}

/// Decodes `%22` and the like.
fn unescaped(word: &str) -> String {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((before, behind)) = rest.split_once('%') {
        bytes.extend(before.bytes());
        let escaped = behind.get(..2).and_then(|it| u8::from_str_radix(it, 16).ok());
        bytes.push(escaped.unwrap_or(b'%'));
        rest = if escaped.is_some() { &behind[2..] } else { behind };
    }
    bytes.extend(rest.bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Decodes base64 of either alphabet; `None` if the result is not a text.
pub(super) fn decoded(word: &str) -> Option<String> {
    let alphabet = if word.contains(['-', '_']) {
        &alphabet::URL_SAFE
    } else {
        &alphabet::STANDARD
    };
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let bytes = GeneralPurpose::new(alphabet, config).decode(word).ok()?;
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_patterns_can_be_read() {
        for pattern in [&TOKENS, &ADDRESSES, &SCHEMES, &OF_BEARER, &BASE64, &PERCENT] {
            assert!(pattern.is_some());
        }
    }
}
