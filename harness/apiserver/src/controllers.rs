//! What a real cluster's controller manager and extension server do: definitions are established, garbage is
//! collected, deleted namespaces are emptied. All of it follows from commits; nothing polls.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::api::{Caller, Core};
use crate::registry::custom::condition_is_true;
use crate::store::{BucketId, Expect, Stored, Write};

impl Core {
    /// The caller that the server itself is.
    pub(crate) fn own(name: &str) -> Caller {
        Caller {
            user: Arc::from("system:apiserver"),
            groups: Arc::from(["system:masters".to_owned()]),
            user_agent: Arc::from(name),
        }
    }

    /// Does at once what must be seen at once, and wakes the rest.
    pub(crate) fn after_commit(self: &Arc<Self>, bucket: BucketId, stored: &Stored) {
        let definitions = self.store.bucket("apiextensions.k8s.io", "customresourcedefinitions");
        if bucket == definitions {
            self.establish(definitions, stored);
        }
        self.work.notify_one();
    }

    fn establish(self: &Arc<Self>, definitions: BucketId, changed: &Stored) {
        let name = crate::meta::name(&changed.value).unwrap_or_default();
        if let Some(current) = self.store.get(definitions, name)
            && !condition_is_true(&current.value, "Established")
        {
            let mut definition = current.value.as_ref().clone();
            let now = self.now();
            let names = crate::meta::at(&definition, &["spec", "names"])
                .cloned()
                .unwrap_or_default();
            let storage: Vec<Value> = crate::meta::at(&definition, &["spec", "versions"])
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter(|version| version.get("storage") == Some(&Value::Bool(true)))
                .filter_map(|version| version.get("name").cloned())
                .collect();
            if let Some(members) = definition.as_object_mut() {
                members.insert("status".to_owned(), json!({
                    "acceptedNames": names,
                    "storedVersions": storage,
                    "conditions": [
                        {"type": "NamesAccepted", "status": "True", "lastTransitionTime": now, "reason": "NoConflicts", "message": "no conflicts found"},
                        {"type": "Established", "status": "True", "lastTransitionTime": now, "reason": "InitialNamesAccepted", "message": "the initial names have been accepted"},
                    ],
                }));
            }
            let caller = Self::own("kube-apiserver");
            if self
                .commit(
                    definitions,
                    name,
                    Expect::Revision(current.revision),
                    Write::Put(definition),
                    &caller,
                )
                .is_ok()
            {
                return;
            }
        }
        let (all, _) = self.store.list(definitions, "");
        self.registry
            .rebuild(&self.store, all.iter().map(|stored| stored.value.as_ref()));
    }
}
