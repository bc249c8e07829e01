//! An in-memory Kubernetes API server for tests.
//!
//! No etcd, no kubelet, no clock of its own: time and revisions are handed in ([`Options`]), so that a fleet of
//! servers can share one order of writes and run on a paused clock. [`ApiServer::service`] is the door for a
//! `kube::Client` in the same process, [`ApiServer::serve`] the one for everybody else.
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
//! let door = server.serve().await?;
//! assert!(door.kubeconfig().contains(&door.url()));
//! # Ok(())
//! # }
//! ```
//!
//! What it knows of real servers is held against recorded answers of one: whole sequences of requests
//! (`fixtures/transcripts`), and objects of every kind with one field changed (`fixtures/answers`; `tests/answers.rs` says
//! how they are recorded). What the API's types are comes from their Go sources (`types.sh`). `cargo bench -p
//! baton-apiserver` prints how fast it is and what it takes.
//!
//! In which order to read it:
//!
//! - [`mod@error`]: findings about fields; `status`: the errors of the API;
//! - `store`: objects, revisions, history, the commit tap ([`Commits`]);
//! - `registry`: which resources there are;
//! - `api`: the way of a request through the core, verb by verb;
//! - `admission`: webhooks and policies; `conversion`: versions that a webhook converts; `callout`: how webhooks are called;
//! - `controllers`: what follows from commits: established definitions, collected garbage, emptied namespaces;
//! - [`merge`]: patches, managed fields and the types they need;
//! - [`builtin`], [`metadata`], [`table`]: how the built-in kinds behave and how they are shown;
//! - [`webhook`]: a webhook to be called by servers, these or others; [`front`]: a door with levers in front of others;
//! - `quoted`: values as errors quote them;
//! - `discovery`, `openapi`, `selector`, `yaml`, `go_json`, `go_time`, `go_base64`, `gofmt`, `levers`, `gate`, `door`, `board`: what their names say.

mod admission;
mod api;
mod board;
pub mod builtin;
mod callout;
mod controllers;
mod conversion;
mod discovery;
mod door;
pub mod error;
pub mod findings;
pub mod front;
mod gate;
mod go_base64;
mod go_json;
mod go_time;
mod gofmt;
mod ids;
mod levers;
pub mod merge;
mod meta;
pub mod metadata;
mod openapi;
mod options;
mod quoted;
mod registry;
pub mod schema;
mod selector;
mod server;
mod status;
mod store;
pub mod table;
pub mod webhook;
mod yaml;

pub use api::body::ResponseBody;
pub use door::Serving;
pub use gate::{Asking, Gate, Gatekeeper};
pub use levers::{Counted, Cut, Failure, Levers, Matching};
pub use options::{Clock, Options, Revisions};
pub use server::{ApiServer, InProcess};
pub use store::commits::{Change, Commit, Commits};
