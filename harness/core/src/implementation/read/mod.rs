//! Reads a target file into a checked target. `run`: the way the target is started.

mod run;

pub use run::PLACES;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::Duration,
};

use semver::Version;

use super::{
    Implementation, MetricsSource, TargetSpec, TargetTimeouts,
    baseline::{Baseline, KnownDefect, Subject},
    overlay,
    setup::Settable,
    shapes,
    switch::{Setting, Switch},
};
use crate::{
    case::{file::API_VERSION, model::Phase, refs, setup::controller_setup},
    catalogue::{Catalogue, DocumentClaims},
    judge::finding::DifferenceKind,
    metrics::Names,
    names::{CaseId, DocumentId, Feature, RequirementId},
    yaml::{
        self, Data, Diagnostic, Node,
        decode::{Decoder, Fields},
    },
};

/// Inputs for checking a target.
pub struct ReadContext<'a> {
    /// The known requirements and features.
    pub catalogue: &'a Catalogue,
    /// The names of the known cases.
    pub cases: &'a BTreeSet<CaseId>,
    /// Returns the value of a variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

/// Reads a target file.
///
/// # Errors
/// All mistakes in the file, in their order.
pub fn read(file: &Path, bytes: &[u8], context: &ReadContext<'_>) -> Result<TargetSpec, Vec<Diagnostic>> {
    let (mut root, found) = yaml::parse(file, bytes).map_err(|diagnostic| vec![*diagnostic])?;
    let mut decoder = Decoder::new(file);
    decoder.extend(found);
    let version = match root.get_mut("spec") {
        Some(spec) => overlay::apply(spec, context.variable, &mut decoder),
        None => None,
    };
    let mut reader = Reader {
        context,
        decoder,
        version,
        warnings: Vec::new(),
    };
    let target = reader.target(&root).map(|target| TargetSpec {
        warnings: std::mem::take(&mut reader.warnings),
        ..target
    });
    let diagnostics = reader.decoder.into_diagnostics();
    match target {
        Some(target) if diagnostics.is_empty() => Ok(target),
        _ => Err(diagnostics),
    }
}

