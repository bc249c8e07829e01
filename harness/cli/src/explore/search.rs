//! The plans of an exploration: runs them, confirms their findings and keeps them.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError, mpsc},
    time::{Duration, Instant},
};

use baton_cluster::error_chain::error_chain;
use baton_core::{
    case::model::MoveFault,
    digest::Digest,
    explore::{
        journal::{Line, Outcome, Part},
        oracle::Signature,
        space, states,
        variant::Title,
    },
    judge::Finding,
    names::{CaseId, RequirementId},
    timeline::Timeline,
};

use super::{
    Explored, Wanted,
    error::ExploreError,
    folder::{FOUND, Folder, FolderError, LEAD},
    runs::{Explorable, Search, VariantRun},
    shrink::Smallest,
};
use crate::{
    show::count,
    terminal::{errln, outln},
};

/// Time between two lines about the progress.
const PROGRESS: Duration = Duration::from_secs(10);

/// A plan without a result.
struct Todo<'a> {
    of: &'a Explorable<'a>,
    plan: space::Plan,
    id: String,
}

/// A plan with its result.
struct Tried<'a> {
    of: &'a Explorable<'a>,
    plan: space::Plan,
    id: String,
    run: Result<VariantRun, ExploreError>,
}

impl Tried<'_> {
    /// Prints the case and the moves.
    fn print(&self) {
        outln!("           in {}", self.of.case.id);
        for (_, it) in &self.plan.moves {
            outln!("           {it}");
        }
    }
}

/// Findings of earlier plans of this exploration, which are printed already.
#[derive(Default)]
struct ShownBefore {
    deviations: BTreeSet<Signature>,
    /// Titles of leads, and reasons for missing results.
    leads: BTreeSet<String>,
}

impl ShownBefore {
    /// Writes a lead as a case and prints it, if it is the first of its kind.
    fn tell(
        &mut self,
        lead: &Finding,
        tried: &Tried<'_>,
        timeline: &Timeline,
        folder: &Folder,
    ) -> Result<(), FolderError> {
        if !self.leads.insert(lead.title.clone()) {
            return Ok(());
        }
        let name = format!("{LEAD}{}", tried.id);
        let case = tried.of.base.with(&name, &tried.plan.moves, None);
        // A run has the name of a finding until its result is known.
        let timeline = timeline.clone().of_case(CaseId::new(&name));
        let file = folder.keep(&name, &case, &timeline)?;
        let seen = lead.seen.lines().next().unwrap_or_default();
        outln!("LEAD       {}: {seen}", lead.title);
        tried.print();
        outln!("           timeline: {}", file.with_extension("jsonl").display());
        Ok(())
    }

    /// Prints why a plan has no result, the first time.
    fn tell_missing(&mut self, reason: &str, tried: &Tried<'_>) {
        if self.leads.insert(reason.to_owned()) {
            outln!("NO RESULT  {reason}");
            tried.print();
        }
    }
}

/// The number of plans of each kind, for people.
fn kinds(planned: &[(usize, space::Plan)], random: usize) -> String {
    let singles = planned.iter().filter(|(_, plan)| plan.moves.len() == 1).count();
    let kinds = [
        (singles, "single fault"),
        (planned.len() - singles, "pair"),
        (random, "random plan"),
    ];
    let some = kinds.into_iter().filter(|(number, _)| *number > 0);
    let some: Vec<_> = some.map(|(number, kind)| count(number, kind)).collect();
    if some.is_empty() {
        "no plan fits these cases and options".to_owned()
    } else {
        some.join(", ")
    }
}

