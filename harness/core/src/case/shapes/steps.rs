//! The steps of a case.

use super::subjects::{OBJECT_REF, OF, PLACE, PLACES, PROVES, ROLE, SUBJECT};
pub use super::{
    conditions::{ASSERT, COUNT, METRIC, MODES, MOMENT, ORDER, SNAPSHOT, STOP, WAIT},
    fault_injection::{
        CONDITION, CONTROLLER_STEP, DELAY, FAIL, MOVE, REFUSES, STATUSES, VERBS, WARNS, WRITE_POINT, WRITES,
    },
    subjects::{BINDING_OF, BINDINGS_OF, CLUSTER, EVENT_OF, NAME, NEWS_OF, NOTICE_OF, OBJECT, WORK_OF, WORKLOADS_OF},
};
use crate::yaml::shape::{Choice, Field, Holds, Shape};

const EFFECT: Holds = Holds::OneOf(|| EFFECTS.iter().map(|(name, _)| *name).collect());

/// Effects of a taint.
pub const EFFECTS: [(&str, &str); 4] = [
    ("NoExecute", "NoExecute"),
    ("NoSchedule", "NoSchedule"),
    ("PreferNoExecute", "PreferNoExecute"),
    ("PreferNoSchedule", "PreferNoSchedule"),
];

/// `apply`.
pub static APPLY: Shape = Shape {
    name: "apply",
    fields: &[
        PLACES,
        Field::optional("file", Holds::Text, "A file below fixtures/."),
        Field::optional("resource", Holds::Object, "One object."),
        Field::optional(
            "proves",
            Holds::OneOrMore(&Holds::Requirement),
            "The requirements that it proves if the API accepts it.",
        ),
    ],
    choice: Choice::OneOf(&["file", "resource"]),
};

/// As many objects may be made of one template.
pub const MOST_WORKLOADS: u64 = 10_000;

/// `workloads`.
pub static WORKLOADS: Shape = Shape::closed(
    "workloads",
    &[
        PLACES,
        Field::needed("file", Holds::Text, "A file with one object, below fixtures/."),
        Field::needed("count", Holds::Count(1, MOST_WORKLOADS), "How many."),
        Field::needed("name", Holds::Text, "Their names, with {i} for the number."),
        Field::optional("labels", Holds::Named(&Holds::Text), "Labels that they have besides."),
    ],
);

/// `refused`.
pub static REFUSED: Shape = Shape {
    name: "refused",
    fields: &[
        Field::optional("apply", Holds::Map(&APPLY), "Applies one object in one place."),
        Field::optional(
            "create",
            Holds::Map(&APPLY),
            "Creates one object in one place, with a POST.",
        ),
        Field::optional("patch", Holds::Map(&PATCH), "Merges something into an object."),
        Field::optional("delete", Holds::Map(&DELETE), "Deletes an object."),
        Field::optional(
            "mentions",
            Holds::OneOrMore(&Holds::Text),
            "What the answer mentions, all of it.",
        ),
        PROVES,
    ],
    choice: Choice::OneOf(&["apply", "create", "patch", "delete"]),
};

/// `run`.
pub static RUN: Shape = Shape::closed(
    "run",
    &[
        Field::needed(
            "command",
            NAME,
            "The command, by its name in the target file: spec.commands.",
        ),
        Field::optional("args", Holds::OneOrMore(&Holds::Scalar), "Its arguments."),
        Field::optional(
            "within",
            Holds::Time,
            "How long it may take; 10m, if left out. One that takes longer breaks the run.",
        ),
        Field::optional("exits", Holds::Count(0, 255), "Its exit code; 0, if left out."),
        Field::optional(
            "says",
            Holds::OneOrMore(&Holds::Text),
            "What it says, each in some line.",
        ),
        PROVES,
    ],
);

/// `admission`.
pub static ADMISSION: Shape = Shape::closed(
    "admission",
    &[
        PLACES,
        Field::needed("file", Holds::Text, "A file with rules, below fixtures/."),
    ],
);

/// `patch`.
pub static PATCH: Shape = Shape::closed(
    "patch",
    &[
        PLACE,
        OF,
        Field::needed("merge", Holds::Anything, "What is merged into it."),
    ],
);

/// `setStatus`.
pub static SET_STATUS: Shape = Shape::closed(
    "setStatus",
    &[
        PLACE,
        OF,
        Field::needed("status", Holds::Anything, "What is merged into its status."),
    ],
);

/// `delete`.
pub static DELETE: Shape = Shape::closed("delete", &[PLACE, OF]);

/// `hold`.
pub static HOLD: Shape = Shape::closed("hold", &[PLACE, OF]);

/// `release`.
pub static RELEASE: Shape = Shape::closed("release", &[PLACE, OF]);

/// `bindRole`.
pub static BIND_ROLE: Shape = Shape::closed(
    "bindRole",
    &[
        Field::needed("role", NAME, "The role: origin, destination, …"),
        Field::needed("from", OBJECT_REF, "The workload that was scheduled."),
        Field::optional("not", Holds::OneOrMore(&NAME), "Roles of members that do not count."),
    ],
);

/// `capture`.
pub static CAPTURE: Shape = Shape {
    name: "capture",
    fields: &[
        Field::needed("name", NAME, "What ${name} stands for from now on."),
        PLACE,
        Field::optional("of", SUBJECT, "The object or part of an object."),
        Field::optional(
            "field",
            Holds::Text,
            "The field, with dots: status.jobStatus.jobID. A number is that of an item of a list, from 0.",
        ),
        Field::optional("now", Holds::Boolean, "Keeps the present time."),
    ],
    choice: Choice::OneOf(&["field", "now"]),
};

/// `taint`.
pub static TAINT: Shape = Shape::closed(
    "taint",
    &[
        ROLE,
        Field::needed("key", Holds::Text, "The taint's key."),
        Field::optional("value", Holds::Text, "The taint's value."),
        Field::needed("effect", EFFECT, "The taint's effect."),
        Field::optional(
            "for",
            Holds::Time,
            "After this time it is removed again; it stays, if left out.",
        ),
    ],
);

/// `untaint`.
pub static UNTAINT: Shape = Shape::closed(
    "untaint",
    &[
        ROLE,
        Field::needed("key", Holds::Text, "The taint's key."),
        Field::needed("effect", EFFECT, "The taint's effect."),
    ],
);
