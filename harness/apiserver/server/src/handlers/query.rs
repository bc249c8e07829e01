//! The query of a request.

use std::borrow::Cow;

use crate::api_error::ApiError;

/// The parameters in the order in which they were given.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(query: Option<&str>) -> Self {
        let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        Self(
            pairs
                .map(|(key, value)| (key.into_owned(), value.into_owned()))
                .collect(),
        )
    }

    /// Returns the first value of a parameter; an empty value counts as missing.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(each, _)| each == key)
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    pub(crate) fn all(&self, key: &str) -> Vec<&str> {
        self.0
            .iter()
            .filter(|(each, _)| each == key)
            .map(|(_, value)| value.as_str())
            .collect()
    }

    /// Returns a boolean as the conversion of the query reads it: any value but `false` and `0` is true, even an empty
    /// one (`?watch`).
    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        let value = self.0.iter().find(|(each, _)| each == key)?;
        Some(!matches!(value.1.to_ascii_lowercase().as_str(), "false" | "0"))
    }

    pub(crate) fn is_set(&self, key: &str) -> bool {
        self.flag(key).unwrap_or_default()
    }

    /// Returns a whole number.
    pub(crate) fn number(&self, key: &str) -> Result<Option<i64>, ApiError> {
        self.get(key)
            .map(|text| {
                text.parse()
                    .map_err(|_| ApiError::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax")))
            })
            .transpose()
    }

    /// Returns `true` if the request must not change anything (`dryRun=All`).
    pub(crate) fn dry_run(&self) -> bool {
        self.all("dryRun").contains(&"All")
    }
}

/// Decodes the percent signs of a path segment.
pub(crate) fn decode_segment(segment: &str) -> Cow<'_, str> {
    if !segment.contains('%') {
        return Cow::Borrowed(segment);
    }
    // In a path, a plus sign stands for itself.
    let text = segment.replace('+', "%2B");
    let decoded = form_urlencoded::parse(text.as_bytes())
        .next()
        .map(|(key, _)| key.into_owned());
    decoded.map_or(Cow::Borrowed(segment), Cow::Owned)
}
