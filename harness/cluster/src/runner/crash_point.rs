//! Stops a target between two writes, at a gate that lets its writes through one at a time, each after a check of the
//! timeline.

use std::time::Duration;

use baton_core::{
    case::model::{Condition, Mode, Phase},
    timeline::{Entry, Mark, StepEnd},
    watch::{Known, Standpoint, Watch},
};
use serde_json::json;
use thiserror::Error;
use tokio::{
    sync::oneshot,
    task::JoinHandle,
    time::{timeout, timeout_at},
};

use super::{Run, committed::Committed, step_error::StepError};
use crate::{
    actions::ActionError,
    error_chain::error_chain,
    fleet::{Asking, Cluster, Gatekeeper},
    observer::{Follower, Recorder},
};

/// Longest time until an observer learns of a commit.
const HEARD_WITHIN: Duration = Duration::from_secs(30);

/// A target that will stop when a condition holds.
pub(super) struct Stopping {
    /// Lets writes through until the condition holds. Then the next write waits forever.
    watching: JoinHandle<()>,
    /// Reports that the condition holds, or why that cannot be determined.
    stopped: oneshot::Receiver<Result<(), SightError>>,
}

impl Drop for Stopping {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

impl Run<'_> {
    /// From now on, checks the timeline before each write of the target, and lets none through once the condition
    /// holds. Writes go one at a time, so the write that fulfilled it is complete by then.
    pub(super) fn stop_after(&mut self, condition: &Condition) -> Result<(), StepError> {
        let keeper = self.fleet.gate().ok_or_else(|| StepError::NoStop {
            backend: self.fleet.backend(),
        })?;
        let clusters = std::iter::once(self.fleet.control()).chain(self.fleet.members());
        // An exact timeline contains every commit.
        let late = (!self.fleet.order().is_exact()).then(|| clusters.cloned().collect());
        let (recorder, condition) = (self.recorder.clone(), condition.clone());
        let (stop, stopped) = oneshot::channel();
        let watching = tokio::spawn(async move {
            let mut gate = Gate {
                keeper,
                follower: recorder.follow(),
                seen: Vec::new(),
                late,
            };
            let (_refused, outcome) = match gate.until(&condition).await {
                Ok(refused) => {
                    note(&recorder, &condition);
                    (refused, Ok(()))
                }
                Err(Lost::Everybody) => return,
                Err(Lost::Sight(why)) => (None, Err(why)),
            };
            // The receiver is gone if the case has ended.
            let _ = stop.send(outcome);
            // Dropping the gate would release the waiting write; keep it until the target has been stopped.
            std::future::pending::<()>().await;
        });
        self.stopping = Some(Stopping { watching, stopped });
        Ok(())
    }

    /// Waits until the target has stopped; returns the end of the step if it does not stop.
    pub(super) async fn not_stopped(&mut self) -> Option<StepEnd> {
        let stopping = self.stopping.as_mut()?;
        let phase = Phase::Purge;
        let limit: Duration = self.timeouts.of(phase);
        match timeout(limit, &mut stopping.stopped).await {
            Ok(Ok(Ok(()))) => None,
            Ok(Ok(Err(error))) => Some(StepEnd::Refused {
                message: error_chain(&error),
            }),
            Ok(Err(_)) | Err(_) => Some(StepEnd::timed_out(phase.name(), limit)),
        }
    }
}

fn note(recorder: &Recorder, condition: &Condition) {
    recorder.mark(Mark::Note {
        about: "the controller stops".to_owned(),
        details: json!({"after": condition.to_string()}),
    });
}

/// A gate that can no longer determine when the condition holds.
#[derive(Debug)]
enum Lost {
    /// The target or the observer has ended.
    Everybody,
    /// Commits cannot be observed. Then no write may pass: it might be one too many.
    Sight(SightError),
}

/// Reason why it is unknown whether the condition holds.
#[derive(Debug, Error)]
enum SightError {
    #[error("cannot list the committed objects")]
    List(#[from] ActionError),
    #[error("the observer has not seen all commits within {} s", HEARD_WITHIN.as_secs())]
    Late,
}

/// The gate before all writes of the target.
struct Gate {
    keeper: Gatekeeper,
    follower: Follower,
    /// Entries of the timeline so far.
    seen: Vec<Entry>,
    /// Clusters of a fleet whose timeline receives commits late; `None` if it is exact.
    late: Option<Vec<Cluster>>,
}

impl Gate {
    /// Lets writes through until the timeline fulfills the condition. Returns the write that waits then, if there is
    /// one.
    async fn until(&mut self, condition: &Condition) -> Result<Option<Asking>, Lost> {
        self.seen = self.follower.available();
        let history = self.seen.clone();
        let mut watch = Watch::begin(Mode::Eventually, condition, &history, Standpoint::default());
        let mut asking = None;
        while watch.outcome().is_none() {
            if let Some(asking) = Option::take(&mut asking) {
                Asking::let_in(asking);
            }
            tokio::select! {
                biased;
                next = self.keeper.next() => {
                    asking = next;
                    let news = self.follower.available();
                    self.take(news, &mut watch);
                    self.catch_up(condition, &mut watch).await.map_err(Lost::Sight)?;
                }
                Some(news) = self.follower.next() => self.take(news, &mut watch),
                else => return Err(Lost::Everybody),
            }
        }
        Ok(asking)
    }

    fn take(&mut self, news: Vec<Entry>, watch: &mut Watch<'_>) {
        for entry in &news {
            watch.feed(entry);
        }
        self.seen.extend(news);
    }

