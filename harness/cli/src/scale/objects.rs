//! Creates the workloads of a run, with their policies and the definitions of their kinds.

use baton_cluster::actions::{self, BATON};
use baton_core::{
    scale::{kinds::Kind, workloads::Layout},
    yaml::plain,
};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::{
    Api,
    api::{ApiResource, DynamicObject, GroupVersionKind, PostParams},
};
use serde_json::Value;

use super::{Run, ScaleError, follow::Stopped};
use crate::files::Roots;

/// Number of workloads or definitions that are created at the same time.
const AT_ONCE: usize = 16;

/// The definition of the kind `FlinkDeployment`.
const FLINK: &str = "fixtures/flink/crd.yaml";

impl Run<'_> {
    /// Defines the kinds of workloads that are not built into clusters.
    pub(super) async fn define(&self) -> Result<(), Stopped> {
        if self.parameters.kinds.of(Kind::FlinkDeployment) == 0 {
            return Ok(());
        }
        let definition =
            definition(&self.options.roots).map_err(|error| Stopped::broken(ScaleError::Definition(error)))?;
        let clusters = std::iter::once(self.fleet.control()).chain(self.fleet.members());
        let each = clusters.map(|cluster| {
            let (client, definition) = (cluster.inside(BATON), &definition);
            async move {
                let applied = actions::apply(&client, definition, self.fleet.namespace()).await;
                applied.map(drop).map_err(|source| ScaleError::Define {
                    cluster: cluster.name().clone(),
                    source: Box::new(source),
                })
            }
        });
        let defined = stream::iter(each).buffer_unordered(AT_ONCE);
        defined.try_collect().await.map_err(Stopped::broken)
    }

    /// Creates all workloads, each with its policy.
    pub(super) async fn create(&self, layout: &Layout) -> Result<(), Stopped> {
        let client = self.fleet.control().inside(BATON);
        let namespace = self.fleet.namespace();
        let api = |group: &str, version: &str, kind: &str| -> Api<DynamicObject> {
            let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
            Api::namespaced_with(client.clone(), namespace, &kind)
        };
        let policies = api("policy.karmada.io", "v1alpha1", "PropagationPolicy");
        let each = (0..self.parameters.workloads).map(|number| {
            let kind = layout.kind(number);
            let (group, version) = kind.api_version().split_once('/').unwrap_or(("", kind.api_version()));
            let (policies, objects) = (&policies, api(group, version, kind.name()));
            async move {
                create(policies, layout.policy(number)).await?;
                create(&objects, layout.object(number)).await
            }
        });
        let created = stream::iter(each).buffer_unordered(AT_ONCE);
        created.try_collect().await.map_err(Stopped::broken)
    }
}

fn definition(roots: &Roots) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
    let text = String::from_utf8(roots.read(FLINK)?)?;
    Ok(plain::read(&text)?)
}

async fn create(api: &Api<DynamicObject>, object: Value) -> Result<(), ScaleError> {
    let text = |of: &Value| of.as_str().unwrap_or_default().to_owned();
    let what = format!(
        "creating {} {}",
        text(&object["kind"]),
        text(&object["metadata"]["name"])
    );
    let object = serde_json::from_value(object).map_err(kube::Error::SerdeError);
    let refused = |source| ScaleError::Refused {
        what: what.clone(),
        source: Box::new(source),
    };
    let created = api.create(&PostParams::default(), &object.map_err(refused)?).await;
    created.map(drop).map_err(refused)
}
