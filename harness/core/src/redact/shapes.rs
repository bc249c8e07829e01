//! Secrets with a recognizable shape, whatever their name: tokens of well-known makers, keys, addresses with
//! credentials, and secrets encoded in base64.

use std::{borrow::Cow, sync::LazyLock};

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use regex::{Captures, Regex};

use super::REDACTED;

/// Prefix of the tokens in clusters that the harness starts, so that they are recognized in any text.
pub const OWN_TOKEN: &str = "baton-token-";

/// A text that contains none of these, in lower or upper case, contains no recognizable secret.
const SIGNS: [&str; 42] = [
    "token",
    "pass",
    "pwd",
    "secret",
    "key",
    "cred",
    "auth",
    "bearer",
    "basic",
    "cookie",
    "jwt",
    "psk",
    "otp",
    "mnemonic",
    "sig=",
    "signature",
    "://",
    "@tcp",
    "@unix",
    "@udp",
    "akia",
    "asia",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat",
    "glpat",
    "xox",
    "sk-",
    "sk_",
    "aiza",
    "npm_",
    "pypi-",
    "dop_v1",
    "hvs.",
    "sg.",
    "eyj",
    "hooks.slack",
    "-----begin",
    "--user",
];

/// Minimum length of a word that may be base64.
const LONG: usize = 24;

/// Tokens and keys in the form of their makers.
static TOKENS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let own = format!("{OWN_TOKEN}[0-9a-f]+");
    let all = [
        own.as_str(),
        r"\beyJ[A-Za-z0-9_-]*\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*",
        r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
        r"\bgh[pousr]_[A-Za-z0-9]{20,}",
        r"\bgithub_pat_[A-Za-z0-9_]{20,}",
        r"\bglpat-[A-Za-z0-9_-]{16,}",
        r"\bxox[abeprs]-[A-Za-z0-9_-]{10,}",
        r"\bsk[-_][A-Za-z0-9_-]{16,}",
        r"\bAIza[A-Za-z0-9_-]{30,}",
        r"\bnpm_[A-Za-z0-9_]{30,}",
        r"\bpypi-[A-Za-z0-9_-]{16,}",
        r"\bdop_v1_[A-Za-z0-9_]{16,}",
        r"\bhvs\.[A-Za-z0-9_-]{10,}",
        r"\bSG\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
        r"\bAGE-SECRET-KEY-1[A-Z0-9]+",
        r"hooks\.slack\.com/services/[A-Za-z0-9_/]+",
        r#"\$(?:2[aby]|5|6|y|apr1|argon2[a-z]*)\$[^\s"']{10,}"#,
    ];
    Regex::new(&all.join("|")).ok()
});

/// `scheme://user:password@host`, `scheme://token@host`, and `user:password@tcp(host)` of database drivers.
static ADDRESSES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?P<user>[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@"'<>]*:)[^\s/"'<>]+@|(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)[A-Za-z0-9_~-]{16,}@|(?P<driver>\b[A-Za-z0-9_.-]+:)[^\s"']+@(?P<net>tcp|unix|udp)\("#,
    )
    .ok()
});

/// `Bearer …`, and `Basic …`.
static SCHEMES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?P<scheme>\b(?:[Bb]earer|BEARER|[Bb]asic|BASIC)\s+)(?P<value>[A-Za-z0-9+/=._~-]+)").ok()
});

/// Words that may be base64.
static LONG_WORDS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[A-Za-z0-9+/_-]{24,}={0,2}").ok());

/// Words that follow `Bearer` in prose.
const OF_BEARER: [&str; 11] = [
    "token",
    "tokens",
    "auth",
    "authentication",
    "authorization",
    "scheme",
    "challenge",
    "realm",
    "error",
    "credentials",
    "header",
];

/// Returns `true` if a text may contain a secret. It must be quick, because it runs for every text of every revision.
pub(super) fn is_suspicious(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut in_a_row = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let of_word = byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_');
        in_a_row = if of_word { in_a_row + 1 } else { 0 };
        if in_a_row >= LONG || begins(bytes, at, *byte) {
            return true;
        }
    }
    false
}

/// [`SIGNS`] by their first letters.
static BY_FIRST: LazyLock<Vec<Vec<&'static [u8]>>> = LazyLock::new(|| {
    let of = |first: u8| {
        SIGNS
            .iter()
            .map(|sign| sign.as_bytes())
            .filter(move |sign| sign.first() == Some(&first))
    };
    (0..=u8::MAX)
        .map(|first| of(first.to_ascii_lowercase()).collect())
        .collect()
});

/// Returns `true` if a sign of secrets with this first letter begins at the position.
fn begins(bytes: &[u8], at: usize, first: u8) -> bool {
    let signs = &BY_FIRST[usize::from(first)];
    if signs.is_empty() && !matches!(first, b'$' | b'-') {
        return false;
    }
    let rest = &bytes[at..];
    let sign = |sign: &&[u8]| rest.get(..sign.len()).is_some_and(|it| it.eq_ignore_ascii_case(sign));
    let before = at.checked_sub(1).map_or(b' ', |before| bytes[before]);
    let hash = rest.len() > 2 && first == b'$' && matches!(rest[1], b'2' | b'5' | b'6' | b'y' | b'a');
    let flag = rest.len() > 1
        && first == b'-'
        && matches!(rest[1], b'u' | b'U' | b'p' | b'a' | b'w')
        && !before.is_ascii_alphanumeric()
        && !rest.get(2).is_some_and(u8::is_ascii_alphanumeric);
    hash || flag || signs.iter().any(sign)
}

/// Redacts the secrets in a text that have a recognizable shape; `deeper` checks decoded base64.
pub(super) fn shapes(text: &str, deeper: impl Fn(&str) -> bool) -> String {
    let told = replace(TOKENS.as_ref(), text, |_| REDACTED.to_owned());
    let told = replace(ADDRESSES.as_ref(), &told, |found| {
        let part = |name: &str| found.name(name).map_or("", |it| it.as_str());
        let net = part("net");
        let before = format!("{}{}{}", part("user"), part("scheme"), part("driver"));
        let behind = if net.is_empty() {
            String::new()
        } else {
            format!("{net}(")
        };
        format!("{before}{REDACTED}@{behind}")
    });
    let told = replace(SCHEMES.as_ref(), &told, |found| {
        let scheme = &found["scheme"];
        let value = &found["value"];
        let plain = value.trim_end_matches(['.', '=']).to_ascii_lowercase();
        let bearer = scheme.trim_end().eq_ignore_ascii_case("bearer");
        let secret = if bearer {
            !OF_BEARER.contains(&plain.as_str())
        } else {
            decoded(value).is_some_and(|it| it.contains(':'))
        };
        format!("{scheme}{}", if secret { REDACTED } else { value })
    });
    let told = replace(LONG_WORDS.as_ref(), &told, |found| {
        let word = &found[0];
        let secret = decoded(word).is_some_and(|it| deeper(&it));
        if secret { REDACTED } else { word }.to_owned()
    });
    told.into_owned()
}

fn replace<'t>(pattern: Option<&Regex>, text: &'t str, with: impl Fn(&Captures<'_>) -> String) -> Cow<'t, str> {
    match pattern {
        Some(pattern) => pattern.replace_all(text, |found: &Captures<'_>| with(found)),
        // The patterns are constants, and a test reads them.
        None => Cow::Borrowed(REDACTED),
    }
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
        for pattern in [&TOKENS, &ADDRESSES, &SCHEMES, &LONG_WORDS] {
            assert!(pattern.is_some());
        }
    }
}
