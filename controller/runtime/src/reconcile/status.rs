//! Updates the status of a binding: the status of its Works, and obstacles to a failover.

use baton_decide::aggregate;
use baton_decide::api::{Binding, BindingStatus, Work};
use baton_decide::conditions::{self, ConditionUpdate};
use baton_decide::keys::ObjectKey;
use baton_decide::preserve;

use super::notes::Notes;
use super::view::{View, gather};
use crate::context::{Context, Failure};
use crate::events::{self, About, EventType};
use crate::object_api::Part;
use crate::source::Source;

/// Reason of the event that a binding cannot be evicted at present.
const NOT_EVICTED: &str = "EvictWorkloadFromClusterFailed";

/// Gathers a binding. If the binding must leave the cluster, first writes the status that its Works report to the
/// binding, because the state to preserve is read from there (STP-11).
pub async fn gather_collected(
    context: &Context,
    key: &ObjectKey,
    cluster: &str,
    leaves: impl Fn(&View) -> bool,
) -> Result<Option<View>, Failure> {
    let Some(view) = gather(context, key) else {
        return Ok(None);
    };
    let shown = aggregate::collected(&view.binding.status, cluster);
    let present = aggregate::binding_status(&view.binding, &view.works, context.now());
    if aggregate::collected(&present, cluster) == shown || !leaves(&view) {
        return Ok(Some(view));
    }
    let mut changed = view.binding.as_ref().clone();
    changed.status = present;
    let source = Source::bindings(key.namespace.as_deref());
    context
        .change(&source, key, &view.binding, &changed, Part::Status)
        .await?;
    Ok(gather(context, key))
}

/// Writes the binding's status, and events on binding and resource about evictions and about failovers that are blocked
/// or unblocked.
pub async fn run(context: &Context, key: &ObjectKey, notes: &Notes) -> Result<(), Failure> {
    let Some(view) = gather(context, key) else {
        return Ok(());
    };
    let now = context.now();
    let mut status = aggregate::binding_status(&view.binding, &view.works, now);
    if let Some(scheduled) = &notes.scheduled {
        conditions::set(&mut status.conditions, conditions::SCHEDULED, scheduled.clone(), now);
    }
    let blocked = notes
        .blocked
        .clone()
        .or_else(|| obstacle(&view, notes.scheduled.as_ref()));
    let over = ConditionUpdate::no("NotBlocked", "the failover is no longer blocked");
    set_while(&mut status, conditions::FAILOVER_BLOCKED, blocked, over, now);
    let over = ConditionUpdate::no("NotPending", "no eviction is waiting");
    set_while(
        &mut status,
        conditions::EVICTION_PENDING,
        notes.pending.clone(),
        over,
        now,
    );
    let before = conditions::get(&view.binding.status.conditions, conditions::FAILOVER_BLOCKED).cloned();
    let after = conditions::get(&status.conditions, conditions::FAILOVER_BLOCKED).cloned();
    let mut changed = view.binding.as_ref().clone();
    changed.status = status;
    let source = Source::bindings(key.namespace.as_deref());
    let is_new = context
        .change(&source, key, &view.binding, &changed, Part::Status)
        .await?;
    let mut events: Vec<(EventType, &str, &str)> = notes
        .events
        .iter()
        .map(|(reason, message)| (EventType::Normal, *reason, message.as_str()))
        .collect();
    if is_new && let Some(after) = after.as_ref().filter(|after| before.as_ref() != Some(after)) {
        let event_type = if after.status == "True" {
            EventType::Warning
        } else {
            EventType::Normal
        };
        let reason = if notes.blocked.is_some() {
            NOT_EVICTED
        } else {
            &after.reason
        };
        events.push((event_type, reason, &after.message));
    }
    for (event_type, reason, message) in events {
        for about in concerned(&view.binding, key) {
            events::publish(context, &about, event_type, reason, message).await;
        }
    }
    Ok(())
}

/// Sets a condition that appears when there is something to report, and becomes `False` afterwards.
fn set_while(
    status: &mut BindingStatus,
    type_: &str,
    condition: Option<ConditionUpdate>,
    over: ConditionUpdate,
    now: jiff::Timestamp,
) {
    let was_true = conditions::status(&status.conditions, type_) == Some("True");
    if let Some(condition) = condition.or(was_true.then_some(over)) {
        conditions::set(&mut status.conditions, type_, condition, now);
    }
}

/// Returns an obstacle to a failover apart from the eviction: an old copy that cannot be removed (PRG-02, PRG-04), no
/// fitting cluster (GRE-02), rules that can never work (VAL-02).
fn obstacle(view: &View, scheduled: Option<&ConditionUpdate>) -> Option<ConditionUpdate> {
    let spec = &view.binding.spec;
    let stuck = view.works.iter().find_map(|(cluster, work)| stuck(cluster, work));
    let homeless = || {
        let fits_none = scheduled.is_some_and(|scheduled| scheduled.reason == "NoClusterFits");
        let is_homeless = fits_none && !spec.graceful_eviction_tasks.is_empty();
        let what = if view.works.is_empty() {
            "it runs nowhere"
        } else {
            "the old copy stays"
        };
        let tasks = spec.graceful_eviction_tasks.iter();
        let from: Vec<&str> = tasks.map(|task| task.from_cluster.as_str()).collect();
        is_homeless.then(|| {
            let from = from.join(" and ");
            ConditionUpdate::yes(
                "NoClusterFits",
                format!("was evicted from {from}, and no other cluster fits at present; {what}"),
            )
        })
    };
    let rules = || {
        let preservation = spec.failover.as_ref()?.cluster.as_ref()?.state_preservation.as_ref()?;
        let problem = preserve::unparsable(preservation).into_iter().next()?;
        Some(ConditionUpdate::yes(
            "StatePathInvalid",
            format!("a failover would be blocked: {problem}"),
        ))
    };
    stuck.or_else(homeless).or_else(rules)
}

fn stuck(cluster: &str, work: &Work) -> Option<ConditionUpdate> {
    let removed = conditions::get(&work.status.conditions, conditions::REMOVED)?;
    (work.is_being_deleted() && removed.status == "False").then(|| {
        ConditionUpdate::yes(
            removed.reason.clone(),
            format!("old copy on {cluster} is not gone yet: {}", removed.message),
        )
    })
}

/// Returns binding and resource: events appear on both.
pub(super) fn concerned(binding: &Binding, key: &ObjectKey) -> [About; 2] {
    let kind = if key.namespace.is_some() {
        "ResourceBinding"
    } else {
        "ClusterResourceBinding"
    };
    let resource = &binding.spec.resource;
    [
        About {
            api_version: "work.karmada.io/v1alpha2".to_owned(),
            kind: kind.to_owned(),
            key: key.clone(),
            uid: binding.metadata.uid.clone(),
        },
        About {
            api_version: resource.api_version.clone(),
            kind: resource.kind.clone(),
            key: ObjectKey {
                namespace: resource.namespace.clone(),
                name: resource.name.clone(),
            },
            uid: resource.uid.clone(),
        },
    ]
}
