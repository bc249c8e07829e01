//! What an encrypted connection failed for: a cluster that refuses one must not be told as one that is not there.

use std::{error::Error, io};

use baton_core::names::ClusterName;
use rustls::{AlertDescription, CertificateError};

use super::check::CheckError;

/// Why a cluster has not answered.
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

/// Whether a server says with this that it does not accept the certificate of its client.
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

/// What TLS has to say, however deep it is wrapped. Errors of I/O do not give as their source what they are made of.
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
