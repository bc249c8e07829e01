//! Reads and writes single objects. A write carries the resourceVersion that its decision was based on; a write without
//! changes is not sent.

use baton_decide::api::Resource;
use baton_decide::keys::ObjectKey;
use baton_decide::names::MANAGER;
use kube::Client;
use kube::Resource as _;
use kube::api::{DeleteParams, DynamicObject, GetParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::{ApiResource, Request};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::cache::with_kind;

/// Error of a write, or of a read before it.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The object has changed since it was read: decide again.
    #[error("{what} has changed since it was read")]
    Conflict {
        /// Description of the object.
        what: String,
    },
    /// The API server refused the request or did not answer.
    #[error("{what}: {source}")]
    Api {
        /// Description of the object.
        what: String,
        /// Cause of the error.
        source: Box<kube::Error>,
    },
    /// An object is not valid JSON.
    #[error("the object is not valid JSON")]
    Json(#[from] serde_json::Error),
    /// A request cannot be built.
    #[error("the request cannot be built")]
    Request(#[from] kube::core::request::Error),
}

impl WriteError {
    /// Returns true if the API server reports that the object does not exist.
    pub fn is_not_found(&self) -> bool {
        self.status().is_some_and(kube::core::Status::is_not_found)
    }

    /// Returns true if the API server answered.
    pub fn is_answer(&self) -> bool {
        self.status().is_some()
    }

    /// Returns true if the API server reports that the object already exists.
    pub fn is_already_exists(&self) -> bool {
        self.status().is_some_and(kube::core::Status::is_already_exists)
    }

    /// Returns the status in the API server's response, if there is one.
    pub fn status(&self) -> Option<&kube::core::Status> {
        match self {
            Self::Api { source, .. } => match source.as_ref() {
                kube::Error::Api(status) => Some(status),
                _ => None,
            },
            Self::Conflict { .. } | Self::Json(_) | Self::Request(_) => None,
        }
    }
}

/// API endpoint of one object.
pub struct ObjectApi<'a> {
    client: &'a Client,
    resource: &'a ApiResource,
    key: ObjectKey,
}

impl<'a> ObjectApi<'a> {
    /// Creates the endpoint of an object.
    pub fn new(client: &'a Client, resource: &'a ApiResource, key: &ObjectKey) -> Self {
        Self {
            client,
            resource,
            key: key.clone(),
        }
    }

    fn request(&self) -> Request {
        Request::new(DynamicObject::url_path(self.resource, self.key.namespace.as_deref()))
    }

    fn what(&self) -> String {
        format!("{} {}", self.resource.kind, self.key)
    }

    async fn send(&self, request: http::Request<Vec<u8>>) -> Result<Value, WriteError> {
        self.client.request(request).await.map_err(|error| match error {
            kube::Error::Api(status) if status.is_conflict() && !status.is_already_exists() => {
                WriteError::Conflict { what: self.what() }
            }
            source => WriteError::Api {
                what: self.what(),
                source: Box::new(source),
            },
        })
    }

    /// Reads the object; `None` if it does not exist.
    pub async fn get(&self) -> Result<Option<Value>, WriteError> {
        match self
            .send(self.request().get(&self.key.name, &GetParams::default())?)
            .await
        {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Creates the object.
    pub async fn create(&self, object: &Value) -> Result<Value, WriteError> {
        let params = PostParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PostParams::default()
        };
        self.send(self.request().create(&params, serde_json::to_vec(object)?)?)
            .await
    }

    /// Changes the object from `old` to `new`; fails if it no longer equals `old`. `None` if both are equal.
    pub async fn change<S, T>(
        &self,
        old: &Resource<S, T>,
        new: &Resource<S, T>,
        part: Part,
    ) -> Result<Option<Value>, WriteError>
    where
        S: PartialEq + Serialize,
        T: PartialEq + Serialize,
    {
        // Most decisions change nothing, so this check must be cheap.
        if part.is_same(old, new) {
            return Ok(None);
        }
        let Some(mut patch) = difference(&part.of(old)?, &part.of(new)?) else {
            return Ok(None);
        };
        patch["metadata"]["resourceVersion"] = json!(old.metadata.resource_version);
        let params = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(patch);
        let request = match part {
            Part::Main => self.request().patch(&self.key.name, &params, &patch)?,
            Part::Status => self
                .request()
                .patch_subresource("status", &self.key.name, &params, &patch)?,
        };
        self.send(request).await.map(Some)
    }

    /// Applies the fields of the object, taking over fields of other managers.
    pub async fn apply(&self, object: &Value) -> Result<Value, WriteError> {
        let params = PatchParams::apply(MANAGER).force();
        self.send(self.request().patch(&self.key.name, &params, &Patch::Apply(object))?)
            .await
    }

    /// Deletes the object with this UID and returns the response: the object if it still exists, or a status. `None` if
    /// the object does not exist, or has been replaced by another one.
    pub async fn delete(&self, uid: Option<String>, mut params: DeleteParams) -> Result<Option<Value>, WriteError> {
        params.preconditions = uid.map(|uid| Preconditions {
            uid: Some(uid),
            resource_version: None,
        });
        match self.send(self.request().delete(&self.key.name, &params)?).await {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if error.is_not_found() || matches!(error, WriteError::Conflict { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Part of an object to write; the API server handles them separately.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Part {
    /// Metadata and spec.
    Main,
    /// Status.
    Status,
}

impl Part {
    fn is_same<S: PartialEq, T: PartialEq>(self, one: &Resource<S, T>, other: &Resource<S, T>) -> bool {
        match self {
            Self::Main => one.metadata == other.metadata && one.spec == other.spec,
            Self::Status => one.status == other.status,
        }
    }

    /// Returns the object without its other part.
    fn of<S: Serialize, T: Serialize>(self, object: &Resource<S, T>) -> Result<Value, serde_json::Error> {
        let mut fields = Map::new();
        match self {
            Self::Main => {
                fields.insert("metadata".to_owned(), serde_json::to_value(&object.metadata)?);
                fields.insert("spec".to_owned(), serde_json::to_value(&object.spec)?);
            }
            Self::Status => {
                fields.insert("status".to_owned(), serde_json::to_value(&object.status)?);
            }
        }
        Ok(Value::Object(fields))
    }
}

/// Returns an object of our own API as JSON for its creation.
pub fn to_create<S: Serialize, T: Serialize>(object: &Resource<S, T>, kind: &ApiResource) -> Result<Value, WriteError> {
    let mut object = with_kind(object, kind)?;
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    Ok(object)
}

/// Returns the merge patch from `old` to `new`; `None` if they are equal.
fn difference(old: &Value, new: &Value) -> Option<Value> {
    let (Value::Object(before), Value::Object(after)) = (old, new) else {
        return (old != new).then(|| new.clone());
    };
    let mut patch = Map::new();
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, value) in after {
        let changed = match before.get(key) {
            Some(earlier) => difference(earlier, value),
            None => Some(value.clone()),
        };
        if let Some(changed) = changed {
            patch.insert(key.clone(), changed);
        }
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patch_has_what_changed_and_nothing_else() {
        for (old, new, expected) in [
            (json!({"a": 1, "b": {"c": 1}}), json!({"a": 1, "b": {"c": 1}}), None),
            (
                json!({"a": 1, "b": {"c": 1, "d": 2}}),
                json!({"a": 1, "b": {"c": 3}}),
                Some(json!({"b": {"c": 3, "d": null}})),
            ),
            (json!({"a": [1, 2]}), json!({"a": [2]}), Some(json!({"a": [2]}))),
            (json!({}), json!({"a": {"b": 1}}), Some(json!({"a": {"b": 1}}))),
        ] {
            assert_eq!(difference(&old, &new), expected);
        }
    }
}
