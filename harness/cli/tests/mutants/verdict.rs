//! Finds the case that kills a mutant, and the requirement at which it does.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use baton::{files::Roots, load::Suite, options::RunOptions, run, show};
use baton_cluster::error_chain::error_chain;
use baton_core::{
    case::model::{Case, Invariant},
    catalogue::Level,
    judge,
    names::RequirementId,
    plan::Plan,
};

use crate::mutant::Mutant;

/// Result for a mutant.
#[derive(Debug, Clone)]
pub enum Death {
    /// This case found the defect at the requirement that the mutant breaks; it also blamed these other mandatory
    /// requirements.
    Killed { case: String, also: Vec<String> },
    /// No case found the defect at that requirement.
    Survives {
        /// Cases that were tried, with their results.
        tried: Vec<String>,
    },
}

/// Time limit of a run.
const LONGEST: Duration = Duration::from_secs(120);

/// The suite and its settings.
pub struct Trial {
    suite: Suite,
    settings: RunOptions,
    /// By mutant, the case that killed it before. It is tried first, so that a new case does not change the table.
    known: BTreeMap<String, String>,
}

impl Trial {
    /// Creates a trial with all cases.
    pub fn new(suite: Suite, roots: Roots) -> Self {
        let settings = RunOptions {
            limit: Some(LONGEST),
            ..RunOptions::new(roots)
        };
        let table = include_str!("../snapshots/mutants.snap");
        let row = |line: &str| match *line.split_whitespace().collect::<Vec<_>>() {
            [mutant, _, case, ..] => Some((mutant.to_owned(), case.to_owned())),
            _ => None,
        };
        let known = table.lines().filter_map(row).collect();
        Self { suite, settings, known }
    }

    /// The suite.
    pub fn suite(&self) -> &Suite {
        &self.suite
    }

    /// Returns the cases for the requirement that a mutant breaks, as far as the controller supports them: first the
    /// one that killed it before, then those with the fewest requirements, because they were written for it.
    fn cases(&self, mutant: &Mutant) -> Vec<&Case> {
        let requirement = mutant.breaks;
        let features = self.settings.target.features();
        // Invariants are judged in every case, so any case will do.
        let everywhere = Invariant::ALL.iter().any(|invariant| invariant.name() == requirement);
        let about = |case: &&Case| {
            let is_about = everywhere || case.requirements.iter().any(|id| id.as_str() == requirement);
            is_about && case.features.is_subset(&features)
        };
        let mut cases: Vec<&Case> = self.suite.cases.iter().filter(about).collect();
        let known = self.known.get(mutant.name);
        let is_known = |case: &Case| known.is_some_and(|known| known == case.id.as_str());
        cases.sort_by_key(|case| (!is_known(case), case.requirements.len(), case.id.clone()));
        cases
    }

    /// Runs the cases for the requirement that a mutant breaks, until one kills it and blames nothing else, or the one
    /// that killed it before kills it again. If all of them blame other requirements as well, returns the one that
    /// blames the fewest.
    pub fn try_out(&self, mutant: &Mutant) -> Death {
        let (mut tried, mut best) = (Vec::new(), None::<(String, Vec<String>)>);
        for case in self.cases(mutant) {
            match self.broken(mutant, case) {
                Ok(found) if found.iter().any(|id| id == mutant.breaks) => {
                    let (id, also) = (case.id.to_string(), self.also(mutant, &found));
                    let settled = also.is_empty() || self.known.get(mutant.name) == Some(&id);
                    if best.as_ref().is_none_or(|(_, least)| also.len() < least.len()) {
                        best = Some((id, also));
                    }
                    if settled {
                        break;
                    }
                }
                Ok(found) => tried.push(format!("{}: {found:?}", case.id)),
                Err(failure) => tried.push(format!("{}: {failure}", case.id)),
            }
        }
        match best {
            Some((case, also)) => Death::Killed { case, also },
            None => Death::Survives { tried },
        }
    }

    /// Returns the broken mandatory requirements other than those that a mutant breaks.
    fn also(&self, mutant: &Mutant, found: &BTreeSet<String>) -> Vec<String> {
        let own = breaks(mutant);
        let musts = self.suite.catalogue.iter().filter(|it| it.level == Level::Must);
        let others = musts.filter(|it| !own.contains(&it.id) && found.contains(it.id.as_str()));
        others.map(|it| it.id.to_string()).collect()
    }

    /// Returns the requirements that none of these mutants breaks, directly or by an invariant.
    pub fn unbroken(&self, mutants: &[Mutant]) -> Vec<RequirementId> {
        let broken: BTreeSet<RequirementId> = mutants.iter().flat_map(breaks).collect();
        let ids = self.suite.catalogue.iter().map(|requirement| requirement.id.clone());
        ids.filter(|id| !broken.contains(id)).collect()
    }

