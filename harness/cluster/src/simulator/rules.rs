//! Checked rules.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;

use super::template::{TemplateId, Templates};

/// Kind of objects, as named in rules.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct KindRef {
    /// Group and version, such as `apps/v1`.
    pub api_version: String,
    /// Name of the kind, such as `Deployment`.
    pub kind: String,
}

impl KindRef {
    /// Group; empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// Version without the group.
    pub fn version(&self) -> &str {
        self.api_version
            .split_once('/')
            .map_or(self.api_version.as_str(), |(_, version)| version)
    }

    /// Checks whether a cluster needs a `CustomResourceDefinition` for the kind. Groups without a dot and below
    /// `k8s.io` belong to Kubernetes.
    pub fn is_custom(&self) -> bool {
        self.group().contains('.') && !self.group().ends_with(".k8s.io")
    }
}

/// Delay before a rule that holds is carried out.
#[derive(Debug, Clone)]
pub enum After {
    /// A fixed delay.
    Fixed(Duration),
    /// A delay that an expression returns.
    Computed(TemplateId),
}

/// Handling of children that differ from those that a rule wants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Changed {
    /// Leave them unchanged.
    #[default]
    Ignore,
    /// Patch them.
    Patch,
    /// Delete them, and create new ones once they are gone.
    Replace,
}

/// Time at which surplus children are deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Surplus {
    /// Immediately.
    #[default]
    Now,
    /// Once all wanted children are ready.
    WhenReady,
}

/// The children that an object must have.
#[derive(Debug, Clone)]
pub struct Ensure {
    /// Template for the list of children, in order.
    pub objects: TemplateId,
    /// Expression for the readiness of `child`.
    pub ready: Option<TemplateId>,
    /// Expression for the largest number of unready children; further ones wait.
    pub at_once: Option<TemplateId>,
    /// Handling of children that differ.
    pub changed: Changed,
    /// Time at which surplus children are deleted.
    pub surplus: Surplus,
}

/// Action of a rule.
#[derive(Debug, Clone)]
pub enum Action {
    /// Merges the template's result into the status.
    Status(TemplateId),
    /// Creates, patches and deletes children to match the template's result.
    Ensure(Ensure),
    /// Creates the objects that the template lists, of any kind, unless they exist. They have no owner, and stay when
    /// the object is deleted.
    Provide(TemplateId),
    /// Sets the finalizers to the list that the template returns.
    Finalizers(TemplateId),
    /// Deletes the object without a grace period.
    Delete,
}

/// One rule.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Name, unique in the file.
    pub name: String,
    /// Position, as `FILE:LINE`.
    pub position: String,
    /// Apply the rule only to objects that are being deleted, instead of only to others.
    pub deleting: bool,
    /// Condition of the rule; always true if `None`.
    pub when: Option<TemplateId>,
    /// Time for which the condition must hold.
    pub after: After,
    /// Template for files to write before the action, by path; only with [`Action::Status`].
    pub files: Option<TemplateId>,
    /// Action once the condition has held.
    pub action: Action,
}

/// The rules for one kind.
#[derive(Debug, Clone)]
pub struct KindRules {
    /// Kind of the children, if its objects have any.
    pub children: Option<KindRef>,
    /// In the order of the file, in which they are carried out.
    pub rules: Vec<Rule>,
}

/// All rules of a simulator.
#[derive(Debug, Clone)]
pub struct Rules {
    pub(super) kinds: BTreeMap<KindRef, KindRules>,
    pub(super) templates: Templates,
}

impl Rules {
    /// Keeps only the rules for custom kinds, for clusters with controllers for the others.
    #[must_use]
    pub fn custom_only(mut self) -> Self {
        self.kinds.retain(|kind, _| kind.is_custom());
        self
    }

