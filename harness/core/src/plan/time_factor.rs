//! A plan whose periods are shorter than its case says, for runs in which time really passes.
//!
//! Everything of a case that is a period shrinks by one factor: what policies and options say (tolerations, grace
//! periods), how long the case lets time pass, and in which time something must happen. Both bounds of a toleration are
//! still judged. The pace of an implementation (polls, retries, defaults that are not written) cannot shrink,
//! so a plan keeps its times where it writes no period or leaves a window of a taint policy out, what is expected of
//! a period that the case does not write stays as it is, and no period becomes shorter than [`FLOOR`]. Nor does the time for
//! which a case keeps an object from going.

use std::{borrow::Cow, collections::BTreeSet, time::Duration};

use serde_json::Value;

use super::{Plan, PlannedStep};
use crate::{
    case::model::{Action, Assertion, ControllerSetup, Fault, Mode, Period, Rewrite},
    pattern::{After, Pattern},
    yaml::decode::parse_duration,
};

/// No period becomes shorter: implementations poll and try again every few seconds, and below that a bound says nothing.
pub const FLOOR: Duration = Duration::from_secs(10);

/// Shortest time for which a step watches that something does not happen, unless the case itself gives it less. In a shorter
/// time, an implementation may not have had its turn.
const WATCHED: Duration = Duration::from_secs(5);

/// Margin before the end of a period during which nothing may happen: times in taints have whole seconds.
const MARGIN: Duration = Duration::from_millis(1500);

/// Time before the end of a period at which cases stop checking that it is kept.
const BEFORE: Duration = Duration::from_secs(2);

/// The members of policies and tasks that are periods, in whole seconds.
const SECONDS: [&str; 6] = [
    "tolerationSeconds",
    "gracePeriodSeconds",
    "blockPredecessorSeconds",
    "addOnMatchSeconds",
    "removeOnMismatchSeconds",
    "delaySeconds",
];

/// The windows of a taint that a taint policy adds; each has a default.
const WINDOWS: [&str; 2] = ["addOnMatchSeconds", "removeOnMismatchSeconds"];

/// Prefix of the annotations that set durations of the workload simulator.
const SIMULATED: &str = "simulator.baton.dev/";

impl Plan {
    /// The factor that this plan can bear, which is at least `wanted`: its periods stay whole seconds and do not fall
    /// below [`FLOOR`]. It is 1 for a plan that names no period, starts the target again, or relies on the default of an
    /// option.
    pub fn bearable(&self, setup: &ControllerSetup, wanted: f64) -> f64 {
        let mut found = Periods::default();
        for step in &self.steps {
            found.of_action(&step.action);
        }
        let of_options = setup.options.values().filter_map(|value| parse_duration(value));
        let periods = found.seconds.iter().map(|seconds| Duration::from_secs(*seconds));
        let named = periods
            .chain(found.simulated.iter().copied())
            .chain(of_options.clone())
            .min();
        // Programs start again as slowly as ever, and a period continues in the meantime.
        let restarts =
            |step: &PlannedStep| matches!(step.action, Action::Inject(Fault::StartController) | Action::Start(_));
        // A rate is not a period: evictions at a rate take as long as ever.
        let has_rate = setup.options.keys().any(|name| name.ends_with("-rate"));
        let relies_on_others = (named.is_none() && !found.for_ever)
            || has_rate
            || found.by_default
            || self.controller.relies_on_defaults();
        if wanted >= 1.0 || relies_on_others || self.steps.iter().any(restarts) {
            return 1.0;
        }
        let least = named.into_iter().chain(self.held()).min();
        let floor = least.map_or(0.0, |least| FLOOR.as_secs_f64() / least.as_secs_f64());
        let factor = wanted.max(floor).max(self.least_to_watch()).min(1.0);
        let Some(common) = found.seconds.iter().copied().reduce(greatest_common_divisor) else {
            return factor;
        };
        // A period of 300 s and one of 60 s both stay whole in steps of a 60th.
        let parts = (factor * as_float(common)).ceil();
        parts / as_float(common)
    }

