//! Records clusters while another program drives them. Only lists and watches; writes nothing.

use std::{io, sync::Arc};

use baton_core::{
    names::ClusterName,
    timeline::{Event, Revision, Timeline, TimelineError},
};
use futures::future::try_join_all;
use jiff::Timestamp;
use thiserror::Error;

use super::{Clusters, check, check::CheckError};
use crate::{
    clock::tokio_clock,
    fleet::FleetError,
    observer::watching::{WatchError, Watched, Watching},
};

/// User agent of the recorder.
const RECORDER: &str = "baton-record";

/// An error while clusters are recorded.
#[derive(Debug, Error)]
pub enum RecordError {
    /// A cluster cannot be reached.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// A client cannot be built.
    #[error(transparent)]
    Fleet(#[from] FleetError),
    /// A cluster cannot be observed.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// The recording cannot be written.
    #[error("the recording cannot be written")]
    Write(#[from] TimelineError),
}

/// Writes the present objects of clusters and all later changes as lines, until `end`. Returns the number of lines.
///
/// # Errors
/// If the clusters cannot be observed, or the lines cannot be written.
pub async fn record(
    clusters: &Clusters,
    mut writer: impl io::Write,
    end: impl Future<Output = ()>,
) -> Result<usize, RecordError> {
    let watched = clusters.all().map(|access| async move {
        let name: &ClusterName = access.name();
        let client = super::client(access, RECORDER)?;
        check::answers(name, &access.url(), &client).await?;
        Ok::<_, RecordError>(Watched {
            name: name.clone(),
            client,
            fence: None,
        })
    });
    let watched = try_join_all(watched).await?;
    let clock = tokio_clock(Timestamp::now());
    let watching = Watching::start(watched, Arc::clone(&clock)).await?;
    let recorder = watching.record(clock);
    let mut follower = recorder.follow();
    let mut end = std::pin::pin!(end);
    let mut lines = 0;
    loop {
        let news = tokio::select! {
            biased;
            () = &mut end => break,
            news = follower.next() => news,
        };
        let Some(news) = news else { break };
        let entries = news.into_iter().filter(|entry| is_revision(&entry.event));
        let timeline = Timeline::new(entries.collect())?;
        timeline.write(&mut writer)?;
        writer.flush().map_err(TimelineError::Io)?;
        lines += timeline.entries().len();
    }
    Ok(lines)
}

fn is_revision(event: &Event) -> bool {
    match event {
        Event::Revision(Revision { .. }) => true,
        Event::Mark(_) => false,
    }
}
