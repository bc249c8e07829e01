//! Steps that do something to a cluster's connections or to the target itself.

use std::time::Duration;

use baton_core::{
    case::model::{Condition, Expected, Failing, Lever, Mode, Phase, Place, Start},
    timeline::{Mark, StepEnd},
    watch::Watch,
};
use serde_json::json;
use tokio::{sync::oneshot, task::JoinHandle, time::timeout};

use super::{
    Run, TargetError,
    act::{chain, clusters},
};
use crate::fleet::{self, Asking, Failure, Matching};

/// A target that is to stop at some moment.
pub(super) struct Stopping {
    /// Lets its writes in, until the moment has come. Then the next one waits for ever.
    watching: JoinHandle<()>,
    /// Says that the moment has come.
    stopped: oneshot::Receiver<()>,
}

impl Drop for Stopping {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

impl Run<'_> {
    /// Pulls a lever.
    pub(super) async fn pull(&mut self, lever: &Lever) -> StepEnd {
        let pulled = match lever {
            Lever::CutOff(role) => self.pull_on(&Place::Role(role.clone()), fleet::Lever::CutOff).await,
            Lever::Heal(role) => self.pull_on(&Place::Role(role.clone()), fleet::Lever::Heal).await,
            Lever::Delay(place, time) => self.pull_on(place, fleet::Lever::Delay(*time)).await,
            Lever::Fail(place, failing) => self.pull_on(place, fleet::Lever::Fail(failure(failing))).await,
            Lever::StopController => {
                self.stop_target().await;
                Ok(())
            }
            Lever::StopControllerAfter(condition) => self.stop_after(condition),
            Lever::StartController => {
                if let Some(end) = self.not_stopped().await {
                    return end;
                }
                self.stop_target().await;
                self.start_target().await.map_err(|error| chain(&error))
            }
        };
        match pulled {
            Ok(()) => StepEnd::Done,
            Err(message) => StepEnd::Refused { message },
        }
    }

    pub(super) async fn pull_on(&mut self, place: &Place, lever: fleet::Lever) -> Result<(), String> {
        let known = self.known();
        for cluster in clusters(place, &known) {
            self.fleet
                .pull(&cluster, lever.clone())
                .await
                .map_err(|error| chain(&error))?;
        }
        Ok(())
    }

    /// From now on every write of the target is let in only after a look at the timeline; none is once it shows what is
    /// waited for. The write that made it so is done by then, since they go one at a time.
    fn stop_after(&mut self, condition: &Condition) -> Result<(), String> {
        let backend = self.fleet.backend();
        let keeper = self.fleet.gate();
        let mut keeper =
            keeper.ok_or_else(|| format!("{backend} clusters cannot stop a controller between two writes"))?;
        let (recorder, condition) = (self.recorder.clone(), condition.clone());
        let mut follower = recorder.follow();
        let (stop, stopped) = oneshot::channel();
        let watching = tokio::spawn(async move {
            let mut watch = Watch::begin(Mode::Eventually, &condition, &follower.available());
            let mut asking = None;
            while watch.outcome().is_none() {
                if let Some(asking) = Option::take(&mut asking) {
                    Asking::let_in(asking);
                }
                let news = tokio::select! {
                    biased;
                    next = keeper.next() => {
                        asking = next;
                        follower.available()
                    }
                    Some(news) = follower.next() => news,
                    else => return,
                };
                for entry in &news {
                    watch.feed(entry);
                }
            }
            recorder.mark(Mark::Note {
                about: "the controller stops".to_owned(),
                details: json!({"after": condition.to_string()}),
            });
            // Nobody waits any more if the case has ended.
            let _ = stop.send(());
            std::future::pending::<()>().await;
            drop((keeper, asking));
        });
        self.stopping = Some(Stopping { watching, stopped });
        Ok(())
    }

    /// Waits until a target that is to stop has stopped; how the step ends, if it does not.
    async fn not_stopped(&mut self) -> Option<StepEnd> {
        let stopping = self.stopping.as_mut()?;
        let phase = Phase::Purge;
        let limit: Duration = self.timeouts.of(phase);
        match timeout(limit, &mut stopping.stopped).await {
            Ok(Ok(())) => None,
            Ok(Err(_)) | Err(_) => Some(StepEnd::TimedOut {
                phase: phase.name().to_owned(),
                waited_secs: limit.as_secs_f64(),
            }),
        }
    }

    /// Starts the target with another set-up, and notes what comes of it.
    pub(super) async fn start_with(&mut self, start: &Start) -> StepEnd {
        self.stop_target().await;
        // It has as long as for becoming ready.
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
            Err(error @ (TargetError::Setup(_) | TargetError::Start(_) | TargetError::Ended(_))) => {
                (false, vec![chain(&error)])
            }
        };
        self.recorder.mark(Mark::Started { runs, said });
        StepEnd::Done
    }

    pub(super) async fn start_target(&mut self) -> Result<(), TargetError> {
        self.running = Some(self.target.start(self.fleet, self.setup, self.log).await?);
        Ok(())
    }

    /// Stops the target. What it still wanted to write at a gate is refused.
    pub(super) async fn stop_target(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop().await;
        }
        self.stopping = None;
    }
}

fn failure(failing: &Failing) -> Failure {
    Failure {
        matching: Matching {
            verb: failing.verb.clone(),
            kind: failing.kind.clone(),
            ..Matching::default()
        },
        nth: 1,
        times: failing.times,
        code: failing.code,
        message: "the case lets this request fail".to_owned(),
    }
}
