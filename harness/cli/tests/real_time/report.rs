//! Reports as people and browsers get them, and what never gets into them.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use baton::{
    implementation::Reference,
    load::Suite,
    options::RunOptions,
    report::{
        Format, ReportFile, Reports,
        page::{self, TimelineViews},
    },
    run,
};
use baton_cluster::{
    fleet::{Fleet, TimeMode, embedded::InProcess},
    runner::{Running, Target, TargetError},
};
use baton_core::{
    case::model::ControllerSetup,
    event::Event,
    names::Feature,
    report::{
        ConformanceReport,
        timeline_view::{TimelineView, What},
    },
    timeline::Timeline,
};
use tempfile::TempDir;

use crate::{common::roots, spoiled};

/// Scripts, and a word that fits into no narrow window.
const HOSTILE: &str = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\"> \
    ResourceBindingClusterFailoverControllerOfAnotherImplementation";

/// Runs cases and writes all reports into a folder; timelines too.
fn run_into(folder: &Path, suite: &Suite, settings: RunOptions) -> Vec<PathBuf> {
    let wanted = [
        (Format::Yaml, "report.yaml"),
        (Format::Junit, "report.xml"),
        (Format::Jsonl, "events.jsonl"),
        (Format::Html, "report.html"),
    ];
    let wanted = wanted.map(|(format, name)| ReportFile {
        format,
        path: folder.join(name),
    });
    let mut reports = Reports::open(&wanted, &suite.catalogue, &suite.cases).unwrap();
    let settings = RunOptions {
        timelines: Some(folder.join("timelines")),
        ..settings
    };
    let summary = run::run(&suite.cases, &settings, |event: &Event| reports.on_event(event));
    assert_eq!(summary.broken, 0, "{summary:?}");
    reports.finish().into_iter().collect::<Result<_, _>>().unwrap()
}

/// A page of one real case, with hostile texts wherever texts come from outside.
fn hostile_page() -> String {
    let text = String::from_utf8(spoiled::bytes("deployment-directly", "label-missing")).unwrap();
    // The name of a Deployment cannot be this on a cluster; a recording from anywhere can say what it likes.
    let corrupted = text.replace("\"TaintUntolerated\"", &serde_json::Value::from(HOSTILE).to_string());
    assert_ne!(text, corrupted);
    let timeline = Timeline::read(corrupted.as_bytes()).unwrap();
    let report = include_str!("report/hostile.yaml").replace("HOSTILE", &serde_json::Value::from(HOSTILE).to_string());
    let report = ConformanceReport::parse(&report).unwrap();
    let entries: Vec<u64> = report.cases[0].findings.iter().map(|finding| finding.entry).collect();
    let key = (report.cases[0].name.clone(), 0);
    page::of_report(&report, &[(key, TimelineView::of(&timeline, &entries))].into()).unwrap()
}

#[test]
fn hostile_texts_are_harmless_on_the_page() {
    let page = hostile_page();
    assert!(!page.contains("</script><script>"));
    assert!(!page.contains("<img"));
    // The template's own: the data of one timeline, and the script.
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(
        page.contains("&lt;&#x2f;script&gt;") || page.contains("&lt;/script&gt;"),
        "the title is not shown"
    );
}

/// Each finding of a case, and each requirement, is drawn by its consequence.
#[test]
fn a_remark_beside_a_known_deviation_is_drawn_as_a_remark() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/reports/karmada/v1.16.8/report.yaml");
    let report = ConformanceReport::parse(&fs::read_to_string(file).unwrap()).unwrap();
    let page = page::of_report(&report, &TimelineViews::new()).unwrap();
    let (_, rest) = page.split_once("id=\"case-cut-off\"").unwrap();
    let (case, _) = rest.split_once("<details class=\"case").unwrap();
    for drawn in [
        r#"<article class="finding knownDeviation""#,
        r#"<article class="finding remark""#,
        r##"<a class="ref knownDeviation" href="#PRG-04">"##,
        r##"<a class="ref remark" href="#PRG-13">"##,
    ] {
        assert!(case.contains(drawn), "{drawn}\n{case}");
    }
    assert!(!case.contains("finding broken"), "{case}");
}

