//! The behaviour of a kube-apiserver v1.36, topic by topic: all of it was compared with one.

mod bodies;
mod changes;
mod documents;
mod error_messages;
mod kinds;
mod paths;
mod requests;
mod subresources;
mod versions;
mod writes;

use std::sync::Arc;

use crate::raw::{JSON, Raw};
use baton_apiserver::{ApiServer, Options};
use jiff::Timestamp;
use serde_json::json;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const FOOS: &str = "/apis/ex.com/v1/namespaces/default/foos";

/// Returns a client of a new server.
fn client() -> Raw {
    Raw::new(&ApiServer::new(Options::new(
        "test",
        Arc::new(|| Timestamp::UNIX_EPOCH),
    )))
}

/// Returns the reason for which an object was refused: the message after `is invalid: `, or the whole message.
fn reason(answer: &serde_json::Value) -> &str {
    let message = answer["message"].as_str().unwrap_or_default();
    message.split_once("is invalid: ").map_or(message, |(_, reason)| reason)
}

/// Returns a client of a new server with the custom resource Foo, and a config map.
async fn client_with_foos() -> Raw {
    let mut client = client();
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "foos.ex.com"},
        "spec": {"group": "ex.com", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"}, "versions": [{
            "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}},
        }]},
    });
    assert_eq!(client.send("POST", definitions, JSON, &definition).await.0, 201);
    let object = json!({"apiVersion": "ex.com/v1", "kind": "Foo", "metadata": {"name": "f"}});
    assert_eq!(client.send("POST", FOOS, JSON, &object).await.0, 201);
    for name in ["a", "b", "c"] {
        let object = json!({"metadata": {"name": name}, "data": {"k": "v", "l": "w"}});
        assert_eq!(client.send("POST", MAPS, JSON, &object).await.0, 201);
    }
    client
}
