//! The server, as its clients use it: in this process and over HTTPS, with well-behaved and with malicious clients.

#![expect(clippy::expect_used, reason = "a test that cannot go on says why")]

#[path = "../raw/mod.rs"]
mod raw;
#[path = "../test_rng/mod.rs"]
mod test_rng;

mod clients;
mod conversion;
mod fault_proxy;
mod gate;
mod histories;
mod hostile;
mod https;
mod in_process;
mod kube_rs;
mod kubeconfig;
mod tokens;
mod watching;
