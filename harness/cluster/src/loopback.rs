//! Tools for programs that serve on loopback: free ports, certificates, and readiness checks.

use std::{
    hash::{BuildHasher as _, RandomState},
    io,
    net::{Ipv4Addr, TcpListener, UdpSocket},
    ops::Range,
    path::Path,
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use http::Uri;
use kube::{Client, Config};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use thiserror::Error;
use tokio::time::{Instant, timeout_at};

use crate::scratch::{Scratch, write_private};

/// Pause between readiness checks: polling is the only way.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(50);

/// Range of ports: below the ephemeral ports, any of which an outgoing connection could take before the program
/// listens.
const PORTS: Range<u16> = 15_000..32_000;

/// Distance from a port to the UDP port that claims it. It is not the same number, because a program may serve UDP there.
const CLAIM: u16 = PORTS.end - PORTS.start;

/// Ports of 127.0.0.1 that no process uses. Until this is dropped, other processes of Baton find other ports, even while no
/// program listens on these.
#[derive(Debug)]
pub struct Ports {
    numbers: Vec<u16>,
    _claims: Vec<UdpSocket>,
}

impl Ports {
    /// Finds ports. This process returns each port once, until it has returned all.
    ///
    /// # Errors
    /// If there are not enough free ports.
    pub fn find(count: usize) -> io::Result<Self> {
        static NEXT: LazyLock<AtomicU64> = LazyLock::new(|| AtomicU64::new(RandomState::new().hash_one(())));
        let all = u64::from(PORTS.end - PORTS.start);
        let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
        let (numbers, claims): (Vec<u16>, Vec<UdpSocket>) = (0..all)
            .map(|_| NEXT.fetch_add(1, Ordering::Relaxed) % all)
            .filter_map(|number| Some(PORTS.start + u16::try_from(number).ok()?))
            .filter_map(|port| Some((port, claim(port)?)))
            .filter(|(port, _)| is_free(port))
            .take(count)
            .unzip();
        if numbers.len() < count {
            return Err(io::ErrorKind::AddrNotAvailable.into());
        }
        Ok(Self {
            numbers,
            _claims: claims,
        })
    }

    /// The ports, as many as were asked for.
    pub fn numbers(&self) -> &[u16] {
        &self.numbers
    }
}

/// Claims a port until the socket is dropped, or returns `None` if another process has claimed it.
fn claim(port: u16) -> Option<UdpSocket> {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, port + CLAIM)).ok()
}

/// A certificate for 127.0.0.1 and localhost, with its certificate authority, in a folder: `tls.crt`, `tls.key`,
/// `ca.crt`.
#[derive(Debug)]
pub struct Certificates {
    folder: Scratch,
    ca: String,
}

impl Certificates {
    /// Generates a new certificate and authority.
    ///
    /// # Errors
    /// If the certificates cannot be generated or written.
    pub fn make() -> io::Result<Self> {
        let [ca, certificate, key] = generate().map_err(io::Error::other)?;
        let folder = Scratch::new("data")?;
        for (name, text) in [("ca.crt", &ca), ("tls.crt", &certificate), ("tls.key", &key)] {
            write_private(&folder.path().join(name), text)?;
        }
        Ok(Self { folder, ca })
    }

    /// Folder of the files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Certificate of the authority (PEM).
    pub fn ca(&self) -> &str {
        &self.ca
    }
}

fn generate() -> Result<[String; 3], rcgen::Error> {
    let mut ca = CertificateParams::new(Vec::new())?;
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    ca.distinguished_name.push(DnType::CommonName, "baton-loopback");
    let ca_key = KeyPair::generate()?;
    let ca_certificate = ca.self_signed(&ca_key)?.pem();
    let issuer = Issuer::new(ca, ca_key);
    let mut server = CertificateParams::new(["127.0.0.1", "localhost"].map(str::to_owned))?;
    server.distinguished_name.push(DnType::CommonName, "loopback");
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate()?;
    let certificate = server.signed_by(&key, &issuer)?.pem();
    Ok([ca_certificate, certificate, key.serialize_pem()])
}

/// A request to a program on loopback that failed.
#[derive(Debug, Error)]
pub enum LoopbackError {
    /// The URL is invalid.
    #[error("{url} is not a URL")]
    Url {
        /// The text.
        url: String,
        /// Reason.
        source: http::Error,
    },
    /// The HTTP client cannot be created, or the request fails.
    #[error(transparent)]
    Request(Box<kube::Error>),
    /// The answer has a status other than 2xx.
    #[error("status {0}")]
    Status(u16),
    /// No attempt was answered.
    #[error("no answer")]
    NoAnswer,
    /// The only attempt was not answered in time.
    #[error("no answer within {0:?}")]
    Late(Duration),
    /// The answer has more bytes than allowed.
    #[error("an answer of more than {0} bytes")]
    TooLong(usize),
}

