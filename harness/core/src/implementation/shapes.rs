//! Shapes of target files.

use crate::{
    case::{file::API_VERSION, shapes::CONTROLLER},
    implementation::programs::Part,
    judge::finding::DifferenceKind,
    yaml::shape::{Choice, Field, Holds, Shape},
};

const NAMES: Holds = Holds::OneOrMore(&Holds::Text);

/// A target file.
pub static TARGET: Shape = Shape::closed(
    "a target",
    &[
        Field::needed("apiVersion", Holds::Constant(API_VERSION), "The version of the format."),
        Field::needed("kind", Holds::Constant("Target"), "What the file describes."),
        Field::needed("metadata", Holds::Map(&METADATA), "Name of the target."),
        Field::needed("spec", Holds::Map(&SPEC), "The target."),
    ],
);

/// `metadata`.
pub static METADATA: Shape = Shape::closed(
    "metadata",
    &[Field::needed(
        "name",
        Holds::Like("^[a-z0-9-]+$"),
        "Name of the target: lower-case letters, digits and dashes.",
    )],
);

/// `spec`.
pub static SPEC: Shape = Shape::closed(
    "spec",
    &[
        Field::needed(
            "implementation",
            Holds::Map(&IMPLEMENTATION),
            "The implementation under test, as reports name it.",
        ),
        Field::needed(
            "features",
            Holds::OneOrMore(&Holds::Feature),
            "The features that the implementation declares. A case that needs another one is unsupported.",
        ),
        Field::optional(
            "documents",
            Holds::List(&Holds::Either(document_claims)),
            "The specification documents that it claims: SCF, or {OCF: [EvictionRate]} for some features. All, if left out. \
             What other documents demand is reported as proposed and makes no case deviate.",
        ),
        Field::optional(
            "versions",
            Holds::List(&Holds::Map(&VERSION)),
            "What differs from one version of the implementation to another. The entries whose range contains \
             `implementation.version` are laid over `spec`.",
        ),
        Field::optional(
            "controller",
            Holds::Map(&CONTROLLER),
            "The default feature gates and options, for cases that do not ask for others.",
        ),
        Field::optional(
            "settable",
            Holds::Map(&SETTABLE),
            "The feature gates and options that it can be started with anew for a case. Cases that need others are \
             unsupported.",
        ),
        Field::optional(
            "switches",
            Holds::List(&Holds::Map(&SWITCH)),
            "Gates and options that enable features: advice for users whose target lacks a feature.",
        ),
        Field::optional("timeouts", Holds::Map(&TIMEOUTS), "Timeouts of the target."),
        Field::optional(
            "controlPlane",
            Holds::Map(&CONTROL_PLANE),
            "Objects that the control plane needs before the programs of `run.exec` start.",
        ),
        Field::optional(
            "commands",
            Holds::Named(&Holds::Map(&COMMAND)),
            "Commands of the target, by the names that cases use: drain.",
        ),
        Field::optional(
            "metrics",
            Holds::Map(&METRICS),
            "Address and names of the metrics. Without it, cases about metrics are unsupported.",
        ),
        Field::needed(
            "run",
            Holds::Map(&RUN),
            "The way the target is started: one of the three.",
        ),
        Field::optional(
            "baseline",
            Holds::List(&Holds::Map(&KNOWN_DEFECT)),
            "Known deviations. An entry that no longer fails is an error.",
        ),
    ],
);

/// An entry of `spec.documents`.
fn document_claims() -> Vec<Holds> {
    vec![Holds::Text, Holds::Named(&Holds::OneOrMore(&Holds::Feature))]
}

/// An entry of `spec.versions`.
pub static VERSION: Shape = Shape::closed(
    "an entry of versions",
    &[
        FROM,
        BEFORE,
        Field::needed(
            "spec",
            Holds::Named(&Holds::Anything),
            "Differences to `spec`: maps are merged, lists are appended to, and their items with the same `name` are merged.",
        ),
    ],
);

/// The start of a range of versions.
const FROM: Field = Field::optional(
    "from",
    Holds::Text,
    "The first version, such as v1.16.0; a pre-release counts as its release.",
);

/// The end of a range of versions.
const BEFORE: Field = Field::optional("before", Holds::Text, "The first version after the range.");

/// `versions` of an entry of `spec.baseline`.
pub static VERSION_RANGE: Shape = Shape::closed("versions", &[FROM, BEFORE]);

