//! Marks: notes of the runner on the timeline.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    metrics::Sample,
    names::{CaseId, ClusterName, RoleName},
    redact,
};

use super::provenance::Provenance;

/// The run to which the timeline belongs; always its first entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Begin {
    /// The case that was run.
    pub case: CaseId,
    /// The members of the fleet, by name.
    pub members: Vec<ClusterName>,
    /// When the timeline began, as the clusters' clock says (RFC 3339).
    pub started: jiff::Timestamp,
    /// The backend that the fleet is of.
    pub backend: String,
    /// The implementation under test.
    pub target: String,
    /// The namespace in which the run has what the case speaks of as `default`.
    #[serde(default = "default_namespace", skip_serializing_if = "is_default_namespace")]
    pub namespace: String,
    /// Factor by which the periods of the case were multiplied.
    #[serde(default = "default_factor", skip_serializing_if = "is_default_factor")]
    pub time_factor: f64,
    /// Order of events on different clusters.
    #[serde(default, skip_serializing_if = "Order::is_exact")]
    pub order: Order,
    /// Set if time was virtual: it went on only when nothing was left to do, so that all news of an earlier moment had come.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub virtual_time: bool,
    /// The run that it comes from, if its report can be verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Box<Provenance>>,
}

/// The namespace that cases speak of where they name none.
pub const DEFAULT_NAMESPACE: &str = "default";

fn default_namespace() -> String {
    DEFAULT_NAMESPACE.to_owned()
}

fn default_factor() -> f64 {
    1.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_default_factor(factor: &f64) -> bool {
    (factor - 1.0).abs() < f64::EPSILON
}

fn is_default_namespace(name: &String) -> bool {
    name == DEFAULT_NAMESPACE
}

/// Order of a timeline's events on different clusters. Events of one kind on one cluster are always in order.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Order {
    /// They are in the order in which they were committed.
    #[default]
    Exact,
    /// They are in the order in which the observer heard of them. Those that are closer than the uncertainty may have
    /// happened the other way round, unless a [`Mark::Fence`] stands between them.
    Arrival {
        /// No cluster takes longer than this to tell the observer of an event, in seconds.
        uncertainty_secs: f64,
    },
}

impl Order {
    /// The order of arrival, with the uncertainty that is assumed unless another one was measured: an idle API server
    /// delivers an event within milliseconds, a busy one within tens of them.
    pub const ARRIVAL: Self = Self::Arrival { uncertainty_secs: 0.1 };

    /// Returns `true` for the order of the commits.
    pub fn is_exact(&self) -> bool {
        *self == Self::Exact
    }
}

/// Likely cause of a failure.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cause {
    /// The cause without the names of objects. Failures of one group probably have the same cause.
    pub group: String,
    /// The cause with the objects of the case.
    pub text: String,
}

impl Cause {
    /// Creates a cause.
    pub(crate) fn new(group: impl Into<String>, text: impl Into<String>) -> Self {
        let (group, text) = (group.into(), text.into());
        Self { group, text }
    }
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "result")]
pub enum StepEnd {
    /// It was carried out, or what it waited for came.
    Done,
    /// The condition that it waited for did not hold in time.
    TimedOut {
        /// The named phase whose time was up.
        phase: String,
        /// Time that it waited, in seconds.
        waited_secs: f64,
    },
    /// The wait ended early: an earlier case of the run waited in full for what the same cause prevents.
    #[serde(rename_all = "camelCase")]
    GivenUp {
        /// The named phase that the step waited in.
        phase: String,
        /// Time that it waited, in seconds.
        waited_secs: f64,
        /// The case that waited in full.
        as_in: CaseId,
        /// The cause, which both cases have.
        cause: Cause,
    },
    /// The target ended unexpectedly during the step; a [`Mark::TargetEnded`] gives the reason.
    TargetEnded,
    /// Somebody wrote again and again without ever waiting, so that time did not pass and nothing would have ended it.
    HotLoop(HotLoop),
    /// A cluster refused it.
    Refused {
        /// The cluster's answer.
        message: String,
    },
    /// The implementation has not what the case is about; nothing more was asked of it.
    Unsupported {
        /// The missing feature.
        reason: String,
    },
}

