//! Parses fuzzer input as a kubeconfig, and uses each of its contexts as a cluster.
//!
//! Programs and files that a kubeconfig names are left out: using a kubeconfig means trusting it to run them.
#![no_main]

use std::sync::LazyLock;

use baton_cluster::{
    error_chain::error_chain,
    fleet::external::{Access, Clusters},
};
use baton_core::names::ClusterName;
use kube::config::Kubeconfig;
use libfuzzer_sys::fuzz_target;
use tokio::runtime::{Builder, Runtime};

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Builder::new_current_thread().build().expect("a runtime"));

/// Removes references to programs and files from a kubeconfig.
fn alone(mut kubeconfig: Kubeconfig) -> Kubeconfig {
    for cluster in kubeconfig.clusters.iter_mut().filter_map(|it| it.cluster.as_mut()) {
        cluster.certificate_authority = None;
    }
    for user in kubeconfig.auth_infos.iter_mut().filter_map(|it| it.auth_info.as_mut()) {
        user.client_certificate = None;
        user.client_key = None;
        user.token_file = None;
        user.auth_provider = None;
        user.exec = None;
    }
    kubeconfig
}

fuzz_target!(|text: &str| {
    let Ok(kubeconfig) = Kubeconfig::from_yaml(text) else {
        return;
    };
    let kubeconfig = alone(kubeconfig);
    let contexts: Vec<String> = kubeconfig.contexts.iter().map(|it| it.name.clone()).collect();
    let mut all = RUNTIME.block_on(async {
        let mut all = Vec::new();
        for (number, context) in contexts.iter().take(4).enumerate() {
            let name = ClusterName::new(format!("member{number}"));
            match Access::by_context(name, &kubeconfig, context, "kubeconfig").await {
                Ok(access) => all.push(access),
                Err(error) => drop(error_chain(&error)),
            }
        }
        let unknown = Access::by_context(ClusterName::control(), &kubeconfig, "no-such-context", "kubeconfig").await;
        if let Err(error) = unknown {
            drop(error_chain(&error));
        }
        all
    });
    all.iter().for_each(|access| drop(access.url()));
    if let Some(control) = all.pop() {
        match Clusters::new(control, all) {
            Ok(clusters) => drop(clusters.loopback()),
            Err(error) => drop(error_chain(&error)),
        }
    }
});
