//! Members that a case removes from the federation and lets join again.

use baton_core::{
    case::model::{Place, Subject},
    names::{ClusterName, RoleName},
    select,
};
use serde_json::{Value, json};

use super::{Run, act_error::ActError, clean_up::AWAY, references::clusters, step_error::StepError};
use crate::actions;

impl Run<'_> {
    /// Deletes the Cluster object of a member, which stays until its finalizers are gone. The member keeps running.
    pub(super) async fn unjoin(&mut self, role: &RoleName) -> Result<(), StepError> {
        for member in clusters(&Place::Role(role.clone()), &self.known()) {
            self.delete_cluster(&member).await?;
        }
        Ok(())
    }

    async fn delete_cluster(&mut self, member: &ClusterName) -> Result<(), ActError> {
        let (control, of) = (ClusterName::control(), actions::cluster(member.as_str()));
        let client = self.client(&control)?;
        let there = actions::get(&client, &of).await?;
        let there = there.ok_or_else(|| ActError::NotThere(format!("Cluster {member}")))?;
        self.unjoined.entry(member.clone()).or_insert(there);
        actions::delete(&client, &of).await?;
        self.until_observed(&control, &of).await
    }

    /// Registers a member again with its former fields, without taints; does nothing if the member is registered. The
    /// old Cluster object must be gone first, for which the target may have to remove a finalizer.
    ///
    /// # Errors
    /// [`StepError::StillThere`] if the target does not remove it.
    pub(super) async fn join(&mut self, role: &RoleName) -> Result<(), StepError> {
        let control = ClusterName::control();
        for member in clusters(&Place::Role(role.clone()), &self.known()) {
            let Some(was) = self.unjoined.get(&member) else {
                continue;
            };
            let again = registered_again(was);
            let of = actions::cluster(member.as_str());
            let subject = Subject::Object(of.clone());
            let time = self.timeouts.clear.saturating_mul(AWAY);
            let gone = self.until(time, |world, known| {
                let mut found = select::find(&subject, &control, world, &known.bindings);
                found.next().is_none().then_some(())
            });
            if let Err(waited) = gone.await {
                return Err(StepError::StillThere { member, waited });
            }
            let client = self.client(&control)?;
            actions::create(&client, &again, self.fleet.namespace()).await?;
            self.unjoined.remove(&member);
            self.until_observed(&control, &of).await?;
        }
        Ok(())
    }
}

/// Fields of a former Cluster for its new registration.
fn registered_again(cluster: &Value) -> Value {
    let metadata = &cluster["metadata"];
    let mut spec = cluster["spec"].clone();
    if let Some(fields) = spec.as_object_mut() {
        fields.remove("taints");
    }
    json!({
        "apiVersion": cluster["apiVersion"],
        "kind": cluster["kind"],
        "metadata": {"name": metadata["name"], "labels": metadata["labels"]},
        "spec": spec,
    })
}