#[test]
fn a_part_of_the_suite_that_conforms_is_not_drawn_like_the_whole() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/reports/reference/0.2.0/report.yaml");
    let whole = ConformanceReport::parse(&fs::read_to_string(file).unwrap()).unwrap();
    let mut part = whole.clone();
    part.cases.truncate(3);
    part.suite.cases = 3;
    for (report, state) in [(whole, "conforms"), (part, "inconclusive")] {
        let page = page::of_report(&report, &TimelineViews::new()).unwrap();
        assert!(page.contains(&format!(r#"<p class="verdict {state}">"#)), "{state}");
    }
}

#[test]
fn the_page_loads_nothing() {
    let page = hostile_page();
    assert!(page.contains("default-src 'none'"));
    let template = include_str!("../../src/report/page/page.html");
    for from_elsewhere in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!template.contains(from_elsewhere), "{from_elsewhere}");
    }
}

/// Presses keys in the page's first timeline, once it is drawn, and writes down what is in focus.
const PRESS: &str = r#"<script>
new MutationObserver((_, observer) => {
  const first = document.querySelector('.event.task');
  if (!first) return;
  observer.disconnect();
  press(first);
}).observe(document.body, { childList: true, subtree: true });
const until = (holds) => new Promise((done) => {
  const look = () => (holds() ? done() : requestAnimationFrame(look));
  look();
});
const press = async (first) => {
  first.focus();
  // A window in the background gets no focus events; a click always has an event.
  first.click();
  const told = [`detail: ${document.querySelector('#detail .diff') ? 'changes' : 'nothing'}`];
  for (const key of ['ArrowRight', 'ArrowDown', 'ArrowLeft', 'Home', 'Escape']) {
    document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
    told.push(`${key}: ${document.activeElement.getAttribute('aria-label')}`);
  }
  told.push(`detail hidden: ${document.getElementById('detail').hidden}`);
  document.querySelector('.defect a[data-entry]').click();
  // Not the focus: Chromium takes it away when it finishes loading a page whose address has changed meanwhile.
  const reached = () => document.querySelector('.event.found[tabindex="0"]');
  await until(reached);
  told.push(`defect: ${reached().getAttribute('aria-label')}`);
  const list = document.createElement('ul');
  list.id = 'told';
  for (const line of told) list.append(Object.assign(document.createElement('li'), { textContent: line }));
  document.body.append(list);
};
</script></body>"#;

#[test]
fn a_browser_draws_the_timeline_and_keys_move_along_it() {
    let Some(browser) = browser() else {
        println!("there is no Chromium here: the page has not been opened in a browser");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    // The page's policy lets no script in but those that stand in it, which this one does.
    fs::write(&page, hostile_page().replace("</body>", PRESS)).unwrap();
    let dom = dump(&browser, &folder, &page);
    assert!(
        dom.contains("aria-label=\"member1, origin\""),
        "no lane for the origin:\n{dom}"
    );
    assert!(dom.contains("class=\"lane\""));
    assert!(!dom.contains("<title>broken"), "a script from outside has run");
    let told = dom
        .split("<ul id=\"told\">")
        .nth(1)
        .expect("the script of the page has not run");
    for line in [
        "ArrowRight: 0.020 s, Deployment deploy marked for deletion",
        "ArrowDown: 0.020 s, Deployment deploy gone",
        "ArrowLeft: 0.020 s, ",
        "Home: 0.000 s, ",
        "detail hidden: true",
        "detail: changes",
        "defect: 0.020 s, ",
    ] {
        assert!(told.contains(line), "{line} is not in\n{told}");
    }
}

/// Tells how wide the page's content is in a window of 390 pixels.
const NARROW: &str = r"<body><iframe id='page' style='width: 390px; height: 800px; border: 0'></iframe><script>
  const frame = document.getElementById('page');
  frame.onload = () => {
    const all = frame.contentDocument.documentElement;
    document.body.append(`content of ${all.scrollWidth} in ${all.clientWidth} pixels`);
  };
  frame.srcdoc = PAGE;
</script></body>";

#[test]
fn a_telephone_shows_the_page_without_scrolling_sideways() {
    let Some(browser) = browser() else {
        println!("there is no Chromium here: the page has not been opened in a browser");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("narrow.html");
    let inner = serde_json::Value::from(hostile_page())
        .to_string()
        .replace("</", "<\\/");
    fs::write(&page, NARROW.replace("PAGE", &inner)).unwrap();
    let dom = dump(&browser, &folder, &page);
    let (_, told) = dom.rsplit_once("content of ").expect("the script has not run");
    let (content, window) = told.split_once(" in ").unwrap();
    let window: u32 = window.split_once(' ').unwrap().0.parse().unwrap();
    assert!(content.parse::<u32>().unwrap() <= window, "{content} in {window}");
}

fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let folders = std::env::var_os("PATH")?;
    let mut all = std::env::split_paths(&folders).flat_map(|folder| names.map(|name| folder.join(name)));
    all.find(|path| path.is_file())
}

/// The page as it is after its script has run.
fn dump(browser: &Path, folder: &TempDir, page: &Path) -> String {
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--dump-dom",
            // Timelines are decompressed after the page has loaded.
            "--virtual-time-budget=20000",
        ])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_picture_names_what_a_failover_is_made_of() {
    let timeline = spoiled::good("deployment-directly");
    let drawn: BTreeSet<What> = TimelineView::of(&timeline, &[])
        .events
        .iter()
        .map(|event| event.what)
        .collect();
    let wanted = [
        What::Step,
        What::Taint,
        What::Schedule,
        What::Task,
        What::Cleared,
        What::Work,
        What::Create,
        What::Purge,
        What::Gone,
        What::Health,
    ];
    assert!(drawn.is_superset(&wanted.into()), "{drawn:?}");
}

