//! A fence around the writes of an instance: open while the instance certainly leads, and closed before another can.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use baton_decide::api::Cluster;
use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use tokio::time::Instant;
use tower::BoxError;

use crate::members::{ConnectError, Members};

/// Time until which this instance may write, if it may.
#[derive(Clone, Debug, Default)]
pub struct Fence(Arc<Mutex<Option<Instant>>>);

/// A write was refused because another instance may lead by now.
#[derive(Debug, thiserror::Error)]
#[error("this instance does not lead, and may not write")]
struct NotLeading;

impl Fence {
    /// Opens the fence until this moment.
    pub fn open_until(&self, until: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
    }

    /// Closes the fence.
    pub fn close(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns the time until which the fence is open; `None` if it is closed.
    pub fn until(&self) -> Option<Instant> {
        let until = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        until.filter(|until| *until > Instant::now())
    }

    /// Returns a client that reads without restriction and writes only while the fence is open. The fence is checked
    /// when a request is sent; the request may be in flight for as long as the lease outlasts the fence.
    pub fn around(&self, client: Client) -> Client {
        let fence = self.clone();
        let namespace = client.default_namespace().to_owned();
        let service = tower::service_fn(move |request: Request<Body>| {
            let (client, fence) = (client.clone(), fence.clone());
            async move {
                let reads = [Method::GET, Method::HEAD, Method::OPTIONS].contains(request.method());
                if !reads && fence.until().is_none() {
                    return Err(BoxError::from(NotLeading));
                }
                client.send(request).await.map_err(BoxError::from)
            }
        });
        Client::new(service, namespace)
    }
}

/// Members behind a fence.
pub struct FencedMembers {
    members: Arc<dyn Members>,
    fence: Fence,
}

impl FencedMembers {
    /// Puts the fence around writes to these members.
    pub fn new(members: Arc<dyn Members>, fence: Fence) -> Arc<Self> {
        Arc::new(Self { members, fence })
    }
}

#[async_trait]
impl Members for FencedMembers {
    async fn connect(&self, cluster: &Cluster) -> Result<Client, ConnectError> {
        let client = self.members.connect(cluster).await?;
        Ok(self.fence.around(client))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::Response;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn writes_pass_while_it_is_open_and_reads_always() {
        let answers = tower::service_fn(|_: Request<Body>| async { Ok::<_, BoxError>(Response::new(Body::empty())) });
        let fence = Fence::default();
        let client = fence.around(Client::new(answers, "default"));
        let ask = async |method: Method| {
            let request = Request::builder().method(method).uri("/").body(Body::empty()).unwrap();
            client.send(request).await.is_ok()
        };
        assert!(ask(Method::GET).await && !ask(Method::POST).await);
        fence.open_until(Instant::now() + Duration::from_secs(10));
        assert!(ask(Method::PATCH).await);
        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(!ask(Method::PATCH).await && ask(Method::GET).await);
        fence.open_until(Instant::now() + Duration::from_secs(10));
        fence.close();
        assert!(!ask(Method::DELETE).await);
    }
}
