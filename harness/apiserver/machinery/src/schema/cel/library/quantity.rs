//! Functions of quantities.

use super::super::budget::Budget;
use super::super::error::{CelError, Outcome};
use super::super::quantity::{NANO, Quantity};
use super::super::value::Val;

#[expect(clippy::cast_precision_loss, reason = "an approximation is asked for")]
pub(super) fn call<'a>(_: &mut Budget, name: &str, is_member: bool, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    Some(Ok(match (is_member, name, args) {
        (false, "quantity", [Val::Str(text)]) => {
            if let Some(quantity) = Quantity::parse(text.as_str()) {
                Val::Quantity(quantity)
            } else {
                let error =
                    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
                return Some(Err(CelError::Eval(error.to_owned())));
            }
        }
        (false, "isQuantity", [Val::Str(text)]) => Val::Bool(Quantity::parse(text.as_str()).is_some()),
        (true, "isInteger", [Val::Quantity(quantity)]) => Val::Bool(quantity.whole().is_some()),
        (true, "asInteger", [Val::Quantity(quantity)]) => match quantity.whole() {
            Some(number) => Val::Int(number),
            None => return Some(Err(CelError::Eval("cannot convert value to integer".to_owned()))),
        },
        (true, "asApproximateFloat", [Val::Quantity(quantity)]) => Val::Double(quantity.nanos() as f64 / NANO as f64),
        (true, "sign", [Val::Quantity(quantity)]) => {
            Val::Int(i64::try_from(quantity.nanos().signum()).unwrap_or_default())
        }
        (true, "isLessThan", [Val::Quantity(left), Val::Quantity(right)]) => Val::Bool(left.order(right).is_lt()),
        (true, "isGreaterThan", [Val::Quantity(left), Val::Quantity(right)]) => Val::Bool(left.order(right).is_gt()),
        (true, "compareTo", [Val::Quantity(left), Val::Quantity(right)]) => Val::Int(left.order(right) as i64),
        (true, "add" | "sub", [Val::Quantity(left), right]) => {
            let right = match right {
                Val::Quantity(right) => right.nanos(),
                Val::Int(right) => i128::from(*right) * NANO,
                _ => return None,
            };
            let right = if name == "add" { right } else { -right };
            Val::Quantity(Quantity::of_nanos(left.nanos().saturating_add(right)))
        }
        _ => return None,
    }))
}
