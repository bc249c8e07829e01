//! Kubernetes events: what users see without reading logs.

use baton_decide::names::{self, MANAGER};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::context::Context;
use crate::error_chain::error_chain;
use crate::source::resource;
use baton_decide::keys::ObjectKey;

/// Object that an event refers to.
#[derive(Clone, Debug)]
pub struct About {
    /// API version of the object.
    pub api_version: String,
    /// Kind of the object.
    pub kind: String,
    /// Namespace and name of the object.
    pub key: ObjectKey,
    /// UID of the object.
    pub uid: Option<String>,
}

/// Severity of an event.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EventType {
    /// Expected behaviour.
    Normal,
    /// A user should look at the object.
    Warning,
}

/// Writes an event. Failures are logged and have no other effect.
pub async fn publish(context: &Context, about: &About, event_type: EventType, reason: &str, message: &str) {
    let now = context.now();
    let namespace = about.key.namespace.as_deref().unwrap_or("default");
    let name = event_name(about, reason, message, now);
    let kind = resource("", "v1", "Event", "events");
    let event = json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": reference(about),
        "type": match event_type { EventType::Normal => "Normal", EventType::Warning => "Warning" },
        "reason": reason, "message": message,
        "source": {"component": MANAGER}, "reportingComponent": MANAGER,
        "firstTimestamp": seconds(now), "lastTimestamp": seconds(now), "count": 1
    });
    if let Err(error) = context
        .object_api(&kind, &ObjectKey::new(Some(namespace), &name))
        .create(&event)
        .await
        && !error.is_already_exists()
    {
        tracing::warn!(object = %about.key, reason, error = error_chain(&error), "event not written");
    }
}

fn reference(about: &About) -> Value {
    let mut reference = json!({"apiVersion": about.api_version, "kind": about.kind, "name": about.key.name});
    if let Some(namespace) = &about.key.namespace {
        reference["namespace"] = json!(namespace);
    }
    if let Some(uid) = &about.uid {
        reference["uid"] = json!(uid);
    }
    reference
}

fn event_name(about: &About, reason: &str, message: &str, now: Timestamp) -> String {
    let identity = format!(
        "{}/{}/{reason}/{message}/{}",
        about.kind,
        about.key,
        now.as_nanosecond()
    );
    let base: String = about.key.name.chars().take(200).collect();
    format!("{}.{}", base.replace(':', "."), names::hash(identity.as_bytes()))
}

/// Formats a time without fractions, as events require.
fn seconds(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second()).unwrap_or(at).to_string()
}
