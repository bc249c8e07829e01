//! Evictions of pods.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::api_error::{About, ApiError};
use crate::handlers::codecs::reply::Reply;
use crate::handlers::verbs::delete::{DeleteOptions, Given, check_preconditions, read_options};
use crate::handlers::{Call, Core};
use crate::store::{Expect, Stored, Write};

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

    /// Sets the condition with the reason of the eviction.
    fn tell_of_eviction(self: &Arc<Self>, call: &Call, stored: &Arc<Stored>) {
        let mut pod = Value::clone(&stored.value());
        let condition = json!({
            "type": "DisruptionTarget", "status": "True", "lastProbeTime": null, "lastTransitionTime": self.now(),
            "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting",
        });
        set_condition(&mut pod, condition);
        let bucket = self.store.bucket("", "pods");
        // If another write comes first, the pod goes without the condition.
        let _ = self.commit(
            bucket,
            &call.key(),
            Expect::Revision(stored.revision),
            Write::Put(pod),
            &call.caller,
        );
    }
}

/// Replaces the condition of the same type.
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
