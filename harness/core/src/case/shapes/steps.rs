//! The steps of a case, and what they speak of.

use std::time::Duration;

pub use super::fault_injection::{CONDITION, CONTROLLER_STEP, DELAY, FAIL, REFUSES, STATUSES, VERBS, WARNS};
use crate::{
    case::model::{Mode, Phase, SnapshotPart},
    yaml::shape::{Choice, Field, Holds, Shape, Tagged},
};

/// A name that people make up, of a role or a capture.
pub(super) const NAME: Holds = Holds::Like("^[A-Za-z0-9_-]{1,63}$");

const PHASE: Holds = Holds::OneOf(|| Phase::ALL.iter().map(|it| it.name()).collect());
const EFFECT: Holds = Holds::OneOf(|| EFFECTS.iter().map(|(name, _)| *name).collect());

/// What a taint does.
pub const EFFECTS: [(&str, &str); 4] = [
    ("NoExecute", "NoExecute"),
    ("NoSchedule", "NoSchedule"),
    ("PreferNoExecute", "PreferNoExecute"),
    ("PreferNoSchedule", "PreferNoSchedule"),
];

const OBJECT_REF: Holds = Holds::Map(&OBJECT);
const SUBJECT: Holds = Holds::Either(subjects);

/// What a step can be about. An event is about one of them again.
fn subjects() -> Vec<Holds> {
    let shapes = [
        &OBJECT,
        &BINDING_OF,
        &BINDINGS_OF,
        &WORK_OF,
        &CLUSTER,
        &EVENT_OF,
        &NOTICE_OF,
        &NEWS_OF,
    ];
    shapes.map(Holds::Map).into()
}

