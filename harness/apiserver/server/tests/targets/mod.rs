//! Every parser that reads bytes from outside, as a function from any bytes to a request that leads to it.
//!
//! The test `fuzz`, which changes the seeds a little, and cargo-fuzz (`fuzz/`), guided by coverage, run them. The seeds
//! of both are in `fuzz/seeds/`.

use std::sync::Arc;

use baton_apiserver::{ApiServer, Options};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::raw::{JSON, MERGE, Raw};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";
const WEBHOOKS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// An input of the server that leads to a parser.
#[derive(Clone, Copy)]
pub struct Target {
    /// Valid input of the parser.
    pub seeds: &'static [&'static [u8]],
    /// Returns a request that contains the input.
    asked: fn(&[u8]) -> Asked,
}

struct Asked {
    method: &'static str,
    path: String,
    media: &'static str,
    body: Vec<u8>,
}

fn ask(method: &'static str, path: impl Into<String>, media: &'static str, body: impl Into<Vec<u8>>) -> Asked {
    Asked {
        method,
        path: path.into(),
        media,
        body: body.into(),
    }
}

/// Percent-encodes bytes, so that they can be a part of a URI.
fn escaped(bytes: &[u8], kept: &[u8]) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || kept.contains(&byte);
    bytes
        .iter()
        .map(|byte| match byte {
            byte if plain(*byte) => char::from(*byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

pub const PATH: Target = Target {
    seeds: &[
        include_bytes!("../../fuzz/seeds/path/collection"),
        include_bytes!("../../fuzz/seeds/path/status"),
        include_bytes!("../../fuzz/seeds/path/openapi"),
        include_bytes!("../../fuzz/seeds/path/watch"),
    ],
    asked: |input| {
        let methods = ["GET", "DELETE", "POST", "PUT", "PATCH"];
        let method = methods[input.len() % methods.len()];
        // Without a timeout, a watch would last for minutes.
        let path = format!("/{}?timeoutSeconds=1", escaped(input, b"/%.-"));
        ask(method, path, JSON, [])
    },
};

pub const QUERY: Target = Target {
    seeds: &[include_bytes!("../../fuzz/seeds/query/list")],
    asked: |input| {
        let path = format!("{MAPS}?{}&timeoutSeconds=1", escaped(input, b"=&%+"));
        ask("GET", path, JSON, [])
    },
};

pub const LABELS: Target = Target {
    seeds: &[include_bytes!("../../fuzz/seeds/labels/all")],
    asked: |input| ask("GET", format!("{MAPS}?labelSelector={}", escaped(input, b"")), JSON, []),
};

pub const FIELDS: Target = Target {
    seeds: &[include_bytes!("../../fuzz/seeds/fields/escaped")],
    asked: |input| ask("GET", format!("{PODS}?fieldSelector={}", escaped(input, b"")), JSON, []),
};

pub const JSON_PATCH: Target = Target {
    seeds: &[include_bytes!("../../fuzz/seeds/json_patch/operations")],
    asked: |input| ask("PATCH", format!("{MAPS}/a"), "application/json-patch+json", input),
};

pub const MERGE_PATCH: Target = Target {
    seeds: &[include_bytes!("../../fuzz/seeds/merge_patch/removals")],
    asked: |input| ask("PATCH", format!("{MAPS}/a"), MERGE, input),
};

pub const STRATEGIC_PATCH: Target = Target {
    seeds: &[include_bytes!("../../fuzz/seeds/strategic_patch/directives")],
    asked: |input| {
        let media = "application/strategic-merge-patch+json";
        ask("PATCH", format!("{PODS}/p"), media, input)
    },
};

pub const APPLY: Target = Target {
    seeds: &[include_bytes!("../../fuzz/seeds/apply/aliases")],
    asked: |input| {
        let path = format!("{MAPS}/a?fieldManager=m{}&force=true", input.len() % 3);
        ask("PATCH", path, "application/apply-patch+yaml", input)
    },
};

pub const MANAGED_FIELDS: Target = Target {
    seeds: &[include_bytes!("../../fuzz/seeds/managed_fields/all")],
    asked: |input| ask("PUT", format!("{MAPS}/a"), JSON, input),
};

pub const YAML: Target = Target {
    seeds: &[include_bytes!("../../fuzz/seeds/yaml/styles")],
    asked: |input| {
        let path = format!("{MAPS}?dryRun=All&fieldValidation=Strict");
        ask("POST", path, "application/yaml", input)
    },
};

pub const JSON_BODY: Target = Target {
    seeds: &[include_bytes!("../../fuzz/seeds/json/deployment")],
    asked: |input| {
        let path = "/apis/apps/v1/namespaces/default/deployments?dryRun=All";
        ask("POST", path, JSON, input)
    },
};

pub const PROTOBUF: Target = Target {
    seeds: &[include_bytes!("../../fuzz/seeds/protobuf/map")],
    asked: |input| {
        let media = "application/vnd.kubernetes.protobuf";
        ask("POST", format!("{MAPS}?dryRun=All"), media, input)
    },
};

/// Condition of a webhook, evaluated for every write of a `ConfigMap`. The second condition is never met, so that the
/// webhook is not called.
pub const CEL: Target = Target {
    seeds: &[
        include_bytes!("../../fuzz/seeds/cel/macros"),
        include_bytes!("../../fuzz/seeds/cel/operators"),
        include_bytes!("../../fuzz/seeds/cel/libraries"),
    ],
    asked: |input| {
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "fuzz"},
            "webhooks": [{
                "name": "fuzz.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "clientConfig": {"url": "https://127.0.0.1:1/"}, "failurePolicy": "Ignore",
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}],
                "matchConditions": [
                    {"name": "fuzz", "expression": String::from_utf8_lossy(input)},
                    {"name": "never", "expression": "false"},
                ],
            }],
        });
        let path = format!("{WEBHOOKS}/fuzz?fieldManager=f&force=true");
        ask("PATCH", path, "application/apply-patch+yaml", configuration.to_string())
    },
};

