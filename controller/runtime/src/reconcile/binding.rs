//! Everything about one binding, one component after the other, so that no two of them ever act on it at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use baton_decide::api::{Binding, Cluster, Work};
use baton_decide::conditions::Says;
use baton_decide::keys::{ObjectKey, TemplateKey};
use baton_decide::names::BINDING_FINALIZER;
use jiff::Timestamp;
use serde_json::Value;

use super::{evict, purge, schedule, status, unhealthy, works};
use crate::context::{Context, Failure, Outcome};
use crate::source::Source;
use crate::write::Part;

/// A binding and what belongs to it, as it is known now.
pub struct View {
    /// The binding.
    pub binding: Arc<Binding>,
    /// Its resource on the control plane, if known.
    pub template: Option<Arc<Value>>,
    /// Its Works by cluster.
    pub works: BTreeMap<String, Arc<Work>>,
    /// All clusters.
    pub clusters: Arc<BTreeMap<String, Arc<Cluster>>>,
}

impl View {
    /// The clusters that have a Work of this binding.
    pub fn occupied(&self) -> BTreeSet<String> {
        self.works.keys().cloned().collect()
    }
}

/// What the components found out on the way.
#[derive(Default)]
pub struct Notes {
    /// When to look again.
    pub again: Option<Timestamp>,
    /// What condition `Scheduled` says.
    pub scheduled: Option<Says>,
    /// What keeps a failover from going on.
    pub blocked: Option<Says>,
    /// What happened and is worth an event: reason and message (OBS-02).
    pub events: Vec<(&'static str, String)>,
}

impl Notes {
    /// The earliest time that was asked for counts.
    pub fn look_at(&mut self, at: Option<Timestamp>) {
        self.again = match (self.again, at) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }

    /// Something happened that is worth an event.
    pub fn tell(&mut self, reason: &'static str, message: String) {
        self.events.push((reason, message));
    }

    /// The first obstacle that was found counts.
    pub fn block(&mut self, says: Says) {
        self.blocked.get_or_insert(says);
    }
}

/// Reads what is known of a binding. Called anew after each write, because each write changes it.
pub fn gather(context: &Context, key: &ObjectKey) -> Option<View> {
    let world = context.world();
    let binding = world.binding(key)?;
    let resource = TemplateKey::of(&binding.spec.resource);
    let template = world
        .templates(&resource.gvk)
        .and_then(|table| table.get(&resource.key)?.get());
    Some(View {
        binding,
        template,
        works: world.works_of(key),
        clusters: world.clusters(),
    })
}

/// Reconciles one binding.
pub async fn run(context: &Context, key: &ObjectKey) -> Outcome {
    let Some(view) = gather(context, key) else {
        evict::leave_queue(context, key);
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
    works::run(context, key).await?;
    purge::run(context, key, &mut notes).await?;
    status::run(context, key, &notes).await?;
    Ok(notes.again)
}

/// The binding goes when its Works are gone (POL-08).
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
