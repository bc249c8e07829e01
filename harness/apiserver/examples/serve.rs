//! One API server on its own, until interrupted: prints where it is and writes its kubeconfig and CA.
//!
//!     cargo run -p baton-apiserver --example serve -- FOLDER
//!     kubectl --kubeconfig FOLDER/kubeconfig get namespaces

#![expect(
    clippy::disallowed_methods,
    reason = "a program of its own, which may read the clock"
)]

use std::path::PathBuf;
use std::sync::Arc;

use baton_apiserver::{ApiServer, Options};
use jiff::Timestamp;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let folder = std::env::args_os()
        .nth(1)
        .map_or_else(|| PathBuf::from("."), PathBuf::from);
    std::fs::create_dir_all(&folder)?;
    let server = ApiServer::new(Options::new("baton", Arc::new(Timestamp::now)));
    let serving = server.serve().await?;
    std::fs::write(folder.join("ca.crt"), serving.ca())?;
    std::fs::write(folder.join("kubeconfig"), serving.kubeconfig())?;
    println!("server: {}", serving.url());
    println!("token: {}", serving.token());
    println!("ca: {}", folder.join("ca.crt").display());
    println!("kubeconfig: {}", folder.join("kubeconfig").display());
    tokio::signal::ctrl_c().await?;
    serving.stop().await;
    Ok(())
}
