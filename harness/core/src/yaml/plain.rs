//! YAML that is read and written as a whole: the one place that knows which crate does it.

use serde::{Deserialize as _, Serialize, de::DeserializeOwned};
use serde_json::Value;

/// A text that is not YAML of the expected type, or a value without a form in YAML.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct YamlError(#[from] serde_yaml::Error);

/// Reads a text of one document.
///
/// # Errors
/// If it is no YAML, or of another type.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    Ok(serde_yaml::from_str(text)?)
}

/// The documents of a text, in order; what follows one that is no YAML cannot be read.
pub fn documents(text: &str) -> impl Iterator<Item = Result<Value, YamlError>> + '_ {
    serde_yaml::Deserializer::from_str(text).map(|document| Ok(Value::deserialize(document)?))
}

/// Writes a value as one document.
///
/// # Errors
/// If it has no form in YAML; plain JSON values always have one.
pub fn write(value: &impl Serialize) -> Result<String, YamlError> {
    Ok(serde_yaml::to_string(value)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        let value = json!({"a": [1, "yes", null], "b": "x: y"});
        assert_eq!(read::<Value>(&write(&value).unwrap()).unwrap(), value);
        let all: Vec<_> = documents("a: 1\n---\nb: 2\n").map(Result::unwrap).collect();
        assert_eq!(all, [json!({"a": 1}), json!({"b": 2})]);
        let wrong = documents("a: 1\n---\n{\n").collect::<Result<Vec<_>, _>>();
        assert!(wrong.is_err());
    }
}
