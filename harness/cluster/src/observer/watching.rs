//! Observes clusters from outside: lists and watches all their kinds, and records the events that arrive.
//!
//! Events that are missed while a watch is broken show in the next list: a deleted object is absent. Of several changes
//! in that time, only the last one is seen.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, PoisonError},
    task::Context,
    time::Duration,
};

use baton_apiserver::fault_proxy::Created;
use baton_core::{
    names::ClusterName,
    timeline::{Change, Event, Mark},
};
use futures::{StreamExt, future::join_all};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client,
    api::ApiResource,
    runtime::{
        WatchStreamExt,
        watcher::{self, watcher},
    },
};
use serde_json::Value;
use thiserror::Error;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::Instant,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    Recorder, Source, fences,
    kind::Kind,
    kinds,
    news::{Listed, News, Reporter},
    recorder::Seen,
    what_is_there,
};
use crate::clock::Clock;

pub use fences::FencePost;

/// Longest time for the initial lists of all kinds of a cluster.
const LISTED_WITHIN: Duration = Duration::from_secs(60);

/// A cluster that cannot be observed.
#[derive(Debug, Error)]
pub enum WatchError {
    /// Discovery failed.
    #[error("cannot discover the kinds that {cluster} serves")]
    Discovery {
        /// Name of the cluster.
        cluster: ClusterName,
        /// Error from the API server.
        source: Box<kube::Error>,
    },
    /// The initial lists were not complete in time.
    #[error("{0} has not listed everything that is there within {LISTED_WITHIN:?}")]
    NotListed(ClusterName),
}

/// A cluster to observe.
#[derive(Clone)]
pub struct Watched {
    /// Name of the cluster.
    pub name: ClusterName,
    /// A client that faults do not affect.
    pub client: Client,
    /// Object that fences are written to, if writing is allowed.
    pub fence: Option<FencePost>,
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// All watches of a fleet. They end when this is dropped.
pub struct Watching {
    reporter: Reporter,
    news: mpsc::UnboundedReceiver<News>,
    listed: Listed,
    stop: DropGuard,
}

impl fmt::Debug for Watching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watching").finish_non_exhaustive()
    }
}

impl Watching {
    /// Starts to watch; returns once all present objects have been listed.
    ///
    /// # Errors
    /// If a cluster does not answer.
    pub async fn start(clusters: Vec<Watched>, clock: Clock) -> Result<Self, WatchError> {
        let (sender, news) = mpsc::unbounded_channel();
        let token = CancellationToken::new();
        let mut bells = BTreeMap::new();
        let mut posts = Vec::new();
        for cluster in &clusters {
            if let Some(post) = cluster.fence.clone() {
                let (bell, rung) = watch::channel(0);
                bells.insert(cluster.name.clone(), bell);
                posts.push((cluster.name.clone(), post, rung));
            }
        }
        let reporter = Reporter {
            clock,
            news: sender,
            bells: Arc::new(bells),
            listed: Listed::default(),
        };
        for (name, post, rung) in posts {
            let fences = fences::keep(name, post, rung, reporter.clone());
            tokio::spawn(token.clone().run_until_cancelled_owned(fences));
        }
        let start = |cluster| {
            let observer = Observer {
                cluster,
                reporter: reporter.clone(),
                token: token.clone(),
                watched: Arc::default(),
            };
            observer.start()
        };
        let started: Vec<_> = clusters.into_iter().map(start).collect();
        let listed = Arc::clone(&reporter.listed);
        let stop = token.drop_guard();
        for started in join_all(started).await {
            started?;
        }
        Ok(Self {
            reporter,
            news,
            listed,
            stop,
        })
    }

    /// Callback for objects that are created on a cluster, with the time of the request and the revision. The cluster
    /// committed all later revisions after that time.
    pub(crate) fn fences_of(&self, cluster: ClusterName) -> Created {
        let reporter = self.reporter.clone();
        Arc::new(move |asked: Instant, revision: u64| {
            let ago = SignedDuration::try_from(asked.elapsed()).unwrap_or_default();
            reporter.tell(News::Fence {
                cluster: cluster.clone(),
                revision: revision.saturating_sub(1),
                asked: reporter.now().saturating_sub(ago).unwrap_or_else(|_| reporter.now()),
            });
        })
    }

