//! The verb create.

use std::sync::Arc;

use baton_apimachinery::meta;
use baton_apimachinery::metadata;
use serde_json::Value;

use crate::api_error::ApiError;
use crate::handlers::admission::plugins::{AdmissionRequest, Operation};
use crate::handlers::codecs::reply::Reply;
use crate::handlers::field_managers::check_options;
use crate::handlers::shown::Shown;
use crate::handlers::verbs::named::check_namespace;
use crate::handlers::verbs::write::stored_by;
use crate::handlers::{Call, Core, strategy};
use crate::store::{Expect, key};

/// Number of attempts to replace a generated name that is taken.
const GENERATE_ATTEMPTS: usize = 8;

impl Core {
    pub(in crate::handlers) fn create(
        self: &Arc<Self>,
        call: &Call,
        warnings: &mut Vec<String>,
    ) -> Result<Reply, ApiError> {
        if call.subresource.is_some() || !call.resource.is_stored() {
            return self.create_unstored(call, warnings);
        }
        check_options(call, "CreateOptions")?;
        let mut object = crate::handlers::codecs::decode::checked(call, warnings)?;
        warnings.extend(metadata::drop_duplicate_owners(&mut object));
        self.create_object(call, object)
    }

    /// Creates a decoded object; also the second half of an apply or an update that creates.
    pub(in crate::handlers) fn create_object(
        self: &Arc<Self>,
        call: &Call,
        mut object: Value,
    ) -> Result<Reply, ApiError> {
        let given = meta::resource_version(&object).and_then(|given| given.parse::<u64>().ok());
        if given.is_some_and(|given| given != 0) {
            return Err(ApiError::plain_500(
                "resourceVersion should not be set on objects to be created",
            ));
        }
        check_namespace(call, &mut object)?;
        let name = meta::name(&object).unwrap_or_default().to_owned();
        let request = AdmissionRequest::new(call, Operation::Create, &name, None);
        self.track(call, None, &mut object);
        self.mutate(&request, &mut object)?;
        let wants_unique = meta::str_at(&object, &["metadata", "generateName"]).is_some();
        let generated = self.stamp(call, &mut object);
        strategy::prepare_create(&call.resource, &mut object);
        for attempt in 1.. {
            let name = meta::name(&object).unwrap_or_default().to_owned();
            crate::handlers::codecs::decode::check_custom(call, &object)?;
            self.allocate(call, &mut object);
            let errors = strategy::validate_create(&call.resource, &object);
            if !errors.is_empty() {
                return Err(ApiError::invalid(call.about_kind(&name), &errors));
            }
            strategy::complete_create(&call.resource, &mut object);
            call.convert_ahead(&object)?;
            self.validate(&request, &object)?;
            let unusual = strategy::unusual_finalizers(&call.resource, &object, None);
            let candidate = match &generated {
                Some(_) => object.clone(),
                None => std::mem::take(&mut object),
            };
            match self.insert(call, candidate, &name) {
                Err(error) if error.reason == "AlreadyExists" && attempt < GENERATE_ATTEMPTS => match &generated {
                    Some(base) => {
                        let suffix = call.memo.name(&format!("suffix {attempt}"), || self.ids.suffix());
                        meta::set(&mut object, "name", format!("{base}{suffix}"));
                    }
                    None => return Err(not_unique(error, wants_unique)),
                },
                result => {
                    let object = result?;
                    for warning in unusual {
                        call.memo.warn(warning);
                    }
                    return Ok(Reply::Object {
                        code: 201,
                        object,
                        resource: call.resource.clone(),
                    });
                }
            }
        }
        Err(ApiError::internal("could not generate a name"))
    }

    /// Sets the server's metadata of a new object. Returns the `generateName` from which the name was made.
    fn stamp(&self, call: &Call, object: &mut Value) -> Option<String> {
        for key in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
            meta::unset(object, key);
        }
        meta::set(object, "uid", call.memo.name("uid", || self.ids.uid()));
        meta::set(object, "creationTimestamp", self.now());
        if meta::name(object).is_some() {
            return None;
        }
        let base = meta::str_at(object, &["metadata", "generateName"])?.to_owned();
        // The name has at most 63 characters, so that it can be a label.
        let kept: String = base.chars().take(58).collect();
        let suffix = call.memo.name("suffix", || self.ids.suffix());
        meta::set(object, "name", format!("{kept}{suffix}"));
        Some(kept)
    }

    fn insert(self: &Arc<Self>, call: &Call, object: Value, name: &str) -> Result<Shown, ApiError> {
        let resource = &call.resource;
        let key = key(call.namespace.as_deref(), name);
        if call.query.dry_run() {
            return match self.store.get(resource.bucket, &key) {
                Some(found) => Err(taken(call, name, Some(&found.value()))),
                None => Ok(call.to_storage(object)?.unstored()),
            };
        }
        let (object, sent) = call.to_storage(object)?.take();
        let write = stored_by(call, object);
        let committed = self.commit(resource.bucket, &key, Expect::Absent, write, &call.caller);
        let stored = committed.map_err(|_| {
            let found = self.store.get(resource.bucket, &key);
            taken(call, name, found.map(|found| found.value()).as_deref())
        })?;
        Ok(sent.of(&stored))
    }
}

/// Adds to the error that no unique name could be generated, if the client asked for one.
fn not_unique(mut error: ApiError, wants_unique: bool) -> ApiError {
    if wants_unique {
        error.message += ", the server was not able to generate a unique name for the object";
        if let Some(details) = error.details.as_mut().and_then(Value::as_object_mut) {
            details.insert("retryAfterSeconds".to_owned(), 1.into());
        }
    }
    error
}

/// Returns the error for a name that is taken, perhaps by an object that is being deleted.
fn taken(call: &Call, name: &str, found: Option<&Value>) -> ApiError {
    let mut error = ApiError::already_exists(call.about(name));
    if found.is_some_and(|found| meta::deletion_timestamp(found).is_some()) {
        error.message = format!("object is being deleted: {}", error.message);
    }
    error
}
