//! `wait` and `assert`: what must hold, when, and for how long it is waited for.

use std::time::Duration;

use serde_json::{Value, json};

use super::Reader;
use crate::{
    case::{
        claims::Claims,
        model::{Action, Assertion, Condition, Expect, Mode, Phase, Place, Subject},
        refs,
        shapes::steps as shapes,
    },
    names::{RoleName, number_of_member},
    pattern::Pattern,
    yaml::{Data, Node, decode::Fields, shape::Tagged},
};

/// Conditions of `wait`, by the names that cases use.
#[derive(Clone, Copy)]
enum Awaited {
    Created,
    Gone,
    Match,
    NoMatch,
    Count,
    Healthy,
    StatusCollected,
    TaskWritten,
    TaskCleared,
}

impl Awaited {
    const ALL: [(&'static str, Self); 9] = [
        ("created", Self::Created),
        ("gone", Self::Gone),
        ("match", Self::Match),
        ("noMatch", Self::NoMatch),
        ("count", Self::Count),
        ("healthy", Self::Healthy),
        ("statusCollected", Self::StatusCollected),
        ("taskWritten", Self::TaskWritten),
        ("taskCleared", Self::TaskCleared),
    ];

    /// The phase whose timeout counts if the case does not say.
    fn phase(self) -> Phase {
        match self {
            Self::Created => Phase::Create,
            Self::Gone => Phase::Purge,
            Self::Match | Self::NoMatch | Self::Count | Self::Healthy | Self::StatusCollected => Phase::Collect,
            Self::TaskWritten => Phase::Evict,
            Self::TaskCleared => Phase::Clear,
        }
    }
}

impl Reader<'_> {
    pub(super) fn wait(&mut self, node: &Node) -> Option<Action> {
        let (until, phase) = self.awaited(node, &shapes::WAIT)?;
        let within = node
            .get("within")
            .and_then(|within| self.within(within, None, node.get("phase").is_some()));
        let otherwise = node
            .get("orUnsupported")
            .and_then(|node| self.decoder.text(node, "orUnsupported"));
        Some(Action::Wait {
            until,
            phase,
            within,
            otherwise,
        })
    }

    /// Reads the condition to wait for.
    pub(super) fn awaited(&mut self, node: &Node, shape: &Tagged) -> Option<(Condition, Phase)> {
        let (name, fields) = self.decoder.tagged(node, shape)?;
        let awaited = Awaited::ALL.into_iter().find(|(known, _)| *known == name)?.1;
        let until = match awaited {
            Awaited::Created => self.plain(&fields, Some(Expect::Present)),
            Awaited::Gone => self.plain(&fields, Some(Expect::Absent)),
            Awaited::Match => {
                let pattern = self.needed_pattern(&fields, "match");
                self.plain(&fields, pattern.map(Expect::Match))
            }
            Awaited::NoMatch => {
                let pattern = self.needed_pattern(&fields, "noMatch");
                self.plain(&fields, pattern.map(Expect::NoMatch))
            }
            Awaited::Count => {
                let count = fields.get("count").and_then(|node| self.count(node));
                let condition = self.plain(&fields, count.map(Expect::Count));
                condition.filter(|it| self.counts(fields.node, &it.of, true))
            }
            Awaited::Healthy => self.collected(&fields, Some(json!({"health": "Healthy"}))),
            Awaited::StatusCollected => self.collected(&fields, None),
            Awaited::TaskWritten => self.task(&fields, true),
            Awaited::TaskCleared => self.task(&fields, false),
        };
        let phase = self.phase(&fields, awaited.phase());
        Some((until?, phase))
    }

    fn needed_pattern(&mut self, fields: &Fields<'_>, name: &str) -> Option<Pattern> {
        fields
            .get(name)
            .and_then(|node| self.scope.pattern(node, &mut self.decoder))
    }

    fn plain(&mut self, fields: &Fields<'_>, expect: Option<Expect>) -> Option<Condition> {
        let (on, of) = self.target(fields)?;
        if !matches!(expect, None | Some(Expect::Count(_))) && !self.counts(fields.node, &of, false) {
            return None;
        }
        Some(Condition {
            on,
            of,
            expect: expect?,
        })
    }

    /// The workload's binding, and the role that `from` names.
    fn workload_from(&mut self, fields: &Fields<'_>) -> Option<(Subject, RoleName)> {
        let of = fields
            .get("of")
            .and_then(|node| self.scope.object(node, &mut self.decoder));
        let from = fields
            .get("from")
            .and_then(|node| self.scope.role(node, &mut self.decoder));
        Some((Subject::BindingOf(of?), from?))
    }

    fn collected(&mut self, fields: &Fields<'_>, item: Option<Value>) -> Option<Condition> {
        let target = self.workload_from(fields);
        let status = match fields.get("status") {
            Some(node) => self.scope.pattern(node, &mut self.decoder)?,
            None => Pattern::Present,
        };
        let (of, from) = target?;
        let mut members = match Pattern::from_value(&item.unwrap_or(json!({}))) {
            Ok(Pattern::Map(members)) => members,
            _ => std::collections::BTreeMap::default(),
        };
        members.insert("clusterName".to_owned(), named(&from));
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
        let from = Pattern::Map([("fromCluster".to_owned(), named(&from))].into());
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
            .and_then(|node| self.decoder.one_of(node, "phase", &possible));
        named.unwrap_or(default)
    }

