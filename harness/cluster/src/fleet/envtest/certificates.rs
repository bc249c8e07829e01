//! Certificates of one cluster: generated for each cluster, and deleted with it.

use std::{io, path::Path};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};

use super::EnvtestError;
use crate::scratch::write_private;

/// Certificates and keys of one cluster, as PEM.
pub(super) struct Certificates {
    pub ca: String,
    server: (String, String),
    /// Client certificate of an administrator.
    pub client: (String, String),
    /// Key pair that signs and verifies service account tokens.
    accounts: (String, String),
}

impl Certificates {
    pub(super) fn make() -> Result<Self, rcgen::Error> {
        let mut ca = CertificateParams::new(Vec::new())?;
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        ca.distinguished_name.push(DnType::CommonName, "baton-envtest");
        let key = KeyPair::generate()?;
        let certificate = ca.self_signed(&key)?.pem();
        let issuer = Issuer::new(ca, key);
        let sign = |mut params: CertificateParams, usage| {
            params.extended_key_usages = vec![usage];
            let key = KeyPair::generate()?;
            let certificate = params.signed_by(&key, &issuer)?.pem();
            Ok::<_, rcgen::Error>((certificate, key.serialize_pem()))
        };
        let names = ["127.0.0.1", "localhost", "kubernetes", "kubernetes.default.svc"];
        let mut server = CertificateParams::new(names.map(str::to_owned))?;
        server.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        let mut client = CertificateParams::new(Vec::new())?;
        client.distinguished_name.push(DnType::CommonName, "baton");
        client
            .distinguished_name
            .push(DnType::OrganizationName, "system:masters");
        let accounts = KeyPair::generate()?;
        Ok(Self {
            ca: certificate,
            server: sign(server, ExtendedKeyUsagePurpose::ServerAuth)?,
            client: sign(client, ExtendedKeyUsagePurpose::ClientAuth)?,
            accounts: (accounts.public_key_pem(), accounts.serialize_pem()),
        })
    }

    /// Writes the files that the servers read: `ca.crt`, `server.crt`, `server.key`, `accounts.pub`, `accounts.key`.
    pub(super) fn write(&self, folder: &Path) -> Result<(), EnvtestError> {
        let files = [
            ("ca.crt", &self.ca),
            ("server.crt", &self.server.0),
            ("server.key", &self.server.1),
            ("accounts.pub", &self.accounts.0),
            ("accounts.key", &self.accounts.1),
        ];
        let write = |(name, text): (&str, &String)| write_private(&folder.join(name), text);
        let written: io::Result<()> = files.into_iter().try_for_each(write);
        written.map_err(|source| EnvtestError::Io {
            what: "writing certificates".to_owned(),
            source,
        })
    }
}
