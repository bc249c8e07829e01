//! What an aggregated API server serves, in the form of the discovery of everything at once.

use baton_apimachinery::meta;
use serde_json::{Value, json};

use crate::handlers::discovery::compact;
use crate::registry::remote::Remote;

impl Remote {
    /// Its entry in a group.
    pub(crate) fn discovery(&self) -> Value {
        let known = self.known();
        let (subresources, resources): (Vec<&Value>, Vec<&Value>) = known
            .resources
            .iter()
            .partition(|each| meta::text(each, "name").contains('/'));
        let resources: Vec<Value> = resources
            .iter()
            .map(|each| self.resource(each, &subresources))
            .collect();
        let freshness = if known.is_available { "Current" } else { "Stale" };
        json!({"version": self.version, "resources": resources, "freshness": freshness})
    }

    fn resource(&self, listed: &Value, subresources: &[&Value]) -> Value {
        let plural = meta::text(listed, "name");
        let subresource = |each: &&Value| {
            let (of, name) = meta::text(each, "name").split_once('/')?;
            let found = json!({"subresource": name, "responseKind": self.kind_of(each), "verbs": each.get("verbs")});
            (of == plural).then_some(found)
        };
        let subresources: Vec<Value> = subresources.iter().filter_map(subresource).collect();
        let is_namespaced = listed.get("namespaced") == Some(&Value::Bool(true));
        Value::Object(compact(json!({
            "resource": plural,
            "responseKind": self.kind_of(listed),
            "scope": if is_namespaced { "Namespaced" } else { "Cluster" },
            "singularResource": meta::text(listed, "singularName"),
            "verbs": listed.get("verbs"),
            "shortNames": listed.get("shortNames"),
            "categories": listed.get("categories"),
            "subresources": subresources,
        })))
    }

    /// The kind that a resource speaks: of the group and version in which it is listed, unless it says another.
    fn kind_of(&self, listed: &Value) -> Value {
        let or = |key: &str, own: &str| match meta::text(listed, key) {
            "" => own.to_owned(),
            said => said.to_owned(),
        };
        json!({
            "group": or("group", &self.group),
            "version": or("version", &self.version),
            "kind": meta::text(listed, "kind"),
        })
    }
}
