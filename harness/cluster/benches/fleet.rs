//! Measures how long fleets take to boot, and workloads to become ready on them. `cargo bench -p baton-cluster`.

use std::{
    error::Error,
    time::{Duration, Instant},
};

use baton_cluster::{
    actions,
    fleet::{
        Fleet,
        embedded::{Embedded, Options, Time},
    },
};
use baton_core::{
    names::CaseId,
    timeline::{Begin, Event, Order},
};
use serde_json::{Value, json};

/// Number of measurements per row.
const TIMES: usize = 20;

type Failure = Box<dyn Error>;

/// Name of a row, and the function that measures it once.
type Row = (&'static str, Box<dyn Fn() -> Result<Duration, Failure>>);

fn main() -> Result<(), Failure> {
    let rows: [Row; 5] = [
        ("boot 1+0", Box::new(|| measure(boot(0, false)))),
        ("boot 1+2", Box::new(|| measure(boot(2, false)))),
        ("boot 1+2 with doors", Box::new(|| measure(boot(2, true)))),
        (
            "a Deployment of 2 ready, virtual time",
            Box::new(|| measure(deployments(1))),
        ),
        (
            "100 Deployments of 2 ready, virtual time",
            Box::new(|| measure(deployments(100))),
        ),
    ];
    println!("{:<42} {:>9} {:>9} {:>9}", "ms on the wall", "least", "median", "most");
    for (name, once) in rows {
        let mut took = (0..TIMES).map(|_| once()).collect::<Result<Vec<_>, _>>()?;
        took.sort();
        let millis = |at: usize| took.get(at).copied().unwrap_or_default().as_secs_f64() * 1000.0;
        println!(
            "{name:<42} {:>9.1} {:>9.1} {:>9.1}",
            millis(0),
            millis(TIMES / 2),
            millis(TIMES - 1)
        );
    }
    Ok(())
}

/// Runs a measurement on a new runtime with paused time.
fn measure(work: impl Future<Output = Result<Duration, Failure>>) -> Result<Duration, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()?;
    runtime.block_on(work)
}

async fn boot(members: usize, doors: bool) -> Result<Duration, Failure> {
    let mut options = Options::new(members, Time::Virtual);
    options.doors = doors;
    let begin = Instant::now();
    let fleet = Embedded::boot(options).await?;
    let took = begin.elapsed();
    Box::new(fleet).shut_down().await?;
    Ok(took)
}

async fn deployments(count: usize) -> Result<Duration, Failure> {
    let fleet: Box<dyn Fleet> = Box::new(Embedded::boot(Options::new(1, Time::Virtual)).await?);
    let recorder = fleet.observe(Begin {
        case: CaseId::new("bench"),
        members: Vec::new(),
        started: fleet.clock()(),
        backend: fleet.backend().to_owned(),
        target: "none".to_owned(),
        namespace: "default".to_owned(),
        time_factor: 1.0,
        order: Order::Exact,
        virtual_time: false,
        provenance: None,
    })?;
    let client = fleet.members()[0].inside(actions::BATON);
    let mut follower = recorder.follow();
    let begin = Instant::now();
    for number in 0..count {
        actions::apply(&client, &deployment(number), "default").await?;
    }
    let mut ready = 0;
    while ready < count {
        let entries = follower.next().await.ok_or("the timeline ended")?;
        let done = entries.iter().filter(|entry| match &entry.event {
            Event::Revision(it) => it.kind == "Deployment" && it.object["status"]["readyReplicas"] == 2,
            Event::Mark(_) => false,
        });
        ready += done.count();
    }
    let took = begin.elapsed();
    fleet.shut_down().await?;
    Ok(took)
}

fn deployment(number: usize) -> Value {
    let labels = json!({"app": format!("d{number}")});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": format!("d{number}")},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "c", "image": "nginx:1.27"}]},
            },
        },
    })
}
