//! Reconciles a Work: applies or removes its object on the member, and reports the object's status in the Work.

use std::sync::Arc;

use baton_decide::aggregate::{self, Seen};
use baton_decide::api::policy::ConflictResolution;
use baton_decide::api::{Cluster, Work, WorkStatus};
use baton_decide::conditions::{self, ConditionUpdate};
use baton_decide::execute::{self, Action, Removal};
use baton_decide::keys::{self, ObjectKey, TemplateKey};
use baton_decide::names::{self, WORK_FINALIZER};
use baton_decide::works;
use jiff::{SignedDuration, Timestamp};
use kube::api::DeleteParams;
use serde_json::{Value, json};

use super::interpret;
use crate::context::{Context, Failure, Outcome, patiently};
use crate::error_chain::error_chain;
use crate::kinds::KindError;
use crate::object_api::{ObjectApi, Part, WriteError};
use crate::options::Deletion;
use crate::queue::Key;
use crate::source::{Source, resource};
use kube::core::ApiResource;

/// The member of a Work.
struct Member {
    client: kube::Client,
    resource: ApiResource,
    target: TemplateKey,
    source: Source,
}

impl Member {
    fn object_api(&self) -> ObjectApi<'_> {
        ObjectApi::new(&self.client, &self.resource, &self.target.key)
    }
}

/// Reconciles one Work.
pub async fn run(context: &Context, key: &ObjectKey) -> Outcome {
    let Some(work) = context.cache().work(key) else {
        return Ok(None);
    };
    let Some(name) = keys::cluster_of(&work).map(str::to_owned) else {
        return Ok(None);
    };
    let cluster = context.cache().cluster(&name).cloned();
    let Some(cluster) = cluster else {
        return without_cluster(context, key, &work).await;
    };
    match on_member(context, key, &work, &name, &cluster).await {
        Ok(again) => Ok(again),
        Err(Failure::Write(WriteError::Conflict { what })) => Err(WriteError::Conflict { what }.into()),
        Err(error) => {
            let why = error_chain(&error);
            tell_failure(context, key, &why).await?;
            Err(Failure::Blocked(why))
        }
    }
}

/// Releases a Work whose cluster has left the federation: nothing can be removed there.
async fn without_cluster(context: &Context, key: &ObjectKey, work: &Arc<Work>) -> Outcome {
    if work.is_being_deleted() {
        release(context, key).await?;
    }
    Ok(None)
}

async fn on_member(
    context: &Context,
    key: &ObjectKey,
    work: &Arc<Work>,
    name: &str,
    cluster: &Arc<Cluster>,
) -> Outcome {
    let Some(target) = keys::member_object(work) else {
        return finish(
            context,
            key,
            None,
            ConditionUpdate::no("Malformed", "the work names no object"),
        )
        .await;
    };
    let kinds = context.connect_to(name, cluster).await?;
    let found = match patiently(kinds.find(&target.gvk)).await {
        // A member that does not serve the kind cannot hold an object of it.
        Err(Failure::Kind(KindError::Unknown(_))) if work.is_being_deleted() => {
            return release(context, key).await.map(|()| None);
        }
        found => found?,
    };
    context.watch_objects(name, &target.gvk, &kinds, &found);
    let source = Source::Objects {
        cluster: name.to_owned(),
        gvk: target.gvk.clone(),
    };
    let member = Member {
        client: kinds.client().clone(),
        resource: found,
        target,
        source,
    };

    let present = look(context, &member, name).await?;
    let resolution = resolution(context, work);
    match execute::decide(work, present.as_deref(), resolution) {
        Action::Nothing => finish(context, key, present.map(|present| (&member, present)), applied()).await,
        Action::Malformed => {
            finish(
                context,
                key,
                None,
                ConditionUpdate::no("Malformed", "the work names no object"),
            )
            .await
        }
        Action::Conflict => {
            let why = format!(
                "{} already exists and is not managed by this controller",
                execute::describe(work)
            );
            finish(context, key, None, ConditionUpdate::no("Conflict", why)).await
        }
        // The binding is about to remove the Work.
        Action::Apply(_) if present.is_none() && !is_wanted(context, work, name) => Ok(in_a_while(context)),
        // The cache now has the Work as it was read: reconcile it again.
        Action::Apply(_) if present.is_none() && !is_current(context, key, work).await? => Ok(Some(context.now())),
        Action::Apply(object) => {
            let applied_object = match apply(&member, &object).await {
                // The member has no copy: it never had one (POL-09), or it was deleted (POL-22).
                Err(error) if present.is_none() && !matches!(error, Failure::Write(WriteError::Conflict { .. })) => {
                    not_applied(context, key, &error_chain(&error)).await?;
                    return Err(error);
                }
                other => other?,
            };
            context.note(&member.source, applied_object.clone());
            finish(context, key, Some((&member, Arc::new(applied_object))), applied()).await
        }
        Action::Delete { uid } => {
            let present = delete(context, &member, uid).await?;
            removed_or_wait(context, key, work, present.as_ref(), resolution).await
        }
        Action::AwaitRemoval(removal) => await_removal(context, key, work, &removal).await,
        Action::Release => release(context, key).await.map(|()| None),
    }
}

