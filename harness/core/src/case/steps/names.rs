//! Steps that define names: `bindRole` and `capture`.

use super::Reader;
use crate::{
    case::{model::Action, shapes::steps as shapes},
    names::{RoleName, number_of_member},
    pattern::NAMESPACE,
    yaml::{Data, Node},
};

impl Reader<'_> {
    pub(super) fn bind_role(&mut self, node: &Node) -> Option<Action> {
        let fields = self.decoder.shape(node, &shapes::BIND_ROLE)?;
        let role_node = fields.get("role");
        let role = role_node.and_then(|node| self.decoder.name(node, "a role's name"));
        let from = fields
            .get("from")
            .and_then(|node| self.scope.object(node, &mut self.decoder));
        let not = match fields.get("not") {
            None => Vec::new(),
            Some(Node {
                data: Data::List(items),
                ..
            }) => items
                .iter()
                .filter_map(|item| self.scope.role(item, &mut self.decoder))
                .collect(),
            Some(node) => self.scope.role(node, &mut self.decoder).into_iter().collect(),
        };
        let Some((role, role_node)) = role.zip(role_node) else {
            // Steps that use it are not wrong for that.
            self.scope
                .roles
                .extend(role_node.and_then(|node| node.value().as_str().map(ToOwned::to_owned)));
            return None;
        };
        let taken = ["control", "members", NAMESPACE].contains(&role.as_str());
        if taken || number_of_member(&role).is_some() || !self.scope.roles.insert(role.clone()) {
            self.decoder.error(
                role_node,
                format!("the name `{role}` is already in use"),
                "choose another name",
            );
        }
        Some(Action::BindRole {
            role: RoleName::new(role),
            from: from?,
            not,
        })
    }

    pub(super) fn capture(&mut self, node: &Node) -> Option<Action> {
        let fields = self.decoder.shape(node, &shapes::CAPTURE)?;
        let name_node = fields.get("name");
        let name = name_node.and_then(|node| self.decoder.name(node, "a captured value's name"));
        let (now, of) = (fields.get("now"), fields.get("of").or_else(|| fields.get("field")));
        let target = match (now, of) {
            (Some(now), Some(_)) => {
                let help = "make two steps of it";
                self.decoder
                    .error(now, "capture takes `now` or `of` with `field`, not both", help);
                None
            }
            (Some(_), None) => None,
            (None, _) => {
                let whole = ["of", "field"].map(|name| fields.need(name, &mut self.decoder).is_some());
                (whole == [true, true]).then(|| self.target(&fields)).flatten()
            }
        };
        let field = fields.get("field").and_then(|node| self.decoder.text(node, "field"));
        let Some((name, name_node)) = name.zip(name_node) else {
            self.scope
                .captures
                .extend(name_node.and_then(|node| node.value().as_str().map(ToOwned::to_owned)));
            return None;
        };
        if name == NAMESPACE || self.scope.roles.contains(&name) || !self.scope.captures.insert(name.clone()) {
            self.decoder.error(
                name_node,
                format!("the name `{name}` is already in use"),
                "choose another name",
            );
        }
        if let (Some(now), None) = (now, of) {
            return self.only_true(now, "now").then_some(Action::CaptureNow(name));
        }
        let (on, of) = target?;
        Some(Action::Capture {
            name,
            on,
            of,
            field: field?.split('.').map(ToOwned::to_owned).collect(),
        })
    }

    /// Reads a field whose only allowed value is `true`.
    fn only_true(&mut self, node: &Node, name: &str) -> bool {
        let yes = self.decoder.boolean(node, name);
        if yes == Some(false) {
            self.decoder
                .error(node, format!("{name} can only be true"), "or leave it out");
        }
        yes == Some(true)
    }
}
