//! Services that are refused: what the answer says behind `is invalid: `.

use rstest::rstest;
use serde_json::{Value, json};

use super::{client, reason};
use crate::raw::{JSON, MERGE, Raw};

const SERVICES: &str = "/api/v1/namespaces/default/services";

/// A Service of one port, with more in its specification.
fn service(name: &str, more: &Value) -> Value {
    let mut spec = json!({"ports": [{"port": 80}]});
    let more = more.as_object().expect("an object").clone();
    spec.as_object_mut().expect("an object").extend(more);
    json!({"metadata": {"name": name}, "spec": spec})
}

fn plain() -> Value {
    service("plain", &json!({"selector": {"a": "b"}}))
}

fn headless() -> Value {
    json!({"metadata": {"name": "headless"}, "spec": {"clusterIP": "None", "selector": {"a": "b"}}})
}

fn on_nodes() -> Value {
    service("on-nodes", &json!({"type": "NodePort"}))
}

fn balanced() -> Value {
    service("balanced", &json!({"type": "LoadBalancer"}))
}

fn local() -> Value {
    let more = json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "loadBalancerClass": "x.y/z"});
    service("local", &more)
}

fn external() -> Value {
    json!({"metadata": {"name": "external"}, "spec": {"type": "ExternalName", "externalName": "a.b"}})
}

async fn created(server: &mut Raw, service: &Value) -> String {
    let (code, answer) = server.send("POST", SERVICES, JSON, service).await;
    assert_eq!(code, 201, "{answer}");
    format!(
        "{SERVICES}/{}",
        service["metadata"]["name"].as_str().unwrap_or_default()
    )
}

