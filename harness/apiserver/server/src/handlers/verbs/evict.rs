//! Evictions of pods: deletions that keep to disruption budgets.

use std::sync::Arc;

use baton_apimachinery::meta;
use serde_json::{Value, json};

use crate::admission::matching::selected;
use crate::api_error::{About, ApiError};
use crate::handlers::codecs::reply::Reply;
use crate::handlers::verbs::delete::{DeleteOptions, Given, check_preconditions, read_options};
use crate::handlers::{Call, Core};
use crate::store::{Expect, Stored, Write, key_of};

/// How long a client is told to wait for a budget that nobody has counted yet, in seconds.
const RETRY_AFTER_SECS: u64 = 10;

impl Core {
    /// Deletes a pod as a drain does.
    pub(in crate::handlers) fn evict(self: &Arc<Self>, call: &Call, eviction: &Value) -> Result<Reply, ApiError> {
        let mut options = match eviction.get("deleteOptions").filter(|options| !options.is_null()) {
            Some(options) => read_options(&Given {
                body: Some(options),
                query: &call.query,
            })?,
            None => DeleteOptions::default(),
        };
        options.dry_run |= call.query.dry_run();
        let name = call.name.as_deref().unwrap_or_default();
        let about = About {
            group: "",
            kind: "pods",
            name,
        };
        let bucket = self.store.bucket("", "pods");
        let stored = self
            .store
            .get(bucket, &call.key())
            .ok_or_else(|| ApiError::not_found(about))?;
        let pod = stored.value();
        if !runs_no_more(&pod) {
            self.take_from_budget(call, &pod, options.dry_run)?;
        }
        check_preconditions(&call.resource, name, &stored, &options)?;
        if !options.dry_run {
            self.tell_of_eviction(call, &stored);
        }
        self.delete_object(&call.resource, &call.key(), &options, &call.caller)?;
        let success = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
        Ok(Reply::Made {
            code: 201,
            object: success,
        })
    }

    /// Counts the eviction in the budget of the pod, if there is one that allows it.
    fn take_from_budget(self: &Arc<Self>, call: &Call, pod: &Value, dry_run: bool) -> Result<(), ApiError> {
        let bucket = self.store.bucket("policy", "poddisruptionbudgets");
        let prefix = format!("{}/", call.namespace.as_deref().unwrap_or_default());
        loop {
            let mut budgets = self.store.list(bucket, &prefix).0;
            budgets.retain(|budget| {
                let selector = meta::at(&budget.value(), &["spec", "selector"]).cloned();
                selector.is_some_and(|selector| selected(&selector, pod))
            });
            let budget = match budgets.as_slice() {
                [] => return Ok(()),
                [budget] => budget,
                [_, _, ..] => {
                    return Err(ApiError::plain_500(
                        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
                    ));
                }
            };
            let Some(left) = after_eviction(&budget.value(), pod, &self.now())? else {
                return Ok(());
            };
            let (key, expect) = (key_of(&budget.value()), Expect::Revision(budget.revision));
            if dry_run
                || self
                    .commit(bucket, &key, expect, Write::Put(left), &call.caller)
                    .is_ok()
            {
                return Ok(());
            }
        }
    }

    /// Says in the pod why it goes.
    fn tell_of_eviction(self: &Arc<Self>, call: &Call, stored: &Arc<Stored>) {
        let mut pod = Value::clone(&stored.value());
        let condition = json!({
            "type": "DisruptionTarget", "status": "True", "lastProbeTime": null, "lastTransitionTime": self.now(),
            "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting",
        });
        set_condition(&mut pod, condition);
        let bucket = self.store.bucket("", "pods");
        // If somebody else writes at the same time, the pod goes without having said why.
        let _ = self.commit(
            bucket,
            &call.key(),
            Expect::Revision(stored.revision),
            Write::Put(pod),
            &call.caller,
        );
    }
}

/// Whether a pod may go whatever its budget says, because it does no work.
fn runs_no_more(pod: &Value) -> bool {
    let phase = meta::str_at(pod, &["status", "phase"]).unwrap_or_default();
    matches!(phase, "Succeeded" | "Failed" | "Pending") || meta::deletion_timestamp(pod).is_some()
}

fn condition_holds(object: &Value, kind: &str) -> bool {
    let conditions = meta::at(object, &["status", "conditions"]).and_then(Value::as_array);
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition["type"] == kind && condition["status"] == "True")
}

/// The budget after the eviction of a pod; `None` if it does not count there.
fn after_eviction(budget: &Value, pod: &Value, now: &str) -> Result<Option<Value>, ApiError> {
    let count = |field: &str| {
        meta::at(budget, &["status", field])
            .and_then(Value::as_i64)
            .unwrap_or_default()
    };
    let name = meta::name(budget).unwrap_or_default();
    let generation = meta::at(budget, &["metadata", "generation"])
        .and_then(Value::as_i64)
        .unwrap_or_default();
    let (healthy, desired) = (count("currentHealthy"), count("desiredHealthy"));
    if !condition_holds(pod, "Ready") {
        let policy = meta::str_at(budget, &["spec", "unhealthyPodEvictionPolicy"]);
        if policy == Some("AlwaysAllow") || (healthy >= desired && desired > 0) {
            return Ok(None);
        }
    }
    if count("observedGeneration") < generation {
        let cause = format!("The disruption budget {name} is still being processed by the server.");
        return Err(refused(&cause, Some(RETRY_AFTER_SECS)));
    }
    let allowed = count("disruptionsAllowed");
    if allowed <= 0 {
        let cause = if healthy <= desired {
            format!("The disruption budget {name} needs {desired} healthy pods and has {healthy} currently")
        } else {
            format!("The disruption budget {name} does not allow evicting pods currently")
        };
        return Err(refused(&cause, None));
    }
    let mut left = budget.clone();
    left["status"]["disruptionsAllowed"] = json!(allowed - 1);
    left["status"]["disruptedPods"][meta::name(pod).unwrap_or_default()] = json!(now);
    if allowed == 1 {
        let condition = json!({
            "type": "DisruptionAllowed", "status": "False", "observedGeneration": generation, "lastTransitionTime": now,
            "reason": "InsufficientPods", "message": "",
        });
        set_condition(&mut left, condition);
    }
    Ok(Some(left))
}

fn refused(cause: &str, retry_after_secs: Option<u64>) -> ApiError {
    let mut details = json!({"causes": [{"reason": "DisruptionBudget", "message": cause}]});
    if let Some(secs) = retry_after_secs {
        details["retryAfterSeconds"] = secs.into();
    }
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    ApiError::new(429, "TooManyRequests", message, Some(details))
}

/// Puts a condition in the place of the one of its type.
pub(in crate::handlers) fn set_condition(object: &mut Value, condition: Value) {
    let Some(members) = object.as_object_mut() else { return };
    let status = members.entry("status").or_insert_with(|| json!({}));
    let Some(status) = status.as_object_mut() else { return };
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    if let Some(conditions) = conditions.as_array_mut() {
        conditions.retain(|each| each.get("type") != condition.get("type"));
        conditions.push(condition);
    }
}
