//! Whether the programs of a control plane are at work. An API server may serve while they have given up: on a busy
//! machine they do so if it came too late. Workloads would stay as they are then, and a target be blamed for it.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use baton_core::names::ClusterName;
use k8s_openapi::{api::coordination::v1::Lease, apimachinery::pkg::apis::meta::v1::MicroTime};
use kube::{Api, Client, runtime::wait};
use thiserror::Error;

/// How long a program may take to renew its lease: it waits that long for one that somebody else held, and does it every
/// two seconds then.
const RENEWED_WITHIN: Duration = Duration::from_secs(120);

/// Why a control plane cannot be used.
#[derive(Debug, Error)]
pub enum ControllerError {
    /// A program of it does nothing.
    #[error(
        "{program} of {cluster} does not run: it has not renewed its lease in kube-system within {RENEWED_WITHIN:?}"
    )]
    NotAtWork {
        /// The cluster.
        cluster: ClusterName,
        /// The program, which is what its lease is called.
        program: &'static str,
    },
    /// The cluster does not say.
    #[error("{cluster} does not tell whether its {program} runs")]
    Refused {
        /// The cluster.
        cluster: ClusterName,
        /// The program.
        program: &'static str,
        /// What it said.
        source: Box<wait::Error>,
    },
}

/// Returns once a program has renewed its lease before our eyes. A lease that is merely there may be that of a program
/// which has ended.
pub(super) async fn at_work(
    cluster: &ClusterName,
    client: &Client,
    program: &'static str,
) -> Result<(), ControllerError> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), "kube-system");
    let first = Mutex::new(None);
    let renewed = |lease: Option<&Lease>| {
        let Some(now) = lease.and_then(renewal) else {
            return false;
        };
        *first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(now) != now
    };
    let waited = wait::await_condition(leases, program, renewed);
    match tokio::time::timeout(RENEWED_WITHIN, waited).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(source)) => Err(ControllerError::Refused {
            cluster: cluster.clone(),
            program,
            source: Box::new(source),
        }),
        Err(_) => Err(ControllerError::NotAtWork {
            cluster: cluster.clone(),
            program,
        }),
    }
}

/// When a lease was renewed last, by whom it holds.
fn renewal(lease: &Lease) -> Option<jiff::Timestamp> {
    let spec = lease.spec.as_ref()?;
    spec.holder_identity.as_ref().filter(|holder| !holder.is_empty())?;
    spec.renew_time.as_ref().map(|MicroTime(time)| *time)
}

#[cfg(test)]
mod tests {
    use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
    use serde_json::json;

    use super::*;
    use crate::fleet::{
        Fleet,
        embedded::{Embedded, Options, Time},
    };

    const PROGRAM: &str = "kube-scheduler";

    async fn with_lease() -> (Embedded, Api<Lease>) {
        let fleet = Embedded::boot(Options::new(0, Time::Virtual)).await.unwrap();
        let leases: Api<Lease> = Api::namespaced(fleet.control().inside(PROGRAM), "kube-system");
        let lease = Lease {
            metadata: ObjectMeta {
                name: Some(PROGRAM.to_owned()),
                ..ObjectMeta::default()
            },
            ..Lease::default()
        };
        leases.create(&PostParams::default(), &lease).await.unwrap();
        (fleet, leases)
    }

    async fn renew(leases: &Api<Lease>, time: &str) {
        let renewal = Patch::Merge(json!({"spec": {"holderIdentity": "node", "renewTime": time}}));
        leases.patch(PROGRAM, &PatchParams::default(), &renewal).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_program_that_renews_its_lease_is_at_work() {
        let (fleet, leases) = with_lease().await;
        let client = fleet.control().inside("test");
        let renews = async {
            for second in 0..10 {
                renew(&leases, &format!("2026-01-01T00:00:{second:02}.000000Z")).await;
                tokio::time::sleep(Duration::from_secs(2)).await;
            }
        };
        let name = ClusterName::control();
        let (at_work, ()) = tokio::join!(at_work(&name, &client, PROGRAM), renews);
        at_work.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_has_left_a_lease_behind_is_not() {
        let (fleet, leases) = with_lease().await;
        renew(&leases, "2026-01-01T00:00:00.000000Z").await;
        let client = fleet.control().inside("test");
        let error = at_work(&ClusterName::control(), &client, PROGRAM).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "kube-scheduler of control does not run: it has not renewed its lease in kube-system within 120s"
        );
    }
}
