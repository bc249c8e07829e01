//! Connections within the process, for webhooks of servers in this process.
//!
//! A socket answers when the kernel is ready, which differs from run to run, and while everything waits for one, paused
//! time would run ahead. These connections have neither problem: both ends are tasks of the runtime, so a run with the
//! same seed makes the same calls at the same moments.

use std::{
    collections::BTreeMap,
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use tokio::{
    io::DuplexStream,
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
};

/// The address of listeners in this process. It is in 0.0.0.0/8, which no packet may have as its destination (RFC 1122,
/// section 3.2.1.3), so no host has it.
pub const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(0, 0, 0, 1));

/// Capacity of a connection, in each direction. Bytes.
const CAPACITY: usize = 64 << 10;

/// The listeners by port.
static LISTENERS: Mutex<BTreeMap<u16, UnboundedSender<DuplexStream>>> = Mutex::new(BTreeMap::new());

fn listeners() -> MutexGuard<'static, BTreeMap<u16, UnboundedSender<DuplexStream>>> {
    LISTENERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A listener that servers in this process can connect to. Its port is free again when it is dropped.
#[derive(Debug)]
pub struct Listener {
    port: u16,
    accepted: UnboundedReceiver<DuplexStream>,
}

impl Listener {
    /// Listens on a free port of [`ADDRESS`].
    ///
    /// # Errors
    /// If all ports are taken.
    pub fn bind() -> io::Result<Self> {
        let mut listeners = listeners();
        let port = (1..=u16::MAX).find(|port| !listeners.contains_key(port));
        let port = port.ok_or(io::ErrorKind::AddrInUse)?;
        let (sender, accepted) = unbounded_channel();
        listeners.insert(port, sender);
        Ok(Self { port, accepted })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        listeners().remove(&self.port);
    }
}

impl tokio_util::net::Listener for Listener {
    type Io = DuplexStream;
    type Addr = SocketAddr;

    fn poll_accept(&mut self, context: &mut Context<'_>) -> Poll<io::Result<(Self::Io, Self::Addr)>> {
        let accepted = self.accepted.poll_recv(context);
        accepted.map(|stream| Ok((stream.ok_or(io::ErrorKind::NotConnected)?, self.local_addr()?)))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(SocketAddr::new(ADDRESS, self.port))
    }
}

/// Connects to a listener in this process.
///
/// # Errors
/// If none listens on the port.
pub(crate) fn connect(port: u16) -> io::Result<DuplexStream> {
    let (near, far) = tokio::io::duplex(CAPACITY);
    let sent = listeners()
        .get(&port)
        .is_some_and(|listener| listener.send(far).is_ok());
    if sent {
        Ok(near)
    } else {
        Err(io::ErrorKind::ConnectionRefused.into())
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio_util::net::Listener as _;

    use super::*;

    #[tokio::test]
    async fn what_is_sent_arrives_and_nobody_answers_once_the_listener_is_gone() {
        let mut listener = Listener::bind().unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut client = connect(port).unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        client.write_all(b"hello").await.unwrap();
        drop(client);
        let mut received = String::new();
        server.read_to_string(&mut received).await.unwrap();
        assert_eq!(received, "hello");
        drop(listener);
        assert_eq!(connect(port).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }

    #[test]
    fn two_listeners_have_two_ports() {
        let (one, other) = (Listener::bind().unwrap(), Listener::bind().unwrap());
        assert_ne!(one.local_addr().unwrap(), other.local_addr().unwrap());
    }
}
