//! The string formats that Kubernetes checks; all others are ignored.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use regex::Regex;

/// A format for strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `date`: a full date of RFC 3339.
    Date,
    /// `date-time` or `datetime`: a date and time of RFC 3339.
    DateTime,
    /// `duration`: in Go's form, or a number and a unit.
    Duration,
    /// `byte`: base64.
    Byte,
    /// `uri`: absolute, or a path from the root.
    Uri,
    /// `ipv4`.
    Ipv4,
    /// `ipv6`.
    Ipv6,
    /// `cidr`.
    Cidr,
    /// `mac`.
    Mac,
    /// `hostname`.
    Hostname,
    /// `isbn`, `isbn10` or `isbn13`; the flags allow 10 and 13 digits.
    Isbn(bool, bool),
    /// `creditcard`.
    CreditCard,
    /// `password`: any text.
    Password,
    /// A format that a regular expression decides.
    Matching(Expression),
}

/// The formats that are regular expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expression {
    /// `email`
    Email,
    /// `uuid`
    Uuid,
    /// `uuid3`
    Uuid3,
    /// `uuid4`
    Uuid4,
    /// `uuid5`
    Uuid5,
    /// `bsonobjectid`
    BsonObjectId,
    /// `ssn`
    Ssn,
    /// `hexcolor`
    HexColor,
    /// `rgbcolor`
    RgbColor,
    /// `k8s-short-name`
    ShortName,
    /// `k8s-long-name`
    LongName,
}

macro_rules! expression {
    ($name:ident, $pattern:expr) => {
        static $name: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($pattern).ok());
    };
}

