//! Versions of an implementation, and ranges of them.

use std::{cmp::Ordering, fmt};

use semver::{Prerelease, Version};
use serde::{Deserialize, Serialize};

/// A range of versions: from one version on, up to but without another one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VersionRange {
    /// First version of the range; `None` for all earlier ones.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text")]
    pub from: Option<Version>,
    /// First version after the range; `None` for all later ones.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text")]
    pub before: Option<Version>,
}

impl VersionRange {
    /// Returns `true` if the range has no bounds.
    pub fn is_all(&self) -> bool {
        self.from.is_none() && self.before.is_none()
    }

    /// Returns `true` if no version is in the range.
    pub fn is_empty(&self) -> bool {
        let bounds = self.from.as_ref().zip(self.before.as_ref());
        bounds.is_some_and(|(from, before)| compare(from, before) != Ordering::Less)
    }

    /// Returns `true` if a version is in the range. A version that is not semantic is only in the range without bounds.
    pub fn contains(&self, version: Option<&Version>) -> bool {
        let Some(version) = version else {
            return self.is_all();
        };
        let starts = |from: &Version| compare(version, from) != Ordering::Less;
        let ends = |before: &Version| compare(version, before) == Ordering::Less;
        self.from.as_ref().is_none_or(starts) && self.before.as_ref().is_none_or(ends)
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.from, &self.before) {
            (None, None) => f.write_str("all versions"),
            (Some(from), None) => write!(f, "from {from}"),
            (None, Some(before)) => write!(f, "before {before}"),
            (Some(from), Some(before)) => write!(f, "from {from}, before {before}"),
        }
    }
}

/// Compares versions. A pre-release counts as its release: v1.19.0-rc.0 has the defects of v1.19.0.
fn compare(one: &Version, other: &Version) -> Ordering {
    let release = |version: &Version| (version.major, version.minor, version.patch);
    release(one).cmp(&release(other))
}

/// Parses the version of an implementation: `v1.18.2`, `1.18`, `v1.19.0-rc.0`. Text after a space is ignored.
pub fn parse(text: &str) -> Option<Version> {
    let text = text.split_whitespace().next()?;
    let text = text.strip_prefix('v').unwrap_or(text);
    if let Ok(version) = Version::parse(text) {
        return Some(version);
    }
    let (major, minor) = text.split_once('.')?;
    Some(Version {
        pre: Prerelease::EMPTY,
        ..Version::new(major.parse().ok()?, minor.parse().ok()?, 0)
    })
}

/// Versions in the text form of reports.
mod text {
    use semver::Version;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    #[expect(clippy::ref_option, reason = "serde calls it")]
    pub(super) fn serialize<S: Serializer>(version: &Option<Version>, serializer: S) -> Result<S::Ok, S::Error> {
        match version {
            Some(version) => serializer.collect_str(version),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Version>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        let version =
            |text: String| super::parse(&text).ok_or_else(|| D::Error::custom(format!("invalid version {text:?}")));
        text.map(version).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(from: &str, before: &str) -> VersionRange {
        VersionRange {
            from: parse(from),
            before: parse(before),
        }
    }

    #[test]
    fn a_range_includes_its_start_and_excludes_its_end() {
        let range = range("v1.16.0", "1.18");
        for (version, is_in) in [
            ("v1.15.9", false),
            ("v1.16.0", true),
            ("1.17.5", true),
            ("v1.18.0-rc.0", false),
            ("v1.18.2", false),
        ] {
            assert_eq!(range.contains(parse(version).as_ref()), is_in, "{version}");
        }
    }

    #[test]
    fn a_pre_release_counts_as_its_release() {
        assert!(range("v1.19.0", "").contains(parse("v1.19.0-rc.0").as_ref()));
    }

    #[test]
    fn a_commit_is_in_no_bounded_range() {
        assert_eq!(parse("f8fdd02d (2026-08-21)"), None);
        assert!(!range("v1.0.0", "").contains(None));
        assert!(VersionRange::default().contains(None));
    }

    #[test]
    fn a_range_that_ends_before_it_starts_is_empty() {
        assert!(range("1.18", "1.18").is_empty());
        assert!(!range("1.18", "1.19").is_empty());
        assert!(!range("1.18", "").is_empty());
    }
}
