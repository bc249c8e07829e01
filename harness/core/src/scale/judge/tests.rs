//! Recorded moves of one workload, good ones and bad ones.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::{
    names::RequirementId,
    scale::{kinds::Shares, parameters::Spread},
};

/// Builds the revisions of a run with the members `a`, which fails, and `b`.
struct Story {
    judge: Judge,
    at: u64,
    seq: u64,
}

const DIRECTLY: Profile = Profile::Directly;

impl Story {
    fn new(profile: Profile, rate: Option<f64>, is_exact: bool) -> Self {
        let parameters = Parameters {
            members: 3,
            workloads: 3,
            failing: 1,
            profile,
            kinds: Shares::default(),
            spread: Spread::Failing,
            rate,
            seed: 0,
            limit_seconds: 60,
        };
        let members = ["a", "b", "c"].map(ClusterName::new);
        let layout = Layout::new(parameters, &members);
        Self {
            judge: Judge::new(&parameters, &layout, "default", is_exact),
            at: 0,
            seq: 0,
        }
    }

    /// With a healthy copy of the workload 0 on `a`, which has failed.
    fn failed(profile: Profile, is_exact: bool) -> Self {
        let mut story = Self::new(profile, None, is_exact);
        story.placed(0);
        story.fail();
        story
    }

    fn placed(&mut self, number: usize) -> &mut Self {
        let replicas = workloads::replicas(number, DIRECTLY, Kind::Deployment);
        self.copy(Change::Added, number, "control", &json!({}), None);
        self.copy(Change::Added, number, "a", &json!({}), None);
        self.copy(Change::Modified, number, "a", &json!({}), Some(replicas));
        self.binding(number, &["a"], &[], &["a"])
    }

    fn fail(&mut self) -> &mut Self {
        self.judge.fail(Duration::from_secs(self.at));
        self
    }

    fn later(&mut self, secs: u64) -> &mut Self {
        self.at += secs;
        self
    }

    fn revision(&mut self, kind: &str, change: Change, cluster: &str, object: Value) -> &mut Self {
        self.seq += 1;
        self.judge.take(&Entry {
            at: Duration::from_secs(self.at),
            seq: self.seq,
            event: Event::Revision(Revision {
                cluster: ClusterName::new(cluster),
                kind: kind.to_owned(),
                change,
                object: Arc::new(object),
                by: None,
            }),
        });
        self
    }

    fn copy(&mut self, change: Change, number: usize, cluster: &str, labels: &Value, ready: Option<u64>) -> &mut Self {
        let replicas = workloads::replicas(number, DIRECTLY, Kind::Deployment);
        let name = workloads::name(number);
        let object = json!({
            "metadata": {"namespace": "default", "name": name, "labels": labels},
            "spec": {"replicas": replicas}, "status": {"readyReplicas": ready},
        });
        self.revision("Deployment", change, cluster, object)
    }

    fn binding(&mut self, number: usize, result: &[&str], tasks: &[&str], healthy: &[&str]) -> &mut Self {
        let replicas = workloads::replicas(number, DIRECTLY, Kind::Deployment);
        let name = workloads::name(number);
        let result: Vec<_> = result
            .iter()
            .map(|it| json!({"name": it, "replicas": replicas}))
            .collect();
        let tasks: Vec<_> = tasks.iter().map(|it| json!({"fromCluster": it})).collect();
        let status = json!({"replicas": replicas, "readyReplicas": replicas});
        let healthy = healthy
            .iter()
            .map(|it| json!({"clusterName": it, "health": "Healthy", "status": status}));
        let object = json!({
            "metadata": {"namespace": "default", "name": format!("{name}-deployment")},
            "spec": {"resource": {"kind": "Deployment", "name": name}, "clusters": result, "gracefulEvictionTasks": tasks},
            "status": {"aggregatedStatus": healthy.collect::<Vec<_>>()},
        });
        self.revision("ResourceBinding", Change::Modified, "control", object)
    }

