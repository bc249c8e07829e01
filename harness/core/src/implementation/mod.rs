//! Targets: what people write of the implementation under test, checked.
//!
//! - [`TargetSpec`]: a file such as those below `fixtures/targets/`; [`read`](mod@read): reads one; [`shapes`]: what it may
//!   hold;
//! - `overlay`: what differs from one version of the implementation to another, laid over the rest before it is read;
//! - [`programs`]: what a target consists of that is started for every case;
//! - [`template`]: arguments of a command with places to fill in;
//! - [`setup`]: what a case asks of a target, and whether the target can be had that way;
//! - [`switch`]: what switches features on;
//! - [`baseline`]: the defects that are known; [`versions`]: the versions of the implementation that have them.

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

/// Who an implementation is, as a report says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Implementation {
    /// Its name.
    pub name: String,
    /// Its version, if it tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Where it is to be found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Who answers questions about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contact: Vec<String>,
}

impl Implementation {
    /// One of which only the name is known.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: None,
            url: None,
            contact: Vec::new(),
        }
    }
}

/// A target, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetSpec {
    /// `metadata.name`.
    pub name: String,
    /// The file it was read from; its folder is where relative commands begin.
    pub file: PathBuf,
    /// `spec.implementation`: what is under test.
    pub implementation: Implementation,
    /// `spec.features`: what it declares. A case that needs another one is unsupported.
    pub features: BTreeSet<Feature>,
    /// `spec.documents`: the specification documents that it claims.
    pub documents: DocumentClaims,
    /// `spec.controller`: the gates and options that it runs with where a case does not ask for others.
    pub controller: ControllerSetup,
    /// `spec.settable`: the gates and options that it can be started with anew for a case.
    pub settable: Settable,
    /// `spec.switches`: what switches its features on.
    pub switches: Vec<Switch>,
    /// `spec.timeouts`: how much longer, or how long, its phases may take.
    pub timeouts: TargetTimeouts,
    /// `spec.controlPlane`: what the control plane is given before it starts.
    pub control_plane: ControlPlane,
    /// `spec.commands`: its commands, by the names that cases use.
    pub commands: BTreeMap<String, Exec>,
    /// `spec.metrics`: where its metrics are.
    pub metrics: Option<MetricsSource>,
    /// `spec.run`: how it comes to run.
    pub run: Launch,
    /// `spec.baseline`: the deviations that are known.
    pub baseline: Baseline,
    /// Mistakes in the file that do not keep the target from being tested, such as a renamed case in the baseline.
    pub warnings: Vec<Diagnostic>,
}

/// How long a target may take.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TargetTimeouts {
    /// What all times are multiplied by, those below included.
    pub factor: Option<f64>,
    /// Phases with a time of their own.
    pub phases: BTreeMap<Phase, Duration>,
    /// Until it says that all members are ready, before the first step.
    pub ready: Option<Duration>,
    /// What a case's own bounds (`within`) are extended by where time really passes.
    pub slack: Option<Duration>,
}

impl TargetTimeouts {
    /// The longest time that is named, if any is.
    pub fn longest(&self) -> Option<Duration> {
        self.phases.values().copied().chain(self.ready).max()
    }
}

/// Where the metrics of a target are, in the text format of Prometheus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricsSource {
    /// The URL that answers with them.
    pub url: Template,
    /// What it calls them.
    pub names: Names,
}

/// How a target comes to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launch {
    /// `reference: {}`: the reference controller, built in.
    Reference,
    /// `installed: {}`: it runs already, against the control plane of the backend.
    Installed,
    /// `exec: …`: programs, started for every case in this order.
    Exec(Vec<Exec>),
}
