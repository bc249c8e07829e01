//! The places of an object, as texts: `spec.clusters[0].name`, `metadata.labels["a.b/c"]`.

/// The place of a member.
pub fn join(path: &str, key: &str) -> String {
    let plain = key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    match (path.is_empty(), plain) {
        (true, true) => key.to_owned(),
        (false, true) => format!("{path}.{key}"),
        (_, false) => format!("{path}[{key:?}]"),
    }
}

/// The keys of a place, from the root on; the numbers of elements are left out.
///
/// ```
/// use baton_core::pattern::path::keys;
/// assert_eq!(keys(r#"metadata.labels["a.b/c"]"#), ["metadata", "labels", "a.b/c"]);
/// assert_eq!(keys("spec.clusters[0].name"), ["spec", "clusters", "name"]);
/// ```
pub fn keys(path: &str) -> Vec<String> {
    let mut keys = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        rest = if let Some(quoted) = rest.strip_prefix("[\"") {
            let (key, behind) = quoted.split_once("\"]").unwrap_or((quoted, ""));
            keys.push(key.to_owned());
            behind
        } else if let Some(number) = rest.strip_prefix('[') {
            number.split_once(']').map_or("", |(_, behind)| behind)
        } else {
            let plain = rest.strip_prefix('.').unwrap_or(rest);
            let end = plain.find(['.', '[']).unwrap_or(plain.len());
            if end > 0 {
                keys.push(plain[..end].to_owned());
            }
            &plain[end..]
        };
    }
    keys
}