/// The time at which a Work that its binding has no use for is looked at again.
fn in_a_while(context: &Context) -> Option<Timestamp> {
    context.now().checked_add(SignedDuration::from_secs(1)).ok()
}

/// Returns false if the binding of a Work has no copy on its cluster any more. A Work that outlives a migration which was
/// called off creates no object: the next migration may be one under Directly (PRG-03).
fn is_wanted(context: &Context, work: &Work, cluster: &str) -> bool {
    let binding = keys::binding_of(work).and_then(|key| context.cache().binding(&key));
    binding.is_none_or(|binding| works::has_copy(&binding, cluster))
}

/// Reads a Work before its object is created, and returns true if it is as the cache has it. The cache of an instance that
/// has just taken over may be late: an object that is created for a Work that is gone would stay (PRG-12).
async fn is_current(context: &Context, key: &ObjectKey, work: &Work) -> Result<bool, Failure> {
    let Some(resource) = Source::Works.resource() else {
        return Ok(true);
    };
    let found = match patiently(context.object_api(&resource, key).get()).await {
        Ok(Some(found)) => found,
        Ok(None) => {
            context.note_missing(&Source::Works, key);
            return Ok(false);
        }
        // A leader that is cut off from the control plane goes by what it knows, as long as its lease holds.
        Err(Failure::Slow) => return Ok(true),
        Err(Failure::Write(error)) if !error.is_answer() => return Ok(true),
        Err(error) => return Err(error),
    };
    let (seen, metadata) = (&found["metadata"], &work.metadata);
    let is_current = seen["uid"].as_str() == metadata.uid.as_deref()
        && seen["generation"].as_i64() == metadata.generation
        && seen["deletionTimestamp"].is_null() != work.is_being_deleted();
    if !is_current {
        context.note(&Source::Works, found);
    }
    Ok(is_current)
}

fn applied() -> ConditionUpdate {
    ConditionUpdate::yes("AppliedSuccessful", "the object has been applied")
}

/// Returns the object on the member: from the watch if it is complete, otherwise by a request.
async fn look(context: &Context, member: &Member, name: &str) -> Result<Option<Arc<Value>>, Failure> {
    {
        let cache = context.cache();
        if let Some(table) = cache.objects(name, &member.target.gvk)
            && let Some(object) = table.get(&member.target.key).and_then(|object| object.get())
        {
            return Ok(Some(object));
        }
    }
    // The watch covers only our objects; an object that it lacks may exist and belong to others.
    Ok(patiently(member.object_api().get()).await?.map(Arc::new))
}

fn resolution(context: &Context, work: &Work) -> ConflictResolution {
    let cache = context.cache();
    let binding = keys::binding_of(work).and_then(|key| cache.binding(&key));
    binding
        .and_then(|binding| binding.spec.conflict_resolution)
        .unwrap_or_default()
}

/// Applies the object; creates its namespace if the member lacks it.
async fn apply(member: &Member, object: &Value) -> Result<Value, Failure> {
    match patiently(member.object_api().apply(object)).await {
        Err(Failure::Write(error)) if error.is_not_found() && member.target.key.namespace.is_some() => {
            make_namespace(member).await?;
            patiently(member.object_api().apply(object)).await
        }
        other => other,
    }
}

async fn make_namespace(member: &Member) -> Result<(), Failure> {
    let Some(name) = member.target.key.namespace.as_deref() else {
        return Ok(());
    };
    let kind = resource("", "v1", "Namespace", "namespaces");
    let labels = json!({names::MANAGED_LABEL: "true"});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}});
    match patiently(ObjectApi::new(&member.client, &kind, &ObjectKey::new(None, name)).create(&namespace)).await {
        Err(Failure::Write(error)) if error.is_already_exists() => Ok(()),
        other => other.map(drop),
    }
}

/// Deletes the object and returns what is left of it: an accepted deletion does not mean that the object is gone.
async fn delete(context: &Context, member: &Member, uid: Option<String>) -> Result<Option<Value>, Failure> {
    let params = match context.options().deletion {
        Deletion::Foreground => DeleteParams::foreground(),
        Deletion::Background => DeleteParams::background(),
    };
    patiently(member.object_api().delete(uid, params)).await?;
    let left = patiently(member.object_api().get()).await?;
    match &left {
        Some(object) => context.note(&member.source, object.clone()),
        None => context.note_missing(&member.source, &member.target.key),
    }
    Ok(left)
}

