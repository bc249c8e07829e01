//! Fails clusters with many workloads: places the workloads, fails their clusters, follows and judges the moves.
//! `objects` creates workloads; `follow` reads the timeline as it grows; `processes` measures time and memory, `traffic` requests; [`table`] and [`page`]
//! show results.
//! Figures and verdicts are in [`baton_core::scale`].

mod error;
mod follow;
mod objects;
pub mod page;
mod processes;
pub mod table;
mod traffic;

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use baton_cluster::{
    actions::{self, BATON},
    fleet::{Cluster, Fleet, Request, RequestCounts, TargetLocation, TimeMode},
    runner::Running,
    scratch::Scratch,
};
use baton_core::{
    case::model::{Case, ControllerSetup, Taint},
    catalogue::Consequence,
    names::{CaseId, ClusterName},
    scale::{
        judge::Judge,
        parameters::{Parameters, RATE},
        report::{self, Bucket, Cost, End, Machine, Refusals, ScaleReport},
        workloads::Layout,
    },
    timeline::{Begin, Mark},
};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;

pub use self::error::ScaleError;
use self::follow::{Follow, Stopped};
use crate::{
    options::RunOptions,
    scale::processes::{Load, Usage},
    show::count,
};

/// Number of clusters that are tainted at the same time.
const TAINTED_AT_ONCE: usize = 100;

/// Number of missing workloads that are named.
pub(crate) const NAMED: usize = 5;

/// Extra time for late mistakes: after placing, so that no change is on its way, and after the last move.
const LINGER: Duration = Duration::from_secs(5);

/// Measures a run, and returns its result, also where it did not complete. `say` gets a line at the end of each stage.
///
/// # Errors
/// [`ScaleError`] if there is nothing to report.
pub fn scale(options: &RunOptions, parameters: Parameters, say: &dyn Fn(&str)) -> Result<ScaleReport, ScaleError> {
    let is_virtual = options.backend.time_mode() == TimeMode::Virtual;
    let runtime = if is_virtual {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().start_paused(true).build()?
    } else {
        tokio::runtime::Builder::new_multi_thread().enable_all().build()?
    };
    let case = case(options, &parameters)?;
    runtime.block_on(async {
        let (began, load) = (Instant::now(), Usage::read().load);
        let request = Request {
            case: case.clone(),
            members: parameters.members,
            beside_others: false,
            location: options.target.location(),
            definitions: options.target.definitions(),
            rules: options.rules.clone(),
            seed: options.seed,
        };
        let fleet = options.backend.fleet(&request).await?;
        let log = Scratch::new("log")?;
        let run = Run {
            options,
            parameters,
            fleet: &*fleet,
            setup: &case.controller,
            boot: began.elapsed(),
            load,
            say,
        };
        let report = run.carry_out(&log).await;
        let failures = fleet.simulator_failures();
        let lost = fleet.lost().await;
        fleet.shut_down().await?;
        if !lost.is_empty() {
            return Err(ScaleError::Lost(lost.join("; ")));
        }
        if !failures.is_empty() {
            return Err(ScaleError::Simulator(failures.join("; ")));
        }
        report
    })
}

/// The case that backends ask for. It has no steps.
fn case(options: &RunOptions, parameters: &Parameters) -> Result<Case, ScaleError> {
    let gates = ["Failover", "StatefulFailoverInjection"];
    let mut case = Case {
        id: CaseId::new("scale"),
        labels: BTreeMap::new(),
        area: "scale".to_owned(),
        file: std::path::PathBuf::new(),
        title: "Many workloads fail over at once".to_owned(),
        requirements: std::collections::BTreeSet::new(),
        features: std::collections::BTreeSet::new(),
        members: parameters.members,
        controller: ControllerSetup {
            feature_gates: gates.map(|gate| (gate.to_owned(), true)).into(),
            options: parameters.options().into_iter().collect(),
        },
        steps: Vec::new(),
        invariants: std::collections::BTreeSet::new(),
        exempt: BTreeMap::new(),
    };
    let target = &options.target;
    let starts = target.location() == TargetLocation::Beside;
    if starts && target.cannot_take(&case).is_some() {
        // Limits that the target does not have need not be lifted.
        let wanted = parameters.rate.is_some().then_some(RATE);
        case.controller.options.retain(|name, _| Some(name.as_str()) == wanted);
    }
    if let Some(reason) = target.cannot_take(&case).filter(|_| starts) {
        return Err(ScaleError::Unsupported(reason));
    }
    let controller = target.setup_of(&case);
    Ok(Case { controller, ..case })
}

/// State of a run.
struct Run<'a> {
    options: &'a RunOptions,
    parameters: Parameters,
    fleet: &'a dyn Fleet,
    setup: &'a ControllerSetup,
    /// Real time until the clusters were ready.
    boot: Duration,
    /// Load of the machine when the run began.
    load: Option<Load>,
    say: &'a dyn Fn(&str),
}

