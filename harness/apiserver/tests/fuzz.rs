//! Made-up input for everything that reads bytes from outside: a server must answer whatever comes, with no panic and
//! no 5xx that it does not mean, and go on.
//!
//! Each target changes good input a little and sends it through the in-process door, always in the same way. It takes
//! a fraction of a second; `FUZZ_SECONDS=300 cargo test -p baton-apiserver --test fuzz` goes on for that long.

#![expect(clippy::expect_used, reason = "a test: what goes wrong is to be seen")]

mod dice;
mod raw;

use std::sync::Arc;
use std::time::{Duration, Instant};

use baton_apiserver::{ApiServer, Options};
use dice::Dice;
use jiff::Timestamp;
use raw::{JSON, Raw};
use rstest::rstest;
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";
/// How often each target is tried when nobody asks for more.
const ROUNDS: usize = 300;

/// Pieces that parsers take notice of.
const PIECES: [&str; 44] = [
    "",
    "\"",
    "'",
    "\\",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ",",
    ":",
    ";",
    "=",
    "!=",
    "==",
    " in ",
    " notin ",
    "/",
    "..",
    "%00",
    "%ff",
    "~1",
    "~0",
    "-",
    "+",
    "0",
    "1e999",
    "-9223372036854775808",
    "18446744073709551616",
    "null",
    "true",
    "$patch",
    "$retainKeys",
    "$deleteFromPrimitiveList/x",
    "f:",
    "k:{}",
    "v:1",
    ".",
    "*a",
    "&a ",
    "\n",
    "\t",
    "\u{202e}é",
];

/// Changes a text in a few places.
fn changed(dice: &mut Dice, seed: &str) -> Vec<u8> {
    let mut bytes = seed.as_bytes().to_vec();
    for _ in 0..=dice.roll(4) {
        let at = dice.roll(bytes.len() + 1);
        let to = (at + dice.roll(12)).min(bytes.len());
        match dice.roll(5) {
            0 => drop(bytes.drain(at..to)),
            1 => drop(bytes.splice(at..at, dice.one(&PIECES).bytes())),
            2 => drop(bytes.splice(at..to, dice.one(&PIECES).bytes())),
            3 => {
                let again = bytes[at..to].to_vec();
                drop(bytes.splice(at..at, again));
            }
            _ => {
                let byte = u8::try_from(dice.roll(256)).expect("a byte");
                bytes.splice(at..at, [byte]);
            }
        }
    }
    bytes
}

/// A request with something in it that has been changed.
struct Asked {
    method: &'static str,
    path: String,
    media: &'static str,
    body: Vec<u8>,
}

fn ask(method: &'static str, path: impl Into<String>, media: &'static str, body: Vec<u8>) -> Asked {
    Asked {
        method,
        path: path.into(),
        media,
        body,
    }
}

/// What can be a part of a URI, of any bytes.
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

fn path(dice: &mut Dice) -> Asked {
    let seeds = [
        MAPS,
        "/apis/apps/v1/namespaces/default/deployments/a/status",
        "/openapi/v3/apis/apps/v1",
        "/api/v1/watch/pods",
    ];
    let seed = *dice.one(&seeds);
    let changed = changed(dice, seed);
    let method = *dice.one(&["GET", "DELETE", "POST", "PUT", "PATCH"]);
    // A watch on the way would not end.
    ask(
        method,
        format!("/{}?timeoutSeconds=1", escaped(&changed, b"/%.-")),
        JSON,
        Vec::new(),
    )
}

fn query(dice: &mut Dice) -> Asked {
    let seed = "limit=5&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ&resourceVersion=1&resourceVersionMatch=Exact&watch=0";
    let changed = changed(dice, seed);
    ask(
        "GET",
        format!("{MAPS}?{}&timeoutSeconds=1", escaped(&changed, b"=&%+")),
        JSON,
        Vec::new(),
    )
}

fn labels(dice: &mut Dice) -> Asked {
    let changed = changed(dice, "a=b,c!=d,e in (f,g),h notin (i),!j,k>1,example.com/l");
    ask(
        "GET",
        format!("{MAPS}?labelSelector={}", escaped(&changed, b"")),
        JSON,
        Vec::new(),
    )
}

fn fields(dice: &mut Dice) -> Asked {
    let changed = changed(dice, "metadata.name=a,spec.nodeName!=b,status.phase==\\,c");
    ask(
        "GET",
        format!("{PODS}?fieldSelector={}", escaped(&changed, b"")),
        JSON,
        Vec::new(),
    )
}

