//! Steps that do something to a cluster or to the controller: `cutOff`, `unready`, `unjoin`, `delay`, `fail`, `controller`, …

use super::Reader;
use crate::{
    case::{
        model::{Action, Expected, FIRST_INSTANCE, Failing, Fault, Move, MoveFault, Place, Start, WritePoint},
        refs, setup,
        shapes::steps as shapes,
    },
    yaml::{Data, Node, decode::Fields, shape::Shape},
};

impl Reader<'_> {
    pub(super) fn cut_off(&mut self, node: &Node) -> Option<Action> {
        self.scope
            .role(node, &mut self.decoder)
            .map(|role| Action::Inject(Fault::CutOff(role)))
    }

    pub(super) fn heal(&mut self, node: &Node) -> Option<Action> {
        self.scope
            .role(node, &mut self.decoder)
            .map(|role| Action::Inject(Fault::Heal(role)))
    }

    pub(super) fn unready(&mut self, node: &Node) -> Option<Action> {
        let role = self.scope.role(node, &mut self.decoder);
        role.map(|role| Action::Inject(Fault::Unready(role)))
    }

    pub(super) fn ready(&mut self, node: &Node) -> Option<Action> {
        let role = self.scope.role(node, &mut self.decoder);
        role.map(|role| Action::Inject(Fault::Ready(role)))
    }

    pub(super) fn unjoin(&mut self, node: &Node) -> Option<Action> {
        let role = self.scope.role(node, &mut self.decoder)?;
        if !self.scope.unjoined.insert(role.clone()) {
            let help = "add `join` between the two";
            self.decoder.error(node, format!("`{role}` is unjoined already"), help);
        }
        Some(Action::Inject(Fault::Unjoin(role)))
    }

    pub(super) fn join(&mut self, node: &Node) -> Option<Action> {
        let role = self.scope.role(node, &mut self.decoder)?;
        if !self.scope.unjoined.remove(&role) {
            let help = "members have joined when a case begins; `unjoin` takes one out";
            let message = format!("no step before this one unjoins `{role}`");
            self.decoder.error(node, message, help);
        }
        Some(Action::Inject(Fault::Join(role)))
    }

    pub(super) fn condition(&mut self, node: &Node) -> Option<Action> {
        let fields = self.decoder.shape(node, &shapes::CONDITION)?;
        let cluster = fields
            .get("cluster")
            .and_then(|node| self.scope.role(node, &mut self.decoder));
        let kind_node = fields.get("type")?;
        let kind = self.decoder.text(kind_node, "type");
        let status = fields
            .get("status")
            .and_then(|node| self.decoder.one_of(node, "status", &shapes::STATUSES));
        if kind.as_deref() == Some("Ready") {
            let help = "use `unready` or `cutOff`";
            self.decoder
                .error(kind_node, "the condition Ready is the implementation's to set", help);
        }
        Some(Action::Inject(Fault::Condition {
            cluster: cluster?,
            kind: kind?,
            status: status?.to_owned(),
        }))
    }

    pub(super) fn delay(&mut self, node: &Node) -> Option<Action> {
        let fields = self.decoder.shape(node, &shapes::DELAY)?;
        let cluster = self.needed_place(&fields);
        let by = fields.get("by").and_then(|node| self.decoder.duration(node, "by"));
        Some(Action::Inject(Fault::Delay(cluster?, by?)))
    }

    pub(super) fn fail(&mut self, node: &Node) -> Option<Action> {
        let fields = self.decoder.shape(node, &shapes::FAIL)?;
        let cluster = self.needed_place(&fields);
        let verb = fields
            .get("verb")
            .and_then(|node| self.decoder.one_of(node, "verb", &shapes::VERBS));
        let kind = fields.get("kind").and_then(|node| self.decoder.text(node, "kind"));
        let path = fields.get("path").map(|node| self.path(node, kind.as_ref()));
        let code = fields.get("with").and_then(|node| self.status(node));
        let times = fields.get("times").map_or(Some(1), |node| self.times(node));
        let failing = Failing {
            verb: verb.map(ToOwned::to_owned),
            kind,
            path: path.flatten(),
            code: code?,
            times: times?,
        };
        Some(Action::Inject(Fault::Fail(cluster?, failing)))
    }

    pub(super) fn move_at(&mut self, node: &Node) -> Option<Action> {
        let fields = self.decoder.shape(node, &shapes::MOVE)?;
        let faults = MoveFault::ALL.map(|fault| (fault.name(), fault));
        let at = fields.get("at").and_then(|node| self.write_point(node));
        let fault = fields
            .get("do")
            .and_then(|node| self.decoder.one_of(node, "do", &faults))?;
        let lasts = match fields.get("for") {
            None => fault.default_duration(),
            Some(node) if !fault.takes_time() => {
                let message = format!("{} takes no time", fault.name());
                self.decoder.error(node, message, "leave `for` out");
                return None;
            }
            Some(node) => self.decoder.duration(node, "for")?,
        };
        let at = at?;
        if fault.needs_member() && at.on == Place::Control {
            let message = format!("{} needs a write on a member", fault.name());
            self.decoder.error(node, message, "name a member with `on`");
            return None;
        }
        if fault == MoveFault::Rival && at.verb == "create" {
            let help = "use the verb patch, update or delete";
            self.decoder.error(node, "an object that is created has no rival", help);
            return None;
        }
        Some(Action::Inject(Fault::Move(Move { at, fault, lasts })))
    }

    fn write_point(&mut self, node: &Node) -> Option<WritePoint> {
        let fields = self.decoder.shape(node, &shapes::WRITE_POINT)?;
        let on = match fields.get("on") {
            Some(node) => self.scope.place(node, &mut self.decoder)?,
            None => Place::Control,
        };
        let kind = fields.get("write").and_then(|node| self.decoder.text(node, "write"));
        let verb = fields
            .get("does")
            .and_then(|node| self.decoder.one_of(node, "does", &shapes::WRITES));
        let subresource = match fields.get("subresource") {
            Some(node) => Some(self.decoder.text(node, "subresource")?),
            None => None,
        };
        let nth = match fields.get("nth") {
            None => 1,
            Some(node) => {
                let Some(nth) = node.value().as_u64().filter(|nth| *nth > 0) else {
                    self.decoder.error(node, "nth must be a number from 1 on", "");
                    return None;
                };
                nth
            }
        };
        Some(WritePoint {
            on,
            kind: kind?,
            verb: verb?.to_owned(),
            subresource,
            nth,
        })
    }

    fn needed_place(&mut self, fields: &Fields<'_>) -> Option<Place> {
        let node = fields.get("cluster")?;
        self.scope.place(node, &mut self.decoder)
    }

    fn path(&mut self, node: &Node, kind: Option<&String>) -> Option<String> {
        let path = self.decoder.text(node, "path")?;
        if kind.is_some() {
            let help = "make two steps of it";
            self.decoder
                .error(node, "a request is about a `kind` or about a `path`", help);
        }
        // Discovery has no objects: `/apis`, `/api/v1`, `/apis/GROUP/VERSION`.
        let discovery = ["/api", "/apis"].contains(&path.as_str())
            || (path.starts_with("/api/") && path.split('/').count() == 3)
            || (path.starts_with("/apis/") && path.split('/').count() == 4);
        if !path.starts_with('/') || path.len() < 2 || (path.starts_with("/api") && !discovery) {
            let help = "such as `/readyz`; objects are chosen by `kind`";
            self.decoder
                .error(node, format!("`{path}` is no path beside the objects"), help);
        }
        Some(path)
    }

    fn status(&mut self, node: &Node) -> Option<u16> {
        let code = node.value().as_u64().and_then(|code| u16::try_from(code).ok());
        let code = code.filter(|code| (400..600).contains(code));
        if code.is_none() {
            let help = "such as 409 (conflict) or 503 (unavailable)";
            self.decoder
                .error(node, "expected an HTTP status from 400 to 599", help);
        }
        code
    }

    fn times(&mut self, node: &Node) -> Option<u64> {
        let times = node.value().as_u64();
        if times.is_none() {
            self.decoder.error(node, "times must be a number; 0 ends it", "");
        }
        times
    }

    pub(super) fn controller(&mut self, node: &Node) -> Option<Action> {
        if let Data::Scalar { .. } = node.data {
            let actions = [("stop", Fault::StopController), ("start", Fault::StartController)];
            let named = actions.each_ref().map(|(name, fault)| (*name, fault));
            let fault = self.decoder.one_of(node, "action on the controller", &named)?;
            return Some(Action::Inject(fault.clone()));
        }
        let fields = self.decoder.shape(node, &shapes::CONTROLLER_STEP)?;
        let given = ["stop", "add", "crash", "refuses", "warns"].map(|name| (name, fields.get(name)));
        let given: Vec<_> = given
            .into_iter()
            .filter_map(|(name, node)| Some((name, node?)))
            .collect();
        match given.as_slice() {
            [("stop", node)] => {
                let (condition, _) = self.awaited(node, &shapes::STOP)?;
                if let Some(within) = node.get("within") {
                    let message = "a stop has no time limit, so `within` has no effect";
                    self.decoder.error(within, message, "remove it");
                }
                Some(Action::Inject(Fault::StopControllerAfter(condition)))
            }
            [("add", node)] => self.instance(node, true),
            [("crash", node)] => self.instance(node, false),
            [("refuses", node)] => self.start(node, &shapes::REFUSES, Expected::Refusal),
            [("warns", node)] => self.start(node, &shapes::WARNS, Expected::Warning),
            _ => {
                let help = "split it into one step each";
                let message = format!("this step has {} actions on the controller", given.len());
                self.decoder.error(fields.node, message, help);
                None
            }
        }
    }

    /// An instance of the controller: a new one, or one that runs.
    fn instance(&mut self, node: &Node, is_new: bool) -> Option<Action> {
        let name = self.decoder.name(node, "an instance's name")?;
        if is_new {
            if name == FIRST_INSTANCE || !self.scope.instances.insert(name.clone()) {
                let help = "choose another name; `first` is the one that a run begins with";
                self.decoder
                    .error(node, format!("the name `{name}` is already in use"), help);
            }
            return Some(Action::Inject(Fault::AddController(name)));
        }
        if name != FIRST_INSTANCE && !self.scope.instances.contains(&name) {
            let known: Vec<_> = self.scope.instances.iter().map(String::as_str).collect();
            let help = self
                .decoder
                .suggestion(&name, known.into_iter().chain([FIRST_INSTANCE]));
            self.decoder
                .error(node, format!("no instance is called `{name}`"), help);
        }
        Some(Action::Inject(Fault::CrashController(name)))
    }

    fn start(&mut self, node: &Node, shape: &Shape, expect: Expected) -> Option<Action> {
        let fields = self.decoder.shape(node, shape)?;
        let setup = setup::setup(&fields, &mut self.decoder);
        let proves = fields
            .get("proves")
            .map(|node| refs::requirements(self.context.catalogue, node, &mut self.decoder));
        let mentions = fields.get("mentions")?;
        let mentions = self.decoder.texts(mentions, "what it mentions");
        Some(Action::Start(Start {
            setup,
            expect,
            mentions: mentions.into_iter().map(|(_, text)| text).collect(),
            proves: proves.unwrap_or_default(),
        }))
    }

    /// A controller that is to stop at some moment must be started again: there one sees that the moment came.
    pub(in crate::case) fn check_stops(&mut self, steps: &[super::Step], node: &Node) {
        for (number, step) in steps.iter().enumerate() {
            let is_stop = matches!(step.action, Action::Inject(Fault::StopControllerAfter(_)));
            let is_start = |step: &super::Step| matches!(step.action, Action::Inject(Fault::StartController));
            if is_stop && !steps[number + 1..].iter().any(is_start) {
                let nodes = node.items();
                let place = nodes.iter().find(|it| it.line == step.line).unwrap_or(node);
                let help = "add `controller: start` where it should continue; that step waits until it has stopped";
                self.decoder
                    .error(place, "no step starts the controller again after this stop", help);
            }
        }
    }
}
