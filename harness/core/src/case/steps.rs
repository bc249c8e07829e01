//! The steps of a case file, one function a step.

use std::{collections::BTreeSet, time::Duration};

use serde::Deserialize as _;
use serde_json::{Value, json};

use super::{
    decode::{Fields, Notes},
    diagnostic::suggestion,
    model::{
        Action, Assertion, Condition, Expect, Lever, Mode, Phase, Place, Snapshot, SnapshotPart, Step, Subject, Taint,
    },
    refs::{Scope, Surroundings},
    yaml::{Data, Node},
};
use crate::{names::RoleName, pattern::Pattern};

/// Reads the steps; what is wrong with one is noted, and reading goes on with the next.
pub struct Reader<'a> {
    /// What checking needs from outside.
    pub around: &'a Surroundings<'a>,
    /// What the steps so far have made known.
    pub scope: Scope,
    /// What was found wrong so far.
    pub notes: Notes,
}

type ReadStep<'a> = fn(&mut Reader<'a>, &Node) -> Option<Action>;

impl<'a> Reader<'a> {
    /// All kinds of steps, by name.
    const STEPS: [(&'static str, ReadStep<'a>); 16] = [
        ("apply", Self::apply),
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
        ("controller", Self::controller),
        ("elapse", Self::elapse),
        ("wait", Self::wait),
        ("assert", Self::assert),
    ];