    /// Starts a recording that begins with the present objects.
    pub(crate) fn record(self, clock: Clock) -> Recorder {
        let started = clock();
        let source = Box::new(self.begin(started));
        let begin = Mark::Note {
            about: "recording".to_owned(),
            details: Value::Null,
        };
        Recorder::start(clock, started, begin, source)
    }

    /// Converts it to a source that begins with the present objects.
    pub(crate) fn begin(mut self, started: Timestamp) -> Arrivals {
        let mut seen = Vec::new();
        while let Ok(news) = self.news.try_recv() {
            if let News::Seen(news) = news {
                seen.push(news);
            }
        }
        Arrivals {
            list: what_is_there(seen, started),
            started,
            news: self.news,
            listed: self.listed,
            _stop: self.stop,
        }
    }
}

/// Events of watches, after a list.
pub(crate) struct Arrivals {
    list: Vec<Seen>,
    started: Timestamp,
    news: mpsc::UnboundedReceiver<News>,
    listed: Listed,
    _stop: DropGuard,
}

impl Arrivals {
    fn seen(&self, news: News) -> Seen {
        match news {
            News::Seen(seen) => seen,
            News::Fence {
                cluster,
                revision,
                asked,
            } => Seen {
                at: asked,
                event: Event::Mark(Mark::Fence {
                    cluster,
                    revision,
                    asked_secs: asked.duration_since(self.started).as_secs_f64(),
                }),
            },
        }
    }
}

impl Source for Arrivals {
    fn take(&mut self, context: Option<&mut Context<'_>>) -> Vec<Seen> {
        let mut seen = std::mem::take(&mut self.list);
        match context {
            None => {
                while let Ok(news) = self.news.try_recv() {
                    seen.push(self.seen(news));
                }
            }
            Some(context) => {
                while let std::task::Poll::Ready(Some(news)) = self.news.poll_recv(context) {
                    seen.push(self.seen(news));
                }
            }
        }
        seen
    }

    fn rest(&mut self) -> Vec<Seen> {
        Vec::new()
    }

    fn hears_of(&self, cluster: &ClusterName, kind: &str) -> bool {
        let listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        listed.contains(&(cluster.clone(), kind.to_owned()))
    }

    fn may_lag(&self, cluster: &ClusterName, kind: &str) -> bool {
        self.hears_of(cluster, kind)
    }
}

/// Observes one cluster.
#[derive(Clone)]
struct Observer {
    cluster: Watched,
    reporter: Reporter,
    token: CancellationToken,
    /// Watched kinds, by group and kind.
    watched: Arc<Mutex<BTreeSet<(String, String)>>>,
}

impl Observer {
    /// Watches all kinds, and those that are defined later. Returns once all present kinds are listed.
    async fn start(self) -> Result<(), WatchError> {
        let served = kinds::served(&self.cluster.client).await;
        let served = served.map_err(|source| WatchError::Discovery {
            cluster: self.cluster.name.clone(),
            source: Box::new(source),
        })?;
        let listed = kinds::recorded(served).filter_map(|resource| self.watch(resource, Change::List));
        let listed = join_all(listed.collect::<Vec<_>>());
        let in_time = tokio::time::timeout(LISTED_WITHIN, listed).await;
        if in_time.is_err() {
            return Err(WatchError::NotListed(self.cluster.name));
        }
        let token = self.token.clone();
        tokio::spawn(token.run_until_cancelled_owned(self.follow_definitions()));
        Ok(())
    }

    /// Starts to watch a kind, unless it is already watched. Objects in the initial list are reported as `first`.
    fn watch(&self, resource: ApiResource, first: Change) -> Option<oneshot::Receiver<()>> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if !watched.insert((resource.group.clone(), resource.kind.clone())) {
            return None;
        }
        let (listed, is_listed) = oneshot::channel();
        let kind = Kind::new(self.cluster.name.clone(), self.reporter.clone(), resource, first);
        let watching = kind.follow(self.cluster.client.clone(), listed);
        tokio::spawn(self.token.clone().run_until_cancelled_owned(watching));
        Some(is_listed)
    }

    async fn follow_definitions(self) {
        let api: Api<CustomResourceDefinition> = Api::all(self.cluster.client.clone());
        let mut definitions = std::pin::pin!(watcher(api, watcher::Config::default()).default_backoff());
        while let Some(event) = definitions.next().await {
            let definition = match event {
                Ok(watcher::Event::Apply(it) | watcher::Event::InitApply(it)) => serde_json::to_value(it),
                Ok(watcher::Event::Delete(_) | watcher::Event::Init | watcher::Event::InitDone) | Err(_) => continue,
            };
            let kind = definition.ok().as_ref().and_then(kinds::defined);
            // Objects in that list were created since; a caller that waits for the list asks the recorder.
            drop(kind.and_then(|kind| self.watch(kind, Change::Added)));
        }
    }
}

