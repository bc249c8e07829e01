//! Explores cases: finds the writes of the implementation, runs the cases again with faults at them, and writes
//! deviations as cases. `runs`: a case with and without faults; `search`: all plans; `shrink`: smaller plans for a
//! finding; `workers`: the same in several processes; `folder`: journal and findings; `page`: both for a browser;
//! `moments`: the writes of a case. The search space and the oracle are in [`baton_core::explore`].

mod error;
pub mod folder;
pub mod moments;
pub mod page;
mod runs;
mod search;
mod shrink;
pub mod workers;

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroUsize,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use baton_cluster::error_chain::error_chain;
use baton_core::{
    case::model::{Case, MoveFault},
    digest::Digest,
    event::Shard,
    explore::{
        journal::{Head, Journal, Line, Outcome, Pair},
        map,
        space::Random,
        states::Transition,
    },
    names::CaseId,
};

use self::{
    folder::{Folder, FolderError},
    runs::{Explorable, Runs, Search},
};
use crate::{
    context::{CaseContext, RunState},
    files::Roots,
    load::Suite,
    options::RunOptions,
    output::FollowUp,
    show::count,
    terminal::{errln, outln},
};

/// Options of an exploration.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Largest number of plans; `None` for all of the depth.
    pub plans: Option<usize>,
    /// Starts no further plan after this time.
    pub budget: Option<Duration>,
    /// Largest number of moves of a plan: 1 or 2; 0 for random plans alone.
    pub depth: usize,
    /// Random plans, after those of the depth.
    pub random: Random,
    /// Faults that are tried.
    pub faults: Vec<MoveFault>,
    /// Part of the plans.
    pub shard: Shard,
    /// Number of plans that run at once.
    pub jobs: NonZeroUsize,
    /// Largest number of runs that make a finding smaller.
    pub shrink: usize,
    /// Suite and target, for the commands that replay findings.
    pub again: FollowUp,
}

/// Result of an exploration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Explored {
    /// Number of plans with each outcome, also those that the journal had.
    pub plans: BTreeMap<&'static str, usize>,
    /// Plans that were run now.
    pub run: usize,
    /// Plans that were left out because the time or the number of plans was used up.
    pub left: usize,
    /// Parts of the plans that are missing in a merged journal.
    pub missing: Vec<Shard>,
    /// Plans that refute the implementation.
    pub deviations: usize,
    /// Cases that could not be explored.
    pub not_explored: usize,
    /// Classes of writes with a fault that were tried and happened.
    pub tried: BTreeSet<Pair>,
    /// Classes of writes with a fault, of all cases.
    pub known: BTreeSet<Pair>,
    /// Transitions of workloads in the runs without faults.
    pub baseline: BTreeSet<Transition>,
    /// Other transitions of workloads.
    pub reached: BTreeSet<Transition>,
}

/// Plans whose move did not happen, in [`Explored::plans`].
const NOT_HAPPENED: &str = "did not happen";

/// Plans that had not ended at their time limit, in [`Explored::plans`].
pub const INCONCLUSIVE: &str = "inconclusive";

/// Plans whose run has no result, in [`Explored::plans`].
pub const BROKEN: &str = "broken";

impl Explored {
    /// The result of explorations that were run elsewhere.
    pub fn of(journal: &Journal) -> Self {
        let mut explored = Self {
            known: journal.known.clone(),
            baseline: journal.baseline.clone(),
            left: journal.not_run(),
            missing: journal.missing(),
            ..Self::default()
        };
        for line in journal.plans() {
            explored.count(line);
        }
        explored
    }

    fn count(&mut self, line: &Line) {
        if !matches!(
            line.outcome,
            Outcome::NotHappened | Outcome::Inconclusive | Outcome::Broken
        ) {
            self.tried.extend(line.covers.iter().cloned());
        }
        let word = match line.outcome {
            Outcome::Conforms => "conform",
            Outcome::Deviates => "deviate",
            Outcome::Lead => "have leads",
            Outcome::NotHappened => NOT_HAPPENED,
            Outcome::Inconclusive => INCONCLUSIVE,
            Outcome::Broken => BROKEN,
        };
        self.reached.extend(line.reached.iter().cloned());
        *self.plans.entry(word).or_default() += 1;
        self.deviations += usize::from(line.outcome == Outcome::Deviates);
    }

