//! The steps of a case.

use super::subjects::{OBJECT_REF, SUBJECT};
pub use super::{
    conditions::{ASSERT, COUNT, METRIC, MODES, MOMENT, ORDER, SNAPSHOT, STOP, WAIT},
    fault_injection::{
        CONDITION, CONTROLLER_STEP, DELAY, FAIL, MOVE, REFUSES, STATUSES, VERBS, WARNS, WRITE_POINT, WRITES,
    },
    subjects::{BINDING_OF, BINDINGS_OF, CLUSTER, EVENT_OF, NEWS_OF, NOTICE_OF, OBJECT, WORK_OF, WORKLOADS_OF},
};
use crate::yaml::shape::{Choice, Field, Holds, Shape};

/// A name that people make up, of a role or a capture.
pub(super) const NAME: Holds = Holds::Like("^[A-Za-z0-9_-]{1,63}$");

const EFFECT: Holds = Holds::OneOf(|| EFFECTS.iter().map(|(name, _)| *name).collect());

/// Effects of a taint.
pub const EFFECTS: [(&str, &str); 4] = [
    ("NoExecute", "NoExecute"),
    ("NoSchedule", "NoSchedule"),
    ("PreferNoExecute", "PreferNoExecute"),
    ("PreferNoSchedule", "PreferNoSchedule"),
];

const PLACES: Field = Field::needed(
    "on",
    Holds::OneOrMore(&NAME),
    "Where: control, members, or a role; several as a list.",
);
pub(super) const PLACE: Field = Field::optional(
    "on",
    NAME,
    "Where: control, members, or a role. May be left out where only the control plane is possible.",
);
pub(super) const ROLE: Field = Field::needed("cluster", NAME, "The member, by its role.");
pub(super) const OF: Field = Field::needed("of", SUBJECT, "What it is about.");
pub(super) const PROVES: Field = Field::optional(
    "proves",
    Holds::OneOrMore(&Holds::Requirement),
    "The requirements that it proves.",
);
/// One step: a map with its name alone.
pub static STEP: Shape = Shape::one_of(
    "a step",
    &[
        Field::optional("apply", Holds::Map(&APPLY), "Applies objects."),
        Field::optional(
            "workloads",
            Holds::Map(&WORKLOADS),
            "Applies many objects of one template.",
        ),
        Field::optional("refused", Holds::Map(&REFUSED), "Makes a request that must be refused."),
        Field::optional("admission", Holds::Map(&ADMISSION), "Puts admission rules in force."),
        Field::optional("patch", Holds::Map(&PATCH), "Merges something into an object."),
        Field::optional(
            "setStatus",
            Holds::Map(&SET_STATUS),
            "Merges something into the status of an object.",
        ),
        Field::optional(
            "delete",
            Holds::Map(&DELETE),
            "Deletes an object, without waiting until it is gone.",
        ),
        Field::optional(
            "bindRole",
            Holds::Map(&BIND_ROLE),
            "Gives a role to the member that is chosen for a workload.",
        ),
        Field::optional(
            "capture",
            Holds::Map(&CAPTURE),
            "Keeps the value of a field; ${name} stands for it.",
        ),
        Field::optional("taint", Holds::Map(&TAINT), "Taints a member."),
        Field::optional("untaint", Holds::Map(&UNTAINT), "Removes a taint."),
        Field::optional(
            "hold",
            Holds::Map(&HOLD),
            "Puts a finalizer on an object, so that it stays when it is deleted.",
        ),
        Field::optional("release", Holds::Map(&RELEASE), "Takes that finalizer off."),
        Field::optional(
            "cutOff",
            NAME,
            "Nobody reaches the member with this role any more; it goes on running.",
        ),
        Field::optional("heal", NAME, "The member with this role is reachable again."),
        Field::optional(
            "unready",
            NAME,
            "The member with this role says that it is not ready; everything else goes on.",
        ),
        Field::optional("ready", NAME, "The member with this role says that it is ready again."),
        Field::optional(
            "unjoin",
            NAME,
            "The Cluster object of the member with this role is deleted; the member goes on running.",
        ),
        Field::optional("join", NAME, "The member with this role is registered again."),
        Field::optional("condition", Holds::Map(&CONDITION), "Sets a condition of a Cluster."),
        Field::optional(
            "delay",
            Holds::Map(&DELAY),
            "Every answer to the controller takes longer.",
        ),
        Field::optional(
            "fail",
            Holds::Map(&FAIL),
            "Requests of the controller are answered with an error.",
        ),
        Field::optional(
            "move",
            Holds::Map(&MOVE),
            "Injects a fault at a write of the controller, from this step on. Later steps do not wait for it.",
        ),
        Field::optional(
            "controller",
            Holds::Either(|| vec![Holds::OneOf(|| vec!["stop", "start"]), Holds::Map(&CONTROLLER_STEP)]),
            "Stops or starts the controller, or starts it with another set-up.",
        ),
        Field::optional(
            "run",
            Holds::Map(&RUN),
            "Runs a command of the implementation to its end.",
        ),
        Field::optional("elapse", Holds::Time, "Lets time pass."),
        Field::optional(
            "wait",
            Holds::Tagged(&WAIT),
            "Waits until something holds; the run ends if it does not.",
        ),
        Field::optional("assert", Holds::Map(&ASSERT), "Says what must hold, and when."),
        Field::optional(
            "snapshot",
            Holds::Map(&SNAPSHOT),
            "Compares what is there with a file below snapshots/.",
        ),
    ],
);

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
        Field::optional("of", SUBJECT, "What it is about."),
        Field::optional("field", Holds::Text, "The field, with dots: status.jobStatus.jobID."),
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
