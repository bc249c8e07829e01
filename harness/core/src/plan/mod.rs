//! The plan: a case as a list of steps that can be printed and carried out, with no choice left.
//!
//! It is made of a case once. A run carries it out, and the judge goes by the same one.

mod namespace;
pub mod time_factor;

use std::{borrow::Cow, collections::BTreeSet, fmt, time::Duration};

use crate::{
    case::model::{Action, Case, ControllerSetup, Invariant},
    catalogue::Asked,
    names::{CaseId, RequirementId},
    timeline::{Begin, DEFAULT_NAMESPACE},
};

/// The steps of a case, in order, and what else it is judged by.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The case.
    pub case: CaseId,
    /// Requirements that it shows.
    pub title: String,
    /// Number of members of the fleet.
    pub members: usize,
    /// Set-up with which the controller is started.
    pub controller: ControllerSetup,
    /// The namespace that it speaks of.
    pub namespace: String,
    /// Factor by which the periods of its case are multiplied.
    pub time_factor: f64,
    /// The steps.
    pub steps: Vec<PlannedStep>,
    /// The invariants that must have had something to judge.
    pub invariants: BTreeSet<Invariant>,
    /// The invariants that are not judged.
    pub exempt: BTreeSet<Invariant>,
    /// The requirements that the case is about.
    pub about: BTreeSet<RequirementId>,
    /// The consequence of each requirement for the target.
    pub asked: Asked,
}

/// One step of a plan. Its number is its place in [`Plan::steps`].
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedStep {
    /// The line in the case file that it comes from.
    pub line: usize,
    /// The action.
    pub action: Action,
}

/// A moment of a run from which on something counts: that of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// When this step began.
    Began(usize),
    /// When this step ended.
    Ended(usize),
}

impl Plan {
    /// Since when what can be seen at a step counts as a sign of what the case did: the last step before it that did
    /// something, or the end of what was waited for.
    pub fn since(&self, step: usize) -> Option<Since> {
        let before = self.steps.iter().enumerate().take(step).rev();
        before.into_iter().find_map(|(number, step)| match &step.action {
            Action::Wait { .. } | Action::BindRole { .. } => Some(Since::Ended(number)),
            action => action.facts().acts.then_some(Since::Began(number)),
        })
    }

    /// The last step before this one that did something.
    pub fn last_act(&self, step: usize) -> Option<usize> {
        self.steps[..step].iter().rposition(|step| step.action.facts().acts)
    }

    /// The plan as a run had it: in its namespace, with its periods.
    pub fn as_run(&self, begin: &Begin) -> Cow<'_, Self> {
        match self.in_namespace(&begin.namespace) {
            Cow::Borrowed(plan) => plan.faster(begin.time_factor),
            Cow::Owned(plan) => Cow::Owned(plan.faster(begin.time_factor).into_owned()),
        }
    }

    /// Returns the time that it lets pass without waiting for the target.
    pub fn waits(&self) -> Duration {
        self.steps.iter().filter_map(|step| step.action.facts().passes).sum()
    }

    /// A plan of these actions that belongs to no case file: for a controller without options, in the default namespace.
    pub fn of_actions(case: impl Into<CaseId>, members: usize, actions: impl IntoIterator<Item = Action>) -> Self {
        let steps = actions.into_iter().map(|action| PlannedStep { line: 1, action });
        Self {
            case: case.into(),
            title: String::new(),
            members,
            controller: ControllerSetup::default(),
            namespace: DEFAULT_NAMESPACE.to_owned(),
            time_factor: 1.0,
            steps: steps.collect(),
            invariants: BTreeSet::new(),
            exempt: BTreeSet::new(),
            about: BTreeSet::new(),
            asked: Asked::default(),
        }
    }

    /// The plan of a case. A step that applies something in several places becomes one step a place.
    pub fn of(case: &Case) -> Self {
        let steps = case.steps.iter().flat_map(|step| {
            let planned = |action| PlannedStep {
                line: step.line,
                action,
            };
            match &step.action {
                Action::Apply {
                    on,
                    objects,
                    file,
                    proves,
                } => on
                    .iter()
                    .map(|place| {
                        planned(Action::Apply {
                            on: vec![place.clone()],
                            objects: objects.clone(),
                            file: file.clone(),
                            proves: proves.clone(),
                        })
                    })
                    .collect(),
                other => vec![planned(other.clone())],
            }
        });
        Self {
            case: case.id.clone(),
            title: case.title.clone(),
            members: case.members,
            controller: case.controller.clone(),
            namespace: DEFAULT_NAMESPACE.to_owned(),
            time_factor: 1.0,
            steps: steps.collect(),
            invariants: case.invariants.clone(),
            exempt: case.exempt.keys().copied().collect(),
            about: case.requirements.iter().cloned().collect(),
            asked: Asked::default(),
        }
    }

    /// The plan for a target that breaks requirements with these consequences.
    #[must_use]
    pub fn asking(self, asked: Asked) -> Self {
        Self { asked, ..self }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.case, self.title)?;
        let s = if self.members == 1 { "" } else { "s" };
        writeln!(f, "on 1 control plane and {} member{s}", self.members)?;
        for (number, step) in (1..).zip(&self.steps) {
            writeln!(f, "{number:>3}  {}", step.action)?;
        }
        Ok(())
    }
}