impl StepEnd {
    /// Creates the end of a step that timed out after this time, rounded to milliseconds.
    pub fn timed_out(phase: &str, waited: Duration) -> Self {
        let whole = Duration::new(waited.as_secs(), waited.subsec_millis() * 1_000_000);
        Self::TimedOut {
            phase: phase.to_owned(),
            waited_secs: whole.as_secs_f64(),
        }
    }
}

/// The object that was written again and again while the clock stood still.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HotLoop {
    /// The object that was written most often, in words.
    pub object: String,
    /// The writer (the user agent of the requests), if the cluster reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Number of writes.
    pub times: usize,
    /// Number of revisions of all objects at that moment.
    pub revisions: usize,
}

impl fmt::Display for HotLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            object,
            by,
            times,
            revisions,
        } = self;
        write!(f, "{object} was written {times} times")?;
        if let Some(by) = by {
            write!(f, " by {by}")?;
        }
        write!(f, " without time passing ({revisions} revisions at one moment)")
    }
}

/// One note of the runner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mark {
    /// The run began.
    Begin(Begin),
    /// A step of the plan began.
    StepStarted {
        /// Its number in the plan, from 0.
        step: usize,
        /// Its action, in words.
        text: String,
    },
    /// A step of the plan ended.
    StepEnded {
        /// Its number in the plan, from 0.
        step: usize,
        /// How it ended.
        end: StepEnd,
    },
    /// A role was bound to a member.
    RoleBound {
        /// The role.
        role: RoleName,
        /// The member that plays it from now on.
        cluster: ClusterName,
    },
    /// A value was captured.
    Captured {
        /// The name under which patterns refer to it.
        name: String,
        /// The value, as text.
        value: String,
    },
    /// The target was started with another set-up.
    Started {
        /// Set if it is running now.
        runs: bool,
        /// The reasons for not running, or its warnings; a message each.
        said: Vec<String>,
    },
    /// A command of the implementation ended.
    Ran {
        /// Its exit code; absent if a signal ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<i32>,
        /// Its output, line by line.
        said: Vec<String>,
    },
    /// Answer of a cluster to a request that it must refuse.
    Answered {
        /// The HTTP status of the refusal; absent if it was accepted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refused_with: Option<u16>,
        /// Its message.
        message: String,
    },
    /// Samples of the target's metrics that the step asks for.
    Scraped {
        /// All with the name that the step asks for.
        samples: Vec<Sample>,
    },
    /// Commits of a cluster after this revision happened after this moment: the harness asked the cluster for its latest
    /// revision then, so that no later one existed yet.
    Fence {
        /// The cluster that was asked.
        cluster: ClusterName,
        /// The revision (`metadata.resourceVersion`) that it was at.
        revision: u64,
        /// When it was asked, in seconds since the timeline began.
        asked_secs: f64,
    },
    /// A move happened: a fault at a write of the target.
    Moved {
        /// Number of its step in the plan, from 0.
        step: usize,
        /// The fault and the write, as text.
        text: String,
        /// The member that it affects; `None` if it affects the target as a whole.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        member: Option<ClusterName>,
        /// Duration in seconds.
        lasts_secs: f64,
    },
    /// The target ended although nothing had told it to; nothing more was asked of it.
    TargetEnded {
        /// Its exit status, in words.
        status: String,
        /// The last lines that it wrote.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        last_lines: Vec<String>,
    },
    /// The case is over, and its objects are being removed: later entries do not belong to a failover.
    CleanUp,
    /// All objects were removed, or the time for it was up.
    CleanedUp {
        /// How it ended.
        end: StepEnd,
        /// That it was given less time than is due, because an earlier one of the same run had failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        hurried: bool,
    },
    /// The target writes under these user agents and no others.
    Writers(BTreeSet<String>),
    /// Nothing follows; observers have delivered all that had happened.
    Closed {
        /// API writes by user agent during the run, where the clusters count them.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        writes: BTreeMap<String, u64>,
        /// Of these, the ones that were accepted and changed nothing; by user agent, then by kind.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        idle: BTreeMap<String, BTreeMap<String, u64>>,
    },
    /// Something else worth keeping, for people; never judged.
    Note {
        /// Subject.
        about: String,
        /// The details.
        details: Value,
    },
}

