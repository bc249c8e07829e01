//! Names and values that more than one rule knows.

/// Which template of a daemon set it is, as an annotation.
pub const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";
