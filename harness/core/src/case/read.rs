//! From the text of a file to a checked case.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde_json::Value;

use super::{
    file,
    model::{Action, Case, Invariant},
    refs::{self, ReadContext, Scope},
    scenarios,
    setup::controller_setup,
    steps::Reader,
};
use crate::{
    names::{CaseId, Feature, RequirementId},
    yaml::{self, Data, Diagnostic, Node, decode::Decoder},
};

/// Reads the cases of a file: one, or one a scenario.
///
/// # Errors
/// Everything that is wrong with the file, in its order.
pub fn read(file: &Path, area: &str, bytes: &[u8], context: &ReadContext<'_>) -> Result<Vec<Case>, Vec<Diagnostic>> {
    let (root, found) = yaml::parse(file, bytes).map_err(|diagnostic| vec![*diagnostic])?;
    let mut decoder = Decoder::new(file);
    decoder.extend(found);
    let mut cases = Vec::new();
    for (scenario, root) in scenarios::expand(&root, context, &mut decoder) {
        let mut reader = Reader {
            context,
            scope: Scope::default(),
            decoder,
        };
        let case = reader.case(&root, area);
        decoder = reader.decoder;
        cases.extend(case.map(|case| match scenario {
            Some(scenario) => Case {
                id: CaseId::new(format!("{}-{scenario}", case.id)),
                ..case
            },
            None => case,
        }));
    }
    let diagnostics = decoder.into_diagnostics();
    if diagnostics.is_empty() {
        Ok(cases)
    } else {
        Err(diagnostics)
    }
}

