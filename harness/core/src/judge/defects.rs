//! One defect is blamed once: findings that follow from another one are left out, and findings of one event are joined.

use std::collections::BTreeSet;

use super::{Finding, invariants, step_runs};
use crate::{
    names::RequirementId,
    select::BINDING_KINDS,
    timeline::{Event, ObjectId, Timeline},
    workload::Workload,
};

/// A finding of an invariant that follows from another finding about the same workload.
struct Follows {
    /// Requirements that the cause refutes, at least one of them.
    from: &'static [&'static str],
    /// Requirement that the consequence refutes.
    refuted: &'static str,
    reason: &'static str,
}

const FOLLOWING: [Follows; 2] = [
    Follows {
        from: &["STP-01", "STP-07"],
        refuted: "STP-12",
        reason: "the value in the task is not the one that was collected",
    },
    Follows {
        from: &["PRG-04"],
        refuted: "REC-01",
        reason: "the new copy was created while the failed cluster could not be reached",
    },
];

/// Requirements that the creation of a new copy breaks if the old copy has not been removed, or is only marked for deletion.
const OLD_COPY: [&str; 2] = ["PRG-01", "PRG-02"];
/// All requirements that forbid to create a new copy yet.
const CREATED_TOO_EARLY: [&str; 3] = ["PRG-01", "PRG-02", "PRG-04"];
/// Requirement that two copies break.
const TWO_COPIES: &str = "PRG-03";

/// Leaves out consequences, gives the same difference the same name in steps and invariants, and joins the findings of one
/// creation.
pub(super) fn each_once(steps: &mut step_runs::Judged, invariants: &mut invariants::Judged, timeline: &Timeline) {
    leave_out_consequences(steps, invariants, timeline);
    blame_like_invariants(steps, &invariants.findings);
    name_differences(&mut steps.findings, &invariants.findings);
    join_creations(&mut steps.findings, &mut invariants.findings);
}

fn refutes(finding: &Finding, id: &str) -> bool {
    finding.requirements.iter().any(|it| it.as_str() == id)
}

/// Leaves out findings of invariants that follow from another finding about the same workload.
fn leave_out_consequences(steps: &mut step_runs::Judged, invariants: &mut invariants::Judged, timeline: &Timeline) {
    for Follows { from, refuted, reason } in FOLLOWING {
        let is_cause = |finding: &&Finding| from.iter().any(|id| refutes(finding, id));
        let causes: Vec<Finding> = steps
            .findings
            .iter()
            .chain(&invariants.findings)
            .filter(is_cause)
            .cloned()
            .collect();
        if causes.is_empty() {
            continue;
        }
        let consequences = invariants.findings.extract_if(.., |finding| {
            let is_same = |cause: &Finding| is_about_one_workload(cause, finding, timeline);
            refutes(finding, refuted) && causes.iter().any(is_same)
        });
        for finding in consequences {
            steps.leave_open(finding.requirements, reason);
        }
    }
}

/// Returns `false` if two findings are about different workloads.
fn is_about_one_workload(one: &Finding, other: &Finding, timeline: &Timeline) -> bool {
    let workload = |finding: &Finding| workload_of(finding.object.as_ref()?, timeline);
    match (workload(one), workload(other)) {
        (Some(one), Some(other)) => one == other,
        // A step need not name an object.
        (None, _) | (_, None) => true,
    }
}

/// Returns the workload that a binding refers to. Another object is a copy of the workload with its name.
fn workload_of(id: &ObjectId, timeline: &Timeline) -> Option<Workload> {
    if !BINDING_KINDS.contains(&id.kind.as_str()) {
        return Some(id.into());
    }
    timeline.entries().iter().find_map(|entry| match &entry.event {
        Event::Revision(revision) if ObjectId::of(revision) == *id => Some(Workload::of_binding(&revision.object)),
        Event::Revision(_) | Event::Mark(_) => None,
    })
}

