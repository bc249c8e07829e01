//! The groups in the order of discovery, and the resources of all but the core group.

use super::{ALL_VERBS, Group, Resource, Subresource, Version, core};

pub(super) const READ_WRITE: &[&str] = &["get", "patch", "update"];
pub(super) const CREATE: &[&str] = &["create"];
pub(super) const CONNECT: &[&str] = &["create", "get"];
pub(super) const PROXY: &[&str] = &["create", "delete", "get", "patch", "update"];
pub(super) const IN_ALL: &[&str] = &["all"];
const API_EXTENSIONS: &[&str] = &["api-extensions"];
pub(super) const STATUS: Subresource = sub("status", ("", "", ""), READ_WRITE);
pub(super) const SCALE: Subresource = sub("scale", ("autoscaling", "v1", "Scale"), READ_WRITE);

/// A subresource and the (group, version, kind) it speaks.
pub(super) const fn sub(
    name: &'static str,
    speaks: (&'static str, &'static str, &'static str),
    verbs: &'static [&'static str],
) -> Subresource {
    let (group, version, kind) = speaks;
    Subresource {
        name,
        group,
        version,
        kind,
        verbs,
    }
}

/// A stored resource with objects in namespaces and all verbs.
pub(super) const fn namespaced(
    of: (&'static str, &'static str),
    kind: &'static str,
    plural: &'static str,
    singular: &'static str,
) -> Resource {
    let (group, version) = of;
    Resource {
        group,
        version,
        kind,
        plural,
        singular,
        short_names: &[],
        categories: &[],
        namespaced: true,
        verbs: ALL_VERBS,
        subresources: &[],
        stored: true,
    }
}

/// A stored resource with objects outside of namespaces and all verbs.
pub(super) const fn cluster(
    of: (&'static str, &'static str),
    kind: &'static str,
    plural: &'static str,
    singular: &'static str,
) -> Resource {
    Resource {
        namespaced: false,
        ..namespaced(of, kind, plural, singular)
    }
}

/// All groups.
pub(super) const ALL: &[Group] = &[
    Group {
        name: "",
        versions: &[Version {
            name: "v1",
            resources: core::RESOURCES,
        }],
    },
    Group {
        name: "apps",
        versions: &[Version {
            name: "v1",
            resources: APPS_RESOURCES,
        }],
    },
    Group {
        name: "events.k8s.io",
        versions: &[Version {
            name: "v1",
            resources: EVENTS_RESOURCES,
        }],
    },
    Group {
        name: "authentication.k8s.io",
        versions: &[Version {
            name: "v1",
            resources: AUTHENTICATION_RESOURCES,
        }],
    },
    Group {
        name: "authorization.k8s.io",
        versions: &[Version {
            name: "v1",
            resources: AUTHORIZATION_RESOURCES,
        }],
    },
    Group {
        name: "autoscaling",
        versions: &[
            Version {
                name: "v2",
                resources: &[autoscaler("v2")],
            },
            Version {
                name: "v1",
                resources: &[autoscaler("v1")],
            },
        ],
    },
    Group {
        name: "batch",
        versions: &[Version {
            name: "v1",
            resources: BATCH_RESOURCES,
        }],
    },
    Group {
        name: "certificates.k8s.io",
        versions: &[Version {
            name: "v1",
            resources: CERTIFICATES_RESOURCES,
        }],
    },
    Group {
        name: "networking.k8s.io",
        versions: &[Version {
            name: "v1",
            resources: NETWORKING_RESOURCES,
        }],
    },
    Group {
        name: "policy",
        versions: &[Version {
            name: "v1",
            resources: POLICY_RESOURCES,
        }],
    },
    Group {
        name: "rbac.authorization.k8s.io",
        versions: &[Version {
            name: "v1",
            resources: RBAC_RESOURCES,
        }],
    },
    Group {
        name: "storage.k8s.io",
        versions: &[Version {
            name: "v1",
            resources: STORAGE_RESOURCES,
        }],
    },
    Group {
        name: "admissionregistration.k8s.io",
        versions: &[Version {
            name: "v1",
            resources: ADMISSIONREGISTRATION_RESOURCES,
        }],
    },
    Group {
        name: "apiextensions.k8s.io",
        versions: &[Version {
            name: "v1",
            resources: APIEXTENSIONS_RESOURCES,
        }],
    },
    Group {
        name: "scheduling.k8s.io",
        versions: &[Version {
            name: "v1",
            resources: SCHEDULING_RESOURCES,
        }],
    },
    Group {
        name: "coordination.k8s.io",
        versions: &[Version {
            name: "v1",
            resources: COORDINATION_RESOURCES,
        }],
    },
    Group {
        name: "node.k8s.io",
        versions: &[Version {
            name: "v1",
            resources: NODE_RESOURCES,
        }],
    },
    Group {
        name: "discovery.k8s.io",
        versions: &[Version {
            name: "v1",
            resources: DISCOVERY_RESOURCES,
        }],
    },
];

