//! Parts of timestamps and durations.

use jiff::tz::TimeZone;

use super::super::budget::Budget;
use super::super::error::{CelError, Outcome};
use super::super::value::Val;

pub(super) fn call<'a>(_: &mut Budget, name: &str, is_member: bool, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    if !is_member {
        return None;
    }
    match args {
        [Val::Timestamp(at), rest @ ..] => {
            let zone = match rest {
                [] => TimeZone::UTC,
                [Val::Str(name)] => match zone(name.as_str()) {
                    Some(zone) => zone,
                    None => return Some(Err(CelError::Eval(format!("unknown time zone {}", name.as_str())))),
                },
                _ => return None,
            };
            let local = at.to_zoned(zone);
            Some(Ok(Val::Int(match name {
                "getFullYear" => i64::from(local.year()),
                "getMonth" => i64::from(local.month()) - 1,
                "getDate" => i64::from(local.day()),
                "getDayOfMonth" => i64::from(local.day()) - 1,
                "getDayOfWeek" => i64::from(local.weekday().to_sunday_zero_offset()),
                "getDayOfYear" => i64::from(local.day_of_year()) - 1,
                "getHours" => i64::from(local.hour()),
                "getMinutes" => i64::from(local.minute()),
                "getSeconds" => i64::from(local.second()),
                "getMilliseconds" => i64::from(local.millisecond()),
                _ => return None,
            })))
        }
        [Val::Duration(duration)] => Some(Ok(Val::Int(match name {
            "getHours" => duration.as_hours(),
            "getMinutes" => duration.as_mins(),
            "getSeconds" => duration.as_secs(),
            "getMilliseconds" => i64::from(duration.subsec_millis()),
            _ => return None,
        }))),
        _ => None,
    }
}

/// A zone by name or as an offset such as `-02:00`.
fn zone(name: &str) -> Option<TimeZone> {
    if let Some((hours, minutes)) = name.split_once(':') {
        let negative = hours.starts_with('-');
        let hours: i32 = hours.trim_start_matches(['-', '+']).parse().ok()?;
        let minutes: i32 = minutes.parse().ok()?;
        let seconds = hours.checked_mul(3600)?.checked_add(minutes.checked_mul(60)?)?;
        let seconds = if negative { -seconds } else { seconds };
        return jiff::tz::Offset::from_seconds(seconds).ok().map(TimeZone::fixed);
    }
    TimeZone::get(name).ok()
}
