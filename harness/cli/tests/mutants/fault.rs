//! Faults, built from a few pieces: they change objects that the controller writes or reads, answer a request without
//! carrying it out, or act in addition to it.
//!
//! A fault is created again whenever the controller starts, so that it forgets what it remembered, as the controller
//! does.

use std::{
    future::Future,
    pin::Pin,
    sync::atomic::{AtomicU64, Ordering},
};

use baton_core::{case::model::ControllerSetup, metrics::Sample};
use bytes::Bytes;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::wire::{Call, Hands};

/// Objects to which a piece of a fault applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// `ResourceBinding` and `ClusterResourceBinding`.
    Bindings,
    /// `Work`.
    Works,
    /// `Cluster`.
    Clusters,
    /// `PropagationPolicy` and `ClusterPropagationPolicy`.
    Policies,
    /// `ClusterPropagationPolicy` alone.
    ClusterPolicies,
    /// `ClusterTaintPolicy`.
    TaintPolicies,
    /// `ResourceInterpreterCustomization`.
    Customizations,
    /// `Lease`.
    Leases,
    /// `ValidatingWebhookConfiguration`.
    Webhooks,
    /// Events on the control plane.
    Events,
    /// Copies of workloads on members.
    Copies,
    /// Readiness probes of members.
    Probes,
}

impl Of {
    fn is(self, call: &Call) -> bool {
        let plural = call.at.plural.as_str();
        if call.is_to_member() {
            let own = matches!(plural, "" | "namespaces" | "customresourcedefinitions" | "events");
            let probe = call.at.path.starts_with("/readyz");
            return match self {
                Self::Probes => probe,
                Self::Copies => !own && !probe,
                _ => false,
            };
        }
        match self {
            Self::Bindings => matches!(plural, "resourcebindings" | "clusterresourcebindings"),
            Self::Works => plural == "works",
            Self::Clusters => plural == "clusters",
            Self::Policies => matches!(plural, "propagationpolicies" | "clusterpropagationpolicies"),
            Self::ClusterPolicies => plural == "clusterpropagationpolicies",
            Self::TaintPolicies => plural == "clustertaintpolicies",
            Self::Customizations => plural == "resourceinterpretercustomizations",
            Self::Leases => plural == "leases",
            Self::Webhooks => plural == "validatingwebhookconfigurations",
            Self::Events => plural == "events",
            Self::Copies | Self::Probes => false,
        }
    }
}

/// Fate of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Carried {
    /// The request goes on, with the changes so far.
    On,
    /// The request is not carried out, and gets this answer.
    Instead(StatusCode, Value),
}

/// Visibility of an object to the controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// The object is visible, with the changes so far.
    Shown,
    /// The object seems not to exist.
    Hidden,
}

/// A future of a fault's action.
pub type Doing<T> = Pin<Box<dyn Future<Output = T> + Send>>;

type OnWrite = Box<dyn Fn(&Call, &mut Value) + Send + Sync>;
type OnRead = Box<dyn Fn(&Call, &mut Value) -> Sight + Send + Sync>;
type Before = Box<dyn Fn(&Call, &Hands) -> Doing<Carried> + Send + Sync>;
type After = Box<dyn Fn(&Call, &Value, &Hands) -> Doing<()> + Send + Sync>;
type OnMetrics = Box<dyn Fn(&mut Vec<Sample>) + Send + Sync>;
type OnDefinition = Box<dyn Fn(&mut Value) + Send + Sync>;
type OnSetup = Box<dyn Fn(&mut ControllerSetup) + Send + Sync>;

/// Defect of an implementation.
#[derive(Default)]
pub struct Fault {
    written: Vec<(Of, OnWrite)>,
    read: Vec<(Of, OnRead)>,
    before: Vec<(Of, Before)>,
    after: Vec<(Of, After)>,
    of_any_age: Vec<Of>,
    refused_is_absent: Vec<Of>,
    setup: Vec<OnSetup>,
    definitions: Vec<OnDefinition>,
    metrics: Vec<OnMetrics>,
    requests: AtomicU64,
}

impl Fault {
    /// Creates a fault that changes nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// Changes objects that are written.
    pub fn written(mut self, of: Of, edit: impl Fn(&mut Value) + Send + Sync + 'static) -> Self {
        self.written.push((of, Box::new(move |_, body| edit(body))));
        self
    }

    /// Changes objects that are written, depending on the request.
    pub fn written_at(mut self, of: Of, edit: impl Fn(&Call, &mut Value) + Send + Sync + 'static) -> Self {
        self.written.push((of, Box::new(edit)));
        self
    }

    /// Changes every object that is read, also in answers to writes.
    pub fn read(mut self, of: Of, edit: impl Fn(&mut Value) + Send + Sync + 'static) -> Self {
        let edit = move |_: &Call, object: &mut Value| {
            edit(object);
            Sight::Shown
        };
        self.read.push((of, Box::new(edit)));
        self
    }

    /// Hides objects.
    pub fn hidden(mut self, of: Of, hides: impl Fn(&Call, &Value) -> bool + Send + Sync + 'static) -> Self {
        let look = move |call: &Call, object: &mut Value| {
            if hides(call, object) {
                Sight::Hidden
            } else {
                Sight::Shown
            }
        };
        self.read.push((of, Box::new(look)));
        self
    }

    /// Answers writes as if they had been carried out.
    pub fn skipped(self, of: Of, skips: impl Fn(&Call) -> bool + Send + Sync + 'static) -> Self {
        self.before(of, move |call, _| {
            let instead = call.is_write() && skips(call);
            let answer = answer_to(call);
            Box::pin(async move {
                if instead {
                    Carried::Instead(StatusCode::OK, answer)
                } else {
                    Carried::On
                }
            })
        })
    }

