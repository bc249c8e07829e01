//! `baton explore`: finds a defect that appears only after a crash, writes it as a case that replays, and continues an
//! interrupted exploration.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    process::Output,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use baton::{
    explore::{self, Explored, Wanted, folder::Folder, workers},
    files::Roots,
    implementation::{Reference, reference::USER_AGENT},
    load::Suite,
    options::RunOptions,
    output::FollowUp,
    run,
};
use baton_cluster::{
    fleet::Fleet,
    runner::{Running, Target, TargetError},
};
use baton_core::{
    case::model::{ControllerSetup, MoveFault},
    event::{CaseOutcome, Shard},
    explore::space::Random,
    names::Feature,
};

use rstest::rstest;
use serde_json::{Value, json};

use crate::common;

const CASE: &str = "deployment-directly";

/// The reference controller, which forgets to inject state once it has been started again.
#[derive(Debug, Default)]
struct Forgetful {
    /// Number of starts, by the log of the run.
    starts: Mutex<BTreeMap<PathBuf, usize>>,
}

#[async_trait]
impl Target for Forgetful {
    fn name(&self) -> &'static str {
        "forgetful"
    }

    fn features(&self) -> BTreeSet<Feature> {
        Reference.features()
    }

    async fn start(
        &self,
        fleet: &dyn Fleet,
        setup: &ControllerSetup,
        log: &Path,
    ) -> Result<Box<dyn Running>, TargetError> {
        let is_first = {
            let mut starts = self.starts.lock().unwrap();
            let number = starts.entry(log.to_owned()).or_default();
            *number += 1;
            *number == 1
        };
        let mut setup = setup.clone();
        setup
            .feature_gates
            .insert("StatefulFailoverInjection".to_owned(), is_first);
        Reference.start(fleet, &setup, log).await
    }
}

fn wanted(faults: &[MoveFault], plans: Option<usize>) -> Wanted {
    Wanted {
        plans,
        budget: None,
        depth: 1,
        random: Random::plans(0),
        faults: faults.to_vec(),
        shard: Shard { number: 1, of: 1 },
        jobs: NonZeroUsize::MIN,
        shrink: 20,
        again: FollowUp::default(),
    }
}

fn with_target(target: Arc<dyn Target>) -> (Suite, Roots, RunOptions) {
    let roots = common::roots();
    let suite = Suite::load(&roots).unwrap();
    let settings = RunOptions {
        target,
        ..RunOptions::new(roots.clone())
    };
    let settings = settings.asking(&suite.catalogue);
    (suite, roots, settings)
}

fn explored(target: Arc<dyn Target>, wanted: &Wanted, folder: &Path) -> Explored {
    let (suite, roots, settings) = with_target(target);
    let chosen = suite.chosen(&roots, &[CASE.to_owned()]).unwrap();
    let mut folder = Folder::new(folder.to_owned(), false);
    explore::explore(&suite, &chosen.cases, &roots, &settings, wanted, &mut folder).unwrap()
}

/// Outcomes of the cases in a file.
fn replayed(target: Arc<dyn Target>, file: &Path) -> Vec<CaseOutcome> {
    let (_, roots, settings) = with_target(target);
    let suite = Suite::load_files(&roots, &[file.to_owned()]).unwrap();
    assert_eq!(suite.broken, [], "{}", file.display());
    let run = |case| run::run_case(case, &settings, &|_| {}).outcome;
    suite.cases.iter().map(run).collect()
}

#[test]
fn a_defect_that_shows_only_after_a_crash_is_found_and_replays_as_a_case() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let explored = explored(
        Arc::new(Forgetful::default()),
        &wanted(&[MoveFault::CrashAfter], None),
        &out,
    );
    assert!(explored.deviations > 0, "{explored:?}");
    let files: Vec<PathBuf> = fs::read_dir(&out).unwrap().map(|it| it.unwrap().path()).collect();
    let cases: Vec<&PathBuf> = files
        .iter()
        .filter(|it| it.extension().is_some_and(|it| it == "yaml"))
        .collect();
    assert!(!cases.is_empty(), "{files:?}");
    let texts: Vec<String> = cases.iter().map(|it| fs::read_to_string(it).unwrap()).collect();
    assert!(texts.iter().any(|it| it.contains("stateReachesCopy")), "{texts:?}");
    let shrunk: Vec<Value> = journal(&out)
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["shrunk"].clone())
        .filter(|it| !it.is_null())
        .collect();
    for it in shrunk.iter().flat_map(|it| it.as_array().unwrap()) {
        assert!(it["steps"].as_u64() < it["ofSteps"].as_u64(), "{it}");
        assert!(it["runs"].as_u64() <= Some(20 + 1), "{it}");
    }
    assert_eq!(shrunk.len(), cases.len());
    for case in cases {
        assert!(case.with_extension("jsonl").exists(), "{}", case.display());
        let broken = replayed(Arc::new(Forgetful::default()), case);
        assert!(
            matches!(broken.as_slice(), [CaseOutcome::Deviates { .. }]),
            "{broken:?}"
        );
        let right = replayed(Arc::new(Reference), case);
        assert!(matches!(right.as_slice(), [CaseOutcome::Conforms(_)]), "{right:?}");
    }
}

