//! Objects that an API server with the suite's definitions refuses: CEL rules, patterns, and whatever Kubernetes validates
//! of built-in kinds and of `CustomResourceDefinition`s.
//!
//! Each object of a case goes through its steps (`apply`, `patch`, `setStatus`, `delete`) on a server without the failover
//! API's controllers and without webhooks. Objects with references are left out, since only a run knows their values,
//! and so are objects that the implementation under test creates.

use std::collections::{BTreeMap, BTreeSet};

use baton_cluster::{
    actions::{self, ActionError},
    fleet::FleetError,
    trial::{Refusal, RefusedField, TrialServer},
};
use baton_core::{
    case::model::{Action, Case, ObjectRef, Place, Step, Subject},
    timeline::DEFAULT_NAMESPACE,
    yaml::Diagnostic,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    paths::text,
    place::{Part, Segment, Sources, Way},
    policies::{applied, has_plain_texts, plain},
};

/// Kinds that stay on the server: their removal takes time.
const KEPT: [&str; 2] = ["CustomResourceDefinition", "Namespace"];

/// Returns the position of a refused object in the files of a case: that of the first refused field, if it is known.
pub(super) fn place(case: &Case, line: usize, object: &Value, refusal: &Refusal, sources: &Sources<'_>) -> Diagnostic {
    let step = case.steps.iter().find(|step| step.line == line);
    let message = refusal.message.clone();
    match step {
        Some(step) => {
            let way = refusal
                .fields
                .first()
                .map(|field| way_of(&field.path))
                .unwrap_or_default();
            sources.diagnostic((case, step), object, (&way, Part::Value), message, String::new())
        }
        None => sources.of_case(case, (&[], Part::Value), message, String::new()),
    }
}

/// Servers on which objects are tried, and the results so far.
pub(super) struct Trials {
    runtime: tokio::runtime::Runtime,
    /// Server for each set of definitions that a case applies, by their text.
    servers: BTreeMap<String, TrialServer>,
    /// Refusals of a sequence of writes on a server, each with the number of the write.
    done: BTreeMap<(String, String), Vec<(usize, Refusal)>>,
}

/// Writes to one object.
type Writes<'c> = Vec<(&'c Step, Write<'c>)>;

/// One write to an object.
enum Write<'c> {
    Apply(&'c Value),
    Patch(&'c Value),
    SetStatus(&'c Value),
    Delete,
}

impl Write<'_> {
    fn value(&self) -> Option<&Value> {
        match self {
            Self::Apply(value) | Self::Patch(value) | Self::SetStatus(value) => Some(value),
            Self::Delete => None,
        }
    }

    fn key(&self) -> String {
        match self {
            Self::Apply(object) => format!("apply {object}"),
            Self::Patch(merge) => format!("patch {merge}"),
            Self::SetStatus(status) => format!("setStatus {status}"),
            Self::Delete => "delete".to_owned(),
        }
    }
}

impl Trials {
    /// Creates trials without a server.
    pub(super) fn new() -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self {
            runtime,
            servers: BTreeMap::new(),
            done: BTreeMap::new(),
        })
    }

    /// Returns the objects of a case that a server refuses.
    pub(super) fn errors(&mut self, case: &Case, sources: &Sources<'_>) -> Result<Vec<Diagnostic>, FleetError> {
        let mut found = Vec::new();
        for on_control in [true, false] {
            let definitions = definitions(case, on_control);
            for (of, writes) in objects(case, on_control) {
                let is_definition = of.kind == "CustomResourceDefinition";
                let defined = if is_definition { &[][..] } else { &definitions[..] };
                for (number, refusal) in self.tried(defined, &of, &writes)? {
                    let Some((step, write)) = writes.get(number) else {
                        continue;
                    };
                    let object = write.value().cloned().unwrap_or_default();
                    found.extend(diagnostics((case, step), &object, &refusal, sources));
                }
            }
        }
        Ok(found)
    }

    /// Carries out the writes to one object on the server with these definitions.
    fn tried(
        &mut self,
        definitions: &[&Value],
        of: &ObjectRef,
        writes: &Writes<'_>,
    ) -> Result<Vec<(usize, Refusal)>, FleetError> {
        let server: String = definitions.iter().map(ToString::to_string).collect();
        let sequence = writes.iter().map(|(_, write)| write.key());
        let key = (server, format!("{of:?} {}", sequence.collect::<Vec<_>>().join("\n")));
        if let Some(done) = self.done.get(&key) {
            return Ok(done.clone());
        }
        if !self.servers.contains_key(&key.0) {
            let started = self.runtime.block_on(server_with(definitions))?;
            self.servers.insert(key.0.clone(), started);
        }
        let refused = match self.servers.get(&key.0) {
            Some(server) => self.runtime.block_on(carry_out(server, of, writes)),
            None => Vec::new(),
        };
        self.done.insert(key, refused.clone());
        Ok(refused)
    }
}

