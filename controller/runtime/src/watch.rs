//! Watches, merged into one stream of events.

use std::time::Duration;

use baton_decide::names;
use futures::TryStreamExt;
use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::core::ApiResource;
use kube::runtime::watcher::{self, Config, Event};
use serde_json::Value;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::mpsc::UnboundedSender;

use crate::queue::{Key, Urgency};
use crate::source::Source;

/// Delay before a broken watch is retried; doubled with each further failure.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Maximum delay before a watch is retried.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Event for the controller's loop.
#[derive(Debug)]
pub enum WatchEvent {
    /// A list began.
    ListStarted(Source),
    /// An object was created or changed.
    Applied(Source, Value),
    /// An object was deleted.
    Deleted(Source, Value),
    /// A list is complete.
    ListComplete(Source),
    /// A watch failed and is retried.
    Failed(Source, String),
    /// A watch works again.
    Recovered(Source),
    /// A key to reconcile.
    Enqueue(Key, Urgency),
}

/// Watches one kind until it is aborted.
pub async fn run(client: Client, resource: ApiResource, source: Source, events: UnboundedSender<WatchEvent>) {
    let api: Api<DynamicObject> = Api::all_with(client, &resource);
    let mut config = Config::default();
    if matches!(source, Source::Objects { .. }) {
        config = config.labels(&format!("{}=true", names::MANAGED_LABEL));
    }
    let mut stream = std::pin::pin!(watcher::watcher(api, config));
    let mut pause = FIRST_PAUSE;
    loop {
        let item = match stream.try_next().await {
            Ok(Some(event)) => {
                if pause != FIRST_PAUSE && !matches!(event, Event::Init) {
                    pause = FIRST_PAUSE;
                    let _ = events.send(WatchEvent::Recovered(source.clone()));
                }
                watch_event(event, &resource, &source)
            }
            Ok(None) => return,
            Err(error) => WatchEvent::Failed(source.clone(), error.to_string()),
        };
        let broke = matches!(item, WatchEvent::Failed(..));
        if events.send(item).is_err() {
            return;
        }
        if broke {
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
        }
    }
}

fn watch_event(event: Event<DynamicObject>, resource: &ApiResource, source: &Source) -> WatchEvent {
    match event {
        Event::Init => WatchEvent::ListStarted(source.clone()),
        Event::InitDone => WatchEvent::ListComplete(source.clone()),
        Event::InitApply(object) | Event::Apply(object) => WatchEvent::Applied(source.clone(), raw(object, resource)),
        Event::Delete(object) => WatchEvent::Deleted(source.clone(), raw(object, resource)),
    }
}

/// Returns the object as JSON with its kind, which items of lists lack, and without `managedFields`, which are dropped
/// here because serializing them takes long.
fn raw(mut object: DynamicObject, resource: &ApiResource) -> Value {
    object.metadata.managed_fields = None;
    let mut value = object.data;
    if let Some(fields) = value.as_object_mut() {
        fields.insert("apiVersion".to_owned(), Value::String(resource.api_version.clone()));
        fields.insert("kind".to_owned(), Value::String(resource.kind.clone()));
        if let Ok(metadata) = serde_json::to_value(object.metadata) {
            fields.insert("metadata".to_owned(), metadata);
        }
    }
    value
}

/// Watches the resources of a kind that may not exist yet: looks it up again whenever a definition changes.
pub async fn run_once_known(
    kinds: crate::kinds::Kinds,
    source: Source,
    gvk: baton_decide::keys::Gvk,
    mut definitions: broadcast::Receiver<()>,
    events: UnboundedSender<WatchEvent>,
) {
    let mut pause = FIRST_PAUSE;
    loop {
        definitions = definitions.resubscribe();
        match kinds.find(&gvk).await {
            Ok(resource) => return run(kinds.client().clone(), resource, source, events).await,
            Err(crate::kinds::KindError::Unknown(_)) => {
                // Missed messages count as a change too.
                if definitions.recv().await == Err(RecvError::Closed) {
                    return;
                }
            }
            Err(error) => {
                let _ = events.send(WatchEvent::Failed(source.clone(), error.to_string()));
                tokio::time::sleep(pause).await;
                pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
            }
        }
    }
}
