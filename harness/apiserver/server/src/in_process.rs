//! Connections within the process, for webhooks of servers in this process.
//!
//! A socket answers when the kernel is ready, which differs from run to run; and while all tasks wait for a socket, a
//! paused clock would run ahead. These connections have neither problem: both ends are tasks of the runtime, so a run
//! with the same seed makes the same calls at the same moments.

use std::{
    collections::BTreeMap,
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use tokio::{
    io::DuplexStream,
    net::{TcpListener, TcpStream},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
};
use tokio_util::either::Either;

/// The address of listeners in this process. It is in 0.0.0.0/8, which no packet may have as its destination (RFC 1122,
/// section 3.2.1.3), so no host has it.
pub const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(0, 0, 0, 1));

/// Capacity of a connection in bytes, in each direction.
const CAPACITY: usize = 64 << 10;

/// The ports of [`ADDRESS`].
#[derive(Debug)]
struct Ports {
    listeners: BTreeMap<u16, UnboundedSender<DuplexStream>>,
    /// The port that was given last. The next one is higher: a server that still calls the webhook of a controller that has
    /// stopped must not reach one of another run, whose answer a paused clock would not wait for.
    last: u16,
}

static PORTS: Mutex<Ports> = Mutex::new(Ports {
    listeners: BTreeMap::new(),
    last: 0,
});

fn ports() -> MutexGuard<'static, Ports> {
    PORTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection to a webhook: a socket, or one within the process.
pub type Stream = Either<TcpStream, DuplexStream>;

/// A listener on a socket, or on a port of [`ADDRESS`], which only servers in this process can connect to.
#[derive(Debug)]
pub struct Listener(Either<TcpListener, Port>);

/// A port of [`ADDRESS`]. Dropping it frees the port.
#[derive(Debug)]
struct Port {
    number: u16,
    accepted: UnboundedReceiver<DuplexStream>,
}

impl Listener {
    /// Listens on a free port of an address: in the process if it is [`ADDRESS`], else on a socket.
    ///
    /// # Errors
    /// If the address is not one of this machine, or has no free port.
    pub async fn bind(address: IpAddr) -> io::Result<Self> {
        Ok(Self(if address == ADDRESS {
            Either::Right(Port::take()?)
        } else {
            Either::Left(TcpListener::bind((address, 0)).await?)
        }))
    }
}

impl Port {
    fn take() -> io::Result<Self> {
        let mut ports = ports();
        let after_last = (1..=u16::MAX).map(|ahead| ports.last.wrapping_add(ahead));
        let mut free = after_last.filter(|port| *port > 0 && !ports.listeners.contains_key(port));
        let number = free.next().ok_or(io::ErrorKind::AddrInUse)?;
        drop(free);
        let (sender, accepted) = unbounded_channel();
        ports.listeners.insert(number, sender);
        ports.last = number;
        Ok(Self { number, accepted })
    }

    fn address(&self) -> SocketAddr {
        SocketAddr::new(ADDRESS, self.number)
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        ports().listeners.remove(&self.number);
    }
}

impl tokio_util::net::Listener for Listener {
    type Io = Stream;
    type Addr = SocketAddr;

    fn poll_accept(&mut self, context: &mut Context<'_>) -> Poll<io::Result<(Self::Io, Self::Addr)>> {
        match &mut self.0 {
            Either::Left(socket) => {
                let accepted = socket.poll_accept(context);
                accepted.map_ok(|(stream, from)| (Either::Left(stream), from))
            }
            Either::Right(port) => {
                let accepted = port.accepted.poll_recv(context);
                accepted.map(|stream| {
                    Ok((
                        Either::Right(stream.ok_or(io::ErrorKind::NotConnected)?),
                        port.address(),
                    ))
                })
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.0 {
            Either::Left(socket) => socket.local_addr(),
            Either::Right(port) => Ok(port.address()),
        }
    }
}

/// Connects to a listener in this process.
///
/// # Errors
/// If none listens on the port.
pub(crate) fn connect(port: u16) -> io::Result<DuplexStream> {
    let (near, far) = tokio::io::duplex(CAPACITY);
    let sent = ports()
        .listeners
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
        let mut listener = Listener::bind(ADDRESS).await.unwrap();
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

    #[tokio::test]
    async fn two_listeners_have_two_ports() {
        let (one, other) = (
            Listener::bind(ADDRESS).await.unwrap(),
            Listener::bind(ADDRESS).await.unwrap(),
        );
        assert_ne!(one.local_addr().unwrap(), other.local_addr().unwrap());
    }

    #[tokio::test]
    async fn a_port_is_not_given_again_at_once() {
        let first = Listener::bind(ADDRESS).await.unwrap();
        let port = first.local_addr().unwrap().port();
        drop(first);
        let second = Listener::bind(ADDRESS).await.unwrap();
        assert_ne!(second.local_addr().unwrap().port(), port);
        assert_eq!(connect(port).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }
}
