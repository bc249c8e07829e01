//! The steps of a case file, one function a step; `apply`, `conditions` and `fault_injection` hold the larger ones.

mod apply;
mod conditions;
mod fault_injection;
mod refused;
mod run;
mod several;

use serde_json::Value;

use super::{
    model::{Action, Place, Snapshot, SnapshotPart, Step, Subject, Taint},
    refs::{ReadContext, Scope},
    shapes::steps as shapes,
};
use crate::{
    names::{RoleName, number_of_member},
    pattern::NAMESPACE,
    spelling::suggestion,
    yaml::{
        Data, Node,
        decode::{Decoder, Fields},
    },
};

/// Reads the steps; what is wrong with one is noted, and reading goes on with the next.
pub struct Reader<'a> {
    /// Data from outside the case that checking needs.
    pub context: &'a ReadContext<'a>,
    /// Names that the steps so far have defined.
    pub scope: Scope,
    /// Mistakes that were found so far.
    pub decoder: Decoder,
}

type ReadStep<'a> = fn(&mut Reader<'a>, &Node) -> Option<Action>;

impl<'a> Reader<'a> {
    /// All kinds of steps, by name.
    const STEPS: [(&'static str, ReadStep<'a>); 29] = [
        ("apply", Self::apply),
        ("workloads", Self::workloads),
        ("refused", Self::refused),
        ("admission", Self::admission),
        ("patch", Self::patch),
        ("setStatus", Self::set_status),
        ("delete", Self::delete),
        ("bindRole", Self::bind_role),
        ("capture", Self::capture),
        ("taint", Self::taint),
        ("untaint", Self::untaint),
        ("hold", Self::hold),
        ("release", Self::release),
        ("cutOff", Self::cut_off),
        ("heal", Self::heal),
        ("unready", Self::unready),
        ("ready", Self::ready),
        ("unjoin", Self::unjoin),
        ("join", Self::join),
        ("condition", Self::condition),
        ("delay", Self::delay),
        ("fail", Self::fail),
        ("move", Self::move_at),
        ("controller", Self::controller),
        ("run", Self::run),
        ("elapse", Self::elapse),
        ("wait", Self::wait),
        ("assert", Self::assert),
        ("snapshot", Self::snapshot),
    ];

    /// One entry of `spec.steps`: a map with the step's name as its only key.
    pub fn step(&mut self, node: &Node) -> Option<Step> {
        let names = shapes::STEP.names();
        let Data::Map(members) = &node.data else {
            let help = format!("a step is one of {}", names.join(", "));
            self.decoder
                .error(node, format!("a step must be a map, not {}", node.describe()), help);
            return None;
        };
        let [(key, body)] = members.as_slice() else {
            let help = "start each step with its own dash";
            self.decoder
                .error(node, format!("a step has one name, not {}", members.len()), help);
            return None;
        };
        let name = key.key();
        let Some((_, read)) = Self::STEPS.iter().find(|(known, _)| *known == name) else {
            self.decoder.error(
                key,
                format!("unknown step `{name}`"),
                suggestion(name, names.iter().copied()),
            );
            return None;
        };
        let action = read(self, body)?;
        Some(Step {
            line: node.line,
            action,
        })
    }

    /// `on` (the control plane if it is left out where that is the only place) and `of`.
    fn target(&mut self, fields: &Fields<'_>) -> Option<(Place, Subject)> {
        let of = fields
            .get("of")
            .and_then(|node| self.scope.subject(node, &mut self.decoder));
        let on = match (fields.get("on"), &of) {
            (Some(node), _) => self.scope.place(node, &mut self.decoder),
            (None, Some(Subject::Object(_))) => {
                let help = "`control`, `members` or a role";
                self.decoder.error(fields.node, "this step needs `on`", help);
                None
            }
            (None, _) => Some(Place::Control),
        };
        Some((on?, of?))
    }

    fn patch(&mut self, node: &Node) -> Option<Action> {
        let fields = self.decoder.shape(node, &shapes::PATCH)?;
        let target = self.target(&fields);
        let merge = self.value(&fields, "merge");
        let (on, of) = target?;
        Some(Action::Patch { on, of, merge: merge? })
    }

