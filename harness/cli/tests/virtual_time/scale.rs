//! `baton scale`: measures the reference, finds what defective targets break, and refuses what does not fit.

use std::{collections::BTreeSet, fs, path::Path, process::Output, sync::Arc};

use async_trait::async_trait;
use baton::{
    implementation::Reference,
    load::Suite,
    options::RunOptions,
    scale::{self, page, table},
};
use baton_cluster::{
    fleet::Fleet,
    runner::{Running, Target, TargetError},
};
use baton_core::{
    case::model::ControllerSetup,
    names::Feature,
    scale::{
        judge::Broken,
        kinds::Shares,
        parameters::{Parameters, Profile, Spread},
        phases::Phase,
        report::{Cost, End, Process, ScaleReport},
    },
};
use rstest::rstest;

use crate::common::{program, root, roots};

/// The reference controller with a feature gate off that it claims to have on.
#[derive(Debug)]
struct Without(&'static str);

#[async_trait]
impl Target for Without {
    fn name(&self) -> &'static str {
        "defective"
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
        let mut setup = setup.clone();
        setup.feature_gates.insert(self.0.to_owned(), false);
        Reference.start(fleet, &setup, log).await
    }
}

fn parameters(profile: Profile) -> Parameters {
    Parameters {
        members: 4,
        workloads: 12,
        failing: 2,
        profile,
        kinds: Shares::default(),
        spread: Spread::Failing,
        rate: None,
        seed: 0,
        limit_seconds: 1800,
    }
}

fn measured(target: Arc<dyn Target>, parameters: Parameters) -> ScaleReport {
    let roots = roots();
    let suite = Suite::load(&roots).unwrap();
    let settings = RunOptions {
        target,
        ..RunOptions::new(roots)
    };
    scale::scale(&settings.asking(&suite.catalogue), parameters, &|_| {}).unwrap()
}

#[rstest]
#[case::directly(Profile::Directly)]
#[case::gracefully(Profile::Gracefully)]
#[case::divided(Profile::Divided)]
fn the_reference_moves_all_workloads_without_a_violation(#[case] profile: Profile) {
    let report = measured(Arc::new(Reference), parameters(profile));
    assert_eq!(report.violations, []);
    assert_eq!((report.end, report.missing.len()), (End::Complete, 0));
    let workloads = report.workloads;
    assert_eq!((workloads.placed, workloads.affected, workloads.settled), (12, 12, 12));
    for phase in [Phase::Placed, Phase::TaskWritten, Phase::OldCopyGone, Phase::Healthy] {
        assert_eq!(report.phase(phase).map(|it| it.count), Some(12), "{phase:?}");
    }
    assert_eq!(report.series.healthy.last(), Some(&12));
    assert_eq!(report.recovery.iter().map(|it| it.count).sum::<u64>(), 12);
    assert!(report.writes_per_failover().unwrap() >= 5.0);
    let indicators = report.indicators;
    assert_eq!(indicators.distribution.map(|it| it.count), Some(12));
    assert_eq!(
        indicators.registration.map(|it| it.count),
        Some(report.parameters.members)
    );
    assert_eq!(
        indicators.api_writes, None,
        "the clock stands while requests are answered"
    );
    // Each failover writes objects of some KiB.
    assert!(report.bytes_per_failover().unwrap() > 10_000.0);
}

#[rstest]
#[case::directly(Profile::Directly)]
#[case::gracefully(Profile::Gracefully)]
fn workloads_of_all_kinds_move_with_their_state(#[case] profile: Profile) {
    let mixed = Parameters {
        kinds: Shares {
            deployments: 1,
            stateful_sets: 1,
            flink_deployments: 1,
        },
        ..parameters(profile)
    };
    let report = measured(Arc::new(Reference), mixed);
    assert_eq!(report.violations, []);
    assert_eq!((report.end, report.workloads.settled), (End::Complete, 12));
    let created = |kind: &str| {
        let mut requests = report.requests.iter();
        let found = requests.find(|it| it.program_name() == "baton" && it.verb == "create" && it.kind == kind);
        found.map(|it| it.placing)
    };
    assert_eq!(
        ["Deployment", "StatefulSet", "FlinkDeployment"].map(created),
        [Some(4); 3]
    );
}

#[test]
fn workloads_on_healthy_members_stay() {
    let all = Parameters {
        spread: Spread::All,
        ..parameters(Profile::Directly)
    };
    let report = measured(Arc::new(Reference), all);
    assert_eq!(report.violations, []);
    assert_eq!((report.workloads.affected, report.workloads.settled), (6, 6));
}

#[test]
fn a_rate_is_kept_and_makes_workloads_wait() {
    let slow = Parameters {
        rate: Some(0.5),
        ..parameters(Profile::Directly)
    };
    let report = measured(Arc::new(Reference), slow);
    assert_eq!((report.end, report.violations.len()), (End::Complete, 0));
    // Six workloads leave each of the two members, the first one at once; all of them may share one rate.
    let last = report.phase(Phase::TaskWritten).unwrap().max;
    assert!((10.0..=23.0).contains(&last), "{last}");
    assert!(report.series.waiting.first() > report.series.waiting.last());
}

