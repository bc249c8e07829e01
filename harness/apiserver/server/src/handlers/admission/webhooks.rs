//! Admission of a write by webhooks.

use std::sync::Arc;

use baton_apimachinery::meta;
use baton_apimachinery::schema::cel::value::Val;
use serde_json::{Map, Value, json};

use crate::admission::{self, Answer, AnswerError, Pending, Plan, Subject, Webhook};
use crate::api_error::ApiError;
use crate::handlers::admission::plugins::{AdmissionRequest, Operation};
use crate::handlers::replicas::scale_of;
use crate::handlers::versioning::in_version;
use crate::handlers::{Call, Core, strategy};

/// Purpose of calls to validating webhooks.
const VALIDATING: &str = "validating";

/// The current state of a write, as webhooks see it.
struct View<'a> {
    request: &'a AdmissionRequest<'a>,
    object: Option<&'a Value>,
    namespace: Option<Arc<Value>>,
    equivalent: Vec<String>,
}

impl View<'_> {
    fn subject(&self) -> Subject<'_> {
        let resource = self.request.resource;
        Subject {
            operation: self.request.operation.as_str(),
            group: &resource.group,
            version: &resource.version,
            equivalent: &self.equivalent,
            plural: &resource.plural,
            subresource: self.request.subresource,
            namespaced: resource.namespaced,
            namespace: self.namespace.as_deref(),
            object: self.object,
            old: self.request.old,
        }
    }
}

impl Core {
    /// Returns the configured webhooks, unless the write is about their configuration.
    fn plan_for(&self, request: &AdmissionRequest<'_>) -> Option<Arc<Plan>> {
        let resource = request.resource;
        let exempt = resource.group == admission::GROUP && admission::KINDS.contains(&resource.plural.as_str());
        if exempt {
            return None;
        }
        let plan = self.admission.plan();
        let empty = plan.mutating.is_empty() && plan.validating.is_empty();
        (!empty).then_some(plan)
    }

