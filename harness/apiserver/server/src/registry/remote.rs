//! Versions of groups that a server elsewhere serves, as an `APIService` says.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use baton_apikinds::resources;
use baton_apimachinery::meta;
use rustls::ClientConfig;
use serde_json::Value;

use super::{Group, Version};

/// Groups of this priority are those of custom resources.
const PRIORITY_OF_CUSTOM: i64 = 1000;

/// A version of a group that an aggregated API server serves.
#[derive(Debug)]
pub(crate) struct Remote {
    /// The name of the `APIService`.
    pub(crate) name: String,
    /// What it was read from: the uid and the specification of the `APIService`.
    pub(crate) key: String,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) group_priority: i64,
    pub(crate) version_priority: i64,
    pub(crate) service: Service,
    /// The certificates to trust, as PEM.
    pub(crate) ca: Vec<u8>,
    pub(crate) trusts_anybody: bool,
    pub(crate) tls: OnceLock<Result<Arc<ClientConfig>, String>>,
    pub(crate) known: Mutex<Known>,
}

/// A port of a service.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) port: u16,
}

/// What is known of an aggregated API server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    pub(crate) is_available: bool,
    /// What it serves: the entries of its `APIResourceList`.
    pub(crate) resources: Arc<Vec<Value>>,
}

impl Remote {
    /// Reads an `APIService`; `None` if it is about what the server itself serves.
    fn read(api_service: &Value) -> Option<Self> {
        let spec = api_service.get("spec")?;
        let service = spec.get("service").filter(|service| service.is_object())?;
        let number = |object: &Value, key: &str| object.get(key).and_then(Value::as_i64).unwrap_or_default();
        let is_available = meta::at(api_service, &["status", "conditions"])
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .any(|condition| meta::text(condition, "type") == "Available" && meta::text(condition, "status") == "True");
        Some(Self {
            name: meta::name(api_service)?.to_owned(),
            key: key_of(api_service),
            group: meta::text(spec, "group").to_owned(),
            version: meta::text(spec, "version").to_owned(),
            group_priority: number(spec, "groupPriorityMinimum"),
            version_priority: number(spec, "versionPriority"),
            service: Service {
                namespace: meta::text(service, "namespace").to_owned(),
                name: meta::text(service, "name").to_owned(),
                port: u16::try_from(number(service, "port")).unwrap_or_default(),
            },
            ca: BASE64.decode(meta::text(spec, "caBundle")).unwrap_or_default(),
            trusts_anybody: spec.get("insecureSkipTLSVerify") == Some(&Value::Bool(true)),
            tls: OnceLock::new(),
            known: Mutex::new(Known {
                is_available,
                resources: Arc::default(),
            }),
        })
        // The core group is always the server's own.
        .filter(|remote| !remote.group.is_empty())
    }

    /// What is known of it now.
    pub(crate) fn known(&self) -> Known {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps what has been found out; what it serves is kept while it does not say.
    pub(crate) fn learn(&self, is_available: bool, resources: Option<Vec<Value>>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.is_available = is_available;
        if let Some(resources) = resources {
            known.resources = Arc::new(resources);
        }
    }

    /// The kind of a resource that it serves.
    pub(crate) fn kind(&self, plural: &str) -> Option<String> {
        let known = self.known();
        let found = known
            .resources
            .iter()
            .find(|resource| meta::text(resource, "name") == plural);
        found.map(|resource| meta::text(resource, "kind").to_owned())
    }
}

/// What of an `APIService` says where the server is.
pub(crate) fn key_of(api_service: &Value) -> String {
    let spec = api_service.get("spec").unwrap_or(&Value::Null);
    format!("{} {spec}", meta::uid(api_service).unwrap_or_default())
}

/// The versions that these `APIServices` tell of, the most important first; those that are in `before` are taken from there.
pub(crate) fn read<'a>(api_services: impl Iterator<Item = &'a Value>, before: &[Arc<Remote>]) -> Vec<Arc<Remote>> {
    let before: BTreeMap<&str, &Arc<Remote>> = before.iter().map(|remote| (remote.key.as_str(), remote)).collect();
    let known = |api_service: &Value| before.get(key_of(api_service).as_str()).map(|&remote| remote.clone());
    let mut remotes: Vec<Arc<Remote>> = api_services
        .filter_map(|each| known(each).or_else(|| Remote::read(each).map(Arc::new)))
        .collect();
    remotes.sort_by_key(|remote| {
        let Remote {
            group_priority,
            version_priority,
            ..
        } = &**remote;
        (
            -group_priority,
            remote.group.clone(),
            -version_priority,
            remote.name.clone(),
        )
    });
    remotes
}

/// Puts these versions among the others; what the server itself has of the same name gives way.
pub(crate) fn add(groups: &mut Vec<Group>, remotes: &[Arc<Remote>]) {
    for remote in remotes {
        let version = Version {
            name: remote.version.clone(),
            resources: Vec::new(),
            remote: Some(remote.clone()),
        };
        if let Some(group) = groups.iter_mut().find(|group| group.name == remote.group) {
            match group.versions.iter_mut().find(|each| each.name == remote.version) {
                Some(own) => *own = version,
                None => group.versions.push(version),
            }
            continue;
        }
        let is_of_others =
            |group: &Group| !is_built_in(&group.name) && group.versions.iter().all(|each| each.remote.is_none());
        let place = groups
            .iter()
            .position(is_of_others)
            .filter(|_| remote.group_priority > PRIORITY_OF_CUSTOM);
        let group = Group {
            name: remote.group.clone(),
            versions: vec![version],
        };
        groups.insert(place.unwrap_or(groups.len()), group);
    }
}

/// Whether a group is one of the server's own.
pub(crate) fn is_built_in(group: &str) -> bool {
    resources::GROUPS.iter().any(|each| each.name == group)
}
