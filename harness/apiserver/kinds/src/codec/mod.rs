//! The typed form of the built-in kinds: the result of reading a JSON body into the API server's own types and writing
//! it back. Unknown fields are dropped, empty optional fields are left out, a few fields are always present, quantities
//! and times have their canonical form, and a value of the wrong type is an error.
//!
//! One table (`table`), made of the API's own Go types, describes the types; [`Facts`] are the facts about their fields
//! in the API's documentation.

mod decode;
mod facts;
pub(crate) mod table;

use serde_json::{Value, json};

pub use decode::DecodeError;
pub use facts::{Facts, List, Merging};
use table::{Member, TYPES};

/// Converts an object of a built-in kind to its typed form.
///
/// # Errors
/// Returns the first value of the wrong type. Kinds without a type are left as they are.
pub fn decode(group: &str, version: &str, kind: &str, object: &mut Value) -> Result<(), DecodeError> {
    match TYPES.of_kind(group, version, kind) {
        Some(of) => decode::object(of, object),
        None => Ok(()),
    }
}

/// Converts the metadata of an object to its typed form, as [`decode`] does.
///
/// # Errors
/// Those of [`decode`].
pub fn decode_metadata(metadata: &mut Value) -> Result<(), DecodeError> {
    match TYPES.named("meta.v1.ObjectMeta") {
        Some(of) => decode::object(of, metadata),
        None => Ok(()),
    }
}

/// Returns an object of a kind without any field set, as it is written; without its type.
pub(crate) fn empty(group: &str, version: &str, kind: &str) -> Option<Value> {
    let mut object = json!({"metadata": {}});
    // An empty object has no value that could have the wrong type.
    decode::object(TYPES.of_kind(group, version, kind)?, &mut object).ok()?;
    Some(object)
}

/// Returns the status of a new object of a kind.
pub(crate) fn zero_status(group: &str, version: &str, kind: &str) -> Option<Value> {
    decode::zero_status(TYPES.of_kind(group, version, kind)?)
}

/// A definition of the API's documentation, such as `io.k8s.api.core.v1.Pod`.
#[derive(Debug, Clone, Copy)]
pub struct Definition(&'static table::Struct);

impl Definition {
    /// Returns `None` if the served version of the API does not have the type.
    pub fn named(name: &str) -> Option<Self> {
        let mut dots = name.rmatch_indices('.').map(|(at, _)| at + 1);
        let full = dots.nth(2).map_or(name, |start| &name[start..]);
        TYPES.named(full).map(|index| Self(TYPES.get(index)))
    }

    /// Returns `true` if objects of this type are merged as a whole.
    pub fn is_atomic(self) -> bool {
        self.0.atomic
    }

    /// Returns the facts about a field, or `None` if the served version of the API does not have it.
    pub fn field(self, name: &str) -> Option<&'static Facts> {
        let member: &'static Member = self.0.members.get(name)?;
        Some(&member.facts)
    }
}

#[cfg(test)]
mod go_values_tests;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::resources;

    #[test]
    fn every_stored_kind_has_a_shape() {
        for resource in resources::resources().filter(|resource| resource.stored) {
            let known = TYPES.of_kind(resource.group, resource.version, resource.kind).is_some();
            assert!(known, "{}", resource.qualified());
        }
    }

    #[test]
    fn fields_of_later_versions_are_newer() {
        let is_there =
            |definition: &str, field: &str| Definition::named(definition).is_some_and(|of| of.field(field).is_some());
        assert!(!is_there("io.k8s.api.core.v1.HTTPGetAction", "protocol"));
        assert!(is_there("io.k8s.api.core.v1.HTTPGetAction", "port"));
        assert!(is_there("io.k8s.api.core.v1.Volume", "configMap"));
        assert!(is_there("io.k8s.apimachinery.pkg.apis.meta.v1.Status", "code"));
    }

    #[test]
    fn empty_fields_go_and_structures_stay() {
        let mut deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "nonsense": 1, "metadata": {"name": "a", "labels": {}},
            "spec": {
                "replicas": 0, "minReadySeconds": 0, "selector": {"matchLabels": {}},
                "template": {"spec": {"containers": [{"name": "c", "env": null, "resources": {"limits": {"cpu": 0.5}}}]}},
            },
        });
        assert_eq!(decode("apps", "v1", "Deployment", &mut deployment), Ok(()));
        assert_eq!(
            deployment,
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
                "spec": {
                    "replicas": 0, "selector": {}, "strategy": {},
                    "template": {
                        "metadata": {},
                        "spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "500m"}}}]},
                    },
                },
                "status": {},
            })
        );
    }

    #[test]
    fn wrong_types_are_worded_as_the_decoder_does() {
        for (group, kind, object, expected) in [
            (
                "apps",
                "Deployment",
                json!({"spec": {"replicas": "three"}}),
                "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
            ),
            (
                "",
                "ConfigMap",
                json!({"data": {"k": 5}}),
                "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
            ),
            (
                "",
                "Pod",
                json!({"spec": {"containers": {"a": 1}}}),
                "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
            ),
            (
                "",
                "Secret",
                json!({"data": {"k": "%%%"}}),
                "illegal base64 data at input byte 0",
            ),
        ] {
            let mut object = object;
            let error = decode(group, "v1", kind, &mut object).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}