/// The reference controller, whose start waits for a write.
#[derive(Debug)]
struct Registering;

#[async_trait]
impl Target for Registering {
    fn name(&self) -> &'static str {
        "registering"
    }

    fn features(&self) -> BTreeSet<Feature> {
        Reference.features()
    }

    async fn start(
        &self,
        fleet: &dyn Fleet,
        setup: &ControllerSetup,
        log: &Path,
    ) -> Result<Box<dyn Running>, TargetError> {
        let path = format!("/api/v1/namespaces/{}/configmaps", fleet.namespace());
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "started-"}});
        let request = http::Request::post(path)
            .header("content-type", "application/json")
            .body(object.to_string().into_bytes())
            .unwrap();
        fleet
            .control()
            .client(USER_AGENT)
            .request::<Value>(request)
            .await
            .unwrap();
        Reference.start(fleet, setup, log).await
    }
}

/// A crash, and a second fault at a write for which the next start waits.
const WHILE_IT_STARTS: &str = "
apiVersion: baton.dev/v1alpha1
kind: Case
metadata: {name: while-it-starts}
spec:
  title: A fault at a write that belongs to a start
  features: [Propagation]
  members: 1
  steps:
    - apply: {on: control, file: workloads/deploy.yaml}
    - move: {at: {write: ConfigMap, does: create}, do: holdWatches}
    - move: {at: {write: ResourceBinding, does: create}, do: crashAfter}
    - apply:
        on: control
        resource:
          apiVersion: policy.karmada.io/v1alpha1
          kind: PropagationPolicy
          metadata: {name: deploy-propagation}
          spec:
            resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: deploy}]
            placement: {clusterAffinity: {clusterNames: [member1]}}
    - elapse: 2m
";

#[test]
fn a_fault_at_a_write_that_belongs_to_a_start_does_not_stop_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("while-it-starts.yaml");
    fs::write(&file, WHILE_IT_STARTS).unwrap();
    let outcomes = replayed(Arc::new(Registering), &file);
    assert!(
        matches!(outcomes.as_slice(), [CaseOutcome::Conforms(_)]),
        "{outcomes:?}"
    );
}

/// Watches are held back for longer than the clean-up may take.
const HELD_AT_THE_END: &str = "
apiVersion: baton.dev/v1alpha1
kind: Case
metadata: {name: held-at-the-end}
spec:
  title: Watches are held back when the steps end
  features: [Propagation]
  members: 1
  steps:
    - apply: {on: control, file: workloads/deploy.yaml}
    - move: {at: {write: ResourceBinding, does: create}, do: holdWatches, for: 30m}
    - apply:
        on: control
        resource:
          apiVersion: policy.karmada.io/v1alpha1
          kind: PropagationPolicy
          metadata: {name: deploy-propagation}
          spec:
            resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: deploy}]
            placement: {clusterAffinity: {clusterNames: [member1]}}
    - elapse: 1s
";

#[test]
fn held_watches_are_released_before_the_clean_up() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("held-at-the-end.yaml");
    fs::write(&file, HELD_AT_THE_END).unwrap();
    let outcomes = replayed(Arc::new(Reference), &file);
    let [CaseOutcome::Conforms(verdict)] = outcomes.as_slice() else {
        panic!("{outcomes:?}");
    };
    assert_eq!((&verdict.elsewhere, &verdict.remarks), (&Vec::new(), &Vec::new()));
}

