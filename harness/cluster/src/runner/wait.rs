//! Steps that wait. They evaluate the growing timeline with the code of the judge.

use std::time::Duration;

use baton_core::{
    case::model::{Assertion, Condition, Expect, Mode, ObjectRef, Phase, Place, Subject},
    cause,
    judge::{
        failovers::result_of,
        settled::{REST, is_change, is_settled},
    },
    names::{ClusterName, RoleName},
    pattern::Pattern,
    select,
    timeline::{Entry, Mark, StepEnd, World},
    watch::{Known, Outcome, Watch},
};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::{
    Ended, LAST_LINES, Run, RunError, TargetError, act_error::ActError, deadline::Wait, first_to_end, moves::next_due,
    processors::Reading,
};
use crate::{actions, program::last_lines};

/// Watches lag by milliseconds; this is much more than a slow machine needs.
const LAG: Duration = Duration::from_secs(5);

/// Additional time for a cluster's garbage collector, which is not a part of the target. It discovers new kinds every
/// 30 seconds.
pub(super) const GARBAGE: Duration = Duration::from_secs(60);

/// Revision of an object. Revisions can be compared (Kubernetes, "API concepts", resource versions).
fn revision(object: &Value) -> Option<u64> {
    object.pointer("/metadata/resourceVersion")?.as_str()?.parse().ok()
}

