//! Cases that can run together on one control plane.

mod common;

use std::path::Path;

use baton_core::case::{model::Case, sharing};

const HEAD: &str = r"
apiVersion: baton.dev/v1alpha1
kind: Case
metadata: {name: NAME}
spec:
  title: It stays where it is
  requirements: [POL-01]
  members: 2
  steps:
    - apply: {on: control, resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {replicas: 2}}}
    - apply: {on: control, resource: {apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: p}, spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: x}], placement: PLACEMENT}}}
    - bindRole: {role: origin, from: {kind: Deployment, name: x}}
    - taint: {cluster: origin, key: baton.dev/failed, effect: NoExecute}
    - assert: {mode: now, of: {bindingOf: {kind: Deployment, name: x}}, match: {spec: {clusters: {present: true}}}, proves: [POL-01]}
";

const NAMED: &str = "{clusterAffinity: {clusterNames: [member1, member2]}}";

#[expect(clippy::panic, reason = "a test cannot go on without its case")]
fn case(name: &str, placement: &str, more: &str) -> Case {
    let head = HEAD.replace("NAME", name).replace("PLACEMENT", placement);
    let text = format!("{head}{more}\n");
    let read = common::read_bytes(Path::new("case.yaml"), text.as_bytes());
    read.unwrap_or_else(|found| panic!("{}", common::lines(&found)))
        .remove(0)
}

/// A step that applies a definition of a kind with this scope, and one that applies an object of it.
fn defined(scope: &str) -> String {
    format!(
        "    - apply: {{on: control, resource: {{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: things.example.com}}, spec: {{group: example.com, scope: {scope}, names: {{kind: Thing, plural: things}}}}}}}}\n    - apply: {{on: control, resource: {{apiVersion: example.com/v1, kind: Thing, metadata: {{name: t}}}}}}"
    )
}

#[test]
fn what_stays_in_a_namespace_and_on_named_members_can_be_beside_others() {
    for more in [
        "",
        "    - hold: {on: origin, of: {kind: Deployment, name: x}}",
        "    - patch: {on: control, of: {kind: PropagationPolicy, name: p}, merge: {spec: {placement: {clusterAffinity: {clusterNames: [member2]}}}}}",
        "    - refused: {patch: {on: control, of: {kind: PropagationPolicy, name: p}, merge: {spec: {failover: {cluster: {purgeMode: x}}}}}}",
        &defined("Namespaced"),
    ] {
        assert_eq!(case("it", NAMED, more).alone(), None, "{more}");
    }
    let several =
        "{clusterAffinities: [{affinityName: a, clusterNames: [member1]}, {affinityName: b, clusterNames: [member2]}]}";
    assert_eq!(case("it", several, "").alone(), None);
}

#[test]
fn what_may_reach_further_is_alone() {
    for (placement, more, why) in [
        ("{}", "", "a policy that does not name its clusters"),
        (
            "{clusterAffinity: {labelSelector: {}}}",
            "",
            "a policy that does not name its clusters",
        ),
        (
            "{clusterAffinities: [{affinityName: a, clusterNames: [member1]}, {affinityName: b}]}",
            "",
            "does not name its clusters",
        ),
        (
            "{clusterAffinity: {clusterNames: [member1, member3]}}",
            "",
            "speaks of member3",
        ),
        (NAMED, "    - elapse: 1s", "lets time pass"),
        (
            NAMED,
            "    - assert: {mode: consistently, for: 1s, of: {bindingOf: {kind: Deployment, name: x}}, match: {}}",
            "lets time pass",
        ),
        (NAMED, "    - cutOff: origin", "injects a fault: cut off origin"),
        (
            NAMED,
            "    - controller: stop\n    - controller: start",
            "injects a fault: stop",
        ),
        (
            NAMED,
            "    - patch: {on: control, of: {cluster: origin}, merge: {metadata: {labels: {a: b}}}}",
            "more of a Cluster than its taints",
        ),
        (
            NAMED,
            "    - patch: {on: control, of: {kind: PropagationPolicy, name: p}, merge: {spec: {placement: {clusterAffinity: null}}}}",
            "clusters that it does not name",
        ),
        (
            NAMED,
            "    - patch: {on: control, of: {kind: PropagationPolicy, name: p}, merge: {spec: {placement: null}}}",
            "clusters that it does not name",
        ),
        (
            NAMED,
            "    - apply: {on: control, resource: {apiVersion: policy.karmada.io/v1alpha1, kind: ClusterTaintPolicy, metadata: {name: c}, spec: {}}}",
            "applies a ClusterTaintPolicy",
        ),
        (
            NAMED,
            "    - apply: {on: control, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: kube-system}}}",
            "in the namespace kube-system",
        ),
        (NAMED, &defined("Cluster"), "applies a Thing"),
    ] {
        let reason = case("it", placement, more).alone();
        let reason = reason.unwrap_or_else(|| panic!("{placement} {more} is not alone"));
        assert!(reason.contains(why), "{reason}");
    }
    // The namespace of such a case would seem to be about a member.
    assert!(case("of-member1", NAMED, "").alone().is_some());
}

#[test]
fn cases_that_mean_different_things_by_one_kind_are_not_beside_each_other() {
    let one = case("one", NAMED, &defined("Namespaced"));
    let same = case("same", NAMED, &defined("Namespaced"));
    let other = case(
        "other",
        NAMED,
        &defined("Namespaced").replace("plural: things", "plural: things, singular: it"),
    );
    let alone = case("alone", "{}", "");
    let all = [&one, &other, &alone, &same];
    assert_eq!(sharing::together(&all), [0, 3].into());
}
