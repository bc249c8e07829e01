//! What a file of rules may hold.

use baton_core::yaml::shape::{Choice, Field, Holds, Shape};

/// The version of the format.
pub const API_VERSION: &str = "baton.dev/v1alpha1";

/// A file.
pub static RULES: Shape = Shape::closed(
    "a file of simulator rules",
    &[
        Field::needed("apiVersion", Holds::Constant(API_VERSION), "The version of the format."),
        Field::needed("kind", Holds::Constant("SimulatorRules"), "What the file describes."),
        Field::needed("metadata", Holds::Map(&METADATA), "What the rules are called."),
        Field::needed("spec", Holds::Map(&SPEC), "The rules."),
    ],
);

/// `metadata`.
pub static METADATA: Shape = Shape::closed("metadata", &[Field::needed("name", Holds::Text, "Their name.")]);

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

/// What a rule does: one of these.
pub const ACTIONS: &[&str] = &["status", "ensure", "provide", "finalizers", "delete"];

/// A rule.
pub static RULE: Shape = Shape {
    name: "a rule",
    fields: &[
        Field::needed("name", Holds::Text, "Its name, unique in the file."),
        Field::optional(
            "deleting",
            Holds::Boolean,
            "Whether it is for objects that are being deleted; it is not for others then.",
        ),
        Field::optional(
            "when",
            Holds::Text,
            "An expression: when the rule holds. Always, if left out.",
        ),
        Field::optional(
            "after",
            Holds::Text,
            "How long it must hold: a time such as 20ms, or an expression that gives one. No time, if left out.",
        ),
        Field::optional(
            "files",
            Holds::Text,
            "A template: what files in the folder that all members share are to hold, by path. With `status` alone.",
        ),
        Field::optional(
            "status",
            Holds::Text,
            "A template that gives YAML, merged into the status; null removes.",
        ),
        Field::optional("ensure", Holds::Map(&ENSURE), "The children that must be there."),
        Field::optional(
            "provide",
            Holds::Text,
            "A template that gives a list of objects of any kind, which are created where they are not there and stay.",
        ),
        Field::optional(
            "finalizers",
            Holds::Text,
            "A template that gives the list of finalizers.",
        ),
        Field::optional("delete", Holds::Map(&DELETE), "The object is deleted without grace."),
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
            "A template that gives the list of children; kind, namespace and owner are added.",
        ),
        Field::optional(
            "ready",
            Holds::Text,
            "An expression on `child`: when one counts as ready.",
        ),
        Field::optional(
            "atOnce",
            Holds::Text,
            "An expression: how many may be unready at a time; others wait.",
        ),
        Field::optional(
            "changed",
            Holds::OneOf(|| vec!["ignore", "patch", "replace"]),
            "What becomes of children that differ.",
        ),
        Field::optional(
            "surplus",
            Holds::OneOf(|| vec!["now", "whenReady"]),
            "When others are deleted.",
        ),
    ],
);
