//! Updates, and the path of every change of an existing object: read, change, check, and commit unless the object has
//! changed in between.

use std::sync::Arc;

use baton_apimachinery::field::{FieldError, FieldErrorType};
use baton_apimachinery::merge::apply::settle;
use baton_apimachinery::meta;
use baton_apimachinery::metadata;
use serde_json::Value;

use crate::api_error::ApiError;
use crate::handlers::admission::plugins::{AdmissionRequest, Operation};
use crate::handlers::codecs::decode;
use crate::handlers::codecs::reply::Reply;
use crate::handlers::field_managers::check_options;
use crate::handlers::replicas;
use crate::handlers::shown::Shown;
use crate::handlers::verbs::named::{check_name, check_namespace};
use crate::handlers::versioning::ToStore;
use crate::handlers::{Call, Caller, Core, strategy};
use crate::registry::Resource;
use crate::store::{BucketId, Expect, Moved, Stored, Write};

/// The storage path of objects in the reference; its messages show it.
const STORAGE_PREFIX: &str = "/transcripts";

impl Core {
    pub(in crate::handlers) fn update(
        self: &Arc<Self>,
        call: &Call,
        warnings: &mut Vec<String>,
    ) -> Result<Reply, ApiError> {
        check_options(call, "UpdateOptions")?;
        let mut object = decode::checked(call, warnings)?;
        warnings.extend(metadata::drop_duplicate_owners(&mut object));
        check_namespace(call, &mut object)?;
        check_name(call, &object)?;
        let name = call.name.as_deref().unwrap_or_default();
        let stored = self.store.get(call.resource.bucket, &call.key());
        let found = stored.is_some();
        if !found && call.subresource.is_none() && strategy::creates_on_update(&call.resource) {
            if let Some(uid) = meta::uid(&object) {
                return Err(ApiError::conflict(call.about(name), &uid_mismatch(call, uid, "")));
            }
            return self.create_object(call, object);
        }
        let version = meta::resource_version(&object).filter(|version| *version != "0");
        if let Some(version) = version.filter(|version| version.parse::<u64>().is_err()) {
            return Err(ApiError::plain_500(format!(
                "strconv.ParseUint: parsing {version:?}: invalid syntax"
            )));
        }
        if let Some(stored) = stored.filter(|_| version.is_none() && !strategy::updates_unconditionally(&call.resource))
        {
            check_uid(call, &object, &stored.value())?;
            let detail = "must be specified for an update";
            let field = "metadata.resourceVersion";
            let error = FieldError::with_value(FieldErrorType::Invalid, field, &0.into(), detail);
            return Err(ApiError::invalid(call.about(name), &[error]));
        }
        self.change(call, |_| Ok(object.clone()))
    }

    /// Changes the object that a call names. `change` gets the present state in the version of the call and returns the
    /// new one, in the form of its kind; it is called again after a conflict.
    pub(in crate::handlers) fn change(
        self: &Arc<Self>,
        call: &Call,
        mut change: impl FnMut(&Value) -> Result<Value, ApiError>,
    ) -> Result<Reply, ApiError> {
        let name = call.name.as_deref().unwrap_or_default();
        let resource = &call.resource;
        loop {
            let stored = self.find(call)?;
            let shown = call.show(&stored)?;
            let old = &*shown.value();
            let request = AdmissionRequest::new(call, Operation::Update, name, Some(old));
            let mut new = change(old)?;
            check_uid(call, &new, old)?;
            let unconditional = match meta::resource_version(&new).filter(|version| *version != "0") {
                None => true,
                Some(given) if Some(given) == meta::resource_version(old) => call.verb == crate::handlers::Verb::Patch,
                Some(_) => return Err(ApiError::modified(call.about(name))),
            };
            if call.subresource.as_deref() != Some("scale") || replicas::is_owned(resource, old) {
                self.track(call, Some(old), &mut new);
            }
            if call.subresource.as_deref() == Some("scale") && !call.is_apply() {
                replicas::disown_none(resource, &mut new);
            }
            // Fields that admission changes have no owner.
            self.mutate(&request, &mut new)?;
            keep_metadata(&mut new, old);
            strategy::prepare_update(resource, &mut new, old, call.subresource.as_deref());
            settle(old, &mut new);
            decode::check_custom(call, &new)?;
            self.allocate(call, &mut new);
            let errors = strategy::validate_update(resource, &new, old, call.subresource.as_deref());
            if !errors.is_empty() {
                return Err(ApiError::invalid(call.about_kind(name), &errors));
            }
            call.convert_ahead(&new)?;
            self.validate(&request, &new)?;
            let mut unusual = strategy::unusual_finalizers(resource, &new, Some(old));
            unusual.extend(strategy::change_warnings(
                resource,
                &new,
                old,
                call.subresource.as_deref(),
            ));
            unusual.extend(strategy::unusual_formats(resource, &new, old));
            match self.replace(call, &stored, call.to_storage(new)?) {
                Ok(object) => {
                    for warning in unusual {
                        call.memo.warn(warning);
                    }
                    return Ok(Reply::Object {
                        code: 200,
                        object,
                        resource: resource.clone(),
                    });
                }
                Err(Moved) if unconditional => {}
                Err(Moved) => return Err(ApiError::modified(call.about(name))),
            }
        }
    }