    /// Kinds to watch: those with rules, and their children.
    pub fn watched(&self) -> Vec<KindRef> {
        let children = self.kinds.values().filter_map(|rules| rules.children.as_ref());
        let mut kinds: Vec<KindRef> = self.kinds.keys().chain(children).cloned().collect();
        kinds.sort();
        kinds.dedup();
        kinds
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const HEAD: &str = "apiVersion: baton.dev/v1alpha1\nkind: SimulatorRules\nmetadata: {name: x}\nspec:\n  resource: \
                        {apiVersion: v1, kind: Pod}\n  rules:\n";

    fn problems(rules: &str) -> Vec<String> {
        let text = format!("{HEAD}{rules}");
        let errors = Rules::parse([(Path::new("x.yaml"), text.as_bytes())])
            .err()
            .unwrap_or_default();
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_bundled_rules_are_right() {
        let rules = Rules::bundled().unwrap_or_else(|errors| panic!("{errors:#?}"));
        let kinds: Vec<String> = rules.watched().into_iter().map(|kind| kind.kind).collect();
        assert_eq!(
            kinds,
            [
                "Deployment",
                "ReplicaSet",
                "StatefulSet",
                "Job",
                "Tenant",
                "FlinkDeployment",
                "Pod"
            ]
        );
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once_with_its_place() {
        let found = problems(concat!(
            "  - {name: a, status: '{{ objekt.metadata.name }}'}\n",
            "  - {name: b, status: '{% if %}'}\n",
            "  - {name: c, after: 5 parsecs, delete: {}}\n",
            "  - {name: d, when: 'object.spec ==', delete: {}}\n",
            "  - {name: e}\n",
            "  - {name: f, delete: {}, finalizers: '[]'}\n",
            "  - {name: g, ensure: {objects: '[]'}}\n",
            "  - {name: g, delete: {}}\n",
            "  - {name: h, delete: {}, files: '{}'}\n",
            "  - name: i\n",
            "    status: |\n",
            "      a: 1\n",
            "      b: {{ object. }}\n",
            "  - {name: j, stats: ''}\n",
            "  - {name: k, after: 500, delete: {}}\n",
        ));
        let expected = [
            "7:23: `status` has no variable or function `objekt`",
            "8:23: `status` cannot be understood: unexpected end of block",
            "9:22: after must be a time, not `5 parsecs` (write a number with its unit, such as 50ms or 1m30s)",
            "10:21: `when` cannot be understood: unexpected end of input, expected expression",
            "11:5: the rule `e` must do exactly one thing, and does 0 (write one of status, ensure, provide, finalizers, delete)",
            "12:5: the rule `f` must do exactly one thing, and does 2 (write one of status, ensure, provide, finalizers, delete)",
            "13:23: `ensure` needs `children` next to `resource` (`children` sets the kind of the children)",
            "14:12: there are two rules called `g`",
            "15:34: `files` goes with `status` alone",
            "19:7: `status` cannot be understood: unexpected end of variable block, expected identifier or integer",
            "20:5: the rule `j` must do exactly one thing, and does 0 (write one of status, ensure, provide, finalizers, delete)",
            "20:15: unknown field `stats` in a rule (did you mean `status`?)",
            "21:22: after must be a time, not `500` (write a number with its unit, such as 50ms or 1m30s)",
        ];
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (found, expected) in found.iter().zip(expected) {
            // The list of known names may grow.
            let found = found.strip_prefix("x.yaml:").unwrap_or_default();
            assert!(found.starts_with(expected), "{found}\n{expected}");
        }
    }

    #[test]
    fn a_kind_has_its_rules_in_one_file() {
        let text = format!("{HEAD}  - {{name: a, delete: {{}}}}\n");
        let files = ["a.yaml", "b.yaml"].map(|name| (Path::new(name), text.as_bytes()));
        let errors = Rules::parse(files).err().unwrap_or_default();
        let told: Vec<_> = errors.iter().map(ToString::to_string).collect();
        let expected = "b.yaml:5:13: there are rules for Pod of v1 in another file already (a kind has its rules in one \
                        file; one of the same name takes the place of a bundled one)";
        assert_eq!(told, [expected]);
    }
}
