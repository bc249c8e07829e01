//! Reconciles a binding: runs its components one after the other, so that no two of them act on it at the same time.

use baton_decide::keys::ObjectKey;
use baton_decide::names::BINDING_FINALIZER;

use super::notes::Notes;
use super::view::{View, gather};
use super::{dependencies, evict, purge, schedule, status, unhealthy, works};
use crate::context::{Context, Failure, Outcome};
use crate::object_api::Part;
use crate::source::Source;

/// Reconciles one binding.
pub async fn run(context: &Context, key: &ObjectKey) -> Outcome {
    let Some(view) = gather(context, key) else {
        evict::leave_queue(context, key);
        dependencies::run(context, key);
        works::remove_orphans(context, key).await?;
        return Ok(None);
    };
    if view.binding.is_being_deleted() {
        evict::leave_queue(context, key);
        return end(context, key, view).await;
    }
    let mut notes = Notes::default();
    evict::run(context, key, &mut notes).await?;
    unhealthy::run(context, key, &mut notes).await?;
    schedule::run(context, key, &mut notes).await?;
    dependencies::run(context, key);
    works::run(context, key).await?;
    purge::run(context, key, &mut notes).await?;
    status::run(context, key, &notes).await?;
    Ok(notes.again)
}

/// Removes the finalizer once the binding's Works are gone (POL-08).
async fn end(context: &Context, key: &ObjectKey, view: View) -> Outcome {
    works::run(context, key).await?;
    let has_works = gather(context, key).is_some_and(|view| !view.works.is_empty());
    if has_works || !view.binding.has_finalizer(BINDING_FINALIZER) {
        return Ok(None);
    }
    let mut released = view.binding.as_ref().clone();
    if let Some(finalizers) = &mut released.metadata.finalizers {
        finalizers.retain(|finalizer| finalizer != BINDING_FINALIZER);
    }
    let source = Source::bindings(key.namespace.as_deref());
    match context.change(&source, key, &view.binding, &released, Part::Main).await {
        Err(error) if !error.is_not_found() => Err(Failure::Write(error)),
        Ok(_) | Err(_) => Ok(None),
    }
}