/// Figures so far.
#[derive(Default)]
struct Figures {
    before: RequestCounts,
    placing: Duration,
    moving: Duration,
    /// Seconds in which clusters became ready.
    registration: Vec<f64>,
}

impl Run<'_> {
    async fn carry_out(&self, log: &Scratch) -> Result<ScaleReport, ScaleError> {
        let (fleet, target) = (self.fleet, &self.options.target);
        let started = (fleet.clock())();
        let mut members: Vec<ClusterName> = fleet.members().iter().map(Cluster::name).cloned().collect();
        members.sort_unstable();
        let order = fleet.order();
        let layout = Layout::new(self.parameters, &members);
        let judge = Judge::new(&self.parameters, &layout, fleet.namespace(), order.is_exact());
        let recorder = fleet.observe(Begin {
            case: CaseId::new("scale"),
            members,
            started,
            backend: fleet.backend().to_owned(),
            target: target.name().to_owned(),
            namespace: fleet.namespace().to_owned(),
            time_factor: 1.0,
            order,
            virtual_time: fleet.has_virtual_time(),
            provenance: None,
        })?;
        let mut follow = Follow::new(recorder.drain(), judge, self.parameters.workloads);
        let log = log.path().join("target.log");
        let target_started = self.since(started);
        let mut running = Started {
            api: target.start_api(fleet, self.setup, &log).await?,
            controller: None,
        };
        running.controller = Some(target.start(fleet, self.setup, &log).await?);
        let mut figures = Figures::default();
        let ended = self
            .stages(&layout, started, &mut follow, &mut running, &mut figures)
            .await;
        figures.registration = follow.registrations(target_started);
        // Read while the target still runs: its time and memory are lost when it ends.
        let usage = Usage::read();
        let now = self.since(started);
        running.stop().await;
        recorder.close(Mark::Closed {
            writes: fleet.writes(),
            idle: fleet.idle_writes(),
        });
        let end = match ended {
            Ok(()) => End::Complete,
            Err(Ended::Early(end)) => end,
            Err(Ended::Broken(error)) => return Err(error),
        };
        follow.judge.finish(now, end == End::Complete);
        Ok(self.report(&follow.judge, now, end, &figures, usage))
    }

    /// Time of the clusters since the timeline began.
    fn since(&self, started: Timestamp) -> Duration {
        Duration::try_from((self.fleet.clock())().duration_since(started)).unwrap_or_default()
    }

    /// Places all workloads, fails the clusters and waits until all have moved.
    async fn stages(
        &self,
        layout: &Layout,
        started: Timestamp,
        follow: &mut Follow,
        running: &mut Started,
        figures: &mut Figures,
    ) -> Result<(), Ended> {
        let members = self.parameters.members;
        let ready = self.options.timeouts.ready;
        let wait = follow.until(ready, |follow| follow.ready() >= members);
        match self.watched(running, wait).await {
            Err(Ended::Early(End::NotMoved)) => {
                return Err(Ended::Broken(ScaleError::NotReady {
                    ready: follow.ready(),
                    members,
                    waited: ready,
                }));
            }
            other => other?,
        }
        (self.say)(&format!(
            "{members} members ready after {:.1} s",
            self.boot.as_secs_f64()
        ));
        let limit = Duration::from_secs(self.parameters.limit_seconds);
        let workloads = self.parameters.workloads;
        let began = Instant::now();
        let placing = async {
            let wait = follow.until(limit, |follow| follow.judge.progress().placed >= workloads);
            let create = async {
                self.define().await?;
                self.create(layout).await
            };
            let (created, placed) = tokio::join!(create, wait);
            created?;
            placed
        };
        let placed = self.watched(running, placing).await;
        figures.placing = began.elapsed();
        figures.before = self.fleet.traffic();
        match placed {
            Err(Ended::Early(End::NotMoved)) => return Err(Ended::Early(End::NotPlaced)),
            other => other?,
        }
        (self.say)(&format!(
            "{} placed after {:.1} s",
            count(workloads, "workload"),
            figures.placing.as_secs_f64()
        ));
        self.watched(running, follow.linger(LINGER)).await?;
        figures.before = self.fleet.traffic();
        let began = Instant::now();
        follow.fail(self.since(started));
        let moved = self.fail(layout, follow, running, limit).await;
        figures.moving = began.elapsed();
        moved?;
        let affected = follow.judge.progress().affected;
        (self.say)(&format!(
            "{affected} workloads moved after {:.1} s",
            figures.moving.as_secs_f64()
        ));
        self.watched(running, follow.linger(LINGER)).await
    }

    /// Fails the clusters and waits until all workloads on them have moved.
    async fn fail(
        &self,
        layout: &Layout,
        follow: &mut Follow,
        running: &mut Started,
        limit: Duration,
    ) -> Result<(), Ended> {
        let affected = follow.judge.progress().affected;
        if affected == 0 {
            return Err(Ended::Broken(ScaleError::NothingToMove));
        }
        let moving = async {
            let wait = follow.until(limit, |follow| follow.judge.progress().settled >= affected);
            let (tainted, moved) = tokio::join!(self.taint(layout), wait);
            tainted?;
            moved
        };
        self.watched(running, moving).await
    }

    /// Carries a stage out, unless the user interrupts or the target ends.
    async fn watched(
        &self,
        running: &mut Started,
        stage: impl Future<Output = Result<(), Stopped>>,
    ) -> Result<(), Ended> {
        tokio::select! {
            biased;
            () = self.options.interrupt.asked() => Err(Ended::Early(End::Interrupted)),
            ended = running.ended() => {
                (self.say)(&format!("the target ended: {ended}"));
                Err(Ended::Early(End::TargetEnded))
            }
            done = stage => done.map_err(|stopped| match stopped {
                Stopped::TimeLimit => Ended::Early(End::NotMoved),
                Stopped::HotLoop(revisions) => Ended::Broken(ScaleError::HotLoop { revisions }),
                Stopped::Broken(error) => Ended::Broken(*error),
            }),
        }
    }

    async fn taint(&self, layout: &Layout) -> Result<(), Stopped> {
        let client = self.fleet.control().inside(BATON);
        let taint = Taint {
            key: "baton.dev/failed".to_owned(),
            value: None,
            effect: "NoExecute".to_owned(),
        };
        let each = layout.failing().iter().map(|cluster| {
            let (client, taint) = (&client, &taint);
            async move {
                let tainted = actions::taint(client, cluster.as_str(), taint).await;
                tainted.map_err(|source| ScaleError::Taint {
                    cluster: cluster.clone(),
                    source: Box::new(source),
                })
            }
        });
        let tainted = stream::iter(each).buffer_unordered(TAINTED_AT_ONCE);
        tainted.try_collect().await.map_err(Stopped::broken)
    }

    fn report(&self, judge: &Judge, now: Duration, end: End, figures: &Figures, usage: Usage) -> ScaleReport {
        let implementation = self.options.target.implementation();
        let target = [Some(implementation.name), implementation.version];
        let after = self.fleet.traffic();
        let refusals = after.refusals.iter().map(|((program, status), count)| Refusals {
            program: program.clone(),
            status: *status,
            count: *count,
        });
        let asked = &self.options.asked;
        let is_virtual = self.options.backend.time_mode() == TimeMode::Virtual;
        ScaleReport {
            api_version: report::API_VERSION.to_owned(),
            kind: report::KIND.to_owned(),
            baton: env!("CARGO_PKG_VERSION").to_owned(),
            date: Timestamp::now().strftime("%FT%TZ").to_string(),
            machine: Machine {
                os: std::env::consts::OS.to_owned(),
                arch: std::env::consts::ARCH.to_owned(),
                processors: std::thread::available_parallelism().map_or(1, usize::from),
                memory_kib: usage.memory_kib,
            },
            target: target.into_iter().flatten().collect::<Vec<_>>().join(" "),
            backend: self.options.backend.name().to_owned(),
            virtual_time: is_virtual,
            parameters: self.parameters,
            end,
            workloads: judge.progress(),
            phases: report::phases(judge),
            series: report::series(judge, now),
            recovery: Bucket::all(&report::recoveries(judge)),
            requests: traffic::requests(&figures.before, &after),
            refusals: refusals.collect(),
            indicators: traffic::indicators(
                (!is_virtual).then_some(&after),
                report::placed(judge),
                &figures.registration,
            ),
            cost: Cost {
                boot_seconds: self.boot.as_secs_f64(),
                placing_seconds: figures.placing.as_secs_f64(),
                moving_seconds: figures.moving.as_secs_f64(),
                processes: usage.processes,
                revisions: judge.revisions(),
                other_programs: self.load.zip(usage.load).and_then(|(began, end)| began.of_others(end)),
            },
            violations: report::violations(judge, |id| asked.consequence(id) == Consequence::Deviation),
            not_judged: judge.not_judged(),
            missing: if end == End::Complete {
                Vec::new()
            } else {
                judge.missing(NAMED)
            },
        }
    }
}

/// Reason why a run ended before all workloads had moved.
enum Ended {
    /// With figures so far.
    Early(End),
    /// Without a result.
    Broken(ScaleError),
}

/// The target: its controller, and the parts that keep running while that is stopped.
struct Started {
    api: Option<Box<dyn Running>>,
    controller: Option<Box<dyn Running>>,
}

impl Started {
    async fn ended(&mut self) -> String {
        let of = async |running: &mut Option<Box<dyn Running>>| match running {
            Some(running) => running.ended().await.to_string(),
            None => std::future::pending().await,
        };
        tokio::select! {
            biased;
            ended = of(&mut self.api) => ended,
            ended = of(&mut self.controller) => ended,
        }
    }

    async fn stop(self) {
        for running in [self.controller, self.api].into_iter().flatten() {
            running.stop().await;
        }
    }
}
