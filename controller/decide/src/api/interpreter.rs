//! `ResourceInterpreterCustomization`: scripts that interpret the objects of a kind.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Scripts for one kind. Scripts that this controller does not use are kept unchanged.
#[expect(clippy::duplicated_attributes, reason = "columns of the same type")]
#[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "config.karmada.io",
    version = "v1alpha1",
    kind = "ResourceInterpreterCustomization",
    plural = "resourceinterpretercustomizations",
    shortname = "ric",
    category = "karmada-io",
    doc = "Says by scripts what the objects of a kind mean.",
    crates(kube_core = "kube_core"),
    printcolumn(name = "Target-API-Version", type_ = "string", json_path = ".spec.target.apiVersion"),
    printcolumn(name = "Target-Kind", type_ = "string", json_path = ".spec.target.kind"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct ResourceInterpreterCustomizationSpec {
    /// Kind that the scripts apply to.
    pub target: CustomizationTarget,
    /// Scripts by operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub customizations: Option<CustomizationRules>,
    /// Health script in the spelling of the proposal; `customizations` takes precedence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_interpretation: Option<Script>,
}

/// Reference to a kind.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomizationTarget {
    /// API version of the kind, such as `apps/v1`.
    pub api_version: String,
    /// Name of the kind.
    pub kind: String,
}

/// Scripts of a kind. This controller uses only the one for health.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct CustomizationRules {
    /// Script that reports whether an object is healthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_interpretation: Option<Script>,
}

/// A Lua script.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Script {
    /// Source of the script. A health script defines `function InterpretHealth(observedObj)`, which returns true or
    /// false.
    pub lua_script: String,
}

impl ResourceInterpreterCustomizationSpec {
    /// Returns the health script, if there is one.
    pub fn health_script(&self) -> Option<&str> {
        let nested = self
            .customizations
            .as_ref()
            .and_then(|rules| rules.health_interpretation.as_ref());
        let script = nested.or(self.health_interpretation.as_ref())?;
        Some(&script.lua_script)
    }
}
