//! The way a target is started: `spec.run`, and `spec.controlPlane`, which belongs to it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use super::{Reader, Settable};
use crate::{
    implementation::{
        ControlPlane, Exec, Launch, MetricsSource,
        programs::{PORT, Part, VARIABLE, Webhooks, ports},
        shapes,
        template::Template,
    },
    yaml::{Data, Node, decode::Fields, shape::Shape},
};

/// Places in the arguments and the environment of a command; `NAME` stands for any name.
pub const PLACES: [&str; 6] = [
    "control_kubeconfig",
    "member_kubeconfigs",
    "certificates",
    "data",
    "port.NAME",
    "env.NAME",
];

/// Places in commands that cases run. Such a command serves no port and has no data folder.
const COMMAND_PLACES: [&str; 3] = ["control_kubeconfig", "member_kubeconfigs", "env.NAME"];

/// Places in the paths of files.
const PATH_PLACES: [&str; 1] = ["env.NAME"];

/// Places in URLs.
const URL_PLACES: [&str; 2] = ["port.NAME", "env.NAME"];

impl Reader<'_> {
    pub(super) fn run(&mut self, node: &Node) -> Option<Launch> {
        let fields = self.decoder.shape(node, &shapes::RUN)?;
        let given: Vec<_> = shapes::RUN
            .fields
            .iter()
            .filter(|field| fields.get(field.name).is_some())
            .collect();
        let [given] = given.as_slice() else {
            let help = "say how the target comes to run with one of `exec`, `installed: {}`, `reference: {}`";
            self.decoder.error(node, format!("run says {} ways", given.len()), help);
            return None;
        };
        let body = fields.get(given.name)?;
        match given.name {
            "exec" => self.programs(body).map(Launch::Exec),
            name => {
                self.decoder.map(body, name, &[])?;
                Some(if name == "installed" {
                    Launch::Installed
                } else {
                    Launch::Reference
                })
            }
        }
    }

    /// Reads one program, or several in the order in which they start.
    fn programs(&mut self, node: &Node) -> Option<Vec<Exec>> {
        let items = match &node.data {
            Data::List(items) => items.as_slice(),
            Data::Map(_) | Data::Scalar { .. } => std::slice::from_ref(node),
        };
        if items.is_empty() {
            self.decoder
                .error(node, "exec names no program", "write `command: PROGRAM`");
        }
        let mut programs: Vec<Exec> = Vec::new();
        for item in items {
            let Some(program) = self.exec(item) else { continue };
            if programs.iter().any(|other| other.name == program.name) {
                let message = format!("two programs are called `{}`", program.name);
                self.decoder.error(item, message, "give each a different `name`");
            }
            programs.push(program);
        }
        if !programs.is_empty() && programs.iter().all(|program| program.part != Part::Controller) {
            let help = "leave `part` out of the program that fails workloads over";
            self.decoder
                .error(node, "no program is the controller under test", help);
        }
        self.check_ports(node, &programs);
        (programs.len() == items.len() && !programs.is_empty()).then_some(programs)
    }

    /// Checks that the controller shares no port with other programs: it gets new ports at each start, and they keep
    /// theirs.
    fn check_ports(&mut self, node: &Node, programs: &[Exec]) {
        let (of_controller, kept): (Vec<_>, Vec<_>) = programs.iter().partition(|it| it.part == Part::Controller);
        let all = |programs: Vec<&Exec>| -> BTreeSet<String> {
            let templates = programs.iter().flat_map(|program| program.templates());
            ports(templates).into_iter().map(ToOwned::to_owned).collect()
        };
        let (of_controller, kept) = (all(of_controller), all(kept));
        for port in of_controller.intersection(&kept) {
            let message = format!("a controller and another program share the place `{{{{{PORT}{port}}}}}`");
            let help = "the controller gets new ports whenever it starts; name them differently";
            self.decoder.error(node, message, help);
        }
    }

    /// Reads the commands, by name.
    pub(super) fn commands(&mut self, node: &Node) -> BTreeMap<String, Exec> {
        let mut commands = BTreeMap::new();
        for (key, node) in self.decoder.members(node, "commands") {
            if let Some(command) = self.program(node, &shapes::COMMAND, &COMMAND_PLACES) {
                commands.insert(key.key().to_owned(), command);
            }
        }
        commands
    }

    fn exec(&mut self, node: &Node) -> Option<Exec> {
        self.program(node, &shapes::EXEC, &PLACES)
    }

    fn program(&mut self, node: &Node, shape: &Shape, places: &[&str]) -> Option<Exec> {
        let fields = self.decoder.shape(node, shape)?;
        let command = fields.get("command").and_then(|node| self.command(node));
        let name = fields
            .get("name")
            .map(|node| self.decoder.case_name(node, "a program's name"));
        let args = fields
            .get("args")
            .map(|node| self.decoder.list(node, "args"))
            .unwrap_or_default();
        let args = args
            .iter()
            .filter_map(|node| self.template(node, "an argument", places))
            .collect();
        let env = fields
            .get("env")
            .map(|node| self.decoder.members(node, "env"))
            .unwrap_or_default();
        let env = env.iter().filter_map(|(key, node)| {
            let value = self.template(node, "a variable of the environment", places)?;
            Some((key.key().to_owned(), value))
        });
        let env = env.collect();
        let gates = fields.get("featureGates");
        let option = fields.get("option");
        let ready = fields.get("ready").and_then(|node| self.url(node, "ready"));
        let part = fields
            .get("part")
            .and_then(|node| self.decoder.one_of(node, "part", &Part::ALL));
        let command = command?;
        Some(Exec {
            name: name.unwrap_or_else(|| Some(file_name(&command)))?,
            command,
            args,
            env,
            feature_gates: gates.and_then(|node| self.needed_places(node, "featureGates", &["gates"])),
            option: option.and_then(|node| self.needed_places(node, "option", &["name", "value"])),
            ready,
            part: part.unwrap_or_default(),
            install: self.text(&fields, "install"),
        })
    }

    fn command(&mut self, node: &Node) -> Option<Template> {
        let command = self.decoder.text(node, "command")?;
        if command.is_empty() || command.contains(char::is_whitespace) {
            let help = "name the program alone, and write its arguments under `args`";
            self.decoder
                .error(node, format!("`{command}` cannot be a command"), help);
            return None;
        }
        self.template(node, "a command", &PATH_PLACES)
    }

    pub(super) fn url(&mut self, node: &Node, what: &str) -> Option<Template> {
        let text = self.decoder.text(node, what)?;
        if !text.starts_with("http://") && !text.starts_with("https://") {
            let help = "such as http://127.0.0.1:{{port.health}}/readyz";
            self.decoder
                .error(node, format!("{what} must be a URL, not `{text}`"), help);
        }
        self.template(node, what, &URL_PLACES)
    }

    pub(super) fn control_plane(&mut self, node: &Node) -> ControlPlane {
        let Some(fields) = self.decoder.shape(node, &shapes::CONTROL_PLANE) else {
            return ControlPlane::default();
        };
        let definitions = fields.get("definitions");
        let namespaces = fields
            .get("namespaces")
            .map(|node| self.decoder.texts(node, "a namespace"));
        let webhooks = fields.get("webhooks").map(|node| self.decoder.list(node, "webhooks"));
        ControlPlane {
            definitions: definitions.and_then(|node| self.template(node, "definitions", &PATH_PLACES)),
            namespaces: namespaces
                .unwrap_or_default()
                .into_iter()
                .map(|(_, text)| text)
                .collect(),
            webhooks: webhooks
                .unwrap_or_default()
                .iter()
                .filter_map(|node| self.webhooks(node))
                .collect(),
        }
    }

    fn webhooks(&mut self, node: &Node) -> Option<Webhooks> {
        let fields = self.decoder.shape(node, &shapes::WEBHOOKS)?;
        let file = fields
            .get("file")
            .and_then(|node| self.template(node, "file", &PATH_PLACES));
        let url = fields.get("url").and_then(|node| self.url(node, "url"));
        Some(Webhooks { file: file?, url: url? })
    }

    /// Checks that only a target of started programs changes the control plane, and that its ports belong to programs
    /// that keep running while the controller is stopped.
    pub(super) fn check_control_plane(&mut self, spec: &Fields<'_>, plane: &ControlPlane, run: &Launch) {
        let Some(node) = spec.get("controlPlane") else { return };
        let definitions_alone = plane.namespaces.is_empty() && plane.webhooks.is_empty();
        if matches!(run, Launch::Reference) && definitions_alone {
            return;
        }
        let Launch::Exec(programs) = run else {
            let help = "leave it out: only programs that are started for each case bring something along";
            self.decoder
                .error(node, "nothing is given to the control plane of this target", help);
            return;
        };
        let kept = programs.iter().filter(|program| program.part != Part::Controller);
        let known = ports(kept.flat_map(Exec::templates));
        for port in ports(plane.templates()).difference(&known) {
            let message = format!("no program with `part: api` listens on `{{{{{PORT}{port}}}}}`");
            let help = self.decoder.suggestion(port, known.iter().copied());
            self.decoder.error(node, message, help);
        }
    }

    /// Checks the metrics: the built-in controller has no URL for them, and a port must belong to a controller.
    pub(super) fn check_metrics(&mut self, spec: &Fields<'_>, metrics: Option<&MetricsSource>, run: &Launch) {
        let (Some(node), Some(metrics)) = (spec.get("metrics"), metrics) else {
            return;
        };
        let programs = match run {
            Launch::Reference => {
                let help = "leave it out";
                self.decoder
                    .error(node, "the metrics of the built-in controller have no URL", help);
                return;
            }
            Launch::Installed => &[][..],
            Launch::Exec(programs) => programs.as_slice(),
        };
        let controller = programs.iter().filter(|program| program.part == Part::Controller);
        let known = ports(controller.flat_map(Exec::templates));
        for port in ports([&metrics.url]).difference(&known) {
            let message = format!("no controller listens on `{{{{{PORT}{port}}}}}`");
            let help = self.decoder.suggestion(port, known.iter().copied());
            self.decoder.error(node, message, help);
        }
    }

    fn template(&mut self, node: &Node, what: &str, possible: &[&str]) -> Option<Template> {
        let Data::Scalar { text, .. } = &node.data else {
            self.decoder
                .error(node, format!("{what} must be a text, not {}", node.describe()), "");
            return None;
        };
        let template = match Template::parse(text) {
            Ok(template) => template,
            Err(error) => {
                self.decoder.error(node, error.to_string(), "write `}}` after the name");
                return None;
            }
        };
        for place in template.places().filter(|place| !is_possible(place, possible)) {
            let help = self.decoder.suggestion(place, possible.iter().copied());
            self.decoder
                .error(node, format!("{what} has no place `{{{{{place}}}}}`"), help);
        }
        Some(template)
    }

    fn needed_places(&mut self, node: &Node, what: &str, needed: &[&str]) -> Option<Template> {
        let template = self.template(node, what, needed)?;
        for place in needed.iter().filter(|place| !template.places().any(|it| it == **place)) {
            self.decoder.error(
                node,
                format!("{what} lacks the place `{{{{{place}}}}}`"),
                "add the place, where the value is filled in",
            );
        }
        Some(template)
    }

    /// Checks that every settable gate and option has an argument that sets it.
    pub(super) fn check_settable(&mut self, spec: &Fields<'_>, settable: &Settable, run: &Launch) {
        let Some(node) = spec.get("settable") else { return };
        let Launch::Exec(programs) = run else {
            let help = match run {
                Launch::Reference => "leave it out: every gate and option of the built-in controller can be set",
                Launch::Installed | Launch::Exec(_) => "say under `controller` what it runs with",
            };
            self.decoder.error(
                node,
                "nothing can be set in a target that is not started for each case",
                help,
            );
            return;
        };
        let ways = [
            (
                "featureGates",
                settable.feature_gates.is_empty(),
                programs.iter().all(|exec| exec.feature_gates.is_none()),
                "--feature-gates={{gates}}",
            ),
            (
                "option",
                settable.options.is_empty(),
                programs.iter().all(|exec| exec.option.is_none()),
                "--{{name}}={{value}}",
            ),
        ];
        for (name, nothing_to_set, no_way, example) in ways {
            if !nothing_to_set && no_way {
                let message = format!("it is not said how this is set: `run.exec` needs `{name}`");
                self.decoder
                    .error(node, message, format!("such as `{name}: \"{example}\"`"));
            }
        }
    }
}

fn is_possible(place: &str, possible: &[&str]) -> bool {
    let named = |prefix: &str| {
        let name = place.strip_prefix(prefix).unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        !name.is_empty() && name.chars().all(plain)
    };
    possible.iter().any(|it| match *it {
        "port.NAME" => named(PORT),
        "env.NAME" => named(VARIABLE),
        it => place == it,
    })
}

/// Returns the last part of a command's path.
fn file_name(command: &Template) -> String {
    let text = command.to_string();
    let name = Path::new(&text).file_name().and_then(|name| name.to_str());
    name.unwrap_or(&text).to_owned()
}
