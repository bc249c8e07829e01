//! Connections to webhooks: trusted certificates, and errors in the words of a Go client.

use std::io;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{VerifierBuilderError, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;

use crate::in_process::{self, Stream};

/// Reason for which a connection fails, in the words of a Go client.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("dial tcp {0}: {error}", error = dialing(.1))]
    Dial(String, #[source] io::Error),
    #[error("dial tcp {0}: no such host")]
    NoHost(String),
    #[error("{}", verifying(.0))]
    Handshake(#[source] io::Error),
    #[error("tls: failed to verify certificate: {UNKNOWN_AUTHORITY}")]
    NoCertificate,
    #[error(transparent)]
    Verifier(#[from] VerifierBuilderError),
    #[error(transparent)]
    Tls(#[from] rustls::Error),
}

/// Connects to the first address of a host that accepts; the error is about the last one.
pub(crate) async fn dial(host: &str, port: u16) -> Result<Stream, ConnectError> {
    let target = format!("{host}:{port}");
    if is_in_process(host) {
        let connected = in_process::connect(port).map_err(|error| ConnectError::Dial(target, error));
        return Ok(Either::Right(connected?));
    }
    let mut failed = ConnectError::NoHost(target.clone());
    let addresses = tokio::net::lookup_host((host, port)).await;
    for address in addresses.map_err(|error| ConnectError::Dial(target, error))? {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(Either::Left(stream)),
            Err(error) => failed = ConnectError::Dial(address.to_string(), error),
        }
    }
    Err(failed)
}

/// Sets up TLS on a connection to a server whose certificate must be valid for `name`.
pub(crate) async fn secure(
    stream: Stream,
    name: ServerName<'static>,
    config: Arc<ClientConfig>,
) -> Result<TlsStream<Stream>, ConnectError> {
    let stream = TlsConnector::from(config).connect(name, stream).await;
    stream.map_err(ConnectError::Handshake)
}

fn is_in_process(host: &str) -> bool {
    host.parse() == Ok(in_process::ADDRESS)
}

/// Holds a paused clock during a call over the network: the clock would run ahead, because every task waits for the
/// answer. A paused clock does not advance while a blocking task runs; this one ends when the result is dropped.
/// Returns `None` if the call stays in the process, where only tasks wait for each other.
pub(crate) fn hold_time(host: &str) -> Option<std::sync::mpsc::Sender<()>> {
    if is_in_process(host) {
        return None;
    }
    let (held, end) = std::sync::mpsc::channel();
    tokio::task::spawn_blocking(move || end.recv());
    Some(held)
}

fn dialing(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connect: connection refused".to_owned(),
        io::ErrorKind::TimedOut => "i/o timeout".to_owned(),
        _ => error.to_string(),
    }
}

/// Returns the reason for which a connection broke off, in the words of a Go client.
pub(crate) fn breaking(error: &hyper::Error) -> String {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<io::Error>());
    let ended = cause.is_some_and(|cause| cause.kind() == io::ErrorKind::UnexpectedEof);
    if ended || error.is_incomplete_message() {
        return "EOF".to_owned();
    }
    error.to_string()
}

fn verifying(error: &io::Error) -> String {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    let problem = match cause {
        None if error.kind() == io::ErrorKind::UnexpectedEof => return "EOF".to_owned(),
        None => return error.to_string(),
        Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)) => UNKNOWN_AUTHORITY.to_owned(),
        Some(rustls::Error::InvalidCertificate(CertificateError::NotValidForNameContext { expected, presented })) => {
            other_name(&expected.to_str(), presented)
        }
        Some(other) => other.to_string(),
    };
    format!("tls: failed to verify certificate: {problem}")
}

/// Returns the error for a certificate of another host. `presented` are its names: `DnsName("a")`,
/// `IpAddress(127.0.0.1)`.
fn other_name(wanted: &str, presented: &[String]) -> String {
    let of = |kind: &str| {
        let names = presented
            .iter()
            .filter_map(|name| name.strip_prefix(kind)?.strip_suffix(')'));
        let names: Vec<&str> = names.map(|name| name.trim_matches(['(', '"'])).collect();
        names.join(", ")
    };
    let is_address = wanted.parse::<std::net::IpAddr>().is_ok();
    let names = of(if is_address { "IpAddress" } else { "DnsName" });
    match (is_address, names.is_empty()) {
        (true, true) => {
            format!("x509: cannot validate certificate for {wanted} because it doesn't contain any IP SANs")
        }
        (false, true) => format!("x509: certificate is not valid for any names, but wanted to match {wanted}"),
        (_, false) => format!("x509: certificate is valid for {names}, not {wanted}"),
    }
}

const UNKNOWN_AUTHORITY: &str = "x509: certificate signed by unknown authority";

/// Returns the TLS configuration of a client that trusts these certificates, as PEM, and servers certified by them.
pub(crate) fn config(ca: &[u8]) -> Result<ClientConfig, ConnectError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Arc::new(Trusting::read(ca, provider.clone())?);
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    Ok(builder.with_no_client_auth())
}

/// Trusts chains that end in given certificates, and these certificates themselves: a server may present the very
/// certificate in its configuration, as self-signed ones do.
#[derive(Debug)]
struct Trusting {
    chains: Arc<WebPkiServerVerifier>,
    own: Vec<CertificateDer<'static>>,
}

impl Trusting {
    fn read(ca: &[u8], provider: Arc<CryptoProvider>) -> Result<Self, ConnectError> {
        let mut roots = RootCertStore::empty();
        let mut own = Vec::new();
        for block in pem::parse_many(ca).unwrap_or_default() {
            let certificate = CertificateDer::from(block.into_contents());
            // A certificate that cannot be read is not trusted, and the handshake fails.
            let _ = roots.add(certificate.clone());
            own.push(certificate);
        }
        if own.is_empty() {
            return Err(ConnectError::NoCertificate);
        }
        let chains = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build()?;
        Ok(Self { chains, own })
    }
}

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.own.contains(end_entity) {
            let parsed = ParsedCertificate::try_from(end_entity)?;
            verify_server_name(&parsed, server_name)?;
            return Ok(ServerCertVerified::assertion());
        }
        self.chains
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.chains.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.chains.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chains.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::other_name;

    #[test]
    fn whose_a_certificate_is_not() {
        let presented = [
            "DnsName(\"a.example\")",
            "DnsName(\"b.example\")",
            "IpAddress(10.0.0.1)",
        ]
        .map(str::to_owned);
        for (wanted, presented, words) in [
            (
                "c.example",
                &presented[..],
                "x509: certificate is valid for a.example, b.example, not c.example",
            ),
            (
                "127.0.0.1",
                &presented[..],
                "x509: certificate is valid for 10.0.0.1, not 127.0.0.1",
            ),
            (
                "c.example",
                &presented[2..],
                "x509: certificate is not valid for any names, but wanted to match c.example",
            ),
            (
                "127.0.0.1",
                &presented[..2],
                "x509: cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs",
            ),
        ] {
            assert_eq!(other_name(wanted, presented), words);
        }
    }
}