/// Gives the findings of steps the names that invariants have for the same difference. Steps of different cases see it in
/// different ways, such as a number that is too high or an object that must not exist; an invariant names it the same way
/// for every case. A difference in a field that the invariant does not judge keeps its own name.
fn name_differences(of_steps: &mut [Finding], of_invariants: &[Finding]) {
    for finding in of_steps.iter_mut().filter(|it| !it.requirements.is_empty()) {
        let is_same = |it: &&Finding| {
            let field = finding.field.is_none() || finding.field == it.field;
            field && it.requirements == finding.requirements
        };
        if let Some(same) = of_invariants.iter().find(is_same) {
            finding.field.clone_from(&same.field);
            finding.kind = same.kind;
        }
    }
}

/// Blames in steps what an invariant blames for the same creation: a step does not know whether the old copy was only
/// marked for deletion.
fn blame_like_invariants(steps: &mut step_runs::Judged, of_invariants: &[Finding]) {
    let of_old_copy = |finding: &Finding| {
        let mut ids = finding.requirements.iter();
        finding.field.is_none() && !finding.requirements.is_empty() && ids.all(|id| OLD_COPY.contains(&id.as_str()))
    };
    for finding in steps.findings.iter_mut().filter(|it| of_old_copy(it)) {
        let is_same = |it: &&Finding| of_old_copy(it) && it.seq == finding.seq && it.object == finding.object;
        let Some(same) = of_invariants.iter().find(is_same) else {
            continue;
        };
        let before = std::mem::replace(&mut finding.requirements, same.requirements.clone());
        for id in before.difference(&same.requirements) {
            let reason = format!("{} is broken by the same creation", texts(&same.requirements));
            steps.left_open.entry(id.clone()).or_insert(reason);
        }
    }
}

fn texts(ids: &BTreeSet<RequirementId>) -> String {
    ids.iter().map(RequirementId::as_str).collect::<Vec<_>>().join(", ")
}