/// Users act at writes: each act shows on its object, and the taint goes after its time, unless its cluster has gone before.
const ACTS_OF_USERS: &str = "
apiVersion: baton.dev/v1alpha1
kind: Case
metadata: {name: acts-of-users}
spec:
  title: Users taint a cluster and edit a policy at a write
  features: [Propagation, NoExecuteEviction]
  members: 2
  controller: {featureGates: {Failover: true}}
  steps:
    - apply: {on: control, file: workloads/deploy.yaml}
    - move: {at: {write: ResourceBinding, does: create}, do: editPolicies}
    - move: {at: {write: Deployment, does: patch, on: members}, do: taintCluster, for: 30s}
    - apply:
        on: control
        resource:
          apiVersion: policy.karmada.io/v1alpha1
          kind: PropagationPolicy
          metadata: {name: policy}
          spec:
            resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: deploy}]
            placement: {clusterAffinity: {clusterNames: [member1]}}
            failover: {cluster: {purgeMode: Gracefully}}
    - wait: {for: match, of: {kind: PropagationPolicy, name: policy}, on: control, match: {spec: {failover: {cluster: {purgeMode: Directly}}}}}
    - bindRole: {role: origin, from: {kind: Deployment, name: deploy}}
    - wait: {for: match, of: {cluster: origin}, on: control, match: {spec: {taints: {contains: [{key: baton.dev/moved, effect: NoExecute}]}}}}
    END
  exempt: [{invariant: nothingLeftAfterCleanUp, reason: the cluster is gone}]
";

#[rstest]
#[case::the_taint_goes("- wait: {for: match, of: {cluster: origin}, on: control, match: {spec: {taints: null}}}")]
#[case::the_cluster_goes("- unjoin: origin")]
fn users_act_at_writes(#[case] end: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("acts-of-users.yaml");
    fs::write(
        &file,
        ACTS_OF_USERS.replace("END", &format!("{end}\n    - elapse: 60s")),
    )
    .unwrap();
    let outcomes = replayed(Arc::new(Reference), &file);
    assert!(
        matches!(outcomes.as_slice(), [CaseOutcome::Conforms(_)]),
        "{outcomes:?}"
    );
}

/// Another instance takes over while it has not heard that the Work of the old copy is gone.
const LATE_LEADER: &str = "
apiVersion: baton.dev/v1alpha1
kind: Case
metadata: {name: late-leader}
spec:
  title: A leader that has not heard of a deletion creates no copy again
  features: [Propagation, NoExecuteEviction, PurgeDirectly, LeaderElection]
  members: 2
  controller: {featureGates: {Failover: true}, options: {leader-elect: true}}
  steps:
    - controller: {add: standby}
    - apply: {on: control, file: workloads/deploy.yaml}
    - apply:
        on: control
        resource:
          apiVersion: policy.karmada.io/v1alpha1
          kind: PropagationPolicy
          metadata: {name: policy}
          spec:
            resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: deploy}]
            placement:
              clusterAffinity: {clusterNames: [member1, member2]}
              spreadConstraints: [{spreadByField: cluster, minGroups: 1, maxGroups: 1}]
            failover: {cluster: {purgeMode: Directly}}
    - bindRole: {role: origin, from: {kind: Deployment, name: deploy}}
    - wait: {for: healthy, of: {kind: Deployment, name: deploy}, from: origin}
    - move: {at: {write: Work, does: delete}, do: holdKind, for: 60s}
    - taint: {cluster: origin, key: baton.dev/failed, effect: NoExecute}
    - wait: {for: gone, on: origin, of: {kind: Deployment, name: deploy}}
    - controller: {crash: first}
    - settle: 10m
";

/// The controller restarts when a migration under Gracefully was called off and another one under Directly begins, before it
/// has created the copy of the first one.
const UNWANTED_WORK: &str = "
apiVersion: baton.dev/v1alpha1
kind: Case
metadata: {name: unwanted-work}
spec:
  title: The Work of a migration that was called off creates no copy
  features: [Propagation, NoExecuteEviction, PurgeDirectly, PurgeGracefully]
  members: 2
  controller: {featureGates: {Failover: true}}
  steps:
    - apply: {on: control, file: workloads/deploy.yaml}
    - apply:
        on: control
        resource:
          apiVersion: policy.karmada.io/v1alpha1
          kind: PropagationPolicy
          metadata: {name: policy}
          spec:
            resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: deploy}]
            placement:
              clusterAffinity: {clusterNames: [member1, member2]}
              spreadConstraints: [{spreadByField: cluster, minGroups: 1, maxGroups: 1}]
            failover: {cluster: {purgeMode: Gracefully}}
    - bindRole: {role: origin, from: {kind: Deployment, name: deploy}}
    - taint: {cluster: origin, key: baton.dev/failed, effect: NoExecute}
    - move: {at: {write: Cluster, does: patch}, do: editPolicies}
    - wait: {for: taskWritten, of: {kind: Deployment, name: deploy}, from: origin}
    - controller: stop
    - untaint: {cluster: origin, key: baton.dev/failed, effect: NoExecute}
    - patch: {on: control, of: {bindingOf: {kind: Deployment, name: deploy}}, merge: {spec: {clusters: [{name: '${origin}', replicas: 2}]}}}
    - taint: {cluster: origin, key: baton.dev/failed, effect: NoExecute}
    - controller: start
    - settle: 10m
