//! Names and values that more than one rule knows.

/// The classes that every cluster has, and their values.
pub const SYSTEM_CLASSES: [(&str, i64); 2] = [
    ("system-cluster-critical", 2_000_000_000),
    ("system-node-critical", 2_000_001_000),
];

/// Which template of a daemon set it is, as an annotation.
pub const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";
