//! Applies the object of a Work to its member, keeps it up to date, and removes it.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::api::Work;
use crate::api::policy::ConflictResolution;
use crate::conditions::ConditionUpdate;
use crate::keys::{self, TemplateKey};
use crate::manifest;
use crate::names;

/// Time that a member may take to delete dependents of an object before the delay is reported.
const CLEAN_UP: SignedDuration = SignedDuration::from_secs(5);

/// Action to take on the member.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Do nothing: the object is up to date.
    Nothing,
    /// Apply this object.
    Apply(Value),
    /// Delete the object with this UID.
    Delete {
        /// UID of the object to delete, so that a later object of the same name is not deleted.
        uid: Option<String>,
    },
    /// Wait until the object, which is marked for deletion, is absent (PRG-02).
    AwaitRemoval(Removal),
    /// Release the Work: the object is gone.
    Release,
    /// Report a conflict: an unmanaged object of the same name exists.
    Conflict,
    /// Report that the Work contains no object.
    Malformed,
}

/// An object that is marked for deletion and still exists.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Removal {
    /// Finalizers that hold the object.
    pub held_by: Vec<String>,
    /// Time at which the object was marked for deletion.
    pub since: Option<Timestamp>,
}

impl Removal {
    /// Returns the time from which the removal is reported: at once if a foreign finalizer holds the object, after a
    /// delay if only the member's garbage collection does.
    pub fn notice_at(&self) -> Option<Timestamp> {
        let own = ["foregroundDeletion", "orphan"];
        if self.held_by.iter().any(|finalizer| !own.contains(&finalizer.as_str())) {
            return self.since;
        }
        self.since.and_then(|since| since.checked_add(CLEAN_UP).ok())
    }

    /// Returns the condition to report, if the removal has taken long enough.
    pub fn notice(&self, now: Timestamp) -> Option<ConditionUpdate> {
        let is_late = self.notice_at().is_none_or(|at| at <= now);
        let holders = if self.held_by.is_empty() {
            "its grace period".to_owned()
        } else {
            self.held_by.join(", ")
        };
        is_late.then(|| {
            ConditionUpdate::no(
                "OriginHeld",
                format!("the object is marked for deletion and held by {holders}"),
            )
        })
    }
}

/// Decides the action for the member's object; `present` is `None` if the object is absent.
pub fn decide(work: &Work, present: Option<&Value>, resolution: ConflictResolution) -> Action {
    let ours = present.filter(|object| is_ours(object, work));
    if work.is_being_deleted() {
        return removal(work, ours);
    }
    if keys::member_object(work).is_none() {
        return Action::Malformed;
    }
    let Some(wanted) = with_hash(work) else {
        return Action::Malformed;
    };
    match (present, ours) {
        (Some(_), Some(object)) if is_marked(object) => Action::AwaitRemoval(removal_of(object)),
        (Some(_), Some(object)) if hash_of(object) == hash_of(&wanted) => Action::Nothing,
        (Some(_), None) if resolution == ConflictResolution::Abort => Action::Conflict,
        (None | Some(_), _) => Action::Apply(wanted),
    }
}

fn removal(work: &Work, ours: Option<&Value>) -> Action {
    if !work.has_finalizer(names::WORK_FINALIZER) {
        return Action::Nothing;
    }
    match ours {
        None => Action::Release,
        Some(_) if work.spec.preserve_resources_on_deletion == Some(true) => Action::Release,
        Some(object) if is_marked(object) => Action::AwaitRemoval(removal_of(object)),
        Some(object) => Action::Delete {
            uid: object
                .pointer("/metadata/uid")
                .and_then(Value::as_str)
                .map(str::to_owned),
        },
    }
}

/// Returns namespace and name of the Work that an object on a member belongs to.
pub fn work_of(object: &Value) -> Option<(&str, &str)> {
    let annotations = object.pointer("/metadata/annotations")?;
    Some((
        annotations.get(names::WORK_NAMESPACE)?.as_str()?,
        annotations.get(names::WORK_NAME)?.as_str()?,
    ))
}

