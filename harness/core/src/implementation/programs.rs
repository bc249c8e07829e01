//! The programs of a target that is started for every case, and the objects that the control plane needs for them.

use std::collections::{BTreeMap, BTreeSet};

use super::template::Template;

/// A program of the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exec {
    /// Name in errors and logs; the file name of the command if the target file gives none.
    pub name: String,
    /// Program: a name to look up, or a path, relative to the folder of the target file. Its places are variables of
    /// the environment.
    pub command: Template,
    /// Arguments of the program.
    pub args: Vec<Template>,
    /// Variables of the environment, in addition to the inherited ones.
    pub env: BTreeMap<String, Template>,
    /// Argument that sets feature gates; left out of the command if there are none to set.
    pub feature_gates: Option<Template>,
    /// Argument that sets an option, once for each option.
    pub option: Option<Template>,
    /// URL that answers once the program is ready; the next program is started then.
    pub ready: Option<Template>,
    /// Part that the program belongs to.
    pub part: Part,
    /// Instructions for getting the program, for users who do not have it.
    pub install: Option<String>,
}

/// A part that programs belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Part {
    /// The controller under test: cases stop and start it.
    #[default]
    Controller,
    /// The API of the implementation, such as a webhook: keeps running while the controller is stopped.
    Api,
    /// A program that the implementation needs and that is not under test, such as etcd. If it ends, the environment is
    /// broken.
    Environment,
}

impl Part {
    /// All parts, by name.
    pub const ALL: [(&'static str, Self); 3] = [
        ("controller", Self::Controller),
        ("api", Self::Api),
        ("environment", Self::Environment),
    ];
}

/// Objects that the control plane needs before the programs start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ControlPlane {
    /// Folder or file with the definitions of the implementation; Baton's definitions if left out.
    pub definitions: Option<Template>,
    /// Namespaces that the programs need.
    pub namespaces: BTreeSet<String>,
    /// Files with webhook configurations.
    pub webhooks: Vec<Webhooks>,
}

/// A file with webhook configurations, as the implementation's users apply it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhooks {
    /// Path of the file.
    pub file: Template,
    /// Address that replaces the one in the file; paths stay.
    pub url: Template,
}

/// Returns the names of the ports in some templates: `{{port.NAME}}`.
pub fn ports<'a>(templates: impl IntoIterator<Item = &'a Template>) -> BTreeSet<&'a str> {
    let places = templates.into_iter().flat_map(Template::places);
    places.filter_map(|place| place.strip_prefix(PORT)).collect()
}

/// Prefix of a place for a free port on loopback.
pub const PORT: &str = "port.";

/// Prefix of a place for a variable of the environment.
pub const VARIABLE: &str = "env.";

impl Exec {
    /// Returns all texts with places.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        let env = self.env.values();
        std::iter::once(&self.command)
            .chain(&self.args)
            .chain(env)
            .chain(&self.ready)
    }
}

impl ControlPlane {
    /// Returns all texts with places.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        let webhooks = self.webhooks.iter().flat_map(|it| [&it.file, &it.url]);
        self.definitions.iter().chain(webhooks)
    }
}
