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

/// Maps whose keys users choose.
const MAPS: [&str; 7] = [
    "annotations",
    "data",
    "labels",
    "matchLabels",
    "nodeSelector",
    "preservedLabelState",
    "stringData",
];

/// The field at a place, written the same way for every case: no numbers of elements, no keys that users choose, no names
/// of clusters or roles. An element as a whole counts for its list.
///
/// ```
/// use baton_core::pattern::path::field;
/// let field = |path| field(path, &|key| key == "member1");
/// assert_eq!(field("spec.clusters[0].name"), "spec.clusters[].name");
/// assert_eq!(field("spec.clusters[1]"), "spec.clusters");
/// assert_eq!(field(r#"metadata.labels["a.b/c"]"#), "metadata.labels[]");
/// assert_eq!(field("metadata.labels.app"), "metadata.labels[]");
/// assert_eq!(field("status.member1.health"), "status[].health");
/// ```
pub fn field(path: &str, is_name: &dyn Fn(&str) -> bool) -> String {
    let mut field = String::new();
    let mut last = String::new();
    let mut rest = path;
    let mut ends_with_number = false;
    while !rest.is_empty() {
        ends_with_number = false;
        if let Some(quoted) = rest.strip_prefix("[\"") {
            let (_, behind) = quoted.split_once("\"]").unwrap_or((quoted, ""));
            field.push_str("[]");
            last.clear();
            rest = behind;
        } else if let Some(number) = rest.strip_prefix('[') {
            field.push_str("[]");
            ends_with_number = true;
            rest = number.split_once(']').map_or("", |(_, behind)| behind);
        } else {
            let plain = rest.strip_prefix('.').unwrap_or(rest);
            let end = plain.find(['.', '[']).unwrap_or(plain.len());
            let key = &plain[..end];
            if MAPS.contains(&last.as_str()) || is_name(key) {
                field.push_str("[]");
                last.clear();
            } else {
                if !field.is_empty() {
                    field.push('.');
                }
                field.push_str(key);
                key.clone_into(&mut last);
            }
            rest = &plain[end..];
        }
    }
    if ends_with_number {
        field.truncate(field.len().saturating_sub(2));
    }
    field
}