    fn set_status(&mut self, node: &Node) -> Option<Action> {
        let fields = self.decoder.shape(node, &shapes::SET_STATUS)?;
        let target = self.target(&fields);
        let status = self.value(&fields, "status");
        let (on, of) = target?;
        Some(Action::SetStatus {
            on,
            of,
            status: status?,
        })
    }

    fn value(&mut self, fields: &Fields<'_>, name: &str) -> Option<Value> {
        let node = fields.get(name)?;
        self.scope.references_in(node, &mut self.decoder);
        Some(node.value())
    }

    fn delete(&mut self, node: &Node) -> Option<Action> {
        let fields = self.decoder.shape(node, &shapes::DELETE)?;
        self.target(&fields).map(|(on, of)| Action::Delete { on, of })
    }

    fn hold(&mut self, node: &Node) -> Option<Action> {
        let fields = self.decoder.shape(node, &shapes::HOLD)?;
        self.target(&fields).map(|(on, of)| Action::Hold { on, of })
    }

    fn release(&mut self, node: &Node) -> Option<Action> {
        let fields = self.decoder.shape(node, &shapes::RELEASE)?;
        self.target(&fields).map(|(on, of)| Action::Release { on, of })
    }

    fn bind_role(&mut self, node: &Node) -> Option<Action> {
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

    fn capture(&mut self, node: &Node) -> Option<Action> {
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

    fn taint(&mut self, node: &Node) -> Option<Action> {
        let fields = self.decoder.shape(node, &shapes::TAINT)?;
        let (cluster, key, effect) = self.taint_parts(&fields);
        let value = fields.get("value").and_then(|node| self.decoder.text(node, "value"));
        let lasts = match fields.get("for") {
            Some(node) => Some(self.decoder.duration(node, "for")?),
            None => None,
        };
        Some(Action::Taint {
            cluster: cluster?,
            lasts,
            taint: Taint {
                key: key?,
                value,
                effect: effect?,
            },
        })
    }

    fn untaint(&mut self, node: &Node) -> Option<Action> {
        let fields = self.decoder.shape(node, &shapes::UNTAINT)?;
        let (cluster, key, effect) = self.taint_parts(&fields);
        Some(Action::Untaint {
            cluster: cluster?,
            key: key?,
            effect: effect?,
        })
    }

    fn taint_parts(&mut self, fields: &Fields<'_>) -> (Option<Place>, Option<String>, Option<String>) {
        let decoder = &mut self.decoder;
        let cluster = fields
            .get("cluster")
            .and_then(|node| self.scope.role(node, decoder))
            .map(Place::Role);
        let key = fields.get("key").and_then(|node| decoder.text(node, "key"));
        let effect = fields
            .get("effect")
            .and_then(|node| decoder.one_of(node, "effect", &shapes::EFFECTS));
        (cluster, key, effect.map(ToOwned::to_owned))
    }

    fn elapse(&mut self, node: &Node) -> Option<Action> {
        self.decoder.duration(node, "elapse").map(Action::Elapse)
    }

    fn snapshot(&mut self, node: &Node) -> Option<Action> {
        let parts = SnapshotPart::ALL.map(|part| (part.name(), part));
        let fields = self.decoder.shape(node, &shapes::SNAPSHOT)?;
        let name = fields
            .get("name")
            .and_then(|node| self.decoder.name(node, "a snapshot's name"));
        let workload = fields
            .get("workload")
            .and_then(|node| self.scope.object(node, &mut self.decoder));
        let of = match fields.get("of") {
            Some(Node {
                data: Data::List(items),
                ..
            }) => items
                .iter()
                .filter_map(|item| self.decoder.one_of(item, "part of a snapshot", &parts))
                .collect(),
            Some(node) => self
                .decoder
                .one_of(node, "part of a snapshot", &parts)
                .into_iter()
                .collect(),
            None => Vec::new(),
        };
        let when_first_seen_on = fields
            .get("whenFirstSeenOn")
            .and_then(|it| self.scope.role(it, &mut self.decoder));
        Some(Action::Snapshot(Snapshot {
            name: name?,
            workload: workload?,
            of,
            when_first_seen_on,
        }))
    }
}