const PLACES: Field = Field::needed(
    "on",
    Holds::OneOrMore(&NAME),
    "Where: control, members, or a role; several as a list.",
);
const PLACE: Field = Field::optional(
    "on",
    NAME,
    "Where: control, members, or a role. May be left out where only the control plane is possible.",
);
pub(super) const ROLE: Field = Field::needed("cluster", NAME, "The member, by its role.");
const OF: Field = Field::needed("of", SUBJECT, "What it is about.");
const WORKLOAD: Field = Field::needed("of", OBJECT_REF, "The workload.");
const FROM: Field = Field::needed("from", NAME, "The member, by its role.");
const TIME: Field = Field::optional("phase", PHASE, "The phase whose timeout counts.");
pub(super) const PROVES: Field = Field::optional(
    "proves",
    Holds::OneOrMore(&Holds::Requirement),
    "The requirements that it proves.",
);
const CLAIMS: Field = Field::optional(
    "proves",
    Holds::Either(|| {
        vec![
            Holds::OneOrMore(&Holds::Requirement),
            Holds::Named(&Holds::OneOrMore(&Holds::Text)),
        ]
    }),
    "The requirements that it proves: all of it as a list, or each by the fields that show it, named by the end of their \
     paths.",
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
pub const MOST_WORKLOADS: u64 = 500;

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

/// What is waited for, by the field that names it.
pub static WAIT: Tagged = Tagged {
    key: "for",
    about: "What is waited for.",
    what: "a wait",
    shapes: AWAITED,
};

/// The same, as the moment of a stop.
pub static STOP: Tagged = Tagged {
    key: "after",
    about: "The moment of the stop.",
    what: "a stop",
    shapes: AWAITED,
};

const AWAITED: &[(&str, &[Field])] = &[
    ("created", &[PLACE, OF, TIME]),
    ("gone", &[PLACE, OF, TIME]),
    (
        "match",
        &[
            PLACE,
            OF,
            Field::needed("match", Holds::Pattern, "What it must be like."),
            Field::optional(
                "orUnsupported",
                Holds::Text,
                "If it does not come in time, the case is unsupported for this reason, and not a deviation.",
            ),
            TIME,
        ],
    ),
    (
        "noMatch",
        &[
            PLACE,
            OF,
            Field::needed("noMatch", Holds::Pattern, "What it must not be like."),
            TIME,
        ],
    ),
    (
        "count",
        &[PLACE, OF, Field::needed("count", Holds::Map(&COUNT), "How many."), TIME],
    ),
    ("healthy", &[WORKLOAD, FROM, STATUS, TIME]),
    ("statusCollected", &[WORKLOAD, FROM, STATUS, TIME]),
    ("taskWritten", &[WORKLOAD, FROM, TIME]),
    ("taskCleared", &[WORKLOAD, FROM, TIME]),
];

const STATUS: Field = Field::optional("status", Holds::Pattern, "What the collected status must be like.");

/// When an assertion must hold; how long is said beside it.
pub const MODES: [(&str, Mode); 6] = [
    ("now", Mode::Now),
    ("eventually", Mode::Eventually),
    ("consistently", Mode::Consistently(Duration::ZERO)),
    ("observed", Mode::Observed),
    ("never", Mode::Never),
    ("firstSeen", Mode::FirstSeen),
];

/// `assert`.
pub static ASSERT: Shape = Shape {
    name: "assert",
    fields: &[
        Field::needed(
            "mode",
            Holds::OneOf(|| MODES.iter().map(|(name, _)| *name).chain([ORDER]).collect()),
            "When it must hold: now, at some moment from now on, for some time, of some revision, of none, of the first \
             revision; or in which order two things must have come.",
        ),
        Field::optional("for", Holds::Time, "How long, with the mode consistently."),
        PLACE,
        Field::optional("of", SUBJECT, "What it is about."),
        Field::optional("match", Holds::Pattern, "It is there and like this."),
        Field::optional("noMatch", Holds::Pattern, "It is not like this, or not there."),
        Field::optional("absent", Holds::Boolean, "It is not there."),
        Field::optional("present", Holds::Boolean, "It is there."),
        Field::optional("count", Holds::Map(&COUNT), "So many of them are like this."),
        Field::optional("first", Holds::Map(&MOMENT), "With the mode order: what came first."),
        Field::optional("then", Holds::Map(&MOMENT), "With the mode order: what came later."),
        Field::optional(
            "metric",
            Holds::Map(&METRIC),
            "What a metric of the implementation says.",
        ),
        TIME,
        Field::optional(
            "within",
            Holds::Time,
            "How long to wait, where the mode waits, in the place of a phase's timeout.",
        ),
        CLAIMS,
    ],
    choice: Choice::OneOf(&["match", "noMatch", "absent", "present", "count", "first", "metric"]),
};

/// The mode of an assertion about two things.
pub const ORDER: &str = "order";

/// `count`.
pub static COUNT: Shape = Shape::closed(
    "count",
    &[
        Field::optional("match", Holds::Pattern, "What counts; all that are there, if left out."),
        Field::needed("is", Holds::Pattern, "The number: 3, or a matcher such as {atMost: 3}."),
    ],
);

/// `first` and `then`.
pub static MOMENT: Shape = Shape {
    name: "moment",
    fields: &[
        PLACE,
        OF,
        Field::optional("match", Holds::Pattern, "When it was like this for the first time."),
        Field::optional("absent", Holds::Boolean, "When it was gone for the first time."),
        Field::optional("present", Holds::Boolean, "When it was there for the first time."),
    ],
    choice: Choice::OneOf(&["match", "absent", "present"]),
};

/// `metric`.
pub static METRIC: Shape = Shape::closed(
    "metric",
    &[
        Field::needed(
            "name",
            Holds::Like("^[a-zA-Z_:][a-zA-Z0-9_:]*$"),
            "Its name, without what an implementation may put before it.",
        ),
        Field::optional("labels", Holds::Named(&Holds::Pattern), "Labels that it has."),
        Field::needed(
            "is",
            Holds::Pattern,
            "Its value: 3, or a matcher such as {atLeast: 3}; null if there is no such metric.",
        ),
    ],
);

const PART: Holds = Holds::OneOf(|| SnapshotPart::ALL.iter().map(|part| part.name()).collect());

/// `snapshot`.
pub static SNAPSHOT: Shape = Shape::closed(
    "snapshot",
    &[
        Field::needed("name", NAME, "Its name, unique in the case."),
        Field::needed("workload", OBJECT_REF, "The workload that it is about."),
        Field::needed("of", Holds::OneOrMore(&PART), "What it shows."),
        Field::optional(
            "whenFirstSeenOn",
            NAME,
            "The moment when the workload was first seen on the member with this role; else now.",
        ),
    ],
);

/// An object.
pub static OBJECT: Shape = Shape::closed(
    "an object",
    &[
        Field::optional("apiVersion", Holds::Text, "Needed where the kind alone does not say."),
        Field::needed("kind", Holds::Text, "Its kind."),
        Field::optional("namespace", Holds::Text, "Its namespace; default, if left out."),
        Field::needed("name", Holds::Text, "Its name."),
    ],
);

/// `{bindingOf: …}`.
pub static BINDING_OF: Shape = Shape::closed(
    "a binding",
    &[Field::needed("bindingOf", OBJECT_REF, "The binding of this workload.")],
);

/// `{bindingsOf: …}`.
pub static BINDINGS_OF: Shape = Shape::closed(
    "bindings",
    &[Field::needed(
        "bindingsOf",
        Holds::Map(&WORKLOADS_OF),
        "The bindings of these workloads.",
    )],
);

/// All workloads of a kind with some labels.
pub static WORKLOADS_OF: Shape = Shape::closed(
    "workloads of",
    &[
        Field::optional("apiVersion", Holds::Text, "Needed where the kind alone does not say."),
        Field::needed("kind", Holds::Text, "Their kind."),
        Field::optional("namespace", Holds::Text, "Their namespace; default, if left out."),
        Field::optional(
            "labels",
            Holds::Named(&Holds::Text),
            "Labels that their templates have.",
        ),
    ],
);

/// `{workOf: …, for: …}`.
pub static WORK_OF: Shape = Shape::closed(
    "a work",
    &[
        Field::needed("workOf", OBJECT_REF, "The Work that carries this workload."),
        Field::needed("for", NAME, "The member that it is for, by its role."),
    ],
);

/// `{cluster: …}`.
pub static CLUSTER: Shape = Shape::closed(
    "a cluster",
    &[Field::needed(
        "cluster",
        NAME,
        "The Cluster object of the member with this role.",
    )],
);

/// `{noticeOf: …}`.
pub static NOTICE_OF: Shape = Shape::closed(
    "a notice",
    &[Field::needed(
        "noticeOf",
        OBJECT_REF,
        "What can be seen about this workload since the last step that did something or waited: a Warning about it or \
         its binding, or a condition of the binding, as a text.",
    )],
);

/// `{newsOf: …}`.
pub static NEWS_OF: Shape = Shape::closed(
    "news",
    &[Field::needed(
        "newsOf",
        OBJECT_REF,
        "What Events say about this workload or its binding since the last step that did something or waited, as a text.",
    )],
);

/// `{eventOf: …}`.
pub static EVENT_OF: Shape = Shape::closed(
    "an event",
    &[Field::needed("eventOf", SUBJECT, "Any Event about this.")],
);
