//! Evaluates `[0]`, `[1:3]`, `[::2]`, `[*]`: strict where RFC 9535 is lenient, and with the original's special cases.

use serde_json::Value;

use crate::error::{EvaluateErrorKind, Failure};
use crate::item::{Item, Work};
use crate::node::Slice;

/// Returns the values of each input's slice. An empty slice ends the step, for the remaining inputs too.
pub(crate) fn slice<'a>(
    slice: Slice,
    at: usize,
    input: &[Item<'a>],
    work: &mut Work,
) -> Result<Vec<Item<'a>>, Failure> {
    let fail = |kind| Failure::with_values(at, kind, true);
    let mut results = Vec::new();
    for item in input {
        let list = match item {
            Item::Json(Value::Array(list)) => list,
            Item::Json(Value::Null) => continue,
            other => {
                return Err(fail(EvaluateErrorKind::NotAList {
                    found: other.type_name(),
                }));
            }
        };
        let Some((start, end, step)) = bounds(slice, list.len()).map_err(fail)? else {
            return Ok(results);
        };
        let taken = list.get(start..end).unwrap_or_default().iter().step_by(step);
        work.spend(taken.len()).map_err(fail)?;
        results.extend(taken.map(Item::Json));
    }
    Ok(results)
}

/// Returns start, end and step within a list of `length` values; `None` if start and end are equal.
fn bounds(slice: Slice, length: usize) -> Result<Option<(usize, usize, usize)>, EvaluateErrorKind> {
    let whole = i64::try_from(length).unwrap_or(i64::MAX);
    let from_end = |index: i64| if index < 0 { index.saturating_add(whole) } else { index };
    let start = from_end(slice.start.unwrap_or(0));
    let end = match slice.end {
        None => whole,
        Some(0) if slice.single => whole,
        Some(end) => from_end(end),
    };
    if start == end {
        return Ok(None);
    }
    if start < 0 || start >= whole {
        return Err(EvaluateErrorKind::OutOfBounds { index: start, length });
    }
    if end < 0 || end > whole {
        return Err(EvaluateErrorKind::OutOfBounds { index: end - 1, length });
    }
    if start > end {
        return Err(EvaluateErrorKind::StartAfterEnd { start, end });
    }
    let step = slice.step.unwrap_or(1);
    if step <= 0 {
        return Err(EvaluateErrorKind::StepNotPositive);
    }
    let index = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
    Ok(Some((index(start), index(end), index(step))))
}