    /// Prints the number of plans with each outcome, and the coverage. `began`: the start of the plans that were run now.
    pub fn print(&self, began: Option<Instant>) {
        let plans: Vec<String> = self
            .plans
            .iter()
            .map(|(word, number)| format!("{number} {word}"))
            .collect();
        let plans = if plans.is_empty() {
            "none".to_owned()
        } else {
            plans.join(", ")
        };
        let now = began.map(|began| format!("; {} run now in {:.1} s", self.run, began.elapsed().as_secs_f64()));
        outln!("plans      {plans}{}", now.unwrap_or_default());
        outln!(
            "coverage   {} of {} pairs of a class of writes and a fault",
            self.tried.len(),
            self.known.len()
        );
        let known = map::states(&self.baseline);
        let all = map::states(self.baseline.iter().chain(&self.reached));
        outln!(
            "reached    {} (+{}), {} (+{})",
            count(all.len(), "state"),
            all.len() - known.len(),
            count(self.baseline.len() + self.reached.len(), "transition"),
            self.reached.len(),
        );
        if self.left > 0 {
            outln!("not run    {}", count(self.left, "plan"));
        }
        if !self.missing.is_empty() {
            outln!("missing    {}", shards(&self.missing));
        }
        if let Some(number) = self.plans.get(NOT_HAPPENED) {
            outln!(
                "           {} did not happen: the write did not come, or its object was not there",
                count(*number, "plan")
            );
        }
    }
}

/// Shards for people, such as `shard 2/4`.
fn shards(shards: &[Shard]) -> String {
    let listed: Vec<String> = shards.iter().map(ToString::to_string).collect();
    let word = if listed.len() == 1 { "shard" } else { "shards" };
    format!("{word} {}", listed.join(", "))
}

/// Explores cases. Results are printed, and written to the folder with a page.
///
/// # Errors
/// [`FolderError`] if the journal cannot be continued or written.
pub fn explore(
    suite: &Suite,
    cases: &[Case],
    roots: &Roots,
    options: &RunOptions,
    wanted: &Wanted,
    folder: &mut Folder,
) -> Result<Explored, FolderError> {
    let began = Instant::now();
    let deadline = wanted.budget.and_then(|budget| began.checked_add(budget));
    let implementation = options.target.implementation();
    let target = [Some(implementation.name), implementation.version]
        .into_iter()
        .flatten();
    let head = Head::new(
        target.collect::<Vec<_>>().join(" "),
        options.backend.name().to_owned(),
        options.seed,
        cases
            .iter()
            .map(|case| (case.id.to_string(), Digest::of_case(case)))
            .collect(),
    );
    folder.begin(&head)?;
    let context = CaseContext::new(RunState::new(options.clone(), cases));
    let runs = Runs {
        suite,
        roots,
        context: &context,
    };
    let mut explored = Explored::default();
    let explorable = explorable(runs, cases, wanted.jobs, &mut explored);
    let points: usize = explorable.iter().map(|it| it.points.len()).sum();
    let writes: usize = explorable.iter().map(|it| it.writes).sum();
    outln!(
        "baseline   {} of {}; {} at {}",
        explorable.len(),
        count(cases.len(), "case"),
        count(writes, "write"),
        count(points, "moment"),
    );
    let search = Search { runs, wanted, deadline };
    search.explore(&explorable, folder, &mut explored)?;
    folder.write_page()?;
    explored.print(Some(began));
    Ok(explored)
}

/// The cases that can be explored; warns of the others.
fn explorable<'a>(
    runs: Runs<'a>,
    cases: &'a [Case],
    jobs: NonZeroUsize,
    explored: &mut Explored,
) -> Vec<Explorable<'a>> {
    let queue = Mutex::new(cases.iter().enumerate());
    let prepared = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs.get() {
            scope.spawn(|| {
                while !runs.options().interrupt.is_asked() {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some((number, case)) = next else { break };
                    let result = runs.prepare(case);
                    let mut prepared = prepared.lock().unwrap_or_else(PoisonError::into_inner);
                    prepared.insert(number, result);
                }
            });
        }
    });
    let mut explorable = Vec::new();
    let mut others: BTreeMap<String, Vec<&CaseId>> = BTreeMap::new();
    for (number, result) in prepared.into_inner().unwrap_or_else(PoisonError::into_inner) {
        match result {
            Ok(it) => explorable.push(it),
            Err(error) => others.entry(error_chain(&error)).or_default().push(&cases[number].id),
        }
    }
    for (reason, ids) in others {
        explored.not_explored += ids.len();
        let named: Vec<&str> = ids.iter().take(NAMED).map(|id| id.as_str()).collect();
        let more = ids.len().saturating_sub(NAMED);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        errln!("warning: not explored: {}{more}: {reason}", named.join(", "));
    }
    explorable
}

/// Number of cases that a warning names.
const NAMED: usize = 3;
