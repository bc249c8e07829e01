//! A case that begins with an object that an implementation need not accept is not for one that refuses it.

mod common;

use baton_core::{
    case::model::{Action, Case},
    catalogue::Consequence,
    judge::{self, Verdict},
    names::RequirementId,
    plan::Plan,
    timeline::{Mark, StepEnd},
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
