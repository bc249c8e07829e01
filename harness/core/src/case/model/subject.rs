//! Places, and subjects of steps.

use std::{collections::BTreeMap, fmt};

use serde::Serialize;

use crate::names::RoleName;

/// A cluster, or several, as a case names them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Place {
    /// `control`: the control plane.
    Control,
    /// `members`: every member.
    Members,
    /// The member that plays a role.
    Role(RoleName),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Control => f.pad("control"),
            Self::Members => f.pad("members"),
            Self::Role(role) => role.fmt(f),
        }
    }
}

/// Object: `{kind, name}`, with `namespace` (default `default`) and `apiVersion` where the kind alone does not say.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ObjectRef {
    /// `apiVersion`; for kinds that the case applies itself it is filled in from there.
    pub api_version: String,
    /// `kind`.
    pub kind: String,
    /// `namespace`, or nothing for cluster-scoped kinds.
    pub namespace: Option<String>,
    /// `name`.
    pub name: String,
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}

/// All workloads of a kind with some labels: `{kind, labels}`, with `namespace` and `apiVersion` as for one of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Workloads {
    /// `apiVersion`.
    pub api_version: String,
    /// `kind`.
    pub kind: String,
    /// `namespace`, or nothing for cluster-scoped kinds.
    pub namespace: Option<String>,
    /// `labels` that their templates have; all of the kind, if there are none.
    pub labels: BTreeMap<String, String>,
}

impl fmt::Display for Workloads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "every {}", self.kind)?;
        let labels: Vec<_> = self
            .labels
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        match labels.as_slice() {
            [] => Ok(()),
            labels => write!(f, " with {}", labels.join(",")),
        }
    }
}

/// Subject of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Subject {
    /// An object itself.
    Object(ObjectRef),
    /// `{bindingOf: …}`: the binding of a workload, on the control plane.
    BindingOf(ObjectRef),
    /// `{bindingsOf: …}`: the bindings of several workloads, on the control plane; they are counted.
    BindingsOf(Workloads),
    /// `{workOf: …, for: origin}`: the Work that carries a workload to a member, on the control plane.
    WorkOf {
        /// The workload.
        workload: ObjectRef,
        /// The member.
        member: RoleName,
    },
    /// `{cluster: origin}`: the Cluster object of a member, on the control plane.
    Cluster(RoleName),
    /// `{eventOf: …}`: any Event that is about one of these; matches if one of them does.
    EventOf(Vec<Subject>),
    /// `{noticeOf: …}`: what people can see about a workload since the last step that did something or waited: a Warning
    /// about it or its binding, or a condition of the binding, as a text; matches if one of them does.
    NoticeOf(ObjectRef),
    /// `{newsOf: …}`: any Event about a workload or its binding since the last step that did something or waited, as a
    /// text; matches if one of them does.
    NewsOf(ObjectRef),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object(object) => object.fmt(f),
            Self::BindingOf(workload) => write!(f, "the binding of {workload}"),
            Self::BindingsOf(workloads) => write!(f, "the bindings of {workloads}"),
            Self::WorkOf { workload, member } => write!(f, "the work of {workload} for {member}"),
            Self::Cluster(role) => write!(f, "the cluster {role}"),
            Self::EventOf(about) => {
                let about: Vec<_> = about.iter().map(ToString::to_string).collect();
                write!(f, "an event of {}", about.join(" or "))
            }
            Self::NoticeOf(workload) => write!(f, "a new warning or condition about {workload}"),
            Self::NewsOf(workload) => write!(f, "a new event about {workload}"),
        }
    }
}
