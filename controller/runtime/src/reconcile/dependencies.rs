//! Reconciles the dependencies of a workload when the workload moves (APP-12, APP-16).

use std::collections::BTreeSet;

use baton_decide::dependencies;
use baton_decide::keys::ObjectKey;

use super::view::gather;
use crate::context::Context;
use crate::queue::Key;

/// Wakes the resources whose bindings do not contain the current clusters of this binding yet.
pub fn run(context: &Context, key: &ObjectKey) {
    let before = context.cache().required_of(key);
    let view = gather(context, key).filter(|view| view.binding.spec.propagate_deps == Some(true));
    let now = view
        .as_ref()
        .and_then(|view| Some(dependencies::of(view.template.as_deref()?)));
    let now = now.unwrap_or_default();
    if now.is_empty() && before.is_empty() {
        return;
    }
    let snapshot = view.map(|view| dependencies::required_by(&view.binding, &view.occupied()));
    let outdated: BTreeSet<_> = {
        let mut cache = context.cache();
        for resource in &now {
            cache.use_kind(resource.gvk.clone());
        }
        let is_told = |resource| {
            let snapshot = snapshot.as_ref().filter(|_| now.contains(resource));
            snapshot.is_some_and(|snapshot| cache.is_required_as(resource, snapshot))
        };
        now.union(&before)
            .filter(|resource| !is_told(resource))
            .cloned()
            .collect()
    };
    for resource in outdated {
        context.wake(Key::Template(resource));
    }
}
