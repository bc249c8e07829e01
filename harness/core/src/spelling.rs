//! Suggestions for misspelt names.

use std::collections::BTreeSet;

/// Returns the nearest of the possible names, if one is near enough to be the intended one.
pub fn nearest<'a>(name: &str, possible: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const NEAR_ENOUGH: f64 = 0.75;
    const LONGEST: usize = 64;
    if name.len() > LONGEST {
        return None;
    }
    possible
        .into_iter()
        .map(|candidate| {
            (
                strsim::jaro_winkler(&name.to_lowercase(), &candidate.to_lowercase()),
                candidate,
            )
        })
        .filter(|(score, _)| *score >= NEAR_ENOUGH)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

/// Returns `true` if two names differ by one letter at most, or by two that are swapped; capitals do not count.
pub fn nearly_same(one: &str, other: &str) -> bool {
    strsim::osa_distance(&one.to_lowercase(), &other.to_lowercase()) <= 1
}

/// Returns the possible names in words, with the nearest first if there is one.
pub fn suggestion<'a>(name: &str, possible: impl IntoIterator<Item = &'a str> + Clone) -> String {
    const MANY: usize = 16;
    if let Some(near) = nearest(name, possible.clone()) {
        return format!("did you mean `{near}`?");
    }
    let mut seen = BTreeSet::new();
    let all: Vec<_> = possible.into_iter().filter(|name| seen.insert(*name)).collect();
    match all.len() {
        0 => "there are none".to_owned(),
        1..=MANY => format!("expected one of {}", all.join(", ")),
        more => format!("expected one of {}, … ({more} in total)", all[..MANY].join(", ")),
    }
}

/// Returns the same for a file, which may have a similar name or lie in another folder.
pub fn file_suggestion<'a>(path: &str, possible: impl IntoIterator<Item = &'a str> + Clone) -> String {
    let files = || possible.clone().into_iter();
    let meant = nearest(stem(path), files().map(stem));
    let elsewhere = meant.and_then(|meant| files().find(|file| stem(file) == meant));
    match nearest(path, possible.clone()).or(elsewhere) {
        Some(near) => format!("did you mean `{near}`?"),
        None => suggestion(path, possible),
    }
}

/// Returns the file name without its extension, which many files share.
fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.split_once('.').map_or(name, |(stem, _)| stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_looked_for_in_other_folders_too() {
        let there = ["crds/works.yaml", "flink/foo.yaml", "workloads/deploy.yaml"];
        let help = |path| file_suggestion(path, there);
        assert_eq!(help("flink/fo.yaml"), "did you mean `flink/foo.yaml`?");
        assert_eq!(help("app/deployment.yaml"), "did you mean `workloads/deploy.yaml`?");
        assert_eq!(
            help("simulator/rules.yaml"),
            "expected one of crds/works.yaml, flink/foo.yaml, workloads/deploy.yaml"
        );
    }
}