#[rstest]
#[case(plain(), json!({"spec": {"type": "ExternalName"}}), "spec.externalName: Required value")]
#[case(plain(), json!({"spec": {"type": "X"}}), "spec.type: Unsupported value: \"X\": supported values: \"ClusterIP\", \"ExternalName\", \"LoadBalancer\", \"NodePort\"")]
#[case(plain(), json!({"spec": {"clusterIP": "None"}}), "spec.clusterIPs[0]: Invalid value: [\"None\"]: may not change once set")]
#[case(plain(), json!({"spec": {"clusterIP": "10.96.7.7"}}), "spec.clusterIPs[0]: Invalid value: [\"10.96.7.7\"]: may not change once set")]
#[case(plain(), json!({"spec": {"ports": []}}), "spec.ports: Required value")]
#[case(plain(), json!({"spec": {"ports": [{"port": 80, "nodePort": 30001}]}}), "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'")]
#[case(plain(), json!({"spec": {"type": "NodePort", "ports": [{"name": "a", "port": 80, "nodePort": 30007}, {"name": "b", "port": 81, "nodePort": 30007}]}}), "duplicate nodePort: {TCP 30007}")]
#[case(plain(), json!({"spec": {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 0}}}}), "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than 0 and less than 86400")]
#[case(plain(), json!({"spec": {"externalTrafficPolicy": "Local"}}), "spec.externalTrafficPolicy: Invalid value: \"Local\": may only be set for externally-accessible services")]
#[case(plain(), json!({"spec": {"type": "NodePort", "healthCheckNodePort": 30010}}), "spec.healthCheckNodePort: Invalid value: 30010: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'")]
#[case(plain(), json!({"spec": {"internalTrafficPolicy": "X"}}), "spec.internalTrafficPolicy: Unsupported value: \"X\": supported values: \"Cluster\", \"Local\"")]
#[case(plain(), json!({"spec": {"externalTrafficPolicy": "X"}}), "spec.externalTrafficPolicy: Invalid value: \"X\": may only be set for externally-accessible services")]
#[case(plain(), json!({"spec": {"externalIPs": ["x"]}}), "spec.externalIPs[0]: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")]
#[case(plain(), json!({"spec": {"externalIPs": ["127.0.0.1"]}}), "spec.externalIPs[0]: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)")]
#[case(plain(), json!({"spec": {"loadBalancerSourceRanges": ["1.2.3.0/24"]}}), "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'")]
#[case(plain(), json!({"spec": {"loadBalancerClass": "a/b"}}), "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'")]
#[case(plain(), json!({"spec": {"allocateLoadBalancerNodePorts": false}}), "spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is 'LoadBalancer'")]
#[case(plain(), json!({"spec": {"ipFamilies": ["IPv4", "IPv6"]}}), "spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified")]
#[case(plain(), json!({"spec": {"ipFamilies": ["IPv4", "IPv4"]}}), "spec.ipFamilies[1]: Duplicate value: \"IPv4\"")]
#[case(plain(), json!({"spec": {"ipFamilies": ["X"]}}), "spec.ipFamilies[0]: Unsupported value: \"X\": supported values: \"IPv4\", \"IPv6\"")]
#[case(plain(), json!({"spec": {"ipFamilyPolicy": "RequireDualStack"}}), "spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": this cluster is not configured for dual-stack services")]
#[case(plain(), json!({"spec": {"ipFamilyPolicy": "X"}}), "spec.ipFamilyPolicy: Unsupported value: \"X\": supported values: \"PreferDualStack\", \"RequireDualStack\", \"SingleStack\"")]
#[case(plain(), json!({"spec": {"trafficDistribution": "X"}}), "spec.trafficDistribution: Unsupported value: \"X\": supported values: \"PreferClose\", \"PreferSameZone\", \"PreferSameNode\"")]
#[case(plain(), json!({"spec": {"clusterIPs": ["10.96.9.9"]}}), "spec.clusterIPs: Invalid value: [\"10.96.9.9\"]: first value must match `clusterIP`")]
#[case(plain(), json!({"spec": {"clusterIPs": ["None"]}}), "spec.clusterIPs: Invalid value: [\"None\"]: first value must match `clusterIP`")]
#[case(headless(), json!({"spec": {"type": "NodePort"}}), "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services")]
#[case(headless(), json!({"spec": {"type": "LoadBalancer"}}), "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for LoadBalancer services")]
#[case(headless(), json!({"spec": {"clusterIP": "10.96.7.7"}}), "[spec.clusterIPs[0]: Invalid value: [\"10.96.7.7\"]: may not change once set, spec.ports: Required value]")]
#[case(headless(), json!({"spec": {"ipFamilies": ["IPv6"]}}), "spec.ipFamilies[0]: Invalid value: \"IPv6\": not configured on this cluster")]
#[case(on_nodes(), json!({"spec": {"clusterIP": "None"}}), "[spec.clusterIPs[0]: Invalid value: [\"None\"]: may not change once set, spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services]")]
#[case(on_nodes(), json!({"spec": {"externalTrafficPolicy": "X"}}), "spec.externalTrafficPolicy: Unsupported value: \"X\": supported values: \"Cluster\", \"Local\"")]
#[case(balanced(), json!({"spec": {"clusterIP": "None"}}), "[spec.clusterIPs[0]: Invalid value: [\"None\"]: may not change once set, spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for LoadBalancer services]")]
#[case(balanced(), json!({"spec": {"loadBalancerClass": "a/b"}}), "spec.loadBalancerClass: Invalid value: \"a/b\": may not change once set")]
#[case(balanced(), json!({"spec": {"type": "LoadBalancer", "loadBalancerClass": "a.b/c"}}), "spec.loadBalancerClass: Invalid value: \"a.b/c\": may not change once set")]
#[case(local(), json!({"spec": {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 30010}}), "spec.healthCheckNodePort: Forbidden: field is immutable")]
#[case(local(), json!({"spec": {"loadBalancerClass": null}}), "spec.loadBalancerClass: Invalid value: null: may not change once set")]
#[case(external(), json!({"spec": {"type": "X"}}), "[spec.ports: Required value, spec.type: Unsupported value: \"X\": supported values: \"ClusterIP\", \"ExternalName\", \"LoadBalancer\", \"NodePort\"]")]
#[case(external(), json!({"spec": {"clusterIP": "None"}}), "spec.clusterIPs: Forbidden: may not be set for ExternalName services")]
#[case(external(), json!({"spec": {"type": "NodePort", "healthCheckNodePort": 30010}}), "[spec.ports: Required value, spec.healthCheckNodePort: Invalid value: 30010: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local']")]
#[case(external(), json!({"spec": {"ipFamilies": ["IPv6"]}}), "spec.ipFamilies: Forbidden: may not be set for ExternalName services")]
#[case(external(), json!({"spec": {"ipFamilyPolicy": "PreferDualStack"}}), "spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services")]
#[tokio::test]
async fn a_change_is_refused(#[case] before: Value, #[case] patch: Value, #[case] wanted: &str) {
    let mut server = client();
    let path = created(&mut server, &before).await;
    let (code, answer) = server.send("PATCH", &path, MERGE, &patch).await;
    assert_eq!(reason(&answer), wanted);
    assert!(code >= 400, "{code}");
}

