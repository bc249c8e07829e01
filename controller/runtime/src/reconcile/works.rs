//! Creates, changes and deletes the Works of a binding.

use std::sync::Arc;

use baton_decide::api::Work;
use baton_decide::keys::{self, ObjectKey};
use baton_decide::works;
use kube::api::DeleteParams;
use serde_json::Value;

use super::view::gather;
use crate::context::{Context, Failure};
use crate::object_api::{Part, to_create};
use crate::source::Source;

/// Brings the Works in line with the binding.
pub async fn run(context: &Context, key: &ObjectKey) -> Result<(), Failure> {
    let Some(view) = gather(context, key) else {
        return Ok(());
    };
    let template = view.template.as_deref();
    let decision = works::decide(
        &view.binding,
        template,
        &view.works,
        context.settings().stateful_injection,
    );
    // A Work that cannot be written does not keep the others from being written (POL-17).
    let mut written = Ok(());
    for work in &decision.delete {
        written = written.and(delete(context, work).await);
    }
    for (old, new) in &decision.update {
        let changed = context.change(&Source::Works, &key_of(old), old, new, Part::Main).await;
        written = written.and(changed.map(drop).map_err(Failure::from));
    }
    for work in &decision.create {
        written = written.and(create(context, work).await);
    }
    written
}

/// Deletes Works whose binding is gone, which happens when its finalizer is removed by hand.
pub async fn remove_orphans(context: &Context, key: &ObjectKey) -> Result<(), Failure> {
    let orphans = context.cache().works_of(key);
    for work in orphans.values().filter(|work| !work.is_being_deleted()) {
        delete(context, work).await?;
    }
    Ok(())
}

async fn create(context: &Context, work: &Work) -> Result<(), Failure> {
    let Some(kind) = Source::Works.resource() else {
        return Ok(());
    };
    let key = key_of(work);
    let api = context.object_api(&kind, &key);
    match api.create(&to_create(work, &kind)?).await {
        Ok(created) => context.note(&Source::Works, created),
        // The Work exists but is not in the cache yet: the next decision is based on the existing one.
        Err(error) if error.is_already_exists() => {
            if let Some(existing) = api.get().await? {
                context.note(&Source::Works, existing);
            }
        }
        // The namespace of the cluster's Works is missing: create it now, and the Work with the next attempt.
        Err(error) if error.is_not_found() => {
            if let Some(cluster) = keys::cluster_of(work) {
                super::cluster::make_room(context, cluster).await?;
            }
            return Err(error.into());
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

async fn delete(context: &Context, work: &Arc<Work>) -> Result<(), Failure> {
    let Some(kind) = Source::Works.resource() else {
        return Ok(());
    };
    let key = key_of(work);
    let answer = context
        .object_api(&kind, &key)
        .delete(work.metadata.uid.clone(), DeleteParams::background())
        .await?;
    match answer {
        Some(object) if object.get("kind").and_then(Value::as_str) == Some("Work") => {
            context.note(&Source::Works, object);
        }
        Some(_) => {}
        None => context.note_missing(&Source::Works, &key),
    }
    Ok(())
}

fn key_of(work: &Work) -> ObjectKey {
    ObjectKey::new(work.namespace(), work.name())
}
