//! Delete and deletecollection.

use std::sync::Arc;

use serde_json::{Value, json};

use super::read::show;
use super::reply::{List, Reply, Shown};
use super::write::is_released;
use super::{Call, Caller, Core, decode, kinds};
use crate::meta;
use crate::registry::Resource;
use crate::schema::crd::{CLEANUP_FINALIZER, set_condition};
use crate::selector::Selectors;
use crate::status::{About, ApiError};
use crate::store::{Expect, Stored, Write, key_of};

pub(crate) const FOREGROUND: &str = "foregroundDeletion";
pub(crate) const ORPHAN: &str = "orphan";

/// How a deletion is to be done.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) grace_period_secs: Option<i64>,
    pub(crate) propagation: Option<Propagation>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
    pub(crate) dry_run: bool,
}

/// What becomes of the objects that the deleted one owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// What a deletion came to.
#[derive(Debug)]
pub(crate) enum Deleted {
    /// The object is gone.
    Gone(Shown),
    /// The object is marked, and somebody holds it.
    Marked(Shown),
}

impl Core {
    pub(super) fn delete(self: &Arc<Self>, call: &Call) -> Result<Reply, ApiError> {
        let options = options(call)?;
        let stored = self.find(call)?;
        let deleted = self.delete_object(&call.resource, &key_of(&stored.value), &options, &call.caller)?;
        Ok(match deleted {
            Deleted::Marked(object) => Reply::Object {
                code: 200,
                object,
                resource: call.resource.clone(),
            },
            Deleted::Gone(object) => Reply::Made {
                code: 200,
                object: success(call, &object),
            },
        })
    }

    pub(super) fn delete_collection(self: &Arc<Self>, call: &Call) -> Result<Reply, ApiError> {
        let options = options(call)?;
        let selectors = Selectors::parse(
            &call.resource,
            call.query.get("labelSelector"),
            call.query.get("fieldSelector"),
        )?;
        let (objects, revision) = self.store.list(call.resource.bucket, &call.prefix());
        let mut items = Vec::new();
        for stored in objects.iter().filter(|stored| selectors.matches(&stored.value)) {
            match self.delete_object(&call.resource, &key_of(&stored.value), &options, &call.caller) {
                Ok(Deleted::Gone(_) | Deleted::Marked(_)) => items.push(show(&call.resource, stored)),
                Err(error) if error.code == 404 => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Reply::List(List {
            resource: call.resource.clone(),
            items,
            revision,
            next: None,
            remaining: None,
        }))
    }

    /// Deletes one object, or marks it if something holds it.
    pub(crate) fn delete_object(
        self: &Arc<Self>,
        resource: &Arc<Resource>,
        key: &str,
        options: &DeleteOptions,
        caller: &Caller,
    ) -> Result<Deleted, ApiError> {
        let name = key.rsplit('/').next().unwrap_or(key);
        loop {
            let about = About {
                group: &resource.group,
                kind: &resource.plural,
                name,
            };
            let stored = self
                .store
                .get(resource.bucket, key)
                .ok_or_else(|| ApiError::not_found(about))?;
            check_preconditions(resource, name, &stored, options)?;
            let Some(marked) = self.mark(resource, &stored.value, options) else {
                return Ok(Deleted::Marked(show(resource, &stored)));
            };
            let gone = is_released(resource, &marked);
            if options.dry_run {
                let shown = Shown::Value(Arc::new(marked));
                return Ok(if gone {
                    Deleted::Gone(shown)
                } else {
                    Deleted::Marked(shown)
                });
            }
            let write = if gone {
                Write::Delete(stored.value.as_ref().clone())
            } else {
                Write::Put(marked)
            };
            if let Ok(stored) = self.commit(resource.bucket, key, Expect::Revision(stored.revision), write, caller) {
                let shown = show(resource, &stored);
                return Ok(if gone {
                    Deleted::Gone(shown)
                } else {
                    Deleted::Marked(shown)
                });
            }
        }
    }

    /// The object with the marks of its deletion; `None` when they change nothing.
    fn mark(&self, resource: &Resource, object: &Value, options: &DeleteOptions) -> Option<Value> {
        let mut marked = object.clone();
        let mut finalizers: Vec<String> = meta::finalizers(object).map(str::to_owned).collect();
        let wanted = match options.propagation {
            Some(Propagation::Foreground) => Some(FOREGROUND),
            Some(Propagation::Orphan) => Some(ORPHAN),
            Some(Propagation::Background) | None => None,
        };
        if options.propagation.is_some() {
            finalizers.retain(|each| each != FOREGROUND && each != ORPHAN || Some(each.as_str()) == wanted);
        }
        if let Some(wanted) = wanted
            && !finalizers.iter().any(|each| each == wanted)
        {
            finalizers.push(wanted.to_owned());
        }
        let definition = kinds::is_definition(resource);
        if definition && !finalizers.iter().any(|each| each == CLEANUP_FINALIZER) {
            finalizers.push(CLEANUP_FINALIZER.to_owned());
        }
        meta::set_finalizers(&mut marked, finalizers);
        if meta::deletion_timestamp(object).is_none() {
            meta::set(&mut marked, "deletionTimestamp", self.now());
            if !definition && !resource.is("", "namespaces") {
                meta::set(&mut marked, "deletionGracePeriodSeconds", 0);
            }
            if definition && let Some(status) = marked.get_mut("status") {
                let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
                set_condition(
                    status,
                    "Terminating",
                    true,
                    "InstanceDeletionPending",
                    message,
                    &self.now(),
                );
            }
            if let Some(generation) = meta::at(object, &["metadata", "generation"]).and_then(Value::as_i64) {
                meta::set(&mut marked, "generation", generation + 1);
            }
            if resource.is("", "namespaces")
                && let Some(members) = marked.as_object_mut()
            {
                let status = members.entry("status").or_insert_with(|| json!({}));
                if let Some(status) = status.as_object_mut() {
                    status.insert("phase".to_owned(), "Terminating".into());
                }
            }
        }
        (marked != *object).then_some(marked)
    }
}

fn check_preconditions(
    resource: &Resource,
    name: &str,
    stored: &Stored,
    options: &DeleteOptions,
) -> Result<(), ApiError> {
    let about = About {
        group: &resource.group,
        kind: &resource.kind,
        name,
    };
    let found = meta::uid(&stored.value).unwrap_or_default();
    if let Some(uid) = options.uid.as_deref().filter(|uid| *uid != found) {
        let cause = format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({found}). The object might have been \
             deleted and then recreated"
        );
        return Err(ApiError::conflict(about, &cause));
    }
    let found = stored.revision.to_string();
    if let Some(version) = options.resource_version.as_deref().filter(|version| *version != found) {
        let cause = format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({found}). \
             The object might have been modified"
        );
        return Err(ApiError::conflict(about, &cause));
    }
    Ok(())
}