#[rstest]
#[case(json!({"ipFamilies": ["IPv6"], "ipFamilyPolicy": "RequireDualStack"}), "[spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": this cluster is not configured for dual-stack services, spec.ipFamilies[0]: Invalid value: \"IPv6\": not configured on this cluster]")]
#[case(json!({"ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "PreferDualStack"}), "spec.ipFamilies[1]: Invalid value: \"IPv6\": not configured on this cluster")]
#[case(json!({"ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "RequireDualStack"}), "[spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": this cluster is not configured for dual-stack services, spec.ipFamilies[1]: Invalid value: \"IPv6\": not configured on this cluster]")]
#[case(json!({"type": "ExternalName", "externalName": "a.b", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}), "[spec.ipFamilies: Forbidden: may not be set for ExternalName services, spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services]")]
#[case(json!({"clusterIP": "10.96.55.1", "clusterIPs": ["10.96.55.2"]}), "spec.clusterIPs: Invalid value: [\"10.96.55.2\"]: first value must match `clusterIP`")]
#[case(json!({"clusterIPs": ["10.96.55.3"]}), "spec.clusterIPs: Invalid value: [\"10.96.55.3\"]: must be empty when `clusterIP` is not specified")]
#[case(json!({"clusterIPs": ["None"]}), "spec.clusterIPs: Invalid value: [\"None\"]: must be empty when `clusterIP` is not specified")]
#[case(json!({"clusterIPs": ["None", "10.96.55.1"], "clusterIP": "None"}), "spec.clusterIPs: Invalid value: [\"None\",\"10.96.55.1\"]: 'None' must be the first and only value")]
#[case(json!({"clusterIPs": ["10.96.1.1", "10.96.1.2"], "clusterIP": "10.96.1.1"}), "spec.clusterIPs: Invalid value: [\"10.96.1.1\",\"10.96.1.2\"]: may specify no more than one IP for each IP family")]
#[case(json!({"clusterIP": "fd00::1"}), "spec.clusterIPs[0]: Invalid value: [\"fd00::1\"]: IPv6 is not configured on this cluster")]
#[case(json!({"clusterIP": "fd00::1", "ipFamilies": ["IPv4"]}), "spec.clusterIPs[0]: Invalid value: \"fd00::1\": expected an IPv4 value as indicated by `ipFamilies[0]`")]
#[case(json!({"type": "ExternalName", "externalName": "a", "clusterIP": "fd00::1", "ipFamilies": ["IPv4"]}), "[spec.clusterIPs: Forbidden: may not be set for ExternalName services, spec.ipFamilies: Forbidden: may not be set for ExternalName services]")]
#[case(json!({"clusterIP": "10.96.1.1", "ipFamilies": ["IPv6"]}), "spec.clusterIPs[0]: Invalid value: \"10.96.1.1\": expected an IPv6 value as indicated by `ipFamilies[0]`")]
#[case(json!({"clusterIP": "010.96.1.1"}), "spec.clusterIPs[0]: Invalid value: \"010.96.1.1\": must not have leading 0s")]
#[case(json!({"clusterIP": "::ffff:10.96.1.1"}), "spec.clusterIPs[0]: Invalid value: \"::ffff:10.96.1.1\": must not be an IPv4-mapped IPv6 address")]
#[case(json!({"clusterIP": "x"}), "spec.clusterIPs[0]: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")]
#[case(json!({"clusterIP": "10.96.0.0"}), "spec.clusterIPs: Invalid value: [\"10.96.0.0\"]: failed to allocate IP 10.96.0.0: the provided IP (10.96.0.0) is not in the valid range. The range of valid IPs is 10.96.0.0/16")]
#[case(json!({"clusterIP": "11.0.0.1"}), "spec.clusterIPs: Invalid value: [\"11.0.0.1\"]: failed to allocate IP 11.0.0.1: the provided IP (11.0.0.1) is not in the valid range. The range of valid IPs is 10.96.0.0/16")]
#[case(json!({"clusterIPs": ["10.96.1.1", "fd00::1", "fd00::2"], "clusterIP": "10.96.1.1"}), "spec.clusterIPs: Invalid value: [\"10.96.1.1\",\"fd00::1\",\"fd00::2\"]: may only hold up to 2 values")]
#[case(json!({"clusterIPs": ["10.96.1.1", "fd00::1"], "clusterIP": "10.96.1.1", "ipFamilyPolicy": "PreferDualStack"}), "spec.clusterIPs[1]: Invalid value: [\"10.96.1.1\",\"fd00::1\"]: IPv6 is not configured on this cluster")]
#[case(json!({"clusterIPs": ["", "10.96.1.1"]}), "[spec.clusterIPs: Invalid value: [\"\",\"10.96.1.1\"]: must be empty when `clusterIP` is not specified, spec.clusterIPs[0]: Invalid value: \"\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)]")]
#[case(json!({"type": "LoadBalancer", "healthCheckNodePort": 30011}), "spec.healthCheckNodePort: Invalid value: 30011: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'")]
#[case(json!({"type": "LoadBalancer", "loadBalancerSourceRanges": ["::ffff:1.2.3.0/120"]}), "spec.LoadBalancerSourceRanges[0]: Invalid value: \"::ffff:1.2.3.0/120\": must not have an IPv4-mapped IPv6 address")]
#[case(json!({"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86401}}}), "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater than 0 and less than 86400")]
#[case(json!({"ports": [{"name": "a", "port": 80, "nodePort": 30100}, {"name": "b", "port": 81, "nodePort": 30100}], "type": "NodePort"}), "spec.ports[1].nodePort: Invalid value: 30100: provided port is already allocated")]
#[case(json!({"ports": [{"port": 80}, {"port": 80}]}), "[spec.ports[0].name: Required value, spec.ports[1].name: Required value, spec.ports[1]: Duplicate value: {\"Name\":\"\",\"Protocol\":\"TCP\",\"AppProtocol\":null,\"Port\":80,\"TargetPort\":0,\"NodePort\":0}]")]
#[case(json!({"type": "ExternalName", "externalName": "a", "healthCheckNodePort": 3}), "spec.healthCheckNodePort: Invalid value: 3: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'")]
#[tokio::test]
async fn a_creation_is_refused(#[case] more: Value, #[case] wanted: &str) {
    let service = service("s", &more);
    let (code, answer) = client().send("POST", SERVICES, JSON, &service).await;
    assert_eq!(reason(&answer), wanted);
    assert_eq!(code, 422);
}

