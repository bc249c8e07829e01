//! Times as Go reads them, with its error messages.

use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;

/// Whole seconds, or any fraction of a second.
const SECONDS: &str = "2006-01-02T15:04:05Z07:00";
/// Exactly six digits of a fraction.
const MICROSECONDS: &str = "2006-01-02T15:04:05.000000Z07:00";

/// Reason for which a text is not a time, in Go's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("parsing time {text:?}{problem}")]
pub struct TimeError {
    text: String,
    problem: Problem,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Problem {
    /// The rest of the text does not match that part of the layout.
    #[error(" as {layout:?}: cannot parse {rest:?} as {part:?}")]
    Mismatch {
        layout: &'static str,
        rest: String,
        part: &'static str,
    },
    #[error(": {0} out of range")]
    Range(&'static str),
    #[error(": extra text: {0:?}")]
    Extra(String),
}

/// Reads a time; `micro` times must have microseconds.
pub fn parse(text: &str, micro: bool) -> Result<Timestamp, TimeError> {
    let layout = if micro { MICROSECONDS } else { SECONDS };
    let mut reader = Reader { layout, rest: text };
    reader.time().map_err(|problem| TimeError {
        text: text.to_owned(),
        problem,
    })
}

struct Reader<'t> {
    layout: &'static str,
    rest: &'t str,
}

impl Reader<'_> {
    fn time(&mut self) -> Result<Timestamp, Problem> {
        let year = self.year()?;
        self.skip("-")?;
        let month = self.number("01", "month", 1..=12)?;
        self.skip("-")?;
        let day = self.number("02", "day", 0..=99)?;
        self.skip("T")?;
        let hour = self.hour()?;
        self.skip(":")?;
        let minute = self.number("04", "minute", 0..=59)?;
        self.skip(":")?;
        let second = self.number("05", "second", 0..=59)?;
        let nanos = if self.layout == MICROSECONDS {
            self.micros()?
        } else {
            self.fraction()
        };
        let offset = self.zone()?;
        if !self.rest.is_empty() {
            return Err(Problem::Extra(self.rest.to_owned()));
        }
        let date = Date::new(year, month, day).map_err(|_| Problem::Range("day"))?;
        let offset = Offset::from_seconds(offset).map_err(|_| Problem::Range("time zone offset hour"))?;
        let at = offset.to_timestamp(date.at(hour, minute, second, nanos));
        at.map_err(|_| Problem::Range("year"))
    }

    fn skip(&mut self, prefix: &'static str) -> Result<(), Problem> {
        self.rest = self.rest.strip_prefix(prefix).ok_or_else(|| self.mismatch(prefix))?;
        Ok(())
    }

    /// Returns the error for a rest that does not match a part of the layout.
    fn mismatch(&self, part: &'static str) -> Problem {
        Problem::Mismatch {
            layout: self.layout,
            rest: self.rest.to_owned(),
            part,
        }
    }

    fn year(&mut self) -> Result<i16, Problem> {
        let year = digits(self.rest, 4).ok_or_else(|| self.mismatch("2006"))?;
        self.rest = &self.rest[4..];
        Ok(year)
    }

    /// Reads two digits.
    fn number(
        &mut self,
        part: &'static str,
        what: &'static str,
        range: std::ops::RangeInclusive<i8>,
    ) -> Result<i8, Problem> {
        let number = digits(self.rest, 2).ok_or_else(|| self.mismatch(part))?;
        self.rest = &self.rest[2..];
        if range.contains(&number) {
            Ok(number)
        } else {
            Err(Problem::Range(what))
        }
    }

    /// One digit or two.
    fn hour(&mut self) -> Result<i8, Problem> {
        if digits::<i8>(self.rest, 2).is_some() {
            return self.number("15", "hour", 0..=23);
        }
        let hour = digits(self.rest, 1).ok_or_else(|| self.mismatch("15"))?;
        self.rest = &self.rest[1..];
        Ok(hour)
    }

    fn micros(&mut self) -> Result<i32, Problem> {
        const PART: &str = ".000000";
        let after = self.rest.strip_prefix(['.', ',']);
        let micros: Option<i32> = after.and_then(|after| digits(after, 6));
        let micros = micros.ok_or_else(|| self.mismatch(PART))?;
        self.rest = &self.rest[PART.len()..];
        Ok(micros * 1000)
    }

