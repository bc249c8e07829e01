//! Parameters of a run.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::kinds::{Kind, Shares};

/// How workloads move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Profile {
    /// Purge mode Directly, with state that is preserved.
    Directly,
    /// Purge mode Gracefully.
    Gracefully,
    /// Replicas divided between two clusters; purge mode Gracefully.
    Divided,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Self; 3] = [Self::Directly, Self::Gracefully, Self::Divided];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Directly => "directly",
            Self::Gracefully => "gracefully",
            Self::Divided => "divided",
        }
    }

    /// Number of clusters that a workload is placed on at once.
    pub fn clusters(self) -> usize {
        match self {
            Self::Directly | Self::Gracefully => 1,
            Self::Divided => 2,
        }
    }
}

/// Members on which workloads begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Spread {
    /// On the clusters that will fail: all of them move.
    Failing,
    /// On all clusters in turn: only those on failing clusters move, and the others must stay.
    All,
}

impl Spread {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Failing, Self::All];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Failing => "failing",
            Self::All => "all",
        }
    }
}

/// Parameters of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Parameters {
    /// Number of members.
    pub members: usize,
    /// Number of workloads.
    pub workloads: usize,
    /// Number of members that fail at the same time.
    pub failing: usize,
    /// How workloads move.
    pub profile: Profile,
    /// Shares of the kinds of workloads.
    #[serde(default)]
    pub kinds: Shares,
    /// Members on which workloads begin.
    pub spread: Spread,
    /// Evictions per second, the option `resource-eviction-rate` of the target; open if absent.
    pub rate: Option<f64>,
    /// Random seed.
    pub seed: u64,
    /// Time limit of placing and of moving, each, in seconds of the clusters' clock.
    pub limit_seconds: u64,
}

/// The rate that is set where none is asked for. It never limits anything.
const OPEN: f64 = 1_000_000.0;

/// The greatest number of members. Each is an API server.
const MOST_MEMBERS: usize = 10_000;

/// The greatest number of workloads: names have six digits.
const MOST_WORKLOADS: usize = 1_000_000;

/// Share of failing members above which evictions are slowed down or stopped by default.
const UNHEALTHY_THRESHOLD: f64 = 0.55;

impl Parameters {
    /// Checks that the numbers fit together.
    ///
    /// # Errors
    /// [`ParameterError`] if they do not.
    pub fn check(self) -> Result<Self, ParameterError> {
        let Self { members, failing, .. } = self;
        let needed = self.profile.clusters();
        if members == 0 {
            Err(ParameterError::NoMembers)
        } else if self.workloads == 0 {
            Err(ParameterError::NoWorkloads)
        } else if members > MOST_MEMBERS {
            Err(ParameterError::TooManyMembers(members))
        } else if self.workloads > MOST_WORKLOADS {
            Err(ParameterError::TooManyWorkloads(self.workloads))
        } else if self.kinds.total() == 0 {
            Err(ParameterError::NoKinds)
        } else if self.profile == Profile::Divided && self.kinds.of(Kind::FlinkDeployment) > 0 {
            Err(ParameterError::DividedJobs)
        } else if failing == 0 {
            Err(ParameterError::NothingFails)
        } else if failing > members {
            Err(ParameterError::MoreFailing { failing, members })
        } else if members - failing < needed {
            Err(ParameterError::NowhereToGo {
                left: members - failing,
                needed,
                profile: self.profile.name(),
            })
        } else if self.rate.is_some_and(|rate| !rate.is_finite() || rate <= 0.0) {
            Err(ParameterError::Rate)
        } else {
            Ok(self)
        }
    }

    /// The options of the target that the parameters ask for, by name.
    pub fn options(&self) -> Vec<(String, String)> {
        let option = |name: &str, value: f64| (name.to_owned(), value.to_string());
        let mut options = vec![option(RATE, self.rate.unwrap_or(OPEN))];
        #[expect(clippy::cast_precision_loss, reason = "numbers of members are small")]
        let share = self.failing as f64 / self.members as f64;
        if share > UNHEALTHY_THRESHOLD {
            options.push(option("unhealthy-cluster-threshold", 1.0));
        }
        options
    }
}

/// The option of a target for evictions per second.
pub const RATE: &str = "resource-eviction-rate";

