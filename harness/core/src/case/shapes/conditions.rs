//! Fields of conditions: of a wait, an assertion, a snapshot.

use std::time::Duration;

use super::subjects::{NAME, OBJECT_REF, OF, PLACE, SUBJECT};
use crate::{
    case::model::{Mode, Phase, SnapshotPart},
    yaml::shape::{Choice, Field, Holds, Shape, Tagged},
};

const PHASE: Holds = Holds::OneOf(|| Phase::ALL.iter().map(|it| it.name()).collect());
const WORKLOAD: Field = Field::needed("of", OBJECT_REF, "The workload.");
const FROM: Field = Field::needed("from", NAME, "The member, by its role.");
const TIME: Field = Field::optional("phase", PHASE, "The phase whose timeout counts.");
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

/// Conditions to wait for, by the field that names them.
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
            Field::optional(
                "within",
                Holds::Time,
                "How long to wait, in the place of a phase's timeout.",
            ),
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

/// The modes of an assertion; a separate field sets the time.
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
        Field::optional("of", SUBJECT, "The object or part of an object."),
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