    /// Reads until the timeline shows all present commits of the condition's objects: the next write must not pass
    /// while the last one is still on its way to the timeline.
    async fn catch_up(&mut self, condition: &Condition, watch: &mut Watch<'_>) -> Result<(), SightError> {
        let Some(clusters) = &self.late else { return Ok(()) };
        let deadline = tokio::time::Instant::now() + HEARD_WITHIN;
        let mut known = Known::default();
        for entry in &self.seen {
            known.learn(entry);
        }
        let mut committed = Committed::now(condition, &known, clusters, &self.seen).await?;
        while !committed.is_shown() && watch.outcome().is_none() {
            let Ok(Some(news)) = timeout_at(deadline, self.follower.next()).await else {
                return Err(SightError::Late);
            };
            committed.see(&news);
            self.take(news, watch);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::Arc,
        task::{Context, Poll},
    };

    use baton_core::{
        case::model::{Expect, ObjectRef, Place, Subject},
        names::ClusterName,
        timeline::{Change, Revision},
    };
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::{
        Api, ResourceExt,
        api::{ObjectMeta, PostParams},
    };
    use tokio::sync::mpsc;

    use super::*;
    use crate::{
        fleet::{
            Fleet,
            embedded::{Embedded, Options, Time},
        },
        observer::{Source, recorder::Seen},
    };

    /// A source that returns the events that a test sends.
    struct Sent(mpsc::UnboundedReceiver<Seen>);

    impl Source for Sent {
        fn take(&mut self, context: Option<&mut Context<'_>>) -> Vec<Seen> {
            let mut seen = Vec::new();
            match context {
                Some(context) => {
                    while let Poll::Ready(Some(news)) = self.0.poll_recv(context) {
                        seen.push(news);
                    }
                }
                None => seen.extend(std::iter::from_fn(|| self.0.try_recv().ok())),
            }
            seen
        }

        fn rest(&mut self) -> Vec<Seen> {
            Vec::new()
        }
    }

    fn map(name: &str) -> ConfigMap {
        ConfigMap {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        }
    }

    fn seen(map: &ConfigMap, fleet: &Embedded) -> Seen {
        let revision = Revision {
            cluster: ClusterName::control(),
            kind: "ConfigMap".to_owned(),
            change: Change::Added,
            object: Arc::new(serde_json::to_value(map).unwrap()),
            by: None,
        };
        Seen::revision((fleet.clock())(), revision)
    }

    /// A gate for a control plane whose timeline receives commits when the test sends them.
    async fn gate() -> (Embedded, Gate, mpsc::UnboundedSender<Seen>) {
        let fleet = Embedded::boot(Options::new(0, Time::Virtual)).await.unwrap();
        let (tell, told) = mpsc::unbounded_channel();
        let begin = Mark::Note {
            about: "test".to_owned(),
            details: json!({}),
        };
        let recorder = Recorder::start(fleet.clock(), (fleet.clock())(), begin, Box::new(Sent(told)));
        let gate = Gate {
            keeper: fleet.gate().unwrap(),
            follower: recorder.follow(),
            seen: Vec::new(),
            late: Some(vec![fleet.control().clone()]),
        };
        (fleet, gate, tell)
    }

    fn awaited() -> Condition {
        Condition {
            on: Place::Control,
            of: Subject::Object(ObjectRef {
                api_version: "v1".to_owned(),
                kind: "ConfigMap".to_owned(),
                namespace: Some("default".to_owned()),
                name: "awaited".to_owned(),
            }),
            expect: Expect::Present,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn no_write_is_let_in_when_what_is_committed_never_comes_onto_the_timeline() {
        let (fleet, mut gate, _tell) = gate().await;
        let maps: Api<ConfigMap> = Api::namespaced(fleet.control().client("target"), "default");
        let stops = async {
            let lost = gate.until(&awaited()).await;
            assert!(
                matches!(&lost, Err(Lost::Sight(late)) if late.to_string().contains("within 30 s")),
                "{lost:?}"
            );
            drop(gate);
        };
        let writes = async {
            let params = PostParams::default();
            maps.create(&params, &map("first")).await.unwrap();
            maps.create(&params, &map("next")).await
        };
        let (next, ()) = tokio::join!(writes, stops);
        let next = next.map(|map| map.name_any()).map_err(|error| error.to_string());
        assert!(next.as_ref().is_err_and(|it| it.contains("not let in")), "{next:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn no_write_is_let_in_while_the_news_of_the_last_one_is_on_its_way() {
        let (fleet, mut gate, tell) = gate().await;
        let condition = awaited();
        let maps: Api<ConfigMap> = Api::namespaced(fleet.control().client("target"), "default");
        let everywhere: Api<ConfigMap> = Api::all(fleet.control().client("target"));
        for old in everywhere.list(&kube::api::ListParams::default()).await.unwrap() {
            tell.send(seen(&old, &fleet)).unwrap();
        }
        let writes = async {
            let awaited = maps.create(&PostParams::default(), &map("awaited")).await.unwrap();
            let news = async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                tell.send(seen(&awaited, &fleet)).unwrap();
            };
            let (params, next) = (PostParams::default(), map("next"));
            let (next, ()) = tokio::join!(maps.create(&params, &next), news);
            next
        };
        let stops = async {
            let refused = gate.until(&condition).await;
            assert!(matches!(refused, Ok(Some(_))), "the next write waits");
        };
        let (next, ()) = tokio::join!(writes, stops);
        let next = next.map(|map| map.name_any()).map_err(|error| error.to_string());
        assert!(next.as_ref().is_err_and(|it| it.contains("not let in")), "{next:?}");
    }
}
