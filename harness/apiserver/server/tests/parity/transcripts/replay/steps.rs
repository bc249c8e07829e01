//! The steps of a scenario.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use baton_apiserver::Commits;
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout_at};

use super::client::{Answer, Asked, Client, Lines};
use super::compare::{self, Binding, drop_path};
use super::normalise::{Normaliser, order};
use super::webhooks::Webhooks;
use super::{Scenario, Select, Step, checks};

/// A scenario during its replay.
pub struct Player<'a> {
    client: Client,
    webhooks: Webhooks,
    /// All commits on the server.
    commits: Commits,
    run: String,
    pub answers: BTreeMap<String, Value>,
    pub texts: BTreeMap<String, String>,
    heads: BTreeMap<String, Answer>,
    watches: BTreeMap<String, Lines>,
    pub normaliser: Normaliser,
    binding: Binding,
    name: &'a str,
}

fn seconds(value: f64) -> Duration {
    Duration::from_secs_f64(value)
}

/// Returns a name for the scenario of which no part occurs anywhere else.
fn run_of(scenario: &Scenario) -> String {
    let letters = scenario
        .name
        .bytes()
        .fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    format!("z{:06x}q", letters & 0x00ff_ffff)
}

/// Returns the behaviour of a scenario's webhooks in this run.
pub fn filled_rules(scenario: &Scenario) -> BTreeMap<String, Value> {
    let run = run_of(scenario);
    let rules = scenario.webhooks.iter().map(|(name, rule)| {
        let text = rule.to_string().replace("{{run}}", &run);
        let text = text.replace("{{ns}}", &format!("t-{run}"));
        (name.clone(), serde_json::from_str(&text).expect("a rule"))
    });
    rules.collect()
}

impl<'a> Player<'a> {
    pub fn new(scenario: &'a Scenario, client: Client, webhooks: Webhooks, commits: Commits) -> Self {
        let run = run_of(scenario);
        let mut replacements = Vec::new();
        for name in scenario.webhooks.keys().rev() {
            replacements.push((webhooks.url(name), format!("{{{{webhook:{name}}}}}")));
        }
        replacements.push((webhooks.ca_bundle(), "{{caBundle}}".to_owned()));
        replacements.push((format!("t-{run}"), "{{ns}}".to_owned()));
        replacements.push((run.clone(), "{{run}}".to_owned()));
        Self {
            client,
            webhooks,
            commits,
            run,
            answers: BTreeMap::new(),
            texts: BTreeMap::new(),
            heads: BTreeMap::new(),
            watches: BTreeMap::new(),
            normaliser: Normaliser::new(scenario, replacements),
            binding: Binding::default(),
            name: &scenario.name,
        }
    }

    pub fn namespace(&self) -> String {
        format!("t-{}", self.run)
    }

    pub async fn create_namespace(&mut self, namespace: &Value) -> Result<(), String> {
        let asked = Asked {
            method: "POST".to_owned(),
            path: "/api/v1/namespaces".to_owned(),
            headers: self.headers(None, true),
            body: Some(namespace.to_string()),
        };
        let answer = self.client.send(&asked).await?;
        (answer.status == 201)
            .then_some(())
            .ok_or_else(|| format!("{}: no namespace: {}", self.name, answer.text))
    }

    fn headers(&self, token: Option<&str>, body: bool) -> Vec<(String, String)> {
        let mut headers = vec![
            ("User-Agent".to_owned(), "transcript-replay/1.0".to_owned()),
            ("Accept".to_owned(), "application/json".to_owned()),
        ];
        let token = token.unwrap_or(&self.client.token);
        if token != "none" {
            headers.push(("Authorization".to_owned(), format!("Bearer {token}")));
        }
        if body {
            headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        }
        headers
    }

    /// Takes a step; the error is a difference. A step with a deadline is repeated after every commit on the server.
    pub async fn step(&mut self, step: &Step) -> Result<(), String> {
        if step.sleep.is_some() {
            return Ok(());
        }
        let deadline = step.until.map(|until| Instant::now() + seconds(until));
        loop {
            while self.commits.try_recv().is_some() {}
            let binding = self.binding.clone();
            let outcome = match self.execute(step).await {
                Ok(answer) => self.compare(step, &answer),
                Err(error) => Err(error),
            };
            let (Err(_), Some(deadline)) = (&outcome, deadline) else {
                return outcome;
            };
            if timeout_at(deadline, self.commits.recv()).await.is_err() {
                return outcome;
            }
            self.binding = binding;
        }
    }

