//! Clears evictions that are complete from the binding.

use baton_decide::aggregate;
use baton_decide::keys::ObjectKey;
use baton_decide::purge;

use super::notes::Notes;
use super::view::gather;
use super::works;
use crate::context::{Context, Failure};
use crate::object_api::Part;
use crate::source::Source;

/// Clears the tasks that are complete.
pub async fn run(context: &Context, key: &ObjectKey, notes: &mut Notes) -> Result<(), Failure> {
    let Some(view) = gather(context, key) else {
        return Ok(());
    };
    if !context.settings().controllers.graceful_eviction {
        return Ok(());
    }
    let now = context.now();
    let status = aggregate::binding_status(&view.binding, &view.works, now);
    let decision = purge::decide(&view.binding, &status, &view.occupied(), context.settings(), now);
    let mut cleared = view.binding.as_ref().clone();
    cleared.spec.graceful_eviction_tasks = decision.tasks;
    let source = Source::bindings(key.namespace.as_deref());
    if context
        .change(&source, key, &view.binding, &cleared, Part::Main)
        .await?
    {
        works::run(context, key).await?;
    }
    notes.look_at(decision.again);
    Ok(())
}
