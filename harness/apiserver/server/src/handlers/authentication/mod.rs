//! Authentication: the identity of a caller ([`User`]), and the user of a bearer token. The token belongs to the
//! administrator, or to a service account as long as the account exists and the token has not expired ([`accounts`]).
//! [`jws`] signs tokens, [`keys`] has the keys.

pub(crate) mod accounts;
mod jws;
pub(crate) mod keys;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use self::accounts::AccountError;
use crate::handlers::Core;

/// The default audience of tokens, and their issuer: the API server.
pub(crate) const AUDIENCE: &str = "https://kubernetes.default.svc.cluster.local";

/// The group of all authenticated users.
const AUTHENTICATED: &str = "system:authenticated";

/// An authenticated user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    /// Empty for a user without uid.
    pub(crate) uid: String,
    pub(crate) groups: Vec<String>,
    pub(crate) extra: BTreeMap<String, Vec<String>>,
}

static ADMINISTRATOR: LazyLock<Arc<User>> =
    LazyLock::new(|| Arc::new(User::new("kubernetes-admin", &["system:masters", AUTHENTICATED])));

impl User {
    /// Returns a user without uid.
    pub(crate) fn new(name: &str, groups: &[&str]) -> Self {
        Self {
            name: name.to_owned(),
            uid: String::new(),
            groups: groups.iter().map(|&group| group.to_owned()).collect(),
            extra: BTreeMap::new(),
        }
    }

    /// Returns the user for clients with the kubeconfig, and for clients in the same process.
    pub(crate) fn administrator() -> Arc<Self> {
        Arc::clone(&ADMINISTRATOR)
    }

    /// Returns the user as reviews show it.
    pub(crate) fn info(&self) -> Value {
        let mut info = json!({"username": self.name, "groups": self.groups});
        if let Some(members) = info.as_object_mut() {
            if !self.uid.is_empty() {
                members.insert("uid".to_owned(), self.uid.as_str().into());
            }
            if !self.extra.is_empty() {
                members.insert("extra".to_owned(), json!(self.extra));
            }
        }
        info
    }
}

/// The user of a valid token.
#[derive(Debug)]
pub(crate) struct Authenticated {
    pub(crate) user: Arc<User>,
    /// The requested audiences that the token has.
    pub(crate) audiences: Vec<String>,
}

/// Reason for which a token has no user, in the words of a kube-apiserver.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unauthenticated {
    #[error("invalid bearer token")]
    Unknown,
    #[error("[invalid bearer token, {0}]")]
    Account(#[from] AccountError),
}

impl Core {
    /// Returns the user of a bearer token for one of these audiences.
    pub(crate) fn authenticate(&self, token: &str, audiences: &[String]) -> Result<Authenticated, Unauthenticated> {
        let known = if self.keys.is_administrator(token) {
            let is_meant = audiences.iter().any(|audience| audience == AUDIENCE);
            Ok(is_meant.then(|| Authenticated {
                user: User::administrator(),
                audiences: vec![AUDIENCE.to_owned()],
            }))
        } else {
            self.account_of(token, audiences)
        };
        known?.ok_or(Unauthenticated::Unknown)
    }
}