    /// Returns nanoseconds, if there is a fraction; drops smaller digits.
    fn fraction(&mut self) -> i32 {
        let Some(after) = self.rest.strip_prefix(['.', ',']) else {
            return 0;
        };
        let length = after.bytes().take_while(u8::is_ascii_digit).count();
        if length == 0 {
            return 0;
        }
        self.rest = &after[length..];
        let nanos = format!("{:0<9.9}", &after[..length]);
        nanos.parse().unwrap_or_default()
    }

    /// Seconds east of Greenwich.
    fn zone(&mut self) -> Result<i32, Problem> {
        const PART: &str = "Z07:00";
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let mismatch = || self.mismatch(PART);
        let zone = self.rest.get(..6).ok_or_else(mismatch)?;
        let sign = match zone.get(..1) {
            Some("+") => 1,
            Some("-") => -1,
            _ => return Err(mismatch()),
        };
        if zone.get(3..4) != Some(":") {
            return Err(mismatch());
        }
        let two = |from: usize| zone.get(from..).and_then(|rest| digits(rest, 2)).ok_or_else(mismatch);
        let (hours, minutes): (i32, i32) = (two(1)?, two(4)?);
        if hours > 24 {
            return Err(Problem::Range("time zone offset hour"));
        }
        if minutes > 60 {
            return Err(Problem::Range("time zone offset minute"));
        }
        self.rest = &self.rest[6..];
        Ok(sign * (hours * 3600 + minutes * 60))
    }
}

/// Reads a number of exactly that many digits.
fn digits<N: FromStr>(text: &str, count: usize) -> Option<N> {
    let digits = text.get(..count)?;
    let all = digits.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::parse;
    use rstest::rstest;

    #[rstest]
    #[case("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z")]
    #[case("2020-01-01T00:00:00.123Z", "2020-01-01T00:00:00.123Z")]
    #[case("2020-01-01T00:00:00,1234567891Z", "2020-01-01T00:00:00.123456789Z")]
    #[case("2020-01-01T01:30:00+01:30", "2020-01-01T00:00:00Z")]
    #[case("2020-01-01T5:00:00-00:30", "2020-01-01T05:30:00Z")]
    fn times_are_read(#[case] text: &str, #[case] time: &str) {
        assert_eq!(parse(text, false).map(|at| at.to_string()), Ok(time.to_owned()));
    }

    #[rstest]
    #[case("", "cannot parse \"\" as \"2006\"")]
    #[case("x", "cannot parse \"x\" as \"2006\"")]
    #[case("2020-01-01", "cannot parse \"\" as \"T\"")]
    #[case("2020-1-1T00:00:00Z", "cannot parse \"1-1T00:00:00Z\" as \"01\"")]
    #[case("2020-01-01t00:00:00z", "cannot parse \"t00:00:00z\" as \"T\"")]
    #[case("2020-01-01 00:00:00Z", "cannot parse \" 00:00:00Z\" as \"T\"")]
    #[case("2020-01-01T00:00:00", "cannot parse \"\" as \"Z07:00\"")]
    #[case("2020-01-01T00:00:00+0100", "cannot parse \"+0100\" as \"Z07:00\"")]
    fn what_cannot_be_read_is_told(#[case] text: &str, #[case] words: &str) {
        let expected = format!("parsing time {text:?} as \"2006-01-02T15:04:05Z07:00\": {words}");
        assert_eq!(parse(text, false).unwrap_err().to_string(), expected);
    }

    #[rstest]
    #[case("2020-13-01T00:00:00Z", "month out of range")]
    #[case("2020-02-30T00:00:00Z", "day out of range")]
    #[case("2020-01-01T25:00:00Z", "hour out of range")]
    #[case("2020-01-01T00:00:00Zx", "extra text: \"x\"")]
    fn what_there_is_not_is_told(#[case] text: &str, #[case] words: &str) {
        let expected = format!("parsing time {text:?}: {words}");
        assert_eq!(parse(text, false).unwrap_err().to_string(), expected);
    }

    #[rstest]
    #[case("2020-01-01T00:00:00Z", "cannot parse \"Z\" as \".000000\"")]
    #[case("2020-01-01T00:00:00.1Z", "cannot parse \".1Z\" as \".000000\"")]
    #[case("2020-01-01T00:00:00.123456789Z", "cannot parse \"789Z\" as \"Z07:00\"")]
    fn microseconds_have_six_digits(#[case] text: &str, #[case] words: &str) {
        let expected = format!("parsing time {text:?} as \"2006-01-02T15:04:05.000000Z07:00\": {words}");
        assert_eq!(parse(text, true).unwrap_err().to_string(), expected);
        assert!(parse("2020-01-01T00:00:00.123456+01:00", true).is_ok());
    }
}
