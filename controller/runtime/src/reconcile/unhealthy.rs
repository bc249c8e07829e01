//! An application that is not healthy leaves its cluster (APP).

use baton_decide::conditions::Says;
use baton_decide::evict;
use baton_decide::keys::ObjectKey;
use baton_decide::unhealthy::{self, Leave};

use super::binding::{Notes, gather};
use crate::context::{Context, Failure};
use crate::source::Source;
use crate::write::Part;

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
        let Some(view) = gather(context, key) else {
            return Ok(());
        };
        let (now, settings) = (context.now(), context.settings());
        match unhealthy::leave(&view.binding, &name, settings, now) {
            Leave::Never => continue,
            Leave::At(at) => {
                notes.look_at(Some(at));
                continue;
            }
            Leave::Now => {}
        }
        if let Some(why) = evict::infeasible(&view.binding.spec, &name, &view.clusters) {
            notes.block(Says::yes(
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
                notes.tell("Evicted", format!("evicted from {name}, where it was not healthy"));
            }
            Err(obstacle) => {
                notes.block(Says::yes(
                    obstacle.reason(),
                    format!("eviction from {name} waits: {obstacle}"),
                ));
            }
        }
    }
    Ok(())
}