    fn found(&self) -> Vec<Broken> {
        self.judge.violations().iter().map(|(broken, _, _)| broken).collect()
    }
}

fn state(number: usize) -> Value {
    let replicas = workloads::replicas(number, DIRECTLY, Kind::Deployment).to_string();
    json!({"failover.karmada.io/replicas": replicas, "failover.karmada.io/readyReplicas": replicas})
}

/// The new copy with these labels after the old one.
fn moves(story: &mut Story, labels: &Value) {
    story.later(1).binding(0, &[], &["a"], &["a"]);
    story.later(1).copy(Change::Deleted, 0, "a", &json!({}), None);
    story.binding(0, &["b"], &["a"], &[]);
    story.later(1).copy(Change::Added, 0, "b", labels, None);
    story.later(1).binding(0, &["b"], &[], &["b"]);
}

#[test]
fn a_move_as_it_should_be_has_times_and_no_violation() {
    let mut story = Story::failed(DIRECTLY, true);
    assert_eq!(story.judge.progress().affected, 1);
    moves(&mut story, &state(0));
    story.judge.finish(Duration::from_secs(10_000), true);
    assert_eq!(story.found(), []);
    let progress = Progress {
        placed: 1,
        affected: 1,
        healthy: 1,
        settled: 1,
    };
    assert_eq!(story.judge.progress(), progress);
    let times = story.judge.times().next().copied().unwrap_or_default();
    let secs = |secs| Some(Duration::from_secs(secs));
    assert_eq!(
        [times.task, times.gone, times.new, times.healthy],
        [secs(1), secs(2), secs(3), secs(4)]
    );
    assert_eq!(story.judge.missing(5), [""; 0]);
}

#[test]
fn state_must_be_there_and_right_in_the_first_revision() {
    let mut story = Story::failed(DIRECTLY, true);
    moves(&mut story, &json!({}));
    assert_eq!(story.found(), [Broken::LabelMissing]);
    assert_eq!(story.judge.violations().count(Broken::LabelMissing), 2);
    let mut story = Story::failed(DIRECTLY, true);
    moves(&mut story, &state(1));
    assert_eq!(story.found(), [Broken::LabelWrong]);
    assert_eq!(story.found()[0].requirement(), Some(RequirementId::new("REC-02")));
}

#[test]
fn two_copies_are_found_where_the_order_is_known() {
    for (is_exact, expected) in [(true, vec![Broken::TwoCopies]), (false, vec![])] {
        let mut story = Story::failed(DIRECTLY, is_exact);
        story.later(1).binding(0, &["b"], &["a"], &["a"]);
        story.copy(Change::Added, 0, "b", &state(0), None);
        assert_eq!(story.found(), expected);
        assert_eq!(story.judge.not_judged().is_empty(), is_exact);
    }
}

#[test]
fn a_violation_comes_with_the_story_of_its_workload() {
    let mut story = Story::failed(DIRECTLY, true);
    story.later(7).binding(0, &["b"], &[], &["a"]);
    assert_eq!(story.found(), [Broken::MovedWithoutTask]);
    let (_, count, first) = story.judge.violations().iter().next().unwrap();
    assert_eq!(
        (count, first[0].workload.as_str(), first[0].at),
        (1, "scale-000000", 7.0)
    );
    let told: Vec<_> = first[0].story.iter().map(|it| it.what.as_str()).collect();
    assert_eq!(told, ["copy on a created", "binding names a"]);
}

#[test]
fn gracefully_the_old_copy_stays_until_another_is_ready() {
    let mut story = Story::failed(Profile::Gracefully, true);
    story.later(1).binding(0, &["b"], &["a"], &["a"]);
    story.copy(Change::Added, 0, "b", &json!({}), None);
    story.later(1).copy(Change::Deleted, 0, "a", &json!({}), None);
    assert_eq!(story.found(), [Broken::GoneTooEarly]);
    let mut story = Story::failed(Profile::Gracefully, true);
    story.later(1).binding(0, &["b"], &["a"], &["a"]);
    story.copy(Change::Added, 0, "b", &json!({}), Some(1));
    story.later(1).copy(Change::Deleted, 0, "a", &json!({}), None);
    assert_eq!(story.found(), []);
    // After the grace period it may go.
    let mut story = Story::failed(Profile::Gracefully, true);
    story.later(1).binding(0, &["b"], &["a"], &["a"]);
    story.later(600).copy(Change::Deleted, 0, "a", &json!({}), None);
    assert_eq!(story.found(), []);
}