    /// Times for which the plan keeps an object from being deleted: an implementation must have had its turn in that time.
    fn held(&self) -> impl Iterator<Item = Duration> {
        let mut holds = 0_usize;
        self.steps.iter().filter_map(move |step| match step.action {
            Action::Hold { .. } => {
                holds += 1;
                None
            }
            Action::Release { .. } => {
                holds = holds.saturating_sub(1);
                None
            }
            Action::Elapse(time) if holds > 0 => Some(time),
            _ => None,
        })
    }

    /// The factor below which a step that shows that something does not happen would be watched for too short a time.
    fn least_to_watch(&self) -> f64 {
        let factors = self.steps.iter().filter_map(|step| match &step.action {
            Action::Assert(Assertion {
                mode: Mode::Consistently(time),
                proves,
                ..
            }) if !proves.is_empty() && *time >= WATCHED => {
                Some((WATCHED + MARGIN).as_secs_f64() / (*time + BEFORE).as_secs_f64())
            }
            _ => None,
        });
        factors.fold(0.0, f64::max)
    }

    /// The same plan with all its periods times a factor.
    pub fn faster(&self, factor: f64) -> Cow<'_, Self> {
        if (self.time_factor - factor).abs() < f64::EPSILON {
            return Cow::Borrowed(self);
        }
        let mut found = Periods::default();
        for step in &self.steps {
            found.of_action(&step.action);
        }
        let scale = Scale {
            factor: factor / self.time_factor,
            periods: found.seconds,
        };
        let steps = self.steps.iter().map(|step| PlannedStep {
            line: step.line,
            action: step.action.rewritten(&scale),
        });
        Cow::Owned(Self {
            steps: steps.collect(),
            time_factor: factor,
            ..self.clone()
        })
    }
}

/// A set-up whose options that are durations are multiplied by a factor.
pub fn faster_setup(setup: &ControllerSetup, factor: f64) -> ControllerSetup {
    let options = setup.options.iter().map(|(name, value)| {
        let scaled = parse_duration(value).map(|time| duration_text(time.mul_f64(factor)));
        (name.clone(), scaled.unwrap_or_else(|| value.clone()))
    });
    ControllerSetup {
        options: options.collect(),
        ..setup.clone()
    }
}

/// In milliseconds, which Go reads as well.
fn duration_text(time: Duration) -> String {
    format!("{}ms", time.as_millis())
}

