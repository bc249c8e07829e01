//! Deviations that are known: what a run may find without anybody being surprised, and what it must still find.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use crate::{
    judge::Verdict,
    names::{CaseId, RequirementId},
};

/// All known deviations of a target.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Baseline {
    /// The target file that it stands in.
    pub file: PathBuf,
    /// The entries, in the order of the file.
    pub entries: Vec<KnownDeviation>,
}

/// A requirement that a target is known not to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownDeviation {
    /// The requirement.
    pub requirement: RequirementId,
    /// Why, or since when, or what was seen.
    pub reason: String,
    /// Where it is discussed.
    pub link: Option<String>,
    /// The cases in which it is known; empty for all. In those that are named, steps that cannot be carried out and
    /// snapshots that differ are put down to it too.
    pub cases: BTreeSet<CaseId>,
    /// Whether it shows in some runs only, such as a race: then a run without it proves nothing, and the entry stays.
    pub sometimes: bool,
    /// Its line in the target file, from 1.
    pub line: usize,
}

impl KnownDeviation {
    fn speaks_of(&self, case: &CaseId) -> bool {
        self.cases.is_empty() || self.cases.contains(case)
    }
}

/// What one case showed, for [`Baseline::outdated`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shown {
    /// Whether everything was as the case says.
    pub conforms: bool,
    /// The requirements that it refuted.
    pub broken: BTreeSet<RequirementId>,
}

impl Baseline {
    /// The entries that a case's deviation is put down to: all of it, or it is not known.
    ///
    /// A finding is known if every requirement that it refutes is in the baseline. One that refutes none, and a
    /// snapshot that differs, are known where an entry names the case.
    pub fn covers(&self, case: &CaseId, verdict: &Verdict, snapshots_differ: bool) -> Option<BTreeSet<RequirementId>> {
        let here: Vec<_> = self.entries.iter().filter(|entry| entry.speaks_of(case)).collect();
        let known: BTreeSet<_> = here.iter().map(|entry| &entry.requirement).collect();
        let named = here.iter().any(|entry| entry.cases.contains(case));
        let all_known = verdict.findings.iter().all(|finding| match finding.requirements.len() {
            0 => named,
            _ => finding.requirements.iter().all(|id| known.contains(id)),
        });
        let broken = verdict.broken();
        let blamed = here
            .iter()
            .filter(|entry| broken.contains(&entry.requirement) || entry.cases.contains(case))
            .map(|entry| entry.requirement.clone());
        (all_known && (named || !snapshots_differ)).then(|| blamed.collect())
    }

