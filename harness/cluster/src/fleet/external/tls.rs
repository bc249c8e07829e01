//! Reasons of failed TLS connections: a cluster that rejects the connection must not be reported as unreachable.

use std::{error::Error, io};

use baton_core::names::ClusterName;
use rustls::{AlertDescription, CertificateError};

use super::check::CheckError;

/// Builds the error for a cluster that did not answer.
pub(super) fn unreachable(cluster: &ClusterName, url: &str, source: kube::Error) -> CheckError {
    let cause = cause(&source).cloned();
    let (cluster, url, source) = (cluster.clone(), url.to_owned(), Box::new(source));
    match cause {
        Some(rustls::Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        )) => CheckError::ServerExpired { cluster, url, source },
        Some(rustls::Error::InvalidCertificate(_)) => CheckError::ServerNotTrusted { cluster, url, source },
        Some(rustls::Error::AlertReceived(alert)) if is_about_us(alert) => CheckError::Unauthorized { cluster, url },
        Some(_) | None => CheckError::Unreachable { cluster, url, source },
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