/// Joins the finding that a copy is the second one with those that the same copy was created too early: one event breaks
/// several requirements.
fn join_creations(of_steps: &mut [Finding], of_invariants: &mut Vec<Finding>) {
    let second = of_invariants.extract_if(.., |finding| refutes(finding, TWO_COPIES));
    let second: Vec<Finding> = second.collect();
    for finding in second {
        let is_same = |it: &&mut Finding| {
            let too_early = CREATED_TOO_EARLY.iter().any(|id| refutes(it, id));
            too_early && it.field.is_none() && it.seq == finding.seq && it.object == finding.object
        };
        let mut is_joined = false;
        for other in of_steps.iter_mut().chain(&mut *of_invariants).filter(is_same) {
            other.requirements.insert(RequirementId::new(TWO_COPIES));
            is_joined = true;
        }
        if !is_joined {
            of_invariants.push(finding);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        judge::{DifferenceKind, requirements},
        names::ClusterName,
    };

    fn finding(requirement: &str, field: Option<&str>, kind: DifferenceKind) -> Finding {
        Finding {
            requirements: [requirement.into()].into(),
            field: field.map(str::to_owned),
            kind,
            title: String::new(),
            step: None,
            expected: String::new(),
            seen: String::new(),
            object: None,
            seq: 0,
            at: std::time::Duration::ZERO,
            mismatches: Vec::new(),
            follows: None,
        }
    }

    fn on(workload: &str, finding: Finding) -> Finding {
        let object = Some(ObjectId {
            cluster: ClusterName::new("member2"),
            kind: "Deployment".to_owned(),
            namespace: "default".to_owned(),
            name: workload.to_owned(),
        });
        Finding { object, ..finding }
    }

    /// Returns the requirements that invariants blame, and those left open, after a step found something.
    fn left(of_step: Finding, of_invariants: Vec<Finding>) -> (String, String) {
        let mut steps = step_runs::Judged::default();
        steps.findings.push(of_step);
        let mut invariants = invariants::Judged {
            findings: of_invariants,
            ..invariants::Judged::default()
        };
        leave_out_consequences(&mut steps, &mut invariants, &Timeline::new(Vec::new()).unwrap());
        (
            texts(&requirements(&invariants.findings)),
            texts(&steps.left_open.into_keys().collect()),
        )
    }

    fn told(broken: &[&str], open: &[&str]) -> (String, String) {
        (broken.join(", "), open.join(", "))
    }

    #[test]
    fn a_copy_that_must_not_exist_yet_is_not_blamed_for_its_labels() {
        let missing = |id: &str| finding(id, None, DifferenceKind::Missing);
        let left = |of_step: &str| left(missing(of_step), ["REC-01", "STP-12", "POL-01"].map(missing).to_vec());
        assert_eq!(left("PRG-04"), told(&["POL-01", "STP-12"], &["REC-01"]));
        assert_eq!(left("STP-07"), told(&["POL-01", "REC-01"], &["STP-12"]));
        assert_eq!(left("REC-04"), told(&["POL-01", "REC-01", "STP-12"], &[]));
    }

    #[test]
    fn nothing_follows_from_the_defect_of_another_workload() {
        let missing = |id: &str, workload: &str| on(workload, finding(id, None, DifferenceKind::Missing));
        let copies = || ["one", "other"].map(|workload| missing("REC-01", workload)).to_vec();
        assert_eq!(left(missing("PRG-04", "one"), copies()), told(&["REC-01"], &["REC-01"]));
        assert_eq!(left(missing("PRG-04", "none"), copies()), told(&["REC-01"], &[]));
    }

    /// A difference that the baseline knows must not hide another one of the same requirement.
    #[test]
    fn steps_name_a_difference_as_invariants_do_unless_it_is_in_another_field() {
        let rate = finding("RAT-01", Some("spec.gracefulEvictionTasks"), DifferenceKind::TooEarly);
        let mut of_steps = [
            finding("RAT-01", None, DifferenceKind::Different),
            finding("RAT-01", Some("spec.gracefulEvictionTasks"), DifferenceKind::Missing),
            finding("RAT-01", Some("spec.clusters"), DifferenceKind::Missing),
            finding("EVQ-01", None, DifferenceKind::Different),
        ];
        let others = of_steps[2..].to_vec();
        name_differences(&mut of_steps, std::slice::from_ref(&rate));
        assert_eq!(of_steps[..2], [rate.clone(), rate]);
        assert_eq!(of_steps[2..], others);
    }

    #[test]
    fn the_invariant_knows_whether_the_old_copy_was_marked() {
        let created = |id: &str| on("one", finding(id, None, DifferenceKind::Order));
        let blamed = |of_step: Finding, of_invariant: Finding| {
            let mut steps = step_runs::Judged::default();
            steps.findings.push(of_step);
            blame_like_invariants(&mut steps, &[of_invariant]);
            (
                texts(&requirements(&steps.findings)),
                texts(&steps.left_open.into_keys().collect()),
            )
        };
        assert_eq!(
            blamed(created("PRG-02"), created("PRG-01")),
            told(&["PRG-01"], &["PRG-02"])
        );
        assert_eq!(blamed(created("PRG-02"), created("PRG-02")), told(&["PRG-02"], &[]));
        assert_eq!(blamed(created("PRG-02"), created("PRG-03")), told(&["PRG-02"], &[]));
        let other = on("other", created("PRG-01"));
        assert_eq!(blamed(created("PRG-02"), other), told(&["PRG-02"], &[]));
    }

    #[test]
    fn one_creation_is_one_finding_however_many_requirements_it_breaks() {
        let created = |id: &str| on("one", finding(id, None, DifferenceKind::TooEarly));
        let second = || on("one", finding("PRG-03", None, DifferenceKind::Unexpected));
        let joined = |mut of_steps: Vec<Finding>, mut of_invariants: Vec<Finding>| {
            join_creations(&mut of_steps, &mut of_invariants);
            let all = of_steps.iter().chain(&of_invariants);
            all.map(|it| texts(&it.requirements)).collect::<Vec<_>>()
        };
        assert_eq!(joined(vec![], vec![created("PRG-02"), second()]), ["PRG-02, PRG-03"]);
        let both = joined(vec![created("PRG-04")], vec![created("PRG-01"), second()]);
        assert_eq!(both, ["PRG-03, PRG-04", "PRG-01, PRG-03"]);

        let later = Finding { seq: 1, ..second() };
        assert_eq!(joined(vec![], vec![created("PRG-02"), later]), ["PRG-02", "PRG-03"]);
        let other = on("other", second());
        assert_eq!(joined(vec![], vec![created("PRG-02"), other]), ["PRG-02", "PRG-03"]);
        assert_eq!(joined(vec![], vec![created("REC-01"), second()]), ["REC-01", "PRG-03"]);
    }
}
