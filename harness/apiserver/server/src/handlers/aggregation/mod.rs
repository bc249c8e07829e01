//! Aggregated API servers: versions of groups that a server elsewhere serves, as an `APIService` says.
//!
//! [`Remote`] is such a version. Requests for it are passed on by [`proxy`], to where [`services`] finds it; [`availability`]
//! looks whether it answers and says so in the status of the `APIService`; discovery lists what it serves (`listing`).

mod availability;
mod listing;
mod proxy;
mod services;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustls::ClientConfig;
use serde_json::json;
use tokio::sync::Notify;

use super::Core;
use super::authentication::keys::{self, FRONT_PROXY};
use crate::registry::remote::Remote;
use crate::store::{Expect, Write};
use crate::tls_client::{self, Trust};

impl Remote {
    /// How it is talked to.
    fn tls(&self) -> Result<Arc<ClientConfig>, String> {
        let make = || {
            let shown = keys::front_proxy().map_err(|error| error.to_string())?;
            let trust = if self.trusts_anybody {
                Trust::Anybody
            } else {
                Trust::Certificates(&self.ca)
            };
            tls_client::config(trust, Some(&shown.client)).map(Arc::new)
        };
        self.tls.get_or_init(make).clone()
    }
}

/// Who looks whether the aggregated API servers answer.
#[derive(Debug, Default)]
pub(crate) struct Aggregation {
    wake: Arc<Notify>,
    started: AtomicBool,
}

impl Aggregation {
    /// Has them looked at now.
    pub(crate) fn look(&self, core: &Arc<Core>) {
        if !self.started.swap(true, Ordering::SeqCst) {
            tokio::spawn(availability::run(Arc::downgrade(core), self.wake.clone()));
        }
        self.wake.notify_one();
    }
}

impl Drop for Aggregation {
    fn drop(&mut self) {
        // The task sees that the server is gone, and ends.
        self.wake.notify_one();
    }
}

impl Core {
    /// Tells aggregated API servers whom they can trust, as a kube-apiserver does.
    pub(crate) fn publish_trust(self: &Arc<Self>) -> std::io::Result<()> {
        let name = "extension-apiserver-authentication";
        let front_proxy = keys::front_proxy()?;
        let list = |only: &str| json!([only]).to_string();
        let config_map = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": name, "namespace": "kube-system", "uid": self.ids.uid(), "creationTimestamp": self.now(),
            },
            "data": {
                "client-ca-file": self.keys.authority()?.certificate(),
                "requestheader-allowed-names": list(FRONT_PROXY),
                "requestheader-client-ca-file": front_proxy.authority.certificate(),
                "requestheader-extra-headers-prefix": list(proxy::EXTRA),
                "requestheader-group-headers": list(proxy::GROUP),
                "requestheader-uid-headers": list(proxy::UID),
                "requestheader-username-headers": list(proxy::USER),
            },
        });
        let bucket = self.store.bucket("", "configmaps");
        let write = Write::Put(config_map);
        // It is there already if the server has been opened before.
        let _ = self.commit(
            bucket,
            &format!("kube-system/{name}"),
            Expect::Absent,
            write,
            &Self::own("kube-apiserver"),
        );
        Ok(())
    }
}
