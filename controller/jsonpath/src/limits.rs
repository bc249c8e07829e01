//! Limits against hostile paths. Every limit is far above the needs of a real path.

/// Maximum length of a template, in bytes.
pub const MAX_TEMPLATE_BYTES: usize = 64 * 1024;

/// Maximum length of the result, in bytes; an object in Kubernetes is smaller.
pub const MAX_OUTPUT_BYTES: usize = 4 * 1024 * 1024;

/// Maximum number of values that all steps of one evaluation may touch together.
pub const MAX_WORK: u64 = 1_000_000;

/// Maximum nesting of `range`, and maximum depth of a value that `..` searches or that is printed.
pub const MAX_DEPTH: usize = 256;

/// Maximum nesting of brackets with paths; the grammar allows three levels at most.
pub const MAX_BRACKETS: usize = 16;