    /// Acts before a request goes on, or instead of it.
    pub fn before(mut self, of: Of, act: impl Fn(&Call, &Hands) -> Doing<Carried> + Send + Sync + 'static) -> Self {
        self.before.push((of, Box::new(act)));
        self
    }

    /// Acts after a request has been carried out; `act` gets the answer.
    pub fn after(mut self, of: Of, act: impl Fn(&Call, &Value, &Hands) -> Doing<()> + Send + Sync + 'static) -> Self {
        self.after.push((of, Box::new(act)));
        self
    }

    /// Accepts lists of any age, as caches of servers have them.
    pub fn of_any_age(mut self, of: Of) -> Self {
        self.of_any_age.push(of);
        self
    }

    /// Returns `true` if the fault accepts a list of any age for this request.
    pub fn is_of_any_age(&self, call: &Call) -> bool {
        let is_list = !call.is_write() && !call.is_watch() && call.at.name.is_empty();
        is_list && self.of_any_age.iter().any(|of| of.is(call))
    }

    /// Takes a read that is answered with 503 as one of an object that does not exist.
    pub fn refused_is_absent(mut self, of: Of) -> Self {
        self.refused_is_absent.push(of);
        self
    }

    /// Returns `true` if the fault takes an answer for the absence of an object.
    pub fn is_absence(&self, call: &Call, status: StatusCode) -> bool {
        let is_read = !call.is_write() && !call.at.name.is_empty();
        is_read && status == StatusCode::SERVICE_UNAVAILABLE && self.refused_is_absent.iter().any(|of| of.is(call))
    }

    /// Starts the controller with other gates and options than requested.
    pub fn setup(mut self, edit: impl Fn(&mut ControllerSetup) + Send + Sync + 'static) -> Self {
        self.setup.push(Box::new(edit));
        self
    }

    /// Gives the control plane other definitions than those of the failover API.
    pub fn definitions(mut self, edit: impl Fn(&mut Value) + Send + Sync + 'static) -> Self {
        self.definitions.push(Box::new(edit));
        self
    }

    /// Changes the metrics of the controller.
    pub fn metrics(mut self, edit: impl Fn(&mut Vec<Sample>) + Send + Sync + 'static) -> Self {
        self.metrics.push(Box::new(edit));
        self
    }

    /// Applies the fault to metrics of the controller.
    pub fn measure(&self, samples: &mut Vec<Sample>) {
        for edit in &self.metrics {
            edit(samples);
        }
    }

    /// Applies the fault to the definitions on the control plane; `None` if it does not change them.
    pub fn define(&self, mut definitions: Vec<Value>) -> Option<Vec<Value>> {
        for edit in &self.definitions {
            definitions.iter_mut().for_each(edit);
        }
        (!self.definitions.is_empty()).then_some(definitions)
    }

    /// Returns the set-up that the controller is started with.
    pub fn set_up(&self, setup: &ControllerSetup) -> ControllerSetup {
        let mut setup = setup.without_defaults();
        for edit in &self.setup {
            edit(&mut setup);
        }
        setup
    }

    /// Counts a request; returns the number so far.
    pub fn count(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed)
    }

    /// Decides the fate of a request, and changes its content.
    pub async fn meet(&self, call: &mut Call, hands: &Hands) -> Carried {
        for (_, act) in self.before.iter().filter(|(of, _)| of.is(call)) {
            let carried = act(call, hands).await;
            if carried != Carried::On {
                return carried;
            }
        }
        if call.is_write() {
            let mut body = call.body.take();
            for (_, edit) in self.written.iter().filter(|(of, _)| of.is(call)) {
                edit(call, &mut body);
            }
            call.body = body;
        }
        Carried::On
    }

    /// Acts after a request has been carried out.
    pub async fn conclude(&self, call: &Call, answer: &Value, hands: &Hands) {
        for (_, act) in self.after.iter().filter(|(of, _)| of.is(call)) {
            act(call, answer, hands).await;
        }
    }

    /// Applies the fault to an object that the controller reads.
    fn look(&self, call: &Call, object: &mut Value) -> Sight {
        for (_, edit) in self.read.iter().filter(|(of, _)| of.is(call)) {
            if edit(call, object) == Sight::Hidden {
                return Sight::Hidden;
            }
        }
        Sight::Shown
    }

    /// Applies the fault to an answer: an object, or a list of objects.
    pub fn answer(&self, call: &Call, answer: &mut Value) -> Sight {
        if let Some(items) = answer.get_mut("items").and_then(Value::as_array_mut) {
            items.retain_mut(|item| self.look(call, item) == Sight::Shown);
            return Sight::Shown;
        }
        if answer.pointer("/metadata/uid").is_none() {
            return Sight::Shown;
        }
        let sight = self.look(call, answer);
        // The answer to a write shows the object; the object is hidden from the next read on.
        if call.is_write() { Sight::Shown } else { sight }
    }

    /// Applies the fault to a line of a watch.
    pub fn event(&self, call: &Call, line: &[u8]) -> Bytes {
        let Ok(mut event) = serde_json::from_slice::<Value>(line) else {
            return Bytes::copy_from_slice(line);
        };
        let real = event["object"].pointer("/metadata/uid").is_some();
        if real && self.look(call, &mut event["object"]) == Sight::Hidden {
            event["type"] = json!("DELETED");
        }
        // A value that was read as JSON can be written as JSON.
        let mut text = serde_json::to_vec(&event).unwrap_or_default();
        text.push(b'\n');
        text.into()
    }
}

/// Returns a server's answer to a write that it has carried out.
fn answer_to(call: &Call) -> Value {
    if call.method == Method::DELETE {
        return json!({"apiVersion": "v1", "kind": "Status", "status": "Success"});
    }
    call.body.clone()
}