#[rstest]
#[case(json!({"allocateLoadBalancerNodePorts": false}))]
#[case(json!({"externalTrafficPolicy": "Local"}))]
#[tokio::test]
async fn a_port_on_the_nodes_is_kept(#[case] change: Value) {
    let mut server = client();
    let path = created(&mut server, &balanced()).await;
    let before = server.get(&path).await.1["spec"]["ports"][0]["nodePort"].clone();
    assert!(before.is_u64(), "{before}");
    let patch = json!({"spec": change});
    let (_, answer) = server.send("PATCH", &path, MERGE, &patch).await;
    assert_eq!(answer["spec"]["ports"][0]["nodePort"], before);
}

#[tokio::test]
async fn two_changed_ports_without_names_would_share_theirs_on_the_nodes() {
    let mut server = client();
    let path = created(&mut server, &on_nodes()).await;
    let two = json!({"spec": {"ports": [{"port": 80}, {"port": 81}]}});
    let (code, answer) = server.send("PATCH", &path, MERGE, &two).await;
    assert_eq!(code, 500);
    let message = answer["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("duplicate nodePort: {TCP 3"), "{message}");
}

#[rstest]
#[case(json!([{"ip": "x"}]), "status.loadBalancer.ingress[0].ip: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")]
#[case(json!([{"ip": "1.2.3.4", "ipMode": "X"}]), "status.loadBalancer.ingress[0].ipMode: Unsupported value: \"X\": supported values: \"Proxy\", \"VIP\"")]
#[case(json!([{"hostname": "a", "ipMode": "VIP"}]), "status.loadBalancer.ingress[0].ipMode: Forbidden: may not be specified when `ip` is not set")]
#[tokio::test]
async fn a_status_is_refused(#[case] ingress: Value, #[case] wanted: &str) {
    let mut server = client();
    let path = format!("{}/status", created(&mut server, &balanced()).await);
    let status = |ingress: &Value| json!({"status": {"loadBalancer": {"ingress": ingress}}});
    let (_, answer) = server.send("PATCH", &path, MERGE, &status(&ingress)).await;
    assert_eq!(reason(&answer), wanted);
    let plain = status(&json!([{"ip": "1.2.3.4"}]));
    let (_, answer) = server.send("PATCH", &path, MERGE, &plain).await;
    assert_eq!(answer["status"]["loadBalancer"]["ingress"][0]["ipMode"], "VIP");
}
