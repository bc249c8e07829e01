//! `refused`: a request that the API must not accept.

use super::Reader;
use crate::{
    case::{
        model::{Action, Refused},
        refs,
        shapes::steps as shapes,
    },
    yaml::Node,
};

impl Reader<'_> {
    pub(super) fn refused(&mut self, node: &Node) -> Option<Action> {
        let fields = self.decoder.shape(node, &shapes::REFUSED)?;
        let given = ["apply", "create", "patch", "delete"].map(|name| (name, fields.get(name)));
        let given: Vec<_> = given
            .into_iter()
            .filter_map(|(name, node)| Some((name, node?)))
            .collect();
        let request = match given.as_slice() {
            [("apply" | "create", node)] => self.refused_apply(node),
            [("patch", node)] => self.patch(node),
            [(_, node)] => self.delete(node),
            _ => {
                let message = format!("this step makes {} requests", given.len());
                let help = "say with one of `apply`, `create`, `patch`, `delete` what must be refused";
                self.decoder.error(fields.node, message, help);
                None
            }
        };
        let mentions = fields
            .get("mentions")
            .map(|node| self.decoder.texts(node, "what it mentions"));
        let proves = fields
            .get("proves")
            .map(|node| refs::requirements(self.context.catalogue, node, &mut self.decoder));
        Some(Action::Refused(Refused {
            request: Box::new(request?),
            creates: fields.get("create").is_some(),
            mentions: mentions.unwrap_or_default().into_iter().map(|(_, text)| text).collect(),
            proves: proves.unwrap_or_default(),
        }))
    }

    /// One object in one place, with paths that may be wrong: that is what is tried.
    fn refused_apply(&mut self, node: &Node) -> Option<Action> {
        let paths_checked = std::mem::replace(&mut self.scope.paths_may_be_wrong, true);
        let apply = self.apply(node);
        self.scope.paths_may_be_wrong = paths_checked;
        if let Some(Action::Apply { on, objects, .. }) = &apply
            && (on.len(), objects.len()) != (1, 1)
        {
            let help = "make a step of each";
            self.decoder
                .error(node, "what must be refused is one object in one place", help);
            return None;
        }
        apply
    }
}