impl Run<'_> {
    /// Waits until a condition holds, at most for the time of the case or of the phase.
    pub(super) async fn wait_for(&mut self, until: &Condition, phase: Phase, within: Option<Duration>) -> StepEnd {
        let wait = self.wait(phase, within);
        let time = wait.limit();
        match self.watch(Mode::Eventually, until, wait).await {
            Ok(Outcome::Held(_)) => StepEnd::Done,
            Ok(Outcome::Failed(_)) => StepEnd::timed_out(phase.name(), time),
            Err(waited) => StepEnd::timed_out(phase.name(), waited),
        }
    }

    /// Begins a wait with the time limit of the case, if it sets one, or else that of the phase.
    fn wait(&self, phase: Phase, within: Option<Duration>) -> Wait {
        match within {
            Some(time) => {
                let limit = time.mul_f64(self.timeouts.factor) + self.timeouts.slack;
                Wait::begin(limit, self.silence(limit))
            }
            None => self.patient_wait(self.timeouts.of(phase)),
        }
    }

    /// Begins a wait that takes longer on a busy machine. Virtual time goes on only when nothing is left to do.
    fn patient_wait(&self, limit: Duration) -> Wait {
        let wait = Wait::begin(limit, self.silence(limit));
        if self.fleet.has_virtual_time() {
            wait
        } else {
            wait.patient(Reading::now())
        }
    }

    /// Decides about a wait whose time is up, or in which nothing happened for some time; returns `true` if it goes on.
    fn goes_on(&mut self, wait: &mut Wait) -> bool {
        !self.ended && wait.extend_if_busy(&Reading::now()) || self.waits_in_full(wait)
    }

    /// Waits as long as an assertion may still come true. The judge decides whether it did.
    pub(super) async fn assert(&mut self, assertion: &Assertion) -> StepEnd {
        let wait = match assertion.mode {
            Mode::Now | Mode::Never => return StepEnd::Done,
            Mode::Consistently(time) => {
                // Wait even if it is violated at once: the next step must not begin earlier than the case says.
                self.let_pass(time).await;
                return StepEnd::Done;
            }
            Mode::Eventually | Mode::Observed | Mode::FirstSeen => self.wait(assertion.phase, assertion.within),
        };
        match self.watch(assertion.mode, &assertion.condition, wait).await {
            Ok(_) => StepEnd::Done,
            Err(waited) => StepEnd::timed_out(assertion.phase.name(), waited),
        }
    }

    /// Follows the timeline until a condition is decided; returns the elapsed time if the time is up first.
    async fn watch(&mut self, mode: Mode, condition: &Condition, mut wait: Wait) -> Result<Outcome, Duration> {
        self.read_on();
        let mut watch = Watch::begin(mode, condition, &self.seen, self.standpoint);
        loop {
            if let Some(outcome) = watch.outcome() {
                return Ok(outcome.clone());
            }
            let Some(news) = self.news(&mut wait).await else {
                if watch.waits_for_garbage_collector() && !self.ended && wait.grant(GARBAGE) {
                    continue;
                }
                if self.goes_on(&mut wait) {
                    continue;
                }
                return Err(wait.time());
            };
            for entry in &news {
                watch.feed(entry);
            }
            self.seen.extend(news);
        }
    }

    /// Follows the timeline until `look` returns a value; returns the elapsed time if the time is up first.
    pub(super) async fn until<T>(
        &mut self,
        time: Duration,
        mut look: impl FnMut(&World, &Known) -> Option<T>,
    ) -> Result<T, Duration> {
        let mut wait = self.patient_wait(time);
        self.read_on();
        let (mut world, mut known) = (World::default(), Known::default());
        let take = |entries: &[Entry], world: &mut World, known: &mut Known| {
            for entry in entries {
                world.step(entry);
                known.learn(entry);
            }
        };
        take(&self.seen, &mut world, &mut known);
        loop {
            if let Some(found) = look(&world, &known) {
                return Ok(found);
            }
            let Some(news) = self.news(&mut wait).await else {
                if self.goes_on(&mut wait) {
                    continue;
                }
                return Err(wait.time());
            };
            take(&news, &mut world, &mut known);
            self.seen.extend(news);
        }
    }

    /// Waits for entries of the timeline; `None` if the time is up, or if no more can follow because the target has
    /// exited.
    async fn news(&mut self, wait: &mut Wait) -> Option<Vec<Entry>> {
        if self.ended {
            return None;
        }
        loop {
            tokio::select! {
                biased;
                news = timeout_at(wait.deadline(), self.follower.next()) => {
                    let news = news.ok().flatten()?;
                    wait.take(&news);
                    return Some(news);
                }
                part = next_due(&mut self.director) => self.carry_out_part(part).await,
                ended = first_to_end(&mut self.running, &mut self.api) => self.note_end(ended),
            }
            if self.ended {
                return None;
            }
        }
    }

    /// Waits until the timeline shows a write of the harness, where it may arrive later than the answer: otherwise an
    /// assertion about the present would see the past. If it does not arrive, the step that needs it reports that.
    pub(super) async fn until_observed(&mut self, cluster: &ClusterName, of: &ObjectRef) -> Result<(), ActError> {
        if !self.recorder.may_lag(cluster, &of.kind) {
            return Ok(());
        }
        let stored = actions::get(&self.client(cluster)?, of).await?;
        let stored = stored.as_ref().and_then(revision);
        let subject = Subject::Object(of.clone());
        let shown = self.until(LAG, |world, known| {
            let mut found = select::find(&subject, cluster, world, &known.bindings);
            let shown = found.next().and_then(|(_, it)| revision(it));
            // An object without a revision does not exist. Another client may have changed it since.
            (shown >= stored && shown.is_some() == stored.is_some()).then_some(())
        });
        if shown.await.is_err() {
            tracing::debug!("{of} on {cluster} is not on the timeline as it was written");
        }
        Ok(())
    }

    /// Waits until the kind of a definition is observed: the case's objects of it must be on the timeline.
    pub(super) async fn until_heard_of(&mut self, cluster: &ClusterName, object: &Value) -> Result<(), ActError> {
        let kind = object.pointer("/spec/names/kind").and_then(Value::as_str);
        let (Some("CustomResourceDefinition"), Some(kind)) = (object["kind"].as_str(), kind) else {
            return Ok(());
        };
        let waited = self.timeouts.ready;
        let deadline = Instant::now() + waited;
        while !self.recorder.hears_of(cluster, kind) {
            match timeout_at(deadline, self.follower.next()).await {
                Ok(Some(news)) => self.seen.extend(news),
                Ok(None) | Err(_) => {
                    return Err(ActError::NotObserved {
                        kind: kind.to_owned(),
                        cluster: cluster.clone(),
                        waited,
                    });
                }
            }
        }
        Ok(())
    }

    /// Waits until the control plane reports that a member serves the kind of a definition, if it reports kinds
    /// (`status.apiEnablements` of a Cluster): a scheduler that checks it would not place such objects earlier.
    pub(super) async fn until_enabled(&mut self, member: &ClusterName, object: &Value) -> Result<(), ActError> {
        let is_definition = object["kind"] == "CustomResourceDefinition";
        if !is_definition || member.is_control() || self.running.is_none() {
            return Ok(());
        }
        let cluster = Subject::Object(actions::cluster(member.as_str()));
        let (control, waited) = (ClusterName::control(), self.timeouts.ready);
        let enabled = self.until(waited, |world, known| {
            let mut found = select::find(&cluster, &control, world, &known.bindings);
            let enablements = found.next().and_then(|(_, it)| it.pointer("/status/apiEnablements"));
            let keeps_account = enablements.and_then(Value::as_array).is_some_and(|it| !it.is_empty());
            (!keeps_account || enablements.is_some_and(|it| are_enabled(it, object))).then_some(())
        });
        enabled.await.map_err(|waited| ActError::NotEnabled {
            kind: object["spec"]["names"]["kind"].as_str().unwrap_or_default().to_owned(),
            member: member.clone(),
            waited,
        })
    }

    /// Handles available entries without waiting.
    pub(super) fn read_on(&mut self) {
        let more = self.follower.available();
        self.seen.extend(more);
    }

    /// Present roles, captures and members.
    pub(super) fn known(&mut self) -> Known {
        self.read_on();
        let mut known = Known::default();
        for entry in &self.seen {
            known.learn(entry);
        }
        known
    }

    pub(super) async fn bind_role(&mut self, role: &RoleName, from: &ObjectRef, not: &[RoleName]) -> StepEnd {
        let time = self.timeouts.schedule;
        let subject = Subject::BindingOf(from.clone());
        let control = ClusterName::control();
        let found = self.until(time, |world, known| {
            let (_, binding) = select::find(&subject, &control, world, &known.bindings).next()?;
            let taken: Vec<_> = not
                .iter()
                .filter_map(|role| known.bindings.get(role.as_str()))
                .collect();
            let mut left = result_of(binding)
                .into_iter()
                .filter(|name| !taken.iter().any(|it| *it == name.as_str()));
            let only = left.next()?;
            (left.next().is_none() && known.members.contains(&only)).then_some(only)
        });
        match found.await {
            Ok(cluster) => {
                self.recorder.mark(Mark::RoleBound {
                    role: role.clone(),
                    cluster,
                });
                StepEnd::Done
            }
            Err(waited) => StepEnd::timed_out(Phase::Schedule.name(), waited),
        }
    }

    pub(super) async fn capture(&mut self, name: &str, on: &Place, of: &Subject, field: &[String]) -> StepEnd {
        let time = self.timeouts.collect;
        let place = select::place_of(of, on).clone();
        let found = self.until(time, |world, known| {
            let clusters = select::clusters(&place, &known.bindings, &known.members);
            clusters.iter().find_map(|cluster| {
                let (_, object) = select::find(of, cluster, world, &known.bindings).next()?;
                let value = select::field_of(object, field)?;
                text(value)
            })
        });
        match found.await {
            Ok(value) => {
                self.recorder.mark(Mark::Captured {
                    name: name.to_owned(),
                    value,
                });
                StepEnd::Done
            }
            Err(waited) => StepEnd::timed_out(Phase::Collect.name(), waited),
        }
    }

    /// Lets time pass; events in that time are on the timeline.
    pub(super) async fn let_pass(&mut self, time: Duration) {
        let mut wait = Wait::begin(time, None);
        while let Some(more) = self.news(&mut wait).await {
            self.seen.extend(more);
        }
    }

    /// Waits until every failover is over and nothing has changed for a while, at most for this time.
    pub(super) async fn settle(&mut self, most: Duration) {
        let end = Instant::now() + most;
        self.read_on();
        let mut world = World::after(&self.seen);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let mut rest = Wait::begin(left.min(REST), None);
            let changed = loop {
                let Some(news) = self.news(&mut rest).await else {
                    break false;
                };
                for entry in &news {
                    world.step(entry);
                }
                let changes = news.iter().any(is_change);
                self.seen.extend(news);
                if changes {
                    break true;
                }
            };
            let is_over = !changed && (is_settled(&world) || left <= REST);
            if is_over || self.ended {
                return;
            }
        }
    }

    /// Waits until the target reports every member as Ready: a case begins on a healthy fleet.
    pub(super) async fn wait_until_ready(&mut self) -> Result<(), RunError> {
        let waited = self.timeouts.ready;
        let condition = [("type", "Ready"), ("status", "True")]
            .map(|(key, value)| (key.to_owned(), Pattern::Text(value.to_owned())));
        let conditions = Pattern::Contains(vec![Pattern::Map(condition.into())]);
        let status = Pattern::Map([("conditions".to_owned(), conditions)].into());
        let expect = Expect::Match(Pattern::Map([("status".to_owned(), status)].into()));
        for member in self.fleet.members() {
            let cluster = actions::cluster(member.name().as_str());
            let until = Condition {
                on: Place::Control,
                of: Subject::Object(cluster),
                expect: expect.clone(),
            };
            let wait = Wait::begin(waited, self.silence(waited));
            match self.watch(Mode::Eventually, &until, wait).await {
                Ok(Outcome::Held(_)) => {}
                Ok(Outcome::Failed(_)) => return Err(self.not_ready(waited)),
                Err(waited) => return Err(self.not_ready(waited)),
            }
        }
        Ok(())
    }

    fn not_ready(&self, waited: Duration) -> RunError {
        let ended = self.recorder.timeline().marks().find_map(|(_, mark)| match mark {
            Mark::TargetEnded { status, last_lines } => Some(Ended {
                status: status.clone(),
                last_lines: last_lines.clone(),
                environment: self.lost.is_some(),
            }),
            _ => None,
        });
        match ended {
            Some(ended) => RunError::Target(TargetError::Ended(ended)),
            None => RunError::NotReady {
                waited,
                seen: cause::unfit_members(&World::after(&self.seen)),
                last_lines: last_lines(self.log, LAST_LINES),
            },
        }
    }
}

