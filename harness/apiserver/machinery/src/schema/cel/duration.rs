//! Durations as Go writes them.

use jiff::SignedDuration;

/// Parses a duration as Go writes it: `1h5m`, `1.5s`, `-3ms`.
pub fn parse(text: &str) -> Option<SignedDuration> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(SignedDuration::ZERO);
    }
    let mut total = 0.0_f64;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let number: f64 = rest.get(..end)?.parse().ok()?;
        rest = rest.get(end..)?;
        let unit_end = rest
            .find(|letter: char| letter.is_ascii_digit() || letter == '.')
            .unwrap_or(rest.len());
        let unit = match rest.get(..unit_end)? {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        total += number * unit;
        rest = rest.get(unit_end..)?;
    }
    let duration = SignedDuration::try_from_secs_f64(total).ok()?;
    if negative {
        duration.checked_neg()
    } else {
        Some(duration)
    }
}