const APPS: (&str, &str) = ("apps", "v1");
const EVENTS: (&str, &str) = ("events.k8s.io", "v1");
const AUTHENTICATION: (&str, &str) = ("authentication.k8s.io", "v1");
const AUTHORIZATION: (&str, &str) = ("authorization.k8s.io", "v1");
const BATCH: (&str, &str) = ("batch", "v1");
const CERTIFICATES: (&str, &str) = ("certificates.k8s.io", "v1");
const NETWORKING: (&str, &str) = ("networking.k8s.io", "v1");
const POLICY: (&str, &str) = ("policy", "v1");
const RBAC: (&str, &str) = ("rbac.authorization.k8s.io", "v1");
const STORAGE: (&str, &str) = ("storage.k8s.io", "v1");
const ADMISSIONREGISTRATION: (&str, &str) = ("admissionregistration.k8s.io", "v1");
const APIEXTENSIONS: (&str, &str) = ("apiextensions.k8s.io", "v1");
const SCHEDULING: (&str, &str) = ("scheduling.k8s.io", "v1");
const COORDINATION: (&str, &str) = ("coordination.k8s.io", "v1");
const NODE: (&str, &str) = ("node.k8s.io", "v1");
const DISCOVERY: (&str, &str) = ("discovery.k8s.io", "v1");

const APPS_RESOURCES: &[Resource] = &[
    namespaced(APPS, "ControllerRevision", "controllerrevisions", "controllerrevision"),
    Resource {
        short_names: &["ds"],
        categories: IN_ALL,
        subresources: &[STATUS],
        ..namespaced(APPS, "DaemonSet", "daemonsets", "daemonset")
    },
    Resource {
        short_names: &["deploy"],
        categories: IN_ALL,
        subresources: &[SCALE, STATUS],
        ..namespaced(APPS, "Deployment", "deployments", "deployment")
    },
    Resource {
        short_names: &["rs"],
        categories: IN_ALL,
        subresources: &[SCALE, STATUS],
        ..namespaced(APPS, "ReplicaSet", "replicasets", "replicaset")
    },
    Resource {
        short_names: &["sts"],
        categories: IN_ALL,
        subresources: &[SCALE, STATUS],
        ..namespaced(APPS, "StatefulSet", "statefulsets", "statefulset")
    },
];

const EVENTS_RESOURCES: &[Resource] = &[Resource {
    short_names: &["ev"],
    ..namespaced(EVENTS, "Event", "events", "event")
}];

const AUTHENTICATION_RESOURCES: &[Resource] = &[
    Resource {
        verbs: CREATE,
        stored: false,
        ..cluster(
            AUTHENTICATION,
            "SelfSubjectReview",
            "selfsubjectreviews",
            "selfsubjectreview",
        )
    },
    Resource {
        verbs: CREATE,
        stored: false,
        ..cluster(AUTHENTICATION, "TokenReview", "tokenreviews", "tokenreview")
    },
];

const AUTHORIZATION_RESOURCES: &[Resource] = &[
    Resource {
        verbs: CREATE,
        stored: false,
        ..namespaced(
            AUTHORIZATION,
            "LocalSubjectAccessReview",
            "localsubjectaccessreviews",
            "localsubjectaccessreview",
        )
    },
    Resource {
        verbs: CREATE,
        stored: false,
        ..cluster(
            AUTHORIZATION,
            "SelfSubjectAccessReview",
            "selfsubjectaccessreviews",
            "selfsubjectaccessreview",
        )
    },
    Resource {
        verbs: CREATE,
        stored: false,
        ..cluster(
            AUTHORIZATION,
            "SelfSubjectRulesReview",
            "selfsubjectrulesreviews",
            "selfsubjectrulesreview",
        )
    },
    Resource {
        verbs: CREATE,
        stored: false,
        ..cluster(
            AUTHORIZATION,
            "SubjectAccessReview",
            "subjectaccessreviews",
            "subjectaccessreview",
        )
    },
];

/// The only resource of its group, in one of its versions.
const fn autoscaler(version: &'static str) -> Resource {
    Resource {
        short_names: &["hpa"],
        categories: IN_ALL,
        subresources: &[STATUS],
        ..namespaced(
            ("autoscaling", version),
            "HorizontalPodAutoscaler",
            "horizontalpodautoscalers",
            "horizontalpodautoscaler",
        )
    }
}

const BATCH_RESOURCES: &[Resource] = &[
    Resource {
        short_names: &["cj"],
        categories: IN_ALL,
        subresources: &[STATUS],
        ..namespaced(BATCH, "CronJob", "cronjobs", "cronjob")
    },
    Resource {
        categories: IN_ALL,
        subresources: &[STATUS],
        ..namespaced(BATCH, "Job", "jobs", "job")
    },
];