async fn server_with(definitions: &[&Value]) -> Result<TrialServer, FleetError> {
    let server = TrialServer::start(Timestamp::now()).await?;
    for definition in definitions {
        // A definition that is refused is reported at the step that applies it.
        drop(server.apply(definition, DEFAULT_NAMESPACE).await);
    }
    Ok(server)
}

/// Carries out writes to one object, and removes it. Ends at an error that is not about the object.
async fn carry_out(server: &TrialServer, of: &ObjectRef, writes: &Writes<'_>) -> Vec<(usize, Refusal)> {
    let mut refused = Vec::new();
    let client = server.client();
    let is_kept = KEPT.contains(&of.kind.as_str());
    let only_applied = matches!(writes.as_slice(), [(_, Write::Apply(_))]);
    for (number, (_, write)) in writes.iter().enumerate() {
        let written = match write {
            Write::Apply(object) if is_kept || only_applied => server.apply_dry_run(object, DEFAULT_NAMESPACE).await,
            Write::Apply(object) => server.apply(object, DEFAULT_NAMESPACE).await,
            Write::Patch(_) | Write::SetStatus(_) | Write::Delete if is_kept => continue,
            Write::Patch(merge) => actions::patch(&client, of, merge).await.map(drop),
            Write::SetStatus(status) => actions::set_status(&client, of, status).await,
            Write::Delete => actions::delete(&client, of).await,
        };
        match written.as_ref().err().map(Refusal::from_error) {
            None => {}
            Some(Some(refusal)) if !matches!(written, Err(ActionError::NotServed { .. })) => {
                refused.push((number, refusal));
            }
            Some(_) => break,
        }
    }
    if !is_kept && !only_applied {
        remove(server, of).await;
    }
    refused
}

async fn remove(server: &TrialServer, of: &ObjectRef) {
    let client = server.client();
    // The object does not exist if the server refused it.
    if actions::patch(&client, of, &json!({"metadata": {"finalizers": null}}))
        .await
        .is_ok()
    {
        drop(actions::delete(&client, of).await);
    }
}

/// Returns the definitions that a case applies on the control plane, or on members.
fn definitions(case: &Case, on_control: bool) -> Vec<&Value> {
    let all = applied(case);
    let here = all.filter(|(_, on, _)| on.iter().any(|place| (*place == Place::Control) == on_control));
    let objects = here.map(|(_, _, object)| object);
    objects
        .filter(|object| object["kind"] == "CustomResourceDefinition")
        .collect()
}

/// Returns the writes to each object that a case applies on the control plane, or on members.
fn objects(case: &Case, on_control: bool) -> Vec<(ObjectRef, Writes<'_>)> {
    let here = |place: &Place| (*place == Place::Control) == on_control;
    let mut all = Objects {
        case,
        on_control,
        found: Vec::new(),
        unknown: BTreeSet::new(),
    };
    for step in &case.steps {
        match &step.action {
            Action::Apply { on, objects, .. } if on.iter().any(here) => {
                for object in objects {
                    all.add(step, reference(object), Write::Apply(object));
                }
            }
            Action::Patch {
                on,
                of: Subject::Object(of),
                merge,
            } if here(on) => all.add(step, of.clone(), Write::Patch(merge)),
            Action::SetStatus {
                on,
                of: Subject::Object(of),
                status,
            } if here(on) => all.add(step, of.clone(), Write::SetStatus(status)),
            Action::Delete {
                on,
                of: Subject::Object(of),
            } if here(on) => all.add(step, of.clone(), Write::Delete),
            _ => {}
        }
    }
    all.found
}

/// Collects the writes to each object.
struct Objects<'c> {
    case: &'c Case,
    on_control: bool,
    found: Vec<(ObjectRef, Writes<'c>)>,
    /// Kinds and names of objects whose content only a run knows.
    unknown: BTreeSet<(String, String)>,
}