#[test]
fn the_same_seed_gives_the_same_figures() {
    let of = || {
        let mut report = ScaleReport {
            date: String::new(),
            cost: Cost::default(),
            ..measured(Arc::new(Reference), parameters(Profile::Directly))
        };
        // The certificate of the webhook is made anew for each run, and has not always the same length.
        for it in &mut report.requests {
            if it.kind == "ValidatingWebhookConfiguration" {
                (it.placing_bytes, it.moving_bytes) = (None, None);
            }
        }
        report
    };
    assert_eq!(of(), of());
}

#[test]
fn lost_state_is_found_in_every_workload() {
    let report = measured(
        Arc::new(Without("StatefulFailoverInjection")),
        parameters(Profile::Directly),
    );
    assert!(report.deviates());
    let [violated] = report.violations.as_slice() else {
        unreachable!("{:?}", report.violations)
    };
    let requirement = violated.requirement.as_ref().map(ToString::to_string);
    assert_eq!(
        (violated.broken, requirement.as_deref()),
        (Broken::LabelMissing, Some("REC-01"))
    );
    assert_eq!(violated.count, 24, "two labels of each of 12 workloads");
    let told = table::warnings(&report);
    assert!(
        told.starts_with("error: REC-01: a new copy without preserved state, 24 times"),
        "{told}"
    );
    assert!(
        page::render(&report)
            .unwrap()
            .contains("REC-01: a new copy without preserved state")
    );
}

#[test]
fn a_target_that_does_not_move_ends_with_the_figures_so_far() {
    let brief = Parameters {
        limit_seconds: 60,
        ..parameters(Profile::Directly)
    };
    let report = measured(Arc::new(Without("Failover")), brief);
    assert_eq!((report.end, report.workloads.settled), (End::NotMoved, 0));
    assert_eq!(report.missing.first().map(String::as_str), Some("scale-000000"));
    assert_eq!(report.phases.len(), 1, "placed, and nothing more");
    // A minute is too short to say that nothing will happen.
    assert_eq!(report.violations, []);
    let long = measured(Arc::new(Without("Failover")), parameters(Profile::Directly));
    let broken: Vec<_> = long.violations.iter().map(|it| (it.broken, it.count)).collect();
    assert_eq!(broken, [(Broken::NeverMoved, 12)]);
}

/// A target without the option for the rate.
const MINIMAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/targets/minimal.yaml");

fn baton(arguments: &[&str]) -> Output {
    program().arg("scale").args(arguments).output().unwrap()
}

#[rstest]
#[case::no_members(&["--members", "0"], "a run needs members", "--members")]
#[case::many_members(&["--members", "10001"], "10001 members are too many", "lower --members")]
#[case::many_workloads(&["--workloads", "10000000000"], "10000000000 workloads are too many", "lower --workloads")]
#[case::long(&["--limit", "9999999999h"], "--limit", "--help")]
#[case::more_failing(&["--members", "2", "--failing", "3"], "3 members cannot fail: there are 2", "lower --failing")]
#[case::all_failing(&["--members", "2", "--failing", "2"], "0 healthy members are too few", "raise --members")]
#[case::profile(&["--profile", "sideways"], "expected one of directly, gracefully, divided", "--help")]
#[case::rate(&["--rate", "0"], "--rate must be a number of evictions per second above 0", "no limit")]
#[case::limit(&["--limit", "soon"], "expected a time such as 60s or 5m", "--help")]
#[case::target(&["--target", "nowhere.yaml"], "nowhere.yaml", "fixtures/targets/")]
#[case::page(&["--page", "/nowhere/page.html"], "cannot write /nowhere/page.html", "")]
#[case::other_clusters(&["--kubeconfig", "nowhere"], "--kubeconfig is about other clusters", "--backend kubeconfig")]
#[case::other_servers(&["--assets", "nowhere"], "--assets is about other clusters", "--backend envtest")]
#[case::no_such_option(&["--target", MINIMAL, "--rate", "2"], "needs the option resource-eviction-rate=2", "leave --rate out")]
#[case::compare(&["compare", "nowhere.json", "nowhere.json"], "cannot read nowhere.json", "baton scale --json FILE")]
fn what_does_not_fit_is_refused(#[case] arguments: &[&str], #[case] cause: &str, #[case] remedy: &str) {
    let output = baton(arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains(cause) && error.contains(remedy), "{error}");
}

