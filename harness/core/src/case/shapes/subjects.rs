//! Fields that many steps have: the place, the subject (an object, or a part of one), the requirements.

use crate::yaml::shape::{Field, Holds, Shape};

/// A name that people make up, of a role or a capture.
pub const NAME: Holds = Holds::Like("^[A-Za-z0-9_-]{1,63}$");

pub(super) const PLACES: Field = Field::needed(
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
pub(super) const OF: Field = Field::needed("of", SUBJECT, "The object or part of an object.");
pub(super) const PROVES: Field = Field::optional(
    "proves",
    Holds::OneOrMore(&Holds::Requirement),
    "The requirements that it proves.",
);

pub(super) const OBJECT_REF: Holds = Holds::Map(&OBJECT);
pub(super) const SUBJECT: Holds = Holds::Either(subjects);

/// Possible subjects of a step. An event refers to one of them.
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
    &[Field::needed(
        "eventOf",
        Holds::OneOrMore(&SUBJECT),
        "Any Event about this, or about one of these.",
    )],
);
