//! Rules of the workload simulator that do nothing, and statuses that no rule writes.

use std::collections::BTreeSet;

use baton_cluster::simulator::rules::KindRef;
use baton_core::{
    case::model::{Action, Case, Subject},
    spelling::suggestion,
    yaml::{Data, Diagnostic, Node},
};
use serde_json::Value;

use super::{
    definitions::Definitions,
    paths::{self, text},
    place::{Part, Segment, Sources},
    policies::applied,
};
use crate::files::Roots;

/// The folder with the rules.
const RULES: &str = "fixtures/simulator";

/// File with rules for a kind.
struct RuleFile {
    /// Its name in the suite.
    name: String,
    kind: KindRef,
    /// Set if a rule writes the status.
    writes_status: bool,
    /// Place of the kind's name.
    resource: Node,
}

/// Files with rules: those of the program with the user's laid over them.
pub(super) struct RuleFiles {
    files: Vec<RuleFile>,
}

impl RuleFiles {
    /// Reads the files. Those that cannot be read are left out; reading the rules reports them.
    pub(super) fn read(roots: &Roots, sources: &Sources<'_>) -> Self {
        let names = roots.yaml_below(RULES).unwrap_or_default();
        let files = names.into_iter().filter_map(|name| {
            let documents = sources.documents(&roots.path(&name));
            rule_file(name, documents.first()?)
        });
        Self { files: files.collect() }
    }

    fn writes_status(&self, kind: &KindRef) -> bool {
        self.files.iter().any(|file| file.kind == *kind && file.writes_status)
    }

    /// Returns warnings about files of the user that replace a file of the program for another kind, or that are for an
    /// undefined kind.
    pub(super) fn warnings(&self, roots: &Roots, sources: &Sources<'_>, cases: &[Case]) -> Vec<Diagnostic> {
        let mut known = Definitions::bundled().clone();
        for name in roots.own_yaml_below("fixtures").unwrap_or_default() {
            for document in sources.documents(&roots.path(&name)).iter() {
                known.add(&document.value());
            }
        }
        for case in cases {
            known = known.with_those_of(case);
        }
        let own = roots.own_yaml_below(RULES).unwrap_or_default();
        let mut found = Vec::new();
        for file in self.files.iter().filter(|file| own.contains(&file.name)) {
            let mut tell = |message: String, help: String| {
                found.push(Diagnostic {
                    file: roots.path(&file.name),
                    line: file.resource.line,
                    column: file.resource.column,
                    span: file.resource.span.clone(),
                    message,
                    help: Some(help),
                });
            };
            let KindRef { api_version, kind } = &file.kind;
            if let Some(bundled) = bundled(&file.name).filter(|it| *it != file.kind) {
                let message = format!(
                    "this file takes the place of the bundled rules for {}, which has the same name",
                    bundled.kind
                );
                tell(message, "give it another name".to_owned());
            }
            if file.kind.is_custom() && !known.has(file.kind.group(), kind) {
                let kinds = known.kinds_of(file.kind.group());
                let help = if kinds.is_empty() {
                    "`resource` takes the group, the version and the kind of a CustomResourceDefinition".to_owned()
                } else {
                    suggestion(kind, kinds)
                };
                tell(format!("no definition has the kind {kind} of {api_version}"), help);
            }
        }
        found
    }
}

/// Returns the kind of the program's file of this name.
fn bundled(name: &str) -> Option<KindRef> {
    let text = baton_suite::read(name)?;
    let (root, _) = baton_core::yaml::parse(name.as_ref(), text).ok()?;
    Some(rule_file(name.to_owned(), &root)?.kind)
}

fn rule_file(name: String, root: &Node) -> Option<RuleFile> {
    let spec = root.get("spec")?;
    let resource = spec.get("resource")?;
    let of = |name: &str| Some(resource.get(name)?.value().as_str()?.to_owned());
    let kind = KindRef {
        api_version: of("apiVersion")?,
        kind: of("kind")?,
    };
    let rules = spec.get("rules").map(Node::items).unwrap_or_default();
    let is_status = |(key, _): &(Node, Node)| key.key() == "status";
    let writes_status = rules.iter().any(|rule| match &rule.data {
        Data::Map(members) => members.iter().any(is_status),
        _ => false,
    });
    Some(RuleFile {
        name,
        kind,
        writes_status,
        resource: resource.clone(),
    })
}

/// Returns warnings about custom kinds whose state a case preserves although no step or rule writes it.
pub(super) fn unwritten(case: &Case, rules: &RuleFiles, sources: &Sources<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut told: BTreeSet<KindRef> = BTreeSet::new();
    for (step, kinds) in paths::preserved_kinds(case) {
        for (api_version, kind) in kinds {
            let of = KindRef { api_version, kind };
            let sets = sets_status(case, &of.kind);
            if !of.is_custom() || sets || rules.writes_status(&of) || !told.insert(of.clone()) {
                continue;
            }
            let message = format!(
                "nothing writes the status of a {}, whose state is to be preserved",
                of.kind
            );
            let help = format!(
                "on clusters without its operator it takes a step `setStatus`, or rules of the workload simulator for {} of {}",
                of.kind, of.api_version
            );
            found.push(sources.of_step(case, step, message, &help));
        }
    }
    found.extend(without_subresource(case, rules, sources));
    found
}

/// Returns warnings about definitions without the status subresource if a step or a rule writes the status.
fn without_subresource(case: &Case, rules: &RuleFiles, sources: &Sources<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (step, _, object) in applied(case) {
        if object["kind"] != "CustomResourceDefinition" {
            continue;
        }
        let kind = text(object, "/spec/names/kind");
        let versions = object.pointer("/spec/versions").and_then(Value::as_array);
        for (number, version) in versions.into_iter().flatten().enumerate() {
            let of = KindRef {
                api_version: format!("{}/{}", text(object, "/spec/group"), text(version, "/name")),
                kind: kind.clone(),
            };
            let is_written = sets_status(case, &kind) || rules.writes_status(&of);
            if !is_written || version.pointer("/subresources/status").is_some() {
                continue;
            }
            let way = ["spec", "versions"].map(|key| Segment::Key(key.to_owned()));
            let way = [&way[..], &[Segment::Item(number)]].concat();
            let message = format!("this definition of {kind} has no status subresource: its status cannot be written");
            let help = "add `subresources: {status: {}}` to the version".to_owned();
            found.push(sources.diagnostic((case, step), object, (&way, Part::Value), message, help));
        }
    }
    found
}

fn sets_status(case: &Case, kind: &str) -> bool {
    case.steps.iter().any(|step| match &step.action {
        Action::SetStatus { of, .. } => match of {
            Subject::Object(of) => of.kind == kind,
            _ => true,
        },
        _ => false,
    })
}
