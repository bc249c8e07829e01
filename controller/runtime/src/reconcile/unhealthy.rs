//! Evicts an unhealthy application from its cluster (APP).

use baton_decide::conditions::ConditionUpdate;
use baton_decide::evict;
use baton_decide::keys::ObjectKey;
use baton_decide::taints::EvictionTime;
use baton_decide::unhealthy;

use super::evict::EVICTED;
use super::notes::Notes;
use super::status;
use super::view::{View, gather};
use crate::context::{Context, Failure};
use crate::object_api::Part;
use crate::source::Source;

/// Evicts the binding from clusters on which its application has been unhealthy for too long.
pub async fn run(context: &Context, key: &ObjectKey, notes: &mut Notes) -> Result<(), Failure> {
    let Some(view) = gather(context, key) else {
        return Ok(());
    };
    let names: Vec<String> = view
        .binding
        .spec
        .clusters
        .iter()
        .map(|target| target.name.clone())
        .collect();
    for name in names {
        let (now, settings) = (context.now(), context.settings());
        let time = |view: &View| unhealthy::eviction_time(&view.binding, &name, settings, now);
        let leaves = |view: &View| time(view) == EvictionTime::Now;
        let Some(view) = status::gather_collected(context, key, &name, leaves).await? else {
            return Ok(());
        };
        match time(&view) {
            EvictionTime::OnceStamped | EvictionTime::Never => continue,
            EvictionTime::At(at) => {
                notes.look_at(Some(at));
                continue;
            }
            EvictionTime::Now => {}
        }
        if !is_collected(context, &view, &name) {
            continue;
        }
        if let Some(why) = evict::infeasible(&view.binding.spec, &name, &view.clusters) {
            notes.block(ConditionUpdate::yes(
                "NoClusterMatches",
                format!("eviction from {name} is given up: {why}"),
            ));
            continue;
        }
        match unhealthy::carry_out(&view.binding, &name, settings, &view.occupied(), now) {
            Ok(spec) => {
                let mut evicted = view.binding.as_ref().clone();
                evicted.spec = spec;
                let source = Source::bindings(key.namespace.as_deref());
                context
                    .change(&source, key, &view.binding, &evicted, Part::Main)
                    .await?;
                notes.tell(EVICTED, format!("evicted from {name}, where it was not healthy"));
            }
            Err(obstacle) => {
                notes.block(ConditionUpdate::yes(
                    obstacle.reason(),
                    format!("eviction from {name} waits: {obstacle}"),
                ));
            }
        }
    }
    Ok(())
}

/// Returns true if this instance has collected the application's status from the cluster. The health in the binding may be
/// from before the start: the application may have become healthy while no controller was running (APP-03).
fn is_collected(context: &Context, view: &View, cluster: &str) -> bool {
    let collected = context.collected();
    let work = view.works.get(cluster);
    work.is_some_and(|work| collected.contains(&ObjectKey::new(work.namespace(), work.name())))
}
