//! Names of members in concurrent cases: each case calls its first member `member1`, which is a different cluster for
//! each of them.
//!
//! [`Names`] maps names and attributes objects to cases, without I/O; `translated` applies it to requests and answers.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use baton_core::{names::number_of_member, select::EXECUTION_NAMESPACE};
use serde_json::Value;

/// State that all concurrent cases on a control plane share.
#[derive(Debug, Default)]
pub(super) struct Company {
    /// Namespaces of all cases of this run.
    namespaces: Mutex<BTreeSet<String>>,
    /// Leaks between cases: the namespace of a case, and a description.
    strays: Mutex<BTreeMap<String, String>>,
}

impl Company {
    /// Registers a case's namespace, before it is created.
    pub(super) fn comes(&self, namespace: &str) {
        let mut all = self.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(namespace.to_owned());
    }

    /// The first leak to or from a case; `None` if there is none.
    pub(super) fn stray(&self, namespace: &str) -> Option<String> {
        let strays = self.strays.lock().unwrap_or_else(PoisonError::into_inner);
        strays.get(namespace).cloned()
    }

    fn has(&self, namespace: &str) -> bool {
        let all = self.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
        all.contains(namespace)
    }

    fn note(&self, namespace: &str, what: String) {
        let mut strays = self.strays.lock().unwrap_or_else(PoisonError::into_inner);
        strays.entry(namespace.to_owned()).or_insert(what);
    }
}

/// Kind of objects that a request is about, as far as their owner depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Clusters,
    Namespaces,
    Other,
}

/// Owner of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// This case, or no particular case.
    Ours,
    /// Another case.
    Theirs,
}

/// Mapping between a case's names of its members and their registered names.
#[derive(Debug)]
pub(super) struct Names {
    namespace: String,
    /// From the case's name to the registered name, and back.
    out: BTreeMap<String, String>,
    back: BTreeMap<String, String>,
    company: Arc<Company>,
}

impl Names {
    /// For a case in this namespace, from pairs of the case's name of a member (`member1`, …) and its registered name.
    pub(super) fn new(namespace: &str, members: &[(String, String)], company: Arc<Company>) -> Self {
        Self {
            namespace: namespace.to_owned(),
            out: members.iter().cloned().collect(),
            back: members.iter().map(|(ours, own)| (own.clone(), ours.clone())).collect(),
            company,
        }
    }

