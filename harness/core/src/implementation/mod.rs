//! Targets: checked descriptions of the implementation under test.
//!
//! - [`TargetSpec`]: a target file such as those below `fixtures/targets/`; [`read`](mod@read): its reader; [`shapes`]:
//!   its fields;
//! - `overlay`: differences between versions of the implementation, merged into the file before it is read;
//! - [`programs`]: the programs of a target that is started for every case;
//! - [`template`]: arguments of a command with places to fill in;
//! - [`setup`]: the gates and options of a target for a case, or the reasons why the target cannot run with them;
//! - [`switch`]: gates and options that enable features;
//! - [`baseline`]: known defects; [`versions`]: the versions of the implementation that have them.

pub mod baseline;
mod overlay;
pub mod programs;
pub mod read;
pub mod setup;
pub mod shapes;
pub mod switch;
pub mod template;
pub mod versions;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::Duration,
};

use crate::{
    case::model::{ControllerSetup, Phase},
    catalogue::DocumentClaims,
    metrics::Names,
    names::Feature,
    yaml::Diagnostic,
};

use serde::{Deserialize, Serialize};

use self::{baseline::Baseline, setup::Settable, switch::Switch, template::Template};

pub use programs::{ControlPlane, Exec};

/// Name and origin of an implementation, as reports show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Implementation {
    /// Name of the implementation.
    pub name: String,
    /// Version, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Address of its web site or repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Contacts for questions about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contact: Vec<String>,
}

impl Implementation {
    /// Returns an implementation of which only the name is known.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: None,
            url: None,
            contact: Vec::new(),
        }
    }
}

/// A checked target file.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetSpec {
    /// `metadata.name`.
    pub name: String,
    /// Path of the file. Relative commands begin in its folder.
    pub file: PathBuf,
    /// `spec.implementation`: the implementation under test.
    pub implementation: Implementation,
    /// `spec.features`: features that the implementation declares. A case that needs another one is unsupported.
    pub features: BTreeSet<Feature>,
    /// `spec.documents`: the specification documents that the implementation claims.
    pub documents: DocumentClaims,
    /// `spec.controller`: default gates and options, for cases that do not ask for others.
    pub controller: ControllerSetup,
    /// `spec.settable`: the gates and options that a restart for a case can change.
    pub settable: Settable,
    /// `spec.switches`: gates and options that enable features.
    pub switches: Vec<Switch>,
    /// `spec.timeouts`: a factor for all timeouts, and timeouts for single phases.
    pub timeouts: TargetTimeouts,
    /// `spec.controlPlane`: objects that the control plane needs before the programs start.
    pub control_plane: ControlPlane,
    /// `spec.commands`: commands of the target, by the names that cases use.
    pub commands: BTreeMap<String, Exec>,
    /// `spec.metrics`: address and names of the metrics.
    pub metrics: Option<MetricsSource>,
    /// `spec.run`: the way the target is started.
    pub run: Launch,
    /// `spec.baseline`: the known deviations.
    pub baseline: Baseline,
    /// Mistakes in the file that do not prevent a run, such as a renamed case in the baseline.
    pub warnings: Vec<Diagnostic>,
}

/// Timeouts of a target.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TargetTimeouts {
    /// Factor for all timeouts, including those below.
    pub factor: Option<f64>,
    /// Timeouts for single phases.
    pub phases: BTreeMap<Phase, Duration>,
    /// Time until the target reports that all members are ready, before the first step.
    pub ready: Option<Duration>,
    /// Extension of a case's bounds (`within`) on clusters with real time.
    pub slack: Option<Duration>,
}

impl TargetTimeouts {
    /// Returns the longest timeout, if any is given.
    pub fn longest(&self) -> Option<Duration> {
        self.phases.values().copied().chain(self.ready).max()
    }
}

/// Metrics of a target, in the text format of Prometheus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricsSource {
    /// URL of the metrics.
    pub url: Template,
    /// Names of the metrics in the implementation.
    pub names: Names,
}

/// The way a target is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launch {
    /// `reference: {}`: the reference controller, built in.
    Reference,
    /// `installed: {}`: a target that already runs against the control plane of the backend.
    Installed,
    /// `exec: …`: programs that are started for every case, in this order.
    Exec(Vec<Exec>),
}
