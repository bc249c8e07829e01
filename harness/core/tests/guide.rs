//! The guide to the language, `cases/README.md`: its examples are read as cases are, and nothing of the language is
//! missing from it.

#![expect(clippy::unwrap_used, reason = "what fails here fails a test")]

mod common;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::Path,
};

use baton_core::{
    case::file::CASE,
    catalogue::Catalogue,
    names::RequirementId,
    schema,
    yaml::{
        self,
        shape::{Field, Holds, Shape},
    },
};
use serde_json::Value;

/// Place and content of an example.
struct Example {
    line: usize,
    text: String,
}

impl Example {
    /// Examples are whole files, or a list of steps.
    fn is_file(&self) -> bool {
        self.text.contains("kind: Case")
    }
}

fn guide() -> String {
    fs::read_to_string(common::root().join("cases/README.md")).unwrap()
}

fn catalogue() -> Catalogue {
    Catalogue::parse(include_str!("../../../cases/requirements.yaml")).unwrap()
}

/// The blocks of the guide that are marked as YAML.
fn examples(guide: &str) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    let mut open = false;
    for (number, line) in guide.lines().enumerate() {
        match (open, line) {
            (false, "```yaml") => {
                open = true;
                found.push(Example {
                    line: number + 1,
                    text: String::new(),
                });
            }
            (true, "```") => open = false,
            (true, line) => {
                if let Some(example) = found.last_mut() {
                    writeln!(example.text, "{line}").unwrap();
                }
            }
            (false, _) => {}
        }
    }
    found
}

/// A case around steps: with the roles that they speak of, and about what they prove.
fn around(steps: &str, catalogue: &Catalogue) -> String {
    let value = yaml::parse(Path::new("steps.yaml"), steps.as_bytes())
        .unwrap()
        .0
        .value();
    let mut proved = BTreeSet::from(["POL-01".to_owned()]);
    let mut bound = BTreeSet::new();
    collect(&value, &mut proved, &mut bound);
    let features: BTreeSet<_> = proved
        .iter()
        .map(|id| {
            catalogue
                .get(&RequirementId::new(id.clone()))
                .unwrap()
                .feature
                .to_string()
        })
        .collect();
    let (proved, features): (Vec<_>, Vec<_>) = (proved.iter().collect(), features.iter().collect());
    let workload = "{kind: Deployment, name: deploy}";
    let mut text = format!(
        "apiVersion: baton.dev/v1alpha1\nkind: Case\nmetadata: {{name: example}}\nspec:\n  title: An example\n  \
         requirements: {proved:?}\n  features: {features:?}\n  steps:\n  \
         - assert: {{mode: now, of: {{bindingOf: {workload}}}, present: true, proves: POL-01}}\n"
    );
    for role in ["origin", "destination"] {
        if !bound.contains(role) {
            writeln!(text, "  - bindRole: {{role: {role}, from: {workload}}}").unwrap();
        }
    }
    for line in steps.lines() {
        writeln!(text, "  {line}").unwrap();
    }
    text
}

/// Collects the requirements that steps prove, and the roles that they bind.
fn collect(value: &Value, proved: &mut BTreeSet<String>, bound: &mut BTreeSet<String>) {
    let texts = |value: &Value| match value {
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect(),
        other => other.as_str().map(ToOwned::to_owned).into_iter().collect::<Vec<_>>(),
    };
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, proved, bound)),
        Value::Object(members) => {
            for (key, member) in members {
                match key.as_str() {
                    "proves" => proved.extend(texts(member)),
                    "bindRole" => bound.extend(member["role"].as_str().map(ToOwned::to_owned)),
                    _ => collect(member, proved, bound),
                }
            }
        }
        _ => {}
    }
}

#[test]
fn every_example_is_read_as_a_case() {
    let catalogue = catalogue();
    let examples = examples(&guide());
    assert!(examples.len() > 10, "only {} examples", examples.len());
    for example in examples {
        let text = if example.is_file() {
            example.text
        } else {
            around(&example.text, &catalogue)
        };
        if let Err(found) = common::read_bytes(Path::new("example.yaml"), text.as_bytes()) {
            let found = common::lines(&found);
            panic!(
                "the example in line {} of cases/README.md is wrong:\n{found}\n\n{text}",
                example.line
            );
        }
    }
}

/// The parts of the language that the examples use, and all parts.
#[derive(Default)]
struct Language {
    /// Every field of every shape, by the names of both, and whether an example has it.
    fields: BTreeMap<(&'static str, &'static str), bool>,
    /// Texts of which a field holds one.
    words: BTreeSet<&'static str>,
    /// Keys of maps in patterns.
    pattern_keys: BTreeSet<String>,
}

impl Language {
    /// Takes in what a shape may hold.
    fn learn(&mut self, shape: &'static Shape) {
        if !shape.fields.is_empty() && self.fields.contains_key(&(shape.name, shape.fields[0].name)) {
            return;
        }
        self.learn_fields(shape.name, shape.fields);
    }