impl Mark {
    /// Returns the mark without credentials, which output of programs and answers of clusters may contain.
    #[must_use]
    pub fn redacted(mut self) -> Self {
        match &mut self {
            Self::StepStarted { text, .. }
            | Self::Captured { value: text, .. }
            | Self::Answered { message: text, .. } => {
                *text = redact::text(text);
            }
            Self::StepEnded { end, .. } | Self::CleanedUp { end, .. } => match end {
                StepEnd::Refused { message } | StepEnd::Unsupported { reason: message } => {
                    *message = redact::text(message);
                }
                StepEnd::GivenUp { cause, .. } => cause.text = redact::text(&cause.text),
                StepEnd::Done | StepEnd::TimedOut { .. } | StepEnd::TargetEnded | StepEnd::HotLoop(_) => {}
            },
            Self::Started { said, .. } | Self::Ran { said, .. } => {
                for text in said {
                    *text = redact::text(text);
                }
            }
            Self::TargetEnded { last_lines, .. } => last_lines.iter_mut().for_each(|line| *line = redact::text(line)),
            Self::Scraped { samples } => {
                for text in samples.iter_mut().flat_map(|sample| sample.labels.values_mut()) {
                    *text = redact::text(text);
                }
            }
            Self::Note { details, .. } => redact::redact(details),
            Self::Begin(_)
            | Self::RoleBound { .. }
            | Self::Moved { .. }
            | Self::Fence { .. }
            | Self::CleanUp
            | Self::Writers(_)
            | Self::Closed { .. } => {}
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_mark_carries_a_secret() {
        let said = || "refused: --token=canary".to_owned();
        let refused = || StepEnd::Refused { message: said() };
        let marks = [
            Mark::StepStarted { step: 0, text: said() },
            Mark::StepEnded {
                step: 0,
                end: refused(),
            },
            Mark::CleanedUp {
                end: refused(),
                hurried: false,
            },
            Mark::Captured {
                name: "x".to_owned(),
                value: said(),
            },
            Mark::Started {
                runs: true,
                said: vec![said()],
            },
            Mark::Ran {
                exit: None,
                said: vec![said()],
            },
            Mark::Answered {
                refused_with: Some(422),
                message: said(),
            },
            Mark::Scraped {
                samples: vec![Sample {
                    name: "x".to_owned(),
                    labels: BTreeMap::from([("y".to_owned(), said())]),
                    value: "1".to_owned(),
                }],
            },
            Mark::TargetEnded {
                status: "exit status: 1".to_owned(),
                last_lines: vec![said()],
            },
            Mark::Note {
                about: "x".to_owned(),
                details: json!({"password": "canary", "log": said()}),
            },
        ];
        for mark in marks {
            let text = serde_json::to_string(&mark.clone().redacted()).unwrap();
            assert!(!text.contains("canary") && text.contains(redact::REDACTED), "{text}");
            assert!(serde_json::to_string(&mark).unwrap().contains("canary"));
        }
    }

    #[test]
    fn a_time_that_was_waited_is_told_to_the_millisecond() {
        let end = StepEnd::timed_out("purge", Duration::new(3, 1_000_771));
        let told = StepEnd::TimedOut {
            phase: "purge".to_owned(),
            waited_secs: 3.001,
        };
        assert_eq!(end, told);
    }
}
