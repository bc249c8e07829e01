//! Fences: establish the order of events on clusters whose clocks differ.
//!
//! An observer learns of an event some time after it happened. When it learns of one on a member, it immediately writes
//! to a fence object on every other member. The write has a revision, and every later revision on that member was
//! committed after the write was requested, and so after the event. This proves that an old copy was gone before the
//! new one was created, however late the news of the new one arrives.

use baton_core::names::ClusterName;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt,
    api::{ObjectMeta, Patch, PatchParams, PostParams},
};
use serde_json::json;
use tokio::sync::watch;

use super::news::{News, Reporter};

/// Name of the object that fences are written to.
const NAME: &str = "baton-fence";

/// Place for fences on a member: a namespace that the observer may write to.
#[derive(Debug, Clone)]
pub struct FencePost {
    api: Api<ConfigMap>,
}

impl FencePost {
    /// Creates the object that fences are written to.
    ///
    /// # Errors
    /// If the cluster rejects the object.
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

    /// Writes a fence; returns the revision of the write. Every write changes the object, so that it has a new
    /// revision.
    async fn write(&self, number: u64) -> Option<u64> {
        let patch = Patch::Merge(json!({"data": {"number": number.to_string()}}));
        let written = self.api.patch(NAME, &PatchParams::default(), &patch).await;
        let written = written.inspect_err(|error| tracing::debug!(%error, "a fence could not be written"));
        written.ok()?.resource_version()?.parse().ok()
    }
}

/// Writes a fence whenever the bell has rung; several rings during a write cause one fence.
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
