//! The result of a run, as versioned JSON.

mod indicators;
mod series;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use self::{
    indicators::{Indicator, Indicators},
    series::{Bucket, Series},
};
use super::{
    judge::{Broken, Judge, Progress, Violation},
    parameters::Parameters,
    phases::Phase,
    quantiles::Quantiles,
};
use crate::{names::RequirementId, yaml::without_byte_order_mark};

/// Version of the format.
pub const API_VERSION: &str = "baton.dev/v1alpha1";
/// Kind of the format.
pub const KIND: &str = "ScaleReport";

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScaleReport {
    /// [`API_VERSION`].
    pub api_version: String,
    /// [`KIND`].
    pub kind: String,
    /// Version of Baton.
    pub baton: String,
    /// Date and time of the run.
    pub date: String,
    /// The machine.
    pub machine: Machine,
    /// The implementation, with its version.
    pub target: String,
    /// Backend of the clusters.
    pub backend: String,
    /// True if the clusters' clock skips time in which nothing happens.
    pub virtual_time: bool,
    /// Parameters of the run.
    pub parameters: Parameters,
    /// How the run ended.
    pub end: End,
    /// Numbers of workloads.
    pub workloads: Progress,
    /// Seconds of each phase, by the clusters' clock.
    pub phases: Vec<PhaseReport>,
    /// Numbers of workloads over time, from the failure on.
    pub series: Series,
    /// Distribution of the times from the failure until workloads were healthy.
    pub recovery: Vec<Bucket>,
    /// Requests by program, verb and kind.
    pub requests: Vec<Requests>,
    /// Answers with an error, by program and HTTP status. 409 is a conflict, 429 a client that is throttled.
    pub refusals: Vec<Refusals>,
    /// Service level indicators; absent in results of Baton 0.2.0.
    #[serde(default)]
    pub indicators: Indicators,
    /// Time and memory.
    pub cost: Cost,
    /// Violations and remarks.
    pub violations: Vec<Violated>,
    /// Rules that could not be judged, as sentences.
    pub not_judged: Vec<String>,
    /// Names of the first workloads that are missing where the run did not complete.
    pub missing: Vec<String>,
}

/// A machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Machine {
    /// Operating system.
    pub os: String,
    /// Processor architecture.
    pub arch: String,
    /// Number of processors that the process may use.
    pub processors: usize,
    /// Memory, where the system tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_kib: Option<u64>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum End {
    /// All workloads that had to move have moved, with nothing left behind.
    Complete,
    /// The time limit passed while workloads were placed.
    NotPlaced,
    /// The time limit passed while workloads moved.
    NotMoved,
    /// The target ended unasked.
    TargetEnded,
    /// The user interrupted.
    Interrupted,
}

impl End {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::NotPlaced => "time limit while workloads were placed",
            Self::NotMoved => "time limit while workloads moved",
            Self::TargetEnded => "the target ended unasked",
            Self::Interrupted => "interrupted",
        }
    }
}

/// A phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PhaseReport {
    /// The phase.
    pub phase: Phase,
    /// Its seconds.
    pub seconds: Quantiles,
}

/// Requests of a program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Requests {
    /// User agent.
    pub program: String,
    /// True if it belongs to the harness or the clusters, and not to the target.
    pub is_harness: bool,
    /// Verb.
    pub verb: String,
    /// Kind, with the subresource after a slash.
    pub kind: String,
    /// Number until members failed.
    pub placing: u64,
    /// Number after that.
    pub moving: u64,
    /// Bytes of these requests and their answers until members failed, where the backend counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placing_bytes: Option<u64>,
    /// Bytes after that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moving_bytes: Option<u64>,
}

impl Requests {
    /// Name of the program: the user agent up to its version.
    pub fn program_name(&self) -> &str {
        self.program.split('/').next().unwrap_or(&self.program)
    }

    /// Returns true for writes.
    pub fn are_writes(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch")
    }
}

/// Answers with an error.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Refusals {
    /// User agent.
    pub program: String,
    /// HTTP status.
    pub status: u16,
    /// Number of answers.
    pub count: u64,
}

/// Time and memory.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cost {
    /// Seconds of real time until the clusters were ready.
    pub boot_seconds: f64,
    /// Seconds of real time until all workloads were placed.
    pub placing_seconds: f64,
    /// Seconds of real time from the failure on.
    pub moving_seconds: f64,
    /// Processes, the harness first, where the system tells.
    pub processes: Vec<Process>,
    /// Number of revisions that were judged.
    pub revisions: u64,
    /// Share of the machine's processor time that other programs used during the run, from 0 to 1, where the system tells it.
    /// A run on a busy machine is slower than the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_programs: Option<f64>,
}

/// A process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Process {
    /// Name of its program.
    pub name: String,
    /// Seconds of processor time.
    pub cpu_seconds: f64,
    /// Highest memory that was resident.
    pub peak_memory_kib: u64,
}

/// Violations of a kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Violated {
    /// Kind of the violations.
    pub broken: Broken,
    /// The requirement; absent for a remark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirement: Option<RequirementId>,
    /// True if the target deviates by it; otherwise it is a remark.
    pub deviates: bool,
    /// Number of violations.
    pub count: usize,
    /// The first ones.
    pub first: Vec<Violation>,
}