const CERTIFICATES_RESOURCES: &[Resource] = &[Resource {
    short_names: &["csr"],
    subresources: &[sub("approval", ("", "", ""), READ_WRITE), STATUS],
    ..cluster(
        CERTIFICATES,
        "CertificateSigningRequest",
        "certificatesigningrequests",
        "certificatesigningrequest",
    )
}];

const NETWORKING_RESOURCES: &[Resource] = &[
    cluster(NETWORKING, "IngressClass", "ingressclasses", "ingressclass"),
    Resource {
        short_names: &["ing"],
        subresources: &[STATUS],
        ..namespaced(NETWORKING, "Ingress", "ingresses", "ingress")
    },
    Resource {
        short_names: &["ip"],
        ..cluster(NETWORKING, "IPAddress", "ipaddresses", "ipaddress")
    },
    Resource {
        short_names: &["netpol"],
        ..namespaced(NETWORKING, "NetworkPolicy", "networkpolicies", "networkpolicy")
    },
    Resource {
        subresources: &[STATUS],
        ..cluster(NETWORKING, "ServiceCIDR", "servicecidrs", "servicecidr")
    },
];

const POLICY_RESOURCES: &[Resource] = &[Resource {
    short_names: &["pdb"],
    subresources: &[STATUS],
    ..namespaced(
        POLICY,
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        "poddisruptionbudget",
    )
}];

const RBAC_RESOURCES: &[Resource] = &[
    cluster(RBAC, "ClusterRoleBinding", "clusterrolebindings", "clusterrolebinding"),
    cluster(RBAC, "ClusterRole", "clusterroles", "clusterrole"),
    namespaced(RBAC, "RoleBinding", "rolebindings", "rolebinding"),
    namespaced(RBAC, "Role", "roles", "role"),
];

const STORAGE_RESOURCES: &[Resource] = &[
    cluster(STORAGE, "CSIDriver", "csidrivers", "csidriver"),
    cluster(STORAGE, "CSINode", "csinodes", "csinode"),
    namespaced(
        STORAGE,
        "CSIStorageCapacity",
        "csistoragecapacities",
        "csistoragecapacity",
    ),
    Resource {
        short_names: &["sc"],
        ..cluster(STORAGE, "StorageClass", "storageclasses", "storageclass")
    },
    Resource {
        subresources: &[STATUS],
        ..cluster(STORAGE, "VolumeAttachment", "volumeattachments", "volumeattachment")
    },
    Resource {
        short_names: &["vac"],
        ..cluster(
            STORAGE,
            "VolumeAttributesClass",
            "volumeattributesclasses",
            "volumeattributesclass",
        )
    },
];

const ADMISSIONREGISTRATION_RESOURCES: &[Resource] = &[
    Resource {
        categories: API_EXTENSIONS,
        ..cluster(
            ADMISSIONREGISTRATION,
            "MutatingWebhookConfiguration",
            "mutatingwebhookconfigurations",
            "mutatingwebhookconfiguration",
        )
    },
    Resource {
        categories: API_EXTENSIONS,
        subresources: &[STATUS],
        ..cluster(
            ADMISSIONREGISTRATION,
            "ValidatingAdmissionPolicy",
            "validatingadmissionpolicies",
            "validatingadmissionpolicy",
        )
    },
    Resource {
        categories: API_EXTENSIONS,
        ..cluster(
            ADMISSIONREGISTRATION,
            "ValidatingAdmissionPolicyBinding",
            "validatingadmissionpolicybindings",
            "validatingadmissionpolicybinding",
        )
    },
    Resource {
        categories: API_EXTENSIONS,
        ..cluster(
            ADMISSIONREGISTRATION,
            "ValidatingWebhookConfiguration",
            "validatingwebhookconfigurations",
            "validatingwebhookconfiguration",
        )
    },
];

const APIEXTENSIONS_RESOURCES: &[Resource] = &[Resource {
    short_names: &["crd", "crds"],
    categories: API_EXTENSIONS,
    subresources: &[STATUS],
    ..cluster(
        APIEXTENSIONS,
        "CustomResourceDefinition",
        "customresourcedefinitions",
        "customresourcedefinition",
    )
}];

const SCHEDULING_RESOURCES: &[Resource] = &[Resource {
    short_names: &["pc"],
    ..cluster(SCHEDULING, "PriorityClass", "priorityclasses", "priorityclass")
}];

const COORDINATION_RESOURCES: &[Resource] = &[namespaced(COORDINATION, "Lease", "leases", "lease")];

const NODE_RESOURCES: &[Resource] = &[cluster(NODE, "RuntimeClass", "runtimeclasses", "runtimeclass")];

const DISCOVERY_RESOURCES: &[Resource] = &[namespaced(
    DISCOVERY,
    "EndpointSlice",
    "endpointslices",
    "endpointslice",
)];
