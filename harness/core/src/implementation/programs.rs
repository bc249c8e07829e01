//! What a target that is started for every case consists of: its programs, and what the control plane needs for them.

use std::collections::{BTreeMap, BTreeSet};

use super::template::Template;

/// A program of the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exec {
    /// What it is called in errors and logs; the file name of its command if the target file does not say.
    pub name: String,
    /// The program: a name to look for, or a path; a relative one begins in the folder of the target file. Its places
    /// are variables of the environment.
    pub command: Template,
    /// Its arguments.
    pub args: Vec<Template>,
    /// Its environment, beside what it inherits.
    pub env: BTreeMap<String, Template>,
    /// The argument that sets feature gates; left out of the command if none is to be set.
    pub feature_gates: Option<Template>,
    /// The argument that sets an option, once for each.
    pub option: Option<Template>,
    /// The URL that answers once it is ready; the next program is started then.
    pub ready: Option<Template>,
    /// What it is a part of.
    pub part: Part,
    /// How to get the program, for whoever has not got it.
    pub install: Option<String>,
}

/// What a program is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Part {
    /// The controller under test: cases stop and start it.
    #[default]
    Controller,
    /// The API of the implementation, such as a webhook: goes on while the controller is stopped.
    Api,
    /// What the implementation needs and is not under test, such as etcd: the environment is broken if it ends.
    Environment,
}

impl Part {
    /// All of them, by name.
    pub const ALL: [(&'static str, Self); 3] = [
        ("controller", Self::Controller),
        ("api", Self::Api),
        ("environment", Self::Environment),
    ];
}

/// What the control plane is given before the programs start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ControlPlane {
    /// The folder or file with the definitions of the implementation; if there is none, it gets Baton's own.
    pub definitions: Option<Template>,
    /// Namespaces that the programs need.
    pub namespaces: BTreeSet<String>,
    /// Files with webhook configurations.
    pub webhooks: Vec<Webhooks>,
}

/// A file with webhook configurations, as the implementation's users apply it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhooks {
    /// The file.
    pub file: Template,
    /// The address that takes the place of the one in the file; paths stay.
    pub url: Template,
}

/// The names of the ports in some templates: `{{port.NAME}}`.
pub fn ports<'a>(templates: impl IntoIterator<Item = &'a Template>) -> BTreeSet<&'a str> {
    let places = templates.into_iter().flat_map(Template::places);
    places.filter_map(|place| place.strip_prefix(PORT)).collect()
}

/// What the name of a place for a free port on loopback begins with.
pub const PORT: &str = "port.";

/// What the name of a place for a variable of the environment begins with.
pub const VARIABLE: &str = "env.";

impl Exec {
    /// All of its texts that have places.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        let env = self.env.values();
        std::iter::once(&self.command)
            .chain(&self.args)
            .chain(env)
            .chain(&self.ready)
    }
}

impl ControlPlane {
    /// All of its texts that have places.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        let webhooks = self.webhooks.iter().flat_map(|it| [&it.file, &it.url]);
        self.definitions.iter().chain(webhooks)
    }
}
