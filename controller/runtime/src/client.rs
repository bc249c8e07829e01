//! Clients of API servers.

use http::{HeaderValue, header::USER_AGENT};
use kube::{Client, Config};

/// Creates a client that sends each request once.
///
/// By default, kube repeats a request for more than a minute if the answer is 503. The decision in the request may be out of
/// date by then. Here it fails, the key goes back to the queue, and the next decision is based on the state at that time.
///
/// # Errors
/// If the TLS or authentication settings are invalid.
pub fn client(mut config: Config) -> kube::Result<Client> {
    config.default_retry = false;
    config
        .headers
        .push((USER_AGENT, HeaderValue::from_static(baton_decide::names::MANAGER)));
    Client::try_from(config)
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;

    #[tokio::test]
    async fn a_request_that_is_refused_for_now_is_not_sent_again() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let requests = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::Relaxed);
                let mut request = [0; 4096];
                let _ = stream.read(&mut request).await;
                let answer = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        let client = client(Config::new(url.parse().expect("a URL"))).expect("a client");
        assert!(client.apiserver_version().await.is_err());
        assert_eq!(requests.load(Ordering::Relaxed), 1);
    }
}
