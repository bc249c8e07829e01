//! Steps that act on a cluster's connections or on the target itself.

use std::time::Duration;

use baton_core::{
    case::model::{Action, Expected, Failing, Fault, Move, Place, Start, Taint},
    names::{ClusterName, RoleName},
    timeline::{Mark, StepEnd},
};
use tokio::time::timeout;

use super::{Run, TargetError, director::Director, references::clusters, step_error::StepError};
use crate::{
    actions,
    error_chain::error_chain,
    fleet::{self, Failure, Matching},
};

/// Paths of a server's health checks.
const HEALTH: [&str; 3] = ["/readyz", "/livez", "/healthz"];

impl Run<'_> {
    /// Injects a fault, or ends one.
    pub(super) async fn inject(&mut self, fault: &Fault) -> StepEnd {
        let injected = match fault {
            Fault::CutOff(role) => self.inject_on(&Place::Role(role.clone()), fleet::Fault::CutOff).await,
            Fault::Heal(role) => self.inject_on(&Place::Role(role.clone()), fleet::Fault::Heal).await,
            Fault::Unready(role) => self.say_ready(role, false).await,
            Fault::Ready(role) => self.say_ready(role, true).await,
            Fault::Unjoin(role) => self.unjoin(role).await,
            Fault::Join(role) => match self.join(role).await {
                Err(error @ StepError::StillThere { .. }) => {
                    return StepEnd::Unsupported {
                        reason: error.to_string(),
                    };
                }
                joined => joined,
            },
            Fault::Condition { cluster, kind, status } => self.set_condition(cluster, kind, status).await,
            Fault::Delay(place, time) => self.inject_on(place, fleet::Fault::Delay(*time)).await,
            Fault::Fail(place, failing) => self.inject_on(place, fleet::Fault::Fail(failure(failing))).await,
            Fault::StopController => {
                self.stop_target().await;
                Ok(())
            }
            Fault::StopControllerAfter(condition) => self.stop_after(condition),
            Fault::AddController(name) => self.add_instance(name).await,
            Fault::CrashController(name) => self.crash_instance(name).await,
            Fault::Move(it) => self.arm(it),
            Fault::StartController => {
                if let Some(end) = self.not_stopped().await {
                    return end;
                }
                self.stop_target().await;
                self.start_target().await.map_err(StepError::from)
            }
        };
        match injected {
            Ok(()) => StepEnd::Done,
            Err(error) => StepEnd::Refused {
                message: error_chain(&error),
            },
        }
    }

    /// From now on, waits for the write of a move.
    fn arm(&mut self, it: &Move) -> Result<(), StepError> {
        let clusters = clusters(&it.at.on, &self.known());
        let director = self.director.as_ref();
        let director = director.ok_or_else(|| StepError::NoMoves {
            backend: self.fleet.backend(),
        })?;
        director.arm(it, clusters.into_iter().collect());
        Ok(())
    }

    pub(super) async fn inject_on(&mut self, place: &Place, fault: fleet::Fault) -> Result<(), StepError> {
        let known = self.known();
        for cluster in clusters(place, &known) {
            self.fleet.inject(&cluster, fault.clone()).await?;
        }
        Ok(())
    }

    /// Makes a member report that it is ready, or not ready.
    pub(super) async fn say_ready(&mut self, role: &RoleName, ready: bool) -> Result<(), StepError> {
        for path in HEALTH {
            let failing = Failing {
                verb: None,
                kind: None,
                path: Some(path.to_owned()),
                code: 500,
                times: if ready { 0 } else { u64::MAX },
            };
            let fault = fleet::Fault::Fail(failure(&failing));
            self.inject_on(&Place::Role(role.clone()), fault).await?;
        }
        Ok(())
    }

    async fn set_condition(&mut self, role: &RoleName, kind: &str, status: &str) -> Result<(), StepError> {
        let now = (self.fleet.clock())();
        let control = self.client(&ClusterName::control())?;
        for member in clusters(&Place::Role(role.clone()), &self.known()) {
            actions::condition(&control, member.as_str(), kind, status, now).await?;
            let (on, of) = (ClusterName::control(), actions::cluster(member.as_str()));
            self.until_observed(&on, &of).await?;
        }
        Ok(())
    }

    /// Taints a cluster for a limited time.
    pub(super) async fn taint_for(&mut self, cluster: &Place, taint: &Taint, time: Duration) -> StepEnd {
        let (cluster, taint) = (cluster.clone(), taint.clone());
        let untaint = Action::Untaint {
            cluster: cluster.clone(),
            key: taint.key.clone(),
            effect: taint.effect.clone(),
        };
        let taint = Action::Taint {
            cluster,
            taint,
            lasts: None,
        };
        for (action, then) in [(taint, time), (untaint, Duration::ZERO)] {
            if let Err(error) = self.act(&action).await {
                return StepEnd::Refused {
                    message: error_chain(&error),
                };
            }
            self.let_pass(then).await;
        }
        StepEnd::Done
    }

    /// Starts the target with another configuration, and notes the result.
    pub(super) async fn start_with(&mut self, start: &Start) -> StepEnd {
        self.stop_target().await;
        // It gets as much time as for becoming ready.
        let limit = self.timeouts.ready;
        let (runs, said) = match self.target.start_to_hear(self.fleet, &start.setup, self.log).await {
            Ok(mut running) => {
                let ended = match start.expect {
                    Expected::Refusal => timeout(limit, running.ended()).await.ok(),
                    Expected::Warning => None,
                };
                if let Some(ended) = ended {
                    (false, vec![ended.to_string()])
                } else {
                    let said = running.said(&start.mentions, limit).await;
                    self.running = Some(running);
                    (true, said)
                }
            }
            Err(
                error @ (TargetError::Setup(_)
                | TargetError::Start(_)
                | TargetError::NotReady { .. }
                | TargetError::Ended(_)),
            ) => (false, vec![error_chain(&error)]),
        };
        self.recorder.mark(Mark::Started { runs, said });
        StepEnd::Done
    }

    pub(super) async fn start_target(&mut self) -> Result<(), TargetError> {
        // A start may wait for a write, which may be the moment of a move.
        let _starting = self.director.as_ref().map(Director::starting);
        self.running = Some(self.target.start(self.fleet, self.setup, self.log).await?);
        Ok(())
    }

    /// Stops all instances of the target.
    pub(super) async fn stop_all(&mut self) {
        self.stop_target().await;
        for (_, other) in std::mem::take(&mut self.others) {
            other.stop().await;
        }
    }

    /// Stops the target. Refuses its writes that still wait at a gate.
    pub(super) async fn stop_target(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop().await;
        }
        self.stopping = None;
    }
}

/// A fault that ends the failing of requests.
pub(super) fn ended(failing: &Failing) -> fleet::Fault {
    fleet::Fault::Fail(failure(&Failing {
        times: 0,
        ..failing.clone()
    }))
}

fn failure(failing: &Failing) -> Failure {
    Failure {
        matching: Matching {
            verb: failing.verb.clone(),
            kind: failing.kind.clone(),
            path: failing.path.clone(),
            ..Matching::default()
        },
        nth: 1,
        times: failing.times,
        code: failing.code,
        message: "the case lets this request fail".to_owned(),
    }
}