fn options(call: &Call) -> Result<DeleteOptions, ApiError> {
    let body = if call.body.is_empty() {
        Value::Null
    } else {
        decode::object(call)?
    };
    let text = |path: &[&str]| meta::str_at(&body, path).map(str::to_owned);
    let policy = text(&["propagationPolicy"]).or_else(|| call.query.get("propagationPolicy").map(str::to_owned));
    let orphan = body
        .get("orphanDependents")
        .and_then(Value::as_bool)
        .or_else(|| call.query.flag("orphanDependents"));
    let propagation = match (policy.as_deref(), orphan) {
        (Some("Background"), _) | (None, Some(false)) => Some(Propagation::Background),
        (Some("Foreground"), _) => Some(Propagation::Foreground),
        (Some("Orphan"), _) | (None, Some(true)) => Some(Propagation::Orphan),
        (Some(_) | None, _) => None,
    };
    let dry_run = body
        .get("dryRun")
        .and_then(Value::as_array)
        .is_some_and(|list| list.iter().any(|each| each == "All"));
    Ok(DeleteOptions {
        grace_period_secs: body.get("gracePeriodSeconds").and_then(Value::as_i64),
        propagation,
        uid: text(&["preconditions", "uid"]),
        resource_version: text(&["preconditions", "resourceVersion"]),
        dry_run: dry_run || call.query.dry_run(),
    })
}

/// The `Status` of a deletion that is done.
fn success(call: &Call, object: &Shown) -> Value {
    let name = call.name.as_deref().unwrap_or_default();
    let mut details = json!({"name": name, "kind": call.resource.plural});
    if let Some(details) = details.as_object_mut() {
        if !call.resource.group.is_empty() {
            details.insert("group".to_owned(), call.resource.group.clone().into());
        }
        if let Some(uid) = meta::uid(object.value()) {
            details.insert("uid".to_owned(), uid.into());
        }
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}
