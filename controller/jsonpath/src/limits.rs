//! What keeps a hostile path from running away: every limit is far above what a real path needs.

/// The longest template, in bytes.
pub const MAX_TEMPLATE_BYTES: usize = 64 * 1024;

/// The longest text that a template may make, in bytes; an object in Kubernetes is smaller.
pub const MAX_OUTPUT_BYTES: usize = 4 * 1024 * 1024;

/// How many values all steps of one evaluation may touch together.
pub const MAX_WORK: u64 = 1_000_000;

/// How deep `range` may be nested, and how deep a value may be that is searched by `..` or printed.
pub const MAX_DEPTH: usize = 256;

/// How deep a bracket may hold a bracket that holds a path; the grammar allows no more than three.
pub const MAX_BRACKETS: usize = 16;
