//! The requirements that an assertion shows if it holds, and those that each of its fields shows.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::Serialize;

use crate::{
    names::RequirementId,
    pattern::{Mismatch, Pattern, path},
};

/// The keys that lead to a field, from the object's root on.
type Field = Vec<String>;

/// The requirements that an assertion proves. Each belongs to the whole of it, or to some of the fields it matches: an
/// object that differs in one field alone refutes only what that field shows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Claims(BTreeMap<RequirementId, BTreeSet<Field>>);

impl Claims {
    /// Requirements that the whole assertion shows.
    pub fn of_whole(ids: impl IntoIterator<Item = RequirementId>) -> Self {
        Self(ids.into_iter().map(|id| (id, BTreeSet::new())).collect())
    }

    /// Adds a requirement that a field of the pattern shows. The field is named by the end of its path, as much of it
    /// as tells it from others: `preservedLabelState`, `clusters.name`.
    ///
    /// # Errors
    /// The fields that there are, if the pattern has none of this name.
    pub fn add_field(&mut self, id: RequirementId, field: &str, pattern: &Pattern) -> Result<(), Vec<String>> {
        let wanted = path::keys(field);
        let places = pattern.places();
        let found: BTreeSet<Field> = places.iter().filter(|it| it.ends_with(&wanted)).cloned().collect();
        if found.is_empty() || wanted.is_empty() {
            return Err(places.iter().filter_map(|place| place.last().cloned()).collect());
        }
        self.0.entry(id).or_default().extend(found);
        Ok(())
    }

    /// All requirements.
    pub fn ids(&self) -> BTreeSet<RequirementId> {
        self.0.keys().cloned().collect()
    }

    /// Returns `true` if there are none: such an assertion states a precondition of the steps after it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of requirements that the assertion shows as a whole, not by a single field.
    pub fn of_no_field(&self) -> usize {
        self.0.values().filter(|fields| fields.is_empty()).count()
    }

    /// The requirements that an object refutes which differs in these places. One that differs in nothing that can be
    /// named (it is not there, or was not to be) refutes all of them, as does a place that belongs to none.
    pub fn refuted_by(&self, mismatches: &[Mismatch]) -> BTreeSet<RequirementId> {
        let mut refuted = BTreeSet::new();
        for mismatch in mismatches {
            let place = path::keys(&mismatch.path);
            let touches = |field: &Field| field.starts_with(&place) || place.starts_with(field);
            let here = self
                .0
                .iter()
                .filter(|(_, fields)| fields.is_empty() || fields.iter().any(touches));
            let here: Vec<_> = here.map(|(id, _)| id.clone()).collect();
            if here.is_empty() {
                return self.ids();
            }
            refuted.extend(here);
        }
        if mismatches.is_empty() { self.ids() } else { refuted }
    }
}

impl fmt::Display for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (id, fields)) in self.0.iter().enumerate() {
            let separator = if number == 0 { "" } else { ", " };
            write!(f, "{separator}{id}")?;
            let fields: Vec<_> = fields
                .iter()
                .filter_map(|field| field.last())
                .map(String::as_str)
                .collect();
            if !fields.is_empty() {
                write!(f, " by {}", fields.join(" and "))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::pattern::Bindings;

    fn claims(pattern: &Pattern) -> Claims {
        let mut claims = Claims::of_whole(["A-1".into()]);
        for (id, field) in [("B-1", "state"), ("C-1", "before"), ("C-1", "mode")] {
            claims.add_field(id.into(), field, pattern).unwrap();
        }
        claims
    }

    fn refuted(object: &serde_json::Value) -> Vec<String> {
        let wanted = json!({"tasks": {"contains": [{"from": "a", "state": {"x/y": "1"}, "before": 1, "mode": 2}]}});
        let pattern = Pattern::from_value(&wanted).unwrap();
        let mismatches = pattern.mismatches(Some(object), &Bindings::new());
        let ids = claims(&pattern).refuted_by(&mismatches);
        ids.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_field_refutes_what_it_shows_and_what_the_whole_shows() {
        let task = |state: &str, before: i32, mode: i32| json!({"tasks": [{"from": "a", "state": {"x/y": state}, "before": before, "mode": mode}]});
        assert_eq!(refuted(&task("2", 1, 2)), ["A-1", "B-1"]);
        assert_eq!(refuted(&task("1", 2, 2)), ["A-1", "C-1"]);
        assert_eq!(refuted(&task("1", 1, 3)), ["A-1", "C-1"]);
        assert_eq!(refuted(&task("2", 2, 2)), ["A-1", "B-1", "C-1"]);
    }

    #[test]
    fn what_has_nothing_of_it_refutes_all() {
        assert_eq!(refuted(&json!({"tasks": []})), ["A-1", "B-1", "C-1"]);
        assert_eq!(refuted(&json!({})), ["A-1", "B-1", "C-1"]);
        assert_eq!(
            claims(&Pattern::from_value(&json!({"state": 1, "before": 1, "mode": 1})).unwrap())
                .refuted_by(&[])
                .len(),
            3
        );
    }

    #[test]
    fn a_field_that_is_not_matched_is_told() {
        let pattern = Pattern::from_value(&json!({"spec": {"a": 1}})).unwrap();
        let mut claims = Claims::default();
        assert_eq!(
            claims.add_field("A-1".into(), "b", &pattern),
            Err(vec!["spec".to_owned(), "a".to_owned()])
        );
        claims.add_field("A-1".into(), "spec.a", &pattern).unwrap();
        assert_eq!(claims.to_string(), "A-1 by a");
    }
}
