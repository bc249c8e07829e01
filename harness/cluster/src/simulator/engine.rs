//! The loop of a simulator: watches, finds the rules that hold, and carries them out once their time has come.
//!
//! A single task that handles keys and rules in order, so that the same events lead to the same writes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use futures::{StreamExt, future, stream::BoxStream, stream::SelectAll};
use kube::{
    Api, Client,
    runtime::{
        WatchStreamExt,
        watcher::{self, Event},
    },
};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    Failures, Options,
    act::{self, Outcome},
    backoff::Backoff,
    duration,
    functions::Source,
    functions::data,
    plain::Plain,
    rules::{Action, After, KindRef, Rule, Rules},
    store::{Key, Known, Store, deleting, text},
    template::{TemplateError, Templates},
};
use crate::storage::Storage;

type Events = SelectAll<BoxStream<'static, (KindRef, watcher::Result<Event<Plain>>)>>;

/// State of a simulator.
pub(super) struct Engine {
    client: Client,
    rules: Arc<Rules>,
    templates: Templates,
    failures: Failures,
    storage: Storage,
    store: Store,
    /// Objects to evaluate.
    dirty: BTreeSet<Key>,
    /// Time since when each rule has held.
    held: BTreeMap<Key, BTreeMap<usize, Instant>>,
    /// Times at which objects must be evaluated again.
    timers: BTreeSet<(Instant, Key)>,
    /// Number of consecutive failed writes, by object and index of the rule.
    attempts: BTreeMap<Key, BTreeMap<usize, u32>>,
    /// Objects that were already provided for each object, so that each evaluation need not request them again.
    provided: BTreeMap<Key, BTreeSet<String>>,
    watches: Watches,
}

/// Status code of an answer that an object is invalid.
const INVALID: u16 = 422;

/// Number of consecutive refusals that are reported as a failure.
const HOPELESS: u32 = 5;

/// Running watches, and their progress.
#[derive(Default)]
struct Watches {
    custom: BTreeMap<KindRef, CancellationToken>,
    /// Kinds whose initial list is incomplete. No rule is carried out before all are complete.
    unlisted: BTreeSet<KindRef>,
    /// Keys in a list that is in progress.
    listing: BTreeMap<KindRef, BTreeSet<Key>>,
}

/// State of an object for its rules.
struct View {
    /// No rule is carried out for it.
    paused: bool,
    deleting: bool,
    /// Variables of templates.
    context: minijinja::Value,
}

fn definitions() -> KindRef {
    KindRef {
        api_version: "apiextensions.k8s.io/v1".to_owned(),
        kind: "CustomResourceDefinition".to_owned(),
    }
}

impl Engine {
    pub(super) fn new(client: Client, rules: Arc<Rules>, options: &Options, failures: Failures) -> Self {
        let storage = options.storage.clone();
        let source = Source::new(
            Arc::clone(&options.clock),
            options.seed,
            &options.cluster,
            storage.clone(),
        );
        let templates = rules.templates.with(source);
        Self {
            client,
            rules,
            templates,
            failures,
            storage,
            store: Store::default(),
            dirty: BTreeSet::new(),
            held: BTreeMap::new(),
            timers: BTreeSet::new(),
            attempts: BTreeMap::new(),
            provided: BTreeMap::new(),
            watches: Watches::default(),
        }
    }

    /// Runs forever.
    pub(super) async fn run(mut self) {
        let mut events = Events::new();
        let built_in = self.rules.watched().into_iter().filter(|kind| !kind.is_custom());
        for kind in built_in.chain([definitions()]) {
            events.push(watch(&self.client, &kind));
            self.watches.unlisted.insert(kind);
        }
        loop {
            // However many events arrive, handle expired timers.
            self.ring();
            if self.watches.unlisted.is_empty() {
                while !self.dirty.is_empty() {
                    self.look_at_all().await;
                }
            }
            let next = self.timers.first().map(|(at, _)| *at);
            tokio::select! {
                biased;
                Some((kind, event)) = events.next() => match event {
                    Ok(event) => self.take_in(&kind, event, &mut events),
                    Err(error) => tracing::debug!(kind = %kind.kind, %error, "a watch of the simulator failed"),
                },
                () = at(next) => {}
            }
        }
    }