    async fn execute(&mut self, step: &Step) -> Result<Answer, String> {
        if let Some(watch) = &step.collect {
            return self.collect(step, watch).await;
        }
        if let Some(webhook) = &step.webhook_calls {
            let calls = Value::from(self.webhooks.calls(webhook));
            self.answers.insert(step.id.clone(), calls.clone());
            return Ok(read(calls));
        }
        let asked = self.ask(step)?;
        let answer = if step.watch {
            let (answer, lines) = self.client.watch(&asked).await?;
            if let Some(lines) = lines {
                self.watches.insert(step.id.clone(), lines);
            }
            answer
        } else {
            self.client.send(&asked).await?
        };
        self.heads.insert(step.id.clone(), answer.clone());
        self.texts.insert(step.id.clone(), answer.text.clone());
        if let Some(json) = &answer.json {
            self.answers.insert(step.id.clone(), json.clone());
            self.learn_generated(&asked, json);
        }
        Ok(answer)
    }

    /// Learns the generated name in the answer to a create that failed.
    fn learn_generated(&mut self, asked: &Asked, answer: &Value) {
        let body: Value = serde_json::from_str(asked.body.as_deref().unwrap_or_default()).unwrap_or_default();
        let (base, name) = (&body["metadata"]["generateName"], &answer["details"]["name"]);
        if let (Some(base), Some(name), "Status") = (
            base.as_str(),
            name.as_str(),
            answer["kind"].as_str().unwrap_or_default(),
        ) && name.starts_with(base.get(..58).unwrap_or(base))
        {
            let placeholder = format!("<name:{base}>");
            self.normaliser.names.insert(name.to_owned(), placeholder);
        }
    }

    fn ask(&self, step: &Step) -> Result<Asked, String> {
        let mut path = self.filled(&step.path)?;
        let mut separator = '?';
        for (name, value) in &step.query {
            let values = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
            for value in values {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let value = encode(&self.filled(&value)?);
                let _ = write!(path, "{separator}{}={value}", encode(name));
                separator = '&';
            }
        }
        let body = match (&step.body_text, &step.body_from, &step.body) {
            (Some(text), _, _) => Some(self.filled(text)?),
            (None, Some(from), _) => {
                let answer = self.answers.get(&from.step);
                let mut document = answer
                    .ok_or_else(|| format!("no answer of step {}", from.step))?
                    .clone();
                from.remove.iter().for_each(|pointer| drop_path(&mut document, pointer));
                for (pointer, value) in &from.set {
                    set(&mut document, pointer, self.fill(value)?);
                }
                Some(document.to_string())
            }
            (None, None, Some(body)) => {
                let body = self.fill_body(body)?;
                Some(serde_json::to_string(&body).map_err(|error| error.to_string())?)
            }
            (None, None, None) => None,
        };
        let mut headers = self.headers(step.token.as_deref(), body.is_some());
        for (name, value) in &step.headers {
            headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
            if let Some(value) = value {
                headers.push((name.clone(), self.filled(value)?));
            }
        }
        Ok(Asked {
            method: step.method.clone(),
            path,
            headers,
            body,
        })
    }

    /// Returns the value of a template: `ns`, `uid:STEP`, `json:STEP:/pointer`, ….
    pub fn lookup(&self, template: &str) -> Result<String, String> {
        self.found(template)
            .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            .ok_or_else(|| format!("nothing for {{{{{template}}}}}"))
    }

    fn found(&self, template: &str) -> Option<Value> {
        let mut parts = template.splitn(3, ':');
        let kind = parts.next()?;
        match kind {
            "run" => return Some(self.run.clone().into()),
            "ns" => return Some(self.namespace().into()),
            "caBundle" => return Some(self.webhooks.ca_bundle().into()),
            _ => {}
        }
        let (step, rest) = (parts.next()?, parts.next());
        let metadata = |key: &str| self.answers.get(step)?.get("metadata")?.get(key).cloned();
        match kind {
            "webhook" => Some(self.webhooks.url(step).into()),
            "repeat" => Some(step.repeat(rest?.parse().ok()?).into()),
            "header" => self.heads.get(step)?.header(rest?).first().map(|value| (*value).into()),
            "json" => self.answers.get(step)?.pointer(rest?).cloned(),
            "rv" => metadata("resourceVersion"),
            "time" => metadata("creationTimestamp"),
            _ => metadata(kind),
        }
    }

