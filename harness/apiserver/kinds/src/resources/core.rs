//! The resources of the core group.

use super::Resource;
use super::groups::{CONNECT, CREATE, IN_ALL, PROXY, READ_WRITE, SCALE, STATUS, cluster, namespaced, sub};

const V1: (&str, &str) = ("", "v1");

/// `/api/v1`.
pub(super) const RESOURCES: &[Resource] = &[
    Resource {
        verbs: CREATE,
        stored: false,
        ..namespaced(V1, "Binding", "bindings", "binding")
    },
    Resource {
        short_names: &["cs"],
        verbs: &["get", "list"],
        stored: false,
        ..cluster(V1, "ComponentStatus", "componentstatuses", "componentstatus")
    },
    Resource {
        short_names: &["cm"],
        ..namespaced(V1, "ConfigMap", "configmaps", "configmap")
    },
    Resource {
        short_names: &["ep"],
        ..namespaced(V1, "Endpoints", "endpoints", "endpoints")
    },
    Resource {
        short_names: &["ev"],
        ..namespaced(V1, "Event", "events", "event")
    },
    Resource {
        short_names: &["limits"],
        ..namespaced(V1, "LimitRange", "limitranges", "limitrange")
    },
    Resource {
        short_names: &["ns"],
        verbs: &["create", "delete", "get", "list", "patch", "update", "watch"],
        subresources: &[sub("finalize", ("", "", ""), &["update"]), STATUS],
        ..cluster(V1, "Namespace", "namespaces", "namespace")
    },
    Resource {
        short_names: &["no"],
        subresources: &[sub("proxy", ("", "", "NodeProxyOptions"), PROXY), STATUS],
        ..cluster(V1, "Node", "nodes", "node")
    },
    Resource {
        short_names: &["pvc"],
        subresources: &[STATUS],
        ..namespaced(
            V1,
            "PersistentVolumeClaim",
            "persistentvolumeclaims",
            "persistentvolumeclaim",
        )
    },
    Resource {
        short_names: &["pv"],
        subresources: &[STATUS],
        ..cluster(V1, "PersistentVolume", "persistentvolumes", "persistentvolume")
    },
    Resource {
        short_names: &["po"],
        categories: IN_ALL,
        subresources: &[
            sub("attach", ("", "", "PodAttachOptions"), CONNECT),
            sub("binding", ("", "", "Binding"), CREATE),
            sub("ephemeralcontainers", ("", "", ""), READ_WRITE),
            sub("eviction", ("policy", "v1", "Eviction"), CREATE),
            sub("exec", ("", "", "PodExecOptions"), CONNECT),
            sub("log", ("", "", ""), &["get"]),
            sub("portforward", ("", "", "PodPortForwardOptions"), CONNECT),
            sub("proxy", ("", "", "PodProxyOptions"), PROXY),
            sub("resize", ("", "", ""), READ_WRITE),
            STATUS,
        ],
        ..namespaced(V1, "Pod", "pods", "pod")
    },
    namespaced(V1, "PodTemplate", "podtemplates", "podtemplate"),
    Resource {
        short_names: &["rc"],
        categories: IN_ALL,
        subresources: &[SCALE, STATUS],
        ..namespaced(
            V1,
            "ReplicationController",
            "replicationcontrollers",
            "replicationcontroller",
        )
    },
    Resource {
        short_names: &["quota"],
        subresources: &[STATUS],
        ..namespaced(V1, "ResourceQuota", "resourcequotas", "resourcequota")
    },
    namespaced(V1, "Secret", "secrets", "secret"),
    Resource {
        short_names: &["sa"],
        subresources: &[sub("token", ("authentication.k8s.io", "v1", "TokenRequest"), CREATE)],
        ..namespaced(V1, "ServiceAccount", "serviceaccounts", "serviceaccount")
    },
    Resource {
        short_names: &["svc"],
        categories: IN_ALL,
        subresources: &[sub("proxy", ("", "", "ServiceProxyOptions"), PROXY), STATUS],
        ..namespaced(V1, "Service", "services", "service")
    },
];
