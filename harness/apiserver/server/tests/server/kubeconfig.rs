//! Clients of kube-rs with the configuration of a kubeconfig.

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// Returns the configuration that a kubeconfig describes.
pub async fn config(kubeconfig: &str) -> Config {
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig).expect("a kubeconfig");
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .expect("a configuration")
}

/// Returns a client with the configuration that a kubeconfig describes.
pub async fn client(kubeconfig: &str) -> Client {
    Client::try_from(config(kubeconfig).await).expect("a client")
}
