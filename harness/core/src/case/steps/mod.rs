//! The steps of a case file, one function a step; `apply`, `conditions` and `fault_injection` hold the larger ones.

mod apply;
mod conditions;
mod fault_injection;
mod names;
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
    spelling::suggestion,
    yaml::{
        Data, Node,
        decode::{Decoder, Fields},
        shape::{Field, Holds, Shape},
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

/// A kind of step.
struct StepKind<'a> {
    /// Its name, the value that it takes, and its description for authors.
    field: Field,
    /// Reads the value.
    read: fn(&mut Reader<'a>, &Node) -> Option<Action>,
}

/// Declares a kind of step.
const fn step<'a>(
    name: &'static str,
    holds: Holds,
    about: &'static str,
    read: fn(&mut Reader<'a>, &Node) -> Option<Action>,
) -> StepKind<'a> {
    let field = Field::optional(name, holds, about);
    StepKind { field, read }
}

const FIELDS: [Field; Reader::KINDS.len()] = {
    let mut fields = [Reader::KINDS[0].field; Reader::KINDS.len()];
    let mut kind = 1;
    while kind < fields.len() {
        fields[kind] = Reader::KINDS[kind].field;
        kind += 1;
    }
    fields
};

/// One step: a map with its name alone.
pub static STEP: Shape = Shape::one_of("a step", &FIELDS);

impl<'a> Reader<'a> {
    /// All kinds of steps, in the order of the guide.
    const KINDS: [StepKind<'a>; 30] = [
        step("apply", Holds::Map(&shapes::APPLY), "Applies objects.", Self::apply),
        step(
            "workloads",
            Holds::Map(&shapes::WORKLOADS),
            "Applies many objects of one template.",
            Self::workloads,
        ),
        step(
            "refused",
            Holds::Map(&shapes::REFUSED),
            "Makes a request that must be refused.",
            Self::refused,
        ),
        step(
            "admission",
            Holds::Map(&shapes::ADMISSION),
            "Puts admission rules in force.",
            Self::admission,
        ),
        step(
            "patch",
            Holds::Map(&shapes::PATCH),
            "Merges something into an object.",
            Self::patch,
        ),
        step(
            "setStatus",
            Holds::Map(&shapes::SET_STATUS),
            "Merges something into the status of an object.",
            Self::set_status,
        ),
        step(
            "delete",
            Holds::Map(&shapes::DELETE),
            "Deletes an object, without waiting until it is gone.",
            Self::delete,
        ),
        step(
            "bindRole",
            Holds::Map(&shapes::BIND_ROLE),
            "Gives a role to the member that is chosen for a workload.",
            Self::bind_role,
        ),
        step(
            "capture",
            Holds::Map(&shapes::CAPTURE),
            "Keeps the value of a field; ${name} stands for it.",
            Self::capture,
        ),
        step("taint", Holds::Map(&shapes::TAINT), "Taints a member.", Self::taint),
        step(
            "untaint",
            Holds::Map(&shapes::UNTAINT),
            "Removes a taint.",
            Self::untaint,
        ),
        step(
            "hold",
            Holds::Map(&shapes::HOLD),
            "Puts a finalizer on an object, so that it stays when it is deleted.",
            Self::hold,
        ),
        step(
            "release",
            Holds::Map(&shapes::RELEASE),
            "Takes that finalizer off.",
            Self::release,
        ),
        step(
            "cutOff",
            shapes::NAME,
            "Nobody reaches the member with this role any more; it goes on running.",
            Self::cut_off,
        ),
        step(
            "heal",
            shapes::NAME,
            "The member with this role is reachable again.",
            Self::heal,
        ),
        step(
            "unready",
            shapes::NAME,
            "The member with this role says that it is not ready; everything else goes on.",
            Self::unready,
        ),
        step(
            "ready",
            shapes::NAME,
            "The member with this role says that it is ready again.",
            Self::ready,
        ),
        step(
            "unjoin",
            shapes::NAME,
            "The Cluster object of the member with this role is deleted; the member goes on running.",
            Self::unjoin,
        ),
        step(
            "join",
            shapes::NAME,
            "The member with this role is registered again.",
            Self::join,
        ),
        step(
            "condition",
            Holds::Map(&shapes::CONDITION),
            "Sets a condition of a Cluster.",
            Self::condition,
        ),
        step(
            "delay",
            Holds::Map(&shapes::DELAY),
            "Every answer to the controller takes longer.",
            Self::delay,
        ),
        step(
            "fail",
            Holds::Map(&shapes::FAIL),
            "Requests of the controller are answered with an error.",
            Self::fail,
        ),
        step(
            "move",
            Holds::Map(&shapes::MOVE),
            "Injects a fault at a write of the controller, from this step on. Later steps do not wait for it.",
            Self::move_at,
        ),
        step(
            "controller",
            Holds::Either(|| {
                vec![
                    Holds::OneOf(|| vec!["stop", "start"]),
                    Holds::Map(&shapes::CONTROLLER_STEP),
                ]
            }),
            "Stops or starts the controller, or starts it with another set-up.",
            Self::controller,
        ),
        step(
            "run",
            Holds::Map(&shapes::RUN),
            "Runs a command of the implementation to its end.",
            Self::run,
        ),
        step("elapse", Holds::Time, "Lets time pass.", Self::elapse),
        step(
            "settle",
            Holds::Time,
            "Waits until every failover is over and nothing changes any more, at most for this time.",
            Self::settle,
        ),
        step(
            "wait",
            Holds::Tagged(&shapes::WAIT),
            "Waits until something holds; the run ends if it does not.",
            Self::wait,
        ),
        step(
            "assert",
            Holds::Map(&shapes::ASSERT),
            "Says what must hold, and when.",
            Self::assert,
        ),
        step(
            "snapshot",
            Holds::Map(&shapes::SNAPSHOT),
            "Compares what is there with a file below snapshots/.",
            Self::snapshot,
        ),
    ];

    /// One entry of `spec.steps`: a map with the step's name as its only key.
    pub fn step(&mut self, node: &Node) -> Option<Step> {
        let names = STEP.names();
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
        let Some(kind) = Self::KINDS.iter().find(|kind| kind.field.name == name) else {
            self.decoder.error(
                key,
                format!("unknown step `{name}`"),
                suggestion(name, names.iter().copied()),
            );
            return None;
        };
        let action = (kind.read)(self, body)?;
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

    fn settle(&mut self, node: &Node) -> Option<Action> {
        self.decoder.duration(node, "settle").map(Action::Settle)
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
