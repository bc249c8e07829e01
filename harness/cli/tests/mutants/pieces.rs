//! Building blocks of faults: places in objects, and memory.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use baton_jsonpath::Template;
use http::Request;
use kube::Client;
use serde_json::{Map, Value};

use crate::{
    fault::{Carried, Doing, Fault, Of},
    wire::{Call, Hands},
};

/// Value that a fault remembers as long as the controller runs.
#[derive(Debug)]
pub struct Memory<T>(Arc<Mutex<T>>);

impl<T> Clone for Memory<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Default> Memory<T> {
    /// Creates an empty memory.
    pub fn new() -> Self {
        Self(Arc::default())
    }
}

impl<T> Memory<T> {
    /// Locks the remembered value.
    pub fn get(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the items of a list in an object; empty if there is no such list.
pub fn list<'a>(object: &'a mut Value, pointer: &str) -> impl Iterator<Item = &'a mut Value> {
    object
        .pointer_mut(pointer)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
}

/// Returns a text in an object; empty if there is none.
pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the members of a map in an object, if there is one.
pub fn map<'a>(object: &'a mut Value, pointer: &str) -> Option<&'a mut Map<String, Value>> {
    object.pointer_mut(pointer).and_then(Value::as_object_mut)
}

/// Removes a member of a map in an object.
pub fn remove(object: &mut Value, pointer: &str, member: &str) {
    if let Some(map) = map(object, pointer) {
        map.remove(member);
    }
}

/// Returns the eviction tasks of a binding, or of a patch of one.
pub fn tasks(binding: &mut Value) -> impl Iterator<Item = &mut Value> {
    list(binding, "/spec/gracefulEvictionTasks")
}

/// Returns `true` if the purge mode of a task is `Directly`.
pub fn is_directly(task: &Value) -> bool {
    matches!(text(task, "/purgeMode"), "Directly" | "Immediately")
}

/// Returns the preservation rules of a binding.
pub fn rules(binding: &mut Value) -> Option<&mut Vec<Value>> {
    let rules = binding.pointer_mut("/spec/failover/cluster/statePreservation/rules");
    rules.and_then(Value::as_array_mut)
}

/// Changes the statuses of clusters in a binding.
pub fn statuses(binding: &mut Value, mut edit: impl FnMut(&mut Value)) {
    for item in list(binding, "/status/aggregatedStatus") {
        if let Some(status) = item.get_mut("status").filter(|status| !status.is_null()) {
            edit(status);
        }
    }
}

