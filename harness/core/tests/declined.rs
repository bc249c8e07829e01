//! A case that begins with an object that an implementation need not accept is not for one that refuses it; what was found
//! before still counts.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "what fails here fails a test"
)]

mod common;

use std::path::Path;

use baton_core::{
    case::model::{Action, Case},
    catalogue::Consequence,
    judge::{self, Verdict},
    names::RequirementId,
    plan::Plan,
    timeline::{Change, Mark, StepEnd},
};
use common::story::Story;
use rstest::rstest;

const REFUSED: &str = "applying PropagationPolicy policy was refused: purgeMode: Unsupported value";

/// The verdict on a run of a case whose policy is refused, if its requirement has a consequence.
fn refused(case: &Case, consequence: Consequence, earlier: Option<&StepEnd>) -> Verdict {
    let plan = Plan::of(case);
    let is_policy = |action: &Action| matches!(action, Action::Apply { proves, .. } if !proves.is_empty());
    let last = plan
        .steps
        .iter()
        .position(|step| is_policy(&step.action))
        .unwrap_or_default();
    let claimed = plan.steps[last].action.facts().claims;
    let asked = claimed.into_iter().map(|id| (id, consequence)).collect();
    let mut story = Story::in_order();
    for step in 0..last {
        let text = String::new();
        let end = earlier.cloned().unwrap_or(StepEnd::Done);
        story = story
            .mark(1.0, Mark::StepStarted { step, text })
            .mark(1.0, Mark::StepEnded { step, end });
    }
    let text = String::new();
    let message = REFUSED.to_owned();
    let story = story.mark(2.0, Mark::StepStarted { step: last, text }).mark(
        2.0,
        Mark::StepEnded {
            step: last,
            end: StepEnd::Refused { message },
        },
    );
    judge::judge(&plan.asking(asked), &story.timeline())
}

#[test]
fn a_policy_that_a_may_allows_can_be_refused() {
    let verdict = refused(&common::case_named("directly-older-spelling"), Consequence::None, None);
    assert_eq!(verdict.unsupported, Some(format!("refused: {REFUSED}")));
}

#[rstest]
#[case(Consequence::Remark)]
#[case(Consequence::Deviation)]
fn a_policy_that_a_document_asks_for_cannot(#[case] consequence: Consequence) {
    let verdict = refused(&common::case_named("directly-older-spelling"), consequence, None);
    assert_eq!(verdict.unsupported, None);
    assert_eq!(verdict.broken(), [RequirementId::new("POL-06")].into());
}

/// A finding of an earlier step still counts.
#[test]
fn an_earlier_finding_is_kept() {
    let message = "applying Deployment deploy was refused".to_owned();
    let earlier = StepEnd::Refused { message };
    let verdict = refused(
        &common::case_named("directly-older-spelling"),
        Consequence::None,
        Some(&earlier),
    );
    assert_eq!(verdict.unsupported, None);
    assert!(!verdict.findings.is_empty(), "{verdict:?}");
}

const LACKS: &str = "other rules for the health of a Deployment";

/// The verdict on a run in which a Deployment should be there, until a wait finds that the case is not for the
/// implementation.
fn ended_as_unsupported(is_there: bool, consequence: Consequence) -> Verdict {
    let text = format!(
        r"
apiVersion: baton.dev/v1alpha1
kind: Case
metadata: {{name: partly-supported}}
spec:
  title: A copy is there before the binding says that it is unhealthy
  requirements: [TNT-01, TNT-02]
  features: [NoExecuteEviction]
  members: 1
  steps:
    - assert: {{mode: now, on: member1, of: {{kind: Deployment, name: web}}, present: true, proves: [TNT-01]}}
    - wait: {{for: match, of: {{bindingOf: {{kind: Deployment, name: web}}}}, match: {{spec: {{clusters: {{exactly: []}}}}}}, orUnsupported: {LACKS}}}
    - assert: {{mode: now, on: member1, of: {{kind: Deployment, name: web}}, absent: true, proves: [TNT-02]}}
"
    );
    let cases = common::read_bytes(Path::new("partly-supported.yaml"), text.as_bytes()).unwrap();
    let ids = ["TNT-01", "TNT-02"].map(RequirementId::new);
    let plan = Plan::of(&cases[0]).asking(ids.map(|id| (id, consequence)).into_iter().collect());
    let mut story = Story::in_order();
    if is_there {
        story = story.copy(1.0, "member1", Change::Added);
    }
    let reason = LACKS.to_owned();
    for (step, end) in [StepEnd::Done, StepEnd::Unsupported { reason }].into_iter().enumerate() {
        let text = String::new();
        story = story
            .mark(2.0, Mark::StepStarted { step, text })
            .mark(2.0, Mark::StepEnded { step, end });
    }
    judge::judge(&plan, &story.timeline())
}

#[rstest]
#[case::nothing_is_found(true, Consequence::Deviation)]
#[case::only_a_remark_is_found(false, Consequence::Remark)]
fn a_case_that_an_implementation_does_not_support_has_no_result(
    #[case] is_there: bool,
    #[case] consequence: Consequence,
) {
    let verdict = ended_as_unsupported(is_there, consequence);
    assert_eq!(verdict.unsupported.as_deref(), Some(LACKS));
}

/// A feature that an implementation lacks later on excuses nothing that it did before.
#[test]
fn a_deviation_before_an_unsupported_step_counts() {
    let verdict = ended_as_unsupported(false, Consequence::Deviation);
    assert_eq!(verdict.unsupported, None);
    assert_eq!(verdict.broken(), [RequirementId::new("TNT-01")].into());
    let open = verdict.not_judged.get(&RequirementId::new("TNT-02"));
    assert_eq!(open.map(String::as_str), Some(LACKS));
}