    pub(super) fn assert(&mut self, node: &Node) -> Option<Action> {
        let fields = self.decoder.shape(node, &shapes::ASSERT)?;
        let is_order = node.get("mode").is_some_and(|mode| mode.value() == shapes::ORDER);
        if is_order || fields.get("first").or(fields.get("then")).is_some() {
            return self.order(&fields, is_order);
        }
        let mode = fields
            .get("mode")
            .and_then(|node| self.decoder.one_of(node, "mode", &shapes::MODES));
        let mode = match (mode, fields.get("for")) {
            (Some(Mode::Consistently(_)), _) => {
                let time = fields
                    .need("for", &mut self.decoder)
                    .and_then(|node| self.decoder.duration(node, "for"));
                time.map(Mode::Consistently)
            }
            (mode, None) => mode,
            (_, Some(node)) => {
                self.decoder.error(
                    node,
                    "`for` is only for the mode `consistently`",
                    "use `phase` for a timeout",
                );
                None
            }
        };
        if let Some(metric) = fields.get("metric") {
            return self.metric(&fields, metric, mode);
        }
        let of = fields.need("of", &mut self.decoder);
        let target = of.and_then(|_| self.target(&fields));
        let expect = self.expect(&fields);
        let proves = match fields.get("proves") {
            Some(node) => self.claims(node, expect.as_ref()),
            None => Claims::default(),
        };
        let within = fields.get("within");
        let within = within.and_then(|node| self.within(node, mode, fields.get("phase").is_some()));
        if let (Some((_, of)), Some(expect)) = (&target, &expect) {
            self.check_mode(fields.node, mode, of, expect);
        }
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
            within,
            proves,
        }))
    }

    /// Modes do not go with everything.
    fn check_mode(&mut self, node: &Node, mode: Option<Mode>, of: &Subject, expect: &Expect) {
        let is_count = matches!(expect, Expect::Count(_));
        self.counts(node, of, is_count);
        let Some(Mode::Observed | Mode::Never | Mode::FirstSeen) = mode else {
            return;
        };
        let help = "use `now`, `eventually` or `consistently`";
        if is_count {
            self.decoder
                .error(node, "`count` is about one moment, not about revisions", help);
        }
        if let Subject::NoticeOf(_) | Subject::NewsOf(_) = of {
            let message = "`noticeOf` and `newsOf` are about what was seen since the last step, not about revisions";
            let help = "use `eventually`, `now` or `consistently`";
            self.decoder.error(node, message, help);
        }
        if let (Some(Mode::FirstSeen), Expect::Absent) = (mode, expect) {
            let help = "an object that is seen exists; use `now`, `never` or `consistently`";
            self.decoder
                .error(node, "`absent` cannot be combined with the mode `firstSeen`", help);
        }
    }

    /// A time to wait that is the assertion's own.
    pub(super) fn within(&mut self, node: &Node, mode: Option<Mode>, has_phase: bool) -> Option<Duration> {
        if let Some(Mode::Now | Mode::Consistently(_) | Mode::Never) = mode {
            let help = "`within` is for `eventually`, `observed` and `firstSeen`";
            self.decoder
                .error(node, "this mode does not wait, so `within` has no effect", help);
        }
        if has_phase {
            self.decoder
                .error(node, "`within` replaces `phase`", "remove one of them");
        }
        self.decoder.duration(node, "within")
    }

    /// `proves`: requirements of the whole, or each by the fields that show it.
    fn claims(&mut self, node: &Node, expect: Option<&Expect>) -> Claims {
        let Data::Map(members) = &node.data else {
            return Claims::of_whole(refs::requirements(self.context.catalogue, node, &mut self.decoder));
        };
        let Some(Expect::Match(pattern)) = expect else {
            if expect.is_some() {
                let help = "list the requirements";
                self.decoder.error(
                    node,
                    "only an assertion with `match` has fields that prove something",
                    help,
                );
            }
            return Claims::default();
        };
        let mut claims = Claims::default();
        for (key, fields) in members {
            let id = refs::requirement(self.context.catalogue, key, key.key(), &mut self.decoder);
            for (node, field) in self.decoder.texts(fields, "a field") {
                let Some(Err(known)) = id.clone().map(|id| claims.add_field(id, &field, pattern)) else {
                    continue;
                };
                let help = self.decoder.suggestion(&field, known.iter().map(String::as_str));
                self.decoder
                    .error(node, format!("this assertion does not match the field `{field}`"), help);
            }
        }
        claims
    }

    pub(super) fn expect(&mut self, fields: &Fields<'_>) -> Option<Expect> {
        let given: Vec<_> = ["match", "noMatch", "absent", "present", "count"]
            .into_iter()
            .filter_map(|name| fields.get(name).map(|node| (name, node)))
            .collect();
        let [(name, node)] = given.as_slice() else {
            let help = "use exactly one of `match`, `noMatch`, `absent: true`, `present: true`, `count`";
            self.decoder.error(
                fields.node,
                format!("this assertion has {} conditions", given.len()),
                help,
            );
            return None;
        };
        match *name {
            "match" => self.scope.pattern(node, &mut self.decoder).map(Expect::Match),
            "noMatch" => self.scope.pattern(node, &mut self.decoder).map(Expect::NoMatch),
            "count" => self.count(node).map(Expect::Count),
            name => {
                let yes = self.decoder.boolean(node, name)?;
                let absent = (name == "absent") == yes;
                Some(if absent { Expect::Absent } else { Expect::Present })
            }
        }
    }
}

/// The name of the member that plays a role, or whose name stands in the place of one.
fn named(role: &RoleName) -> Pattern {
    match number_of_member(role.as_str()) {
        Some(_) => Pattern::Text(role.to_string()),
        None => Pattern::Text(format!("${{{role}}}")),
    }
}