";

#[rstest]
#[case::a_leader_that_has_not_heard_of_a_deletion(LATE_LEADER)]
#[case::a_leader_that_finds_a_work_without_use(UNWANTED_WORK)]
fn a_new_leader_creates_no_second_copy(#[case] text: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("case.yaml");
    fs::write(&file, text).unwrap();
    let outcomes = replayed(Arc::new(Reference), &file);
    let [CaseOutcome::Conforms(verdict)] = outcomes.as_slice() else {
        panic!("{outcomes:?}");
    };
    assert_eq!((&verdict.elsewhere, &verdict.remarks), (&Vec::new(), &Vec::new()));
}

/// The reference controller, which does not come up again after a crash, and lets time pass for ever.
#[derive(Debug, Default)]
struct NeverBack {
    /// Logs of runs in which it has started.
    started: Mutex<BTreeSet<PathBuf>>,
}

#[async_trait]
impl Target for NeverBack {
    fn name(&self) -> &'static str {
        "never back"
    }

    fn features(&self) -> BTreeSet<Feature> {
        Reference.features()
    }

    async fn start(
        &self,
        fleet: &dyn Fleet,
        setup: &ControllerSetup,
        log: &Path,
    ) -> Result<Box<dyn Running>, TargetError> {
        let is_first = self.started.lock().unwrap().insert(log.to_owned());
        if is_first {
            return Reference.start(fleet, setup, log).await;
        }
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

#[test]
fn a_plan_that_does_not_end_is_inconclusive_and_tried_again_later() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let (suite, roots, options) = with_target(Arc::new(NeverBack::default()));
    let chosen = suite.chosen(&roots, &[CASE.to_owned()]).unwrap();
    let options = RunOptions {
        limit: Some(Duration::from_secs(5)),
        ..options
    };
    let wanted = wanted(&[MoveFault::CrashAfter], Some(1));
    let explore = |resume: bool| {
        let mut folder = Folder::new(out.clone(), resume);
        explore::explore(&suite, &chosen.cases, &roots, &options, &wanted, &mut folder).unwrap()
    };
    let first = explore(false);
    assert_eq!(first.plans, BTreeMap::from([(explore::INCONCLUSIVE, 1)]));
    assert_eq!((first.deviations, first.run, first.tried.len()), (0, 1, 0));
    let line: Value = serde_json::from_str(journal(&out).last().unwrap()).unwrap();
    assert_eq!(line["outcome"], "inconclusive", "{line}");
    let reason = line["found"][0].as_str().unwrap();
    assert!(reason.contains("had not ended after 5s of real time"), "{reason}");
    assert_eq!(explore(true), first);
}

#[test]
fn the_reference_controller_bears_each_fault_at_the_first_moments() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let explored = explored(Arc::new(Reference), &wanted(&MoveFault::ALL, Some(40)), &out);
    assert_eq!((explored.deviations, explored.run), (0, 40), "{explored:?}");
    assert_eq!(explored.plans.get("broken"), None, "{explored:?}");
    assert!(explored.tried.len() >= 30, "{explored:?}");
}

fn baton(arguments: &[&str], out: &Path) -> Output {
    common::program().args(arguments).arg(out).output().unwrap()
}