    /// The entries that no longer fail: every case that could show it ran, and none did.
    ///
    /// `about` says which cases of the suite are about a requirement, without those that the target does not
    /// support; `shown` what each case showed that was run and judged.
    pub fn outdated<'a>(
        &'a self,
        about: &BTreeMap<RequirementId, BTreeSet<CaseId>>,
        shown: &BTreeMap<CaseId, Shown>,
    ) -> Vec<&'a KnownDeviation> {
        let still_fails = |entry: &KnownDeviation, case: &CaseId| match shown.get(case) {
            // It was not run: perhaps it would.
            None => true,
            Some(shown) if entry.cases.contains(case) => !shown.conforms,
            Some(shown) => shown.broken.contains(&entry.requirement),
        };
        let outdated = |entry: &&KnownDeviation| {
            let of_suite = about.get(&entry.requirement);
            let cases: BTreeSet<_> = of_suite
                .into_iter()
                .flatten()
                .filter(|case| entry.speaks_of(case))
                .collect();
            !cases.is_empty() && !cases.into_iter().any(|case| still_fails(entry, case))
        };
        self.entries
            .iter()
            .filter(|entry| !entry.sometimes)
            .filter(outdated)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::judge::Finding;

    fn baseline(entries: &[(&str, &[&str])]) -> Baseline {
        let entry = |(id, cases): &(&str, &[&str])| KnownDeviation {
            requirement: RequirementId::new(*id),
            reason: "known".to_owned(),
            link: None,
            cases: cases.iter().map(|case| CaseId::new(*case)).collect(),
            sometimes: false,
            line: 1,
        };
        Baseline {
            file: PathBuf::new(),
            entries: entries.iter().map(entry).collect(),
        }
    }

    fn verdict(findings: &[&[&str]]) -> Verdict {
        let finding = |ids: &&[&str]| Finding {
            requirements: ids.iter().map(|id| RequirementId::new(*id)).collect(),
            field: None,
            kind: crate::judge::DifferenceKind::Other,
            title: String::new(),
            step: None,
            expected: String::new(),
            seen: String::new(),
            object: None,
            seq: 1,
            at: Duration::ZERO,
            mismatches: Vec::new(),
        };
        Verdict {
            case: "c".into(),
            findings: findings.iter().map(finding).collect(),
            inconclusive: Vec::new(),
            too_close: false,
            shown: BTreeSet::new(),
            not_judged: BTreeMap::new(),
            warnings: Vec::new(),
            unsupported: None,
            snapshots: Vec::new(),
        }
    }

    fn covered(entries: &[(&str, &[&str])], findings: &[&[&str]], snapshots_differ: bool) -> Option<Vec<String>> {
        let covered = baseline(entries).covers(&"c".into(), &verdict(findings), snapshots_differ);
        covered.map(|ids| ids.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_deviation_is_known_only_as_a_whole() {
        assert_eq!(
            covered(&[("A-1", &[])], &[&["A-1"]], false),
            Some(vec!["A-1".to_owned()])
        );
        assert_eq!(covered(&[("A-1", &[])], &[&["A-1", "B-1"]], false), None);
        assert_eq!(covered(&[("A-1", &[])], &[&["A-1"], &["B-1"]], false), None);
        assert_eq!(covered(&[("A-1", &["other"])], &[&["A-1"]], false), None);
    }

    #[test]
    fn steps_and_snapshots_are_known_where_the_case_is_named() {
        assert_eq!(covered(&[("A-1", &[])], &[&["A-1"], &[]], false), None);
        assert_eq!(covered(&[("A-1", &[])], &[&["A-1"]], true), None);
        assert_eq!(covered(&[("A-1", &["c"])], &[&[]], true), Some(vec!["A-1".to_owned()]));
    }

    #[test]
    fn an_entry_is_outdated_once_every_case_about_it_ran_and_none_breaks_it() {
        let about: BTreeMap<RequirementId, BTreeSet<CaseId>> = [("A-1".into(), ["c".into(), "d".into()].into())].into();
        let fine = Shown {
            conforms: true,
            broken: BTreeSet::new(),
        };
        let breaks = Shown {
            conforms: false,
            broken: ["A-1".into()].into(),
        };
        let other = Shown {
            conforms: false,
            broken: ["B-1".into()].into(),
        };
        let outdated = |cases: &[&str], shown: &[(&str, &Shown)]| {
            let shown = shown
                .iter()
                .map(|(case, it)| (CaseId::new(*case), (*it).clone()))
                .collect();
            baseline(&[("A-1", cases)]).outdated(&about, &shown).len()
        };
        assert_eq!(outdated(&[], &[("c", &fine), ("d", &fine)]), 1);
        assert_eq!(outdated(&[], &[("c", &fine), ("d", &other)]), 1);
        assert_eq!(outdated(&[], &[("c", &fine), ("d", &breaks)]), 0);
        assert_eq!(outdated(&[], &[("c", &fine)]), 0, "d might still break it");
        assert_eq!(outdated(&["c"], &[("c", &fine)]), 1);
        assert_eq!(outdated(&["c"], &[("c", &other)]), 0);
        assert_eq!(baseline(&[("B-2", &[])]).outdated(&about, &BTreeMap::new()).len(), 0);
        let mut race = baseline(&[("A-1", &[])]);
        race.entries[0].sometimes = true;
        let none = [("c".into(), fine.clone()), ("d".into(), fine)].into();
        assert_eq!(race.outdated(&about, &none).len(), 0, "it does not show in every run");
    }
}