/// Checks whether `status.apiEnablements` contains the kind of a definition, in one of its served versions.
fn are_enabled(enablements: &Value, definition: &Value) -> bool {
    let spec = &definition["spec"];
    let versions = spec["versions"].as_array().into_iter().flatten();
    let versions: Vec<String> = versions
        .filter_map(|version| Some(format!("{}/{}", spec["group"].as_str()?, version["name"].as_str()?)))
        .collect();
    let of_group = |it: &&Value| {
        it["groupVersion"]
            .as_str()
            .is_some_and(|it| versions.iter().any(|version| version == it))
    };
    let mut resources = enablements
        .as_array()
        .into_iter()
        .flatten()
        .filter(of_group)
        .filter_map(|it| it["resources"].as_array())
        .flatten();
    resources.any(|resource| resource["kind"] == spec["names"]["kind"])
}

/// A captured value as text; `None` for missing values, maps and lists.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::String(_) | Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_kind_is_enabled_in_its_group_and_a_version_that_is_served() {
        let definition = json!({"spec": {
            "group": "flink.apache.org",
            "names": {"kind": "FlinkDeployment"},
            "versions": [{"name": "v1beta1"}],
        }});
        let enablements = |group_version: &str, kind: &str| json!([{"groupVersion": "v1"}, {"groupVersion": group_version, "resources": [{"kind": kind}]}]);
        let enabled = |group_version, kind| are_enabled(&enablements(group_version, kind), &definition);
        assert!(enabled("flink.apache.org/v1beta1", "FlinkDeployment"));
        assert!(!enabled("flink.apache.org/v1", "FlinkDeployment"));
        assert!(!enabled("flink.apache.org/v1beta1", "FlinkSessionJob"));
        assert!(!enabled("example.org/v1beta1", "FlinkDeployment"));
    }
}