impl<'c> Objects<'c> {
    fn add(&mut self, step: &'c Step, of: ObjectRef, write: Write<'c>) {
        let id = (of.kind.clone(), of.name.clone());
        let has_references = !write.value().is_none_or(has_plain_texts) || !plain(&of.name);
        if has_references || self.unknown.contains(&id) {
            self.unknown.insert(id);
            return;
        }
        let same = |(it, _): &&mut (ObjectRef, Writes<'c>)| it.kind == of.kind && it.name == of.name;
        if let Some((_, writes)) = self.found.iter_mut().find(same) {
            writes.push((step, write));
        } else if matches!(write, Write::Apply(_)) {
            self.found.push((of, vec![(step, write)]));
        } else if let Some((first, object)) = self.copied(&of) {
            self.found
                .push((of, vec![(first, Write::Apply(object)), (step, write)]));
        }
    }

    /// Returns the object of the control plane that the implementation copies to a member, if it is one.
    fn copied(&self, of: &ObjectRef) -> Option<(&'c Step, &'c Value)> {
        let mut all = applied(self.case).filter(|_| !self.on_control);
        let (step, _, object) = all.find(|(_, _, it)| text(it, "/kind") == of.kind && name(it) == of.name)?;
        has_plain_texts(object).then_some((step, object))
    }
}

fn reference(object: &Value) -> ObjectRef {
    let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str);
    ObjectRef {
        api_version: text(object, "/apiVersion"),
        kind: text(object, "/kind"),
        namespace: Some(namespace.unwrap_or(DEFAULT_NAMESPACE).to_owned()),
        name: name(object),
    }
}

fn name(object: &Value) -> String {
    text(object, "/metadata/name")
}

/// Returns one error for each refused field, or one for the object if the answer names none.
fn diagnostics(at: (&Case, &Step), object: &Value, refusal: &Refusal, sources: &Sources<'_>) -> Vec<Diagnostic> {
    let error = |way: &[Segment], message: String| {
        let help = "the definitions refuse this object: change it, or expect the refusal by a step `refused`";
        sources.diagnostic(at, object, (way, Part::Value), message, help.to_owned())
    };
    if refusal.fields.is_empty() {
        return vec![error(&[], refusal.message.clone())];
    }
    let of_field = |RefusedField { path, message }: &RefusedField| error(&way_of(path), format!("{path}: {message}"));
    refusal.fields.iter().map(of_field).collect()
}

/// Parses the path of a field in an answer of an API server, such as `spec.rules[0].path` or `metadata.labels[a/b]`.
fn way_of(path: &str) -> Way {
    let mut way = Way::new();
    let mut rest = path;
    // A schema that all versions of a CustomResourceDefinition share has this path in answers.
    if let Some(schema) = path.strip_prefix("spec.validation.") {
        way = way_of("spec.versions[0].schema");
        rest = schema;
    }
    while !rest.is_empty() {
        let (segment, after) = if let Some(inner) = rest.strip_prefix('[') {
            let (inner, after) = inner.split_once(']').unwrap_or((inner, ""));
            let item = inner.parse().map(Segment::Item);
            (item.unwrap_or_else(|_| Segment::Key(inner.to_owned())), after)
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            (Segment::Key(rest[..end].to_owned()), &rest[end..])
        };
        if segment != Segment::Key(String::new()) {
            way.push(segment);
        }
        rest = after.strip_prefix('.').unwrap_or(after);
    }
    way
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_fields_are_parsed() {
        let key = |name: &str| Segment::Key(name.to_owned());
        assert_eq!(
            way_of("spec.rules[0].path"),
            [key("spec"), key("rules"), Segment::Item(0), key("path")]
        );
        assert_eq!(
            way_of("metadata.labels[a.b/c]"),
            [key("metadata"), key("labels"), key("a.b/c")]
        );
        assert_eq!(way_of(".spec.replcas"), [key("spec"), key("replcas")]);
        let schema = way_of("spec.validation.openAPIV3Schema.type");
        assert_eq!(schema, way_of("spec.versions[0].schema.openAPIV3Schema.type"));
        assert_eq!(way_of(""), []);
        assert_eq!(way_of("spec["), [key("spec")]);
    }
}
