//! Values that differ from run to run become placeholders: `<uid:1>`, `<rv:2>`, `<time>`, `<name:PREFIX>`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::{SignedDuration, Timestamp};
use regex::{Captures, Regex};
use serde_json::{Map, Value};

use super::Scenario;

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern")
}

static UID: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"));
static TIME: LazyLock<Regex> = LazyLock::new(|| regex(r"\b(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)"));
static GO_TIME: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\b(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(\.\d+)? [+-]\d{4} [A-Z]{3,4}( m=[+-][\d.]+)?"));
static AGE: LazyLock<Regex> = LazyLock::new(|| regex(r"^(\d+[smhdy])+$"));
static IP_V4: LazyLock<Regex> = LazyLock::new(|| regex(r"^\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}$"));
static QUOTED_OBJECT: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"(?s)Invalid value: "\{\\"(?:apiVersion|kind|metadata|data|spec|status)\\".*?\}": "#));
/// Resource versions inside messages.
static VERSIONS: LazyLock<[(Regex, &str); 5]> = LazyLock::new(|| {
    [
        (
            regex(r"(ResourceVersion in precondition: )[^,\s]+(, ResourceVersion in object meta: )\d+"),
            "${1}<rv>${2}<rv>",
        ),
        (
            regex(
                r"(ResourceVersion in the precondition )\([^)]*\)( does not match the ResourceVersion in record )\(\d+\)",
            ),
            "${1}(<rv>)${2}(<rv>)",
        ),
        (regex(r"(too old resource version: )\d+ \(\d+\)"), "${1}<rv> (<rv>)"),
        (
            regex(r"(Too large resource version: )\d+(, current: )\d+"),
            "${1}<rv>${2}<rv>",
        ),
        (regex(r#"(resourceVersion"?: ?")\d+(")"#), "${1}<rv>${2}"),
    ]
});

/// Replaces values that differ from run to run, and remembers them.
pub struct Normaliser {
    keep_managed: bool,
    number_versions: bool,
    /// Concrete texts and their placeholders.
    replacements: Vec<(String, String)>,
    /// Values of the requests, which the server has not generated.
    literals: String,
    uids: BTreeMap<String, usize>,
    versions: BTreeMap<String, usize>,
    pub names: BTreeMap<String, String>,
    addresses: BTreeMap<String, String>,
}

impl Normaliser {
    pub fn new(scenario: &Scenario, replacements: Vec<(String, String)>) -> Self {
        let literals = scenario.steps.iter().map(|step| {
            format!(
                "{:?}{:?}{:?}{:?}",
                step.query, step.body, step.body_text, step.body_from
            )
        });
        Self {
            keep_managed: scenario.managed_fields,
            number_versions: !scenario.plain_resource_versions,
            replacements,
            literals: literals.collect(),
            uids: BTreeMap::new(),
            versions: BTreeMap::new(),
            names: BTreeMap::new(),
            addresses: BTreeMap::new(),
        }
    }

    /// Normalises a body.
    pub fn body(&mut self, value: &Value) -> Value {
        self.learn(value);
        self.walk(value, "", false)
    }

    /// Learns generated names and allocated addresses.
    fn learn(&mut self, value: &Value) {
        match value {
            Value::Object(members) => {
                let meta = |key: &str| members.get("metadata")?.get(key)?.as_str();
                if let (Some(base), Some(name)) = (meta("generateName"), meta("name"))
                    && name.starts_with(base)
                    && name.len() > base.len()
                {
                    let base = self.replaced(base);
                    self.names.entry(name.to_owned()).or_insert(format!("<name:{base}>"));
                }
                for key in ["clusterIP", "clusterIPs"] {
                    let found = members.get(key);
                    let listed = found.and_then(Value::as_array).into_iter().flatten().chain(found);
                    for address in listed.filter_map(Value::as_str).collect::<Vec<_>>() {
                        let made =
                            (IP_V4.is_match(address) || address.contains(':')) && !self.literals.contains(address);
                        if made {
                            self.addresses.insert(address.to_owned(), "<ip>".to_owned());
                        }
                    }
                }
                members.values().for_each(|value| self.learn(value));
            }
            Value::Array(items) => items.iter().for_each(|item| self.learn(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn replaced(&self, text: &str) -> String {
        let each = self.replacements.iter();
        each.fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    }

    /// Normalises a text.
    pub fn text(&mut self, text: &str) -> String {
        let mut text = self.replaced(text);
        for (from, to) in self.names.iter().rev().chain(self.addresses.iter().rev()) {
            text = text.replace(from, to);
        }
        let (literals, uids) = (&self.literals, &mut self.uids);
        text = UID
            .replace_all(&text, |found: &Captures<'_>| {
                let uid = found[0].to_owned();
                if literals.contains(&uid) {
                    return uid;
                }
                let next = uids.len() + 1;
                format!("<uid:{}>", uids.entry(uid).or_insert(next))
            })
            .into_owned();
        text = TIME
            .replace_all(&text, |found: &Captures<'_>| match (is_near(&found[1]), found.get(2)) {
                (false, _) => found[0].to_owned(),
                (true, Some(_)) => "<microtime>".to_owned(),
                (true, None) => "<time>".to_owned(),
            })
            .into_owned();
        text = GO_TIME
            .replace_all(&text, |found: &Captures<'_>| {
                let near = is_near(&format!("{}T{}", &found[1], &found[2]));
                if near { "<time>".to_owned() } else { found[0].to_owned() }
            })
            .into_owned();
        text = QUOTED_OBJECT
            .replace_all(&text, "Invalid value: \"<object>\": ")
            .into_owned();
        for (pattern, to) in VERSIONS.iter() {
            text = pattern.replace_all(&text, *to).into_owned();
        }
        text
    }

    fn version(&mut self, value: &Value, of_list: bool) -> Value {
        match value.as_str() {
            None | Some("" | "0") => value.clone(),
            Some(_) if of_list || !self.number_versions => "<rv>".into(),
            Some(version) => {
                let next = self.versions.len() + 1;
                format!("<rv:{}>", self.versions.entry(version.to_owned()).or_insert(next)).into()
            }
        }
    }

    fn walk(&mut self, value: &Value, key: &str, of_list: bool) -> Value {
        match value {
            Value::Object(members) => self.object(members, key, of_list),
            Value::Array(items) => items.iter().map(|item| self.walk(item, key, false)).collect(),
            Value::String(text) => self.text(text).into(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn object(&mut self, members: &Map<String, Value>, key: &str, of_list: bool) -> Value {
        let kind = members.get("kind").and_then(Value::as_str).unwrap_or_default();
        let bookmark =
            members.get("type").and_then(Value::as_str) == Some("BOOKMARK") && members.contains_key("object");
        let listed = members.get("items").is_none_or(Value::is_array);
        let is_list = bookmark
            || kind == "Table"
            || members.get("items").is_some_and(Value::is_array)
            || (kind.ends_with("List") && listed);
        let in_metadata = key == "metadata";
        let mut out = Map::new();
        for (name, value) in members {
            let shown = self.text(name);
            let normal = match name.as_str() {
                "managedFields" if in_metadata && !self.keep_managed => continue,
                "managedFields" if in_metadata => self.walk(value, "entry", false),
                "resourceVersion" if in_metadata => self.version(value, of_list),
                "continue" if in_metadata && value.as_str().is_some_and(|text| !text.is_empty()) => "<continue>".into(),
                "nodePort" | "healthCheckNodePort" if self.is_allocated(name, value) => "<nodePort>".into(),
                "userInfo" => "<userInfo>".into(),
                "metadata" => self.walk(value, "metadata", is_list),
                "object" if bookmark => self.bookmark(value),
                "rows" if kind == "Table" => value
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|row| self.row(row))
                    .collect(),
                _ => self.walk(value, name, false),
            };
            out.insert(shown, normal);
        }
        Value::Object(out)
    }

    fn is_allocated(&self, name: &str, value: &Value) -> bool {
        let port = value.as_u64().unwrap_or_default();
        let literal = format!("{name:?}: Number({port})");
        port > 0 && !self.literals.contains(&literal)
    }

    fn bookmark(&mut self, value: &Value) -> Value {
        let mut object = value.clone();
        if let Some(members) = object.as_object_mut() {
            members.insert("items".to_owned(), Value::Array(Vec::new()));
        }
        let mut normal = self.walk(&object, "object", true);
        if let Some(members) = normal.as_object_mut() {
            members.remove("items");
        }
        normal
    }

    fn row(&mut self, row: &Value) -> Value {
        let mut normal = self.walk(row, "", false);
        for cell in normal["cells"].as_array_mut().into_iter().flatten() {
            if cell.as_str().is_some_and(|text| AGE.is_match(text)) {
                *cell = "<age>".into();
            }
        }
        normal
    }
}

fn is_near(time: &str) -> bool {
    let Ok(time) = format!("{time}Z").parse::<Timestamp>() else {
        return false;
    };
    time.duration_until(Timestamp::now()).abs() < SignedDuration::from_hours(48)
}

/// Sorts lists without a fixed order: managers, conflicts and findings. For both sides of a comparison.
pub fn order(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.values_mut().for_each(order);
            if let Some(Value::Array(entries)) = members.get_mut("managedFields") {
                sort(
                    entries,
                    &["operation", "manager", "apiVersion", "subresource", "fieldsV1"],
                );
            }
            if members.get("kind").is_some_and(|kind| kind == "Status") {
                order_causes(members);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(order),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn sort(items: &mut [Value], by: &[&str]) {
    items.sort_by_cached_key(|item| {
        by.iter()
            .map(|name| untold(&item[*name].to_string()))
            .collect::<Vec<_>>()
    });
}

/// Returns the text without the numbers of placeholders.
pub fn untold(text: &str) -> String {
    static TOKEN: LazyLock<Regex> = LazyLock::new(|| regex(r"<(uid|rv):\d+>"));
    TOKEN.replace_all(text, "<$1>").into_owned()
}

fn order_causes(status: &mut Map<String, Value>) {
    let details = status.get_mut("details").and_then(|details| details.get_mut("causes"));
    let Some(causes) = details.and_then(Value::as_array_mut) else {
        return;
    };
    sort(causes, &["field", "message", "reason"]);
    let text = |cause: &Value, name: &str| cause[name].as_str().unwrap_or_default().to_owned();
    let mut parts: Vec<String> = Vec::new();
    for cause in causes {
        let part = format!("{}: {}", text(cause, "field"), text(cause, "message"));
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    let message = status.get("message").and_then(Value::as_str).unwrap_or_default();
    if let Some((head, list)) = message
        .strip_suffix(']')
        .and_then(|rest| rest.split_once(" is invalid: ["))
    {
        let joined = parts.join(", ");
        if joined.len() == list.len() && parts.iter().all(|part| list.contains(part)) {
            let message = format!("{head} is invalid: [{joined}]");
            status.insert("message".to_owned(), message.into());
        }
    }
}
