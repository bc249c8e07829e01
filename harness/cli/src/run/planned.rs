//! Planning, the first stage of a run: what each case does, and why it may be unsupported.

use baton_cluster::fleet::TimeMode;
use baton_core::{
    case::model::{Case, ControllerSetup},
    plan::{Plan, time_factor::faster_setup},
};

use crate::options::RunOptions;

/// A case with its plan.
#[derive(Debug, Clone)]
pub struct PlannedCase<'c> {
    /// The case.
    pub case: &'c Case,
    /// Its plan for the target, with its periods shortened as far as the options ask for and the case allows.
    pub plan: Plan,
    /// Reasons why it cannot run against this target on these clusters; empty if it can.
    pub unsupported: Vec<String>,
}

impl<'c> PlannedCase<'c> {
    /// Plans a case.
    pub fn new(case: &'c Case, options: &RunOptions) -> Self {
        let plan = Plan::of(case).asking(options.asked.clone());
        let setup = options.target.setup_of(case);
        let factor = plan.bearable(&asked(case, &setup), options.time_factor);
        let plan = if options.target.takes(&faster_setup(&setup, factor)) {
            plan.faster(factor).into_owned()
        } else {
            plan
        };
        Self {
            unsupported: unsupported(case, &plan, options),
            case,
            plan,
        }
    }
}

/// Plans the cases of a run.
pub fn plan_cases<'c>(cases: &'c [Case], options: &RunOptions) -> Vec<PlannedCase<'c>> {
    cases.iter().map(|case| PlannedCase::new(case, options)).collect()
}

/// Returns the set-up without rates that the target has anyway, unless the case is about them.
fn asked(case: &Case, setup: &ControllerSetup) -> ControllerSetup {
    let about_rates = case.features.iter().any(|feature| feature.as_str() == "EvictionRate");
    let mut setup = setup.clone();
    setup
        .options
        .retain(|name, _| about_rates || !name.ends_with("-rate") || case.controller.options.contains_key(name));
    setup
}

/// Returns the reasons why a case cannot run against this target on these clusters; empty if it can.
pub fn unsupported(case: &Case, plan: &Plan, options: &RunOptions) -> Vec<String> {
    let declared = options.target.features();
    let features = case.lacking(&declared);
    let target = options.target.cannot_take(case);
    let backend = options.backend.cannot_carry(case, options.target.location());
    [features, target, backend, too_long(plan, options)]
        .into_iter()
        .flatten()
        .collect()
}

/// Returns a reason if a case takes too long to run; `None` if waiting takes no real time.
fn too_long(plan: &Plan, options: &RunOptions) -> Option<String> {
    let max = options.max_case_time?;
    if options.backend.time_mode() == TimeMode::Virtual {
        return None;
    }
    let waits = plan.waits();
    (waits > max).then(|| {
        let (waits, max) = (waits.as_secs(), max.as_secs());
        format!("lets {waits} s pass in real time; --max-case-time allows {max} s")
    })
}
