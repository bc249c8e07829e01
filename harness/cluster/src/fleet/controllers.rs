//! Checks that the controllers of a control plane run. On a busy machine they may give up because their API server was
//! slow to start, while the API server goes on to serve. Workloads would then never change, and the target would be
//! blamed.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use baton_core::names::ClusterName;
use k8s_openapi::{api::coordination::v1::Lease, apimachinery::pkg::apis::meta::v1::MicroTime};
use kube::{Api, Client, runtime::wait};
use thiserror::Error;

/// Longest time until a program renews its lease: it first waits until a lease of another holder expires, then renews
/// every two seconds.
const RENEWED_WITHIN: Duration = Duration::from_secs(120);

/// A controller of a control plane that does not run.
#[derive(Debug, Error)]
pub enum ControllerError {
    /// The program has not renewed its lease.
    #[error(
        "{program} of {cluster} does not run: it has not renewed its lease in kube-system within {RENEWED_WITHIN:?}"
    )]
    NotAtWork {
        /// Name of the cluster.
        cluster: ClusterName,
        /// Name of the program, which is also the name of its lease.
        program: &'static str,
    },
    /// The cluster does not answer.
    #[error("cannot read the lease of {program} on {cluster}")]
    Refused {
        /// Name of the cluster.
        cluster: ClusterName,
        /// Name of the program.
        program: &'static str,
        /// Error from the API server.
        source: Box<wait::Error>,
    },
}

/// Waits until a program renews its lease. A lease that merely exists may belong to a program that has ended.
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

/// Time of the last renewal of a lease, if the lease has a holder.
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