    /// Evaluates all marked objects. Resulting events are evaluated after all of them: two pods that become ready are
    /// one change to their set.
    async fn look_at_all(&mut self) {
        for key in std::mem::take(&mut self.dirty) {
            self.look_at(&key).await;
        }
    }

    /// Marks the objects whose timers have expired.
    fn ring(&mut self) {
        let now = Instant::now();
        while let Some((at, _)) = self.timers.first()
            && *at <= now
        {
            self.dirty.extend(self.timers.pop_first().map(|(_, key)| key));
        }
    }

    fn take_in(&mut self, kind: &KindRef, event: Event<Plain>, events: &mut Events) {
        match event {
            Event::Init => {
                self.watches.listing.insert(kind.clone(), BTreeSet::new());
            }
            Event::InitApply(object) => {
                let object = object.of(kind);
                let seen = self.watches.listing.entry(kind.clone()).or_default();
                seen.insert(Key::of(kind, &object));
                self.put(kind, object, events);
            }
            Event::InitDone => {
                self.watches.unlisted.remove(kind);
                let seen = self.watches.listing.remove(kind).unwrap_or_default();
                for gone in self.store.of_kind(kind).difference(&seen) {
                    self.remove(gone);
                }
            }
            Event::Apply(object) => self.put(kind, object.of(kind), events),
            Event::Delete(object) => {
                let object = object.of(kind);
                let key = Key::of(kind, &object);
                let known = self.store.get(&key).map(|known| text(&known.object, "uid"));
                if known == Some(text(&object, "uid")) {
                    self.remove(&key);
                }
                if *kind == definitions() {
                    self.stop_watching(&object);
                }
            }
        }
    }

    fn put(&mut self, kind: &KindRef, object: Value, events: &mut Events) {
        if *kind == definitions() {
            self.start_watching(&object, events);
        } else {
            self.dirty.extend(self.store.put(kind, object));
        }
    }

    fn remove(&mut self, key: &Key) {
        self.dirty.extend(self.store.remove(key));
        self.held.remove(key);
        self.attempts.remove(key);
        self.provided.remove(key);
    }

    /// Watches the kinds of a definition, if there are rules for them.
    fn start_watching(&mut self, definition: &Value, events: &mut Events) {
        let conditions = definition.pointer("/status/conditions").and_then(Value::as_array);
        let established = json!({"type": "Established", "status": "True"});
        let established = |condition: &Value| super::merge::contains(condition, &established);
        if !conditions.is_some_and(|conditions| conditions.iter().any(established)) {
            return;
        }
        for kind in self.defined(definition) {
            let watches = &mut self.watches;
            watches.custom.entry(kind.clone()).or_insert_with(|| {
                let token = CancellationToken::new();
                let stream = watch(&self.client, &kind);
                events.push(stream.take_until(token.clone().cancelled_owned()).boxed());
                token
            });
        }
    }

    fn stop_watching(&mut self, definition: &Value) {
        for kind in self.defined(definition) {
            if let Some(token) = self.watches.custom.remove(&kind) {
                token.cancel();
            }
            for key in self.store.of_kind(&kind) {
                self.remove(&key);
            }
        }
    }

    fn defined(&self, definition: &Value) -> Vec<KindRef> {
        let spec = &definition["spec"];
        let (group, kind) = (spec["group"].as_str(), spec["names"]["kind"].as_str());
        let (Some(group), Some(kind)) = (group, kind) else {
            return Vec::new();
        };
        let mut kinds = self.rules.watched();
        kinds.retain(|watched| watched.is_custom() && watched.group() == group && watched.kind == kind);
        kinds
    }

