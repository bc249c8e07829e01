//! Certificates: a CA, the server's certificate and a client's, all made anew for each server.

use std::fmt::Write as _;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;

/// All certificates and keys of a server, as PEM.
pub(crate) struct Identity {
    pub(crate) ca: String,
    pub(super) client_certificate: String,
    pub(super) client_key: String,
    certificate: String,
    key: String,
}

impl Identity {
    /// New ones, for a server that is reached at an address, or on loopback.
    pub(crate) fn generate(address: IpAddr) -> io::Result<Self> {
        Self::try_generate(address).map_err(io::Error::other)
    }

    fn try_generate(address: IpAddr) -> Result<Self, rcgen::Error> {
        let mut ca = CertificateParams::new(Vec::new())?;
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        ca.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        ca.distinguished_name.push(DnType::CommonName, "baton");
        let ca_key = KeyPair::generate()?;
        let ca_certificate = ca.self_signed(&ca_key)?.pem();
        let issuer = Issuer::new(ca, ca_key);

        let names = ["localhost", "kubernetes", "kubernetes.default.svc"].map(str::to_owned);
        let mut names: Vec<String> = names.into_iter().chain([Ipv4Addr::LOCALHOST.to_string()]).collect();
        if address != Ipv4Addr::LOCALHOST {
            names.push(address.to_string());
        }
        let mut server = CertificateParams::new(names)?;
        server.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        let certificate = server.signed_by(&key, &issuer)?.pem();

        let mut client = CertificateParams::new(Vec::new())?;
        client.distinguished_name.push(DnType::CommonName, "kubernetes-admin");
        client
            .distinguished_name
            .push(DnType::OrganizationName, "system:masters");
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let client_key = KeyPair::generate()?;
        let client_certificate = client.signed_by(&client_key, &issuer)?.pem();
        Ok(Self {
            ca: ca_certificate,
            client_certificate,
            client_key: client_key.serialize_pem(),
            certificate,
            key: key.serialize_pem(),
        })
    }

    /// TLS that asks for a client certificate of this CA and takes none as an answer.
    pub(crate) fn server_config(&self) -> io::Result<ServerConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(certificate(&self.ca)?).map_err(io::Error::other)?;
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
            .allow_unauthenticated()
            .build()
            .map_err(io::Error::other)?;
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).map_err(io::Error::other)?;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![certificate(&self.certificate)?], key)
            .map_err(io::Error::other)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

/// What tokens begin with, so that who looks for secrets in logs knows them by their shape.
const TOKEN: &str = "baton-token-";

/// A token that nobody can guess.
pub(crate) fn random_token() -> io::Result<String> {
    let mut bytes = [0_u8; 32];
    let random = rustls::crypto::ring::default_provider().secure_random;
    random
        .fill(&mut bytes)
        .map_err(|_| io::Error::other("the system gives no random numbers"))?;
    let mut token = TOKEN.to_owned();
    for byte in bytes {
        // Nothing can go wrong with a text.
        let _ = write!(token, "{byte:02x}");
    }
    Ok(token)
}

fn certificate(pem: &str) -> io::Result<CertificateDer<'static>> {
    CertificateDer::from_pem_slice(pem.as_bytes()).map_err(io::Error::other)
}