/// Parameters that do not fit together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ParameterError {
    /// No members.
    #[error("a run needs members, and --members is 0")]
    NoMembers,
    /// No workloads.
    #[error("a run needs workloads, and --workloads is 0")]
    NoWorkloads,
    /// More members than a run takes.
    #[error("{0} members are too many: a run takes at most {MOST_MEMBERS}")]
    TooManyMembers(usize),
    /// More workloads than a run takes.
    #[error("{0} workloads are too many: a run takes at most {MOST_WORKLOADS}")]
    TooManyWorkloads(usize),
    /// No failing members.
    #[error("a run needs members that fail, and --failing is 0")]
    NothingFails,
    /// More members fail than there are.
    #[error("{failing} members cannot fail: there are {members}")]
    MoreFailing {
        /// Number of failing members.
        failing: usize,
        /// Number of members.
        members: usize,
    },
    /// Too few members stay to take the workloads.
    #[error("{left} healthy members are too few: a workload of the profile {profile} needs {needed} to move to")]
    NowhereToGo {
        /// Number of members that do not fail.
        left: usize,
        /// Number that the profile needs.
        needed: usize,
        /// Name of the profile.
        profile: &'static str,
    },
    /// All shares of kinds are 0.
    #[error("a run needs workloads of some kind, and all shares of --kinds are 0")]
    NoKinds,
    /// The replicas of a FlinkDeployment cannot be divided.
    #[error("the profile divided has no FlinkDeployments: a job runs on one cluster")]
    DividedJobs,
    /// The rate is not above 0.
    #[error("--rate must be a number of evictions per second above 0")]
    Rate,
}

impl ParameterError {
    /// The remedy.
    pub fn help(&self) -> &'static str {
        match self {
            Self::NoMembers => "give --members a number of 2 or more",
            Self::NoWorkloads => "give --workloads a number of 1 or more",
            Self::NothingFails => "give --failing a number of 1 or more",
            Self::TooManyMembers(_) => "lower --members",
            Self::TooManyWorkloads(_) => "lower --workloads",
            Self::MoreFailing { .. } | Self::NowhereToGo { .. } => "lower --failing or raise --members",
            Self::NoKinds => "give a kind a share, such as --kinds deployment=1",
            Self::DividedJobs => "leave flinkdeployment out of --kinds, or choose another --profile",
            Self::Rate => "leave --rate out to put no limit on evictions",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(members: usize, workloads: usize, failing: usize, profile: Profile) -> Parameters {
        Parameters {
            members,
            workloads,
            failing,
            profile,
            kinds: Shares::default(),
            spread: Spread::Failing,
            rate: None,
            seed: 0,
            limit_seconds: 3600,
        }
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        let of = |members, workloads, failing, profile| parameters(members, workloads, failing, profile).check().err();
        assert_eq!(of(0, 1, 1, Profile::Directly), Some(ParameterError::NoMembers));
        assert_eq!(of(2, 0, 1, Profile::Directly), Some(ParameterError::NoWorkloads));
        assert_eq!(of(2, 1, 0, Profile::Directly), Some(ParameterError::NothingFails));
        let members = of(10_001, 1, 1, Profile::Directly);
        assert_eq!(members, Some(ParameterError::TooManyMembers(10_001)));
        let workloads = of(2, 1_000_001, 1, Profile::Directly);
        assert_eq!(workloads, Some(ParameterError::TooManyWorkloads(1_000_001)));
        let more = ParameterError::MoreFailing { failing: 3, members: 2 };
        assert_eq!(of(2, 1, 3, Profile::Directly), Some(more));
        let nowhere = of(2, 1, 2, Profile::Directly);
        assert!(matches!(nowhere, Some(ParameterError::NowhereToGo { left: 0, .. })));
        let nowhere = of(2, 1, 1, Profile::Divided);
        assert!(matches!(nowhere, Some(ParameterError::NowhereToGo { needed: 2, .. })));
        assert_eq!(of(3, 1, 1, Profile::Divided), None);
        let mut kinds = parameters(3, 1, 1, Profile::Divided);
        kinds.kinds.set(Kind::FlinkDeployment, 1);
        assert_eq!(kinds.check(), Err(ParameterError::DividedJobs));
        kinds.kinds = Shares::default();
        kinds.kinds.set(Kind::Deployment, 0);
        assert_eq!(kinds.check(), Err(ParameterError::NoKinds));
    }

    #[test]
    fn a_rate_must_be_above_zero() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut wrong = parameters(2, 1, 1, Profile::Directly);
            wrong.rate = Some(rate);
            assert_eq!(wrong.check(), Err(ParameterError::Rate), "{rate}");
        }
    }

    #[test]
    fn evictions_go_on_when_most_members_fail() {
        let some = parameters(10, 1, 5, Profile::Directly).options();
        assert_eq!(some, [("resource-eviction-rate".to_owned(), "1000000".to_owned())]);
        let most = parameters(10, 1, 6, Profile::Directly).options();
        assert!(most.contains(&("unhealthy-cluster-threshold".to_owned(), "1".to_owned())));
    }
}