    fn learn_fields(&mut self, of: &'static str, fields: &'static [Field]) {
        for field in fields {
            self.fields.insert((of, field.name), false);
        }
        for field in fields {
            self.learn_holds(&field.holds);
        }
    }

    fn learn_holds(&mut self, holds: &Holds) {
        match holds {
            Holds::OneOf(words) => self.words.extend(words()),
            Holds::List(item) | Holds::OneOrMore(item) | Holds::Named(item) => self.learn_holds(item),
            Holds::Either(several) => several().iter().for_each(|one| self.learn_holds(one)),
            Holds::Map(shape) => self.learn(shape),
            Holds::Tagged(tagged) => {
                for (tag, fields) in tagged.shapes {
                    self.fields.insert((tagged.what, tag), false);
                    self.learn_fields(tag, fields);
                }
            }
            Holds::Constant(_)
            | Holds::Text
            | Holds::Like(_)
            | Holds::Boolean
            | Holds::Count(..)
            | Holds::Positive
            | Holds::Time
            | Holds::Scalar
            | Holds::Requirement
            | Holds::Feature
            | Holds::Object
            | Holds::Pattern
            | Holds::Anything => {}
        }
    }

    /// Notes what an example uses of a shape.
    fn see(&mut self, shape: &'static Shape, value: &Value) {
        self.see_fields(shape.name, shape.fields, value);
    }

    fn see_fields(&mut self, of: &'static str, fields: &'static [Field], value: &Value) {
        for field in fields {
            if let Some(value) = value.get(field.name) {
                self.fields.insert((of, field.name), true);
                self.see_holds(&field.holds, value);
            }
        }
    }

    fn see_holds(&mut self, holds: &Holds, value: &Value) {
        match (holds, value) {
            (Holds::Pattern, value) => self.see_pattern(value),
            (Holds::List(item) | Holds::OneOrMore(item), Value::Array(items)) => {
                for value in items {
                    self.see_holds(item, value);
                }
            }
            (Holds::OneOrMore(item), value) => self.see_holds(item, value),
            (Holds::Named(item), Value::Object(members)) => {
                members.values().for_each(|value| self.see_holds(item, value));
            }
            (Holds::Either(several), value) => several().iter().for_each(|one| self.see_holds(one, value)),
            (Holds::Map(shape), value) => self.see(shape, value),
            (Holds::Tagged(tagged), value) => {
                for (tag, fields) in tagged.shapes {
                    if value[tagged.key] == **tag {
                        self.fields.insert((tagged.what, tag), true);
                        self.see_fields(tag, fields, value);
                    }
                }
            }
            _ => {}
        }
    }

    fn see_pattern(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.see_pattern(item)),
            Value::Object(members) => {
                for (key, member) in members {
                    self.pattern_keys.insert(key.clone());
                    self.see_pattern(member);
                }
            }
            _ => {}
        }
    }
}

/// The names of matchers, as the schema has them.
fn matchers() -> BTreeSet<String> {
    fn properties(schema: &Value, found: &mut BTreeSet<String>) {
        match schema {
            Value::Array(items) => items.iter().for_each(|item| properties(item, found)),
            Value::Object(members) => {
                for (key, member) in members {
                    match (key.as_str(), member) {
                        ("properties", Value::Object(members)) => found.extend(members.keys().cloned()),
                        _ => properties(member, found),
                    }
                }
            }
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    properties(&schema::of_cases(&catalogue())["definitions"]["pattern"], &mut found);
    found
}

#[test]
fn nothing_of_the_language_is_without_an_example() {
    let guide = guide();
    let mut language = Language::default();
    language.learn(&CASE);
    for example in examples(&guide) {
        let text = if example.is_file() {
            example.text
        } else {
            around(&example.text, &catalogue())
        };
        let (node, _) = yaml::parse(Path::new("example.yaml"), text.as_bytes()).unwrap();
        language.see(&CASE, &node.value());
    }
    let unused: Vec<_> = language
        .fields
        .iter()
        .filter(|(_, used)| !**used)
        .map(|((of, field), _)| format!("{of}: {field}"))
        .collect();
    assert!(
        unused.is_empty(),
        "add an example to cases/README.md for each of {unused:#?}"
    );
    let matchers = matchers();
    assert!(matchers.contains("contains"), "{matchers:?}");
    let unused: Vec<_> = matchers.difference(&language.pattern_keys).collect();
    assert!(
        unused.is_empty(),
        "add an example to cases/README.md for the matchers {unused:?}"
    );
    let unsaid: Vec<_> = language
        .words
        .iter()
        .filter(|word| !guide.contains(&format!("`{word}`")) && !guide.contains(&format!(": {word}")))
        .collect();
    assert!(unsaid.is_empty(), "cases/README.md does not mention {unsaid:?}");
}