    /// Replaces the case's names in a text by the registered names.
    pub(super) fn out<'t>(&self, text: &'t str) -> Cow<'t, str> {
        words(text, &self.out)
    }

    /// Replaces registered names in a text by the case's names.
    pub(super) fn back<'t>(&self, text: &'t str) -> Cow<'t, str> {
        words(text, &self.back)
    }

    /// Replaces the case's names in all strings and keys of a value.
    pub(super) fn all_out(&self, value: &mut Value) {
        each(value, &|text| self.out(text));
    }

    /// Replaces registered names in all strings and keys of a value.
    pub(super) fn all_back(&self, value: &mut Value) {
        each(value, &|text| self.back(text));
    }

    /// Quick check whether an answer may mention members or other cases. All other answers stay unchanged.
    pub(super) fn concerns(&self, text: &str) -> bool {
        text.contains("member") || self.speaks_of_another(text)
    }

    /// Owner of an object on the control plane, given with registered names. Notes leaks between cases.
    pub(super) fn on_control(&self, asked: Asked, object: &Value) -> Whose {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
        match (asked, namespace) {
            (Asked::Clusters, "") => self.of_member(name),
            (Asked::Namespaces, "") => self.of_namespace(name),
            (_, "") => self.by_mention(object),
            (_, own) if own == self.namespace => {
                if let Some(foreign) = self.foreign_member(object) {
                    self.stray(&self.namespace, object, &format!("speaks of {foreign}"));
                }
                Whose::Ours
            }
            (_, space) if space.starts_with(EXECUTION_NAMESPACE) => self.in_execution_space(space, object),
            (_, other) if self.company.has(other) => Whose::Theirs,
            _ => self.by_mention(object),
        }
    }

    /// Owner of an object on one of the case's members.
    pub(super) fn on_member(&self, asked: Asked, object: &Value) -> Whose {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
        match (asked, namespace) {
            (Asked::Namespaces, "") if self.is_of_another(name) => Whose::Theirs,
            (_, other) if self.is_of_another(other) => {
                self.stray(other, object, "is on a member of another case");
                Whose::Theirs
            }
            _ => Whose::Ours,
        }
    }

    fn is_of_another(&self, namespace: &str) -> bool {
        namespace != self.namespace && self.company.has(namespace)
    }

    /// Checks whether a word is the name of a member that the case does not have.
    fn is_foreign(&self, word: &str) -> bool {
        number_of_member(word).is_some() && !self.back.contains_key(word)
    }

    fn of_member(&self, name: &str) -> Whose {
        if self.is_foreign(name) {
            Whose::Theirs
        } else {
            Whose::Ours
        }
    }

    fn of_namespace(&self, name: &str) -> Whose {
        match name.strip_prefix(EXECUTION_NAMESPACE) {
            Some(member) => self.of_member(member),
            None if self.is_of_another(name) => Whose::Theirs,
            None => Whose::Ours,
        }
    }

    /// A Work belongs to the case if it is for one of the case's members; its manifests must belong to the case too.
    fn in_execution_space(&self, space: &str, object: &Value) -> Whose {
        let for_us = self.of_namespace(space) == Whose::Ours;
        let manifests = object.pointer("/spec/workload/manifests").and_then(Value::as_array);
        let text = |manifest: &Value, pointer| manifest.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let mut theirs = !for_us;
        for manifest in manifests.into_iter().flatten() {
            if text(manifest, "/kind").as_deref() == Some("Namespace") {
                // An implementation may propagate every namespace to every member.
                theirs |= text(manifest, "/metadata/name").is_some_and(|name| self.is_of_another(&name));
                continue;
            }
            let namespace = text(manifest, "/metadata/namespace").unwrap_or_default();
            if for_us && self.is_of_another(&namespace) {
                self.stray(&namespace, object, "is for a member of another case");
                theirs = true;
            }
            if !for_us && namespace == self.namespace {
                self.stray(&namespace, object, "is for a member of another case");
            }
        }
        if theirs { Whose::Theirs } else { Whose::Ours }
    }

    /// An object outside of the cases' namespaces belongs to another case if it mentions only others.
    fn by_mention(&self, object: &Value) -> Whose {
        let text = object.to_string();
        let mut all = split(&text);
        let own = text.contains(&self.namespace) || all.clone().any(|word| self.back.contains_key(word));
        let foreign = all.any(|word| self.is_foreign(word)) || self.speaks_of_another(&text);
        if foreign && !own { Whose::Theirs } else { Whose::Ours }
    }

    fn speaks_of_another(&self, text: &str) -> bool {
        let all = self.company.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter()
            .any(|name| *name != self.namespace && text.contains(name.as_str()))
    }

    /// A member of another case that an object mentions.
    fn foreign_member(&self, object: &Value) -> Option<String> {
        let text = object.to_string();
        let mut all = split(&text);
        let foreign = all.find(|word| self.is_foreign(word));
        foreign.map(str::to_owned)
    }

    fn stray(&self, namespace: &str, object: &Value, how: &str) {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (place, name) = (text("/metadata/namespace"), text("/metadata/name"));
        self.company.note(namespace, format!("{place}/{name} {how}"));
    }
}

/// Splits a text into words of letters and digits.
fn split(text: &str) -> impl Iterator<Item = &str> + Clone {
    text.split(|it: char| !it.is_ascii_alphanumeric())
}

/// Replaces words of a text; separators stay.
fn words<'t>(text: &'t str, others: &BTreeMap<String, String>) -> Cow<'t, str> {
    if !split(text).any(|word| others.get(word).is_some_and(|other| other != word)) {
        return Cow::Borrowed(text);
    }
    let mut changed = String::with_capacity(text.len());
    let mut end = 0;
    for word in split(text) {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        changed.push_str(&text[end..start]);
        changed.push_str(others.get(word).map_or(word, String::as_str));
        end = start + word.len();
    }
    changed.push_str(&text[end..]);
    Cow::Owned(changed)
}

