//! References of images such as `registry.example/team/app:1.2`.

/// Longest name, with its registry.
const MAX_NAME: usize = 255;
const MAX_TAG: usize = 128;
/// A name without a registry is one of these, without a folder in the second part as well.
const DEFAULT_REGISTRY: &str = "docker.io";
const DEFAULT_FOLDER: &str = "library";

/// Whether a reference means the newest image: it is one, without a tag or with `latest`, and no digest fixes it.
pub(super) fn is_latest(reference: &str) -> bool {
    let (rest, digest) = match reference.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (reference, None),
    };
    let (name, tag) = match rest.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
        _ => (rest, None),
    };
    let is_right = is_name(name) && tag.is_none_or(is_tag) && digest.is_none_or(is_digest);
    is_right && tag.map_or(digest.is_none(), |tag| tag == "latest")
}

fn is_name(name: &str) -> bool {
    let is_registry = |first: &str| {
        first == "localhost" || first.contains(['.', ':']) || first.bytes().any(|byte| byte.is_ascii_uppercase())
    };
    let (registry, path) = match name.split_once('/') {
        Some((first, path)) if is_registry(first) => (first, path.to_owned()),
        Some(_) => (DEFAULT_REGISTRY, name.to_owned()),
        None => (DEFAULT_REGISTRY, format!("{DEFAULT_FOLDER}/{name}")),
    };
    let is_identifier = name.len() == 64 && name.bytes().all(is_hex);
    !is_identifier
        && is_host(registry)
        && path.split('/').all(is_component)
        && registry.len() + 1 + path.len() <= MAX_NAME
}

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'a'..=b'f')
}

fn is_host(registry: &str) -> bool {
    let (host, port) = match registry.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (registry, None),
    };
    let is_part = |part: &str| {
        let is_known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !part.is_empty() && part.bytes().all(is_known) && !part.starts_with('-') && !part.ends_with('-')
    };
    let is_number = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    host.split('.').all(is_part) && port.is_none_or(is_number)
}

/// Small letters and digits, with `.`, `_`, `__` or any number of `-` between them.
fn is_component(component: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let is_framed = component.starts_with(is_plain) && component.ends_with(is_plain);
    is_framed
        && component
            .split(is_plain)
            .all(|between| matches!(between, "" | "." | "_" | "__") || between.bytes().all(|byte| byte == b'-'))
}

fn is_tag(tag: &str) -> bool {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let is_known = |letter: char| is_word(letter) || matches!(letter, '.' | '-');
    tag.len() <= MAX_TAG && tag.starts_with(is_word) && tag.chars().all(is_known)
}

fn is_digest(digest: &str) -> bool {
    digest
        .split_once(':')
        .is_some_and(|(algorithm, sum)| !algorithm.is_empty() && sum.len() >= 32 && sum.bytes().all(is_hex))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_image_is_meant_by_no_tag_and_by_latest() {
        for reference in ["nginx", "nginx:latest", "localhost:5000/a/b", "example.com/a__b/c--d"] {
            assert!(is_latest(reference), "{reference}");
        }
        let fixed = format!("nginx@sha256:{}", "a".repeat(64));
        for reference in [
            "nginx:1",
            "Nginx",
            "a=b",
            "/a",
            "-1",
            "a___b",
            "",
            &"a".repeat(260),
            &fixed,
        ] {
            assert!(!is_latest(reference), "{reference}");
        }
    }
}
