//! Invalid objects that the API accepts, and defaults that it does not fill in.

use serde_json::Value;

use crate::{
    fault::{Fault, Of},
    mutant::Mutant,
};

#[expect(clippy::too_many_lines, reason = "a table: an entry for each mutant")]
pub fn mutants() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "grace-period-of-nothing",
            breaks: "VAL-01",
            defect: "a grace period may be zero or negative",
            fault: |_| without("minimum", |kind| kind != "ClusterTaintPolicy"),
        },
        Mutant {
            name: "application-without-dependencies",
            breaks: "VAL-04",
            defect: "failover.application is accepted without propagateDeps",
            fault: |_| without("x-kubernetes-validations", |_| true),
        },
        Mutant {
            name: "any-text-is-a-path",
            breaks: "VAL-02",
            defect: "texts in state preservation rules are not checked",
            fault: |_| without("pattern", |kind| kind != "ClusterTaintPolicy"),
        },
        Mutant {
            name: "paths-not-parsed",
            breaks: "VAL-02",
            defect: "a path is accepted though it does not parse, as long as its braces are closed",
            fault: |_| Fault::none().skipped(Of::Webhooks, |_| true),
        },
        Mutant {
            name: "any-text-is-an-effect",
            breaks: "VAL-13",
            defect: "a ClusterTaintPolicy may add taints with any effect",
            fault: |_| without("enum", |kind| kind == "ClusterTaintPolicy"),
        },
        Mutant {
            name: "rules-with-one-label",
            breaks: "VAL-05",
            defect: "two rules may write the same label",
            fault: |_| without("x-kubernetes-list-type", |kind| kind != "ClusterTaintPolicy"),
        },
        Mutant {
            name: "nothing-is-required",
            breaks: "VAL-06",
            defect: "rules may lack what they need",
            fault: |_| without("required", |kind| kind != "ClusterTaintPolicy"),
        },
        Mutant {
            name: "any-text-is-a-purge-mode",
            breaks: "VAL-07",
            defect: "purge modes that do not exist are accepted",
            fault: |_| without("enum", |kind| kind != "ClusterTaintPolicy"),
        },
        Mutant {
            name: "negative-times-accepted",
            breaks: "VAL-08",
            defect: "negative times are accepted",
            fault: |_| without("minimum", |kind| kind != "ClusterTaintPolicy"),
        },
        Mutant {
            name: "defaults-missing",
            breaks: "VAL-09",
            defect: "what a policy does not say is not filled in when it is written",
            fault: |_| without("default", |_| true),
        },
        Mutant {
            name: "grace-period-under-any-mode",
            breaks: "VAL-11",
            defect: "a grace period is accepted where it has no effect",
            fault: |_| without("x-kubernetes-validations", |kind| kind != "ClusterTaintPolicy"),
        },
        Mutant {
            name: "decision-conditions-not-required",
            breaks: "VAL-12",
            defect: "failover.application is accepted without decisionConditions",
            fault: |_| without("required", |kind| kind != "ClusterTaintPolicy"),
        },
        Mutant {
            name: "windows-of-nothing",
            breaks: "VAL-03",
            defect: "a ClusterTaintPolicy may have windows of no seconds",
            fault: |_| without("minimum", |kind| kind == "ClusterTaintPolicy"),
        },
        Mutant {
            name: "application-defaults-missing",
            breaks: "VAL-14",
            defect: "what failover.application does not say is not filled in when it is written",
            fault: |_| without("default", |kind| kind != "ClusterTaintPolicy"),
        },
        Mutant {
            name: "block-default-missing",
            breaks: "VAL-15",
            defect: "for how long the cluster that was left is blocked is not filled in",
            fault: |_| without("default", |kind| kind != "ClusterTaintPolicy"),
        },
        Mutant {
            name: "toleration-default-missing",
            breaks: "VAL-16",
            defect: "for how long PreferNoExecute is tolerated is not filled in",
            fault: |_| without("default", |kind| kind != "ClusterTaintPolicy"),
        },
        Mutant {
            name: "window-defaults-missing",
            breaks: "VAL-17",
            defect: "the windows of a ClusterTaintPolicy are not filled in",
            fault: |_| without("default", |kind| kind == "ClusterTaintPolicy"),
        },
        Mutant {
            name: "any-text-is-a-state-of-health",
            breaks: "VAL-18",
            defect: "states of health and purge modes of application failover that do not exist are accepted",
            fault: |_| without("enum", |kind| kind != "ClusterTaintPolicy"),
        },
        Mutant {
            name: "cluster-policies-not-checked",
            breaks: "VAL-10",
            defect: "a ClusterPropagationPolicy may say what a PropagationPolicy may not",
            fault: |_| without("minimum", |kind| kind == "ClusterPropagationPolicy"),
        },
    ]
}

/// The definitions of some kinds of policies without a keyword, wherever a behaviour or a taint is described.
fn without(keyword: &'static str, of: fn(&str) -> bool) -> Fault {
    const POLICIES: [&str; 3] = ["PropagationPolicy", "ClusterPropagationPolicy", "ClusterTaintPolicy"];
    Fault::none().definitions(move |definition| {
        let kind = definition["spec"]["names"]["kind"].as_str().unwrap_or_default();
        if !POLICIES.contains(&kind) || !of(kind) {
            return;
        }
        let versions = definition["spec"]["versions"].as_array_mut().into_iter().flatten();
        for version in versions {
            let spec = version.pointer_mut("/schema/openAPIV3Schema/properties/spec");
            if let Some(spec) = spec {
                take_out(spec, keyword);
            }
        }
    })
}

fn take_out(schema: &mut Value, keyword: &str) {
    match schema {
        Value::Object(members) => {
            match members.get_mut(keyword).filter(|_| keyword == "required") {
                // A list whose entries have a key must have that key.
                Some(Value::Array(names)) => names.retain(|name| name == "aliasLabelName"),
                _ => drop(members.remove(keyword)),
            }
            if keyword == "x-kubernetes-list-type" {
                members.remove("x-kubernetes-list-map-keys");
            }
            members.values_mut().for_each(|member| take_out(member, keyword));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| take_out(item, keyword)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
