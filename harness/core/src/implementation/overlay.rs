//! `spec.versions` of a target file: differences between versions of the implementation.
//!
//! Each entry has a range of versions and a partial `spec`. The entries whose range contains the version of the
//! implementation are merged into the `spec` of the file before it is read: maps are merged, lists are appended to,
//! other values are replaced. Items of a list that are maps with the same `name` are merged.

use semver::Version;

use super::{shapes, template::Template, versions, versions::VersionRange};
use crate::yaml::{
    Data, Node,
    decode::{Decoder, Fields},
};

/// Merges the entries of `spec.versions` that apply into the rest of `spec`. Returns the version of the implementation,
/// if it is a semantic version.
pub(super) fn apply(
    spec: &mut Node,
    variable: &dyn Fn(&str) -> Option<String>,
    decoder: &mut Decoder,
) -> Option<Version> {
    let text = resolve(spec, variable, decoder)?;
    let version = versions::parse(&text);
    let entries = take(spec, "versions")?;
    if version.is_none() {
        let message = format!("`versions` needs a semantic version of the implementation, not `{text}`");
        let help = "write `spec.implementation.version` as in v1.18.2; text after a space is a remark";
        decoder.error(&entries, message, help);
        return None;
    }
    for entry in decoder.list(&entries, "versions") {
        let Some(fields) = decoder.shape(entry, &shapes::VERSION) else {
            continue;
        };
        let range = range(entry, &fields, decoder);
        if let Some(patch) = fields.get("spec").filter(|_| range.contains(version.as_ref())) {
            lay(spec, patch);
        }
    }
    version
}

/// Fills in the variables of `implementation.version` and returns its text.
fn resolve(spec: &mut Node, variable: &dyn Fn(&str) -> Option<String>, decoder: &mut Decoder) -> Option<String> {
    let node = spec.get_mut("implementation")?.get_mut("version")?;
    let Data::Scalar { text, .. } = &node.data else {
        return None;
    };
    let template = Template::parse(text).ok()?;
    let mut values = Vec::new();
    for place in template.places() {
        let Some(name) = place.strip_prefix("env.") else {
            decoder.error(
                node,
                format!("unknown place `{place}`"),
                "{{env.NAME}} stands for a variable of the environment",
            );
            return None;
        };
        let Some(value) = variable(name).filter(|value| !value.is_empty()) else {
            let help = format!("it names the version of the implementation: export {name}=v1.2.3");
            decoder.error(node, format!("the environment variable {name} is not set"), help);
            return None;
        };
        values.push((place.to_owned(), value));
    }
    let values: Vec<(&str, &str)> = values
        .iter()
        .map(|(place, value)| (place.as_str(), value.as_str()))
        .collect();
    let text = template.fill(&values);
    node.data = Data::Scalar {
        text: text.clone(),
        plain: false,
    };
    Some(text)
}

/// Reads the bounds `from` and `before`.
pub(super) fn range(node: &Node, fields: &Fields<'_>, decoder: &mut Decoder) -> VersionRange {
    let mut bound = |name: &str| {
        let node = fields.get(name)?;
        let text = decoder.text(node, name)?;
        let version = versions::parse(&text);
        if version.is_none() {
            decoder.error(node, format!("`{text}` is not a version"), "write it as in v1.18.0");
        }
        version
    };
    let range = VersionRange {
        from: bound("from"),
        before: bound("before"),
    };
    if range.is_empty() {
        let help = "`from` is the first version of the range, `before` the first one after it";
        decoder.error(node, format!("no version is in the range: {range}"), help);
    }
    range
}

/// Removes a member of a map.
fn take(node: &mut Node, name: &str) -> Option<Node> {
    let Data::Map(members) = &mut node.data else {
        return None;
    };
    let index = members.iter().position(|(key, _)| key.key() == name)?;
    Some(members.remove(index).1)
}

/// Merges a node into another one.
fn lay(base: &mut Node, patch: &Node) {
    match (&mut base.data, &patch.data) {
        (Data::Map(members), Data::Map(patches)) => {
            for (key, value) in patches {
                match members.iter_mut().find(|(known, _)| known.key() == key.key()) {
                    Some((_, known)) => lay(known, value),
                    None => members.push((key.clone(), value.clone())),
                }
            }
        }
        (Data::List(items), Data::List(patches)) => {
            for patch in patches {
                let name = patch.get("name").map(Node::key);
                let same = |item: &&mut Node| name.is_some() && item.get("name").map(Node::key) == name;
                match items.iter_mut().find(same) {
                    Some(item) => lay(item, patch),
                    None => items.push(patch.clone()),
                }
            }
        }
        _ => *base = patch.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::*;
    use crate::yaml::parse;

    fn laid(version: &str, text: &str) -> Result<Value, String> {
        let file = Path::new("target.yaml");
        let (mut spec, _) = parse(file, text.as_bytes()).unwrap();
        let mut decoder = Decoder::new(file);
        apply(
            &mut spec,
            &|name| (name == "V").then(|| version.to_owned()),
            &mut decoder,
        );
        let found = decoder.into_diagnostics();
        if found.is_empty() {
            Ok(spec.value())
        } else {
            Err(found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
        }
    }

    const SPEC: &str = "
implementation: {version: '{{env.V}}'}
features: [A]
run: {exec: [{name: manager, args: [--x]}]}
versions:
- from: v1.16.0
  spec: {features: [B], run: {exec: [{name: manager, args: [--rate]}]}, metrics: {url: u}}
- before: v1.16.0
  spec: {features: [C]}
";

    #[test]
    fn entries_that_hold_are_laid_over_the_rest() {
        let manager = |args: &[&str]| json!({"exec": [{"name": "manager", "args": args}]});
        let new = laid("v1.16.2", SPEC).unwrap();
        assert_eq!(new["features"], json!(["A", "B"]));
        assert_eq!(new["run"], manager(&["--x", "--rate"]));
        assert_eq!(new["metrics"], json!({"url": "u"}));
        assert_eq!(new["implementation"]["version"], "v1.16.2");
        let old = laid("v1.15.9", SPEC).unwrap();
        assert_eq!(
            (&old["features"], &old["run"]),
            (&json!(["A", "C"]), &manager(&["--x"]))
        );
    }

    #[test]
    fn invalid_ranges_and_versions_have_a_place_and_a_remedy() {
        let error = laid("f8fdd02d", SPEC).unwrap_err();
        assert!(
            error.starts_with("target.yaml:6:3: `versions` needs a semantic version"),
            "{error}"
        );
        let error = laid("", SPEC).unwrap_err();
        assert!(error.contains("the environment variable V is not set"), "{error}");
        let empty = "implementation: {version: v1.0.0}\nversions:\n- {from: v2.0, before: v1.0, spec: {}}";
        let error = laid("", empty).unwrap_err();
        assert!(
            error.contains("no version is in the range: from 2.0.0, before 1.0.0"),
            "{error}"
        );
        let error = laid("", &empty.replace("v2.0", "two")).unwrap_err();
        assert!(error.contains("`two` is not a version"), "{error}");
    }
}