fn each<'v>(value: &'v mut Value, change: &dyn Fn(&str) -> Cow<'_, str>) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(changed) = change(text) {
                *text = changed;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| each(item, change)),
        Value::Object(members) => {
            let members_now = std::mem::take(members);
            for (key, mut member) in members_now {
                each(&mut member, change);
                let key = change(&key).into_owned();
                members.insert(key, member);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Two cases: `baton-a` has member1 and member3, `baton-b` has member2, which it calls member1.
    fn two() -> (Names, Names) {
        let company = Arc::new(Company::default());
        company.comes("baton-a");
        company.comes("baton-b");
        let pair = |ours: &str, own: &str| (ours.to_owned(), own.to_owned());
        let a = [pair("member1", "member1"), pair("member2", "member3")];
        let b = [pair("member1", "member2")];
        (
            Names::new("baton-a", &a, Arc::clone(&company)),
            Names::new("baton-b", &b, company),
        )
    }

    #[test]
    fn whole_words_change_on_the_way_out_and_back() {
        let (a, b) = two();
        for (ours, own) in [
            ("karmada-es-member2", "karmada-es-member3"),
            ("member1, member2", "member1, member3"),
            (r#"{"clusterNames":["member2"]}"#, r#"{"clusterNames":["member3"]}"#),
            ("member22 amember2 member", "member22 amember2 member"),
            ("", ""),
        ] {
            assert_eq!(a.out(ours), own);
            assert_eq!(a.back(own), ours);
        }
        assert_eq!(
            (b.out("member1"), b.back("member2")),
            ("member2".into(), "member1".into())
        );
        let mut value = json!({"a": ["member2", 1, null], "member2": {"b": "x-member2"}});
        a.all_out(&mut value);
        assert_eq!(value, json!({"a": ["member3", 1, null], "member3": {"b": "x-member3"}}));
    }

    fn object(namespace: &str, name: &str, spec: &Value) -> Value {
        json!({"metadata": {"namespace": namespace, "name": name}, "spec": spec})
    }

    #[test]
    fn what_is_others_is_told_by_names_and_namespaces() {
        use Asked::{Clusters, Namespaces, Other};
        let (a, _) = two();
        let nothing = Value::Null;
        for (asked, namespace, name, spec, whose) in [
            (Clusters, "", "member3", &nothing, Whose::Ours),
            (Clusters, "", "member2", &nothing, Whose::Theirs),
            (Clusters, "", "another", &nothing, Whose::Ours),
            (Namespaces, "", "baton-a", &nothing, Whose::Ours),
            (Namespaces, "", "baton-b", &nothing, Whose::Theirs),
            (Namespaces, "", "karmada-es-member1", &nothing, Whose::Ours),
            (Namespaces, "", "karmada-es-member4", &nothing, Whose::Theirs),
            (Namespaces, "", "kube-system", &nothing, Whose::Ours),
            (Other, "baton-a", "x", &nothing, Whose::Ours),
            (Other, "baton-b", "x", &nothing, Whose::Theirs),
            (Other, "karmada-es-member3", "x", &nothing, Whose::Ours),
            (Other, "karmada-es-member2", "x", &nothing, Whose::Theirs),
            (Other, "karmada-cluster", "member1", &nothing, Whose::Ours),
            (Other, "karmada-cluster", "member2", &nothing, Whose::Theirs),
            (
                Other,
                "default",
                "x",
                &json!({"involvedObject": {"name": "member2"}}),
                Whose::Theirs,
            ),
            (
                Other,
                "default",
                "x",
                &json!({"all": ["member1", "member2"]}),
                Whose::Ours,
            ),
            (
                Other,
                "",
                "x",
                &json!({"subjects": [{"namespace": "baton-b"}]}),
                Whose::Theirs,
            ),
            (Other, "kube-system", "x", &nothing, Whose::Ours),
        ] {
            let object = object(namespace, name, spec);
            assert_eq!(a.on_control(asked, &object), whose, "{object}");
        }
        assert_eq!(a.company.stray("baton-a"), None);
        assert_eq!(a.company.stray("baton-b"), None);
    }

    fn work(of: &str, kind: &str) -> Value {
        let metadata = match kind {
            "Namespace" => json!({"name": of}),
            _ => json!({"name": "x", "namespace": of}),
        };
        json!({"workload": {"manifests": [{"kind": kind, "metadata": metadata}]}})
    }

    #[test]
    fn a_case_that_reaches_members_of_another_one_is_noted_by_both() {
        let strays = |seen: &dyn Fn(&Names, &Names)| {
            let (a, b) = two();
            seen(&a, &b);
            (
                a.company.stray("baton-a").is_some(),
                a.company.stray("baton-b").is_some(),
            )
        };
        let on_control = |names: &Names, object: &Value| {
            names.on_control(Asked::Other, object);
        };
        // The binding names a member that the case does not have.
        let binding = object("baton-a", "x", &json!({"clusters": [{"name": "member2"}]}));
        assert_eq!(strays(&|a, _| on_control(a, &binding)), (true, false));
        // A Work of one case for a member of the other.
        let stray = object("karmada-es-member2", "x", &work("baton-a", "Deployment"));
        assert_eq!(strays(&|a, _| on_control(a, &stray)), (true, false));
        assert_eq!(strays(&|_, b| on_control(b, &stray)), (true, false));
        // Every member may have every namespace, so this is not a leak.
        let space = object("karmada-es-member2", "x", &work("baton-a", "Namespace"));
        assert_eq!(
            strays(&|a, b| {
                on_control(a, &space);
                on_control(b, &space);
            }),
            (false, false)
        );
        // A copy of one case on a member of the other.
        let copy = object("baton-a", "x", &Value::Null);
        let seen = strays(&|_, b| {
            b.on_member(Asked::Other, &copy);
        });
        assert_eq!(seen, (true, false));
        let (a, b) = two();
        assert_eq!(b.on_control(Asked::Other, &space), Whose::Theirs);
        assert_eq!(
            a.on_member(Asked::Namespaces, &object("", "baton-b", &Value::Null)),
            Whose::Theirs
        );
    }
}