#[test]
fn a_workload_that_is_not_affected_stays() {
    let mut story = Story::new(DIRECTLY, None, true);
    story.placed(0);
    story
        .copy(Change::Added, 1, "b", &json!({}), Some(2))
        .binding(1, &["b"], &[], &["b"]);
    story.fail();
    story.later(1).binding(1, &["b"], &[], &["b"]);
    assert_eq!(story.found(), []);
    story.later(1).binding(1, &["c"], &[], &["b"]);
    assert_eq!(story.found(), [Broken::MovedWithoutNeed]);
    assert_eq!(
        Broken::MovedWithoutNeed.requirement(),
        None,
        "a remark: no document says so"
    );
}

#[test]
fn evictions_keep_the_rate() {
    for (wait, expected) in [(2, vec![]), (0, vec![Broken::RateExceeded])] {
        let mut story = Story::new(DIRECTLY, Some(0.5), true);
        story.placed(0).placed(1).placed(2).fail();
        for number in 0..3 {
            story.later(wait).binding(number, &[], &["a"], &["a"]);
        }
        assert_eq!(story.found(), expected);
    }
}

/// A workload that waits for its turn is not at rest.
#[test]
fn a_queue_is_judged_only_after_a_turn() {
    let mut story = Story::new(DIRECTLY, Some(0.001), true);
    story.placed(0).placed(1).fail();
    story.later(1000);
    moves(&mut story, &state(0));
    story.binding(0, &["b"], &[], &["b"]);
    let last = Duration::from_secs(story.at);
    story.judge.finish(last + Duration::from_secs(1800), false);
    assert_eq!(story.found(), []);
    story.judge.finish(last + Duration::from_secs(1900), false);
    assert_eq!(story.found(), [Broken::NeverMoved]);
}

#[test]
fn what_is_left_is_judged_only_when_nothing_happens_any_more() {
    let unmoved = || Story::failed(DIRECTLY, true);
    let task_left = || {
        let mut story = Story::failed(DIRECTLY, true);
        moves(&mut story, &state(0));
        story.binding(0, &["b"], &["a"], &["b"]);
        story
    };
    for (mut story, expected) in [(unmoved(), Broken::NeverMoved), (task_left(), Broken::TaskLeft)] {
        let last = Duration::from_secs(story.at);
        story.judge.finish(last + Duration::from_secs(60), false);
        assert_eq!(story.found(), []);
        assert_eq!(story.judge.missing(5), ["scale-000000"]);
        story.judge.finish(last + Duration::from_secs(900), false);
        assert_eq!(story.found(), [expected]);
    }
}

#[test]
fn replicas_are_counted_only_when_they_are_final() {
    for (is_complete, wait, expected) in [
        (true, 0, vec![]),
        (true, 5, vec![Broken::ReplicasLost]),
        // A run that ends early may have stopped between two changes.
        (false, 5, vec![]),
        (false, 900, vec![Broken::ReplicasLost]),
    ] {
        let mut story = Story::failed(Profile::Divided, true);
        story.later(1).binding(0, &["b", "c"], &["a"], &["b", "c"]);
        story.later(1).copy(Change::Deleted, 0, "a", &json!({}), None);
        story.later(1).binding(0, &["b"], &[], &["b"]);
        let end = Duration::from_secs(story.at + wait);
        story.judge.finish(end, is_complete);
        assert_eq!(story.found(), expected, "{is_complete}, {wait} s");
    }
}
