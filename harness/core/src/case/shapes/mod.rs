//! The fields of steps. The reader uses these tables, and the schema for editors is generated from them.

mod conditions;
mod fault_injection;
pub mod steps;
mod subjects;

use crate::yaml::shape::{Field, Holds, Shape};

/// States of the feature gates.
const FEATURE_GATES: Field = Field::optional(
    "featureGates",
    Holds::Named(&Holds::Boolean),
    "Feature gates, each on or off.",
);

/// Options with which a controller is started.
const OPTIONS: Field = Field::optional(
    "options",
    Holds::Named(&Holds::Scalar),
    "Options by name, without dashes. In a case, the value `default` stands for a start without the option.",
);

/// How a controller is set up, in a case as in a target file.
pub static CONTROLLER: Shape = Shape::closed("controller", &[FEATURE_GATES, OPTIONS]);
