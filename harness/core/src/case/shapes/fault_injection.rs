//! Steps that inject faults into clusters and into the controller.

use super::{
    FEATURE_GATES, OPTIONS,
    conditions::STOP,
    subjects::{NAME, PLACE, PROVES, ROLE},
};
use crate::case::model::MoveFault;
use crate::yaml::shape::{Field, Holds, Shape};

const WHERE: Field = Field::needed("cluster", NAME, "Where: control, members, or a role.");

/// Possible statuses of a condition.
pub const STATUSES: [(&str, &str); 3] = [("True", "True"), ("False", "False"), ("Unknown", "Unknown")];

/// `condition`.
pub static CONDITION: Shape = Shape::closed(
    "condition",
    &[
        ROLE,
        Field::needed(
            "type",
            Holds::Text,
            "The condition's type; Ready is the implementation's to set.",
        ),
        Field::needed(
            "status",
            Holds::OneOf(|| STATUSES.iter().map(|(name, _)| *name).collect()),
            "Its status, quoted.",
        ),
    ],
);

/// `delay`.
pub static DELAY: Shape = Shape::closed(
    "delay",
    &[WHERE, Field::needed("by", Holds::Time, "How much longer; 0s ends it.")],
);

/// Verbs of requests, as the API names them.
pub const VERBS: [(&str, &str); 7] = [
    ("get", "get"),
    ("list", "list"),
    ("watch", "watch"),
    ("create", "create"),
    ("update", "update"),
    ("patch", "patch"),
    ("delete", "delete"),
];

/// `fail`.
pub static FAIL: Shape = Shape::closed(
    "fail",
    &[
        WHERE,
        Field::optional(
            "verb",
            Holds::OneOf(|| VERBS.iter().map(|(name, _)| *name).collect()),
            "Which requests; all, if left out.",
        ),
        Field::optional("kind", Holds::Text, "The kind that they are about; all, if left out."),
        Field::optional(
            "path",
            Holds::Like("^/"),
            "What they ask for, where that is no object: /readyz.",
        ),
        Field::needed("with", Holds::Count(400, 599), "The HTTP status of the answer."),
        Field::optional(
            "times",
            Holds::Count(0, u64::MAX),
            "How many fail; 1, if left out. 0 ends it.",
        ),
    ],
);

/// Verbs of writes, as the API names them.
pub const WRITES: [(&str, &str); 4] = [
    ("create", "create"),
    ("update", "update"),
    ("patch", "patch"),
    ("delete", "delete"),
];

/// `move`.
pub static MOVE: Shape = Shape::closed(
    "move",
    &[
        Field::needed("at", Holds::Map(&WRITE_POINT), "The write of the controller."),
        Field::needed(
            "do",
            Holds::OneOf(|| MoveFault::ALL.iter().map(|it| it.name()).collect()),
            "The fault.",
        ),
        Field::optional(
            "for",
            Holds::Time,
            "How long it lasts: crashBefore and crashAfter 0s, holdWatches, holdKind, cutOff and staleRestart 30s, \
             taintCluster 20s, refuseReads 5s, flapTaints 1s, if left out.",
        ),
    ],
);

/// `at` of a move.
pub static WRITE_POINT: Shape = Shape::closed(
    "at",
    &[
        PLACE,
        Field::needed("write", Holds::Text, "The kind of the object, such as ResourceBinding."),
        Field::needed(
            "does",
            Holds::OneOf(|| WRITES.iter().map(|(name, _)| *name).collect()),
            "What the controller does to it.",
        ),
        Field::optional("subresource", Holds::Text, "The subresource, such as status."),
        Field::optional(
            "nth",
            Holds::Count(1, u64::MAX),
            "Which of these writes since the step began; the first, if left out.",
        ),
    ],
);

/// `controller`, where it is a map.
pub static CONTROLLER_STEP: Shape = Shape::one_of(
    "controller",
    &[
        Field::optional(
            "stop",
            Holds::Tagged(&STOP),
            "Stops it as soon as something holds: it writes nothing more.",
        ),
        Field::optional(
            "add",
            NAME,
            "Starts another instance with the same set-up, under this name.",
        ),
        Field::optional(
            "crash",
            NAME,
            "Ends an instance without a chance to give anything back: `first`, or one that was added.",
        ),
        Field::optional(
            "refuses",
            Holds::Map(&REFUSES),
            "Starts it anew: it must refuse, and say why.",
        ),
        Field::optional(
            "warns",
            Holds::Map(&WARNS),
            "Starts it anew: it must warn, and goes on with this set-up.",
        ),
    ],
);

const START: &[Field] = &[
    FEATURE_GATES,
    OPTIONS,
    Field::needed(
        "mentions",
        Holds::OneOrMore(&Holds::Text),
        "What it mentions, all in one message.",
    ),
    PROVES,
];

/// `controller: {refuses: …}`.
pub static REFUSES: Shape = Shape::closed("refuses", START);

/// `controller: {warns: …}`.
pub static WARNS: Shape = Shape::closed("warns", START);