#[test]
fn secrets_reach_no_report_and_no_timeline() {
    let canary = "canary-7f3a9";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("with-secrets.yaml");
    fs::write(
        &file,
        include_str!("report/with-secrets.yaml").replace("CANARY", canary),
    )
    .unwrap();
    let suite = Suite::load_files(&roots(), std::slice::from_ref(&file)).unwrap();
    fs::remove_file(&file).unwrap();
    let written = run_into(folder.path(), &suite, RunOptions::new(roots()));
    assert_eq!(written.len(), 4);
    let mut redacted = 0;
    for path in files(folder.path()) {
        let text = fs::read_to_string(&path).unwrap();
        // `Y2FuYXJ5LTdmM2E5` is the canary in base64.
        for secret in [canary, "Y2FuYXJ5LTdmM2E5"] {
            assert!(!text.contains(secret), "{secret} is in {}", path.display());
        }
        redacted += text.matches("<redacted>").count();
    }
    assert!(redacted > 0, "nothing was there to be taken out");
}

/// The reference controller, which notes what one needs to get into the clusters that it is started on.
#[derive(Debug, Default)]
struct Curious(Mutex<Vec<String>>);

#[async_trait]
impl Target for Curious {
    fn name(&self) -> &'static str {
        "a curious controller"
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
        for cluster in std::iter::once(fleet.control()).chain(fleet.members()) {
            let kubeconfig = fs::read_to_string(cluster.kubeconfig().unwrap()).unwrap();
            let secrets = kubeconfig.lines().filter_map(|line| {
                let (name, value) = line.trim().trim_start_matches("- ").split_once(": ")?;
                let secret = ["token", "password", "client-key-data"].contains(&name.trim_matches('"'));
                secret.then(|| value.trim_matches(['"', ',']).to_owned())
            });
            self.0.lock().unwrap().extend(secrets);
        }
        Reference.start(fleet, setup, log).await
    }
}

#[test]
fn what_opens_the_clusters_reaches_no_report_and_no_timeline() {
    let folder = tempfile::tempdir().unwrap();
    let target = Arc::new(Curious::default());
    let settings = RunOptions {
        target: Arc::clone(&target) as Arc<dyn Target>,
        backend: Arc::new(InProcess {
            time_mode: TimeMode::Real,
            doors: true,
        }),
        ..RunOptions::new(roots())
    };
    let suite = Suite::select(&roots(), &["flink-jobid-directly".to_owned()]).unwrap();
    run_into(folder.path(), &suite, settings);
    let secrets = target.0.lock().unwrap().clone();
    assert!(secrets.len() >= 3, "{} secrets in three kubeconfigs", secrets.len());
    for path in files(folder.path()) {
        let text = fs::read_to_string(&path).unwrap();
        assert!(
            !secrets.iter().any(|secret| text.contains(secret.as_str())),
            "{}",
            path.display()
        );
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .collect()
}