/// A file that is not the result of a run.
#[derive(Debug, Error)]
pub enum ReportError {
    /// Not JSON, or not with these fields.
    #[error("it is not a report of `baton scale`")]
    Json(#[from] serde_json::Error),
    /// Another format.
    #[error("it is {kind} of {api_version}, and {KIND} of {API_VERSION} is expected")]
    Format {
        /// Version of its format.
        api_version: String,
        /// Kind of its format.
        kind: String,
    },
}

impl ScaleReport {
    /// Reads a result.
    ///
    /// # Errors
    /// [`ReportError`] if it is none.
    pub fn read(text: &str) -> Result<Self, ReportError> {
        let value: serde_json::Value = serde_json::from_str(without_byte_order_mark(text))?;
        let of = |key: &str| value[key].as_str().unwrap_or("no such field").to_owned();
        let (api_version, kind) = (of("apiVersion"), of("kind"));
        if (api_version.as_str(), kind.as_str()) != (API_VERSION, KIND) {
            return Err(ReportError::Format { api_version, kind });
        }
        Ok(serde_json::from_value(value)?)
    }

    /// Writes of the target per failover, of the time after the failure; `None` without failovers or counts.
    pub fn writes_per_failover(&self) -> Option<f64> {
        let own = self.requests.iter().filter(|it| !it.is_harness && it.are_writes());
        let writes: u64 = own.map(|it| it.moving).sum();
        self.per_failover(writes)
    }

    /// Requests of the target per failover, of the time after the failure; `None` without failovers or counts.
    pub fn requests_per_failover(&self) -> Option<f64> {
        let own = self.requests.iter().filter(|it| !it.is_harness);
        self.per_failover(own.map(|it| it.moving).sum())
    }

    /// Bytes of the target's requests and their answers per failover, of the time after the failure.
    pub fn bytes_per_failover(&self) -> Option<f64> {
        let own = self.requests.iter().filter(|it| !it.is_harness);
        let bytes: Vec<u64> = own.filter_map(|it| it.moving_bytes).collect();
        (!bytes.is_empty()).then(|| self.per_failover(bytes.iter().sum()))?
    }

    #[expect(clippy::cast_precision_loss, reason = "numbers of requests are far below 2^52")]
    fn per_failover(&self, count: u64) -> Option<f64> {
        let failovers = self.workloads.healthy;
        (failovers > 0 && !self.requests.is_empty()).then(|| count as f64 / failovers as f64)
    }

    /// Answers with this status to the target.
    pub fn refused_with(&self, status: u16) -> u64 {
        let harness: Vec<&str> = self
            .requests
            .iter()
            .filter(|it| it.is_harness)
            .map(|it| it.program.as_str())
            .collect();
        let with = self.refusals.iter().filter(|it| it.status == status);
        with.filter(|it| !harness.contains(&it.program.as_str()))
            .map(|it| it.count)
            .sum()
    }

    /// The seconds of a phase.
    pub fn phase(&self, phase: Phase) -> Option<&Quantiles> {
        let found = self.phases.iter().find(|it| it.phase == phase);
        found.map(|it| &it.seconds)
    }

    /// Returns true if the target deviates.
    pub fn deviates(&self) -> bool {
        self.violations.iter().any(|it| it.deviates)
    }
}

/// The phases that workloads reached.
pub fn phases(judge: &Judge) -> Vec<PhaseReport> {
    let failed_at = judge.failed_at();
    let of = |phase: Phase| {
        let seconds = judge.times().filter_map(|it| it.seconds(phase, failed_at));
        Some(PhaseReport {
            phase,
            seconds: Quantiles::of(seconds.collect())?,
        })
    };
    Phase::ALL.into_iter().filter_map(of).collect()
}

/// The seconds from the creation of workloads to their first copies on members; `None` if none was placed.
pub fn placed(judge: &Judge) -> Option<Quantiles> {
    let seconds = judge.times().filter_map(|it| it.seconds(Phase::Placed, None));
    Quantiles::of(seconds.collect())
}

/// The seconds in which workloads recovered.
pub fn recoveries(judge: &Judge) -> Vec<f64> {
    let failed_at = judge.failed_at();
    judge
        .times()
        .filter_map(|it| it.seconds(Phase::Healthy, failed_at))
        .collect()
}

/// The violations, each with whether the target deviates by it.
pub fn violations(judge: &Judge, deviates: impl Fn(&RequirementId) -> bool) -> Vec<Violated> {
    let each = judge.violations().iter().map(|(broken, count, first)| {
        let requirement = broken.requirement();
        Violated {
            broken,
            deviates: requirement.as_ref().is_some_and(&deviates),
            requirement,
            count,
            first: first.to_vec(),
        }
    });
    each.collect()
}

/// The workloads over time, until `end`.
pub fn series(judge: &Judge, end: Duration) -> Series {
    let Some(failed_at) = judge.failed_at() else {
        return Series::default();
    };
    Series::of(judge.times(), failed_at, end)
}
