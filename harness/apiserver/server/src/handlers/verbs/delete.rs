//! The verbs delete and deletecollection.

use std::sync::Arc;

use baton_apimachinery::field::{FieldError, FieldErrorType};
use baton_apimachinery::meta;
use baton_apimachinery::schema::crd::{CLEANUP_FINALIZER, set_condition};
use serde_json::{Value, json};

use crate::api_error::{About, ApiError};
use crate::handlers::codecs::decode;
use crate::handlers::codecs::reply::{List, Reply};
use crate::handlers::field_managers::check_dry_run;
use crate::handlers::query::Query;
use crate::handlers::shown::Shown;
use crate::handlers::verbs::write::is_released;
use crate::handlers::{Call, Caller, Core, strategy};
use crate::registry::Resource;
use crate::store::{Expect, Moved, Stored, Write, key_of};

pub(crate) const FOREGROUND: &str = "foregroundDeletion";
pub(crate) const ORPHAN: &str = "orphan";

/// The options of a deletion.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) grace_period_secs: Option<i64>,
    pub(crate) propagation: Option<Propagation>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
    pub(crate) dry_run: bool,
    /// Set if a deletion that takes longer is answered with 202: the client asked for it with `orphanDependents:
    /// false`.
    pub(crate) accepted: bool,
}

/// The treatment of the objects that the deleted one owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// The result of a deletion, in the version that is stored.
#[derive(Debug)]
pub(crate) enum Deleted {
    /// The object has been removed.
    Gone(Shown),
    /// The object is marked, and a finalizer or its grace period holds it.
    Marked(Shown),
}

/// A deletion to carry out.
pub(crate) struct Deletion<'a> {
    pub(crate) resource: &'a Arc<Resource>,
    pub(crate) key: &'a str,
    pub(crate) options: &'a DeleteOptions,
    pub(crate) caller: &'a Caller,
}

impl Core {
    pub(in crate::handlers) fn delete(
        self: &Arc<Self>,
        call: &Call,
        warnings: &mut Vec<String>,
    ) -> Result<Reply, ApiError> {
        let options = with_defaults(call, options(call)?, warnings);
        let stored = self.find(call)?;
        let name = call.name.as_deref().unwrap_or_default();
        let seen = call.show(&stored)?;
        self.admit_deletion(call, name, &seen.value())?;
        let deleted = self.delete_object(&call.resource, &key_of(&stored.value()), &options, &call.caller)?;
        Ok(match deleted {
            Deleted::Marked(object) => {
                let code = if options.accepted { 202 } else { 200 };
                shown(call, code, call.left(&seen, &object))
            }
            Deleted::Gone(object) if answers_with_object(&call.resource) => shown(call, 200, call.left(&seen, &object)),
            Deleted::Gone(object) => Reply::Made {
                code: 200,
                object: success(call, &object),
            },
        })
    }

