//! Metrics in the text format of Prometheus (OBS-01, OBS-03, OBS-04).

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use baton_decide::keys::Gvk;
use baton_decide::queue::{EvictionQueue, Finished};
use http::{Method, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use prometheus_client::encoding::text;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;

/// Content type of the metrics.
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Upper bounds of the buckets of waiting times, in seconds.
const BUCKETS: [f64; 13] = [
    0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0,
];

type Labels = Vec<(&'static str, String)>;
type Figure = Gauge<f64, AtomicU64>;

/// Metrics that are counted over time; all others are computed from the queue on request.
#[derive(Debug)]
pub struct Metrics {
    latency: Family<Labels, Histogram, fn() -> Histogram>,
}

impl Default for Metrics {
    fn default() -> Self {
        let histogram: fn() -> Histogram = || Histogram::new(BUCKETS);
        Self {
            latency: Family::new_with_constructor(histogram),
        }
    }
}

impl Metrics {
    /// Records a processed entry of the eviction queue.
    pub fn finished(&self, finished: &Finished) {
        let latency = self.latency.get_or_create(&of_cluster(&finished.cluster));
        latency.observe(finished.waited.as_secs_f64().max(0.0));
    }

    /// Resets the figures of a cluster that has recovered.
    pub fn forget_cluster(&self, cluster: &str) {
        self.latency.remove(&of_cluster(cluster));
    }

    /// Returns the metrics as text. `faulty` of `all` clusters are faulty.
    pub fn text(&self, queue: &EvictionQueue, faulty: usize, all: usize, now: Timestamp) -> String {
        let mut registry = Registry::default();
        let mut gauges = |name: &str, help: &str| {
            let family = Family::<Labels, Figure>::default();
            registry.register(name, help, family.clone());
            family
        };
        let total = gauges("evict_total", "Bindings in the eviction queue");
        let by_kind = gauges("evict_kind_total", "Bindings in the eviction queue, by kind");
        let rate = gauges("evict_rate", "Processed evictions per second over the last minute");
        let success = gauges("evict_success_rate", "Share of processed evictions that succeeded");
        for (cluster, figures) in queue.figures(now) {
            let labels = of_cluster(&cluster);
            total.get_or_create(&labels).set(number(figures.waiting.values().sum()));
            rate.get_or_create(&labels).set(figures.rate);
            if let Some(share) = figures.success {
                success.get_or_create(&labels).set(share);
            }
            for (kind, count) in figures.waiting {
                let mut labels = labels.clone();
                labels.push(("resource_kind", resource_kind(&kind)));
                by_kind.get_or_create(&labels).set(number(count));
            }
        }
        let (faulty, all) = (number(faulty as u64), number(all as u64));
        let share = if all > 0.0 { faulty / all } else { 0.0 };
        for (name, help, value) in [
            ("cluster_fault_num", "Faulty clusters", faulty),
            ("cluster_fault_rate", "Share of faulty clusters", share),
        ] {
            let figure = Figure::default();
            figure.set(value);
            registry.register(name, help, figure);
        }
        registry.register(
            "evict_processing_latency_seconds",
            "Time that bindings were in the eviction queue",
            self.latency.clone(),
        );
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = text::encode(&mut text, &registry);
        text
    }
}

fn of_cluster(cluster: &str) -> Labels {
    vec![("cluster_name", cluster.to_owned())]
}

/// API version and kind, such as `apps/v1/Deployment`.
fn resource_kind(kind: &Gvk) -> String {
    let group = if kind.group.is_empty() {
        String::new()
    } else {
        format!("{}/", kind.group)
    };
    format!("{group}{}/{}", kind.version, kind.kind)
}

#[expect(clippy::cast_precision_loss, reason = "there are no 2^52 of anything here")]
fn number(count: u64) -> f64 {
    count as f64
}

/// Serves the metrics at `/metrics`, until the returned future is dropped or aborted.
///
/// # Errors
/// Fails if it cannot listen on the address.
pub async fn serve(
    address: SocketAddr,
    metrics: impl Fn() -> String + Send + Sync + 'static,
) -> std::io::Result<impl Future<Output = ()> + Send> {
    let listener = TcpListener::bind(address).await?;
    let metrics = Arc::new(metrics);
    Ok(async move {
        loop {
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::debug!(%error, "a connection for metrics failed");
                    continue;
                }
            };
            let metrics = Arc::clone(&metrics);
            let answer = service_fn(move |request| {
                let answer = answer(&request, &*metrics);
                async move { Ok::<_, Infallible>(answer) }
            });
            tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
        }
    })
}

fn answer(request: &http::Request<Incoming>, metrics: &dyn Fn() -> String) -> Response<Full<Bytes>> {
    let is_asked = request.uri().path() == "/metrics" && matches!(*request.method(), Method::GET | Method::HEAD);
    if !is_asked {
        let mut missing = Response::new(Full::from("metrics are at /metrics\n"));
        *missing.status_mut() = StatusCode::NOT_FOUND;
        return missing;
    }
    let mut response = Response::new(Full::from(metrics()));
    let content_type = header::HeaderValue::from_static(CONTENT_TYPE);
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}

#[cfg(test)]
mod tests {
    use baton_decide::keys::ObjectKey;
    use baton_decide::queue::{Entry, Outcome};

    use super::*;

    #[test]
    fn the_text_says_what_waits_and_what_was_processed() {
        let (mut queue, metrics) = (EvictionQueue::default(), Metrics::default());
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let later = now + jiff::SignedDuration::from_secs(2);
        let entry = |name: &str| Entry {
            binding: ObjectKey::new(Some("ns"), name),
            cluster: "member1".to_owned(),
        };
        for name in ["a", "b"] {
            queue.join(&entry(name), &Gvk::new("apps/v1", "Deployment"), now);
        }
        let finished = queue.finish(&entry("a"), Outcome::Evicted, 0.5, later).unwrap();
        metrics.finished(&finished);
        let text = metrics.text(&queue, 1, 4, later);
        for line in [
            "evict_total{cluster_name=\"member1\"} 1.0",
            "evict_kind_total{cluster_name=\"member1\",resource_kind=\"apps/v1/Deployment\"} 1.0",
            "evict_success_rate{cluster_name=\"member1\"} 1.0",
            "evict_processing_latency_seconds_count{cluster_name=\"member1\"} 1",
            "evict_processing_latency_seconds_bucket{le=\"5.0\",cluster_name=\"member1\"} 1",
            "cluster_fault_num 1.0",
            "cluster_fault_rate 0.25",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        metrics.forget_cluster("member1");
        queue.forget_cluster("member1");
        let text = metrics.text(&queue, 0, 0, later);
        assert!(
            !text.contains("evict_success_rate{") && !text.contains("seconds_count"),
            "{text}"
        );
    }

    #[tokio::test]
    async fn it_is_served_over_http() {
        let address = "127.0.0.1:0".parse().unwrap();
        let listener = std::net::TcpListener::bind::<SocketAddr>(address).unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let served = tokio::spawn(serve(address, || "x 1\n# EOF\n".to_owned()).await.unwrap());
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .unwrap();
        tokio::spawn(connection);
        for (path, status) in [("/metrics", StatusCode::OK), ("/", StatusCode::NOT_FOUND)] {
            let request = http::Request::get(path).header(header::HOST, "localhost");
            let response = sender
                .send_request(request.body(Full::<Bytes>::default()).unwrap())
                .await
                .unwrap();
            assert_eq!(response.status(), status);
            http_body_util::BodyExt::collect(response.into_body()).await.unwrap();
        }
        served.abort();
    }
}
