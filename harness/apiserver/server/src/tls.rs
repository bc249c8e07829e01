//! Certificates: a CA, an endpoint's certificate and a client's, all new for each server.

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

/// A certificate and its key, as PEM.
pub(crate) struct Certified {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// A certificate authority.
pub(crate) struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// Generates a new authority.
    pub(crate) fn generate(name: &str) -> io::Result<Self> {
        Self::try_generate(name).map_err(io::Error::other)
    }

    fn try_generate(name: &str) -> Result<Self, rcgen::Error> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?.pem();
        Ok(Self {
            certificate,
            issuer: Issuer::new(params, key),
        })
    }

    /// Returns its own certificate, as PEM.
    pub(crate) fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Returns a certificate for a client; `organization` is its group.
    pub(crate) fn client(&self, name: &str, organization: Option<&str>) -> io::Result<Certified> {
        let made = self.certify(Vec::new(), name, ExtendedKeyUsagePurpose::ClientAuth, organization);
        made.map_err(io::Error::other)
    }

    /// Returns a certificate for a server with these names and addresses.
    fn server(&self, names: Vec<String>) -> io::Result<Certified> {
        let made = self.certify(names, "kube-apiserver", ExtendedKeyUsagePurpose::ServerAuth, None);
        made.map_err(io::Error::other)
    }

    fn certify(
        &self,
        names: Vec<String>,
        name: &str,
        purpose: ExtendedKeyUsagePurpose,
        organization: Option<&str>,
    ) -> Result<Certified, rcgen::Error> {
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name.push(DnType::CommonName, name);
        if let Some(organization) = organization {
            params.distinguished_name.push(DnType::OrganizationName, organization);
        }
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Certified {
            certificate,
            key: key.serialize_pem(),
        })
    }
}

/// All certificates and keys of an endpoint.
pub(crate) struct Identity {
    /// The certificate of the CA, as PEM.
    pub(crate) ca: String,
    pub(super) client: Certified,
    server: Certified,
}

impl Identity {
    /// Returns certificates of a new CA, for an endpoint at an address and on loopback.
    pub(crate) fn generate(address: IpAddr) -> io::Result<Self> {
        Self::certified_by(&Authority::generate("baton")?, address)
    }

    /// Returns certificates of a given CA, for an endpoint at an address and on loopback.
    pub(crate) fn certified_by(authority: &Authority, address: IpAddr) -> io::Result<Self> {
        let names = ["localhost", "kubernetes", "kubernetes.default.svc"].map(str::to_owned);
        let mut names: Vec<String> = names.into_iter().chain([Ipv4Addr::LOCALHOST.to_string()]).collect();
        if address != Ipv4Addr::LOCALHOST {
            names.push(address.to_string());
        }
        Ok(Self {
            ca: authority.certificate().to_owned(),
            client: authority.client("kubernetes-admin", Some("system:masters"))?,
            server: authority.server(names)?,
        })
    }

    /// Returns a TLS configuration that requests a client certificate of this CA and also accepts none.
    pub(crate) fn server_config(&self) -> io::Result<ServerConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(certificate(&self.ca)?).map_err(io::Error::other)?;
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
            .allow_unauthenticated()
            .build()
            .map_err(io::Error::other)?;
        let key = PrivateKeyDer::from_pem_slice(self.server.key.as_bytes()).map_err(io::Error::other)?;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![certificate(&self.server.certificate)?], key)
            .map_err(io::Error::other)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

/// Prefix of tokens, so that secret scanners recognise them in logs.
const TOKEN: &str = "baton-token-";

/// Returns a random token.
pub(crate) fn random_token() -> io::Result<String> {
    let mut bytes = [0_u8; 32];
    let random = rustls::crypto::ring::default_provider().secure_random;
    random
        .fill(&mut bytes)
        .map_err(|_| io::Error::other("cannot get random numbers from the operating system"))?;
    let mut token = TOKEN.to_owned();
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(token, "{byte:02x}");
    }
    Ok(token)
}

/// Reads a certificate.
pub(crate) fn certificate(pem: &str) -> io::Result<CertificateDer<'static>> {
    CertificateDer::from_pem_slice(pem.as_bytes()).map_err(io::Error::other)
}
