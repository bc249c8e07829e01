//! The keys of one server, each made on first use: most servers in tests need none.

use std::io;
use std::sync::OnceLock;

use super::jws::SigningKey;
use crate::tls::{self, Authority};

/// The keys of one server.
#[derive(Default)]
pub(crate) struct Keys {
    authority: OnceLock<Authority>,
    accounts: OnceLock<SigningKey>,
    administrator: OnceLock<String>,
}

impl Keys {
    /// Returns the CA that certifies the server and the clients with a certificate.
    pub(crate) fn authority(&self) -> io::Result<&Authority> {
        made(&self.authority, || Authority::generate("baton"))
    }

    /// Returns the key that signs the tokens of service accounts.
    pub(crate) fn accounts(&self) -> io::Result<&SigningKey> {
        made(&self.accounts, SigningKey::generate)
    }

    /// Returns the token of the administrator.
    pub(crate) fn administrator(&self) -> io::Result<&str> {
        made(&self.administrator, tls::random_token).map(String::as_str)
    }

    /// Returns `true` for the token of the administrator.
    pub(super) fn is_administrator(&self, token: &str) -> bool {
        self.administrator.get().is_some_and(|known| known == token)
    }
}

/// Returns the value of a cell; the first call makes it.
fn made<T>(cell: &OnceLock<T>, make: impl FnOnce() -> io::Result<T>) -> io::Result<&T> {
    if let Some(found) = cell.get() {
        return Ok(found);
    }
    let new = make()?;
    Ok(cell.get_or_init(|| new))
}
