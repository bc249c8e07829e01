//! Steps of cases that existing clusters cannot carry out.

use std::collections::BTreeSet;

use baton_core::{
    case::model::{Action, Fault, Place},
    names::ClusterName,
};
use serde_json::Value;

use crate::{fleet::TargetLocation, simulator::rules::KindRef};

/// Prefix of annotations by which cases configure the simulator.
const SIMULATOR_SETTING: &str = "simulator.baton.dev/";

/// Connection of the target to the clusters.
pub(super) struct Way<'a> {
    pub backend: &'static str,
    pub location: TargetLocation,
    /// An address of this machine for an installed target is known.
    pub has_address: bool,
    /// An address of this machine that the members reach is known.
    pub has_webhooks: bool,
    /// Members that were registered before.
    pub registered: &'a BTreeSet<ClusterName>,
}

impl Way<'_> {
    /// Explains why a step cannot be carried out here; `None` if it can.
    pub(super) fn beyond_reach(&self, step: &Action) -> Option<String> {
        let fault = match step {
            Action::Admission { .. } => return self.no_webhooks(),
            Action::Inject(fault) => fault,
            _ => return None,
        };
        match fault {
            Fault::CutOff(_) | Fault::Heal(_) => self.around(false, "cuts a member off"),
            Fault::Unready(_) | Fault::Ready(_) => self.around(false, "lets a member say that it is not ready"),
            Fault::Unjoin(_) | Fault::Join(_) => self.registered.first().map(|first| {
                format!(
                    "takes a member out and lets it join again, and {first} is registered by somebody else, whose \
                     credentials may go with it"
                )
            }),
            Fault::Delay(place, _) => self.around(*place == Place::Control, "delays answers"),
            Fault::Fail(place, _) => self.around(*place == Place::Control, "lets requests fail"),
            Fault::Move(_) => {
                let what = "disturbs the controller at a write";
                self.around(true, what).or_else(|| self.around(false, what))
            }
            Fault::StopControllerAfter(_) => {
                let what = "stops the controller between two writes";
                self.around(true, what).or_else(|| self.around(false, what))
            }
            Fault::Condition { .. }
            | Fault::StopController
            | Fault::StartController
            | Fault::AddController(_)
            | Fault::CrashController(_) => None,
        }
    }

    fn no_webhooks(&self) -> Option<String> {
        (!self.has_webhooks).then(|| {
            format!(
                "lets a webhook of this process stand for a policy engine, and no address of this machine is known that \
                 {} members reach; --address names one",
                self.backend
            )
        })
    }

    /// Explains why faults of a cluster do not affect a target that bypasses the proxies.
    fn around(&self, control: bool, what: &str) -> Option<String> {
        let elsewhere = self.location == TargetLocation::Elsewhere;
        if elsewhere && control {
            return Some(format!("{what}, and the target connects to the control plane directly"));
        }
        if elsewhere && !self.has_address {
            return Some(format!(
                "{what}, and the target connects to the members directly; set --address to route it through this machine"
            ));
        }
        let first = self.registered.first().filter(|_| !control)?;
        Some(format!(
            "{what}, and {first} is already registered with the control plane under another address"
        ))
    }
}

/// Checks whether a step configures the simulator for a kind that it does not simulate.
pub(super) fn tells_simulator(step: &Action, stands_for: impl Fn(&KindRef) -> bool) -> bool {
    let is_beyond = |kind: &KindRef, said: &Value| !stands_for(kind) && mentions_simulator(said);
    step.facts().writes.iter().any(|write| {
        // The simulator does not read other objects of the control plane for workloads.
        let Some((api_version, kind, _)) = write.object() else {
            return false;
        };
        is_beyond(
            &KindRef {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
            },
            write.value,
        )
    })
}

fn mentions_simulator(value: &Value) -> bool {
    match value {
        Value::Object(members) => members
            .iter()
            .any(|(key, value)| key.starts_with(SIMULATOR_SETTING) || mentions_simulator(value)),
        Value::Array(items) => items.iter().any(mentions_simulator),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use baton_core::case::model::{ObjectRef, Subject};
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_of_kinds_that_run_by_themselves_are_out_of_reach() {
        let (deployment, flink) = (
            ("apps/v1", "Deployment"),
            ("flink.apache.org/v1beta1", "FlinkDeployment"),
        );
        for ((api_version, kind), annotation, beyond) in [
            (deployment, "simulator.baton.dev/ready", true),
            (deployment, "example.com/ready", false),
            (flink, "simulator.baton.dev/checkpoint-every", false),
        ] {
            let said = json!({"metadata": {"annotations": {annotation: "1s"}}});
            let mut object = said.clone();
            (object["apiVersion"], object["kind"]) = (json!(api_version), json!(kind));
            let of = ObjectRef {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
                namespace: None,
                name: "workload".to_owned(),
            };
            let steps = [
                Action::Apply {
                    on: vec![Place::Control],
                    objects: vec![object],
                    file: None,
                    proves: BTreeSet::new(),
                },
                Action::Patch {
                    on: Place::Control,
                    of: Subject::Object(of),
                    merge: said,
                },
            ];
            for step in &steps {
                assert_eq!(tells_simulator(step, KindRef::is_custom), beyond, "{step:?}");
            }
        }
    }
}