    fn filled(&self, text: &str) -> Result<String, String> {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((template, after)) = after.split_once("}}") else {
                break;
            };
            out.push_str(before);
            out.push_str(&self.lookup(template)?);
            rest = after;
        }
        out.push_str(rest);
        Ok(out)
    }

    fn fill(&self, value: &Value) -> Result<Value, String> {
        Ok(match value {
            Value::String(text) => {
                let whole = text.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
                match whole.filter(|template| !template.contains("{{")) {
                    Some(template) => self.found(template).ok_or_else(|| format!("nothing for {text}"))?,
                    None => self.filled(text)?.into(),
                }
            }
            Value::Array(items) => items.iter().map(|item| self.fill(item)).collect::<Result<_, _>>()?,
            Value::Object(members) => {
                let filled = members
                    .iter()
                    .map(|(name, value)| Ok((self.filled(name)?, self.fill(value)?)));
                Value::Object(filled.collect::<Result<Map<_, _>, String>>()?)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        })
    }

    /// Returns the body of a request, its members in the order of the recording.
    fn fill_body(&self, value: &serde_yaml::Value) -> Result<serde_yaml::Value, String> {
        use serde_yaml::Value as Ordered;
        Ok(match value {
            Ordered::String(text) => {
                let filled = self.fill(&text.clone().into())?;
                serde_yaml::to_value(filled).map_err(|error| error.to_string())?
            }
            Ordered::Sequence(items) => {
                let filled = items.iter().map(|item| self.fill_body(item));
                Ordered::Sequence(filled.collect::<Result<_, _>>()?)
            }
            Ordered::Mapping(members) => {
                let filled = members
                    .iter()
                    .map(|(name, value)| Ok((self.fill_body(name)?, self.fill_body(value)?)));
                Ordered::Mapping(filled.collect::<Result<_, String>>()?)
            }
            Ordered::Null | Ordered::Bool(_) | Ordered::Number(_) | Ordered::Tagged(_) => value.clone(),
        })
    }

    /// Returns the events of a watch: waits for the wanted number, and then a short while for unexpected ones.
    async fn collect(&mut self, step: &Step, watch: &str) -> Result<Answer, String> {
        let mut lines = self
            .watches
            .remove(watch)
            .ok_or_else(|| format!("watch {watch} is not open"))?;
        let mut deadline = Instant::now() + seconds(step.timeout.unwrap_or(10.0));
        let mut events = Vec::new();
        let mut ended = false;
        loop {
            if !step.end && events.len() >= step.events {
                deadline = deadline.min(Instant::now() + seconds(step.quiet.unwrap_or(0.3)));
            }
            let Ok(line) = timeout_at(deadline, lines.recv()).await else {
                break;
            };
            let Some(line) = line else {
                ended = true;
                break;
            };
            let event: Value = serde_json::from_str(&line).unwrap_or_else(|_| line.into());
            let marked = event
                .pointer("/object/metadata/annotations/k8s.io~1initial-events-end")
                .is_some();
            let wanted = event["type"] != "BOOKMARK" || marked || step.bookmarks.as_deref() == Some("all");
            if wanted {
                events.push(event);
            }
        }
        if step.end {
            let kind = if ended { "<end of stream>" } else { "<still open>" };
            events.push(serde_json::json!({"type": kind}));
        }
        if step.keep_open {
            self.watches.insert(watch.to_owned(), lines);
        }
        let events = Value::from(events);
        self.answers.insert(step.id.clone(), events.clone());
        Ok(read(events))
    }

    fn compare(&mut self, step: &Step, answer: &Answer) -> Result<(), String> {
        let expect = &step.expect;
        if let Some(status) = expect.status.filter(|status| *status != answer.status) {
            return Err(format!("status {} instead of {status}: {}", answer.status, answer.text));
        }
        for (name, wanted) in &expect.headers {
            let found = self.header(answer, name);
            let fits = match wanted.as_str() {
                Some("<present>") => !found.is_null(),
                _ => found == *wanted,
            };
            if !fits {
                return Err(format!("header {name}: expected {wanted}, got {found}"));
            }
        }
        let mode = expect.compare.as_deref().unwrap_or("exact");
        if let Some(body) = expect.body.as_ref().filter(|_| mode != "none") {
            let mut recorded = body.clone();
            let mut replayed = self.normal(step, mode, answer)?;
            for side in [&mut recorded, &mut replayed] {
                order(side);
                step.ignore.iter().for_each(|pointer| drop_path(side, pointer));
            }
            match mode {
                "subset" => compare::subset(&recorded, &replayed, "", &mut self.binding)?,
                _ => compare::exact(&recorded, &replayed, "", &mut self.binding)?,
            }
        }
        let mut asserts = step.asserts.iter();
        asserts.try_for_each(|assertion| checks::check(self, assertion))
    }

    fn header(&mut self, answer: &Answer, name: &str) -> Value {
        let found = answer.header(name);
        if name.eq_ignore_ascii_case("warning") {
            let texts: Vec<Value> = found.iter().map(|text| self.normaliser.text(text).into()).collect();
            return if texts.is_empty() { Value::Null } else { texts.into() };
        }
        let Some(first) = found.first() else { return Value::Null };
        if name.eq_ignore_ascii_case("content-type") {
            let parts = first
                .split(';')
                .map(str::trim)
                .filter(|part| !part.starts_with("charset"));
            return parts.collect::<Vec<_>>().join(";").into();
        }
        self.normaliser.text(first).into()
    }

    fn normal(&mut self, step: &Step, mode: &str, answer: &Answer) -> Result<Value, String> {
        if mode == "text" {
            return Ok(self.normaliser.text(&answer.text).into());
        }
        let mut value = match (mode, &answer.json) {
            ("yaml", _) => {
                let value: Value = serde_yaml::from_str(&answer.text).map_err(|error| format!("no YAML: {error}"))?;
                self.normaliser.body(&value)
            }
            (_, Some(json)) => self.normaliser.body(json),
            (_, None) if answer.text.is_empty() => Value::Null,
            (_, None) => self.normaliser.text(&answer.text).into(),
        };
        if step.unordered
            && let Value::Array(events) = &mut value
        {
            events.sort_by_cached_key(|event| super::normalise::untold(&event.to_string()));
        }
        if step.bookmarks.is_some()
            && let Value::Array(events) = &mut value
        {
            events.dedup_by(|next, last| next["type"] == "BOOKMARK" && last["type"] == "BOOKMARK");
        }
        step.select.iter().for_each(|select| select_in(&mut value, select));
        Ok(value)
    }
}

