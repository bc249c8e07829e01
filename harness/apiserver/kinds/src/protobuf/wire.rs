//! The parts of a message, one after the other.

use super::ProtobufError;

/// The value of a part.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wire<'a> {
    Number(u64),
    Eight([u8; 8]),
    Bytes(&'a [u8]),
    /// Four bytes: no field of the API has them.
    Four,
}

/// Iterates over the parts of a message: field number and value.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn part(&mut self) -> Option<(u64, Wire<'a>)> {
        let key = self.number()?;
        let wire = match key & 7 {
            0 => Wire::Number(self.number()?),
            1 => Wire::Eight(self.take(8)?.try_into().ok()?),
            2 => {
                let length = usize::try_from(self.number()?).ok()?;
                Wire::Bytes(self.take(length)?)
            }
            5 => {
                self.take(4)?;
                Wire::Four
            }
            _ => return None,
        };
        Some((key >> 3, wire))
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<(u64, Wire<'a>), ProtobufError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let part = self.part().ok_or(ProtobufError::Malformed);
        if part.is_err() {
            self.0 = &[];
        }
        Some(part)
    }
}
