//! Options of `member`.

use std::{
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
};

use clap::{Args, builder::RangedU64ValueParser};

/// Options of `member`.
#[derive(Debug, Args)]
pub struct Member {
    /// Kubeconfig of the control plane
    #[arg(long, value_name = "FILE")]
    pub control_plane: PathBuf,
    /// Context of the kubeconfig [default: its current context]
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Number of members
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = RangedU64ValueParser::<usize>::new().range(1..=1000))]
    pub count: usize,
    /// Number of the first member: the names are memberN, and so on
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_000_000))]
    pub first: usize,
    /// Address of this machine at which the control plane reaches the members, such as that of the pod
    #[arg(long, value_name = "IP", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub address: IpAddr,
    /// Random seed
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}
