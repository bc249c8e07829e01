//! Fences: how the order of events on different clusters is told though each cluster has a clock of its own.
//!
//! An observer hears of an event some time after it happened. When it hears of one on one member it at once writes to an
//! object of its own on every other member. The write has a revision, and whatever that member commits with a later
//! revision has been committed after the write was asked for, and so after the event. That an old copy was gone before
//! the new one was created is thus certain, however late the news of the new one comes.

use baton_core::names::ClusterName;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt,
    api::{ObjectMeta, Patch, PatchParams, PostParams},
};
use serde_json::json;
use tokio::sync::watch;

use super::watching::{News, Reporter};

/// The name of the object that fences are written to.
const NAME: &str = "baton-fence";

/// Where fences are written on a member: a namespace that the observer may write to.
#[derive(Debug, Clone)]
pub struct FencePost {
    api: Api<ConfigMap>,
}

impl FencePost {
    /// Puts up what fences are written to.
    ///
    /// # Errors
    /// If the cluster does not take it.
    pub async fn put_up(client: &Client, namespace: &str) -> kube::Result<Self> {
        let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
        let post = ConfigMap {
            metadata: ObjectMeta {
                name: Some(NAME.to_owned()),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        };
        api.create(&PostParams::default(), &post).await?;
        Ok(Self { api })
    }

    /// Writes once more; gives the revision of the write. Every write differs from the one before, so that it is one.
    async fn write(&self, number: u64) -> Option<u64> {
        let patch = Patch::Merge(json!({"data": {"number": number.to_string()}}));
        let written = self.api.patch(NAME, &PatchParams::default(), &patch).await;
        let written = written.inspect_err(|error| tracing::debug!(%error, "a fence could not be written"));
        written.ok()?.resource_version()?.parse().ok()
    }
}

/// Writes a fence whenever the bell has been rung; rung several times meanwhile, one fence serves for all.
pub(super) async fn keep(cluster: ClusterName, post: FencePost, mut bell: watch::Receiver<u64>, reporter: Reporter) {
    let mut number = 0;
    while bell.changed().await.is_ok() {
        number += 1;
        let asked = reporter.now();
        if let Some(revision) = post.write(number).await {
            let cluster = cluster.clone();
            reporter.tell(News::Fence {
                cluster,
                revision,
                asked,
            });
        }
    }
}