expression!(
    EMAIL,
    r#"^(?:[^\s@<>()\[\],;:"]+|"[^"]+")@[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?)*$"#
);
expression!(
    UUID,
    r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"
);
expression!(
    UUID3,
    r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$"
);
expression!(
    UUID4,
    r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$"
);
expression!(
    UUID5,
    r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$"
);
expression!(BSON, r"^[0-9a-fA-F]{24}$");
expression!(SSN, r"^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$");
expression!(HEX_COLOR, r"^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$");
expression!(
    RGB_COLOR,
    r"^rgb\(\s*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\s*,\s*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\s*,\s*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\s*\)$"
);
expression!(SHORT_NAME, r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$");
expression!(
    LONG_NAME,
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
);
expression!(DATE, r"^([0-9]{4})-([0-9]{2})-([0-9]{2})$");
expression!(
    TIME,
    r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$"
);
expression!(
    GO_DURATION,
    r"^[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$"
);
expression!(
    WORD_DURATION,
    r"^([0-9]+)\s*(nanoseconds?|nanos?|nanosecs?|ns|microseconds?|micros?|microsecs?|us|µs|milliseconds?|millis?|millisecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|wks?|w)$"
);
expression!(
    BASE64,
    r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
);
// One label with at most a dash after its first letter, or several labels of which the last consists of letters.
expression!(
    HOSTNAME,
    r"^(?:[a-zA-Z0-9\p{S}\p{L}](?:-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?|(?:[a-zA-Z0-9\p{S}\p{L}](?:[a-zA-Z0-9\p{S}\p{L}-]{0,61}[a-zA-Z0-9\p{S}\p{L}])?\.)+[a-zA-Z\p{L}]{2,63})$"
);

fn matches(expression: &LazyLock<Option<Regex>>, text: &str) -> bool {
    expression.as_ref().is_some_and(|regex| regex.is_match(text))
}

impl Format {
    /// Returns the format of this name, or `None` if Kubernetes does not check it. Dashes in the name are ignored.
    pub fn named(name: &str) -> Option<Self> {
        let plain: String = name.chars().filter(|letter| *letter != '-').collect();
        Some(match plain.as_str() {
            "date" => Self::Date,
            "datetime" => Self::DateTime,
            "duration" => Self::Duration,
            "byte" => Self::Byte,
            "uri" => Self::Uri,
            "ipv4" => Self::Ipv4,
            "ipv6" => Self::Ipv6,
            "cidr" => Self::Cidr,
            "mac" => Self::Mac,
            "hostname" => Self::Hostname,
            "isbn" => Self::Isbn(true, true),
            "isbn10" => Self::Isbn(true, false),
            "isbn13" => Self::Isbn(false, true),
            "creditcard" => Self::CreditCard,
            "password" => Self::Password,
            "email" => Self::Matching(Expression::Email),
            "uuid" => Self::Matching(Expression::Uuid),
            "uuid3" => Self::Matching(Expression::Uuid3),
            "uuid4" => Self::Matching(Expression::Uuid4),
            "uuid5" => Self::Matching(Expression::Uuid5),
            "bsonobjectid" => Self::Matching(Expression::BsonObjectId),
            "ssn" => Self::Matching(Expression::Ssn),
            "hexcolor" => Self::Matching(Expression::HexColor),
            "rgbcolor" => Self::Matching(Expression::RgbColor),
            "k8sshortname" => Self::Matching(Expression::ShortName),
            "k8slongname" => Self::Matching(Expression::LongName),
            _ => return None,
        })
    }

    /// Returns `true` if the text is valid in this format.
    pub fn accepts(self, text: &str) -> bool {
        match self {
            Self::Date => is_date(text),
            Self::DateTime => is_date_time(text),
            Self::Duration => matches(&GO_DURATION, text) || matches(&WORD_DURATION, &text.to_lowercase()),
            Self::Byte => !text.is_empty() && matches(&BASE64, text),
            Self::Uri => is_uri(text),
            Self::Ipv4 => is_ipv4(text),
            Self::Ipv6 => text.parse::<Ipv6Addr>().is_ok(),
            Self::Cidr => is_cidr(text),
            Self::Mac => is_mac(text),
            Self::Hostname => is_hostname(text),
            Self::Isbn(ten, thirteen) => is_isbn(text, ten, thirteen),
            Self::CreditCard => is_credit_card(text),
            Self::Password => true,
            Self::Matching(expression) => expression.accepts(text),
        }
    }
}

impl Expression {
    fn accepts(self, text: &str) -> bool {
        match self {
            Self::Email => is_email(text),
            Self::Uuid => matches(&UUID, text),
            Self::Uuid3 => matches(&UUID3, text),
            Self::Uuid4 => matches(&UUID4, text),
            Self::Uuid5 => matches(&UUID5, text),
            Self::BsonObjectId => matches(&BSON, text),
            Self::Ssn => matches(&SSN, text),
            Self::HexColor => matches(&HEX_COLOR, text),
            Self::RgbColor => matches(&RGB_COLOR, text),
            Self::ShortName => matches(&SHORT_NAME, text),
            Self::LongName => text.len() <= 253 && matches(&LONG_NAME, text),
        }
    }
}

fn is_date(text: &str) -> bool {
    matches(&DATE, text) && text.parse::<jiff::civil::Date>().is_ok()
}

fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let Some((date, time)) = lower.split_once('t') else {
        return false;
    };
    let number = |range: std::ops::Range<usize>| time.get(range).and_then(|digits| digits.parse::<u8>().ok());
    is_date(date)
        && matches(&TIME, time)
        && number(0..2).is_some_and(|hour| hour <= 23)
        && number(3..5).is_some_and(|minute| minute <= 59)
        && number(6..8).is_some_and(|second| second <= 59)
}

/// Returns `true` for an email address, with or without a name before it.
fn is_email(text: &str) -> bool {
    let address = match text.trim().strip_suffix('>').and_then(|rest| rest.split_once('<')) {
        Some((name, address)) if !name.contains('@') => address,
        Some(_) | None => text,
    };
    matches(&EMAIL, address)
}

/// Returns `true` for an IPv4 address; leading zeros of a part are ignored.
fn is_ipv4(text: &str) -> bool {
    let part = |part: &str| {
        let digits = !part.is_empty() && part.bytes().all(|digit| digit.is_ascii_digit());
        digits
            && part
                .trim_start_matches('0')
                .parse::<u8>()
                .map_or(part.bytes().all(|digit| digit == b'0'), |_| true)
    };
    text.split('.').count() == 4 && text.split('.').all(part)
}

fn is_uri(text: &str) -> bool {
    if text.is_empty() || text.chars().any(|letter| letter.is_ascii_control() || letter == ' ') {
        return false;
    }
    if text.starts_with('/') {
        return true;
    }
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let mut letters = scheme.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.'))
        && !rest.contains('#')
        && (!rest.contains('[') || rest.contains(']'))
}