/// Returns the answer of a step that sends no request.
fn read(found: Value) -> Answer {
    Answer {
        status: 200,
        text: found.to_string(),
        json: Some(found),
        ..Answer::default()
    }
}

fn select_in(value: &mut Value, select: &Select) {
    match value.pointer_mut(&select.path) {
        Some(Value::Array(items)) => {
            let pointer = format!("/{}", select.key);
            let text = |item: &Value| {
                item.pointer(&pointer)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned()
            };
            items.retain(|item| select.within.contains(&text(item)));
            if select.sort {
                items.sort_by_cached_key(text);
            }
        }
        Some(Value::Object(members)) => members.retain(|name, _| select.within.contains(name)),
        _ => {}
    }
}

/// Sets the value at a pointer, and creates the objects on the way.
fn set(document: &mut Value, pointer: &str, value: Value) {
    let parts = pointer.split('/').skip(1);
    let parts: Vec<String> = parts.map(|part| part.replace("~1", "/").replace("~0", "~")).collect();
    put(document, &parts, value);
}

fn put(here: &mut Value, parts: &[String], value: Value) {
    let Some((first, rest)) = parts.split_first() else {
        *here = value;
        return;
    };
    if let Value::Array(items) = here {
        if first == "-" {
            items.push(Value::Null);
        }
        let index = first.parse().unwrap_or(items.len() - 1);
        put(&mut items[index], rest, value);
        return;
    }
    if !here.is_object() {
        *here = Value::Object(Map::new());
    }
    put(&mut here[first.as_str()], rest, value);
}

/// Percent-encodes a part of a query.
fn encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes()
        .map(|byte| {
            if plain(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}