#[cfg(test)]
mod tests {
    use baton_apiserver::{ApiServer, Failure, Matching, Options};
    use kube::api::{DynamicObject, PostParams};

    use serde_json::json;

    use super::*;
    use crate::{
        clock::tokio_clock,
        fleet::{define, failover_api},
        observer::served,
    };

    fn server() -> (ApiServer, Clock) {
        let clock = tokio_clock(Timestamp::UNIX_EPOCH);
        (ApiServer::new(Options::new("member1", Arc::clone(&clock))), clock)
    }

    fn client(server: &ApiServer) -> Client {
        Client::new(server.service("test"), "default")
    }

    #[tokio::test(start_paused = true)]
    async fn kinds_that_the_preferred_version_of_their_group_has_not_are_observed_too() {
        let (server, _) = server();
        define(&client(&server), failover_api().unwrap()).await.unwrap();
        let kinds = served(&client(&server)).await.unwrap();
        let kinds: Vec<_> = kinds::recorded(kinds)
            .filter(|it| it.group == "work.karmada.io")
            .map(|it| (it.kind, it.version))
            .collect();
        let expected = [
            ("ClusterResourceBinding", "v1alpha2"),
            ("ResourceBinding", "v1alpha2"),
            ("Work", "v1alpha1"),
        ];
        assert_eq!(
            kinds,
            expected.map(|(kind, version)| (kind.to_owned(), version.to_owned()))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_that_is_defined_and_not_served_yet_is_observed_once_it_is() {
        let (server, clock) = server();
        let cluster = ClusterName::new("member1");
        let watched = Watched {
            name: cluster.clone(),
            client: client(&server),
            fence: None,
        };
        let watching = Watching::start(vec![watched], Arc::clone(&clock)).await.unwrap();
        let recorder = watching.record(clock);
        let mut follower = recorder.follow();
        server.faults().fail(Failure {
            matching: Matching {
                verb: Some("list".to_owned()),
                kind: Some("Work".to_owned()),
                ..Matching::default()
            },
            nth: 1,
            times: 3,
            code: 404,
            message: "not yet".to_owned(),
        });
        let mut works = failover_api().unwrap().to_vec();
        works.retain(|it| it["spec"]["names"]["kind"] == "Work");
        define(&client(&server), &works).await.unwrap();
        let kind = kinds::defined(&works[0]);
        assert!(kind.is_none(), "a definition that is not established is ignored");
        assert!(!recorder.hears_of(&cluster, "Work"));
        let resource = ApiResource {
            group: "work.karmada.io".to_owned(),
            version: "v1alpha1".to_owned(),
            api_version: "work.karmada.io/v1alpha1".to_owned(),
            kind: "Work".to_owned(),
            plural: "works".to_owned(),
        };
        let api: Api<DynamicObject> = Api::namespaced_with(client(&server), "default", &resource);
        let work = DynamicObject::new("early", &resource).data(json!({"spec": {"workload": {"manifests": []}}}));
        api.create(&PostParams::default(), &work).await.unwrap();
        let mut seen = Vec::new();
        let heard = async {
            while !recorder.hears_of(&cluster, "Work") {
                seen.extend(follower.next().await.unwrap());
            }
        };
        tokio::time::timeout(Duration::from_secs(600), heard).await.unwrap();
        seen.extend(follower.available());
        let works = seen.iter().filter_map(|entry| match &entry.event {
            Event::Revision(revision) if revision.kind == "Work" => Some(revision.change),
            _ => None,
        });
        assert_eq!(works.collect::<Vec<_>>(), [Change::Added]);
    }
}