    fn view<'a>(&self, request: &'a AdmissionRequest<'a>, object: Option<&'a Value>) -> View<'a> {
        let resource = request.resource;
        let namespace = if resource.is("", "namespaces") {
            object.or(request.old).map(|object| Arc::new(object.clone()))
        } else {
            request
                .namespace
                .and_then(|name| self.namespace(name))
                .map(|stored| stored.value())
        };
        let catalogue = self.registry.current();
        let versions = catalogue.group(&resource.group).map(|group| group.versions.iter());
        let equivalent = versions
            .into_iter()
            .flatten()
            .filter(|version| version.name != resource.version)
            .filter(|version| version.resources.iter().any(|other| other.plural == resource.plural))
            .map(|version| version.name.clone())
            .collect();
        View {
            request,
            object,
            namespace,
            equivalent,
        }
    }

    /// Calls mutating webhooks one after the other; calls those with `IfNeeded` again if a later one changed the
    /// object.
    pub(in crate::handlers) fn call_mutating(
        &self,
        request: &AdmissionRequest<'_>,
        object: &mut Value,
    ) -> Result<(), ApiError> {
        let Some(plan) = self.plan_for(request) else {
            return Ok(());
        };
        let mut last_change = None;
        for (index, webhook) in plan.mutating.iter().enumerate() {
            if self.call_mutating_one(webhook, request, object)? {
                last_change = Some(index);
            }
        }
        let Some(last_change) = last_change else { return Ok(()) };
        for webhook in plan.mutating.iter().take(last_change).filter(|webhook| webhook.again) {
            self.call_mutating_one(webhook, request, object)?;
        }
        Ok(())
    }

    /// Calls one webhook; returns `true` if it has changed the object.
    fn call_mutating_one(
        &self,
        webhook: &Webhook,
        request: &AdmissionRequest<'_>,
        object: &mut Value,
    ) -> Result<bool, ApiError> {
        let view = self.view(request, Some(object));
        let Some((version, answer)) = self.ask(webhook, &view, "mutating")? else {
            return Ok(false);
        };
        let Some(patch) = answer.patch else { return Ok(false) };
        let resource = request.resource;
        let mut new = if version == resource.version {
            admission::patched(object, &patch)?
        } else {
            let shown = self.in_other_version(request, &version, object);
            let patched = admission::patched(&shown, &patch)?;
            in_version(resource, &request.call.conversions, &patched)
        };
        let dropped = strategy::decode(resource, &mut new).map_err(|error| ApiError::internal(&error.to_string()))?;
        if !dropped.is_empty() {
            request.call.memo.note_unknown_fields();
        }
        check_namespace(request.namespace.filter(|_| resource.namespaced), &mut new)?;
        let changed = new != *object;
        *object = new;
        Ok(changed)
    }

    /// Calls all validating webhooks; the first refusal counts.
    pub(in crate::handlers) fn call_validating(
        &self,
        request: &AdmissionRequest<'_>,
        object: Option<&Value>,
    ) -> Result<(), ApiError> {
        let Some(plan) = self.plan_for(request) else {
            return Ok(());
        };
        let view = self.view(request, object);
        let mut refusal = None;
        for webhook in &plan.validating {
            let outcome = self.ask(webhook, &view, VALIDATING);
            if request.call.memo.is_waiting() {
                return outcome.map(drop);
            }
            if let Err(error) = outcome {
                refusal = refusal.or(Some(error));
            }
        }
        refusal.map_or(Ok(()), Err)
    }

    /// Admission of a deletion.
    pub(in crate::handlers) fn admit_deletion(&self, call: &Call, name: &str, old: &Value) -> Result<(), ApiError> {
        crate::handlers::admission::plugins::check_may_be_deleted(call, old)?;
        let request = AdmissionRequest::new(call, Operation::Delete, name, Some(old));
        let Some(plan) = self.plan_for(&request) else {
            return Ok(());
        };
        let view = self.view(&request, None);
        for webhook in &plan.mutating {
            if let Some((_, Answer { patch: Some(_), .. })) = self.ask(webhook, &view, "mutating")? {
                let name = &webhook.name;
                return Err(ApiError::internal(&format!(
                    "admission webhook {name:?} attempted to modify the object, which is not supported for this operation"
                )));
            }
        }
        self.call_validating(&request, None)
    }

    /// Calls one webhook; returns the version that it was shown and its answer, or `None` if it does not apply or its
    /// failure is ignored.
    fn ask(&self, webhook: &Webhook, view: &View<'_>, phase: &str) -> Result<Option<(String, Answer)>, ApiError> {
        let subject = view.subject();
        let Some(version) = webhook.version(&subject) else {
            return Ok(None);
        };
        let call = view.request.call;
        let name = &webhook.name;
        let body = self.request_body(view, version, "");
        call.conversions.settled()?;
        let member = |key: &str| Val::of_json(body.get(key).unwrap_or(&Value::Null), None);
        let variables = [
            ("object", member("object")),
            ("oldObject", member("oldObject")),
            ("request", Val::of_json(&body, None)),
            ("authorizer", Val::Authorizer),
        ];
        match webhook.wants(&variables) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(_) if !webhook.fails => return Ok(None),
            Err(error) => return Err(ApiError::forbidden(call.about(view.request.name), &error.to_string())),
        }
        if call.query.dry_run() && !webhook.dry_run {
            return Err(ApiError::bad_request(format!(
                "admission webhook {name:?} does not support dry run"
            )));
        }
        match self.fetch(webhook, view, version, phase)? {
            Ok(answer) => {
                for warning in &answer.warnings {
                    call.memo.warn(warning.clone());
                }
                if answer.allowed {
                    return Ok(Some((version.to_owned(), answer)));
                }
                Err(admission::refusal(name, &answer.status))
            }
            Err(_) if !webhook.fails => Ok(None),
            Err(error) => Err(ApiError::internal(&format!("failed calling webhook {name:?}: {error}"))),
        }
    }

    /// Returns the answer of a webhook, or the error of the call. Fails while the answer is pending; the write then
    /// starts again.
    fn fetch(
        &self,
        webhook: &Webhook,
        view: &View<'_>,
        version: &str,
        phase: &str,
    ) -> Result<Result<Answer, AnswerError>, ApiError> {
        let request = view.request;
        let memo = &request.call.memo;
        let (configuration, name) = (&webhook.configuration, &webhook.name);
        let (operation, object) = (request.operation.as_str(), request.name);
        let key = memo.key(&format!("{phase}/{configuration}/{name}/{operation}/{object}"));
        let uid = memo.name(&key, || self.ids.uid());
        if let Some(answer) = memo.answer(&key) {
            let validating = phase == VALIDATING;
            let read = |body: Vec<u8>| admission::read_answer(&body, &webhook.review_version, &uid, validating);
            return Ok(answer.map_err(AnswerError::from).and_then(read));
        }
        let body = self.request_body(view, version, &uid);
        memo.ask(Pending {
            key,
            endpoint: webhook.endpoint.clone(),
            body: admission::review(&webhook.review_version, &body),
        });
        Err(ApiError::internal("a webhook is being asked"))
    }

    /// Returns the `request` of an `AdmissionReview`.
    fn request_body(&self, view: &View<'_>, version: &str, uid: &str) -> Value {
        let request = view.request;
        let resource = request.resource;
        let subresource = request.subresource.and_then(|name| resource.subresource(name));
        let kind_in = |version: &str| match subresource {
            Some(subresource) if subresource.kind != resource.kind => {
                json!({"group": subresource.group, "version": subresource.version, "kind": subresource.kind})
            }
            Some(_) | None => json!({"group": resource.group, "version": version, "kind": resource.kind}),
        };
        let resource_in =
            |version: &str| json!({"group": resource.group, "version": version, "resource": resource.plural});
        let shown = |object: Option<&Value>| {
            object.map_or(Value::Null, |object| self.shown_to_webhook(request, version, object))
        };
        let mut body = json!({
            "uid": uid,
            "kind": kind_in(version),
            "resource": resource_in(version),
            "requestKind": kind_in(&resource.version),
            "requestResource": resource_in(&resource.version),
            "operation": request.operation.as_str(),
            "userInfo": request.call.caller.user.info(),
            "object": shown(view.object),
            "oldObject": shown(request.old),
            "dryRun": request.call.query.dry_run(),
            "options": options(request),
        });
        if let Some(map) = body.as_object_mut() {
            let texts = [
                ("name", Some(request.name)),
                (
                    "namespace",
                    request
                        .namespace
                        .or(resource.is("", "namespaces").then_some(request.name)),
                ),
                ("subResource", request.subresource),
                ("requestSubResource", request.subresource),
            ];
            for (key, text) in texts {
                if let Some(text) = text.filter(|text| !text.is_empty()) {
                    map.insert(key.to_owned(), text.into());
                }
            }
        }
        body
    }

    fn shown_to_webhook(&self, request: &AdmissionRequest<'_>, version: &str, object: &Value) -> Value {
        if request.subresource == Some("scale") {
            return scale_of(request.resource, object).unwrap_or_else(|_| object.clone());
        }
        self.in_other_version(request, version, object)
    }

    /// Returns an object in another version of its resource.
    fn in_other_version(&self, request: &AdmissionRequest<'_>, version: &str, object: &Value) -> Value {
        let resource = request.resource;
        if version == resource.version {
            return object.clone();
        }
        let catalogue = self.registry.current();
        let other = catalogue.find(&resource.group, version, &resource.plural);
        other.map_or_else(
            || object.clone(),
            |other| in_version(other, &request.call.conversions, object),
        )
    }

    /// Reads the configuration of admission again.
    pub(crate) fn refresh_admission(&self) {
        self.admission.refresh(|| {
            let objects = admission::KINDS.map(|plural| {
                let (all, _) = self.store.list(self.store.bucket(admission::GROUP, plural), "");
                all.iter().map(|stored| stored.value()).collect()
            });
            Plan::read(&objects)
        });
    }
}