/// `spec.metrics`.
pub static METRICS: Shape = Shape::closed(
    "metrics",
    &[
        Field::needed(
            "url",
            Holds::Text,
            "The URL that answers with them, in the text format of Prometheus, such as \
             http://127.0.0.1:{{port.metrics}}/metrics. A port stands in the arguments of the controller, too.",
        ),
        Field::optional("prefix", Holds::Text, "Prefix of all names, such as karmada_."),
        Field::optional(
            "names",
            Holds::Named(&Holds::Text),
            "Names that differ from those of the documents, by the names of the documents.",
        ),
    ],
);

/// `spec.implementation`.
pub static IMPLEMENTATION: Shape = Shape::closed(
    "implementation",
    &[
        Field::needed("name", Holds::Text, "Its name."),
        Field::needed(
            "version",
            Holds::Text,
            "Version of the implementation, as its authors write it.",
        ),
        Field::optional("url", Holds::Text, "Address of the web site or repository."),
        Field::optional("contact", NAMES, "Contacts for questions: addresses or handles."),
    ],
);

/// `spec.settable`.
pub static SETTABLE: Shape = Shape::closed(
    "settable",
    &[
        Field::optional("featureGates", NAMES, "Feature gates, by name."),
        Field::optional("options", NAMES, "Options, by name without dashes."),
    ],
);

/// An entry of `spec.switches`.
pub static SWITCH: Shape = Shape {
    name: "a switch",
    choice: Choice::OneOf(&["featureGate", "option"]),
    fields: &[
        Field::needed("feature", Holds::Feature, "The feature that needs the setting."),
        Field::optional("featureGate", Holds::Text, "The feature gate that must be on."),
        Field::optional(
            "option",
            Holds::Text,
            "Or the option that must have a certain value, by name without dashes.",
        ),
        Field::optional("value", Holds::Scalar, "That value; true, if left out."),
        Field::optional("of", Holds::Text, "The program that has the gate or option."),
    ],
};

/// `spec.timeouts`.
pub static TIMEOUTS: Shape = Shape::closed(
    "timeouts",
    &[
        Field::optional("factor", Holds::Positive, "Factor for all timeouts."),
        Field::optional(
            "slack",
            Holds::Time,
            "Extension of a case's bounds (`within`) on clusters with real time; 10s, if left out.",
        ),
        Field::optional(
            "ready",
            Holds::Time,
            "Time until the target reports that all members are ready, before the first step.",
        ),
        Field::optional(
            "schedule",
            Holds::Time,
            "Until a policy has led to a scheduling result.",
        ),
        Field::optional("collect", Holds::Time, "Until a member's status is in the binding."),
        Field::optional("evict", Holds::Time, "From a taint to the eviction task."),
        Field::optional("purge", Holds::Time, "Until the old copy is gone."),
        Field::optional("create", Holds::Time, "Until the new copy is there."),
        Field::optional("clear", Holds::Time, "Until something is removed or tidied up."),
    ],
);

/// `spec.run`.
pub static RUN: Shape = Shape::one_of(
    "run",
    &[
        Field::optional(
            "exec",
            Holds::OneOrMore(&Holds::Map(&EXEC)),
            "A command, started for every case; or several, each started when the one before is ready.",
        ),
        Field::optional(
            "installed",
            Holds::Map(&NOTHING),
            "A target that already runs against the control plane.",
        ),
        Field::optional("reference", Holds::Map(&NOTHING), "The reference controller, built in."),
    ],
);

/// A map without fields.
pub static NOTHING: Shape = Shape::closed("this", &[]);

/// `command` of a program in a target file.
const PROGRAM: Field = Field::needed(
    "command",
    Holds::Like(r"^\S+$"),
    "The program: a name, looked for beside baton and on PATH, or a path from the target file's folder. \
     {{env.NAME}} stands for a variable of the environment.",
);

/// `env` of such a program.
const ENVIRONMENT: Field = Field::optional(
    "env",
    Holds::Named(&Holds::Scalar),
    "Variables of the environment, with the same places as `args`.",
);

/// `install` of such a program.
const INSTALL: Field = Field::optional(
    "install",
    Holds::Text,
    "Instructions for getting the program, for users who do not have it.",
);

