//! Writes whose admission webhook did not answer in time.

use kube::core::Status;

/// Number of times such a write is repeated.
const REPEATS: usize = 2;

/// Sends a write, and repeats it if an admission webhook did not answer in time. On a busy machine the webhook of a target
/// is slow without being at fault, and the API server has stored nothing.
pub(crate) async fn sent<T, F: Future<Output = kube::Result<T>>>(write: impl Fn() -> F) -> kube::Result<T> {
    for _ in 0..REPEATS {
        match write().await {
            Err(kube::Error::Api(status)) if is_late(&status) => tracing::info!("sent again: {}", status.message),
            answer => return answer,
        }
    }
    write().await
}

/// Returns `true` if an API server gave up waiting for a webhook. The address of the webhook, which the message also
/// contains, has a parameter `timeout`.
fn is_late(status: &Status) -> bool {
    const WORDS: [&str; 3] = [
        "context deadline exceeded",
        "TLS handshake timeout",
        "Client.Timeout exceeded",
    ];
    let message = &status.message;
    message.contains("failed calling webhook") && WORDS.iter().any(|words| message.contains(words))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const CALL: &str = "Internal error occurred: failed calling webhook \"policy.karmada.io\": failed to call webhook: \
                        Post \"https://webhook/mutate?timeout=3s\"";

    /// Returns how often a write is sent whose first attempts fail for a reason, and whether it succeeds.
    async fn attempts(reason: &str, failures: usize) -> (usize, bool) {
        let requests = Cell::new(0);
        let answer = sent(|| {
            requests.set(requests.get() + 1);
            let status = Status::failure(&format!("{CALL}: {reason}"), "InternalError");
            let fails = requests.get() <= failures;
            async move {
                if fails {
                    Err(kube::Error::Api(Box::new(status)))
                } else {
                    Ok(())
                }
            }
        });
        let succeeds = answer.await.is_ok();
        (requests.get(), succeeds)
    }

    #[tokio::test]
    async fn a_write_is_sent_again_if_a_webhook_is_late() {
        assert_eq!(attempts("context deadline exceeded", 1).await, (2, true));
        assert_eq!(attempts("net/http: TLS handshake timeout", 2).await, (3, true));
        assert_eq!(attempts("context deadline exceeded", 9).await, (3, false));
        assert_eq!(attempts("connection refused", 1).await, (1, false));
    }
}
