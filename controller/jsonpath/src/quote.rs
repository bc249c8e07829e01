//! Parses quoted texts with Go's escapes, in single or double quotes.

/// Returns the text between the quotes with its escapes replaced; `None` for an invalid escape.
///
/// `inside` is the text between two `quote`s. Bytes written as `\xff` or `\377` that are not valid UTF-8 become U+FFFD,
/// where Go would print the bytes.
pub(crate) fn unquote(inside: &str, quote: char) -> Option<String> {
    if !inside.contains(['\\', quote]) {
        return Some(inside.to_owned());
    }
    let mut bytes = Vec::with_capacity(inside.len());
    let mut rest = inside.chars();
    while let Some(c) = rest.next() {
        if c == quote {
            return None;
        }
        if c == '\\' {
            escape(&mut rest, quote, &mut bytes)?;
        } else {
            push(c, &mut bytes);
        }
    }
    Some(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

fn escape(rest: &mut std::str::Chars<'_>, quote: char, bytes: &mut Vec<u8>) -> Option<()> {
    match rest.next()? {
        'a' => bytes.push(0x07),
        'b' => bytes.push(0x08),
        'f' => bytes.push(0x0c),
        'n' => bytes.push(b'\n'),
        'r' => bytes.push(b'\r'),
        't' => bytes.push(b'\t'),
        'v' => bytes.push(0x0b),
        '\\' => bytes.push(b'\\'),
        'x' => bytes.push(u8::try_from(digits(rest, 0, 2, 16)?).ok()?),
        'u' => push(char::from_u32(digits(rest, 0, 4, 16)?)?, bytes),
        'U' => push(char::from_u32(digits(rest, 0, 8, 16)?)?, bytes),
        first @ '0'..='7' => bytes.push(u8::try_from(digits(rest, first.to_digit(8)?, 2, 8)?).ok()?),
        c if c == quote => push(c, bytes),
        _ => return None,
    }
    Some(())
}

fn digits(rest: &mut std::str::Chars<'_>, start: u32, count: usize, radix: u32) -> Option<u32> {
    (0..count).try_fold(start, |value, _| {
        let digit = rest.next()?.to_digit(radix)?;
        value.checked_mul(radix)?.checked_add(digit)
    })
}

fn push(c: char, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::unquote;

    #[test]
    fn escapes_are_those_of_go() {
        let good = [
            (r"plain", '"', "plain"),
            (r"a\tb\nc", '"', "a\tb\nc"),
            (r#"say \"hi\""#, '"', "say \"hi\""),
            (r"it\'s", '\'', "it's"),
            (r"\\", '"', "\\"),
            (r"\u00e9\U0001f600\x41\101", '"', "é😀AA"),
            (r"\xc3\xa9", '"', "é"),
        ];
        for (inside, quote, text) in good {
            assert_eq!(unquote(inside, quote).as_deref(), Some(text), "{inside}");
        }
    }

    #[test]
    fn what_is_no_escape_is_refused() {
        for (inside, quote) in [
            (r"\'", '"'),
            (r#"\""#, '\''),
            (r"\q", '"'),
            (r"\u12", '"'),
            (r"\ud800", '"'),
            (r"\400", '"'),
        ] {
            assert_eq!(unquote(inside, quote), None, "{inside}");
        }
    }
}