/// `spec.run.exec`.
pub static EXEC: Shape = Shape::closed(
    "exec",
    &[
        Field::optional(
            "name",
            Holds::Like("^[a-z0-9-]+$"),
            "Name in errors and logs; the file name of the command, if left out.",
        ),
        PROGRAM,
        Field::optional(
            "args",
            Holds::List(&Holds::Scalar),
            "Its arguments. {{control_kubeconfig}} and {{member_kubeconfigs}} stand for files, the latter with colons; \
             {{port.NAME}} for a free port on loopback, {{certificates}} for a folder with tls.crt and tls.key for it \
             and ca.crt, {{data}} for a folder of the program's own, {{env.NAME}} for a variable of the environment.",
        ),
        ENVIRONMENT,
        Field::optional(
            "featureGates",
            Holds::Text,
            "The argument that sets gates: --feature-gates={{gates}}.",
        ),
        Field::optional(
            "option",
            Holds::Text,
            "The argument that sets an option: --{{name}}={{value}}.",
        ),
        Field::optional(
            "ready",
            Holds::Text,
            "The URL that answers with 2xx once the program is ready: http://127.0.0.1:{{port.health}}/readyz.",
        ),
        Field::optional(
            "part",
            Holds::OneOf(part_names),
            "What it is a part of: the `controller`, which cases stop and start; the `api`, such as a webhook, which \
             goes on meanwhile; or the `environment`, such as etcd, which is not under test.",
        ),
        INSTALL,
    ],
);

fn part_names() -> Vec<&'static str> {
    Part::ALL.iter().map(|(name, _)| *name).collect()
}

/// An entry of `spec.commands`.
pub static COMMAND: Shape = Shape::closed(
    "a command",
    &[
        PROGRAM,
        Field::optional(
            "args",
            Holds::List(&Holds::Scalar),
            "Its arguments; those of the case follow them. {{control_kubeconfig}} and {{member_kubeconfigs}} stand for \
             files, the latter with colons; {{env.NAME}} for a variable of the environment.",
        ),
        ENVIRONMENT,
        INSTALL,
    ],
);

/// `spec.controlPlane`.
pub static CONTROL_PLANE: Shape = Shape::closed(
    "controlPlane",
    &[
        Field::optional(
            "definitions",
            Holds::Text,
            "The folder, or the file, with the CustomResourceDefinitions of the implementation, in place of Baton's own. \
             Where it has none for Cluster, Baton serves that kind.",
        ),
        Field::optional("namespaces", NAMES, "Namespaces that the programs need."),
        Field::optional(
            "webhooks",
            Holds::List(&Holds::Map(&WEBHOOKS)),
            "Webhook configurations as users of the implementation apply them.",
        ),
    ],
);

/// An entry of `spec.controlPlane.webhooks`.
pub static WEBHOOKS: Shape = Shape::closed(
    "an entry of webhooks",
    &[
        Field::needed("file", Holds::Text, "The file with the configurations."),
        Field::needed(
            "url",
            Holds::Text,
            "Address of the webhook, which replaces the one in the file; paths stay: https://127.0.0.1:{{port.webhook}}.",
        ),
    ],
);

/// An entry of `spec.baseline`.
pub static KNOWN_DEFECT: Shape = Shape {
    name: "an entry of the baseline",
    choice: Choice::OneOf(&["requirement", "step"]),
    fields: &[
        Field::optional(
            "requirement",
            Holds::Requirement,
            "The requirement that the defect breaks.",
        ),
        Field::optional(
            "step",
            Holds::Text,
            "Or the step that fails and proves no requirement, as findings name it. Needs `cases`.",
        ),
        Field::optional(
            "field",
            Holds::Text,
            "The field that differs, as findings name it: spec.gracefulEvictionTasks[].purgeMode. Left out if no field does.",
        ),
        Field::needed(
            "difference",
            Holds::OneOf(DifferenceKind::names),
            "Kind of difference, as findings name it.",
        ),
        Field::needed("reason", Holds::Text, "Reason, or the behavior seen instead."),
        Field::optional("link", Holds::Text, "Link to a discussion of the defect."),
        Field::optional(
            "versions",
            Holds::Map(&VERSION_RANGE),
            "The versions that have the defect; all, if left out.",
        ),
        Field::optional("cases", NAMES, "The cases that show the defect; all, if left out."),
        Field::optional(
            "sometimes",
            Holds::Boolean,
            "true, if it shows in some runs only, such as a race: then a run without it is not an error.",
        ),
    ],
};