/// Checks the namespace after a webhook: a removed one is restored, another one is refused.
fn check_namespace(namespace: Option<&str>, object: &mut Value) -> Result<(), ApiError> {
    let given = meta::str_at(object, &["metadata", "namespace"]).unwrap_or_default();
    match namespace {
        Some(namespace) if given.is_empty() => {
            meta::set(object, "namespace", namespace);
            Ok(())
        }
        Some(namespace) if given != namespace => Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )),
        Some(_) | None => Ok(()),
    }
}

/// Returns the options of the write, as the review shows them.
fn options(request: &AdmissionRequest<'_>) -> Value {
    let query = &request.call.query;
    let kind = match request.operation {
        Operation::Create => "CreateOptions",
        Operation::Update => "UpdateOptions",
        Operation::Delete => "DeleteOptions",
    };
    let mut options = Map::new();
    options.insert("apiVersion".to_owned(), "meta.k8s.io/v1".into());
    options.insert("kind".to_owned(), kind.into());
    if query.dry_run() {
        options.insert("dryRun".to_owned(), json!(["All"]));
    }
    let shown: &[&str] = match request.operation {
        Operation::Create | Operation::Update => &["fieldManager", "fieldValidation"],
        Operation::Delete => &["propagationPolicy"],
    };
    for key in shown {
        if let Some(value) = query.get(key) {
            options.insert((*key).to_owned(), value.into());
        }
    }
    if request.operation == Operation::Delete
        && let Ok(Value::Object(body)) = serde_json::from_slice::<Value>(&request.call.body)
    {
        let given = body
            .into_iter()
            .filter(|(key, _)| !matches!(key.as_str(), "apiVersion" | "kind"));
        options.extend(given);
    }
    Value::Object(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_webhook_may_take_a_namespace_away_but_not_give_another_one() {
        for (namespace, given, outcome) in [
            (Some("a"), json!({"metadata": {"namespace": "a"}}), Some("a")),
            (Some("a"), json!({"metadata": {"name": "n"}}), Some("a")),
            (Some("a"), json!({}), Some("a")),
            (Some("a"), json!({"metadata": {"namespace": "b"}}), None),
            (None, json!({"metadata": {"namespace": "b"}}), Some("b")),
        ] {
            let mut object = given.clone();
            let checked = check_namespace(namespace, &mut object).ok();
            let left = checked.and_then(|()| meta::str_at(&object, &["metadata", "namespace"]));
            assert_eq!(left, outcome, "{given}");
        }
    }
}
