//! Base64 as Go reads it: line breaks may be anywhere, and spare bits after the last byte are ignored.

use base64::Engine as _;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

/// The position of the first byte that is not base64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("illegal base64 data at input byte {0}")]
pub struct IllegalByte(usize);

/// Decodes a text.
pub fn decode(text: &str) -> Result<Vec<u8>, IllegalByte> {
    let unbroken: String = text.chars().filter(|letter| !matches!(letter, '\r' | '\n')).collect();
    LENIENT.decode(unbroken).map_err(|_| IllegalByte(fault(text)))
}

/// Encodes bytes as the API server does.
pub fn encode(bytes: &[u8]) -> String {
    LENIENT.encode(bytes)
}

/// Returns the position that Go's decoder reports for invalid input. The decoder reads four letters at a time.
fn fault(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut letters = bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| !matches!(**byte, b'\r' | b'\n'));
    loop {
        for of_group in 0..4 {
            match letters.next() {
                // The last group is incomplete.
                None => return bytes.len() - of_group,
                Some((_, byte)) if byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/') => {}
                Some((at, b'=')) if of_group < 2 => return at,
                Some((_, b'=')) => return behind_padding(&mut letters, of_group, bytes.len()),
                Some((at, _)) => return at,
            }
        }
    }
}

/// Returns the position of the error after the first letter of padding.
fn behind_padding<'b>(letters: &mut impl Iterator<Item = (usize, &'b u8)>, of_group: usize, length: usize) -> usize {
    if of_group == 2 {
        match letters.next() {
            None => return length,
            Some((_, b'=')) => {}
            Some((at, _)) => return at.saturating_sub(1),
        }
    }
    letters.next().map_or(length, |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::{IllegalByte, decode};

    #[test]
    fn what_go_reads_is_read() {
        for (text, bytes) in [
            ("", &b""[..]),
            ("YQ==", b"a"),
            ("YR==", b"a"),
            ("YQ\n==", b"a"),
            ("YWJj\r\n", b"abc"),
        ] {
            assert_eq!(decode(text).as_deref(), Ok(bytes), "{text:?}");
        }
    }

    #[test]
    fn what_it_does_not_read_is_wrong_at_the_same_place() {
        for (text, at) in [
            ("b", 0),
            ("bb", 0),
            ("bbb", 0),
            ("b=", 1),
            ("bb=", 3),
            ("b b", 1),
            ("=", 0),
            ("bbbbb", 4),
            ("bbbb=", 4),
            ("bbb\n", 1),
            ("%", 0),
            ("bbb%", 3),
            ("bbbbb%", 5),
            ("YQ==YQ==", 4),
        ] {
            assert_eq!(decode(text), Err(IllegalByte(at)), "{text:?}");
        }
    }
}
