//! `ResourceInterpreterCustomization`: scripts that say what the objects of a kind mean.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Scripts for a kind. What this controller does not use is kept as it is.
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
    /// The kind.
    pub target: CustomizationTarget,
    /// What is said of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub customizations: Option<CustomizationRules>,
    /// The same for health, as the proposal writes it; `customizations` counts before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_interpretation: Option<Script>,
}

/// A kind.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomizationTarget {
    /// Its API version, such as `apps/v1`.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
}

/// What is said of a kind. Only health is used here.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct CustomizationRules {
    /// Whether an object is healthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_interpretation: Option<Script>,
}

/// A script in Lua.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Script {
    /// Its text. For health it defines `function InterpretHealth(observedObj)`, which returns true or false.
    pub lua_script: String,
}

impl ResourceInterpreterCustomizationSpec {
    /// The script for health, if there is one.
    pub fn health_script(&self) -> Option<&str> {
        let nested = self
            .customizations
            .as_ref()
            .and_then(|rules| rules.health_interpretation.as_ref());
        let script = nested.or(self.health_interpretation.as_ref())?;
        Some(&script.lua_script)
    }
}
