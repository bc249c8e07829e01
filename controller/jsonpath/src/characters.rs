//! Character classes of the scanner; beyond ASCII they follow Unicode's categories, as in Go.

use std::sync::LazyLock;

use regex::Regex;

/// Letters and decimal digits: `½` and `Ⅷ` are neither.
static LETTER_OR_DIGIT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[\p{L}\p{Nd}]$").ok());

/// Decimal digits of any script.
static DIGIT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{Nd}$").ok());

/// Visible characters and the space.
static PRINTABLE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$").ok());

fn is_one(category: Option<&Regex>, c: char) -> bool {
    let mut bytes = [0; 4];
    category.is_some_and(|category| category.is_match(c.encode_utf8(&mut bytes)))
}

/// Returns true if a bare word, or the key after `..`, may begin with the character.
pub(crate) fn begins_word(c: char) -> bool {
    if c.is_ascii() {
        return c == '_' || c.is_ascii_alphanumeric();
    }
    is_one(LETTER_OR_DIGIT.as_ref(), c)
}

/// Returns true if the character begins or continues a number. A digit of another script than ASCII's does not form a
/// readable number, and is reported as such.
pub(crate) fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || (!c.is_ascii() && is_one(DIGIT.as_ref(), c))
}

/// Returns true if a word or a key ends before the character.
pub(crate) fn ends_word(c: char) -> bool {
    matches!(
        c,
        ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}'
    )
}

/// Formats a character as Go does: `U+007B '{'`.
pub(crate) fn code_point(c: char) -> String {
    let number = format!("U+{:04X}", u32::from(c));
    if is_one(PRINTABLE.as_ref(), c) {
        format!("{number} '{c}'")
    } else {
        number
    }
}

#[cfg(test)]
mod tests {
    use super::{begins_word, code_point, is_digit};

    #[test]
    fn categories_are_those_of_unicode() {
        for c in ['a', 'Z', '_', '7', 'é', '日', 'ª', '٣'] {
            assert!(begins_word(c), "{c}");
        }
        for c in ['-', '½', '²', 'Ⅷ', 'Ⓐ', '\u{301}', '☃', '\u{200b}'] {
            assert!(!begins_word(c), "{c}");
        }
        assert!(is_digit('0') && is_digit('٣') && !is_digit('²') && !is_digit('a'));
        assert_eq!(code_point('½'), "U+00BD '½'");
        assert_eq!(code_point('\u{200b}'), "U+200B");
        assert_eq!(code_point('\u{a0}'), "U+00A0");
    }
}
