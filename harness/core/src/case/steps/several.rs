//! Assertions about several things: how many objects are like this, which of two things came first, what a metric says.

use std::collections::BTreeMap;

use super::Reader;
use crate::{
    case::{
        model::{Action, Condition, Count, Metric, MetricAssertion, Mode, Sequence, Subject},
        refs,
        shapes::steps as shapes,
    },
    yaml::{Node, decode::Fields},
};

impl Reader<'_> {
    /// `count`: how many of them are like this.
    pub(super) fn count(&mut self, node: &Node) -> Option<Count> {
        let fields = self.decoder.shape(node, &shapes::COUNT)?;
        let like = match fields.get("match") {
            Some(node) => Some(self.scope.pattern(node, &mut self.decoder)?),
            None => None,
        };
        let is = fields
            .get("is")
            .and_then(|node| self.scope.pattern(node, &mut self.decoder));
        Some(Count { like, is: is? })
    }

    /// Checks that a subject of several objects is counted, and that no other one is.
    pub(super) fn counts(&mut self, node: &Node, of: &Subject, counted: bool) -> bool {
        let several = matches!(of, Subject::BindingsOf(_));
        match (several, counted) {
            (true, false) => self.decoder.error(
                node,
                "`bindingsOf` means several objects",
                "say with `count` how many of them must be like that",
            ),
            (false, true) => self
                .decoder
                .error(node, "`count` needs several objects", "use `bindingsOf`"),
            (true, true) | (false, false) => {}
        }
        several == counted
    }

    /// `mode: order`: which of two things came first.
    pub(super) fn order(&mut self, fields: &Fields<'_>, is_order: bool) -> Option<Action> {
        if !is_order {
            let node = fields.get("first").or(fields.get("then")).unwrap_or(fields.node);
            let help = "use `mode: order`";
            self.decoder
                .error(node, "`first` and `then` are for the mode `order`", help);
        }
        for name in [
            "on", "of", "for", "within", "phase", "match", "noMatch", "absent", "present", "count", "metric",
        ] {
            if let Some(node) = fields.get(name) {
                let help = "an order has `first`, `then` and `proves`";
                self.decoder
                    .error(node, format!("`{name}` has no effect with the mode `order`"), help);
            }
        }
        let moments = ["first", "then"].map(|name| {
            let node = fields.need(name, &mut self.decoder)?;
            self.moment(node)
        });
        let proves = fields.get("proves");
        let proves = proves.map(|node| refs::requirements(self.context.catalogue, node, &mut self.decoder));
        let [first, then] = moments;
        Some(Action::Order(Box::new(Sequence {
            first: first?,
            then: then?,
            proves: proves.unwrap_or_default(),
        })))
    }

    fn moment(&mut self, node: &Node) -> Option<Condition> {
        let fields = self.decoder.shape(node, &shapes::MOMENT)?;
        let target = self.target(&fields);
        let expect = self.expect(&fields);
        let (on, of) = target?;
        if matches!(of, Subject::BindingsOf(_) | Subject::NoticeOf(_) | Subject::NewsOf(_)) {
            let help = "use an object, a binding, a Work, a Cluster or an Event";
            self.decoder.error(node, "only one object has a first moment", help);
            return None;
        }
        Some(Condition {
            on,
            of,
            expect: expect?,
        })
    }

    /// `metric`: what a metric says.
    pub(super) fn metric(&mut self, fields: &Fields<'_>, node: &Node, mode: Option<Mode>) -> Option<Action> {
        for name in ["on", "of", "phase"] {
            if let Some(node) = fields.get(name) {
                let help = "remove it";
                self.decoder
                    .error(node, format!("`{name}` has no effect with `metric`"), help);
            }
        }
        if let Some(Mode::Observed | Mode::Never | Mode::FirstSeen) = mode {
            let help = "use `now`, `eventually` or `consistently`";
            self.decoder.error(node, "a metric has no revisions", help);
        }
        let within = fields.get("within").map(|node| self.within(node, mode, false));
        let inner = self.decoder.shape(node, &shapes::METRIC)?;
        let name = inner.get("name").and_then(|node| self.decoder.text(node, "name"));
        let mut labels = BTreeMap::new();
        if let Some(node) = inner.get("labels") {
            for (key, value) in self.decoder.members(node, "labels") {
                let pattern = self.scope.pattern(value, &mut self.decoder)?;
                labels.insert(key.key().to_owned(), pattern);
            }
        }
        let is = inner
            .get("is")
            .and_then(|node| self.scope.pattern(node, &mut self.decoder));
        let proves = fields.get("proves");
        let proves = proves.map(|node| refs::requirements(self.context.catalogue, node, &mut self.decoder));
        Some(Action::Metric(MetricAssertion {
            mode: mode?,
            metric: Metric {
                name: name?,
                labels,
                is: is?,
            },
            within: within.flatten(),
            proves: proves.unwrap_or_default(),
        }))
    }
}