/// The files that a file stands for, one a scenario, with the names of their cases.
///
/// # Errors
/// If the file is not YAML, or its scenarios are wrong.
pub fn expanded(file: &Path, bytes: &[u8], context: &ReadContext<'_>) -> Result<Vec<(CaseId, Value)>, Vec<Diagnostic>> {
    let (root, found) = yaml::parse(file, bytes).map_err(|diagnostic| vec![*diagnostic])?;
    let mut decoder = Decoder::new(file);
    decoder.extend(found);
    let files = scenarios::expand(&root, context, &mut decoder);
    let named = files.into_iter().map(|(scenario, root)| {
        let root = root.value();
        let name = root
            .pointer("/metadata/name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let id = scenario.map_or_else(|| name.to_owned(), |scenario| format!("{name}-{scenario}"));
        (CaseId::new(id), root)
    });
    let named = named.collect();
    let diagnostics = decoder.into_diagnostics();
    if diagnostics.is_empty() {
        Ok(named)
    } else {
        Err(diagnostics)
    }
}

impl Reader<'_> {
    fn case(&mut self, root: &Node, area: &str) -> Option<Case> {
        let fields = self.decoder.shape(root, &file::CASE)?;
        for (name, value) in [("apiVersion", file::API_VERSION), ("kind", "Case")] {
            if fields.get(name).is_some() {
                self.decoder.constant(&fields, name, value);
            }
        }
        let metadata = fields.get("metadata").and_then(|node| self.metadata(node));
        let spec = fields.get("spec")?;
        let spec = self.decoder.shape(spec, &file::SPEC)?;
        let title = spec.get("title").and_then(|node| self.decoder.line(node, "title"));
        let requirements = spec.get("requirements");
        let requirements_of =
            requirements.map(|node| refs::requirements(self.context.catalogue, node, &mut self.decoder));
        let features = spec
            .get("features")
            .map(|node| refs::features(self.context.catalogue, node, &mut self.decoder));
        let members = spec.get("members").map_or(Some(2), |node| self.members(node));
        let controller = spec
            .get("controller")
            .map(|node| controller_setup(node, &mut self.decoder))
            .unwrap_or_default();
        let steps_node = spec.get("steps")?;
        self.scope.members = members.unwrap_or_default();
        let items = self.decoder.list(steps_node, "steps");
        let steps: Vec<_> = items.iter().filter_map(|item| self.step(item)).collect();
        if matches!(&steps_node.data, Data::List(items) if items.is_empty()) {
            self.decoder.error(steps_node, "a case needs at least one step", "");
        }
        let invariants = spec
            .get("invariants")
            .map(|node| self.invariants(node))
            .unwrap_or_default();
        let exempt = spec.get("exempt").map(|node| self.exempt(node)).unwrap_or_default();
        let (id, labels) = metadata?;
        let mut case = Case {
            id,
            labels,
            area: area.to_owned(),
            file: self.decoder.file().to_owned(),
            title: title?,
            requirements: requirements_of.unwrap_or_default(),
            features: features.clone().unwrap_or_default(),
            members: members?,
            controller,
            steps,
            invariants,
            exempt,
        };
        // With steps left out for their errors, what they prove is missing too.
        if self.decoder.is_empty() {
            match requirements {
                Some(node) => self.check_proofs(&case, node),
                None => case.requirements = proved(&case),
            }
            if features.is_none() {
                case.features = self.features_of(&case.requirements);
            }
            self.check_consistency(&case, spec.node);
            self.check_stops(&case.steps, steps_node);
        }
        Some(case)
    }

    /// Features to which requirements belong.
    fn features_of(&self, requirements: &BTreeSet<RequirementId>) -> BTreeSet<Feature> {
        let known = requirements.iter().filter_map(|id| self.context.catalogue.get(id));
        known.map(|requirement| requirement.feature.clone()).collect()
    }

    fn metadata(&mut self, node: &Node) -> Option<(CaseId, BTreeMap<String, String>)> {
        let fields = self.decoder.shape(node, &file::METADATA)?;
        let mut labels = BTreeMap::new();
        if let Some(node) = fields.get("labels") {
            for (key, value) in self.decoder.members(node, "labels") {
                let value = self.decoder.text(value, "the value of a label");
                labels.extend(value.map(|value| (key.key().to_owned(), value)));
            }
        }
        let node = fields.get("name")?;
        let name = self.decoder.case_name(node, "a case's name")?;
        Some((CaseId::new(name), labels))
    }

    fn members(&mut self, node: &Node) -> Option<usize> {
        const MOST: u64 = 50;
        let number = node.value().as_u64().filter(|number| (1..=MOST).contains(number));
        if number.is_none() {
            self.decoder
                .error(node, format!("members must be a number from 1 to {MOST}"), "");
        }
        number.and_then(|number| usize::try_from(number).ok())
    }

    fn invariants(&mut self, node: &Node) -> BTreeSet<Invariant> {
        let possible = Invariant::ALL.map(|invariant| (invariant.name(), invariant));
        let items = self.decoder.list(node, "invariants");
        items
            .iter()
            .filter_map(|item| self.decoder.one_of(item, "invariant", &possible))
            .collect()
    }

    fn exempt(&mut self, node: &Node) -> BTreeMap<Invariant, String> {
        let possible = Invariant::ALL.map(|invariant| (invariant.name(), invariant));
        let mut exempt = BTreeMap::new();
        for item in self.decoder.list(node, "exempt") {
            let Some(fields) = self.decoder.shape(item, &file::EXEMPTION) else {
                continue;
            };
            let invariant = fields.get("invariant");
            let invariant = invariant.and_then(|node| self.decoder.one_of(node, "invariant", &possible));
            let reason = fields.get("reason").and_then(|node| self.decoder.text(node, "reason"));
            exempt.extend(invariant.zip(reason));
        }
        exempt
    }

    /// Checks combinations that each part of a case allows alone, but not together.
    fn check_consistency(&mut self, case: &Case, spec: &Node) {
        let at = |name| spec.get(name).unwrap_or(spec);
        for invariant in case.invariants.iter().filter(|it| case.exempt.contains_key(it)) {
            let message = format!("`{}` is listed under `invariants` and under `exempt`", invariant.name());
            self.decoder.error(at("exempt"), message, "keep one of them");
        }
        let needed = case.requirements.iter().filter_map(|id| self.context.catalogue.get(id));
        let missing: BTreeSet<_> = needed
            .filter(|requirement| !case.features.contains(&requirement.feature))
            .map(|requirement| format!("{} for {}", requirement.feature, requirement.id))
            .collect();
        if !missing.is_empty() {
            let missing = missing.into_iter().collect::<Vec<_>>().join(", ");
            let help = "a target that does not declare it would fail the case instead of not supporting it";
            self.decoder
                .error(at("features"), format!("the case also needs {missing}"), help);
        }
        let mut snapshots = BTreeSet::new();
        for step in &case.steps {
            if let Action::Snapshot(snapshot) = &step.action
                && !snapshots.insert(&snapshot.name)
            {
                let steps = at("steps").items();
                let place = steps.iter().find(|node| node.line == step.line).unwrap_or(spec);
                let message = format!("an earlier snapshot is also called `{}`", snapshot.name);
                self.decoder.error(place, message, "both would use the same file");
            }
        }
    }

    /// Every requirement that a case is about must be proved by something in it, and the other way round.
    fn check_proofs(&mut self, case: &Case, node: &Node) {
        let proved = proved(case);
        let listed = |ids: Vec<&RequirementId>| ids.iter().map(|id| id.as_str()).collect::<Vec<_>>().join(", ");
        let unproved: Vec<_> = case.requirements.difference(&proved).collect();
        if !unproved.is_empty() {
            let help = "name it under `proves` of an assertion, or list an invariant that proves it";
            self.decoder
                .error(node, format!("nothing in this case proves {}", listed(unproved)), help);
        }
        let unlisted: Vec<_> = proved.difference(&case.requirements).collect();
        if !unlisted.is_empty() {
            let help = "add it here";
            self.decoder
                .error(node, format!("the case also proves {}", listed(unlisted)), help);
        }
    }
}

/// Returns the requirements that steps and invariants prove if they hold.
fn proved(case: &Case) -> BTreeSet<RequirementId> {
    let of_steps = case.steps.iter().flat_map(|step| step.action.facts().claims);
    let of_invariants = case.invariants.iter().flat_map(|invariant| invariant.proves());
    of_steps.chain(of_invariants).collect()
}
