//! Assigns clusters to the binding.

use baton_decide::keys::ObjectKey;
use baton_decide::schedule::{self, Snapshot};

use super::notes::Notes;
use super::view::gather;
use crate::context::{Context, Failure};
use crate::object_api::Part;
use crate::source::Source;

/// Schedules the binding, unless it names another scheduler.
pub async fn run(context: &Context, key: &ObjectKey, notes: &mut Notes) -> Result<(), Failure> {
    let Some(view) = gather(context, key) else {
        return Ok(());
    };
    if !schedule::is_ours(&view.binding.spec) {
        return Ok(());
    }
    let occupied = view.occupied();
    let decision = schedule::decide(Snapshot {
        binding: &view.binding,
        clusters: &view.clusters,
        occupied: &occupied,
        now: context.now(),
    });
    let mut scheduled = view.binding.as_ref().clone();
    scheduled.spec.clusters = decision.clusters;
    scheduled.spec.graceful_eviction_tasks = decision.tasks;
    let source = Source::bindings(key.namespace.as_deref());
    context
        .change(&source, key, &view.binding, &scheduled, Part::Main)
        .await?;
    notes.look_at(decision.again);
    notes.scheduled = Some(decision.scheduled);
    Ok(())
}
