//! Relations between answers that a step asserts.

use jiff::Timestamp;
use serde_json::Value;

use super::steps::Player;

/// Checks one assertion.
pub fn check(player: &mut Player<'_>, assertion: &[Value]) -> Result<(), String> {
    holds(player, assertion)
        .unwrap_or(false)
        .then_some(())
        .ok_or_else(|| format!("does not hold: {}", Value::from(assertion.to_vec())))
}

fn holds(player: &mut Player<'_>, assertion: &[Value]) -> Option<bool> {
    let text = |index: usize| assertion.get(index).and_then(Value::as_str);
    let version = |index: usize| -> Option<u64> { player.lookup(&format!("rv:{}", text(index)?)).ok()?.parse().ok() };
    let uid = |index: usize| player.lookup(&format!("uid:{}", text(index)?)).ok();
    let answer = || player.answers.get(text(1)?);
    Some(match text(0)? {
        "rv_gt" => version(1)? > version(2)?,
        "rv_ge" => version(1)? >= version(2)?,
        "rv_eq" => version(1)? == version(2)?,
        "uid_eq" => uid(1)? == uid(2)?,
        "uid_ne" => uid(1)? != uid(2)?,
        "generation" => answer()?["metadata"]["generation"] == *assertion.get(2)?,
        "present" => answer()?.pointer(text(2)?).is_some(),
        "absent" => answer()?.pointer(text(2)?).is_none(),
        "count" => answer()?.pointer(text(2)?)?.as_array()?.len() as u64 == assertion.get(3)?.as_u64()?,
        "name_len" => answer()?["metadata"]["name"].as_str()?.len() as u64 == assertion.get(2)?.as_u64()?,
        "text_prefix" => player.texts.get(text(1)?)?.starts_with(text(2)?),
        "contains" => {
            let found = answer()?.pointer(text(2)?)?;
            let found = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
            player.normaliser.text(&found).contains(text(3)?)
        }
        "sorted_rv" => {
            let version = |event: &Value| {
                event["object"]["metadata"]["resourceVersion"]
                    .as_str()?
                    .parse::<u64>()
                    .ok()
            };
            let events = answer()?.as_array()?;
            events.iter().filter_map(version).collect::<Vec<_>>().is_sorted()
        }
        "seconds_between" => {
            let at = |index: usize| -> Option<Timestamp> {
                let place = assertion.get(index)?;
                let answer = player.answers.get(place.get(0)?.as_str()?)?;
                answer.pointer(place.get(1)?.as_str()?)?.as_str()?.parse().ok()
            };
            let seconds = at(1)?.duration_until(at(2)?).as_secs_f64();
            seconds >= assertion.get(3)?.as_f64()? && seconds <= assertion.get(4)?.as_f64()?
        }
        _ => return None,
    })
}