    /// Carries out the rules of one object that are due, and sets a timer for the next evaluation.
    async fn look_at(&mut self, key: &Key) {
        let rules = Arc::clone(&self.rules);
        let Some(kind) = rules.kinds.get(&key.kind) else {
            return;
        };
        let mut view = None;
        for (number, rule) in kind.rules.iter().enumerate() {
            let Some(seen) = view.take().or_else(|| self.view(key, kind.children.as_ref())) else {
                self.held.remove(key);
                return;
            };
            let mut written = false;
            if seen.paused || rule.deleting != seen.deleting {
                self.let_go(key, number);
            } else {
                match self.due(key, number, rule, &seen.context) {
                    Ok(false) => {}
                    Ok(true) => written = self.carry_out(key, number, rule, &seen.context).await,
                    Err(error) => self.fail(key, rule, &error),
                }
            }
            if !written {
                view = Some(seen);
            }
        }
    }

    /// State of an object for its rules.
    fn view(&self, key: &Key, children: Option<&KindRef>) -> Option<View> {
        let known = self.store.get(key)?;
        let object = &known.object;
        let settings = self.store.settings(object);
        let children: Vec<minijinja::Value> = match children {
            Some(kind) => self.store.children(object, kind).map(Known::data).collect(),
            None => Vec::new(),
        };
        Some(View {
            paused: settings.get("paused").and_then(Value::as_str) == Some("true"),
            deleting: deleting(object),
            context: minijinja::context! {
                object => known.data(), children => children, settings => data(&settings)
            },
        })
    }

    /// Checks whether a rule holds and has held long enough; sets a timer if it has not.
    fn due(
        &mut self,
        key: &Key,
        number: usize,
        rule: &Rule,
        context: &minijinja::Value,
    ) -> Result<bool, TemplateError> {
        if let Some(when) = &rule.when
            && !self.templates.holds(when, context)?
        {
            self.let_go(key, number);
            return Ok(false);
        }
        let after = match &rule.after {
            After::Fixed(after) => *after,
            After::Computed(expression) => {
                let value = self.templates.render(expression, context)?;
                value.as_str().and_then(duration).ok_or(TemplateError::Type {
                    expected: "a duration such as 50ms",
                    value,
                })?
            }
        };
        let now = Instant::now();
        let held = self.held.entry(key.clone()).or_default();
        let Some(due) = held.entry(number).or_insert(now).checked_add(after) else {
            return Ok(false);
        };
        if due > now {
            self.timers.insert((due, key.clone()));
        }
        Ok(due <= now)
    }

    fn let_go(&mut self, key: &Key, number: usize) {
        if let Some(held) = self.held.get_mut(key) {
            held.remove(&number);
        }
    }

    /// Carries out a rule. Returns whether it wrote an object, so that the known state is outdated.
    async fn carry_out(&mut self, key: &Key, number: usize, rule: &Rule, context: &minijinja::Value) -> bool {
        let outcome = self.act(key, rule, context).await;
        match outcome {
            Ok(outcome) => {
                if let Some(attempts) = self.attempts.get_mut(key) {
                    attempts.remove(&number);
                }
                self.let_go(key, number);
                match outcome {
                    Outcome::Nothing => {}
                    Outcome::Written(objects) => {
                        for (kind, object) in objects {
                            self.dirty.extend(self.store.put(&kind, object));
                        }
                        return true;
                    }
                }
            }
            Err(act::ActError::Write(error)) => self.retry(key, number, rule, &error),
            Err(error) => self.fail(key, rule, &error),
        }
        false
    }