fn json_patch(dice: &mut Dice) -> Asked {
    let seed = r#"[{"op":"add","path":"/metadata/labels/a~1b","value":"x"},{"op":"move","from":"/data/k","path":"/data/n"},
        {"op":"test","path":"/metadata/name","value":"a"},{"op":"copy","from":"/metadata/labels","path":"/data"}]"#;
    ask(
        "PATCH",
        format!("{MAPS}/a"),
        "application/json-patch+json",
        changed(dice, seed),
    )
}

fn merge_patch(dice: &mut Dice) -> Asked {
    let seed =
        r#"{"metadata":{"labels":{"l":null},"finalizers":["a/b"],"ownerReferences":null},"data":{"k":null,"x":"1"}}"#;
    ask("PATCH", format!("{MAPS}/a"), raw::MERGE, changed(dice, seed))
}

fn strategic_patch(dice: &mut Dice) -> Asked {
    let seed = r#"{"spec":{"containers":[{"name":"c","image":"i","env":[{"name":"E","$patch":"delete"}]}],"$setElementOrder/containers":[{"name":"c"}],
        "tolerations":[{"$patch":"replace"}]},"metadata":{"$deleteFromPrimitiveList/finalizers":["a/b"],"labels":{"$retainKeys":["l"]}}}"#;
    ask(
        "PATCH",
        format!("{PODS}/p"),
        "application/strategic-merge-patch+json",
        changed(dice, seed),
    )
}

fn apply(dice: &mut Dice) -> Asked {
    let seed = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: &l {x: v}, annotations: *l}\ndata: {<<: *l, k: 'v'}\n";
    let path = format!("{MAPS}/a?fieldManager=m{}&force=true", dice.roll(3));
    ask("PATCH", path, "application/apply-patch+yaml", changed(dice, seed))
}

fn managed_fields(dice: &mut Dice) -> Asked {
    let seed = r#"{"metadata":{"name":"a","labels":{"l":"x"},"managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1",
        "time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{".":{},"f:k":{}},"f:metadata":{"f:finalizers":
        {"v:\"a/b\"":{}},"f:labels":{"i:0":{}},"f:ownerReferences":{"k:{\"uid\":\"u\"}":{}}}}}]},"data":{"k":"w"}}"#;
    ask("PUT", format!("{MAPS}/a"), JSON, changed(dice, seed))
}

fn yaml(dice: &mut Dice) -> Asked {
    let seed = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: new\n  labels: {a: !!str 1, \"b\": 'c'}\ndata:\n  m: |-\n    x\n  f: >\n    y\n  ? k\n  : v\n";
    ask(
        "POST",
        format!("{MAPS}?dryRun=All&fieldValidation=Strict"),
        "application/yaml",
        changed(dice, seed),
    )
}

fn json(dice: &mut Dice) -> Asked {
    let seed = r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"new"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},
        "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1e3m"}},
        "ports":[{"containerPort":80}],"livenessProbe":{"httpGet":{"port":"http"}}}],"volumes":[{"name":"v","emptyDir":{}}]}}}}"#;
    ask(
        "POST",
        "/apis/apps/v1/namespaces/default/deployments?dryRun=All",
        JSON,
        changed(dice, seed),
    )
}

fn protobuf(dice: &mut Dice) -> Asked {
    let seed = "k8s\0\n\x0f\n\x02v1\x12\tConfigMap\x12\x0f\n\x05\n\x03new\x12\x06\n\x01k\x12\x01v\x1a\0\"\0";
    ask(
        "POST",
        format!("{MAPS}?dryRun=All"),
        "application/vnd.kubernetes.protobuf",
        changed(dice, seed),
    )
}

/// An expression that every write of a `ConfigMap` is held against.
fn cel(dice: &mut Dice) -> Asked {
    let seeds = [
        "object.metadata.name.startsWith('a') && has(object.data) ? object.data.all(k, k.size() < 9) : [1, 2].exists(x, x > 1)",
        "object.metadata.labels['l'].matches('^[a-z]+$') || int('1') + 2 * 3 % 4 == 7 || timestamp('2026-01-01T00:00:00Z') > now",
        "quantity('1Gi').isGreaterThan(quantity('1M')) && url('https://a/b').getHost() == 'a' && {'k': 1}.map(k, k) == ['k']",
    ];
    let seed = *dice.one(&seeds);
    let expression = changed(dice, seed);
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "fuzz"},
        "spec": {"matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}]},
                 "validations": [{"expression": String::from_utf8_lossy(&expression)}]},
    });
    let path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/fuzz?fieldManager=f&force=true";
    ask(
        "PATCH",
        path,
        "application/apply-patch+yaml",
        policy.to_string().into_bytes(),
    )
}