async fn removed_or_wait(
    context: &Context,
    key: &ObjectKey,
    work: &Arc<Work>,
    left: Option<&Value>,
    resolution: ConflictResolution,
) -> Outcome {
    match execute::decide(work, left, resolution) {
        Action::Release => release(context, key).await.map(|()| None),
        Action::AwaitRemoval(removal) => await_removal(context, key, work, &removal).await,
        // Reconcile again at once.
        _ => Ok(Some(context.now())),
    }
}

/// Reports in the Work what holds an object that is marked for deletion.
async fn await_removal(context: &Context, key: &ObjectKey, work: &Arc<Work>, removal: &Removal) -> Outcome {
    match removal.notice(context.now()) {
        Some(condition) if work.is_being_deleted() => {
            let mut status = work.status.clone();
            conditions::set(&mut status.conditions, conditions::REMOVED, condition, context.now());
            write_status(context, key, status).await?;
            Ok(None)
        }
        Some(condition) => finish(context, key, None, condition).await,
        None => Ok(removal.notice_at()),
    }
}

/// Releases the Work of an object that is gone.
async fn release(context: &Context, key: &ObjectKey) -> Result<(), Failure> {
    context.collected().remove(key);
    let Some(work) = context.cache().work(key) else {
        return Ok(());
    };
    let mut released = work.as_ref().clone();
    if let Some(finalizers) = &mut released.metadata.finalizers {
        finalizers.retain(|finalizer| finalizer != WORK_FINALIZER);
    }
    match context.change(&Source::Works, key, &work, &released, Part::Main).await {
        Err(error) if !error.is_not_found() => Err(error.into()),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Writes the observed status, and whether the object is applied.
async fn finish(
    context: &Context,
    key: &ObjectKey,
    object: Option<(&Member, Arc<Value>)>,
    condition: ConditionUpdate,
) -> Outcome {
    let Some(work) = context.cache().work(key) else {
        return Ok(None);
    };
    if work.is_being_deleted() {
        return Ok(None);
    }
    let interpreted = object
        .as_ref()
        .map(|(member, object)| interpret::health(context, &member.target.gvk, object));
    let seen = object.as_ref().zip(interpreted.as_ref());
    let seen = seen.map(|((member, object), interpreted)| Seen {
        object,
        resource: &member.resource.plural,
        health: interpreted.health,
    });
    let mut status = aggregate::work_status(&work, seen, context.now());
    conditions::set(&mut status.conditions, conditions::APPLIED, condition, context.now());
    if let Some(condition) = interpreted
        .as_ref()
        .and_then(|interpreted| interpreted.condition(&work))
    {
        let kind = conditions::HEALTH_INTERPRETED;
        conditions::set(&mut status.conditions, kind, condition, context.now());
    }
    write_status(context, key, status).await?;
    // A binding whose application was unhealthy when this instance started waits for the first status.
    if interpreted.is_some()
        && context.collected().insert(key.clone())
        && let Some(binding) = keys::binding_of(&work)
    {
        context.wake(Key::Binding(binding));
    }
    let news = interpreted.filter(|interpreted| interpreted.is_news(&work));
    if let Some(problem) = news.and_then(|interpreted| interpreted.problem) {
        interpret::tell(context, key, &work, &problem).await;
    }
    Ok(None)
}

async fn tell_failure(context: &Context, key: &ObjectKey, why: &str) -> Result<(), Failure> {
    let Some(work) = context.cache().work(key) else {
        return Ok(());
    };
    let now: Timestamp = context.now();
    let mut status = work.status.clone();
    if work.is_being_deleted() {
        let condition = ConditionUpdate::no(
            "OriginUnreachable",
            format!("{} cannot be removed: {why}", execute::describe(&work)),
        );
        conditions::set(&mut status.conditions, conditions::REMOVED, condition, now);
    } else if conditions::status(&status.conditions, conditions::APPLIED) != Some("True") {
        return not_applied(context, key, why).await;
    }
    write_status(context, key, status).await
}

/// Reports that the member has no copy, and why.
async fn not_applied(context: &Context, key: &ObjectKey, why: &str) -> Result<(), Failure> {
    let Some(work) = context.cache().work(key) else {
        return Ok(());
    };
    let mut status = work.status.clone();
    let condition = ConditionUpdate::no(
        "AppliedFailed",
        format!("{} cannot be applied: {why}", execute::describe(&work)),
    );
    conditions::set(&mut status.conditions, conditions::APPLIED, condition, context.now());
    write_status(context, key, status).await
}

async fn write_status(context: &Context, key: &ObjectKey, status: WorkStatus) -> Result<(), Failure> {
    let Some(work) = context.cache().work(key) else {
        return Ok(());
    };
    let mut changed = work.as_ref().clone();
    changed.status = status;
    match context.change(&Source::Works, key, &work, &changed, Part::Status).await {
        Err(error) if !error.is_not_found() => Err(error.into()),
        Ok(_) | Err(_) => Ok(()),
    }
}