    /// One entry of `spec.steps`: a map with the step's name as its only key.
    pub fn step(&mut self, node: &Node) -> Option<Step> {
        let names: Vec<_> = Self::STEPS.iter().map(|(name, _)| *name).chain(["snapshot"]).collect();
        let Data::Map(members) = &node.data else {
            let help = format!("a step is one of {}", names.join(", "));
            self.notes
                .wrong(node, format!("a step must be a map, not {}", node.describe()), help);
            return None;
        };
        let [(key, body)] = members.as_slice() else {
            let help = "begin each step with a dash of its own";
            self.notes
                .wrong(node, format!("a step has one name, not {}", members.len()), help);
            return None;
        };
        let name = key.key();
        let read = Self::STEPS
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, read)| *read);
        let action = match (read, name) {
            (Some(read), _) => read(self, body)?,
            (None, "snapshot") => self.snapshot(body)?,
            (None, _) => {
                self.notes
                    .wrong(key, format!("there is no step `{name}`"), suggestion(name, names));
                return None;
            }
        };
        Some(Step {
            line: node.line,
            action,
        })
    }

    fn apply(&mut self, node: &Node) -> Option<Action> {
        let fields = self.notes.map(node, "apply", &["on", "file", "resource"])?;
        let on = fields
            .need("on", &mut self.notes)
            .map(|node| self.places(node))
            .unwrap_or_default();
        let mut file = None;
        let objects = match (fields.get("file"), fields.get("resource")) {
            (Some(node), None) => {
                file = self.notes.text(node, "file");
                let objects = file.as_deref().and_then(|name| self.file(node, name));
                self.scope.incomplete |= objects.is_none();
                objects?
            }
            (None, Some(node)) => {
                self.check_paths(node);
                let object = self.resource(node)?;
                vec![object]
            }
            (Some(_), Some(node)) => {
                self.notes.wrong(
                    node,
                    "apply takes `file` or `resource`, not both",
                    "make two steps of it",
                );
                return None;
            }
            (None, None) => {
                self.notes.wrong(node, "apply needs `file` or `resource`", "");
                return None;
            }
        };
        for object in &objects {
            self.scope.applied(object);
        }
        (!on.is_empty()).then_some(Action::Apply { on, objects, file })
    }

    fn places(&mut self, node: &Node) -> Vec<Place> {
        match &node.data {
            Data::List(items) => items
                .iter()
                .filter_map(|item| self.scope.place(item, &mut self.notes))
                .collect(),
            Data::Scalar { .. } | Data::Map(_) => self.scope.place(node, &mut self.notes).into_iter().collect(),
        }
    }

    fn file(&mut self, node: &Node, name: &str) -> Option<Vec<Value>> {
        let below = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', ':', '\0']);
        if !name.split('/').all(below) {
            let help = "name a file below fixtures/, such as `workloads/deploy.yaml`";
            self.notes
                .wrong(node, format!("`{name}` is no path below fixtures/"), help);
            return None;
        }
        let text = match (self.around.fixture)(name) {
            Ok(text) => text,
            Err(reason) => {
                let help = suggestion(name, self.around.fixtures.iter().map(String::as_str));
                self.notes
                    .wrong(node, format!("fixtures/{name} cannot be read: {reason}"), help);
                return None;
            }
        };
        let objects: Result<Vec<Value>, _> = serde_yaml::Deserializer::from_str(&text)
            .map(Value::deserialize)
            .collect();
        match objects {
            Ok(objects) if objects.iter().all(is_object) => Some(objects),
            Ok(_) => {
                let help = "every document in it needs apiVersion, kind and metadata.name";
                self.notes
                    .wrong(node, format!("fixtures/{name} holds something that is no object"), help);
                None
            }
            Err(error) => {
                self.notes
                    .wrong(node, format!("fixtures/{name} is no YAML: {error}"), "");
                None
            }
        }
    }

    fn resource(&mut self, node: &Node) -> Option<Value> {
        let value = node.value();
        if !is_object(&value) {
            self.notes
                .wrong(node, "a resource needs apiVersion, kind and metadata.name", "");
            return None;
        }
        self.scope.references_in(node, &mut self.notes);
        Some(value)
    }

    /// The paths in the policies of a case must parse; one that is meant not to is given in a file.
    fn check_paths(&mut self, resource: &Node) {
        let failover = resource.get("spec").and_then(|spec| spec.get("failover"));
        for part in ["cluster", "application"] {
            let behaviour = failover.and_then(|failover| failover.get(part));
            let rules = behaviour
                .and_then(|it| it.get("statePreservation"))
                .and_then(|it| it.get("rules"));
            for path in rules
                .map(Node::items)
                .unwrap_or_default()
                .iter()
                .filter_map(|rule| rule.get("jsonPath"))
            {
                let Some(text) = path.value().as_str().map(ToOwned::to_owned) else {
                    continue;
                };
                if let Err(reason) = (self.around.check_path)(&text) {
                    let message = format!("the JSONPath `{text}` does not parse: {reason}");
                    self.notes
                        .wrong(path, message, "paths are written as in `{ .jobStatus.jobID }`");
                }
            }
        }
    }

    /// `on` (the control plane if it is left out where that is the only place) and `of`.
    fn target(&mut self, fields: &Fields<'_>) -> Option<(Place, Subject)> {
        let of = fields
            .need("of", &mut self.notes)
            .and_then(|node| self.scope.subject(node, &mut self.notes));
        let on = match (fields.get("on"), &of) {
            (Some(node), _) => self.scope.place(node, &mut self.notes),
            (None, Some(Subject::Object(_))) => {
                let help = "`control`, `members` or a role";
                self.notes
                    .wrong(fields.node, "this step must say where: `on` is missing", help);
                None
            }
            (None, _) => Some(Place::Control),
        };
        Some((on?, of?))
    }

    fn patch(&mut self, node: &Node) -> Option<Action> {
        let fields = self.notes.map(node, "patch", &["on", "of", "merge"])?;
        let target = self.target(&fields);
        let merge = self.value(&fields, "merge");
        let (on, of) = target?;
        Some(Action::Patch { on, of, merge: merge? })
    }

    fn set_status(&mut self, node: &Node) -> Option<Action> {
        let fields = self.notes.map(node, "setStatus", &["on", "of", "status"])?;
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
        let node = fields.need(name, &mut self.notes)?;
        self.scope.references_in(node, &mut self.notes);
        Some(node.value())
    }

    fn delete(&mut self, node: &Node) -> Option<Action> {
        let fields = self.notes.map(node, "delete", &["on", "of"])?;
        self.target(&fields).map(|(on, of)| Action::Delete { on, of })
    }

    fn hold(&mut self, node: &Node) -> Option<Action> {
        let fields = self.notes.map(node, "hold", &["on", "of"])?;
        self.target(&fields).map(|(on, of)| Action::Hold { on, of })
    }

    fn release(&mut self, node: &Node) -> Option<Action> {
        let fields = self.notes.map(node, "release", &["on", "of"])?;
        self.target(&fields).map(|(on, of)| Action::Release { on, of })
    }

    fn bind_role(&mut self, node: &Node) -> Option<Action> {
        let fields = self.notes.map(node, "bindRole", &["role", "from", "not"])?;
        let role_node = fields.need("role", &mut self.notes);
        let role = role_node.and_then(|node| self.notes.name(node, "a role's name"));
        let from = fields
            .need("from", &mut self.notes)
            .and_then(|node| self.scope.object(node, &mut self.notes));
        let not = match fields.get("not") {
            None => Vec::new(),
            Some(Node {
                data: Data::List(items),
                ..
            }) => items
                .iter()
                .filter_map(|item| self.scope.role(item, &mut self.notes))
                .collect(),
            Some(node) => self.scope.role(node, &mut self.notes).into_iter().collect(),
        };
        let Some((role, role_node)) = role.zip(role_node) else {
            // Steps that use it are not wrong for that.
            self.scope
                .roles
                .extend(role_node.and_then(|node| node.value().as_str().map(ToOwned::to_owned)));
            return None;
        };
        if ["control", "members"].contains(&role.as_str()) || !self.scope.roles.insert(role.clone()) {
            self.notes.wrong(
                role_node,
                format!("`{role}` means something already"),
                "take another name",
            );
        }
        Some(Action::BindRole {
            role: RoleName::new(role),
            from: from?,
            not,
        })
    }

    fn capture(&mut self, node: &Node) -> Option<Action> {
        let fields = self.notes.map(node, "capture", &["name", "on", "of", "field"])?;
        let name_node = fields.need("name", &mut self.notes);
        let name = name_node.and_then(|node| self.notes.name(node, "a captured value's name"));
        let target = self.target(&fields);
        let field = fields
            .need("field", &mut self.notes)
            .and_then(|node| self.notes.text(node, "field"));
        let Some((name, name_node)) = name.zip(name_node) else {
            self.scope
                .captures
                .extend(name_node.and_then(|node| node.value().as_str().map(ToOwned::to_owned)));
            return None;
        };
        if self.scope.roles.contains(&name) || !self.scope.captures.insert(name.clone()) {
            self.notes.wrong(
                name_node,
                format!("`{name}` means something already"),
                "take another name",
            );
        }
        let (on, of) = target?;
        Some(Action::Capture {
            name,
            on,
            of,
            field: field?.split('.').map(ToOwned::to_owned).collect(),
        })
    }

    const EFFECTS: [(&'static str, &'static str); 3] = [
        ("NoExecute", "NoExecute"),
        ("NoSchedule", "NoSchedule"),
        ("PreferNoExecute", "PreferNoExecute"),
    ];

    fn taint(&mut self, node: &Node) -> Option<Action> {
        let fields = self.notes.map(node, "taint", &["cluster", "key", "value", "effect"])?;
        let (cluster, key, effect) = self.taint_parts(&fields);
        let value = fields.get("value").and_then(|node| self.notes.text(node, "value"));
        Some(Action::Taint {
            cluster: cluster?,
            taint: Taint {
                key: key?,
                value,
                effect: effect?,
            },
        })
    }

    fn untaint(&mut self, node: &Node) -> Option<Action> {
        let fields = self.notes.map(node, "untaint", &["cluster", "key", "effect"])?;
        let (cluster, key, effect) = self.taint_parts(&fields);
        Some(Action::Untaint {
            cluster: cluster?,
            key: key?,
            effect: effect?,
        })
    }

    fn taint_parts(&mut self, fields: &Fields<'_>) -> (Option<Place>, Option<String>, Option<String>) {
        let notes = &mut self.notes;
        let cluster = fields
            .need("cluster", notes)
            .and_then(|node| self.scope.role(node, notes))
            .map(Place::Role);
        let key = fields.need("key", notes).and_then(|node| notes.text(node, "key"));
        let effect = fields
            .need("effect", notes)
            .and_then(|node| notes.one_of(node, "effect", &Self::EFFECTS));
        (cluster, key, effect.map(ToOwned::to_owned))
    }

    fn cut_off(&mut self, node: &Node) -> Option<Action> {
        self.scope
            .role(node, &mut self.notes)
            .map(|role| Action::Lever(Lever::CutOff(role)))
    }

    fn heal(&mut self, node: &Node) -> Option<Action> {
        self.scope
            .role(node, &mut self.notes)
            .map(|role| Action::Lever(Lever::Heal(role)))
    }

    fn controller(&mut self, node: &Node) -> Option<Action> {
        let start = self
            .notes
            .one_of(node, "lever of the controller", &[("stop", false), ("start", true)])?;
        Some(Action::Lever(if start {
            Lever::StartController
        } else {
            Lever::StopController
        }))
    }

    fn elapse(&mut self, node: &Node) -> Option<Action> {
        self.notes.duration(node, "elapse").map(Action::Elapse)
    }

    fn wait(&mut self, node: &Node) -> Option<Action> {
        const CONDITIONS: [(&str, &str); 8] = [
            ("created", "created"),
            ("gone", "gone"),
            ("match", "match"),
            ("noMatch", "noMatch"),
            ("healthy", "healthy"),
            ("statusCollected", "statusCollected"),
            ("taskWritten", "taskWritten"),
            ("taskCleared", "taskCleared"),
        ];
        let possible = ["for", "on", "of", "from", "status", "match", "noMatch", "phase"];
        let fields = self.notes.map(node, "wait", &possible)?;
        let what = fields.need("for", &mut self.notes)?;
        let what = self.notes.one_of(what, "condition", &CONDITIONS)?;
        let (until, phase) = match what {
            "created" => (self.plain(&fields, Expect::Present), Phase::Create),
            "gone" => (self.plain(&fields, Expect::Absent), Phase::Purge),
            "match" | "noMatch" => {
                let pattern = fields
                    .need(what, &mut self.notes)
                    .and_then(|it| self.scope.pattern(it, &mut self.notes));
                let expect = pattern.map(if what == "match" {
                    Expect::Match
                } else {
                    Expect::NoMatch
                });
                (expect.and_then(|expect| self.plain(&fields, expect)), Phase::Collect)
            }
            "healthy" => (
                self.collected(&fields, Some(json!({"health": "Healthy"}))),
                Phase::Collect,
            ),
            "statusCollected" => (self.collected(&fields, None), Phase::Collect),
            "taskWritten" => (self.task(&fields, true), Phase::Evict),
            _ => (self.task(&fields, false), Phase::Clear),
        };
        let phase = self.phase(&fields, phase);
        Some(Action::Wait { until: until?, phase })
    }

    fn plain(&mut self, fields: &Fields<'_>, expect: Expect) -> Option<Condition> {
        self.target(fields).map(|(on, of)| Condition { on, of, expect })
    }

    /// The workload's binding, and the role that `from` names.
    fn workload_from(&mut self, fields: &Fields<'_>) -> Option<(Subject, RoleName)> {
        let of = fields
            .need("of", &mut self.notes)
            .and_then(|node| self.scope.object(node, &mut self.notes));
        let from = fields
            .need("from", &mut self.notes)
            .and_then(|node| self.scope.role(node, &mut self.notes));
        Some((Subject::BindingOf(of?), from?))
    }

    fn collected(&mut self, fields: &Fields<'_>, item: Option<Value>) -> Option<Condition> {
        let target = self.workload_from(fields);
        let status = match fields.get("status") {
            Some(node) => self.scope.pattern(node, &mut self.notes)?,
            None => Pattern::Present,
        };
        let (of, from) = target?;
        let mut members = match Pattern::from_value(&item.unwrap_or(json!({}))) {
            Ok(Pattern::Map(members)) => members,
            _ => std::collections::BTreeMap::default(),
        };
        members.insert("clusterName".to_owned(), Pattern::Text(format!("${{{from}}}")));
        members.insert("status".to_owned(), status);
        let items = Pattern::Contains(vec![Pattern::Map(members)]);
        let status = Pattern::Map([("aggregatedStatus".to_owned(), items)].into());
        let expect = Expect::Match(Pattern::Map([("status".to_owned(), status)].into()));
        Some(Condition {
            on: Place::Control,
            of,
            expect,
        })
    }

    fn task(&mut self, fields: &Fields<'_>, written: bool) -> Option<Condition> {
        let (of, from) = self.workload_from(fields)?;
        let from = Pattern::Map([("fromCluster".to_owned(), Pattern::Text(format!("${{{from}}}")))].into());
        let tasks = if written {
            Pattern::Contains(vec![from])
        } else {
            Pattern::Lacks(vec![from])
        };
        let spec = Pattern::Map([("gracefulEvictionTasks".to_owned(), tasks)].into());
        let expect = Expect::Match(Pattern::Map([("spec".to_owned(), spec)].into()));
        Some(Condition {
            on: Place::Control,
            of,
            expect,
        })
    }

    fn phase(&mut self, fields: &Fields<'_>, default: Phase) -> Phase {
        let possible = Phase::ALL.map(|phase| (phase.name(), phase));
        let named = fields
            .get("phase")
            .and_then(|node| self.notes.one_of(node, "phase", &possible));
        named.unwrap_or(default)
    }

    fn assert(&mut self, node: &Node) -> Option<Action> {
        const MODES: [(&str, Mode); 6] = [
            ("now", Mode::Now),
            ("eventually", Mode::Eventually),
            ("consistently", Mode::Consistently(Duration::ZERO)),
            ("observed", Mode::Observed),
            ("never", Mode::Never),
            ("firstSeen", Mode::FirstSeen),
        ];
        let possible = [
            "mode", "for", "on", "of", "match", "noMatch", "absent", "present", "phase", "proves",
        ];
        let fields = self.notes.map(node, "assert", &possible)?;
        let mode = fields
            .need("mode", &mut self.notes)
            .and_then(|node| self.notes.one_of(node, "mode", &MODES));
        let mode = match (mode, fields.get("for")) {
            (Some(Mode::Consistently(_)), _) => {
                let time = fields
                    .need("for", &mut self.notes)
                    .and_then(|node| self.notes.duration(node, "for"));
                time.map(Mode::Consistently)
            }
            (mode, None) => mode,
            (_, Some(node)) => {
                self.notes.wrong(
                    node,
                    "`for` goes with the mode `consistently`",
                    "use `phase` for a timeout",
                );
                None
            }
        };
        let target = self.target(&fields);
        let expect = self.expect(&fields);
        let proves = match fields.get("proves") {
            Some(node) => self.around.requirements(node, &mut self.notes),
            None => BTreeSet::new(),
        };
        let default = if mode == Some(Mode::FirstSeen) {
            Phase::Create
        } else {
            Phase::Collect
        };
        let phase = self.phase(&fields, default);
        let (on, of) = target?;
        let condition = Condition {
            on,
            of,
            expect: expect?,
        };
        Some(Action::Assert(Assertion {
            mode: mode?,
            condition,
            phase,
            proves,
        }))
    }

    fn expect(&mut self, fields: &Fields<'_>) -> Option<Expect> {
        let given: Vec<_> = ["match", "noMatch", "absent", "present"]
            .into_iter()
            .filter_map(|name| fields.get(name).map(|node| (name, node)))
            .collect();
        let [(name, node)] = given.as_slice() else {
            let help = "say what must hold with one of `match`, `noMatch`, `absent: true`, `present: true`";
            self.notes
                .wrong(fields.node, format!("this assertion says {} things", given.len()), help);
            return None;
        };
        match *name {
            "match" => self.scope.pattern(node, &mut self.notes).map(Expect::Match),
            "noMatch" => self.scope.pattern(node, &mut self.notes).map(Expect::NoMatch),
            name => {
                let yes = self.notes.boolean(node, name)?;
                let absent = (name == "absent") == yes;
                Some(if absent { Expect::Absent } else { Expect::Present })
            }
        }
    }

    fn snapshot(&mut self, node: &Node) -> Option<Action> {
        let parts = [SnapshotPart::Taints, SnapshotPart::Binding, SnapshotPart::Labels].map(|part| (part.name(), part));
        let fields = self
            .notes
            .map(node, "snapshot", &["name", "workload", "of", "whenFirstSeenOn"])?;
        let name = fields
            .need("name", &mut self.notes)
            .and_then(|node| self.notes.name(node, "a snapshot's name"));
        let workload = fields
            .need("workload", &mut self.notes)
            .and_then(|node| self.scope.object(node, &mut self.notes));
        let of = match fields.need("of", &mut self.notes) {
            Some(Node {
                data: Data::List(items),
                ..
            }) => items
                .iter()
                .filter_map(|item| self.notes.one_of(item, "part of a snapshot", &parts))
                .collect(),
            Some(node) => self
                .notes
                .one_of(node, "part of a snapshot", &parts)
                .into_iter()
                .collect(),
            None => Vec::new(),
        };
        let when_first_seen_on = fields
            .get("whenFirstSeenOn")
            .and_then(|it| self.scope.role(it, &mut self.notes));
        Some(Action::Snapshot(Snapshot {
            name: name?,
            workload: workload?,
            of,
            when_first_seen_on,
        }))
    }
}

fn is_object(value: &Value) -> bool {
    ["/apiVersion", "/kind", "/metadata/name"]
        .iter()
        .all(|pointer| value.pointer(pointer).is_some_and(Value::is_string))
}