/// A definition with a schema and rules.
pub const SCHEMA: Target = Target {
    seeds: &[include_bytes!("../../fuzz/seeds/schema/definition")],
    asked: |input| ask("POST", format!("{DEFINITIONS}?dryRun=All"), JSON, input),
};

/// A server with objects for the targets.
pub struct Attacked(Raw);

impl Attacked {
    pub async fn new() -> Self {
        let server = ApiServer::new(Options::new("fuzz", Arc::new(|| Timestamp::UNIX_EPOCH)));
        let mut client = Raw::new(&server);
        let map = json!({"metadata": {"name": "a", "labels": {"l": "x"}}, "data": {"k": "v"}});
        let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
        for (path, object) in [(MAPS, map), (PODS, pod)] {
            assert_eq!(client.send("POST", path, JSON, &object).await.0, 201, "{path}");
        }
        Self(client)
    }

    /// Sends the input, and returns whether it was accepted (`None` if the input cannot be part of a URI); panics at an
    /// unintended 5xx.
    pub async fn try_input(&mut self, target: &Target, input: &[u8]) -> Option<bool> {
        let asked = (target.asked)(input);
        asked.path.parse::<http::Uri>().ok()?;
        let shown = format!("{} {}", asked.method, asked.path);
        let (status, answer) = self.0.bytes(asked.method, &asked.path, asked.media, asked.body).await;
        let answer = String::from_utf8_lossy(&answer);
        let meant = status < 500 || answer.starts_with("{\"") && !answer.contains("\"InternalError");
        assert!(meant, "{status} {answer}\n{shown}\n{}", String::from_utf8_lossy(input));
        Some(status < 400)
    }

    /// Panics unless a `ConfigMap` can still be written, and all of them still exist.
    pub async fn still_answers(&mut self) {
        let object = json!({"metadata": {"name": "probe", "labels": {"l": "x"}}});
        let (status, answer) = self.0.send("POST", &format!("{MAPS}?dryRun=All"), JSON, &object).await;
        assert_eq!(status, 201, "{answer}");
        let (_, list) = self.0.get(MAPS).await;
        assert_eq!(list["kind"], Value::from("ConfigMapList"));
    }
}
