//! Commands that repeat a part of a run, for users to copy.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use baton_core::{case::model::Case, names::CaseId};

use crate::files::Roots;

/// The suite, the target and the files of cases that commands about a run have to name.
#[derive(Debug, Clone, Default)]
pub struct FollowUp {
    root: Option<PathBuf>,
    target: Option<PathBuf>,
    /// Files of those cases that are not below the suite's `cases/`, where `baton` finds a case by its name.
    files: BTreeMap<CaseId, PathBuf>,
}

impl FollowUp {
    /// The commands about a run of these cases against the implementation of a target file.
    pub fn new(roots: &Roots, target: Option<PathBuf>, cases: &[Case]) -> Self {
        let elsewhere = |case: &&Case| {
            let name = roots.name_of(&case.file);
            name.is_none_or(|name| !name.starts_with("cases/"))
        };
        let files = cases.iter().filter(elsewhere);
        Self {
            root: (roots.folder() != Path::new(".")).then(|| roots.folder().to_owned()),
            target,
            files: files.map(|case| (case.id.clone(), case.file.clone())).collect(),
        }
    }

    /// The command that runs a case. `option` comes before the case, such as `--accept-snapshots`.
    pub(super) fn run(&self, option: Option<&str>, case: &CaseId) -> String {
        let mut words = vec!["baton run".to_owned()];
        words.extend(option.map(ToOwned::to_owned));
        match self.files.get(case) {
            None => words.push(case.to_string()),
            Some(file) => {
                words.push(quoted(file));
                // The file has several scenarios.
                if file.file_stem().is_none_or(|stem| stem != case.as_str()) {
                    words.push(format!("--filter {case}"));
                }
            }
        }
        words.extend(self.options());
        words.join(" ")
    }

    /// The command that judges the timeline of a case again.
    pub(super) fn judge(&self, timeline: &Path, case: &CaseId) -> String {
        let mut words = vec![format!("baton judge {}", quoted(timeline))];
        words.extend(self.options());
        words.extend(self.files.get(case).map(|file| format!("--case {}", quoted(file))));
        words.join(" ")
    }

    /// The command that runs the case that an exploration wrote to a file, with the seed of the exploration.
    pub fn replay(&self, file: &Path, seed: u64) -> String {
        let mut words = vec![format!("baton run {} --seed {seed}", quoted(file))];
        words.extend(self.options());
        words.extend(self.target.as_ref().map(|_| "--no-preflight".to_owned()));
        words.join(" ")
    }

    fn options(&self) -> impl Iterator<Item = String> {
        let options = [("--root", &self.root), ("--target", &self.target)];
        options
            .into_iter()
            .filter_map(|(name, path)| Some(format!("{name} {}", quoted(path.as_ref()?))))
    }
}

/// A path as a word of a shell command.
pub fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    match shlex::try_quote(&path) {
        Ok(word) => word.into_owned(),
        // It contains a null character, which no shell accepts.
        Err(_) => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(root: &str, files: &[(&str, &str)]) -> FollowUp {
        let roots = Roots::of(Path::new(root));
        FollowUp {
            files: files
                .iter()
                .map(|(case, file)| (CaseId::new(*case), PathBuf::from(file)))
                .collect(),
            ..FollowUp::new(&roots, Some("mine.yaml".into()), &[])
        }
    }

    #[test]
    fn a_case_of_the_suite_is_named_and_another_has_its_file() {
        let here = about(
            ".",
            &[("other", "elsewhere/other.yaml"), ("both-b", "elsewhere/both.yaml")],
        );
        let case = |name| CaseId::new(name);
        assert_eq!(here.run(None, &case("one")), "baton run one --target mine.yaml");
        assert_eq!(
            here.run(None, &case("other")),
            "baton run elsewhere/other.yaml --target mine.yaml"
        );
        assert_eq!(
            here.run(None, &case("both-b")),
            "baton run elsewhere/both.yaml --filter both-b --target mine.yaml"
        );
        assert_eq!(
            here.judge(Path::new("other.jsonl"), &case("other")),
            "baton judge other.jsonl --target mine.yaml --case elsewhere/other.yaml"
        );
    }

    #[test]
    fn paths_with_spaces_are_quoted() {
        let there = about("my suite", &[("one", "my cases/one.yaml")]);
        assert_eq!(
            there.judge(Path::new("last run/one.jsonl"), &CaseId::new("one")),
            "baton judge 'last run/one.jsonl' --root 'my suite' --target mine.yaml --case 'my cases/one.yaml'"
        );
    }

    #[test]
    fn a_finding_is_replayed_with_the_same_seed_and_target() {
        assert_eq!(
            about("suite", &[]).replay(Path::new("out/finding.yaml"), 7),
            "baton run out/finding.yaml --seed 7 --root suite --target mine.yaml --no-preflight"
        );
        assert_eq!(
            FollowUp::default().replay(Path::new("out/finding.yaml"), 0),
            "baton run out/finding.yaml --seed 0"
        );
    }

    #[test]
    fn another_root_is_named() {
        let there = about("suite", &[]);
        let case = CaseId::new("one");
        assert_eq!(
            there.run(Some("--accept-snapshots"), &case),
            "baton run --accept-snapshots one --root suite --target mine.yaml"
        );
        assert_eq!(
            there.judge(Path::new("one.jsonl"), &case),
            "baton judge one.jsonl --root suite --target mine.yaml"
        );
    }
}
