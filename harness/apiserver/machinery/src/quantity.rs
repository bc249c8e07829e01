//! Quantities such as `500m` and `1Gi`: parsing, comparing, and the form in which the API server writes them back.

/// The kind of suffix: powers of ten, powers of two, or an exponent. Writing a quantity keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Decimal,
    Binary,
    Exponent,
}

/// An exact quantity in billionths, rounded up.
#[derive(Debug, Clone, Copy)]
pub struct Quantity {
    nanos: i128,
    format: Format,
}

/// Number of billionths in one.
pub const NANOS_OF_ONE: i128 = 1_000_000_000;
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// Suffixes with their power of ten.
const DECIMAL: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];

impl Quantity {
    /// Parses a quantity; `None` if the text is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, rest) = match text.as_bytes().first()? {
            b'-' => (true, text.get(1..)?),
            b'+' => (false, text.get(1..)?),
            _ => (false, text),
        };
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) || number.len() > 60 {
            return None;
        }
        let (format, power) = parse_suffix(suffix)?;
        let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
        let nanos = match format {
            Format::Binary => digits
                .checked_mul(NANOS_OF_ONE)?
                .checked_mul(1_i128.checked_shl(power.unsigned_abs())?)?,
            Format::Decimal | Format::Exponent => digits,
        };
        let fraction_digits = i32::try_from(fraction.len()).ok()?;
        let scale = if format == Format::Binary {
            -fraction_digits
        } else {
            power + 9 - fraction_digits
        };
        let nanos = scaled(nanos, scale)?;
        Some(Self {
            nanos: if negative { -nanos } else { nanos },
            format,
        })
    }

    /// Returns a whole number as a quantity.
    pub fn whole_number(number: i64) -> Self {
        Self {
            nanos: i128::from(number) * NANOS_OF_ONE,
            format: Format::Decimal,
        }
    }

    /// Returns the difference in the format of this quantity.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self {
            nanos: self.nanos.saturating_sub(other.nanos),
            format: self.format,
        }
    }

    /// Returns the sum in the format of this quantity, or in the format of the other one if this quantity is zero.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            nanos: self.nanos.saturating_add(other.nanos),
            format: if self.nanos == 0 { other.format } else { self.format },
        }
    }

    /// Returns the value to some sixteen digits.
    #[expect(clippy::cast_precision_loss, reason = "ratios are reported with six digits")]
    pub fn as_f64(self) -> f64 {
        self.nanos as f64 / NANOS_OF_ONE as f64
    }

    /// Returns the value in billionths, for comparisons.
    pub fn nanos(self) -> i128 {
        self.nanos
    }

    /// Returns the form in which the API server writes the quantity.
    pub fn canonical(self) -> String {
        if self.nanos == 0 {
            return "0".to_owned();
        }
        let small = self.nanos.abs() < 1024 * NANOS_OF_ONE;
        match self.format {
            Format::Binary if !small => self.binary(),
            Format::Binary | Format::Decimal => {
                let (mantissa, power) = self.decimal();
                let suffix = DECIMAL
                    .iter()
                    .find(|(_, each)| *each == power)
                    .map_or("", |(suffix, _)| suffix);
                format!("{mantissa}{suffix}")
            }
            Format::Exponent => {
                let (mantissa, power) = self.decimal();
                if power == 0 {
                    mantissa.to_string()
                } else {
                    format!("{mantissa}e{power}")
                }
            }
        }
    }

    fn binary(self) -> String {
        let mut value = (self.nanos.abs() + NANOS_OF_ONE - 1) / NANOS_OF_ONE;
        let mut index = 0;
        while value % 1024 == 0 && index + 1 < BINARY.len() {
            value /= 1024;
            index += 1;
        }
        let sign = if self.nanos < 0 { "-" } else { "" };
        format!("{sign}{value}{}", BINARY[index])
    }

    /// Returns the mantissa and a power of ten that is a multiple of three, at most that of the largest suffix.
    fn decimal(self) -> (i128, i32) {
        let (mut mantissa, mut power) = (self.nanos, -9);
        while mantissa % 1000 == 0 && power < 18 {
            mantissa /= 1000;
            power += 3;
        }
        (mantissa, power)
    }
}

/// Returns `value * 10^scale`, rounded up if it gets smaller.
fn scaled(value: i128, scale: i32) -> Option<i128> {
    let factor = 10_i128.checked_pow(scale.unsigned_abs());
    if scale >= 0 {
        return value.checked_mul(factor?);
    }
    Some(factor.map_or(i128::from(value > 0), |factor| {
        value / factor + i128::from(value % factor != 0)
    }))
}

fn parse_suffix(suffix: &str) -> Option<(Format, i32)> {
    if let Some((_, power)) = DECIMAL.iter().find(|(each, _)| *each == suffix) {
        return Some((Format::Decimal, *power));
    }
    if let Some(index) = BINARY.iter().position(|each| *each == suffix) {
        return Some((Format::Binary, i32::try_from(index).ok()? * 10));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    let exponent: i32 = exponent.strip_prefix('+').unwrap_or(exponent).parse().ok()?;
    (exponent.abs() <= 30).then_some((Format::Exponent, exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_written_back_in_canonical_form() {
        for (given, expected) in [
            ("0.5", "500m"),
            ("1", "1"),
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("1000", "1k"),
            ("1Gi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("1024Mi", "1Gi"),
            ("512", "512"),
            ("1e3", "1e3"),
            ("-5", "-5"),
            ("0", "0"),
            ("100000000", "100M"),
        ] {
            let parsed = Quantity::parse(given).map(Quantity::canonical);
            assert_eq!(parsed.as_deref(), Some(expected), "{given}");
        }
    }

    #[test]
    fn nonsense_is_none() {
        for given in ["", "lots", "1.2.3", "1gi", "--1", "1e", "9e99", &"9".repeat(100)] {
            assert!(Quantity::parse(given).is_none(), "{given}");
        }
    }
}
