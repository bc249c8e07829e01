//! Conflicts between managers, in the words of the API server.

use std::collections::BTreeMap;

/// A field that another manager owns with a different value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The other manager: `"m1"`, `"kubectl" using v1`.
    pub manager: String,
    /// The field: `.spec.replicas`.
    pub field: String,
}

/// The conflicts for which an apply was refused; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflicts(pub Vec<Conflict>);

impl Conflict {
    /// The message of the cause (reason `FieldManagerConflict`).
    pub fn message(&self) -> String {
        format!("conflict with {}", self.manager)
    }
}

impl std::fmt::Display for Conflicts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let [single] = self.0.as_slice() {
            return write!(
                f,
                "Apply failed with 1 conflict: conflict with {}: {}",
                single.manager, single.field
            );
        }
        let mut by_manager: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for conflict in &self.0 {
            by_manager.entry(&conflict.manager).or_default().push(&conflict.field);
        }
        let mut lines = Vec::new();
        for (manager, fields) in by_manager {
            lines.push(format!("conflicts with {manager}:"));
            lines.extend(fields.into_iter().map(|field| format!("- {field}")));
        }
        write!(f, "Apply failed with {} conflicts: {}", self.0.len(), lines.join("\n"))
    }
}

impl std::error::Error for Conflicts {}
