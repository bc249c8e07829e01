//! Compares the types that errors quote with those that clients write.

use std::collections::BTreeSet;
use std::path::Path;

use baton_apimachinery::go_values;
use regex::Regex;

use super::table;

/// Types that are a schema or an alternative, so that clients never write their fields.
const ALTERNATIVES: [&str; 3] = [
    "apiextensions.JSONSchemaPropsOrArray",
    "apiextensions.JSONSchemaPropsOrBool",
    "apiextensions.JSONSchemaPropsOrStringArray",
];

#[test]
fn whatever_is_quoted_has_a_type() {
    let types: BTreeSet<&str> = go_values::all_fields().map(|(name, ..)| name).collect();
    let named = Regex::new(r#"go_values::text\(\s*"([^"]+)""#).expect("an expression");
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![own.join("src"), own.with_file_name("machinery").join("src")];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let source = std::fs::read_to_string(&path).expect("a text");
            for name in named.captures_iter(&source).map(|found| found[1].to_owned()) {
                assert!(types.contains(name.as_str()), "{name} in {}", path.display());
                count += 1;
            }
        }
    }
    assert!(count > 10, "{count}");
}

#[test]
fn clients_have_a_name_for_every_field() {
    let known = |name: &str, member: &str| {
        [
            "core.v1",
            "batch.v1",
            "apiextensions.v1",
            "apps.v1",
            "authorization.v1",
            "autoscaling.v2",
            "networking.v1",
            "policy.v1",
            "rbac.v1",
            "storage.v1",
        ]
        .iter()
        .any(|package| {
            let versioned = table::TYPES.named(&format!("{package}.{name}"));
            versioned.is_some_and(|of| table::TYPES.get(of).members.contains_key(member))
        })
    };
    let mut unknown = Vec::new();
    for (name, field, member) in go_values::all_fields() {
        let (package, short) = name.split_once('.').expect("a package");
        let own = package == "v1"
            || ALTERNATIVES.contains(&name)
            || short == "PodSecurityContext"
            || short.ends_with("Status");
        if field != "-" && !own && !known(short, member) {
            unknown.push(format!("{name}.{field} as {member}"));
        }
    }
    unknown.sort();
    assert_eq!(unknown, Vec::<String>::new());
}