/// The lines of a journal but those about its parts.
fn journal(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("journal.jsonl")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with(r#"{"shard""#));
    lines.map(ToOwned::to_owned).collect()
}

fn plans(folder: &Path) -> usize {
    journal(folder)
        .iter()
        .filter(|line| line.starts_with(r#"{"plan""#))
        .count()
}

#[test]
fn an_exploration_that_was_cut_short_goes_on_and_comes_to_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    let some = ["explore", CASE, "--moves", "rival,loseAnswer", "--jobs", "1"];
    let with = |more: &[&'static str]| [some.as_slice(), more].concat();
    assert_eq!(baton(&with(&["--plans", "8", "--out"]), &whole).status.code(), Some(0));
    assert_eq!(baton(&with(&["--plans", "3", "--out"]), &parts).status.code(), Some(0));
    // The process was killed in the middle of a line.
    let path = parts.join("journal.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, &text[..text.len() - 20]).unwrap();
    assert_eq!(
        baton(&with(&["--plans", "6", "--resume"]), &parts).status.code(),
        Some(0)
    );
    let (whole, parts) = (journal(&whole), journal(&parts));
    let complete: Vec<&String> = parts.iter().filter(|line| line.ends_with('}')).collect();
    assert_eq!(complete, whole.iter().collect::<Vec<_>>());
}

#[test]
fn a_journal_of_another_exploration_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let first = baton(&["explore", CASE, "--plans", "1", "--out"], &out);
    assert_eq!(first.status.code(), Some(0), "{first:?}");
    let told = |output: Output| (output.status.code(), String::from_utf8(output.stderr).unwrap());
    let (code, error) = told(baton(
        &["explore", CASE, "--plans", "1", "--seed", "7", "--resume"],
        &out,
    ));
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("its seed differs"), "{error}");
    let (code, error) = told(baton(&["explore", CASE, "--plans", "1", "--out"], &out));
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("--resume continues it"), "{error}");
    let (code, error) = told(baton(&["explore", CASE, "--moves", "crash", "--out"], &out));
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("crashBefore"), "{error}");
}

#[test]
fn shards_are_merged_into_one_journal_and_one_page() {
    let folder = tempfile::tempdir().unwrap();
    let part = |name: &str| folder.path().join(name);
    for (shard, name) in [("1/2", "one"), ("2/2", "other")] {
        let arguments = ["explore", CASE, "--moves", "rival", "--shard", shard, "--out"];
        assert_eq!(baton(&arguments, &part(name)).status.code(), Some(0));
    }
    let whole = baton(&["explore", CASE, "--moves", "rival", "--out"], &part("whole"));
    assert_eq!(whole.status.code(), Some(0));
    let paths = [part("one"), part("other")].map(|it| it.to_str().unwrap().to_owned());
    let merged = baton(&["explore", "merge", &paths[0], &paths[1], "--out"], &part("merged"));
    assert_eq!(merged.status.code(), Some(0), "{merged:?}");
    // The same plans and coverage as one process, in another order.
    let sorted = |name: &str| journal(&part(name)).into_iter().collect::<BTreeSet<_>>();
    assert_eq!(sorted("merged"), sorted("whole"));
    let coverage = |output: &Output| {
        let text = String::from_utf8(output.stdout.clone()).unwrap();
        text.lines().find(|it| it.starts_with("coverage")).unwrap().to_owned()
    };
    assert_eq!(coverage(&merged), coverage(&whole));
    let page = fs::read_to_string(part("merged").join("explored.html")).unwrap();
    assert_eq!(page, fs::read_to_string(part("whole").join("explored.html")).unwrap());
    assert!(page.contains(">rival<"), "{page}");
    assert!(page.contains("✓"), "{page}");

    // Without the other part, the result is not that of all plans.
    let half = baton(&["explore", "merge", &paths[1], "--out"], &part("half"));
    let text = String::from_utf8(half.stdout.clone()).unwrap();
    assert_eq!(half.status.code(), Some(3), "{half:?}");
    assert!(text.contains("missing    shard 1/2\n"), "{text}");
    let page = fs::read_to_string(part("half").join("explored.html")).unwrap();
    assert!(page.contains("The journal lacks shard 1/2."), "{page}");

    let arguments = [
        "explore", CASE, "--moves", "rival", "--plans", "1", "--seed", "7", "--out",
    ];
    assert_eq!(baton(&arguments, &part("seven")).status.code(), Some(0));
    let seven = part("seven").to_str().unwrap().to_owned();
    let refused = baton(&["explore", "merge", &paths[0], &seven, "--out"], &part("never"));
    let error = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{error}");
    assert!(error.contains("its seed differs"), "{error}");
    assert!(!part("never").exists());
    let refused = baton(&["explore", "merge", &paths[0], "--out"], &part("one"));
    let error = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{error}");
    let refused = baton(&["explore", "merge", "nowhere", "--out"], &part("never"));
    let error = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{error}");
    assert!(error.contains("there is no journal in nowhere"), "{error}");
}

