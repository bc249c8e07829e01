//! The keys of one server, each made when it is needed for the first time: most servers in tests need none.

use std::io;
use std::sync::OnceLock;

use super::jws::SigningKey;
use crate::tls::{self, Authority, Certified};

/// As whom the server asks aggregated API servers.
pub(crate) const FRONT_PROXY: &str = "front-proxy-client";

/// Who certifies front proxies, and a certificate as one of them.
pub(crate) struct FrontProxy {
    pub(crate) authority: Authority,
    pub(crate) client: Certified,
}

/// What servers show aggregated API servers. All servers of a process are the same front proxy: whoever has one of them has
/// all, and most never pass anything on.
pub(crate) fn front_proxy() -> io::Result<&'static FrontProxy> {
    static MADE: OnceLock<FrontProxy> = OnceLock::new();
    made(&MADE, || {
        let authority = Authority::generate("front-proxy-ca")?;
        let client = authority.client(FRONT_PROXY, None)?;
        Ok(FrontProxy { authority, client })
    })
}

/// The keys of one server.
#[derive(Default)]
pub(crate) struct Keys {
    authority: OnceLock<Authority>,
    accounts: OnceLock<SigningKey>,
    administrator: OnceLock<String>,
}

impl Keys {
    /// Who certifies the server, and those who are let in with a certificate.
    pub(crate) fn authority(&self) -> io::Result<&Authority> {
        made(&self.authority, || Authority::generate("baton"))
    }

    /// What signs the tokens of service accounts.
    pub(crate) fn accounts(&self) -> io::Result<&SigningKey> {
        made(&self.accounts, SigningKey::generate)
    }

    /// The token of the administrator.
    pub(crate) fn administrator(&self) -> io::Result<&str> {
        made(&self.administrator, tls::random_token).map(String::as_str)
    }

    /// Whether this is the token of the administrator.
    pub(super) fn is_administrator(&self, token: &str) -> bool {
        self.administrator.get().is_some_and(|known| known == token)
    }
}

/// What is in a cell; the first to need it makes it.
fn made<T>(cell: &OnceLock<T>, make: impl FnOnce() -> io::Result<T>) -> io::Result<&T> {
    if let Some(found) = cell.get() {
        return Ok(found);
    }
    let new = make()?;
    Ok(cell.get_or_init(|| new))
}
