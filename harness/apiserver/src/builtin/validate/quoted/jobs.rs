//! What jobs say of their end.

use super::Member;
use super::Sort::{List, Object, OrNull, Text};

const POD_FAILURE_POLICY_ON_EXIT_CODES_REQUIREMENT: &[Member] = &[
    ("ContainerName", "containerName", OrNull),
    ("Operator", "operator", Text),
    ("Values", "values", OrNull),
];

const POD_FAILURE_POLICY_ON_POD_CONDITIONS_PATTERN: &[Member] = &[("Type", "type", Text), ("Status", "status", Text)];

const POD_FAILURE_POLICY_RULE: &[Member] = &[
    ("Action", "action", Text),
    (
        "OnExitCodes",
        "onExitCodes",
        Object(POD_FAILURE_POLICY_ON_EXIT_CODES_REQUIREMENT),
    ),
    (
        "OnPodConditions",
        "onPodConditions",
        List(POD_FAILURE_POLICY_ON_POD_CONDITIONS_PATTERN),
    ),
];

pub(in super::super) const POD_FAILURE_POLICY: &[Member] = &[("Rules", "rules", List(POD_FAILURE_POLICY_RULE))];

const SUCCESS_POLICY_RULE: &[Member] = &[
    ("SucceededIndexes", "succeededIndexes", OrNull),
    ("SucceededCount", "succeededCount", OrNull),
];

pub(in super::super) const SUCCESS_POLICY: &[Member] = &[("Rules", "rules", List(SUCCESS_POLICY_RULE))];