#[test]
fn workers_come_to_the_same_as_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let part = |name: &str| folder.path().join(name);
    let some = ["explore", CASE, "--moves", "rival"];
    let with = |more: &[&'static str]| [some.as_slice(), more].concat();
    assert_eq!(baton(&with(&["--out"]), &part("whole")).status.code(), Some(0));
    let output = baton(&with(&["--workers", "2", "--out"]), &part("workers"));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        text.lines().filter(|it| it.starts_with("baseline")).count(),
        1,
        "{text}"
    );
    let sorted = |name: &str| journal(&part(name)).into_iter().collect::<BTreeSet<_>>();
    assert_eq!(sorted("workers"), sorted("whole"));

    let again = baton(&with(&["--workers", "2", "--resume"]), &part("workers"));
    assert_eq!(again.status.code(), Some(0), "{again:?}");
    assert_eq!(sorted("workers"), sorted("whole"));
    let other = baton(&with(&["--workers", "3", "--resume"]), &part("workers"));
    let error = String::from_utf8(other.stderr).unwrap();
    assert_eq!(other.status.code(), Some(2), "{error}");
    assert!(error.contains("was explored by 2 workers, not by 3 workers"), "{error}");
    let alone = baton(&with(&["--resume"]), &part("workers"));
    let error = String::from_utf8(alone.stderr).unwrap();
    assert_eq!(alone.status.code(), Some(2), "{error}");
    assert!(
        error.contains("not by one process") && error.contains("use --workers 2"),
        "{error}"
    );
    let other = baton(&with(&["--workers", "2", "--resume"]), &part("whole"));
    let error = String::from_utf8(other.stderr).unwrap();
    assert_eq!(other.status.code(), Some(2), "{error}");
    assert!(error.contains("leave --workers out"), "{error}");
    let few = baton(&with(&["--workers", "3", "--plans", "1", "--out"]), &part("few"));
    assert_eq!(few.status.code(), Some(0), "{few:?}");
    assert_eq!(plans(&part("few")), 1);
    let text = String::from_utf8(few.stdout).unwrap();
    let left = plans(&part("whole")) - 1;
    assert!(text.contains(&format!("not run    {left} plan")), "{text}");
    let new = baton(&with(&["--workers", "2", "--out"]), &part("workers"));
    assert_eq!(new.status.code(), Some(2), "{new:?}");
}

#[test]
fn each_plan_of_a_part_belongs_to_one_worker() {
    let part = Shard { number: 2, of: 3 };
    let workers = workers::workers(4, part, Some(10), Path::new("out"));
    let is_of = |shard: Shard, plan: usize| plan % shard.of == shard.number - 1;
    for plan in 0..60 {
        let number = workers.iter().filter(|it| is_of(it.shard, plan)).count();
        assert_eq!(number, usize::from(is_of(part, plan)), "plan {plan}");
    }
    // The first ten plans of the part, no matter how many workers there are.
    let of_part: Vec<usize> = (0..).filter(|plan| is_of(part, *plan)).take(10).collect();
    for worker in &workers {
        let own = of_part.iter().filter(|plan| is_of(worker.shard, **plan)).count();
        assert_eq!(worker.plans, Some(own), "{worker:?}");
    }
}

#[test]
fn moments_are_listed_and_explained() {
    let told = |arguments: &[&str]| {
        let output = common::program()
            .args(["explore", CASE])
            .args(arguments)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let listed = told(&["--list"]);
    let deletion = "delete 1 of Deployment on origin";
    let line = listed.lines().find(|it| it.ends_with(deletion));
    let number = line.and_then(|it| it.split_whitespace().next()).unwrap();
    let explained = told(&["--explain", number]);
    assert_eq!(explained, told(&["--explain", deletion]));
    assert!(explained.contains(r#""do":"cutOff""#), "{explained}");
    assert!(told(&["--explain", "1"]).contains("cutOff            not here: only members"));
}

#[test]
fn a_case_that_cannot_be_explored_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let output = baton(&["explore", "unknown-is-refused", "--out"], &folder.path().join("out"));
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(error.contains("it starts the controller with other options"), "{error}");
}
