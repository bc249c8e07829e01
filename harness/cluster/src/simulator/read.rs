//! Parses and checks files of rules.
//!
//! Finds all errors in a file with their positions, before any cluster is touched: unknown fields, unknown variables
//! and functions, templates that do not parse, invalid durations.

use std::{collections::BTreeMap, path::Path};

use baton_core::yaml::{
    self, Data, Diagnostic, Node,
    decode::{Decoder, Fields},
};

use super::{
    rules::{Action, After, Changed, Ensure, KindRef, KindRules, Rule, Rules, Surplus},
    shapes,
    template::{TemplateError, TemplateId, Templates, Variables},
};

impl Rules {
    /// Parses files of rules, given as path and text. All rules for a kind are in one file.
    ///
    /// # Errors
    /// All errors in the files, with their positions.
    pub fn parse<'a>(files: impl IntoIterator<Item = (&'a Path, &'a [u8])>) -> Result<Self, Vec<Diagnostic>> {
        let mut rules = Self {
            kinds: BTreeMap::new(),
            templates: Templates::new(),
        };
        let mut errors = Vec::new();
        for (file, text) in files {
            add(&mut rules, file, text, &mut errors);
        }
        if errors.is_empty() { Ok(rules) } else { Err(errors) }
    }

    /// The bundled rules, from `fixtures/simulator`.
    ///
    /// # Errors
    /// Errors in the bundled rules; a test checks that there are none.
    pub fn bundled() -> Result<Self, Vec<Diagnostic>> {
        Self::parse(
            crate::bundled::SIMULATOR
                .iter()
                .map(|(name, text)| (Path::new(name), text.as_bytes())),
        )
    }
}

/// Adds the rules of a file, or its errors.
fn add(rules: &mut Rules, file: &Path, text: &[u8], errors: &mut Vec<Diagnostic>) {
    let (root, found) = match yaml::parse(file, text) {
        Ok(parsed) => parsed,
        Err(error) => return errors.push(*error),
    };
    let mut decoder = Decoder::new(file);
    decoder.extend(found);
    let mut reader = Reader {
        templates: &mut rules.templates,
        text: std::str::from_utf8(text).unwrap_or_default(),
        decoder,
    };
    let read = reader.file(&root);
    let mut decoder = reader.decoder;
    if let Some((node, resource, new)) = read.filter(|_| decoder.is_empty())
        && rules.kinds.insert(resource.clone(), new).is_some()
    {
        let KindRef { api_version, kind } = resource;
        let message = format!("there are rules for {kind} of {api_version} in another file already");
        let help = "a kind has its rules in one file; one of the same name takes the place of a bundled one";
        decoder.error(node, message, help);
    }
    errors.extend(decoder.into_diagnostics());
}

/// Marks an error that has been noted.
struct Noted;

/// Converts one file to checked rules, and notes errors.
struct Reader<'a> {
    templates: &'a mut Templates,
    text: &'a str,
    decoder: Decoder,
}

