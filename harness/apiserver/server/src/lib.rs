//! An in-memory Kubernetes API server for tests.
//!
//! It needs no etcd and no kubelet, and it never reads a clock: time and revisions come from [`Options`], so that a
//! fleet of servers can share one order of writes and run on a paused clock. [`ApiServer::service`] is for a
//! `kube::Client` in the same process, [`ApiServer::serve`] opens HTTPS for kubectl and programs in other languages.
//!
//! ```
//! use std::sync::Arc;
//!
//! use baton_apiserver::{ApiServer, Options};
//! use k8s_openapi::api::core::v1::Namespace;
//! use kube::{Api, Client, api::ListParams};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = ApiServer::new(Options::new("test", Arc::new(jiff::Timestamp::now)));
//! let client = Client::new(server.service("my-test"), "default");
//! let namespaces = Api::<Namespace>::all(client).list(&ListParams::default()).await?;
//! assert_eq!(namespaces.items.len(), 4);
//!
//! // For kubectl and programs in other languages.
//! let serving = server.serve().await?;
//! assert!(serving.kubeconfig().contains(&serving.url()));
//! # Ok(())
//! # }
//! ```
//!
//! Its behaviour is compared with recorded answers of a real server: whole sequences of requests
//! (`fixtures/transcripts`), and objects of every kind with one field changed (`fixtures/answers`;
//! `tests/parity/recorded` describes how to record them). The types come from the Go sources of the API
//! (`generate.sh`). `cargo bench -p baton-apiserver` prints its speed and its cost.
//!
//! The pure parts are separate crates, so that they build and are tested without a runtime: `baton-apimachinery`
//! (schemas, CEL, merging, metadata) and `baton-apikinds` (the built-in kinds). This crate has the parts with state or
//! I/O.
//!
//! Reading order:
//!
//! - `api_error`: the errors of the API;
//! - `store`: objects, revisions, history, the commit tap ([`Commits`]);
//! - `registry`: the served resources; `openapi`: their schemas; `selector`: label and field selectors;
//! - `handlers`: the path of a request through the server, verb by verb; its `authentication` identifies users and
//!   issues the tokens of service accounts;
//! - `admission`: webhooks; `conversion`: versions that a webhook converts; `webhook_client`: calls to webhooks;
//! - `tls`: certificates; `tls_client`: connections to webhooks; [`in_process`]: connections without a socket;
//! - `backlog`: the tasks that follow from commits; `controllers`: garbage collection, namespaces, deleted definitions
//!   and token Secrets;
//! - `serving`: HTTPS; `fault_injection`, `requests`, `gate` and `reads`: faults of a server's connections and requests;
//! - [`fault_proxy`]: the same faults in front of another API server; [`test_webhook`]: a webhook for servers to call;
//! - `traffic`: bytes and durations of requests; `options`, `ids`, `ordered_notify`.

mod admission;
mod api_error;
mod backlog;
mod controllers;
mod conversion;
mod fault_injection;
pub mod fault_proxy;
mod gate;
mod handlers;
mod ids;
pub mod in_process;
mod openapi;
mod options;
mod ordered_notify;
mod reads;
mod registry;
mod requests;
mod selector;
mod server;
mod serving;
mod store;
pub mod test_webhook;
mod tls;
mod tls_client;
mod traffic;
mod webhook_client;
mod yaml;

pub use fault_injection::{Cut, FaultInjector};
pub use gate::{Asking, CarriedOut, Gate, GatedWrite, Gatekeeper};
pub use handlers::codecs::body::ResponseBody;
pub use options::{Clock, Options, Revisions};
pub use requests::{Failure, Matching, RequestKey};
pub use server::{ApiServer, InProcess};
pub use serving::Serving;
pub use store::Change;
pub use store::commits::{Commit, Commits};
pub use traffic::{Durations, Traffic};
