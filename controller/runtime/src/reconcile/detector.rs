//! Creates the binding of a resource from its policy, and deletes it when either is gone (POL-01, POL-03, POL-08). A
//! resource that other resources need gets a binding too (APP-12).

use std::collections::BTreeMap;
use std::sync::Arc;

use baton_decide::api::Binding;
use baton_decide::bind;
use baton_decide::dependencies;
use baton_decide::keys::TemplateKey;
use baton_decide::matching;
use kube::api::DeleteParams;
use serde_json::Value;

use crate::context::{Context, Outcome};
use crate::object_api::{Part, to_create};
use crate::source::Source;

/// The current binding and the desired one.
struct Gathered {
    existing: Option<Arc<Binding>>,
    wanted: Option<Binding>,
}

/// Reconciles the binding of one resource.
pub async fn run(context: &Context, template: &TemplateKey) -> Outcome {
    let Some(gathered) = gather(context, template) else {
        return Ok(None);
    };
    let source = Source::bindings(template.key.namespace.as_deref());
    let Some(kind) = source.resource() else { return Ok(None) };
    let key = template.binding();
    match (gathered.existing, gathered.wanted) {
        (None, Some(wanted)) => {
            let created = context
                .object_api(&kind, &key)
                .create(&to_create(&wanted, &kind)?)
                .await?;
            context.note(&source, created);
        }
        (Some(existing), Some(wanted)) if !existing.is_being_deleted() => {
            context.change(&source, &key, &existing, &wanted, Part::Main).await?;
        }
        (Some(existing), None) if !existing.is_being_deleted() => {
            context
                .object_api(&kind, &key)
                .delete(existing.metadata.uid.clone(), DeleteParams::background())
                .await?;
        }
        // A binding that is being deleted must be gone before the next one is created; an unwanted one is left alone.
        (Some(_) | None, _) => {}
    }
    Ok(None)
}

/// Gathers the input; `None` while the resources have not been listed.
fn gather(context: &Context, template: &TemplateKey) -> Option<Gathered> {
    let cache = context.cache();
    let object = cache
        .templates(&template.gvk)?
        .get(&template.key)
        .and_then(|object| object.get())
        .filter(|object| !is_being_deleted(object));
    let existing = cache
        .binding(&template.binding())
        .filter(|binding| TemplateKey::of(&binding.spec.resource) == *template);
    let is_dependency = dependencies::is_dependency(&template.gvk);
    let follows = object
        .as_ref()
        .filter(|object| is_dependency && !dependencies::stays_at_home(object));
    let required_by = match follows {
        Some(_) => cache.required_by(template)?,
        None => Vec::new(),
    };
    let wanted = object.and_then(|object| {
        let policies = cache.policies_of(template).map(Arc::as_ref);
        let policy = matching::policy_for(template, labels(&object).as_ref(), policies);
        let mut wanted = match policy {
            Some(policy) => bind::binding(template, &object, policy, existing.as_deref()),
            None if required_by.is_empty() => return None,
            None => {
                let mut follower = bind::dependency(template, &object, existing.as_deref());
                follower.spec.preserve_resources_on_deletion = cache.preserves(&required_by);
                follower
            }
        };
        wanted.spec.required_by = required_by;
        Some(wanted)
    });
    Some(Gathered { existing, wanted })
}

fn is_being_deleted(object: &Value) -> bool {
    object
        .pointer("/metadata/deletionTimestamp")
        .is_some_and(|time| !time.is_null())
}

fn labels(object: &Value) -> Option<BTreeMap<String, String>> {
    serde_json::from_value(object.pointer("/metadata/labels")?.clone()).ok()
}