/// Describes the object of a Work for messages.
pub fn describe(work: &Work) -> String {
    keys::member_object(work)
        .as_ref()
        .map_or_else(|| "an object".to_owned(), TemplateKey::to_string)
}

fn is_ours(object: &Value, work: &Work) -> bool {
    work_of(object) == Some((work.namespace().unwrap_or_default(), work.name()))
}

fn is_marked(object: &Value) -> bool {
    object
        .pointer("/metadata/deletionTimestamp")
        .is_some_and(|time| !time.is_null())
}

fn removal_of(object: &Value) -> Removal {
    let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    let since = object.pointer("/metadata/deletionTimestamp").and_then(Value::as_str);
    Removal {
        held_by: finalizers
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        since: since.and_then(|since| since.parse().ok()),
    }
}

fn with_hash(work: &Work) -> Option<Value> {
    let mut object = work.spec.workload.manifests.first()?.clone();
    let hash = names::hash(serde_json::to_string(&object).ok()?.as_bytes());
    manifest::add_annotations(&mut object, [(names::MANIFEST_HASH, hash.as_str())]);
    Some(object)
}

fn hash_of(object: &Value) -> Option<&str> {
    object
        .pointer("/metadata/annotations")?
        .get(names::MANIFEST_HASH)?
        .as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use serde_json::json;

    fn work(replicas: i32) -> Work {
        serde_json::from_value(json!({
            "metadata": {"name": "deploy-1", "namespace": "karmada-es-member1", "finalizers": [names::WORK_FINALIZER]},
            "spec": {"workload": {"manifests": [{
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "deploy", "namespace": "ns",
                    "annotations": {names::WORK_NAME: "deploy-1", names::WORK_NAMESPACE: "karmada-es-member1"}},
                "spec": {"replicas": replicas}
            }]}}
        }))
        .unwrap()
    }

    fn deleted(mut work: Work) -> Work {
        work.metadata.deletion_timestamp = Some(Time(crate::testing::at(0)));
        work
    }

    fn applied(work: &Work) -> Value {
        match decide(work, None, ConflictResolution::Abort) {
            Action::Apply(object) => object,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn made_once_and_changed_with_its_manifest() {
        let object = applied(&work(2));
        assert_eq!(
            decide(&work(2), Some(&object), ConflictResolution::Abort),
            Action::Nothing
        );
        assert!(matches!(
            decide(&work(3), Some(&object), ConflictResolution::Abort),
            Action::Apply(_)
        ));
    }

    #[test]
    fn an_object_of_someone_else_is_left_alone() {
        let foreign = json!({"metadata": {"name": "deploy"}});
        assert_eq!(
            decide(&work(2), Some(&foreign), ConflictResolution::Abort),
            Action::Conflict
        );
        assert!(matches!(
            decide(&work(2), Some(&foreign), ConflictResolution::Overwrite),
            Action::Apply(_)
        ));
        assert_eq!(
            decide(&deleted(work(2)), Some(&foreign), ConflictResolution::Overwrite),
            Action::Release
        );
    }

    #[test]
    fn the_work_goes_only_when_the_object_is_absent() {
        let mut object = applied(&work(2));
        object["metadata"]["uid"] = json!("u");
        let ending = deleted(work(2));
        assert_eq!(
            decide(&ending, Some(&object), ConflictResolution::Abort),
            Action::Delete { uid: Some("u".into()) }
        );
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        object["metadata"]["finalizers"] = json!(["hold"]);
        assert_eq!(
            decide(&ending, Some(&object), ConflictResolution::Abort),
            Action::AwaitRemoval(Removal {
                held_by: vec!["hold".into()],
                since: Some(crate::testing::at(0))
            })
        );
        assert_eq!(decide(&ending, None, ConflictResolution::Abort), Action::Release);
    }
}