    /// Runs the cases that killed a mutant against the controller with the same clients, but without a fault: they must
    /// conform.
    pub fn harmed(&self, deaths: &[Death]) -> Vec<String> {
        let killers: BTreeSet<&str> = deaths
            .iter()
            .filter_map(|death| match death {
                Death::Killed { case, .. } => Some(case.as_str()),
                Death::Survives { .. } => None,
            })
            .collect();
        let cases = self.suite.cases.iter();
        let cases: Vec<&Case> = cases.filter(|case| killers.contains(case.id.as_str())).collect();
        let found = each(&cases, |case| match self.findings(&Mutant::NONE, case) {
            Ok(findings) if findings.is_empty() => None,
            Ok(findings) => Some(format!("{}: {}", case.id, findings.join("\n"))),
            Err(failure) => Some(format!("{}: {failure}", case.id)),
        });
        found.into_iter().flatten().collect()
    }

    fn verdict(&self, mutant: &Mutant, case: &Case) -> Result<judge::Verdict, String> {
        self.verdict_by(mutant, case, &Plan::of(case))
    }

    fn verdict_by(&self, mutant: &Mutant, case: &Case, plan: &Plan) -> Result<judge::Verdict, String> {
        let settings = RunOptions {
            target: std::sync::Arc::new(*mutant),
            ..self.settings.clone()
        };
        let ran = run::execute(case, plan, &settings, Path::new(""), &|_| {});
        let ran = ran.map_err(|error| error_chain(&error))?;
        Ok(ran.verdict)
    }

    fn broken(&self, mutant: &Mutant, case: &Case) -> Result<BTreeSet<String>, String> {
        let verdict = self.verdict(mutant, case)?;
        let mut broken: BTreeSet<String> = verdict.broken().iter().map(ToString::to_string).collect();
        let of_invariants = verdict
            .all_findings()
            .filter_map(|it| it.title.strip_prefix("invariant "));
        broken.extend(of_invariants.map(str::to_owned));
        if broken.is_empty() {
            broken.extend(
                verdict
                    .all_findings()
                    .map(|finding| format!("{} ({})", finding.title, finding.expected)),
            );
        }
        Ok(broken)
    }

    /// Returns the cases that the controller supports.
    pub fn supported(&self) -> Vec<&Case> {
        let features = self.settings.target.features();
        let cases = self.suite.cases.iter();
        cases.filter(|case| case.features.is_subset(&features)).collect()
    }

    /// Returns the deviations that a case finds, or the reason why it has no result. Remarks are none.
    pub fn blamed(&self, mutant: &Mutant, case: &Case) -> Vec<String> {
        let asked = self.settings.clone().asking(&self.suite.catalogue).asked;
        match self.verdict_by(mutant, case, &Plan::of(case).asking(asked)) {
            Ok(verdict) => {
                let found = verdict
                    .findings
                    .iter()
                    .chain(&verdict.elsewhere)
                    .chain(&verdict.inconclusive);
                // A write without effect is a fault of the reference controller alone.
                let idle = format!("invariant {}", Invariant::NoWriteChangesNothing.name());
                let counts = found.filter(|finding| finding.title != idle);
                counts.map(ToString::to_string).collect()
            }
            Err(failure) => vec![failure],
        }
    }

    fn findings(&self, mutant: &Mutant, case: &Case) -> Result<Vec<String>, String> {
        let verdict = self.verdict(mutant, case)?;
        let all = verdict.all_findings().chain(&verdict.inconclusive);
        Ok(all.map(ToString::to_string).collect())
    }
}

/// Returns the requirement that a mutant breaks, or those that its invariant proves.
fn breaks(mutant: &Mutant) -> BTreeSet<RequirementId> {
    let invariant = Invariant::ALL.into_iter().find(|it| it.name() == mutant.breaks);
    invariant.map_or_else(|| BTreeSet::from([mutant.breaks.into()]), Invariant::proves)
}

/// Calls a function with each item on all processors; the results are in the order of the items.
pub fn each<T: Sync, U: Send>(items: &[T], act: impl Fn(&T) -> U + Sync) -> Vec<U> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let done: Mutex<VecDeque<(usize, U)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    let answer = act(item);
                    done.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push_back((index, answer));
                }
            });
        }
    });
    let mut done: Vec<_> = done.into_inner().unwrap_or_else(PoisonError::into_inner).into();
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, answer)| answer).collect()
}

/// Formats the result for a mutant.
pub fn line(mutant: &Mutant, death: &Death) -> String {
    match death {
        Death::Killed { case, also } => {
            let also = if also.is_empty() {
                String::new()
            } else {
                format!(", which blames {} too", also.join(", "))
            };
            format!("mutant {} ... killed at {} by {case}{also}", mutant.name, mutant.breaks)
        }
        Death::Survives { tried } => format!(
            "mutant {} ... SURVIVES; {} is not found broken:\n  {}\n  tried\n    {}",
            mutant.name,
            mutant.breaks,
            mutant.defect,
            tried.join("\n    ")
        ),
    }
}

/// Compares the table of all mutants with the one in the repository.
pub fn compare_table(mutants: &[Mutant], deaths: &[Death]) {
    let mut table = show::table(&["MUTANT", "BREAKS", "KILLED BY", "WHICH BLAMES TOO"]);
    // Rows are parsed by words, so they must not wrap.
    table.set_width(200);
    for (mutant, death) in mutants.iter().zip(deaths) {
        if let Death::Killed { case, also } = death {
            table.add_row([mutant.name, mutant.breaks, case, &also.join(" ")]);
        }
    }
    insta::with_settings!({snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!("mutants", table.trim_fmt());
    });
}
