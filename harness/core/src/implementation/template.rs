//! Arguments with places to fill in: `--kubeconfig={{control_kubeconfig}}`.

use std::fmt;

use thiserror::Error;

/// A text with named places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Place(String),
}

/// A place whose `{{` has no `}}`; holds the text after the `{{`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{{{{{0}` is not closed")]
pub struct UnclosedPlace(pub String);

impl Template {
    /// Parses a text. The text between `{{` and the next `}}` is the name of a place.
    ///
    /// # Errors
    /// If a `{{` has no `}}`.
    pub fn parse(text: &str) -> Result<Self, UnclosedPlace> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let (name, behind) = after.split_once("}}").ok_or_else(|| UnclosedPlace(after.to_owned()))?;
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            parts.push(Part::Place(name.trim().to_owned()));
            rest = behind;
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Ok(Self(parts))
    }

    /// Returns the names of its places.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            Part::Place(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// Returns the text with its places filled in; a place without a value stays empty.
    pub fn fill(&self, values: &[(&str, &str)]) -> String {
        let value = |name: &str| values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        self.0
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.as_str(),
                Part::Place(name) => value(name).unwrap_or_default(),
            })
            .collect()
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            Part::Text(text) => f.write_str(text),
            Part::Place(name) => write!(f, "{{{{{name}}}}}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_in() {
        let template = Template::parse("--{{ name }}={{value}}!").unwrap();
        assert_eq!(template.places().collect::<Vec<_>>(), ["name", "value"]);
        assert_eq!(template.fill(&[("name", "rate"), ("value", "2")]), "--rate=2!");
        assert_eq!(template.to_string(), "--{{name}}={{value}}!");
        assert_eq!(Template::parse("{.a} }}").unwrap().fill(&[]), "{.a} }}");
        assert_eq!(Template::parse("x{{gates"), Err(UnclosedPlace("gates".to_owned())));
    }
}
