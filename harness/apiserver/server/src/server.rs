//! The public handle of a server.

use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use baton_apikinds::services;
use bytes::Bytes;
use http::{Request, Response};
use serde_json::json;

use crate::admission::Admission;
use crate::backlog::Backlog;
use crate::controllers;
use crate::fault_injection::FaultInjector;
use crate::handlers::authentication::User;
use crate::handlers::authentication::keys::Keys;
use crate::handlers::codecs::body::ResponseBody;
use crate::handlers::{Caller, Core};
use crate::ids::Ids;
use crate::options::Options;
use crate::registry::Registry;
use crate::requests::Side;
use crate::serving::{self, Serving};
use crate::store::commits::Commits;
use crate::store::{Expect, Store, Write};
use crate::tls::Identity;

/// The namespaces that every cluster has from the beginning.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// An API server. Clones are handles to the same server; it ends when the last of them and of its services is dropped.
#[derive(Clone)]
pub struct ApiServer {
    core: Arc<Core>,
}

impl ApiServer {
    /// Returns a server with only the namespaces that every cluster has.
    pub fn new(options: Options) -> Self {
        let store = Arc::new(Store::new(
            options.revisions.clone(),
            options.clock.clone(),
            options.history,
        ));
        let core = Arc::new(Core {
            registry: Registry::new(&store),
            ids: Ids::new(&options.name, options.seed),
            keys: Keys::default(),
            faults: FaultInjector::new(store.clone()),
            backlog: Backlog::default(),
            admission: Admission::default(),
            buckets: store.well_known(),
            store,
            options,
        });
        for name in NAMESPACES {
            core.add_namespace(name);
        }
        // As on any cluster that has run for a while, clients cannot see the beginning.
        core.store.compact();
        Self { core }
    }

    /// Returns the name from the options.
    pub fn name(&self) -> &str {
        &self.core.options.name
    }

    /// Returns a service for clients in the same process, who are administrators; commits bear their user agent. Fits
    /// `kube::Client::new`.
    pub fn service(&self, user_agent: &str) -> InProcess {
        self.in_process(user_agent, Side::Outside)
    }

    /// As [`ApiServer::service`], for clients inside the cluster: [`FaultInjector::cut_off`] does not affect them.
    pub fn service_inside(&self, user_agent: &str) -> InProcess {
        self.in_process(user_agent, Side::Inside)
    }

    fn in_process(&self, user_agent: &str, side: Side) -> InProcess {
        let caller = Caller {
            user: User::administrator(),
            user_agent: Arc::from(user_agent),
            side,
        };
        InProcess {
            core: self.core.clone(),
            caller,
        }
    }

    /// Serves HTTPS on a free port of 127.0.0.1, for kubectl and programs in other languages.
    pub async fn serve(&self) -> io::Result<Serving> {
        self.serve_on(Ipv4Addr::LOCALHOST.into()).await
    }

    /// Serves HTTPS on a free port of an address of this machine.
    pub async fn serve_on(&self, address: IpAddr) -> io::Result<Serving> {
        let Core { keys, options, .. } = &*self.core;
        let identity = Identity::certified_by(keys.authority()?, address)?;
        let token = keys.administrator()?.to_owned();
        controllers::ensure_running(&self.core);
        let serving = serving::open(self.core.clone(), &options.name, address, identity, token).await?;
        self.core.publish_service_and_role(serving.addr());
        Ok(serving)
    }

    /// Returns a stream of every stored revision from now on, preceded by the existing objects.
    pub fn commits(&self) -> Commits {
        self.core.store.commits()
    }

    /// Injects faults into the server.
    pub fn faults(&self) -> &FaultInjector {
        &self.core.faults
    }
}

impl std::fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiServer")
            .field("options", &self.core.options)
            .finish_non_exhaustive()
    }
}

impl Core {
    fn add_namespace(self: &Arc<Self>, name: &str) {
        let namespace = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": name,
                "uid": self.ids.uid(),
                "creationTimestamp": self.now(),
                "labels": {"kubernetes.io/metadata.name": name},
            },
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        });
        let bucket = self.buckets.namespaces;
        // No one else has the store yet, so the name cannot be taken.
        let _ = self.store.commit(
            bucket,
            name,
            Expect::Absent,
            Write::Put(namespace),
            &Arc::from("kube-apiserver"),
        );
    }

    /// Creates the objects that a kube-apiserver creates once it listens: the Service `kubernetes` and the `ClusterRole`
    /// of administrators.
    fn publish_service_and_role(self: &Arc<Self>, addr: SocketAddr) {
        let address = services::API_SERVER.to_string();
        let service = json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {
                "name": "kubernetes",
                "namespace": "default",
                "uid": self.ids.uid(),
                "creationTimestamp": self.now(),
                "labels": {"component": "apiserver", "provider": "kubernetes"},
            },
            "spec": {
                "clusterIP": address,
                "clusterIPs": [address],
                "internalTrafficPolicy": "Cluster",
                "ipFamilies": ["IPv4"],
                "ipFamilyPolicy": "SingleStack",
                "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": addr.port()}],
                "sessionAffinity": "None",
                "type": "ClusterIP",
            },
            "status": {"loadBalancer": {}},
        });
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {
                "name": "cluster-admin",
                "uid": self.ids.uid(),
                "creationTimestamp": self.now(),
                "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
                "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
            },
            "rules": [
                {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
                {"nonResourceURLs": ["*"], "verbs": ["*"]},
            ],
        });
        let roles = self.store.bucket("rbac.authorization.k8s.io", "clusterroles");
        let both = [
            (self.buckets.services, "default/kubernetes", service),
            (roles, "cluster-admin", role),
        ];
        for (bucket, key, object) in both {
            // It exists already if the server has been opened before.
            let write = Write::Put(object);
            let _ = self.commit(bucket, key, Expect::Absent, write, &Self::own("kube-apiserver"));
        }
    }
}

/// A server for clients in the same process: a `tower` service.
#[derive(Clone)]
pub struct InProcess {
    core: Arc<Core>,
    caller: Caller,
}

impl std::fmt::Debug for InProcess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InProcess")
            .field("caller", &self.caller)
            .finish_non_exhaustive()
    }
}

impl<B> tower::Service<Request<B>> for InProcess
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<ResponseBody>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Self { core, caller } = self.clone();
        Box::pin(async move {
            controllers::ensure_running(&core);
            core.handle(request, caller).await
        })
    }
}
