//! Quantities of Kubernetes: `1.5Gi`, `100m`, `1e3`.

use std::cmp::Ordering;
use std::rc::Rc;

/// A quantity as a whole number of billionths.
#[derive(Debug, Clone)]
pub struct Quantity {
    nanos: i128,
    text: Rc<str>,
}

/// Billionths in a whole number.
pub const NANO: i128 = 1_000_000_000;

impl Quantity {
    /// Parses a quantity; refuses one that is too large.
    pub fn parse(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let end = unsigned
            .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
            .unwrap_or(unsigned.len());
        let (number, suffix) = (unsigned.get(..end)?, unsigned.get(end..)?);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') || number.len() > 30 {
            return None;
        }
        let (multiplier, divisor) = scale(suffix)?;
        let digits: i128 = format!("0{whole}{fraction}").parse().ok()?;
        let decimals = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
        let divisor = decimals.checked_mul(divisor)?;
        let scaled = digits.checked_mul(multiplier)?.checked_mul(NANO)?;
        // Quantities are rounded up to billionths.
        let nanos = scaled.checked_add(divisor - 1)? / divisor;
        let nanos = if text.starts_with('-') { -nanos } else { nanos };
        Some(Self {
            nanos,
            text: text.into(),
        })
    }

    /// Returns the quantity as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the quantity in billionths.
    pub fn nanos(&self) -> i128 {
        self.nanos
    }

    /// The order of two quantities.
    pub fn order(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }

    /// Returns a quantity of this many billionths.
    pub fn of_nanos(nanos: i128) -> Self {
        let text = if nanos % NANO == 0 {
            (nanos / NANO).to_string()
        } else {
            format!("{nanos}n")
        };
        Self {
            nanos,
            text: text.into(),
        }
    }

    /// Returns the quantity as a whole number, if it is one.
    pub fn whole(&self) -> Option<i64> {
        (self.nanos % NANO == 0)
            .then(|| i64::try_from(self.nanos / NANO).ok())
            .flatten()
    }
}

/// Returns the multiplier and the divisor of a suffix.
fn scale(suffix: &str) -> Option<(i128, i128)> {
    let binary = |power: u32| Some((1024_i128.pow(power), 1));
    let decimal = |power: u32| Some((10_i128.pow(power), 1));
    match suffix {
        "" => Some((1, 1)),
        "n" => Some((1, NANO)),
        "u" => Some((1, 1_000_000)),
        "m" => Some((1, 1000)),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        _ => {
            let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
            Some(if exponent < 0 { (1, power) } else { (power, 1) })
        }
    }
}