/// Changes every string below a value.
pub fn texts(value: &mut Value, edit: &impl Fn(&mut String)) {
    match value {
        Value::String(text) => edit(text),
        Value::Array(items) => items.iter_mut().for_each(|item| texts(item, edit)),
        Value::Object(map) => map.values_mut().for_each(|item| texts(item, edit)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Evaluates the path of a rule on the statuses in a binding; `None` if it matches nowhere.
pub fn evaluate(binding: &Value, path: &str) -> Option<String> {
    let template = Template::parse(path).ok()?;
    let statuses = binding.pointer("/status/aggregatedStatus").and_then(Value::as_array);
    statuses
        .into_iter()
        .flatten()
        .filter_map(|item| item.get("status").filter(|status| !status.is_null()))
        .find_map(|status| template.evaluate(status).ok())
}

/// The last eviction task that was written, and its progress.
#[derive(Debug, Clone, Default)]
pub struct LastTask {
    /// The task; null if there was none.
    pub task: Value,
    /// Preserved state of the first task.
    pub first: Map<String, Value>,
    /// Set while the task exists.
    pub pending: bool,
}

impl LastTask {
    /// Returns the preserved state of the task.
    pub fn state(&self) -> Map<String, Value> {
        let state = self.task.get("preservedLabelState").and_then(Value::as_object);
        state.cloned().unwrap_or_default()
    }

    /// Returns the cluster that the workload leaves.
    pub fn from(&self) -> &str {
        text(&self.task, "/fromCluster")
    }

    /// Returns the number of clusters that ran the workload.
    pub fn before(&self) -> usize {
        let before = self.task.get("clustersBeforeFailover").and_then(Value::as_array);
        before.map_or(0, Vec::len)
    }
}

/// A fault that changes the labels of copies as they are applied on members, knowing the last task.
pub fn labelled(edit: impl Fn(&Call, &LastTask, &mut Map<String, Value>) + Send + Sync + 'static) -> Fault {
    let last: Memory<LastTask> = Memory::new();
    let learning = last.clone();
    let learn = move |body: &mut Value| {
        if body.pointer("/spec/gracefulEvictionTasks").is_none() {
            return;
        }
        let task = tasks(body).last().cloned();
        let mut last = learning.get();
        last.pending = task.is_some();
        if let Some(task) = task {
            last.task = task;
            if last.first.is_empty() {
                last.first = last.state();
            }
        }
    };
    Fault::none()
        .written(Of::Bindings, learn)
        .written_at(Of::Copies, move |call, body| {
            let last = last.get().clone();
            if let Some(labels) = map(body, "/metadata/labels") {
                edit(call, &last, labels);
            }
        })
}

/// Path of a `ResourceBinding`.
pub fn binding_path(binding: &Value) -> String {
    let [namespace, name] = ["/metadata/namespace", "/metadata/name"].map(|pointer| text(binding, pointer));
    format!("/apis/work.karmada.io/v1alpha2/namespaces/{namespace}/resourcebindings/{name}")
}

/// Path of a policy.
pub fn policy_path(policy: &Value) -> String {
    let [namespace, name] = ["/metadata/namespace", "/metadata/name"].map(|pointer| text(policy, pointer));
    let all = "/apis/policy.karmada.io/v1alpha1";
    if namespace.is_empty() {
        format!("{all}/clusterpropagationpolicies/{name}")
    } else {
        format!("{all}/namespaces/{namespace}/propagationpolicies/{name}")
    }
}

/// Merges into an object, by its path.
pub async fn merge(client: &Client, path: String, fields: &Value) {
    let request = Request::patch(path)
        .header(http::header::CONTENT_TYPE, "application/merge-patch+json")
        .body(fields.to_string().into_bytes());
    // Additional requests of a fault may fail, as those of any broken implementation.
    if let Ok(request) = request {
        let _ = client.request::<Value>(request).await;
    }
}

/// An object, by its path; null if it is not there.
pub async fn get(client: &Client, path: String) -> Value {
    match Request::get(path).body(Vec::new()) {
        Ok(request) => client.request::<Value>(request).await.unwrap_or_default(),
        Err(_) => Value::Null,
    }
}

/// Creates an object, by the path of its collection.
pub async fn create(client: &Client, path: String, object: &Value) {
    let request = Request::post(path)
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(object.to_string().into_bytes());
    if let Ok(request) = request {
        let _ = client.request::<Value>(request).await;
    }
}

/// Deletes an object, by its path.
pub async fn delete(client: &Client, path: String) {
    if let Ok(request) = Request::delete(path).body(Vec::new()) {
        let _ = client.request::<Value>(request).await;
    }
}

/// Acts later, in the clusters' time.
pub fn later(after: Duration, act: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(async move {
        tokio::time::sleep(after).await;
        act.await;
    });
}

/// Returns `true` if a member answers.
pub fn answers(call: &Call, hands: &Hands) -> Doing<bool> {
    let client = hands[&call.cluster].clone();
    Box::pin(async move {
        let asked = tokio::time::timeout(Duration::from_secs(5), client.apiserver_version());
        matches!(asked.await, Ok(Ok(_)))
    })
}

/// Lets a request go on without acting before it.
pub fn on() -> Doing<Carried> {
    Box::pin(std::future::ready(Carried::On))
}

/// Returns the path of the template of a binding, if its kind has a regular plural.
pub fn template_path(binding: &Value) -> String {
    let resource = |member: &str| text(binding, &format!("/spec/resource/{member}")).to_owned();
    let plural = format!("{}s", resource("kind").to_lowercase());
    let (namespace, name) = (resource("namespace"), resource("name"));
    format!(
        "/apis/{}/namespaces/{namespace}/{plural}/{name}",
        resource("apiVersion")
    )
}

/// Uids of objects, for example of those that a fault only pretends to delete.
pub type Uids = Memory<BTreeSet<String>>;

/// Returns the uid of an object.
pub fn uid(object: &Value) -> String {
    text(object, "/metadata/uid").to_owned()
}

/// Returns the uid in a deletion.
pub fn deleted_uid(call: &Call) -> String {
    text(&call.body, "/preconditions/uid").to_owned()
}
