//! Format of rule files.

use baton_core::yaml::shape::{Choice, Field, Holds, Shape};

/// Version of the format.
pub const API_VERSION: &str = "baton.dev/v1alpha1";

/// A file of rules.
pub static RULES: Shape = Shape::closed(
    "a file of simulator rules",
    &[
        Field::needed("apiVersion", Holds::Constant(API_VERSION), "The version of the format."),
        Field::needed("kind", Holds::Constant("SimulatorRules"), "Kind of the file."),
        Field::needed("metadata", Holds::Map(&METADATA), "Name of the rules."),
        Field::needed("spec", Holds::Map(&SPEC), "The rules."),
    ],
);

/// `metadata`.
pub static METADATA: Shape = Shape::closed("metadata", &[Field::needed("name", Holds::Text, "Name of the rules.")]);

/// `spec`.
pub static SPEC: Shape = Shape::closed(
    "the spec of simulator rules",
    &[
        Field::needed(
            "resource",
            Holds::Map(&KIND),
            "The kind of the objects that the rules are for.",
        ),
        Field::optional(
            "children",
            Holds::Map(&KIND),
            "The kind of the objects that `ensure` makes for each of them.",
        ),
        Field::needed(
            "rules",
            Holds::List(&Holds::Map(&RULE)),
            "The rules, in the order in which they are carried out.",
        ),
    ],
);

/// A kind.
pub static KIND: Shape = Shape::closed(
    "a kind",
    &[
        Field::needed("apiVersion", Holds::Text, "Group and version, such as apps/v1."),
        Field::needed("kind", Holds::Text, "The kind, such as Deployment."),
    ],
);

/// Fields of a rule that define its action; a rule has exactly one of them.
pub const ACTIONS: &[&str] = &["status", "ensure", "provide", "finalizers", "delete"];

/// A rule.
pub static RULE: Shape = Shape {
    name: "a rule",
    fields: &[
        Field::needed("name", Holds::Text, "Name of the rule, unique in the file."),
        Field::optional(
            "deleting",
            Holds::Boolean,
            "Apply the rule only to objects that are being deleted, instead of only to others.",
        ),
        Field::optional(
            "when",
            Holds::Text,
            "An expression for the condition of the rule. Always true if left out.",
        ),
        Field::optional(
            "after",
            Holds::Text,
            "Time for which the condition must hold, such as 20ms, or an expression that returns it. Zero if left out.",
        ),
        Field::optional(
            "files",
            Holds::Text,
            "A template that returns contents of files in the folder that all members share, by path. Only with `status`.",
        ),
        Field::optional(
            "status",
            Holds::Text,
            "A template that returns YAML, merged into the status; null removes a field.",
        ),
        Field::optional("ensure", Holds::Map(&ENSURE), "The required children."),
        Field::optional(
            "provide",
            Holds::Text,
            "A template that returns a list of objects of any kind, which are created unless they exist, and stay.",
        ),
        Field::optional(
            "finalizers",
            Holds::Text,
            "A template that returns the list of finalizers.",
        ),
        Field::optional(
            "delete",
            Holds::Map(&DELETE),
            "Deletes the object without a grace period.",
        ),
    ],
    choice: Choice::OneOf(ACTIONS),
};

/// `delete`.
pub static DELETE: Shape = Shape::closed("delete", &[]);

/// `ensure`.
pub static ENSURE: Shape = Shape::closed(
    "ensure",
    &[
        Field::needed(
            "objects",
            Holds::Text,
            "A template that returns the list of children; kind, namespace and owner are added.",
        ),
        Field::optional(
            "ready",
            Holds::Text,
            "An expression on `child`: true if it counts as ready.",
        ),
        Field::optional(
            "atOnce",
            Holds::Text,
            "An expression for the largest number of unready children; further ones wait.",
        ),
        Field::optional(
            "changed",
            Holds::OneOf(|| vec!["ignore", "patch", "replace"]),
            "Handling of children that differ.",
        ),
        Field::optional(
            "surplus",
            Holds::OneOf(|| vec!["now", "whenReady"]),
            "Time at which surplus children are deleted.",
        ),
    ],
);
