//! `run`: a command of the implementation.

use super::Reader;
use crate::{
    case::{
        model::{Action, CommandRun},
        refs,
        shapes::steps as shapes,
    },
    yaml::{Data, Node},
};

impl Reader<'_> {
    pub(super) fn run(&mut self, node: &Node) -> Option<Action> {
        let fields = self.decoder.shape(node, &shapes::RUN)?;
        let command = fields
            .get("command")
            .and_then(|node| self.decoder.name(node, "a command's name"));
        let args = fields.get("args").map(|node| self.arguments(node)).unwrap_or_default();
        let within = match fields.get("within") {
            Some(node) => self.decoder.duration(node, "within")?,
            None => CommandRun::WITHIN,
        };
        let exits = match fields.get("exits") {
            Some(node) => self.exit_code(node)?,
            None => 0,
        };
        let says = fields.get("says").map(|node| self.decoder.texts(node, "what it says"));
        let proves = fields
            .get("proves")
            .map(|node| refs::requirements(self.context.catalogue, node, &mut self.decoder));
        Some(Action::Run(CommandRun {
            command: command?,
            args,
            within,
            exits,
            says: says.unwrap_or_default().into_iter().map(|(_, text)| text).collect(),
            proves: proves.unwrap_or_default(),
        }))
    }

    fn arguments(&mut self, node: &Node) -> Vec<String> {
        self.scope.references_in(node, &mut self.decoder);
        let items = match &node.data {
            Data::List(items) => items.as_slice(),
            Data::Map(_) | Data::Scalar { .. } => std::slice::from_ref(node),
        };
        let mut arguments = Vec::new();
        for item in items {
            match item.value() {
                serde_json::Value::String(text) => arguments.push(text),
                value @ (serde_json::Value::Number(_) | serde_json::Value::Bool(_)) => {
                    arguments.push(value.to_string());
                }
                _ => self
                    .decoder
                    .error(item, format!("an argument must be a text, not {}", item.describe()), ""),
            }
        }
        arguments
    }

    fn exit_code(&mut self, node: &Node) -> Option<u8> {
        let code = node.value().as_u64().and_then(|code| u8::try_from(code).ok());
        if code.is_none() {
            self.decoder.error(node, "an exit code is a number from 0 to 255", "");
        }
        code
    }
}
