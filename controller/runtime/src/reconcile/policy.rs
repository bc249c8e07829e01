//! Reports errors in a policy that no schema can detect (VAL-02).

use baton_decide::keys::ObjectKey;
use baton_decide::preserve;

use crate::context::{Context, Outcome};
use crate::events::{self, About, EventType};

/// Reports the rules of a policy whose path does not parse.
pub async fn run(context: &Context, key: &ObjectKey) -> Outcome {
    let Some(policy) = context.cache().policy(key).cloned() else {
        return Ok(None);
    };
    let failover = policy.spec.failover.as_ref();
    let rules = [
        failover.and_then(|failover| failover.cluster.as_ref()?.state_preservation.as_ref()),
        failover.and_then(|failover| failover.application.as_ref()?.state_preservation.as_ref()),
    ];
    let problems: Vec<_> = rules.into_iter().flatten().flat_map(preserve::unparsable).collect();
    let kind = if key.namespace.is_some() {
        "PropagationPolicy"
    } else {
        "ClusterPropagationPolicy"
    };
    let about = About {
        api_version: "policy.karmada.io/v1alpha1".to_owned(),
        kind: kind.to_owned(),
        key: key.clone(),
        uid: policy.metadata.uid.clone(),
    };
    for problem in problems {
        events::publish(
            context,
            &about,
            EventType::Warning,
            "StatePathInvalid",
            &problem.to_string(),
        )
        .await;
    }
    Ok(None)
}
