//! The requests of clients, and the duration of each.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use baton_apiserver::{ApiServer, Serving};
use bytes::Bytes;
use http::Method;
use serde_json::json;
use tokio::task::JoinSet;

use crate::Failure;
use crate::client::{Client, Endpoint};
use crate::figures::{self, Times};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Number of rounds of each measurement.
const ROUNDS: usize = 3;

/// A kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    Create,
    Get,
    Update,
    MergePatch,
    Apply,
    List,
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Create => "create",
            Self::Get => "get",
            Self::Update => "update",
            Self::MergePatch => "merge patch",
            Self::Apply => "apply",
            Self::List => "list of 500",
        })
    }
}

impl Work {
    pub const ALL: [Self; 6] = [
        Self::Create,
        Self::Get,
        Self::Update,
        Self::MergePatch,
        Self::Apply,
        Self::List,
    ];

    /// Returns the number of measured requests.
    fn count(self) -> usize {
        if self == Self::List { 200 } else { 4_000 }
    }

    /// Returns the `n`-th request.
    fn request(self, n: usize, size: usize) -> Request {
        let name = format!("m{}", n % size);
        let path = format!("{MAPS}/{name}");
        let text = format!("{n:0>1024}");
        let (method, path, media, body) = match self {
            Self::Create => (Method::POST, MAPS.to_owned(), "application/json", {
                config_map(&format!("new{}", NEXT.fetch_add(1, Ordering::Relaxed)), &text)
            }),
            Self::Get => (Method::GET, path, "", Bytes::new()),
            Self::Update => (Method::PUT, path, "application/json", config_map(&name, &text)),
            Self::MergePatch => {
                let change = json!({"data": {"text": text}}).to_string();
                (Method::PATCH, path, "application/merge-patch+json", change.into())
            }
            Self::Apply => {
                let path = format!("{path}?fieldManager=bench&force=true");
                let media = "application/apply-patch+yaml";
                (Method::PATCH, path, media, config_map(&name, &text))
            }
            Self::List => (Method::GET, format!("{MAPS}?limit=500"), "", Bytes::new()),
        };
        Request {
            method,
            path,
            media,
            body,
        }
    }
}

/// A request, made before the measurement starts.
struct Request {
    method: Method,
    path: String,
    media: &'static str,
    body: Bytes,
}

/// The number of the next object that is created.
static NEXT: AtomicUsize = AtomicUsize::new(0);

fn config_map(name: &str, text: &str) -> Bytes {
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"app": "bench"}},
        "data": {"text": text},
    });
    map.to_string().into()
}

/// Creates the objects that exist at the start.
pub async fn fill(server: &ApiServer, serving: &Serving, size: usize) -> Result<(), Failure> {
    let mut client = Client::connect(Endpoint::InProcess, server, serving).await?;
    for n in 0..size {
        let map = config_map(&format!("m{n}"), &format!("{n:x>1024}"));
        client.send(&Method::POST, MAPS, "application/json", map).await?;
    }
    Ok(())
}

/// Measures the work with that many concurrent clients, in several rounds. The best round counts, because other
/// programs disturb a round, and the first round finds caches and memory cold.
pub async fn measure(
    work: Work,
    endpoint: Endpoint,
    clients: usize,
    size: usize,
    server: &ApiServer,
    serving: &Serving,
) -> Result<Times, Failure> {
    let mut best: Option<Times> = None;
    for _ in 0..ROUNDS {
        let first = NEXT.load(Ordering::Relaxed);
        let times = round(work, endpoint, clients, size, server, serving).await?;
        if best.as_ref().is_none_or(|best| times.total() < best.total()) {
            best = Some(times);
        }
        let mut client = Client::connect(Endpoint::InProcess, server, serving).await?;
        for number in first..NEXT.load(Ordering::Relaxed) {
            let path = format!("{MAPS}/new{number}");
            client.send(&Method::DELETE, &path, "", Bytes::new()).await?;
        }
    }
    best.ok_or_else(|| "nothing was measured".into())
}

async fn round(
    work: Work,
    endpoint: Endpoint,
    clients: usize,
    size: usize,
    server: &ApiServer,
    serving: &Serving,
) -> Result<Times, Failure> {
    let each = work.count() / clients;
    let mut ready = Vec::new();
    for number in 0..clients {
        let requests: Vec<_> = (0..each).map(|n| work.request(number * each + n, size)).collect();
        ready.push((Client::connect(endpoint, server, serving).await?, requests));
    }
    let (begin, cpu) = (Instant::now(), figures::cpu());
    let mut tasks = JoinSet::new();
    for (mut client, requests) in ready {
        tasks.spawn(async move {
            let mut times = Vec::with_capacity(requests.len());
            for Request {
                method,
                path,
                media,
                body,
            } in requests
            {
                let begin = Instant::now();
                client.send(&method, &path, media, body).await?;
                times.push(begin.elapsed());
            }
            Ok::<_, Failure>(times)
        });
    }
    let mut all = Vec::new();
    while let Some(times) = tasks.join_next().await {
        all.extend(times??);
    }
    let (total, cpu) = (
        begin.elapsed(),
        figures::cpu().zip(cpu).map(|(now, then)| now.saturating_sub(then)),
    );
    Ok(Times::new(all).over(total).at_cost(cpu))
}
