//! Default values of the built-in kinds: a small rule language and a table of rules per kind.
//!
//! `rules` has the language, `pods` the rules of pod templates, `workloads` and `others` those of the kinds. Rules run
//! on objects in their typed form ([`crate::codec`]).

mod others;
mod pods;
mod rules;
mod workloads;

use serde_json::Value;

use crate::ruled::RuledKind;
use rules::Rule;
pub(crate) use workloads::labels_from_template;

/// Fills in the defaults of a kind.
pub fn default(group: &str, kind: &str, object: &mut Value) {
    if let Some(object) = object.as_object_mut() {
        rules::apply(rules_of(group, kind), object);
    }
}

fn rules_of(group: &str, kind: &str) -> &'static [Rule] {
    let Some(kind) = RuledKind::find(group, kind) else {
        return &[];
    };
    match kind {
        RuledKind::Deployment => workloads::DEPLOYMENT,
        RuledKind::Job => workloads::JOB,
        RuledKind::Lease => others::LEASE,
        RuledKind::MutatingWebhookConfiguration => others::MUTATING_WEBHOOKS,
        RuledKind::Namespace => others::NAMESPACE,
        RuledKind::NetworkPolicy => others::NETWORK_POLICY,
        RuledKind::PersistentVolumeClaim => others::CLAIM,
        RuledKind::Pod => pods::POD,
        RuledKind::ReplicaSet => workloads::REPLICA_SET,
        RuledKind::ClusterRoleBinding | RuledKind::RoleBinding => others::ROLE_BINDING,
        RuledKind::Secret => others::SECRET,
        RuledKind::Service => others::SERVICE,
        RuledKind::StatefulSet => workloads::STATEFUL_SET,
        RuledKind::ValidatingWebhookConfiguration => others::VALIDATING_WEBHOOKS,
        // `crd` has the defaults of definitions.
        RuledKind::ClusterRole
        | RuledKind::ConfigMap
        | RuledKind::CustomResourceDefinition
        | RuledKind::Event
        | RuledKind::NewEvent
        | RuledKind::Role
        | RuledKind::ServiceAccount => &[],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::codec;

    fn defaulted(group: &str, kind: &str, mut object: Value) -> Value {
        assert_eq!(codec::decode(group, "v1", kind, &mut object), Ok(()));
        default(group, kind, &mut object);
        object
    }

    #[test]
    fn defaults_of_a_pod() {
        let pod = defaulted(
            "",
            "Pod",
            json!({"spec": {"containers": [
            {"name": "c", "image": "nginx", "livenessProbe": {"httpGet": {"port": 80}}},
        ], "volumes": [{"name": "v"}]}}),
        );
        assert_eq!(
            pod["spec"]["containers"][0],
            json!({
                "name": "c", "image": "nginx", "imagePullPolicy": "Always", "resources": {},
                "livenessProbe": {
                    "failureThreshold": 3, "httpGet": {"path": "/", "port": 80, "scheme": "HTTP"},
                    "periodSeconds": 10, "successThreshold": 1, "timeoutSeconds": 1,
                },
                "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
            })
        );
        assert_eq!(pod["spec"]["volumes"], json!([{"name": "v", "emptyDir": {}}]));
        assert_eq!(pod["spec"]["enableServiceLinks"], json!(true));
    }

    #[test]
    fn defaults_of_a_stateful_set_and_a_service() {
        let set = defaulted(
            "apps",
            "StatefulSet",
            json!({"spec": {"volumeClaimTemplates": [{"metadata": {"name": "d"}}]}}),
        );
        assert_eq!(
            set["spec"]["updateStrategy"],
            json!({"rollingUpdate": {"partition": 0}, "type": "RollingUpdate"})
        );
        assert_eq!(
            set["spec"]["volumeClaimTemplates"],
            json!([{
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "d"},
                "spec": {"resources": {}, "volumeMode": "Filesystem"}, "status": {"phase": "Pending"},
            }])
        );
        let service = defaulted("", "Service", json!({"spec": {"ports": [{"port": 80}]}}));
        assert_eq!(
            service["spec"],
            json!({
                "internalTrafficPolicy": "Cluster", "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
                "sessionAffinity": "None", "type": "ClusterIP",
            })
        );
    }

    #[test]
    fn a_job_completes_once() {
        let job = defaulted(
            "batch",
            "Job",
            json!({"spec": {"template": {"spec": {"restartPolicy": "Never"}}}}),
        );
        assert_eq!(
            (&job["spec"]["completions"], &job["spec"]["parallelism"]),
            (&json!(1), &json!(1))
        );
    }
}
