//! Runs one API server until interrupted: prints its address, and writes its kubeconfig and CA.
//!
//!     cargo run -p baton-apiserver --example serve -- FOLDER [--without-controllers]
//!     kubectl --kubeconfig FOLDER/kubeconfig get namespaces
//!
//! Without controllers, no garbage is collected and deleted namespaces are not emptied.

use std::path::PathBuf;
use std::sync::Arc;

use baton_apiserver::{ApiServer, Options};
use jiff::Timestamp;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let folder = arguments.next().map_or_else(|| PathBuf::from("."), PathBuf::from);
    let mut options = Options::new("baton", Arc::new(Timestamp::now));
    options.collect_garbage = arguments.next().is_none_or(|flag| flag != "--without-controllers");
    std::fs::create_dir_all(&folder)?;
    let server = ApiServer::new(options);
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