    async fn act(&mut self, key: &Key, rule: &Rule, context: &minijinja::Value) -> Result<Outcome, act::ActError> {
        let Some(Known { object, .. }) = self.store.get(key) else {
            return Ok(Outcome::Nothing);
        };
        let target = act::Target {
            client: &self.client,
            key,
            object,
        };
        match &rule.action {
            Action::Status(template) => {
                if let Some(files) = &rule.files {
                    self.write_files(self.templates.render(files, context)?)?;
                }
                target.merge_status(self.templates.render(template, context)?).await
            }
            Action::Provide(template) => {
                let objects = act::objects(self.templates.render(template, context)?)?;
                for object in objects {
                    let text = object.to_string();
                    let provided = self.provided.entry(key.clone()).or_default();
                    if !provided.contains(&text) {
                        target.provide(object).await?;
                        provided.insert(text);
                    }
                }
                Ok(Outcome::Nothing)
            }
            Action::Finalizers(template) => target.set_finalizers(self.templates.render(template, context)?).await,
            Action::Delete => target.delete().await,
            Action::Ensure(ensure) => {
                let rules = self.rules.kinds.get(&key.kind);
                let Some(kind) = rules.and_then(|rules| rules.children.as_ref()) else {
                    return Ok(Outcome::Nothing);
                };
                let children: Vec<&Known> = self.store.children(object, kind).collect();
                let steps = act::plan(ensure, &self.templates, context, &children)?;
                target.carry_out(kind, &children, steps).await
            }
        }
    }

    fn write_files(&self, files: Value) -> Result<(), TemplateError> {
        let Value::Object(files) = files else {
            let expected = "files by path";
            return Err(TemplateError::Type { expected, value: files });
        };
        for (path, content) in files {
            self.storage.write(&path, content);
        }
        Ok(())
    }

    fn fail(&mut self, key: &Key, rule: &Rule, error: &dyn std::error::Error) {
        self.failures.add(format!("{}: {error}", in_words(rule, key)));
    }

    /// Retries later, at growing intervals: the cluster may be down, or a namespace may not exist yet.
    fn retry(&mut self, key: &Key, number: usize, rule: &Rule, error: &kube::Error) {
        let attempts = self.attempts.entry(key.clone()).or_default();
        let attempts = attempts.entry(number).or_default();
        *attempts = attempts.saturating_add(1);
        let wait = Duration::from_millis(50).saturating_mul(1 << (*attempts).min(7));
        tracing::debug!(rule = rule.name, object = key.name, %error, ?wait, "the simulator tries again");
        // An object that is invalid stays invalid on each retry: the case's workload never runs here.
        if let kube::Error::Api(status) = error
            && status.code == INVALID
            && *attempts == HOPELESS
        {
            self.failures.add(format!(
                "{}: the API server rejected its writes {HOPELESS} times: {}",
                in_words(rule, key),
                shortened(&status.message)
            ));
        }
        self.timers.insert((Instant::now() + wait, key.clone()));
    }
}

/// Describes a rule and the object that it is for, beginning with the position of the rule.
fn in_words(rule: &Rule, key: &Key) -> String {
    let Key { kind, namespace, name } = key;
    let Rule {
        name: rule, position, ..
    } = rule;
    format!("{position}: rule `{rule}` on {} {namespace}/{name}", kind.kind)
}

/// Longest message of an API server that is reported in full. Some quote the whole object, and name the reason at the end.
const MESSAGE: usize = 400;

fn shortened(message: &str) -> String {
    let count = message.chars().count();
    if count <= MESSAGE {
        return message.to_owned();
    }
    let begin: String = message.chars().take(MESSAGE / 4).collect();
    let end: String = message.chars().skip(count - MESSAGE * 3 / 4).collect();
    format!("{begin} … {end}")
}

async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => future::pending().await,
    }
}

fn watch(client: &Client, kind: &KindRef) -> BoxStream<'static, (KindRef, watcher::Result<Event<Plain>>)> {
    let api: Api<Plain> = Api::all_with(client.clone(), &act::resource(kind));
    let kind = kind.clone();
    watcher::watcher(api, watcher::Config::default())
        .backoff(Backoff::default())
        .map(move |event| (kind.clone(), event))
        .boxed()
}
