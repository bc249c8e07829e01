//! Where a service is: at the name that it stands for, or at one of its endpoints. No traffic goes to the address of a
//! service itself, because nobody forwards it here.

use baton_apimachinery::meta;
use serde_json::Value;

use crate::handlers::Core;
use crate::registry::remote::Service;
use crate::store::key;

/// Why a service cannot be reached: a reason and a message of a condition.
#[derive(Debug)]
pub(super) struct Unreachable {
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Service {
    /// The name that its certificate must have.
    pub(super) fn host_name(&self) -> String {
        format!("{}.{}.svc", self.name, self.namespace)
    }
}

impl Core {
    /// Host and port of a service.
    pub(super) fn find_service(&self, wanted: &Service) -> Result<(String, u16), Unreachable> {
        let Service { namespace, name, port } = wanted;
        let service = self.store.get(self.buckets.services, &key(Some(namespace), name));
        let service = service.ok_or_else(|| Unreachable {
            reason: "ServiceNotFound",
            message: format!("service/{name} in {namespace:?} is not present"),
        })?;
        let service = service.value();
        if meta::str_at(&service, &["spec", "type"]) == Some("ExternalName") {
            let host = meta::str_at(&service, &["spec", "externalName"]).unwrap_or_default();
            return Ok((host.to_owned(), *port));
        }
        let ports = items(&service, &["spec", "ports"]);
        let found = ports
            .iter()
            .find(|each| each.get("port").and_then(Value::as_u64) == Some(u64::from(*port)));
        let port_name = meta::text(
            found.ok_or_else(|| Unreachable {
                reason: "ServicePortError",
                message: format!("service/{name} in {namespace:?} is not listening on port {port}"),
            })?,
            "name",
        );
        let slices = self
            .store
            .list(self.buckets.endpoint_slices, &format!("{namespace}/"))
            .0;
        let of_service =
            |slice: &&std::sync::Arc<Value>| meta::label(slice, "kubernetes.io/service-name") == Some(name);
        let slices: Vec<_> = slices.iter().map(|slice| slice.value()).collect();
        let mut slices = slices.iter().filter(of_service).peekable();
        if slices.peek().is_none() {
            return Err(Unreachable {
                reason: "EndpointsNotFound",
                message: format!("cannot find endpointslices for service/{name} in {namespace:?}"),
            });
        }
        slices
            .find_map(|slice| endpoint(slice, port_name))
            .ok_or_else(|| Unreachable {
                reason: "MissingEndpoints",
                message: format!(
                    "endpointslices for service/{name} in {namespace:?} have no addresses with port name {port_name:?}"
                ),
            })
    }
}

/// The first ready address of a slice, and the port of that name there.
fn endpoint(slice: &Value, port_name: &str) -> Option<(String, u16)> {
    let port = items(slice, &["ports"])
        .iter()
        .find(|port| meta::text(port, "name") == port_name)?;
    let port = u16::try_from(port.get("port")?.as_u64()?).ok()?;
    let is_ready = |endpoint: &&Value| meta::at(endpoint, &["conditions", "ready"]) != Some(&Value::Bool(false));
    let endpoint = items(slice, &["endpoints"]).iter().find(is_ready)?;
    let address = items(endpoint, &["addresses"]).first()?.as_str()?;
    Some((address.to_owned(), port))
}

fn items<'a>(object: &'a Value, path: &[&str]) -> &'a [Value] {
    meta::at(object, path)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_ready_endpoint_is_asked_on_the_port_of_that_name() {
        let slice = json!({
            "ports": [{"name": "metrics", "port": 9090}, {"name": "https", "port": 8443}],
            "endpoints": [
                {"addresses": ["10.0.0.1"], "conditions": {"ready": false}},
                {"addresses": ["10.0.0.2", "10.0.0.3"]},
            ],
        });
        assert_eq!(endpoint(&slice, "https"), Some(("10.0.0.2".to_owned(), 8443)));
        for (changed, port_name) in [
            (json!({"endpoints": []}), "https"),
            (json!({"ports": null}), "https"),
            (json!({}), ""),
        ] {
            let mut slice = slice.clone();
            for (key, value) in changed.as_object().expect("members") {
                slice[key] = value.clone();
            }
            assert_eq!(endpoint(&slice, port_name), None, "{slice}");
        }
    }
}