#[expect(clippy::cast_precision_loss, reason = "periods are far below 2^52 seconds")]
fn as_float(seconds: u64) -> f64 {
    seconds as f64
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// The periods that a plan names.
#[derive(Default)]
struct Periods {
    /// In what the case writes; none is 0.
    seconds: BTreeSet<u64>,
    /// Told to the simulator.
    simulated: Vec<Duration>,
    /// Returns `true` if a toleration has no time limit.
    for_ever: bool,
    /// Returns `true` if a policy leaves out a window, so that its default holds.
    by_default: bool,
}

impl Periods {
    fn of_action(&mut self, action: &Action) {
        action.facts().writes.iter().for_each(|it| self.of_value(it.value));
    }

    fn of_value(&mut self, value: &Value) {
        match value {
            Value::Object(members) => {
                for (key, member) in members {
                    self.of_member(key, member);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.of_value(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn of_member(&mut self, key: &str, member: &Value) {
        if key == "clusterTolerations" {
            let tolerations = member.as_array().into_iter().flatten();
            self.for_ever |= tolerations.into_iter().any(|it| it["tolerationSeconds"].is_null());
        }
        if key == "taintsToAdd" {
            let taints = member.as_array().into_iter().flatten();
            self.by_default |= taints
                .into_iter()
                .any(|it| WINDOWS.iter().any(|window| it[window].is_null()));
        }
        match member {
            Value::Number(number) if SECONDS.contains(&key) => self.seconds.extend(positive(number)),
            Value::String(text) if key.starts_with(SIMULATED) => self.simulated.extend(parse_duration(text)),
            other => self.of_value(other),
        }
    }
}

fn positive(number: &serde_json::Number) -> Option<u64> {
    number.as_u64().filter(|seconds| *seconds > 0)
}

struct Scale {
    factor: f64,
    /// Periods that the plan writes, in seconds, before they are scaled.
    periods: BTreeSet<u64>,
}

impl Scale {
    fn factored(&self, time: Duration) -> Duration {
        time.mul_f64(self.factor)
    }

    /// Scales a time for which a condition must hold, or that passes: a time that ends before a period must still do so.
    fn held(&self, time: Duration) -> Duration {
        let periods = self.periods.iter().map(|seconds| Duration::from_secs(*seconds));
        let next = periods.filter(|period| *period > time).min();
        let scaled = self.factored(time);
        next.map_or(scaled, |next| scaled.min(self.factored(next).saturating_sub(MARGIN)))
    }

    /// Scales the time for which a condition must be seen to hold. The period that ends soon after may be that of an option,
    /// which a plan does not know.
    fn seen_to_hold(&self, time: Duration) -> Duration {
        let next = self.factored(time + BEFORE).saturating_sub(MARGIN);
        self.held(time).min(next)
    }

    /// In which time something must happen: what was held until before a period ends may have ended early by the margin.
    fn within(&self, time: Duration) -> Duration {
        self.factored(time) + MARGIN
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a period times a factor up to 1 is a period"
    )]
    fn seconds(&self, number: &serde_json::Number) -> Value {
        positive(number).map_or_else(
            || Value::Number(number.clone()),
            |seconds| Value::from((as_float(seconds) * self.factor).round() as u64),
        )
    }
}

impl Rewrite for Scale {
    fn leaf(&self, key: Option<&str>, leaf: &Value) -> Value {
        match (key, leaf) {
            (Some(key), Value::Number(number)) if SECONDS.contains(&key) => self.seconds(number),
            (Some(key), Value::String(text)) if key.starts_with(SIMULATED) => match parse_duration(text) {
                Some(time) => Value::String(duration_text(self.factored(time))),
                None => leaf.clone(),
            },
            _ => leaf.clone(),
        }
    }

    fn expected(&self, key: Option<&str>, leaf: Pattern) -> Pattern {
        let is_period = key.is_some_and(|key| SECONDS.contains(&key));
        let number = |value: Value| match &value {
            Value::Number(number) if positive(number).is_some_and(|it| self.periods.contains(&it)) => {
                self.seconds(number)
            }
            _ => value,
        };
        match leaf {
            Pattern::Exact(value) if is_period => Pattern::Exact(number(value)),
            Pattern::OneOf(values) if is_period => Pattern::OneOf(values.into_iter().map(number).collect()),
            // What is written on workloads for the simulator is read back.
            Pattern::Text(text) if key.is_some_and(|key| key.starts_with(SIMULATED)) => {
                let scaled = parse_duration(&text).map(|time| duration_text(self.factored(time)));
                Pattern::Text(scaled.unwrap_or(text))
            }
            Pattern::After(after) => Pattern::After(After {
                at_least: after.at_least.map(|time| self.held(time)),
                at_most: after.at_most.map(|time| self.within(time)),
                time: after.time,
            }),
            same => same,
        }
    }

    fn time(&self, period: Period, time: Duration) -> Duration {
        match period {
            Period::Passing => self.held(time),
            Period::Holding => self.seen_to_hold(time),
            Period::Limit => self.within(time),
        }
    }

    /// A workload reports its status at its own pace.
    fn status(&self, status: &Value) -> Value {
        status.clone()
    }

    /// No period of a refused object ever begins.
    fn includes_refused(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::case::model::{Assertion, Condition, Expect, Mode, Phase, Place};

    fn plan(steps: Vec<Action>) -> Plan {
        Plan::of_actions("c", 2, steps)
    }

    fn policy(tolerations: &Value) -> Action {
        Action::Apply {
            on: vec![Place::Control],
            objects: vec![json!({"spec": {"placement": {"clusterTolerations": tolerations}}})],
            file: None,
            proves: BTreeSet::new(),
        }
    }

    #[test]
    fn what_is_expected_of_a_default_stays() {
        let expects = |seconds: u64| {
            let Action::Assert(mut assertion) = consistently(60) else {
                panic!("an assertion")
            };
            let pattern = json!({"gracePeriodSeconds": {"any": [seconds, null]}});
            assertion.condition.expect = Expect::Match(Pattern::from_value(&pattern).unwrap());
            Action::Assert(assertion)
        };
        let faster = plan(vec![tolerating(&[300]), expects(600), expects(300)])
            .faster(0.05)
            .into_owned();
        let expected = |step: usize| match &faster.steps[step].action {
            Action::Assert(assertion) => assertion.condition.expect.clone(),
            _ => panic!("an assertion"),
        };
        let pattern = |seconds: u64| Pattern::from_value(&json!({"gracePeriodSeconds": {"any": [seconds, null]}}));
        assert_eq!(expected(1), Expect::Match(pattern(600).unwrap()), "nobody wrote 600 s");
        assert_eq!(expected(2), Expect::Match(pattern(15).unwrap()));
    }

    fn tolerating(seconds: &[u64]) -> Action {
        let tolerations: Vec<_> = seconds.iter().map(|it| json!({"tolerationSeconds": it})).collect();
        policy(&json!(tolerations))
    }

    fn consistently(secs: u64) -> Action {
        Action::Assert(Assertion {
            mode: Mode::Consistently(Duration::from_secs(secs)),
            condition: Condition {
                on: Place::Control,
                of: crate::case::model::Subject::Cluster("origin".into()),
                expect: Expect::Match(Pattern::from_value(&json!({"tolerationSeconds": 300, "other": 300})).unwrap()),
            },
            phase: Phase::Evict,
            within: Some(Duration::from_secs(300)),
            proves: crate::case::claims::Claims::default(),
        })
    }

    fn bearable(steps: Vec<Action>) -> f64 {
        plan(steps).bearable(&ControllerSetup::default(), 0.05)
    }

    #[test]
    fn periods_stay_whole_seconds_and_above_the_floor() {
        let near = |factor: f64, expected: f64| assert!((factor - expected).abs() < 1e-9, "{factor}");
        near(bearable(vec![tolerating(&[300])]), 0.05);
        near(bearable(vec![tolerating(&[30, 600])]), 1.0 / 3.0);
        near(bearable(vec![tolerating(&[300, 330])]), 2.0 / 30.0);
        near(bearable(vec![tolerating(&[5, 300])]), 1.0);
        near(bearable(vec![tolerating(&[0, 300])]), 0.05);
        near(bearable(vec![consistently(60)]), 1.0);
        near(
            bearable(vec![tolerating(&[300]), Action::Inject(Fault::StartController)]),
            1.0,
        );
    }

    /// A program's own default is as long as ever.
    #[test]
    fn a_plan_that_relies_on_a_default_is_not_faster() {
        let with_grace = |value: &str| {
            let mut plan = plan(vec![tolerating(&[300])]);
            plan.controller.options.insert("grace".to_owned(), value.to_owned());
            plan.bearable(&plan.controller.without_defaults(), 0.05)
        };
        assert!(with_grace("10m") < 1.0);
        assert!(with_grace(ControllerSetup::DEFAULT) >= 1.0);
    }

    #[test]
    fn the_time_limit_of_a_wait_shrinks() {
        let wait = |within: Option<u64>| Action::Wait {
            until: Condition {
                on: Place::Control,
                of: crate::case::model::Subject::Cluster("origin".into()),
                expect: Expect::Present,
            },
            phase: Phase::Schedule,
            within: within.map(Duration::from_secs),
            otherwise: None,
        };
        let plan = plan(vec![tolerating(&[300]), wait(Some(200)), wait(None)]);
        let limits = plan
            .faster(0.05)
            .steps
            .iter()
            .map(|step| match &step.action {
                Action::Wait { within, .. } => *within,
                _ => None,
            })
            .collect::<Vec<_>>();
        assert_eq!(limits, [None, Some(Duration::from_secs(10) + MARGIN), None]);
    }

    #[test]
    fn what_must_not_happen_is_watched_for_about_five_seconds() {
        let shows = |secs| {
            let Action::Assert(mut assertion) = consistently(secs) else {
                panic!("an assertion")
            };
            assertion.proves = crate::case::claims::Claims::of_whole(["TNT-01".into()]);
            Action::Assert(assertion)
        };
        let watched = |secs: u64| {
            let plan = plan(vec![tolerating(&[600]), shows(secs)]);
            let setup = ControllerSetup::default();
            let faster = plan.faster(plan.bearable(&setup, 0.05)).into_owned();
            faster.waits().as_secs_f64()
        };
        for secs in [5, 20, 60, 130] {
            assert!((4.5..5.5).contains(&watched(secs)), "{secs} s became {}", watched(secs));
        }
        assert!((watched(400) - 18.6).abs() < 0.1, "{}", watched(400));
        assert!(
            (bearable(vec![tolerating(&[600]), consistently(20)]) - 0.05).abs() < 1e-9,
            "it shows nothing"
        );
    }

    #[test]
    fn a_plan_that_names_no_period_keeps_its_times() {
        let waits = Action::Elapse(Duration::from_secs(300));
        assert!((bearable(vec![waits.clone()]) - 1.0).abs() < f64::EPSILON);
        let for_ever = policy(&json!([{"operator": "Exists"}]));
        assert!((bearable(vec![for_ever, waits]) - 0.05).abs() < f64::EPSILON);
    }

    #[test]
    fn what_is_held_is_held_for_as_long_as_the_floor() {
        let hold = || Action::Hold {
            on: Place::Control,
            of: crate::case::model::Subject::Cluster("origin".into()),
        };
        let release = || Action::Release {
            on: Place::Control,
            of: crate::case::model::Subject::Cluster("origin".into()),
        };
        let elapse = |secs| Action::Elapse(Duration::from_secs(secs));
        let for_ever = || policy(&json!([{"operator": "Exists"}]));
        let a_minute = vec![for_ever(), hold(), elapse(60), release(), elapse(20)];
        assert!((bearable(a_minute) - 1.0 / 6.0).abs() < 1e-9);
        let short = vec![for_ever(), hold(), elapse(5), release()];
        assert!((bearable(short) - 1.0).abs() < f64::EPSILON);
        assert!(
            (bearable(vec![hold(), elapse(60)]) - 1.0).abs() < f64::EPSILON,
            "it names no period"
        );
    }

    #[test]
    fn a_plan_that_leaves_a_window_out_keeps_its_times() {
        let tainting = |taint: Value| Action::Apply {
            on: vec![Place::Control],
            objects: vec![json!({"kind": "ClusterTaintPolicy", "spec": {"taintsToAdd": [taint]}})],
            file: None,
            proves: BTreeSet::new(),
        };
        let both = json!({"key": "a", "addOnMatchSeconds": 300, "removeOnMismatchSeconds": 180});
        assert!(bearable(vec![tolerating(&[300]), tainting(both)]) < 1.0);
        let one = json!({"key": "a", "addOnMatchSeconds": 300});
        assert!((bearable(vec![tolerating(&[300]), tainting(one)]) - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn what_must_hold_until_shortly_before_a_period_ends_well_before_it() {
        let plan = plan(vec![
            tolerating(&[300]),
            consistently(299),
            Action::Elapse(Duration::from_secs(60)),
            Action::Elapse(Duration::from_secs(299)),
            consistently(598),
        ]);
        let faster = plan.faster(0.05);
        assert_eq!(faster.steps[0].action, tolerating(&[15]));
        let Action::Assert(assertion) = &faster.steps[1].action else {
            panic!("the second step is an assertion")
        };
        assert_eq!(assertion.mode, Mode::Consistently(Duration::from_millis(13_500)));
        assert_eq!(
            assertion.within,
            Some(Duration::from_secs(15) + MARGIN),
            "until the period is over"
        );
        let expected = Pattern::from_value(&json!({"tolerationSeconds": 15, "other": 300})).unwrap();
        assert_eq!(assertion.condition.expect, Expect::Match(expected));
        assert_eq!(faster.steps[2].action, Action::Elapse(Duration::from_secs(3)));
        assert_eq!(faster.steps[3].action, Action::Elapse(Duration::from_millis(13_500)));
        let Action::Assert(assertion) = &faster.steps[4].action else {
            panic!("the last step is an assertion")
        };
        let before_that_of_an_option = Mode::Consistently(Duration::from_millis(28_500));
        assert_eq!(assertion.mode, before_that_of_an_option);
        assert_eq!(*faster.faster(0.05), *faster, "once is enough");
    }

    #[test]
    fn options_that_are_durations_shrink_and_others_stay() {
        let setup = ControllerSetup {
            options: [("grace", "10m"), ("rate", "0.5"), ("mode", "Gracefully")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            ..ControllerSetup::default()
        };
        let faster = faster_setup(&setup, 0.05);
        let options: Vec<_> = faster.options.values().map(String::as_str).collect();
        assert_eq!(options, ["30000ms", "Gracefully", "0.5"]);
    }
}
