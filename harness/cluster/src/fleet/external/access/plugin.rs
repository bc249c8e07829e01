//! Credential plugins of kubeconfigs, which may hang or print without an end. The client waits for them on a thread of the
//! runtime and keeps all that they print, so each is tried before with limits.

use std::{process::Stdio, time::Duration};

use kube::config::{ExecConfig, ExecInteractiveMode};
use serde_json::json;
use tokio::{io::AsyncReadExt as _, process::Command, time::timeout};

/// Credentials have so many bytes at most.
pub(super) const MOST_OUTPUT: u64 = 1 << 20;

/// Outcome of a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It ended, or could not be started: the client says what is wrong with its credentials.
    Ended,
    /// It did not end in time.
    Silent,
    /// It printed more than credentials have.
    Endless,
}

/// Runs a plugin as the client does.
pub(super) async fn run(exec: &ExecConfig, within: Duration) -> Outcome {
    let Some(program) = &exec.command else {
        return Outcome::Ended;
    };
    let interactive = exec.interactive_mode != Some(ExecInteractiveMode::Never);
    let mut spec = json!({"interactive": interactive});
    if let Some(cluster) = exec.cluster.as_ref().filter(|_| exec.provide_cluster_info) {
        spec["cluster"] = serde_json::to_value(cluster).unwrap_or_default();
    }
    let info = json!({"apiVersion": exec.api_version, "kind": "ExecCredential", "spec": spec});
    let variables = exec.env.iter().flatten();
    let variables = variables.filter_map(|it| Some((it.get("name")?, it.get("value")?)));
    let inherited = || if interactive { Stdio::inherit() } else { Stdio::null() };
    let child = Command::new(program)
        .args(exec.args.iter().flatten())
        .envs(variables)
        .env("KUBERNETES_EXEC_INFO", info.to_string())
        .stdin(inherited())
        .stderr(inherited())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    let Ok(mut child) = child else {
        return Outcome::Ended;
    };
    let Some(stdout) = child.stdout.take() else {
        return Outcome::Ended;
    };
    let ended = async {
        let mut output = Vec::new();
        // An error in between is the end of the output.
        let read = stdout.take(MOST_OUTPUT + 1).read_to_end(&mut output).await;
        if read.is_ok() && output.len() as u64 > MOST_OUTPUT {
            return Outcome::Endless;
        }
        // The client runs the plugin again and reports how it ended.
        let _ = child.wait().await;
        Outcome::Ended
    };
    timeout(within, ended).await.unwrap_or(Outcome::Silent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> ExecConfig {
        let text = json!({
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "sh",
            "args": ["-c", script],
            "interactiveMode": "Never",
        });
        serde_json::from_value(text).unwrap()
    }

    #[tokio::test]
    async fn a_plugin_that_hangs_or_never_stops_printing_is_ended() {
        let long = Duration::from_secs(30);
        for (script, within, outcome) in [
            ("echo '{}'", long, Outcome::Ended),
            ("exit 1", long, Outcome::Ended),
            ("exec sleep 1000", Duration::from_millis(300), Outcome::Silent),
            ("exec yes", long, Outcome::Endless),
        ] {
            assert_eq!(run(&shell(script), within).await, outcome, "{script}");
        }
    }

    #[tokio::test]
    async fn a_plugin_that_is_not_there_is_left_to_the_client() {
        let missing = ExecConfig {
            command: Some("/none/plugin".to_owned()),
            ..shell("")
        };
        assert_eq!(run(&missing, Duration::from_secs(30)).await, Outcome::Ended);
    }
}