/// Returns `true` if the text is an address and a prefix length: `10.0.0.0/8`.
pub fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else {
        return false;
    };
    if length.is_empty() || length.len() > 3 || !length.bytes().all(|digit| digit.is_ascii_digit()) {
        return false;
    }
    let Ok(length) = length.parse::<u8>() else { return false };
    let four = address.parse::<Ipv4Addr>().is_ok() && length <= 32;
    four || (address.parse::<Ipv6Addr>().is_ok() && length <= 128)
}

fn is_mac(text: &str) -> bool {
    let groups = |separator: char, digits: usize, counts: &[usize]| {
        let parts: Vec<&str> = text.split(separator).collect();
        counts.contains(&parts.len())
            && parts
                .iter()
                .all(|part| part.len() == digits && part.bytes().all(|digit| digit.is_ascii_hexdigit()))
    };
    groups(':', 2, &[6, 8, 20]) || groups('-', 2, &[6, 8, 20]) || groups('.', 4, &[3, 4, 10])
}

fn is_hostname(text: &str) -> bool {
    text.len() <= 255 && text.split('.').all(|part| part.len() <= 63) && matches(&HOSTNAME, text)
}

fn is_isbn(text: &str, ten: bool, thirteen: bool) -> bool {
    let digits: Vec<u32> = text
        .chars()
        .filter(|letter| !matches!(letter, ' ' | '-'))
        .map(|letter| {
            if letter == 'X' {
                10
            } else {
                letter.to_digit(10).unwrap_or(99)
            }
        })
        .collect();
    if digits.contains(&99) {
        return false;
    }
    let sum_ten: u32 = digits
        .iter()
        .zip((1..=10).rev())
        .map(|(digit, weight)| digit * weight)
        .sum();
    let sum_thirteen: u32 = digits
        .iter()
        .zip([1, 3].into_iter().cycle())
        .map(|(digit, weight)| digit * weight)
        .sum();
    (ten && digits.len() == 10 && sum_ten.is_multiple_of(11))
        || (thirteen && digits.len() == 13 && !digits.contains(&10) && sum_thirteen.is_multiple_of(10))
}

fn is_credit_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|letter| letter.to_digit(10)).collect();
    let doubled = |digit: u32| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| if place % 2 == 1 { doubled(*digit) } else { *digit })
        .sum();
    (13..=19).contains(&digits.len()) && sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::Format;

    #[test]
    fn formats_accept_and_refuse() {
        let cases = [
            ("date", "2020-02-29", "yesterday"),
            ("date", "2020-02-29", "2021-02-29"),
            ("date-time", "2020-01-01T00:00:00Z", "2020-01-01"),
            ("date-time", "2020-01-01t00:00:00.5+01:00", "2020-01-01T25:00:00Z"),
            ("email", "a@b.c", "nope"),
            ("uuid", "00000000-0000-4000-8000-000000000000", "nope"),
            ("ipv4", "1.2.3.4", "1.2.3"),
            ("ipv4", "01.002.0.000", "1.2.3.256"),
            ("email", "A <a@b.c>", "a <b"),
            ("byte", "YQ==", ""),
            ("uri", "http://[::1]", "http://["),
            ("hostname", "a-b", "a.b.c"),
            ("ipv6", "::1", "1.2.3.4.5"),
            ("cidr", "10.0.0.0/8", "10.0.0.0"),
            ("cidr", "fd00::/64", "10.0.0.0/33"),
            ("byte", "AAEC", "***"),
            ("duration", "1h5m", "five"),
            ("duration", "3 days", ""),
            ("uri", "https://x/y", "x y"),
            ("hostname", "example.com", "-bad-.com"),
            ("mac", "00:11:22:33:44:55", "00:11"),
            ("hexcolor", "#fff", "#ff"),
            ("rgbcolor", "rgb(0, 1, 255)", "rgb(0,1)"),
            ("isbn", "978-3-16-148410-0", "978-3-16-148410-1"),
            ("isbn10", "0-306-40615-2", "0-306-40615-3"),
            ("creditcard", "4111-1111-1111-1111", "4111-1111-1111-1112"),
            ("k8s-short-name", "a-b", "a.b"),
            ("k8s-long-name", "a.b", "A.b"),
        ];
        for (name, good, bad) in cases {
            let format = Format::named(name).unwrap_or_else(|| panic!("{name} is a format"));
            assert!(format.accepts(good), "{name}: {good}");
            assert!(!format.accepts(bad), "{name}: {bad}");
        }
        assert_eq!(Format::named("unknown-format"), None);
    }
}