    pub(in crate::handlers) fn delete_collection(
        self: &Arc<Self>,
        call: &Call,
        warnings: &mut Vec<String>,
    ) -> Result<Reply, ApiError> {
        let page = self.page(call)?;
        let options = with_defaults(call, options(call)?, warnings);
        let mut items = Vec::new();
        let seen = call.show_all(&page.items)?;
        for shown in &seen {
            self.admit_deletion(call, "", &shown.value())?;
        }
        for (stored, shown) in page.items.iter().zip(seen) {
            match self.delete_object(&call.resource, &key_of(&stored.value()), &options, &call.caller) {
                Ok(Deleted::Gone(_) | Deleted::Marked(_)) => items.push(shown),
                Err(error) if error.code == 404 => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Reply::List(List {
            resource: call.resource.clone(),
            items,
            revision: page.revision,
            next: page.next,
            remaining: page.remaining,
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
        let deletion = Deletion {
            resource,
            key,
            options,
            caller,
        };
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
            if let Ok(deleted) = self.try_delete(&deletion, &stored) {
                return Ok(deleted);
            }
        }
    }

    /// Makes one attempt; fails after a conflict with another write.
    fn try_delete(self: &Arc<Self>, deletion: &Deletion<'_>, stored: &Arc<Stored>) -> Result<Deleted, Moved> {
        let Deletion {
            resource,
            key,
            options,
            caller,
        } = *deletion;
        let commit =
            |revision: u64, write: Write| self.commit(resource.bucket, key, Expect::Revision(revision), write, caller);
        let graceful = grace(resource, &stored.value(), options);
        let Some(marked) = self.mark(resource, &stored.value(), options, graceful.unwrap_or(0)) else {
            return Ok(Deleted::Marked(Shown::Stored(stored.clone())));
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
        if !gone {
            let stored = commit(stored.revision, Write::Put(marked))?;
            return Ok(Deleted::Marked(Shown::Stored(stored)));
        }
        if graceful.is_none() {
            let stored = commit(stored.revision, Write::Delete(Value::clone(&stored.value())))?;
            return Ok(Deleted::Gone(Shown::Stored(stored)));
        }
        // A graceful deletion marks the object first, even if the grace period is over.
        let stored = commit(stored.revision, Write::Put(marked))?;
        commit(stored.revision, Write::Delete(Value::clone(&stored.value())))?;
        Ok(Deleted::Gone(Shown::Stored(stored)))
    }

    /// Returns the object marked as deleted, or `None` if nothing changes.
    fn mark(&self, resource: &Resource, object: &Value, options: &DeleteOptions, grace_secs: i64) -> Option<Value> {
        let mut marked = object.clone();
        meta::set_finalizers(&mut marked, finalizers(resource, object, options));
        let marked_before = meta::deletion_timestamp(object).and_then(|at| at.parse::<jiff::Timestamp>().ok());
        let Some(before) = marked_before else {
            self.mark_first(resource, object, &mut marked, grace_secs);
            return Some(marked);
        };
        let left = meta::at(object, &["metadata", "deletionGracePeriodSeconds"])
            .and_then(Value::as_i64)
            .unwrap_or(0);
        if grace_secs < left && resource.is("", "pods") {
            // The remaining time can only become shorter.
            let at = before.as_second() - left + grace_secs;
            if let Ok(at) = jiff::Timestamp::from_second(at) {
                meta::set(&mut marked, "deletionTimestamp", meta::time(at));
            }
            meta::set(&mut marked, "deletionGracePeriodSeconds", grace_secs);
        }
        (marked != *object || is_released(resource, &marked)).then_some(marked)
    }

    fn mark_first(&self, resource: &Resource, object: &Value, marked: &mut Value, grace_secs: i64) {
        let now = (self.options.clock)();
        let at = jiff::Timestamp::from_second(now.as_second().saturating_add(grace_secs)).unwrap_or(now);
        meta::set(marked, "deletionTimestamp", meta::time(at));
        let definition = strategy::is_definition(resource);
        let namespace = resource.is("", "namespaces");
        if !definition && !namespace {
            meta::set(marked, "deletionGracePeriodSeconds", grace_secs);
        }
        if let Some(generation) = meta::at(object, &["metadata", "generation"]).and_then(Value::as_i64)
            && !definition
        {
            meta::set(marked, "generation", generation + 1);
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
        if namespace && let Some(members) = marked.as_object_mut() {
            let status = members.entry("status").or_insert_with(|| json!({}));
            if let Some(status) = status.as_object_mut() {
                status.insert("phase".to_owned(), "Terminating".into());
            }
        }
    }
}

fn shown(call: &Call, code: u16, object: Shown) -> Reply {
    Reply::Object {
        code,
        object,
        resource: call.resource.clone(),
    }
}

/// Returns `true` for kinds whose deletion is answered with the object itself.
fn answers_with_object(resource: &Resource) -> bool {
    const CORE: [&str; 7] = [
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods",
        "podtemplates",
        "resourcequotas",
        "serviceaccounts",
        "services",
    ];
    let core = resource.group.is_empty() && CORE.contains(&resource.plural.as_str());
    let storage = resource.group == "storage.k8s.io" && resource.plural != "csistoragecapacities";
    resource.custom().is_none() && (core || storage)
}

/// Returns the grace period in seconds for kinds with graceful deletion; `None` for all other kinds.
fn grace(resource: &Resource, object: &Value, options: &DeleteOptions) -> Option<i64> {
    if !resource.is("", "pods") {
        return None;
    }
    let own = meta::at(object, &["spec", "terminationGracePeriodSeconds"]).and_then(Value::as_i64);
    let wanted = options.grace_period_secs.or(own).unwrap_or(0);
    let wanted = if wanted < 0 { 1 } else { wanted };
    let scheduled = meta::str_at(object, &["spec", "nodeName"]).is_some();
    let over = matches!(meta::str_at(object, &["status", "phase"]), Some("Failed" | "Succeeded"));
    Some(if scheduled && !over { wanted } else { 0 })
}

/// Returns the finalizers with those that the propagation needs.
fn finalizers(resource: &Resource, object: &Value, options: &DeleteOptions) -> Vec<String> {
    let mut finalizers: Vec<String> = meta::finalizers(object).map(str::to_owned).collect();
    let wanted = match options.propagation {
        Some(Propagation::Foreground) => Some(FOREGROUND),
        Some(Propagation::Orphan) => Some(ORPHAN),
        Some(Propagation::Background) | None => None,
    };
    if resource.is("", "events") || resource.is("events.k8s.io", "events") {
        // Events never have dependents.
        return finalizers;
    }
    if options.propagation.is_some() {
        finalizers.retain(|each| each != FOREGROUND && each != ORPHAN || Some(each.as_str()) == wanted);
    }
    let definition = strategy::is_definition(resource).then_some(CLEANUP_FINALIZER);
    for wanted in wanted.into_iter().chain(definition) {
        // The first deletion adds the finalizer of a definition; a later one does not.
        let again = wanted == CLEANUP_FINALIZER && meta::deletion_timestamp(object).is_some();
        let present = finalizers.iter().any(|each| each == wanted);
        if !again && !present {
            finalizers.push(wanted.to_owned());
        }
    }
    finalizers
}

/// Sets the default treatment of dependents: jobs and replication controllers leave them.
fn with_defaults(call: &Call, options: DeleteOptions, warnings: &mut Vec<String>) -> DeleteOptions {
    let job = call.resource.is("batch", "jobs");
    if options.propagation.is_some() || !(job || call.resource.is("", "replicationcontrollers")) {
        return options;
    }
    if job {
        warnings.push(
            "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove \
             them or set propagationPolicy=Orphan to suppress this warning"
                .to_owned(),
        );
    }
    DeleteOptions {
        propagation: Some(Propagation::Orphan),
        ..options
    }
}

pub(in crate::handlers) fn check_preconditions(
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
    let object = stored.value();
    let found = meta::uid(&object).unwrap_or_default();
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
        None
    } else {
        Some(decode::delete_options(call)?)
    };
    let options = Given {
        body: body.as_ref(),
        query: &call.query,
    };
    let (policy, orphan) = (options.text("propagationPolicy"), options.flag("orphanDependents"));
    let mut errors = Vec::from_iter(check_dry_run(&options.dry_run()));
    if let (Some(_), Some(_)) = (policy, orphan) {
        let detail = "orphanDependents and deletionPropagation cannot be both set";
        let field = "propagationPolicy";
        errors.push(FieldError::with_value(
            FieldErrorType::Invalid,
            field,
            &policy.unwrap_or_default().into(),
            detail,
        ));
    }
    if let Some(policy) = policy.filter(|policy| !matches!(*policy, "Background" | "Foreground" | "Orphan")) {
        let detail = "supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"";
        errors.push(FieldError::with_value(
            FieldErrorType::NotSupported,
            "propagationPolicy",
            &policy.into(),
            detail,
        ));
    }
    if !errors.is_empty() {
        let about = About {
            group: "meta.k8s.io",
            kind: "DeleteOptions",
            name: "",
        };
        return Err(ApiError::invalid(about, &errors));
    }
    read_options(&options)
}

/// The source of the options of a deletion: the body or, if there is none, the query.
pub(in crate::handlers) struct Given<'a> {
    pub(in crate::handlers) body: Option<&'a Value>,
    pub(in crate::handlers) query: &'a Query,
}

impl<'a> Given<'a> {
    fn text(&self, name: &str) -> Option<&'a str> {
        match self.body {
            Some(body) => meta::str_at(body, &[name]),
            None => self.query.get(name),
        }
    }

    fn flag(&self, name: &str) -> Option<bool> {
        match self.body {
            Some(body) => body.get(name).and_then(Value::as_bool),
            None => self.query.flag(name),
        }
    }

    fn dry_run(&self) -> Vec<&'a str> {
        match self.body {
            Some(body) => {
                let list = body.get("dryRun").and_then(Value::as_array);
                list.into_iter().flatten().filter_map(Value::as_str).collect()
            }
            None => self.query.all("dryRun"),
        }
    }
}

/// Reads and checks the options of a deletion.
pub(in crate::handlers) fn read_options(given: &Given<'_>) -> Result<DeleteOptions, ApiError> {
    let propagation = match (given.text("propagationPolicy"), given.flag("orphanDependents")) {
        (Some("Background"), _) | (None, Some(false)) => Some(Propagation::Background),
        (Some("Foreground"), _) => Some(Propagation::Foreground),
        (Some("Orphan"), _) | (None, Some(true)) => Some(Propagation::Orphan),
        (Some(_) | None, _) => None,
    };
    let grace_period_secs = match given.body {
        Some(body) => body.get("gracePeriodSeconds").and_then(Value::as_i64),
        None => given.query.number("gracePeriodSeconds")?,
    };
    let precondition = |name| {
        let text = meta::str_at(given.body?, &["preconditions", name])?;
        Some(text.to_owned())
    };
    Ok(DeleteOptions {
        grace_period_secs,
        propagation,
        uid: precondition("uid"),
        resource_version: precondition("resourceVersion"),
        dry_run: given.dry_run().contains(&"All"),
        accepted: given.flag("orphanDependents") == Some(false),
    })
}

/// Returns the `Status` of a completed deletion.
fn success(call: &Call, object: &Shown) -> Value {
    let name = call.name.as_deref().unwrap_or_default();
    let mut details = json!({"name": name, "kind": call.resource.plural});
    if let Some(details) = details.as_object_mut() {
        if !call.resource.group.is_empty() {
            details.insert("group".to_owned(), call.resource.group.clone().into());
        }
        if let Some(uid) = meta::uid(&object.value()) {
            details.insert("uid".to_owned(), uid.into());
        }
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}