/// Waits until a URL of this machine answers with 2xx.
///
/// # Errors
/// If the time is up: the result of the last attempt.
pub async fn answers(url: &str, within: Duration) -> Result<(), LoopbackError> {
    let deadline = Instant::now() + within;
    let (client, path) = client(url)?;
    let mut last = LoopbackError::NoAnswer;
    loop {
        match timeout_at(deadline, client.request_text(request(url, &path)?)).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(kube::Error::Api(status))) => last = LoopbackError::Status(status.code),
            Ok(Err(_)) => {}
            Err(_) => return Err(last),
        }
        if Instant::now() + ASK_AGAIN_AFTER > deadline {
            return Err(last);
        }
        tokio::time::sleep(ASK_AGAIN_AFTER).await;
    }
}

/// Fetches the body of a URL that answers with 2xx.
///
/// # Errors
/// If the answer is late, has a status other than 2xx, or has more than `most` bytes.
pub async fn get(url: &str, within: Duration, most: usize) -> Result<String, LoopbackError> {
    let (client, path) = client(url)?;
    let asked = request(url, &path)?;
    let answer = match timeout_at(Instant::now() + within, client.request_text(asked)).await {
        Ok(Ok(text)) => text,
        Ok(Err(kube::Error::Api(status))) => return Err(LoopbackError::Status(status.code)),
        Ok(Err(error)) => return Err(LoopbackError::Request(Box::new(error))),
        Err(_) => return Err(LoopbackError::Late(within)),
    };
    if answer.len() > most {
        return Err(LoopbackError::TooLong(most));
    }
    Ok(answer)
}

/// Builds a client for a URL, and the path to request.
fn client(url: &str) -> Result<(Client, String), LoopbackError> {
    let wrong = |source: http::Error| LoopbackError::Url {
        url: url.to_owned(),
        source,
    };
    let uri: Uri = url
        .parse()
        .map_err(|error: http::uri::InvalidUri| wrong(error.into()))?;
    let path = uri
        .path_and_query()
        .map_or("/", http::uri::PathAndQuery::as_str)
        .to_owned();
    // Each request has its path.
    let mut base = uri.clone().into_parts();
    base.path_and_query = Some(http::uri::PathAndQuery::from_static("/"));
    let base = Uri::from_parts(base).map_err(|error| wrong(error.into()))?;
    let mut config = Config::new(base);
    // The request only checks readiness on loopback, and sends no secrets.
    config.accept_invalid_certs = true;
    let client = Client::try_from(config).map_err(|error| LoopbackError::Request(Box::new(error)))?;
    Ok((client, path))
}

fn request(url: &str, path: &str) -> Result<http::Request<Vec<u8>>, LoopbackError> {
    let request = http::Request::get(path).body(Vec::new());
    request.map_err(|source| LoopbackError::Url {
        url: url.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs};

    use wiremock::{Mock, MockServer, ResponseTemplate, matchers::path};

    use super::*;

    #[test]
    fn certificates_go_with_their_folder() {
        let certificates = Certificates::make().unwrap();
        let folder = certificates.folder().to_owned();
        assert_eq!(fs::read_to_string(folder.join("ca.crt")).unwrap(), certificates.ca());
        assert!(
            fs::read_to_string(folder.join("tls.key"))
                .unwrap()
                .contains("PRIVATE KEY")
        );
        drop(certificates);
        assert!(!folder.exists());
    }

    #[tokio::test]
    async fn what_answers_late_is_waited_for_and_what_does_not_is_told() {
        let server = MockServer::start().await;
        let not_yet = ResponseTemplate::new(500);
        Mock::given(path("/readyz"))
            .respond_with(not_yet)
            .up_to_n_times(2)
            .mount(&server)
            .await;
        Mock::given(path("/readyz"))
            .respond_with(ResponseTemplate::new(200))
            .mount(&server)
            .await;
        let url = format!("{}/readyz", server.uri());
        answers(&url, Duration::from_secs(30)).await.unwrap();
        let never = format!("{}/healthz", server.uri());
        let last = answers(&never, Duration::from_millis(200)).await.unwrap_err();
        assert_eq!(last.to_string(), "status 404");
        let unused = Ports::find(1).unwrap();
        let nobody = format!("http://127.0.0.1:{}/", unused.numbers()[0]);
        assert_eq!(
            answers(&nobody, Duration::from_millis(100))
                .await
                .unwrap_err()
                .to_string(),
            "no answer"
        );
    }

    #[test]
    fn no_port_is_given_twice_nor_one_that_somebody_uses() {
        let first = Ports::find(50).unwrap();
        let used: Vec<_> = first
            .numbers()
            .iter()
            .filter_map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).ok())
            .collect();
        assert!(!used.is_empty());
        let more: Vec<Ports> = (0..20).map(|_| Ports::find(10).unwrap()).collect();
        let more = more.iter().flat_map(Ports::numbers);
        let all: BTreeSet<u16> = first.numbers().iter().chain(more).copied().collect();
        assert_eq!(all.len(), 250);
        assert!(all.iter().all(|port| PORTS.contains(port)));
    }

    #[test]
    fn a_port_is_claimed_before_and_after_a_program_listens() {
        let ports = Ports::find(1).unwrap();
        let port = ports.numbers()[0];
        assert!(claim(port).is_none());
        drop(TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap());
        assert!(claim(port).is_none());
        drop(ports);
        assert!(claim(port).is_some());
    }
}
