//! The columns per kind.

use super::Cell::{self, Age, At, Count, Length, Name, Of, OrNone};
use super::{Column, cells, objects, pods};
use crate::ruled::RuledKind;

const fn column(name: &'static str, cell: Cell) -> Column {
    Column {
        name,
        kind: "string",
        format: "",
        priority: 0,
        cell,
    }
}

const fn wide(name: &'static str, cell: Cell) -> Column {
    Column {
        priority: 1,
        ..column(name, cell)
    }
}

const fn integer(name: &'static str, cell: Cell) -> Column {
    Column {
        kind: "integer",
        ..column(name, cell)
    }
}

const NAME: Column = Column {
    format: "name",
    ..column("Name", Name)
};
const AGE: Column = column("Age", Age);
const CONTAINERS: Column = wide("Containers", Of(cells::container_names));
const IMAGES: Column = wide("Images", Of(cells::container_images));
const SELECTOR: Column = wide("Selector", Of(cells::label_selector));

/// Returns the columns of a kind; name and age if it has no others.
pub fn columns(group: &str, kind: &str) -> &'static [Column] {
    let Some(kind) = RuledKind::find(group, kind) else {
        return OTHER;
    };
    match kind {
        RuledKind::ClusterRole | RuledKind::CustomResourceDefinition | RuledKind::Role => CREATED_AT,
        RuledKind::ClusterRoleBinding | RuledKind::RoleBinding => BINDING,
        RuledKind::ConfigMap => CONFIG_MAP,
        RuledKind::Deployment => DEPLOYMENT,
        RuledKind::Event | RuledKind::NewEvent => EVENT,
        RuledKind::Job => JOB,
        RuledKind::Lease => LEASE,
        RuledKind::MutatingWebhookConfiguration | RuledKind::ValidatingWebhookConfiguration => WEBHOOKS,
        RuledKind::Namespace => NAMESPACE,
        RuledKind::NetworkPolicy => NETWORK_POLICY,
        RuledKind::PersistentVolumeClaim => CLAIM,
        RuledKind::Pod => POD,
        RuledKind::ReplicaSet => REPLICA_SET,
        RuledKind::Secret => SECRET,
        RuledKind::Service => SERVICE,
        RuledKind::ServiceAccount => OTHER,
        RuledKind::StatefulSet => STATEFUL_SET,
    }
}

const CONFIG_MAP: &[Column] = &[NAME, column("Data", Of(cells::data_count)), AGE];

const SECRET: &[Column] = &[
    NAME,
    column("Type", At(&["type"])),
    column("Data", Length(&["data"])),
    AGE,
];

const NAMESPACE: &[Column] = &[NAME, column("Status", At(&["status", "phase"])), AGE];

const LEASE: &[Column] = &[NAME, column("Holder", At(&["spec", "holderIdentity"])), AGE];

const STATEFUL_SET: &[Column] = &[
    NAME,
    column("Ready", Of(cells::ready_of_replicas)),
    AGE,
    CONTAINERS,
    IMAGES,
];

const NETWORK_POLICY: &[Column] = &[NAME, column("Pod-Selector", Of(cells::pod_selector)), AGE];

const WEBHOOKS: &[Column] = &[NAME, integer("Webhooks", Length(&["webhooks"])), AGE];

const OTHER: &[Column] = &[NAME, AGE];
const CREATED_AT: &[Column] = &[
    NAME,
    Column {
        kind: "date",
        ..column("Created At", At(&["metadata", "creationTimestamp"]))
    },
];

const POD: &[Column] = &[
    NAME,
    column("Ready", Of(pods::ready)),
    column("Status", Of(pods::status)),
    column("Restarts", Of(pods::restarts)),
    AGE,
    wide("IP", Of(pods::address)),
    wide("Node", OrNone(&["spec", "nodeName"])),
    wide("Nominated Node", OrNone(&["status", "nominatedNodeName"])),
    wide("Readiness Gates", OrNone(&["spec", "readinessGates"])),
];

const SERVICE: &[Column] = &[
    NAME,
    column("Type", At(&["spec", "type"])),
    column("Cluster-IP", Of(cells::service_address)),
    column("External-IP", Of(cells::external_address)),
    column("Port(s)", Of(cells::service_ports)),
    AGE,
    wide("Selector", Of(cells::map_selector)),
];

const EVENT: &[Column] = &[
    column("Last Seen", Of(objects::last_seen)),
    column("Type", At(&["type"])),
    column("Reason", At(&["reason"])),
    column("Object", Of(objects::event_object)),
    wide("Subobject", Of(objects::event_subobject)),
    wide("Source", Of(objects::event_source)),
    column("Message", Of(objects::event_message)),
    wide("First Seen", Of(objects::first_seen)),
    wide("Count", Of(objects::event_count)),
    Column {
        format: "name",
        ..wide("Name", Name)
    },
];

const CLAIM: &[Column] = &[
    NAME,
    column("Status", Of(objects::phase_or_terminating)),
    column("Volume", At(&["spec", "volumeName"])),
    column("Capacity", At(&["status", "capacity", "storage"])),
    column("Access Modes", Of(objects::access_modes)),
    column("StorageClass", At(&["spec", "storageClassName"])),
    column("VolumeAttributesClass", Of(objects::unset)),
    AGE,
    wide("VolumeMode", At(&["spec", "volumeMode"])),
];

const DEPLOYMENT: &[Column] = &[
    NAME,
    column("Ready", Of(cells::ready_of_replicas)),
    column("Up-to-date", Count(&["status", "updatedReplicas"])),
    column("Available", Count(&["status", "availableReplicas"])),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

const REPLICA_SET: &[Column] = &[
    NAME,
    integer("Desired", Count(&["spec", "replicas"])),
    integer("Current", Count(&["status", "replicas"])),
    integer("Ready", Count(&["status", "readyReplicas"])),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

const JOB: &[Column] = &[
    NAME,
    column("Status", Of(objects::job_status)),
    column("Completions", Of(objects::job_completions)),
    column("Duration", Of(objects::job_duration)),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

const BINDING: &[Column] = &[
    NAME,
    column("Role", Of(objects::role)),
    AGE,
    wide("Users", Of(objects::users)),
    wide("Groups", Of(objects::groups)),
    wide("ServiceAccounts", Of(objects::service_accounts)),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use baton_apimachinery::generated;

    use super::*;
    use crate::resources;

    /// Columns are defined next to their cells; the expected headings come from Kubernetes.
    #[test]
    fn columns_are_those_of_kubernetes() {
        let headings: BTreeMap<_, Vec<&str>> = generated::lines(include_str!("../generated/headings.txt"))
            .map(|line| ((line.name, line.words), line.items().collect()))
            .collect();
        let (mut compared, mut differences) = (0, Vec::new());
        for resource in resources::resources().filter(|resource| resource.stored) {
            let group = if resource.group.is_empty() {
                "core"
            } else {
                resource.group
            };
            let columns = columns(resource.group, resource.kind);
            let Some(expected) = headings
                .get(&(group, resource.kind))
                .filter(|_| columns.len() > OTHER.len())
            else {
                continue;
            };
            let own: Vec<String> = columns
                .iter()
                .map(|column| {
                    let format = if column.format.is_empty() { "-" } else { column.format };
                    format!("{} {} {format} {}", column.priority, column.kind, column.name)
                })
                .collect();
            if own != *expected {
                differences.push(format!("{group} {}: {own:?} and {expected:?}", resource.kind));
            }
            compared += 1;
        }
        assert_eq!(differences, Vec::<String>::new());
        assert!(compared > 12, "{compared}");
    }
}
