//! Expired certificates: the message and the exit code. The servers implement only the side of a TLS connection that
//! shows and checks certificates.

use std::{fs, sync::Arc};

use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::{
    RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
    server::WebPkiClientVerifier,
};
use serde_json::json;
use tokio::{net::TcpListener, runtime::Runtime};
use tokio_rustls::TlsAcceptor;

use crate::common::baton;

/// Signs certificates; others trust its own certificate.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    pem: String,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self {
            certificate: certificate.der().clone(),
            pem: certificate.pem(),
            issuer: Issuer::new(params, key),
        }
    }

    /// Signs a certificate for loopback that is valid until a year; returns it with its key.
    fn signs(&self, usage: ExtendedKeyUsagePurpose, until: i32) -> (rcgen::Certificate, KeyPair) {
        let mut params = CertificateParams::new(["127.0.0.1", "localhost"].map(str::to_owned)).unwrap();
        params.extended_key_usages = vec![usage];
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap(), key)
    }
}

/// The last years of certificates.
const LONG_AGO: i32 = 2021;
const MUCH_LATER: i32 = 2120;

/// Runs a case on a control plane whose certificate is valid until a year, and returns the exit code and the output.
/// The control plane demands a certificate of its clients; theirs is valid until another year, and `trusted` is the
/// authority that they trust.
fn run(server_until: i32, client_until: i32, trusted: Option<&Authority>) -> (Option<i32>, String) {
    let authority = Authority::new();
    let (server, server_key) = authority.signs(ExtendedKeyUsagePurpose::ServerAuth, server_until);
    let (client, client_key) = authority.signs(ExtendedKeyUsagePurpose::ClientAuth, client_until);
    let mut roots = RootCertStore::empty();
    roots.add(authority.certificate.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_single_cert(
            vec![server.der().clone()],
            PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(server_key.serialize_der())),
        )
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));

    let runtime = Runtime::new().unwrap();
    let serve = |acceptor: TlsAcceptor| {
        let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0))).unwrap();
        let port = listener.local_addr().unwrap().port();
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // After the handshake, the connection is closed without an answer.
                drop(acceptor.accept(stream).await);
            }
        });
        port
    };
    let ports = [serve(acceptor.clone()), serve(acceptor)];

    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let cluster = |name: &str, port: u16| {
        json!({"name": name, "cluster": {
            "server": format!("https://127.0.0.1:{port}"),
            "certificate-authority": file("ca.crt", &trusted.unwrap_or(&authority).pem),
        }})
    };
    let context = |name: &str| json!({"name": name, "context": {"cluster": name, "user": "user"}});
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [cluster("control", ports[0]), cluster("member", ports[1])],
        "users": [{"name": "user", "user": {
            "client-certificate": file("client.crt", &client.pem()),
            "client-key": file("client.key", &client_key.serialize_pem()),
        }}],
        "contexts": [context("control"), context("member")],
    });
    let output = baton(&["run", "deployment-directly", "--backend", "kubeconfig", "--kubeconfig"])
        .arg(file("kubeconfig", &kubeconfig.to_string()))
        .args([
            "--yes-these-are-test-clusters",
            "--control",
            "control",
            "--member",
            "member",
        ])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    // The order of the two clusters in the output is random.
    let said = ports
        .iter()
        .fold(said, |said, port| said.replace(&port.to_string(), "PORT"));
    (output.status.code(), said.replace("member1", "control"))
}

#[test]
fn a_server_whose_certificate_is_over_is_told() {
    let (code, said) = run(LONG_AGO, MUCH_LATER, None);
    let expected = "the certificate of control at https://127.0.0.1:PORT/ has expired";
    assert!(said.contains(expected), "{said}");
    assert!(said.contains("to renew it"), "{said}");
    assert_eq!(code, Some(3), "{said}");
}

#[test]
fn a_client_whose_certificate_is_over_is_told() {
    let (code, said) = run(MUCH_LATER, LONG_AGO, None);
    let expected =
        "control at https://127.0.0.1:PORT/ does not accept the credentials of the kubeconfig; they may have";
    assert!(said.contains(expected), "{said}");
    assert_eq!(code, Some(3), "{said}");
}

#[test]
fn a_server_that_the_kubeconfig_does_not_trust_is_told() {
    let (code, said) = run(MUCH_LATER, MUCH_LATER, Some(&Authority::new()));
    let expected = "the certificate of control at https://127.0.0.1:PORT/ is not one that the kubeconfig trusts";
    assert!(said.contains(expected), "{said}");
    assert_eq!(code, Some(3), "{said}");
}