impl Search<'_> {
    /// Runs the plans of cases, and records each.
    ///
    /// # Errors
    /// [`FolderError`] if the journal or a finding cannot be written.
    pub(super) fn explore(
        &self,
        cases: &[Explorable<'_>],
        folder: &mut Folder,
        explored: &mut Explored,
    ) -> Result<(), FolderError> {
        let points: Vec<_> = cases.iter().map(|it| it.points.as_slice()).collect();
        let Wanted { depth, random, .. } = self.wanted;
        let can_inject = |it: &MoveFault| self.runs.is_embedded() || !it.needs_embedded();
        let faults: Vec<MoveFault> = self.wanted.faults.iter().copied().filter(can_inject).collect();
        let seed = self.runs.options().seed;
        let mut plans = space::plans(&points, &faults, *depth, seed);
        let drawn = space::random(&points, &faults, random, seed);
        outln!("search     {}; seed {seed}", kinds(&plans, drawn.len()));
        plans.extend(drawn);
        explored
            .known
            .extend(plans.iter().flat_map(|(_, plan)| plan.covers.clone()));
        explored
            .baseline
            .extend(cases.iter().flat_map(|it| it.transitions.iter().cloned()));
        folder.record_known(&explored.known, &explored.baseline)?;
        let shard = self.wanted.shard;
        let ids = plans
            .iter()
            .map(|(case, plan)| cases[*case].base.plan_id(seed, &plan.moves));
        let of = Digest::of_bytes(ids.collect::<Vec<_>>().join("\n").as_bytes());
        let mine = plans.into_iter().enumerate();
        let mine: Vec<_> = mine
            .filter(|(number, _)| number % shard.of == shard.number - 1)
            .map(|(_, plan)| plan)
            .collect();
        folder.record_part(Part {
            shard,
            of: Some(of),
            plans: mine.len(),
        })?;
        let mut todo = Vec::new();
        for (case, plan) in mine {
            let of = &cases[case];
            let id = of.base.plan_id(self.runs.options().seed, &plan.moves);
            match folder.done(&id) {
                Some(line) => explored.count(line),
                None => todo.push(Todo { of, plan, id }),
            }
        }
        let number = todo.len();
        let most = self.wanted.plans.unwrap_or(usize::MAX).min(number);
        todo.truncate(most);
        let (mut tried, mut shown) = (0, ShownBefore::default());
        let mut told = Instant::now();
        self.run_all(todo, |result| {
            tried += 1;
            let mut line = self.judge(&result, &mut shown, folder)?;
            if let Ok(run) = &result.run {
                let reached = states::transitions(&run.timeline).into_iter();
                line.reached = reached.filter(|it| !explored.baseline.contains(it)).collect();
            }
            explored.count(&line);
            if told.elapsed() >= PROGRESS {
                told = Instant::now();
                errln!("{tried} of {} run", count(most, "plan"));
            }
            folder.record_plan(line)
        })?;
        explored.run += tried;
        explored.left += number - tried;
        Ok(())
    }

    /// Runs plans, several at once, and passes on each result.
    fn run_all<'a>(
        &self,
        plans: Vec<Todo<'a>>,
        mut take: impl FnMut(Tried<'a>) -> Result<(), FolderError>,
    ) -> Result<(), FolderError> {
        let queue = Mutex::new(plans.into_iter());
        let (sender, results) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..self.wanted.jobs.get() {
                let (sender, queue) = (sender.clone(), &queue);
                scope.spawn(move || {
                    while !self.is_over() {
                        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                        let Some(Todo { of, plan, id }) = next else { break };
                        let run = self.runs.run(of.case, &of.base, &plan.moves, &format!("{FOUND}{id}"));
                        // A run that was interrupted has no result; `--resume` runs its plan.
                        if run.is_err() && self.runs.options().interrupt.is_asked() {
                            break;
                        }
                        // Without a receiver the exploration has failed and ends.
                        if sender.send(Tried { of, plan, id, run }).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            results.into_iter().try_for_each(&mut take)
        })
    }

    fn is_over(&self) -> bool {
        self.runs.options().interrupt.is_asked() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// The line of a plan in the journal. A deviation that is new is confirmed, made smaller, written and printed.
    fn judge(&self, tried: &Tried<'_>, before: &mut ShownBefore, folder: &Folder) -> Result<Line, FolderError> {
        let Explorable { case, known, .. } = tried.of;
        let line = |outcome: Outcome, found: Vec<String>| Line {
            plan: tried.id.clone(),
            case: case.id.to_string(),
            moves: tried.plan.moves.iter().map(|(_, it)| it.to_string()).collect(),
            covers: tried.plan.covers.clone(),
            outcome,
            found,
            shrunk: Vec::new(),
            reached: BTreeSet::new(),
        };
        let run = match &tried.run {
            Ok(run) => run,
            Err(error) => {
                let outcome = if error.is_of_time_limit() {
                    Outcome::Inconclusive
                } else {
                    Outcome::Broken
                };
                let reason = error_chain(error);
                before.tell_missing(&reason, tried);
                return Ok(line(outcome, vec![reason]));
            }
        };
        if run.shown.incomplete {
            return Ok(line(Outcome::NotHappened, Vec::new()));
        }
        let listed = |findings: &[Finding]| findings.iter().map(ToString::to_string).collect::<Vec<_>>();
        let is_new = |finding: &&Finding| {
            let signature = Signature::of(finding);
            !known.contains(&signature) && !before.deviations.contains(&signature)
        };
        let new: Vec<&Finding> = run.shown.deviations.iter().filter(is_new).collect();
        if new.is_empty() {
            let is_known = |finding: &Finding| known.contains(&Signature::of(finding));
            let odd: Vec<Finding> = run.shown.leads.iter().filter(|it| !is_known(it)).cloned().collect();
            // Another plan has shown the finding, and it is written already.
            let again = run.shown.deviations.iter().any(|it| !is_known(it));
            for lead in &odd {
                before.tell(lead, tried, &run.timeline, folder)?;
            }
            return Ok(match (again, odd.is_empty() && !run.inconclusive) {
                (true, _) => line(Outcome::Deviates, listed(&run.shown.deviations)),
                (false, true) => line(Outcome::Conforms, Vec::new()),
                (false, false) => line(Outcome::Lead, listed(&odd)),
            });
        }
        let (mut confirmed, mut shrunk) = (Vec::new(), Vec::new());
        for finding in new {
            let signature = Signature::of(finding);
            if !before.deviations.insert(signature.clone()) {
                continue;
            }
            let smallest = self.smallest(tried.of, &tried.plan.moves, &tried.id, &signature);
            let Some(smallest) = smallest else {
                before.deviations.remove(&signature);
                continue;
            };
            confirmed.push(finding.clone());
            shrunk.push(smallest.shrunk);
            self.tell(tried.of, &smallest, finding, folder)?;
        }
        Ok(if confirmed.is_empty() {
            line(Outcome::Lead, vec!["a finding did not come again".to_owned()])
        } else {
            Line {
                shrunk,
                ..line(Outcome::Deviates, listed(&confirmed))
            }
        })
    }

    /// Writes a finding as a case and prints it.
    fn tell(
        &self,
        of: &Explorable<'_>,
        smallest: &Smallest,
        finding: &Finding,
        folder: &Folder,
    ) -> Result<(), FolderError> {
        let Some(invariant) = Signature::of(finding).invariant() else {
            return Ok(());
        };
        let case = of.case;
        let Smallest {
            base,
            moves,
            run,
            shrunk,
        } = smallest;
        let id = base.plan_id(self.runs.options().seed, moves);
        let name = format!("{FOUND}{id}-{}", invariant.name().to_lowercase());
        let comment = [
            format!(
                "Found by baton explore {} in {}, seed {}, and shrunk in {}:",
                env!("CARGO_PKG_VERSION"),
                case.id,
                self.runs.options().seed,
                count(shrunk.runs, "run"),
            ),
            format!("expected {}", finding.expected),
            format!("seen {}", finding.seen),
        ];
        let comment = comment.map(|line| line.replace('\n', " "));
        let requirements = invariant.proves().into_iter();
        let mut needed = requirements.filter_map(|id| self.runs.suite.catalogue.get(&id));
        let title = Title {
            invariant,
            is_covered: needed.all(|requirement| case.features.contains(&requirement.feature)),
            comment: &comment,
        };
        let file = folder.keep(&name, &base.with(&name, moves, Some(&title)), &run.timeline)?;
        let ids: Vec<&str> = finding.requirements.iter().map(RequirementId::as_str).collect();
        outln!("DEVIATES   {} {}: {}", ids.join(", "), invariant.name(), finding.seen);
        outln!("           in {}", case.id);
        for (_, it) in moves {
            outln!("           {it}");
        }
        if shrunk.runs > 0 {
            outln!(
                "           shrunk to {} and {} of {} in {}",
                count(shrunk.moves, "move"),
                shrunk.steps,
                count(shrunk.of_steps, "step"),
                count(shrunk.runs, "run"),
            );
        }
        outln!(
            "           replay: {}",
            self.wanted.again.replay(&file, self.runs.options().seed),
        );
        Ok(())
    }
}