/// A definition with a schema and rules.
fn schema(dice: &mut Dice) -> Asked {
    let seed = r#"{"type":"object","properties":{"spec":{"type":"object","required":["a"],"properties":{"a":{"type":"string","pattern":"^[a-z]{1,3}$",
        "format":"date-time","default":"x"},"l":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["n"],"items":{"type":"object",
        "properties":{"n":{"type":"integer","minimum":1}},"required":["n"]}},"i":{"x-kubernetes-int-or-string":true}},
        "x-kubernetes-validations":[{"rule":"self.a.size() > 1 || oldSelf.a == 'b'","messageExpression":"'x' + self.a"}]}}}"#;
    let text = format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"fs.example.com"}},"spec":{{"group":"example.com",
        "scope":"Namespaced","names":{{"plural":"fs","kind":"F"}},"versions":[{{"name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":{seed}}},
        "additionalPrinterColumns":[{{"name":"A","type":"string","jsonPath":".spec.l[?(@.n==1)].n"}}],"subresources":{{"scale":{{"specReplicasPath":".spec.i","statusReplicasPath":".status.i"}}}}}}]}}}}"#
    );
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All";
    ask("POST", path, JSON, changed(dice, &text))
}

fn objects() -> [(&'static str, Value); 3] {
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "fuzz"},
        "spec": {"policyName": "fuzz", "validationActions": ["Warn"]},
    });
    [
        (
            MAPS,
            json!({"metadata": {"name": "a", "labels": {"l": "x"}}, "data": {"k": "v"}}),
        ),
        (
            PODS,
            json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}),
        ),
        (
            "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
            binding,
        ),
    ]
}

#[rstest]
#[case::path(path)]
#[case::query(query)]
#[case::labels(labels)]
#[case::fields(fields)]
#[case::json_patch(json_patch)]
#[case::merge_patch(merge_patch)]
#[case::strategic_patch(strategic_patch)]
#[case::apply(apply)]
#[case::managed_fields(managed_fields)]
#[case::yaml(yaml)]
#[case::json(json)]
#[case::protobuf(protobuf)]
#[case::cel(cel)]
#[case::schema(schema)]
#[tokio::test(start_paused = true)]
async fn whatever_comes_is_answered(#[case] target: fn(&mut Dice) -> Asked) {
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let until = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let (mut seed, mut accepted) = (0, 0);
    loop {
        let server = ApiServer::new(Options::new("test", Arc::new(|| Timestamp::UNIX_EPOCH)));
        let mut client = Raw::new(&server);
        for (path, object) in objects() {
            assert_eq!(client.send("POST", path, JSON, &object).await.0, 201, "{path}");
        }
        for round in 0..ROUNDS {
            let mut dice = Dice(seed);
            seed += 1;
            let asked = target(&mut dice);
            let shown = format!(
                "seed {seed}: {} {} {}",
                asked.method,
                asked.path,
                String::from_utf8_lossy(&asked.body)
            );
            if asked.path.parse::<http::Uri>().is_err() {
                continue;
            }
            let (status, answer) = client.bytes(asked.method, &asked.path, asked.media, asked.body).await;
            let meant = status < 500
                || answer.starts_with(b"{\"") && !answer.windows(14).any(|part| part == b"\"InternalError");
            assert!(meant, "{status} {}\n{shown}", String::from_utf8_lossy(&answer));
            accepted += usize::from(status < 400);
            if round % 10 == 0 {
                let object = json!({"metadata": {"name": "probe", "labels": {"l": "x"}}});
                let (status, answer) = client.send("POST", &format!("{MAPS}?dryRun=All"), JSON, &object).await;
                assert!(matches!(status, 201 | 422), "{answer}\n{shown}");
            }
        }
        assert!(
            0 < accepted && accepted < usize::try_from(seed).expect("a number"),
            "{accepted} of {seed}"
        );
        let (_, list) = client.get(MAPS).await;
        assert_eq!(list["kind"], "ConfigMapList");
        if until.is_none_or(|until| Instant::now() > until) {
            return;
        }
    }
}