struct Reader<'a> {
    context: &'a ReadContext<'a>,
    decoder: Decoder,
    /// Version of the implementation, if it is a semantic version.
    version: Option<Version>,
    /// Mistakes that do not prevent a run.
    warnings: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn target(&mut self, root: &Node) -> Option<TargetSpec> {
        let file = self.decoder.shape(root, &shapes::TARGET)?;
        for (name, value) in [("apiVersion", API_VERSION), ("kind", "Target")] {
            if file.get(name).is_some() {
                self.decoder.constant(&file, name, value);
            }
        }
        let name = file.get("metadata").and_then(|node| self.metadata(node));
        let spec = self.decoder.shape(file.get("spec")?, &shapes::SPEC)?;
        let implementation = spec.get("implementation").and_then(|node| self.implementation(node));
        let features = spec.get("features");
        let features_of = features.map(|node| refs::features(self.context.catalogue, node, &mut self.decoder));
        let controller = spec
            .get("controller")
            .map(|node| controller_setup(node, &mut self.decoder));
        let settable = spec.get("settable").map(|node| self.settable(node)).unwrap_or_default();
        let timeouts = spec.get("timeouts").map(|node| self.timeouts(node)).unwrap_or_default();
        let commands = spec.get("commands").map(|node| self.commands(node));
        let run = spec.get("run").and_then(|node| self.run(node));
        let control_plane = spec.get("controlPlane").map(|node| self.control_plane(node));
        let control_plane = control_plane.unwrap_or_default();
        let metrics = spec.get("metrics").and_then(|node| self.metrics(node));
        if let Some(run) = &run {
            self.check_metrics(&spec, metrics.as_ref(), run);
            self.check_settable(&spec, &settable, run);
            self.check_control_plane(&spec, &control_plane, run);
        }
        let features = features_of?;
        let documents = spec
            .get("documents")
            .map(|node| self.documents(node))
            .unwrap_or_default();
        let switches = spec.get("switches").map(|node| self.switches(node, &features));
        let baseline = spec.get("baseline").map(|node| self.baseline(node, &features));
        Some(TargetSpec {
            name: name?,
            file: self.decoder.file().to_owned(),
            implementation: implementation?,
            features,
            documents,
            controller: controller.unwrap_or_default(),
            settable,
            switches: switches.unwrap_or_default(),
            timeouts,
            control_plane,
            commands: commands.unwrap_or_default(),
            metrics,
            run: run?,
            baseline: baseline.unwrap_or_default(),
            warnings: Vec::new(),
        })
    }

    fn metadata(&mut self, node: &Node) -> Option<String> {
        let fields = self.decoder.shape(node, &shapes::METADATA)?;
        fields
            .get("name")
            .and_then(|node| self.decoder.case_name(node, "a target's name"))
    }

    fn text(&mut self, fields: &Fields<'_>, name: &str) -> Option<String> {
        fields.get(name).and_then(|node| self.decoder.text(node, name))
    }

    fn line(&mut self, fields: &Fields<'_>, name: &str) -> Option<String> {
        fields.get(name).and_then(|node| self.decoder.line(node, name))
    }

    fn implementation(&mut self, node: &Node) -> Option<Implementation> {
        let fields = self.decoder.shape(node, &shapes::IMPLEMENTATION)?;
        let (name, version) = (self.line(&fields, "name"), self.line(&fields, "version"));
        let url = self.line(&fields, "url");
        let contact = fields.get("contact").map(|node| self.decoder.texts(node, "contact"));
        for (node, _) in contact.iter().flatten() {
            self.decoder.line(node, "contact");
        }
        Some(Implementation {
            name: name?,
            version: Some(version?),
            url,
            contact: contact.unwrap_or_default().into_iter().map(|(_, text)| text).collect(),
        })
    }

    fn settable(&mut self, node: &Node) -> Settable {
        let Some(fields) = self.decoder.shape(node, &shapes::SETTABLE) else {
            return Settable::default();
        };
        let mut names = |name: &str| {
            let texts = fields
                .get(name)
                .map(|node| self.decoder.texts(node, name))
                .unwrap_or_default();
            texts.into_iter().map(|(_, text)| text).collect()
        };
        Settable {
            feature_gates: names("featureGates"),
            options: names("options"),
        }
    }

    fn switches(&mut self, node: &Node, features: &BTreeSet<Feature>) -> Vec<Switch> {
        let items = self.decoder.list(node, "switches");
        items.iter().filter_map(|item| self.switch(item, features)).collect()
    }

    fn switch(&mut self, node: &Node, features: &BTreeSet<Feature>) -> Option<Switch> {
        let fields = self.decoder.shape(node, &shapes::SWITCH)?;
        let feature = fields.get("feature").and_then(|node| self.declared(node, features));
        let gate = self.text(&fields, "featureGate");
        let option = self.text(&fields, "option");
        let value = fields.get("value").map(|node| self.scalar(node, "value"));
        let of = self.text(&fields, "of");
        let setting = match (gate, option, value) {
            (Some(gate), None, None) => Setting::Gate(gate),
            (None, Some(name), None) => Setting::Option {
                name,
                value: "true".to_owned(),
            },
            (None, Some(name), Some(value)) => Setting::Option { name, value: value? },
            (_, _, _) => {
                let help = "one of `featureGate: Name`, or `option: name` with `value`";
                self.decoder.error(node, "a switch is a gate or an option", help);
                return None;
            }
        };
        Some(Switch {
            feature: feature?,
            setting,
            of,
        })
    }

    /// Reads a feature that the target declares.
    fn declared(&mut self, node: &Node, features: &BTreeSet<Feature>) -> Option<Feature> {
        let text = self.decoder.text(node, "a feature")?;
        let feature = Feature::new(&text);
        if features.contains(&feature) {
            return Some(feature);
        }
        let help = self.decoder.suggestion(&text, features.iter().map(Feature::as_str));
        self.decoder
            .error(node, format!("the target does not declare `{text}`"), help);
        None
    }

    fn scalar(&mut self, node: &Node, what: &str) -> Option<String> {
        if let Data::Scalar { text, .. } = &node.data {
            return Some(text.clone());
        }
        self.decoder
            .error(node, format!("{what} must be one value, not {}", node.describe()), "");
        None
    }

    fn timeouts(&mut self, node: &Node) -> TargetTimeouts {
        let mut timeouts = TargetTimeouts::default();
        let Some(fields) = self.decoder.shape(node, &shapes::TIMEOUTS) else {
            return timeouts;
        };
        timeouts.factor = fields.get("factor").and_then(|node| self.factor(node));
        timeouts.ready = fields.get("ready").and_then(|node| self.time(node, "ready"));
        timeouts.slack = fields
            .get("slack")
            .and_then(|node| self.decoder.duration(node, "slack"));
        for phase in Phase::ALL {
            let time = fields.get(phase.name()).and_then(|node| self.time(node, phase.name()));
            timeouts.phases.extend(time.map(|time| (phase, time)));
        }
        timeouts
    }

    fn metrics(&mut self, node: &Node) -> Option<MetricsSource> {
        let fields = self.decoder.shape(node, &shapes::METRICS)?;
        let url = fields.get("url").and_then(|node| self.url(node, "url"));
        let own = fields.get("names").map(|node| self.decoder.members(node, "names"));
        let mut names = Names {
            prefix: self.text(&fields, "prefix"),
            ..Names::default()
        };
        for (key, value) in own.unwrap_or_default() {
            let own = self.decoder.text(value, "a metric's name")?;
            names.own.insert(key.key().to_owned(), own);
        }
        Some(MetricsSource { url: url?, names })
    }

    fn factor(&mut self, node: &Node) -> Option<f64> {
        const MOST: f64 = 1000.0;
        let factor = node.value().as_f64().filter(|factor| *factor > 0.0 && *factor <= MOST);
        if factor.is_none() {
            let message = format!("factor must be a number above 0, not {}", node.describe());
            self.decoder
                .error(node, message, "2 gives every phase twice the time; at most 1000");
        }
        factor
    }

    fn time(&mut self, node: &Node, name: &str) -> Option<Duration> {
        let time = self.decoder.duration(node, name)?;
        if time.is_zero() {
            self.decoder
                .error(node, format!("{name} must be longer than nothing"), "");
        }
        Some(time)
    }

    fn documents(&mut self, node: &Node) -> DocumentClaims {
        let mut claimed = BTreeMap::new();
        for item in self.decoder.list(node, "documents") {
            if let Data::Map(members) = &item.data {
                for (key, features) in members {
                    let features = refs::features(self.context.catalogue, features, &mut self.decoder);
                    claimed.extend(self.document(key, key.key()).map(|id| (id, Some(features))));
                }
            } else if let Some(text) = self.decoder.text(item, "a document") {
                claimed.extend(self.document(item, &text).map(|id| (id, None)));
            }
        }
        DocumentClaims::of(claimed)
    }

    fn document(&mut self, node: &Node, text: &str) -> Option<DocumentId> {
        let id = DocumentId::new(text);
        let documents = self.context.catalogue.documents();
        if documents.contains_key(&id) {
            return Some(id);
        }
        let help = self.decoder.suggestion(text, documents.keys().map(DocumentId::as_str));
        self.decoder.error(node, format!("unknown document `{text}`"), help);
        None
    }

    fn baseline(&mut self, node: &Node, features: &BTreeSet<Feature>) -> Baseline {
        let mut entries: Vec<KnownDefect> = Vec::new();
        for item in self.decoder.list(node, "baseline") {
            let Some(entry) = self.known_defect(item, features) else {
                continue;
            };
            let twice = |it: &&KnownDefect| {
                it.is(&entry.of, entry.field.as_deref(), entry.difference)
                    && (&it.cases, &it.versions) == (&entry.cases, &entry.versions)
            };
            if let Some(first) = entries.iter().find(twice) {
                let message = format!("this defect is in the baseline already, in line {}", first.line);
                self.decoder.error(item, message, "keep one of them");
            }
            entries.push(entry);
        }
        Baseline {
            file: self.decoder.file().to_owned(),
            version: self.version.clone(),
            entries,
        }
    }

    fn known_defect(&mut self, node: &Node, features: &BTreeSet<Feature>) -> Option<KnownDefect> {
        let fields = self.decoder.shape(node, &shapes::KNOWN_DEFECT)?;
        let cases = match fields.get("cases") {
            // An entry whose cases were all removed must not apply to every case.
            Some(node) => self.cases(node)?,
            None => BTreeSet::new(),
        };
        let requirement = fields
            .get("requirement")
            .and_then(|node| self.requirement(node, features))
            .map(Subject::Requirement);
        let step = self.text(&fields, "step").map(Subject::Step);
        if step.is_some() && cases.is_empty() {
            let help = "a step proves nothing, so that its failure is known in these cases only";
            self.decoder.error(node, "`step` needs `cases`", help);
        }
        let names = DifferenceKind::ALL.map(|kind| (kind.name(), kind));
        let difference = fields
            .get("difference")
            .and_then(|node| self.decoder.one_of(node, "difference", &names));
        let versions = fields.get("versions").and_then(|node| {
            let bounds = self.decoder.shape(node, &shapes::VERSION_RANGE)?;
            Some(overlay::range(node, &bounds, &mut self.decoder))
        });
        let (field, reason) = (self.text(&fields, "field"), self.text(&fields, "reason"));
        let link = self.text(&fields, "link");
        let sometimes = fields
            .get("sometimes")
            .and_then(|node| self.decoder.boolean(node, "sometimes"));
        Some(KnownDefect {
            of: requirement.or(step)?,
            field,
            difference: difference?,
            reason: reason?,
            link,
            versions: versions.unwrap_or_default(),
            cases,
            sometimes: sometimes.unwrap_or_default(),
            line: node.line,
        })
    }

    fn requirement(&mut self, node: &Node, features: &BTreeSet<Feature>) -> Option<RequirementId> {
        let text = self.decoder.text(node, "a requirement")?;
        let id = refs::requirement(self.context.catalogue, node, &text, &mut self.decoder)?;
        let feature = self
            .context
            .catalogue
            .get(&id)
            .map(|requirement| &requirement.feature)?;
        if !features.contains(feature) {
            let message = format!("{id} belongs to {feature}, which the target does not declare");
            self.decoder.error(
                node,
                message,
                "its cases are unsupported then; leave the entry out, or declare the feature",
            );
        }
        Some(id)
    }

    /// Reads the cases of an entry; `None` if the entry lists cases and the suite has none of them.
    fn cases(&mut self, node: &Node) -> Option<BTreeSet<CaseId>> {
        let mut cases = BTreeSet::new();
        let named = self.decoder.texts(node, "a case");
        let names_some = !named.is_empty();
        for (item, text) in named {
            let id = CaseId::new(&text);
            if self.context.cases.contains(&id) {
                cases.insert(id);
                continue;
            }
            let renamed = self.context.catalogue.renamed(&id);
            let (message, help) = if let Some(new) = renamed.filter(|it| self.context.cases.contains(*it)) {
                cases.insert(new.clone());
                (
                    format!("the case `{text}` is now called `{new}`"),
                    format!("write `{new}`"),
                )
            } else {
                let known = self.context.cases.iter().map(CaseId::as_str);
                let help = self.decoder.suggestion(&text, known);
                let message = format!("the suite has no case `{text}`, so the entry does not hold for it");
                (message, format!("remove it, or correct its name: {help}"))
            };
            self.warnings.push(Diagnostic {
                file: self.decoder.file().to_owned(),
                line: item.line,
                column: item.column,
                span: item.span.clone(),
                message,
                help: Some(help),
            });
        }
        (!cases.is_empty() || !names_some).then_some(cases)
    }
}
