//! The kubeconfig of a server.

use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::tls::Identity;
use crate::yaml;

/// Returns a kubeconfig with one cluster, one user and one context, all named after the server.
pub(super) fn write(name: &str, addr: SocketAddr, identity: &Identity, token: &str) -> String {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {
            "server": format!("https://{addr}"),
            "certificate-authority-data": STANDARD.encode(&identity.ca),
        }}],
        "users": [{"name": name, "user": {
            "token": token,
            "client-certificate-data": STANDARD.encode(&identity.client.certificate),
            "client-key-data": STANDARD.encode(&identity.client.key),
        }}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    });
    yaml::write(&config)
}
