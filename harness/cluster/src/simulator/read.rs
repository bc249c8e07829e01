//! Rules as people write them, turned into checked ones.
//!
//! Everything that can be wrong in a file is found here, all of it at once, before any cluster is touched: unknown
//! fields, unknown variables and functions, templates that do not parse, durations that are none.

use serde::Deserialize;

use super::{
    rules::{Action, After, Changed, Ensure, KindRef, KindRules, Rule, Rules, RulesError, Surplus},
    template::{TemplateError, TemplateId, Templates, Variables},
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RawFile {
    api_version: String,
    kind: String,
    #[serde(rename = "metadata")]
    _metadata: RawMetadata,
    spec: RawSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMetadata {
    #[serde(rename = "name")]
    _name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSpec {
    resource: KindRef,
    children: Option<KindRef>,
    rules: Vec<RawRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    name: String,
    #[serde(default)]
    deleting: bool,
    when: Option<String>,
    after: Option<String>,
    files: Option<String>,
    status: Option<String>,
    ensure: Option<RawEnsure>,
    provide: Option<String>,
    finalizers: Option<String>,
    delete: Option<RawDelete>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDelete {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RawEnsure {
    objects: String,
    ready: Option<String>,
    at_once: Option<String>,
    #[serde(default)]
    changed: Changed,
    #[serde(default)]
    surplus: Surplus,
}

/// Adds the rules of a file, or what is wrong with it.
pub(super) fn add(rules: &mut Rules, file: &str, text: &str, errors: &mut Vec<RulesError>) {
    match read(file, text) {
        Ok(spec) => add_spec(rules, file, spec, errors),
        Err(error) => errors.push(error),
    }
}

fn add_spec(rules: &mut Rules, file: &str, spec: RawSpec, errors: &mut Vec<RulesError>) {
    let before = errors.len();
    let mut checked: Vec<Rule> = Vec::new();
    for raw in spec.rules {
        let mut check = Check {
            templates: &mut rules.templates,
            file,
            rule: raw.name.clone(),
            errors,
        };
        if checked.iter().any(|rule| rule.name == raw.name) {
            check.problem("there are two rules of this name".to_owned());
        }
        checked.extend(check.rule(raw, spec.children.is_some()).ok());
    }
    if errors.len() > before {
        return;
    }
    let KindRef { api_version, kind } = &spec.resource;
    let problem = format!("there are rules for {kind} of {api_version} in another file already");
    let new = KindRules {
        children: spec.children,
        rules: checked,
    };
    if rules.kinds.insert(spec.resource, new).is_some() {
        let file = file.to_owned();
        errors.push(RulesError::File { file, problem });
    }
}

fn read(file: &str, text: &str) -> Result<RawSpec, RulesError> {
    let raw: RawFile = serde_yaml::from_str(text).map_err(|source| RulesError::Yaml {
        file: file.to_owned(),
        source,
    })?;
    if (raw.api_version.as_str(), raw.kind.as_str()) == ("baton.dev/v1alpha1", "SimulatorRules") {
        return Ok(raw.spec);
    }
    Err(RulesError::File {
        file: file.to_owned(),
        problem: format!(
            "expected `apiVersion: baton.dev/v1alpha1` and `kind: SimulatorRules`, not {} and {}",
            raw.api_version, raw.kind
        ),
    })
}

/// Something is wrong and has been noted.
struct Noted;

/// Turns one raw rule into a checked one and notes what is wrong.
struct Check<'a> {
    templates: &'a mut Templates,
    file: &'a str,
    rule: String,
    errors: &'a mut Vec<RulesError>,
}

impl Check<'_> {
    fn problem(&mut self, problem: String) -> Noted {
        self.errors.push(RulesError::Rule {
            file: self.file.to_owned(),
            rule: self.rule.clone(),
            problem,
        });
        Noted
    }

    fn rule(&mut self, raw: RawRule, has_children: bool) -> Result<Rule, Noted> {
        let when = raw
            .when
            .map(|source| self.expression("when", &source, Variables::Object))
            .transpose();
        let after = self.after(raw.after.as_deref().unwrap_or("0s"));
        let mut actions = Vec::new();
        if let Some(source) = raw.status {
            actions.push(self.text("status", &source).map(Action::Status));
        }
        if let Some(source) = raw.provide {
            actions.push(self.text("provide", &source).map(Action::Provide));
        }
        if let Some(source) = raw.finalizers {
            actions.push(self.text("finalizers", &source).map(Action::Finalizers));
        }
        if let Some(ensure) = raw.ensure {
            if !has_children {
                self.problem("`ensure` needs `children` beside `resource`, to say of which kind they are".to_owned());
            }
            actions.push(self.ensure(ensure));
        }
        if let Some(RawDelete {}) = raw.delete {
            actions.push(Ok(Action::Delete));
        }
        if raw.files.is_some() && !matches!(actions.as_slice(), [Ok(Action::Status(_)) | Err(_)]) {
            self.problem("`files` goes with `status` alone".to_owned());
        }
        let files = raw.files.map(|source| self.text("files", &source)).transpose();
        let count = actions.len();
        let action = match (actions.pop(), count) {
            (Some(action), 1) => action,
            _ => Err(self.problem(format!(
                "needs exactly one of `status`, `ensure`, `provide`, `finalizers` and `delete`, has {count}"
            ))),
        };
        Ok(Rule {
            name: raw.name,
            deleting: raw.deleting,
            when: when?,
            after: after?,
            files: files?,
            action: action?,
        })
    }

    fn ensure(&mut self, raw: RawEnsure) -> Result<Action, Noted> {
        let objects = self.text("ensure.objects", &raw.objects);
        let ready = raw
            .ready
            .map(|source| self.expression("ensure.ready", &source, Variables::Child))
            .transpose();
        let at_once = raw
            .at_once
            .map(|source| self.expression("ensure.atOnce", &source, Variables::Object))
            .transpose();
        Ok(Action::Ensure(Ensure {
            objects: objects?,
            ready: ready?,
            at_once: at_once?,
            changed: raw.changed,
            surplus: raw.surplus,
        }))
    }

    fn after(&mut self, source: &str) -> Result<After, Noted> {
        if let Some(duration) = super::duration(source) {
            return Ok(After::Fixed(duration));
        }
        let looks_like_time = source.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+');
        if looks_like_time {
            return Err(self.problem(format!("`after: {source}` is no duration, such as 50ms or 1m30s")));
        }
        self.expression("after", source, Variables::Object).map(After::Computed)
    }

    fn name(&self, field: &str) -> String {
        format!("{}/{}/{field}", self.file, self.rule)
    }

    fn expression(&mut self, field: &'static str, source: &str, variables: Variables) -> Result<TemplateId, Noted> {
        let added = self.templates.add_expression(&self.name(field), source, variables);
        added.map_err(|source| self.template(field, source))
    }

    fn text(&mut self, field: &'static str, source: &str) -> Result<TemplateId, Noted> {
        let added = self.templates.add_text(&self.name(field), source, Variables::Object);
        added.map_err(|source| self.template(field, source))
    }

    fn template(&mut self, field: &'static str, source: TemplateError) -> Noted {
        self.errors.push(RulesError::Template {
            file: self.file.to_owned(),
            rule: self.rule.clone(),
            field,
            source,
        });
        Noted
    }
}