impl Reader<'_> {
    fn file<'n>(&mut self, root: &'n Node) -> Option<(&'n Node, KindRef, KindRules)> {
        let file = self.decoder.shape(root, &shapes::RULES)?;
        for (name, value) in [("apiVersion", shapes::API_VERSION), ("kind", "SimulatorRules")] {
            if file.get(name).is_some() {
                self.decoder.constant(&file, name, value);
            }
        }
        if let Some(metadata) = file.get("metadata") {
            let fields = self.decoder.shape(metadata, &shapes::METADATA)?;
            self.text_of(&fields, "name");
        }
        let spec = self.decoder.shape(file.get("spec")?, &shapes::SPEC)?;
        let resource = spec.get("resource");
        let kind = resource.and_then(|node| self.kind(node));
        let children = spec.get("children");
        let children_of = children.and_then(|node| self.kind(node));
        let mut rules: Vec<Rule> = Vec::new();
        for node in self.decoder.list(spec.get("rules")?, "rules") {
            let rule = self.rule(node, children.is_some(), &rules);
            rules.extend(rule);
        }
        let checked = KindRules {
            children: children_of,
            rules,
        };
        Some((resource?, kind?, checked))
    }

    fn text_of(&mut self, fields: &Fields<'_>, name: &str) -> Option<String> {
        fields.get(name).and_then(|node| self.decoder.text(node, name))
    }

    fn kind(&mut self, node: &Node) -> Option<KindRef> {
        let fields = self.decoder.shape(node, &shapes::KIND)?;
        let api_version = self.text_of(&fields, "apiVersion");
        let kind = self.text_of(&fields, "kind");
        Some(KindRef {
            api_version: api_version?,
            kind: kind?,
        })
    }

    fn rule(&mut self, node: &Node, has_children: bool, before: &[Rule]) -> Option<Rule> {
        let fields = self.decoder.shape(node, &shapes::RULE)?;
        let name_node = fields.get("name")?;
        let name = self.decoder.text(name_node, "name")?;
        if before.iter().any(|rule| rule.name == name) {
            self.decoder
                .error(name_node, format!("there are two rules called `{name}`"), "");
        }
        let deleting = fields
            .get("deleting")
            .and_then(|node| self.decoder.boolean(node, "deleting"));
        let when = self.optional(&fields, &name, "when", Variables::Object);
        let after = match fields.get("after") {
            Some(node) => self.after(node, &name),
            None => Some(After::Fixed(std::time::Duration::ZERO)),
        };
        let files = self.optional_text(&fields, &name, "files");
        if let Some(node) = fields.get("files").filter(|_| fields.get("status").is_none()) {
            self.decoder.error(node, "`files` goes with `status` alone", "");
        }
        let action = self.action(&fields, &name, has_children);
        Some(Rule {
            action: action?,
            name,
            position: format!("{}:{}", self.decoder.file().display(), name_node.line),
            deleting: deleting.unwrap_or_default(),
            when: when.ok()?,
            after: after?,
            files: files.ok()?,
        })
    }

    fn action(&mut self, fields: &Fields<'_>, rule: &str, has_children: bool) -> Option<Action> {
        let mut actions = Vec::new();
        for (name, action) in [
            ("status", Action::Status as fn(TemplateId) -> Action),
            ("provide", Action::Provide),
            ("finalizers", Action::Finalizers),
        ] {
            if let Some(node) = fields.get(name) {
                actions.push(self.template(node, rule, name).map(action));
            }
        }
        if let Some(node) = fields.get("ensure") {
            if !has_children {
                let help = "`children` sets the kind of the children";
                self.decoder
                    .error(node, "`ensure` needs `children` next to `resource`", help);
            }
            actions.push(self.ensure(node, rule).map(Action::Ensure));
        }
        if let Some(node) = fields.get("delete") {
            actions.push(self.decoder.shape(node, &shapes::DELETE).map(|_| Action::Delete));
        }
        let count = actions.len();
        if count == 1 {
            return actions.pop().flatten();
        }
        let names = shapes::ACTIONS.join(", ");
        let message = format!("the rule `{rule}` must do exactly one thing, and does {count}");
        self.decoder
            .error(fields.node, message, format!("write one of {names}"));
        None
    }

    fn ensure(&mut self, node: &Node, rule: &str) -> Option<Ensure> {
        let fields = self.decoder.shape(node, &shapes::ENSURE)?;
        let objects = fields
            .get("objects")
            .and_then(|node| self.template(node, rule, "objects"));
        let ready = self.optional(&fields, rule, "ready", Variables::Child);
        let at_once = self.optional(&fields, rule, "atOnce", Variables::Object);
        let changed = fields.get("changed").map(|node| {
            let possible = [
                ("ignore", Changed::Ignore),
                ("patch", Changed::Patch),
                ("replace", Changed::Replace),
            ];
            self.decoder.one_of(node, "changed", &possible)
        });
        let surplus = fields.get("surplus").map(|node| {
            let possible = [("now", Surplus::Now), ("whenReady", Surplus::WhenReady)];
            self.decoder.one_of(node, "surplus", &possible)
        });
        Some(Ensure {
            objects: objects?,
            ready: ready.ok()?,
            at_once: at_once.ok()?,
            changed: changed.unwrap_or(Some(Changed::default()))?,
            surplus: surplus.unwrap_or(Some(Surplus::default()))?,
        })
    }

    fn after(&mut self, node: &Node, rule: &str) -> Option<After> {
        let source = match &node.data {
            // A number has no unit; the error below says so.
            Data::Scalar { text, .. } if node.value().is_number() => text.clone(),
            _ => self.decoder.text(node, "after")?,
        };
        if let Some(duration) = super::duration(&source) {
            return Some(After::Fixed(duration));
        }
        let looks_like_time = source.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+');
        if looks_like_time {
            let help = "write a number with its unit, such as 50ms or 1m30s";
            self.decoder
                .error(node, format!("after must be a time, not `{source}`"), help);
            return None;
        }
        self.expression(node, rule, "after", Variables::Object)
            .map(After::Computed)
    }

    /// Reads an optional expression; `None` if it is missing or has an error.
    fn optional(
        &mut self,
        fields: &Fields<'_>,
        rule: &str,
        name: &'static str,
        variables: Variables,
    ) -> Result<Option<TemplateId>, Noted> {
        let expression = |node| self.expression(node, rule, name, variables).ok_or(Noted);
        fields.get(name).map(expression).transpose()
    }

    fn optional_text(
        &mut self,
        fields: &Fields<'_>,
        rule: &str,
        name: &'static str,
    ) -> Result<Option<TemplateId>, Noted> {
        let template = |node| self.template(node, rule, name).ok_or(Noted);
        fields.get(name).map(template).transpose()
    }

    fn expression(&mut self, node: &Node, rule: &str, field: &str, variables: Variables) -> Option<TemplateId> {
        let source = self.decoder.text(node, field)?;
        let name = self.name(rule, field);
        let added = self.templates.add_expression(&name, &source, variables);
        added.map_err(|error| self.misunderstood(node, field, &error)).ok()
    }

    fn template(&mut self, node: &Node, rule: &str, field: &str) -> Option<TemplateId> {
        let source = self.decoder.text(node, field)?;
        let name = self.name(rule, field);
        let added = self.templates.add_text(&name, &source, Variables::Object);
        added.map_err(|error| self.misunderstood(node, field, &error)).ok()
    }

    /// Name of a template for the engine's error messages.
    fn name(&self, rule: &str, field: &str) -> String {
        format!("{}/{rule}/{field}", self.decoder.file().display())
    }

    fn misunderstood(&mut self, node: &Node, field: &str, error: &TemplateError) {
        let (message, help) = match error {
            TemplateError::Unknown { unknown, known } => (
                format!("`{field}` has no variable or function {unknown}"),
                format!("there are {known}"),
            ),
            TemplateError::Engine(error) => {
                let detail = error
                    .detail()
                    .map_or_else(|| error.kind().to_string(), ToOwned::to_owned);
                (format!("`{field}` cannot be understood: {detail}"), String::new())
            }
            other => (format!("`{field}` cannot be understood: {other}"), String::new()),
        };
        let line = match error {
            TemplateError::Engine(error) => error.line(),
            _ => None,
        };
        let at = self.place(node, line);
        self.decoder.error(&at, message, help);
    }

    /// Position of a template's line in the file. The lines of a block scalar follow its header.
    fn place(&self, node: &Node, line: Option<usize>) -> Node {
        let mut at = node.clone();
        let above = line.unwrap_or(1).saturating_sub(1);
        let block = self.text[node.span.clone()].lines().count() > 1;
        if above > 0 && block {
            at.line += above;
            let start = |line: usize| {
                self.text
                    .split_inclusive('\n')
                    .take(line - 1)
                    .map(str::len)
                    .sum::<usize>()
            };
            let begins = start(at.line);
            let whole = self.text[begins..].lines().next().unwrap_or_default();
            let indent = whole.len() - whole.trim_start().len();
            at.column = indent + 1;
            at.span = begins + indent..begins + whole.len();
        }
        at
    }
}
