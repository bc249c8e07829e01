//! Objects as the simulator reads them: plain JSON without `managedFields`, which no rule needs and which are longer
//! than most objects.

use std::{borrow::Cow, fmt};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, api::ApiResource, core::DynamicResourceScope};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Map, Value};

use super::rules::KindRef;

/// An object of any kind.
#[derive(Debug, Clone)]
pub(super) struct Plain {
    members: Map<String, Value>,
    /// Metadata that watches read: name, namespace, uid and revision.
    metadata: ObjectMeta,
}

impl Plain {
    /// The object with its kind, which items of lists lack.
    pub(super) fn of(self, kind: &KindRef) -> Value {
        let mut members = self.members;
        members.insert("apiVersion".to_owned(), Value::String(kind.api_version.clone()));
        members.insert("kind".to_owned(), Value::String(kind.kind.clone()));
        Value::Object(members)
    }
}

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let members = Members::OfObject.deserialize(deserializer)?;
        let of = |name: &str| Some(members.get("metadata")?.get(name)?.as_str()?.to_owned());
        let metadata = ObjectMeta {
            name: of("name"),
            namespace: of("namespace"),
            uid: of("uid"),
            resource_version: of("resourceVersion"),
            ..ObjectMeta::default()
        };
        Ok(Self { members, metadata })
    }
}

impl Serialize for Plain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.members.serialize(serializer)
    }
}

/// Object whose fields are read.
#[derive(Clone, Copy)]
enum Members {
    OfObject,
    OfMetadata,
}

impl<'de> DeserializeSeed<'de> for Members {
    type Value = Map<String, Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Members {
    type Value = Map<String, Value>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::OfObject => "an object",
            Self::OfMetadata => "the metadata of an object",
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            let value = match (self, name.as_str()) {
                (Self::OfObject, "metadata") => Value::Object(map.next_value_seed(Self::OfMetadata)?),
                (Self::OfMetadata, "managedFields") => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
                (Self::OfObject | Self::OfMetadata, _) => map.next_value()?,
            };
            members.insert(name, value);
        }
        Ok(members)
    }
}

impl Resource for Plain {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.kind)
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.group)
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.version)
    }

    fn api_version(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.api_version)
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.plural)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_but_the_owners_of_fields_is_read() {
        let object = json!({
            "metadata": {
                "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7",
                "managedFields": [{"manager": "m", "fieldsV1": {"f:data": {}}}],
            },
            "data": {"managedFields": "kept", "metadata": {"managedFields": []}},
        });
        let read: Plain = serde_json::from_str(&object.to_string()).expect("an object");
        assert_eq!(read.meta().resource_version.as_deref(), Some("7"));
        let kind = KindRef {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
        };
        let expected = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7"},
            "data": {"managedFields": "kept", "metadata": {"managedFields": []}},
        });
        assert_eq!(read.of(&kind), expected);
        let odd = serde_json::from_str::<Plain>(r#"{"metadata": "none"}"#);
        assert!(odd.is_err_and(|error| error.to_string().contains("the metadata of an object")));
    }
}