    /// Commits a checked new state of an object; removes a deleted one that nothing holds any more.
    fn replace(self: &Arc<Self>, call: &Call, old: &Arc<Stored>, new: ToStore) -> Result<Shown, Moved> {
        let resource = &call.resource;
        let released = is_released(resource, &new.object);
        if !released && !old.had_unknown_fields && same(&new.object, &old.value()) {
            self.faults.note_idle(&call.caller.user_agent, &resource.kind);
            return Ok(new.take().1.of(old));
        }
        if call.query.dry_run() {
            return Ok(new.unstored());
        }
        let key = crate::store::key_of(&new.object);
        let expect = Expect::Revision(old.revision);
        if released {
            // The last change of an object is not stored: the deletion carries the state before, and the answer shows
            // the change.
            let write = Write::Delete(Value::clone(&old.value()));
            self.commit(resource.bucket, &key, expect, write, &call.caller)?;
            return Ok(new.unstored());
        }
        let (object, sent) = new.take();
        let stored = self.commit(resource.bucket, &key, expect, stored_by(call, object), &call.caller)?;
        Ok(sent.of(&stored))
    }

    /// Commits a write; the end of every write.
    pub(crate) fn commit(
        self: &Arc<Self>,
        bucket: BucketId,
        key: &str,
        expect: Expect,
        write: Write,
        caller: &Caller,
    ) -> Result<Arc<Stored>, Moved> {
        let committed = self.store.commit(bucket, key, expect, write, &caller.user_agent)?;
        self.after_commit(&committed);
        if let Some(previous) = &committed.previous {
            previous.supersede();
        }
        Ok(committed.stored)
    }

    pub(crate) fn namespace(&self, name: &str) -> Option<Arc<Stored>> {
        self.store.get(self.buckets.namespaces, name)
    }
}

/// Returns the write of an object that admission has passed.
pub(in crate::handlers) fn stored_by(call: &Call, object: Value) -> Write {
    if call.memo.has_unknown_fields() {
        Write::PutWithUnknownFields(object)
    } else {
        Write::Put(object)
    }
}

/// Checks that an object keeps its uid: a patch must not change it, and an update with another uid is meant for another
/// object.
fn check_uid(call: &Call, new: &Value, old: &Value) -> Result<(), ApiError> {
    let found = meta::uid(old).unwrap_or_default();
    let Some(given) = meta::uid(new).filter(|uid| *uid != found) else {
        return Ok(());
    };
    let name = call.name.as_deref().unwrap_or_default();
    if call.verb != crate::handlers::Verb::Patch {
        return Err(ApiError::conflict(call.about(name), &uid_mismatch(call, given, found)));
    }
    let detail = "field is immutable";
    let error = FieldError::with_value(FieldErrorType::Invalid, "metadata.uid", &given.into(), detail);
    // The generic validation and that of the kind both report it.
    Err(ApiError::invalid(call.about_kind(name), &[error.clone(), error]))
}

pub(in crate::handlers) fn uid_mismatch(call: &Call, given: &str, found: &str) -> String {
    let plural = match call.resource.custom() {
        Some(_) => format!("{}/{}", call.resource.group, call.resource.plural),
        None => call.resource.plural.clone(),
    };
    // A dry run does not name the storage path.
    let prefix = if call.query.dry_run() { "" } else { STORAGE_PREFIX };
    format!(
        "StorageError: invalid object, Code: 4, Key: {prefix}/{plural}/{}, ResourceVersion: 0, \
         AdditionalErrorMsg: Precondition failed: UID in precondition: {given}, UID in object meta: {found}",
        call.key()
    )
}

/// Returns `true` if a deleted object is no longer held by a finalizer or a grace period.
pub(crate) fn is_released(resource: &Resource, object: &Value) -> bool {
    let held_by_spec = resource.is("", "namespaces")
        && meta::at(object, &["spec", "finalizers"])
            .and_then(Value::as_array)
            .is_some_and(|list| !list.is_empty());
    let grace = meta::at(object, &["metadata", "deletionGracePeriodSeconds"])
        .and_then(Value::as_i64)
        .unwrap_or(0);
    meta::deletion_timestamp(object).is_some()
        && meta::finalizers(object).next().is_none()
        && grace == 0
        && !held_by_spec
}

/// Returns `true` if two states differ in nothing but the resource version.
fn same(new: &Value, old: &Value) -> bool {
    meta::same_but(Some(new), Some(old), "metadata")
        && meta::same_but(new.get("metadata"), old.get("metadata"), "resourceVersion")
}

/// Fills in the immutable metadata that an update leaves out; validation refuses other values.
fn keep_metadata(new: &mut Value, old: &Value) {
    for key in [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        let given = meta::at(new, &["metadata", key]).is_some_and(|value| !value.is_null());
        if let Some(value) = meta::at(old, &["metadata", key])
            && !given
        {
            meta::set(new, key, value.clone());
        }
    }
    for key in ["creationTimestamp", "selfLink", "generation"] {
        match meta::at(old, &["metadata", key]) {
            Some(value) => meta::set(new, key, value.clone()),
            None => meta::unset(new, key),
        }
    }
    meta::set(new, "resourceVersion", meta::resource_version(old).unwrap_or_default());
}
