//! Cases that could not be run, at the end of a run: of those with one reason, only the first is printed in full.

use std::{collections::BTreeMap, fmt};

use crate::show::count;

/// Names of cases that are listed; the others are counted.
const LISTED: usize = 10;

/// Cases that could not be run for the reason of an earlier case.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Repeated<'a> {
    /// First line of the reason. The lines below it differ, for example in ports and times.
    reason: &'a str,
    /// Names of the cases.
    pub(super) cases: Vec<String>,
}

impl<'a> Repeated<'a> {
    /// Groups cases, given by name and reason, by the first line of the reason, and leaves out the first case of each group.
    pub(super) fn of(broken: impl Iterator<Item = (String, &'a str)>) -> Vec<Self> {
        let mut by_reason: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (case, reason) in broken {
            let reason = reason.lines().next().unwrap_or_default();
            by_reason.entry(reason).or_default().push(case);
        }
        by_reason
            .into_iter()
            .map(|(reason, mut cases)| Self {
                reason,
                cases: cases.split_off(1),
            })
            .filter(|it| !it.cases.is_empty())
            .collect()
    }
}

impl fmt::Display for Repeated<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = &self.cases[..self.cases.len().min(LISTED)];
        write!(
            f,
            "--- {} could not be run: {}\n{}",
            count(self.cases.len(), "more case"),
            self.reason,
            listed.join(", ")
        )?;
        match self.cases.len() - listed.len() {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_with_one_reason_are_together() {
        let broken = [
            ("one", "the target ended: webhook\nlisten tcp 127.0.0.1:15001"),
            ("two", "no port is free"),
            ("three", "the target ended: webhook\nlisten tcp 127.0.0.1:15007"),
        ];
        let repeated = Repeated::of(broken.iter().map(|(case, reason)| ((*case).to_owned(), *reason)));
        let printed: Vec<String> = repeated.iter().map(ToString::to_string).collect();
        assert_eq!(
            printed,
            ["--- 1 more case could not be run: the target ended: webhook\nthree"]
        );
    }

    #[test]
    fn of_many_cases_some_are_listed() {
        let broken = (0..20).map(|number| (number.to_string(), "no space left on device"));
        let repeated = Repeated::of(broken);
        let [all] = repeated.as_slice() else {
            panic!("{repeated:?}");
        };
        assert_eq!(all.cases.len(), 19);
        assert_eq!(
            all.to_string(),
            "--- 19 more cases could not be run: no space left on device\n1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 9 more"
        );
    }
}
