//! The time from sending a patch until watchers have received its event.

use std::time::{Duration, Instant};

use baton_apiserver::{ApiServer, Serving};
use futures::StreamExt as _;
use http::Method;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::client::{Client, Endpoint, Pieces};
use crate::figures::{self, Times};
use crate::{Failure, TIMEOUT};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// Number of watches that share a connection, as the watches of one client do.
const SHARED: usize = 100;
const PATCHES: usize = 200;

/// Delivery times of events.
pub struct Fanout {
    /// The times to each watcher.
    pub each: Times,
    /// The times to the last watcher.
    pub last: Times,
}

/// Patches an object repeatedly, and waits each time until all watchers have received the event.
pub async fn measure(
    endpoint: Endpoint,
    watchers: usize,
    server: &ApiServer,
    serving: &Serving,
) -> Result<Fanout, Failure> {
    let (sender, mut seen) = mpsc::unbounded_channel();
    let mut tasks = JoinSet::new();
    let mut writer = Client::connect(endpoint, server, serving).await?;
    let version = version(&mut writer).await?;
    let from = format!("{MAPS}?watch=1&resourceVersion={version}");
    for first in (0..watchers).step_by(SHARED) {
        let mut client = Client::multiplexed(endpoint, server, serving).await?;
        for _ in first..watchers.min(first + SHARED) {
            let pieces = client.open(&Method::GET, &from, "", Vec::new().into()).await?;
            tasks.spawn(follow(pieces, sender.clone()));
        }
    }
    let object = format!("{MAPS}/m0");
    let (mut each, mut last) = (Vec::new(), Vec::new());
    let cpu = figures::cpu();
    for n in 0..PATCHES {
        let patch = json!({"metadata": {"labels": {"n": n.to_string()}}}).to_string();
        let begin = Instant::now();
        let media = "application/merge-patch+json";
        let sent = writer.send(&Method::PATCH, &object, media, patch.into());
        let all = async {
            let mut took = Vec::with_capacity(watchers);
            for _ in 0..watchers {
                let at: Instant = timeout(TIMEOUT, seen.recv()).await?.ok_or("a watch ended")?;
                took.push(at - begin);
            }
            Ok::<Vec<Duration>, Failure>(took)
        };
        let (answer, took) = tokio::join!(sent, all);
        answer?;
        let took = took?;
        last.extend(took.iter().max());
        each.extend(took);
    }
    let cpu = figures::cpu().zip(cpu).map(|(now, then)| now.saturating_sub(then));
    tasks.shutdown().await;
    Ok(Fanout {
        each: Times::new(each).at_cost(cpu),
        last: Times::new(last),
    })
}

/// Returns the current version of the collection.
async fn version(client: &mut Client) -> Result<String, Failure> {
    let list = client.get(&format!("{MAPS}?limit=1")).await?;
    let list: serde_json::Value = serde_json::from_slice(&list)?;
    let version = list.pointer("/metadata/resourceVersion").and_then(|it| it.as_str());
    Ok(version.ok_or("a list without a version")?.to_owned())
}

/// Sends the arrival time of each line.
async fn follow(mut pieces: Pieces, sender: mpsc::UnboundedSender<Instant>) {
    while let Some(Ok(piece)) = pieces.next().await {
        let at = Instant::now();
        for _ in 0..lines(&piece) {
            if sender.send(at).is_err() {
                return;
            }
        }
    }
}

/// Counts the line ends in a piece. Works in portions whose sum fits into a byte, so that many bytes are counted at
/// once; otherwise counting takes longer than the measured work.
fn lines(piece: &[u8]) -> usize {
    let portions = piece.chunks(usize::from(u8::MAX));
    let ends = portions.map(|portion| portion.iter().fold(0, |ends, byte| ends + u8::from(*byte == b'\n')));
    ends.map(usize::from).sum()
}