#[test]
fn results_are_written_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (one, other, page) = (file("one.json"), file("other.json"), file("page.html"));
    let first = baton(&["--workloads", "5", "--json", &one, "--page", &page]);
    assert_eq!(first.status.code(), Some(0), "{first:?}");
    let told = String::from_utf8(first.stdout).unwrap();
    assert!(told.contains("complete: 5 workloads placed"), "{told}");
    let second = baton(&["--workloads", "8", "--real-time", "--json", &other]);
    assert_eq!(second.status.code(), Some(0), "{second:?}");
    let over = baton(&["page", &one, "--out", &one]);
    let error = String::from_utf8(over.stderr).unwrap();
    assert!(
        over.status.code() == Some(2) && error.contains("would be overwritten"),
        "{error}"
    );
    let report = ScaleReport::read(&fs::read_to_string(&one).unwrap()).unwrap();
    assert_eq!((report.end, report.parameters.workloads), (End::Complete, 5));
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("5 of 5 workloads moved, profile directly"), "{page}");
    assert_eq!(
        page.matches("</svg>").count(),
        4,
        "three plots over time, and the writes"
    );
    let second = ScaleReport::read(&fs::read_to_string(&other).unwrap()).unwrap();
    assert_eq!((second.end, second.virtual_time), (End::Complete, false));
    let compared = baton(&["compare", &one, &other]);
    assert_eq!(compared.status.code(), Some(0), "{compared:?}");
    let warned = String::from_utf8(compared.stderr).unwrap();
    assert!(warned.contains("the runs differ in workloads: 5 and 8"), "{warned}");
    let told = String::from_utf8(compared.stdout).unwrap();
    assert!(
        told.contains("writes per failover") && told.contains("healthy, p99 (s)"),
        "{told}"
    );
    let other_format = file("other-format.json");
    fs::write(&other_format, "{\"apiVersion\": \"v1\", \"kind\": \"Pod\"}").unwrap();
    let refused = baton(&["compare", &one, &other_format]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8(refused.stderr).unwrap().contains("it is Pod of v1"));
}

/// The programs of real API servers.
const CLUSTERS: [&str; 3] = ["etcd", "kube-apiserver", "kube-controller-manager"];

/// The result that a row of the published table links to, and the row.
fn row(line: &str) -> Option<(String, Vec<String>)> {
    let cells: Vec<String> = line
        .trim_matches('|')
        .split('|')
        .map(|it| it.trim().to_owned())
        .collect();
    let (_, target) = cells.first()?.split_once("](")?;
    Some((target.strip_suffix(".html)")?.to_owned(), cells))
}

#[test]
fn published_figures_are_those_of_the_published_results() {
    let folder = root().join("fixtures/reports/scale");
    let table = fs::read_to_string(folder.join("README.md")).unwrap();
    let rows: Vec<_> = table.lines().filter_map(row).collect();
    let results = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().path());
    let results = results.filter(|it| it.extension().is_some_and(|it| it == "json"));
    assert_eq!(rows.len(), results.count());
    for (name, cells) in &rows {
        let text = fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
        let report = ScaleReport::read(&text).unwrap();
        let page = fs::read_to_string(folder.join(format!("{name}.html"))).unwrap();
        assert!(
            page == page::render(&report).unwrap(),
            "`baton scale page {name}.json -o {name}.html` is due"
        );
        assert_eq!((report.end, report.missing.len()), (End::Complete, 0), "{name}");
        let seconds = |phase: Phase| *report.phase(phase).unwrap();
        let of_target = |it: &&Process| !CLUSTERS.contains(&it.name.as_str());
        let programs: Vec<_> = report.cost.processes[1..].iter().filter(of_target).collect();
        let cpu: f64 = programs.iter().map(|it| it.cpu_seconds).sum();
        let memory: u64 = programs.iter().map(|it| it.peak_memory_kib).sum();
        let rate = report
            .parameters
            .rate
            .map_or("open".to_owned(), |it| format!("{it:.1}"));
        let broken = report.violations.iter().filter_map(|it| it.requirement.as_ref());
        let broken: Vec<_> = broken.map(ToString::to_string).collect();
        let broken = if broken.is_empty() {
            "none".to_owned()
        } else {
            broken.join(", ")
        };
        let servers = if report.backend == "envtest" {
            "real"
        } else {
            "embedded"
        };
        let figures = [
            servers.to_owned(),
            report.parameters.members.to_string(),
            report.parameters.workloads.to_string(),
            rate,
            format!("{:.1}", seconds(Phase::Placed).p99),
            format!("{:.1}", seconds(Phase::Healthy).p50),
            format!("{:.1}", seconds(Phase::Healthy).p99),
            format!("{:.1}", report.writes_per_failover().unwrap()),
            report.refused_with(409).to_string(),
            format!("{cpu:.1}"),
            (memory / 1024).to_string(),
            broken,
            format!("{:.0}", report.cost.other_programs.unwrap() * 100.0),
        ];
        assert_eq!(cells[0], format!("[{}]({name}.html)", report.target));
        assert_eq!(cells[1..], figures, "{name}");
    }
    let file = |name: &str| folder.join(format!("{name}.json")).display().to_string();
    let (one, other) = (&rows[0].0, &rows[1].0);
    let compared = baton(&["compare", &file(one), &file(other)]);
    assert_eq!(compared.status.code(), Some(0), "{compared:?}");
    assert!(String::from_utf8(compared.stdout).unwrap().contains("healthy, p99 (s)"));
}
