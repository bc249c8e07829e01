//! JSON parse errors in the words of Go's `encoding/json`.

use serde_json::Value;

use crate::merge::go_type;

/// Maximum depth of nested values.
const MAX_DEPTH: usize = 10_000;

/// Reason for which bytes are not JSON.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// The text ends inside a value.
    #[error("unexpected end of JSON input")]
    End,
    /// A byte that cannot be there, and its place: `in numeric literal`.
    #[error("invalid character {byte} {1}", byte = quoted(*.0))]
    Character(u8, &'static str),
    /// A byte in a word, the word, and the byte that the word has there.
    #[error("invalid character {byte} in literal {1} (expecting '{wanted}')", byte = quoted(*.0), wanted = char::from(*.2))]
    Literal(u8, &'static str, u8),
    /// An error that only the parser finds, such as a number that is too large.
    #[error(transparent)]
    Parser(#[from] serde_json::Error),
}

/// A JSON value that does not fit a Go type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("json: cannot unmarshal {found} into Go {place} of type {wanted}")]
pub struct UnmarshalTypeError {
    /// The JSON type of the value, with the number itself where an integer is wanted.
    pub found: String,
    /// `value`, or `struct field` and its name.
    pub place: String,
    /// The Go type.
    pub wanted: String,
}

impl UnmarshalTypeError {
    /// Returns the error for a whole document.
    pub fn value(found: &Value, wanted: &str) -> Self {
        Self {
            found: go_type(found).to_owned(),
            place: "value".to_owned(),
            wanted: wanted.to_owned(),
        }
    }

    /// Returns the error for a field of a struct: `Pod.spec`.
    pub fn field(found: &Value, field: &str, wanted: &str) -> Self {
        Self {
            place: format!("struct field {field}"),
            ..Self::value(found, wanted)
        }
    }
}

/// Parses a text.
pub fn parse(text: &[u8]) -> Result<Value, JsonError> {
    serde_json::from_slice(text).map_err(|error| {
        let mut scanner = Scanner { text, at: 0, depth: 0 };
        scanner.document().err().unwrap_or_else(|| error.into())
    })
}

/// Finds the first byte that cannot continue the JSON. Does not recurse, because the text determines the depth.
struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
}

type Scan<T = ()> = Result<T, JsonError>;

impl Scanner<'_> {
    fn document(&mut self) -> Scan {
        // The open arrays (`]`) and objects (`}`).
        let mut open = Vec::new();
        loop {
            self.opening(&mut open)?;
            // A value has ended, and with it perhaps the containers around it.
            while let Some(end) = open.last().copied() {
                let (place, object) = match end {
                    b']' => ("after array element", false),
                    _ => ("after object key:value pair", true),
                };
                match self.next()? {
                    b',' => {
                        if object {
                            let byte = self.next()?;
                            self.key(byte)?;
                        }
                        break;
                    }
                    byte if byte == end => {
                        open.pop();
                        self.depth -= 1;
                    }
                    byte => return Err(JsonError::Character(byte, place)),
                }
            }
            if open.is_empty() {
                break;
            }
        }
        match self.next() {
            Ok(byte) => Err(JsonError::Character(byte, "after top-level value")),
            Err(_) => Ok(()),
        }
    }

    /// Reads up to and including the next scalar or empty container.
    fn opening(&mut self, open: &mut Vec<u8>) -> Scan {
        loop {
            let byte = self.next()?;
            if !matches!(byte, b'{' | b'[') {
                return self.scalar(byte);
            }
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(JsonError::Character(byte, "exceeded max depth"));
            }
            let end = if byte == b'{' { b'}' } else { b']' };
            let first = self.next()?;
            if first == end {
                self.depth -= 1;
                return Ok(());
            }
            open.push(end);
            if byte == b'{' {
                self.key(first)?;
            } else {
                self.at -= 1;
            }
        }
    }

    fn key(&mut self, first: u8) -> Scan {
        if first != b'"' {
            return Err(JsonError::Character(
                first,
                "looking for beginning of object key string",
            ));
        }
        self.string()?;
        match self.next()? {
            b':' => Ok(()),
            byte => Err(JsonError::Character(byte, "after object key")),
        }
    }

    fn scalar(&mut self, first: u8) -> Scan {
        match first {
            b'"' => self.string(),
            b't' => self.literal("true"),
            b'f' => self.literal("false"),
            b'n' => self.literal("null"),
            b'-' => match self.byte()? {
                digit if digit.is_ascii_digit() => self.number(digit),
                byte => Err(JsonError::Character(byte, "in numeric literal")),
            },
            digit if digit.is_ascii_digit() => self.number(digit),
            byte => Err(JsonError::Character(byte, "looking for beginning of value")),
        }
    }

    fn literal(&mut self, word: &'static str) -> Scan {
        for expected in word.bytes().skip(1) {
            let byte = self.byte()?;
            if byte != expected {
                return Err(JsonError::Literal(byte, word, expected));
            }
        }
        Ok(())
    }

    fn number(&mut self, first: u8) -> Scan {
        if first != b'0' {
            self.digits();
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digit("after decimal point in numeric literal")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digit("in exponent of numeric literal")?;
        }
        Ok(())
    }

    fn digit(&mut self, place: &'static str) -> Scan {
        let byte = self.byte()?;
        if !byte.is_ascii_digit() {
            return Err(JsonError::Character(byte, place));
        }
        self.digits();
        Ok(())
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn string(&mut self) -> Scan {
        loop {
            match self.byte()? {
                b'"' => return Ok(()),
                b'\\' => match self.byte()? {
                    b'u' => {
                        for _ in 0..4 {
                            let byte = self.byte()?;
                            if !byte.is_ascii_hexdigit() {
                                return Err(JsonError::Character(byte, "in \\u hexadecimal character escape"));
                            }
                        }
                    }
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                    byte => return Err(JsonError::Character(byte, "in string escape code")),
                },
                byte if byte < b' ' => return Err(JsonError::Character(byte, "in string literal")),
                _ => {}
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn byte(&mut self) -> Scan<u8> {
        let byte = self.peek().ok_or(JsonError::End)?;
        self.at += 1;
        Ok(byte)
    }

    /// Returns the next byte that is not white space.
    fn next(&mut self) -> Scan<u8> {
        loop {
            let byte = self.byte()?;
            if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                return Ok(byte);
            }
        }
    }
}

/// Returns a byte as Go quotes it in an error.
fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        b'\\' => r"'\\'".to_owned(),
        b'\n' => r"'\n'".to_owned(),
        b'\r' => r"'\r'".to_owned(),
        b'\t' => r"'\t'".to_owned(),
        b' '..0x7f => format!("'{}'", char::from(byte)),
        _ => format!(r"'\x{byte:02x}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;
    use rstest::rstest;

    #[rstest]
    #[case("", "unexpected end of JSON input")]
    #[case("{\"a\": [1, {}, []], \"b\"", "unexpected end of JSON input")]
    #[case("{} x", "invalid character 'x' after top-level value")]
    #[case("{a:1}", "invalid character 'a' looking for beginning of object key string")]
    #[case("{\"a\" 1}", "invalid character '1' after object key")]
    #[case("{\"a\":1 2}", "invalid character '2' after object key:value pair")]
    #[case("[1 2]", "invalid character '2' after array element")]
    #[case("[1,]", "invalid character ']' looking for beginning of value")]
    #[case("{\"a\":1,}", "invalid character '}' looking for beginning of object key string")]
    #[case("trve", "invalid character 'v' in literal true (expecting 'u')")]
    #[case("-x", "invalid character 'x' in numeric literal")]
    #[case("1.x", "invalid character 'x' after decimal point in numeric literal")]
    #[case("1e+}", "invalid character '}' in exponent of numeric literal")]
    #[case("\"\\q\"", "invalid character 'q' in string escape code")]
    #[case("\"\n\"", "invalid character '\\n' in string literal")]
    fn errors_are_those_of_go(#[case] text: &str, #[case] error: &str) {
        assert_eq!(parse(text.as_bytes()).unwrap_err().to_string(), error);
    }

    #[test]
    fn bytes_beyond_ascii_are_shown_as_numbers() {
        let error = parse(b"\x9e").unwrap_err().to_string();
        assert_eq!(error, "invalid character '\\x9e' looking for beginning of value");
    }

    #[test]
    fn depth_is_an_error_of_its_own() {
        let deep = "[".repeat(10_001);
        let error = "invalid character '[' exceeded max depth";
        assert_eq!(parse(deep.as_bytes()).unwrap_err().to_string(), error);
    }
}
