//! Reasons of failed TLS connections: a cluster that rejects the connection must not be reported as unreachable.

use std::{error::Error, io};

use rustls::{AlertDescription, CertificateError};

/// Reason of a failed TLS connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// The certificate of the server has expired.
    Expired,
    /// The certificate of the server is not trusted.
    NotTrusted,
    /// The server rejects the certificate of the client.
    Rejected,
}

/// Returns the reason of a failed request, if the TLS connection failed.
pub(super) fn reason(error: &kube::Error) -> Option<Reason> {
    match cause(error)? {
        rustls::Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            Some(Reason::Expired)
        }
        rustls::Error::InvalidCertificate(_) => Some(Reason::NotTrusted),
        rustls::Error::AlertReceived(alert) if is_about_us(*alert) => Some(Reason::Rejected),
        _ => None,
    }
}

/// Checks whether an alert means that the server rejects the client's certificate.
fn is_about_us(alert: AlertDescription) -> bool {
    matches!(
        alert,
        AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied
            | AlertDescription::CertificateRequired
    )
}

/// Finds the TLS error among the sources of an error. I/O errors do not list the error that they wrap as their source.
fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    if let Some(tls) = error.downcast_ref::<rustls::Error>() {
        return Some(tls);
    }
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    match inner {
        Some(inner) => cause(inner),
        None => cause(error.source()?),
    }
}
