//! The fields of a case file. The reader uses these tables, and the schema for editors is generated from them.
//!
//! [`CASE`] is a file. Kinds of steps are declared in `steps`, their fields in [`shapes`](super::shapes).

use super::{model::Invariant, shapes::CONTROLLER, steps::STEP};
use crate::yaml::shape::{Field, Holds, Shape};

/// The `apiVersion` of cases.
pub const API_VERSION: &str = "baton.dev/v1alpha1";

/// Names that become parts of file names and of references.
const FILE_NAME: Holds = Holds::Like("^[a-z0-9-]+$");

/// A file.
pub static CASE: Shape = Shape::closed(
    "a case",
    &[
        Field::needed("apiVersion", Holds::Constant(API_VERSION), "The version of the format."),
        Field::needed("kind", Holds::Constant("Case"), "What the file describes."),
        Field::needed("metadata", Holds::Map(&METADATA), "What the case is called."),
        Field::needed("spec", Holds::Map(&SPEC), "The case."),
    ],
);

/// `metadata`.
pub static METADATA: Shape = Shape::closed(
    "metadata",
    &[
        Field::needed(
            "name",
            FILE_NAME,
            "The case's name, unique in the suite: small letters, digits and dashes.",
        ),
        Field::optional(
            "labels",
            Holds::Named(&Holds::Text),
            "What `baton run --label` chooses by.",
        ),
    ],
);

/// `spec`.
pub static SPEC: Shape = Shape::closed(
    "spec",
    &[
        Field::needed(
            "title",
            Holds::Text,
            "What is true if the case conforms, in one sentence.",
        ),
        Field::optional(
            "requirements",
            Holds::OneOrMore(&Holds::Requirement),
            "What it is about. Each must be proved by a step or an invariant; if left out, it is what they prove.",
        ),
        Field::optional(
            "features",
            Holds::OneOrMore(&Holds::Feature),
            "What a target must have for it; it is unsupported without. If left out, what the requirements belong to.",
        ),
        Field::optional(
            "members",
            Holds::Count(1, 50),
            "How many members it needs; 2, if left out.",
        ),
        Field::optional(
            "controller",
            Holds::Map(&CONTROLLER),
            "What the controller is started with.",
        ),
        Field::optional(
            "scenarios",
            Holds::Either(|| vec![SCENARIOS, Holds::Map(&SCENARIO_SET)]),
            "One case for each, with its values in the place of $(name) in the rest of the file: a list, or the name of one.",
        ),
        Field::needed("steps", Holds::List(&Holds::Map(&STEP)), "What happens, in order."),
        Field::optional(
            "invariants",
            Holds::List(&INVARIANT),
            "Invariants that must have had something to judge; all are judged in any case.",
        ),
        Field::optional(
            "exempt",
            Holds::List(&Holds::Map(&EXEMPTION)),
            "Invariants that are not judged in this case.",
        ),
    ],
);

const INVARIANT: Holds = Holds::OneOf(|| Invariant::ALL.iter().map(|it| it.name()).collect());

const SCENARIOS: Holds = Holds::List(&Holds::Map(&SCENARIO));

/// An entry of `scenarios`.
pub static SCENARIO: Shape = Shape::closed(
    "a scenario",
    &[
        Field::optional(
            "name",
            FILE_NAME,
            "What is put behind the case's name; the scenario without one keeps that name.",
        ),
        Field::optional(
            "with",
            Holds::Named(&Holds::Anything),
            "Values, by the names of parameters.",
        ),
    ],
);

/// `scenarios: {from: …}`: a list that several files have in common.
pub static SCENARIO_SET: Shape = Shape::closed(
    "scenarios",
    &[
        Field::needed(
            "from",
            FILE_NAME,
            "A list of scenarios: the file of this name, with .yaml, below fixtures/scenarios.",
        ),
        Field::optional(
            "without",
            Holds::OneOrMore(&FILE_NAME),
            "Those of them, by name, that this file is not made for.",
        ),
        Field::optional(
            "each",
            SCENARIOS,
            "Scenarios of this file: one case for each together with each of the list, with the values and names of both.",
        ),
    ],
);

/// An entry of `exempt`.
pub static EXEMPTION: Shape = Shape::closed(
    "an exemption",
    &[
        Field::needed("invariant", INVARIANT, "The invariant."),
        Field::needed("reason", Holds::Text, "Why it does not hold here."),
    ],
);
