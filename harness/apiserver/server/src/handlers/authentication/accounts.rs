//! The tokens of service accounts: requested ones, which expire, and those in Secrets, which do not.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use baton_apimachinery::meta;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::jws::{Forged, Unverified};
use super::{AUDIENCE, AUTHENTICATED, Authenticated, User};
use crate::handlers::Core;
use crate::store::key;

/// The type of the Secrets that hold tokens.
pub(crate) const TOKEN_SECRET: &str = "kubernetes.io/service-account-token";
/// The annotation of such a Secret that names the account.
pub(crate) const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
/// The annotation with the uid of the account.
pub(crate) const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";

/// The issuer of the tokens in Secrets.
const SECRET_ISSUER: &str = "kubernetes/serviceaccount";
/// The label of a Secret whose token is no longer accepted.
const INVALID_SINCE: &str = "kubernetes.io/legacy-token-invalid-since";
/// Tolerated difference between clocks.
const LEEWAY: SignedDuration = SignedDuration::from_mins(1);

/// Reason for which the token of an account is not accepted, in the words of a kube-apiserver.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AccountError {
    #[error(transparent)]
    Keys(#[from] io::Error),
    #[error(transparent)]
    Forged(#[from] Forged),
    #[error("token audiences {of_token} is invalid for the target audiences {asked}")]
    Audiences { of_token: String, asked: String },
    #[error("service account token {0}")]
    Time(&'static str),
    #[error("serviceaccounts {0:?} not found")]
    NoAccount(String),
    #[error("{kind} {namespace}/{name} has been deleted")]
    Deleted {
        kind: &'static str,
        namespace: String,
        name: String,
    },
    #[error("{what} UID ({found}) does not match {claim} ({claimed})")]
    OtherUid {
        what: String,
        claim: String,
        found: String,
        claimed: String,
    },
    /// The object that the token is bound to is gone.
    #[error("service account token has been invalidated")]
    Invalidated,
    /// The Secret of the token is gone.
    #[error("Token has been invalidated")]
    NoSecret,
    #[error("Token does not match server's copy")]
    OtherToken,
    #[error(
        "the token in secret {namespace}/{secret} for service account {namespace}/{name} has been marked invalid. Use \
         tokens from the TokenRequest API or manually created secret-based tokens, or remove the '{INVALID_SINCE}' \
         label from the secret to temporarily allow use of this token"
    )]
    Marked {
        namespace: String,
        secret: String,
        name: String,
    },
}

impl AccountError {
    fn deleted(kind: &'static str, namespace: &str, name: &str) -> Self {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        Self::Deleted { kind, namespace, name }
    }
}

/// Returns the user name of an account.
fn user_name(namespace: &str, account: &str) -> String {
    format!("system:serviceaccount:{namespace}:{account}")
}

/// A request for a token.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) audiences: &'a Value,
    pub(crate) lifetime: SignedDuration,
    /// The object that the token is bound to: `pod`, `secret` or `node`, with name and uid.
    pub(crate) bound: Vec<(&'static str, Value)>,
}

impl Core {
    /// Issues a token for a service account.
    pub(crate) fn issue(&self, account: &Value, request: Request<'_>) -> io::Result<String> {
        let of_account = |key: &str| meta::str_at(account, &["metadata", key]).unwrap_or_default();
        let (namespace, name) = (of_account("namespace"), of_account("name"));
        let now = (self.options.clock)();
        let end = now.saturating_add(request.lifetime).unwrap_or(Timestamp::MAX);
        let mut about = json!({"namespace": namespace, "serviceaccount": {"name": name, "uid": of_account("uid")}});
        if let Some(about) = about.as_object_mut() {
            about.extend(request.bound.into_iter().map(|(kind, of)| (kind.to_owned(), of)));
        }
        self.keys.accounts()?.sign(&json!({
            "iss": AUDIENCE, "sub": user_name(namespace, name), "aud": request.audiences, "jti": self.ids.uid(),
            "iat": now.as_second(), "nbf": now.as_second(), "exp": end.as_second(), "kubernetes.io": about,
        }))
    }

    /// Issues the token for a Secret of a service account.
    pub(crate) fn issue_for_secret(&self, account: &Value, secret: &Value) -> io::Result<String> {
        let of_account = |key: &str| meta::str_at(account, &["metadata", key]).unwrap_or_default();
        let (namespace, name) = (of_account("namespace"), of_account("name"));
        self.keys.accounts()?.sign(&json!({
            "iss": SECRET_ISSUER, "sub": user_name(namespace, name),
            "kubernetes.io/serviceaccount/namespace": namespace,
            "kubernetes.io/serviceaccount/secret.name": meta::name(secret),
            "kubernetes.io/serviceaccount/service-account.name": name,
            "kubernetes.io/serviceaccount/service-account.uid": of_account("uid"),
        }))
    }

    /// Returns the account of a token, or `None` if the token does not belong to an account.
    pub(super) fn account_of(&self, token: &str, audiences: &[String]) -> Result<Option<Authenticated>, AccountError> {
        let Some(read) = Unverified::read(token) else {
            return Ok(None);
        };
        let issuer = meta::text(&read.claims, "iss");
        if !matches!(issuer, AUDIENCE | SECRET_ISSUER) {
            return Ok(None);
        }
        self.keys.accounts()?.verify(&read)?;
        let claims = &read.claims;
        let audiences = meant(claims, audiences)?;
        let user = if issuer == SECRET_ISSUER {
            self.of_secret(token, claims)?
        } else {
            self.of_request(claims)?
        };
        Ok(Some(Authenticated {
            user: Arc::new(user),
            audiences,
        }))
    }

    /// Returns the user of a requested token.
    fn of_request(&self, claims: &Value) -> Result<User, AccountError> {
        let now = (self.options.clock)();
        check_times(claims, now)?;
        let text = |path: &[&str]| meta::str_at(claims, path).unwrap_or_default();
        let namespace = text(&["kubernetes.io", "namespace"]);
        let (name, uid) = (
            text(&["kubernetes.io", "serviceaccount", "name"]),
            text(&["kubernetes.io", "serviceaccount", "uid"]),
        );
        let account = self.account(namespace, name)?;
        check_uid("service account", "claim", &account, uid)?;
        let gone = |object: &Value| {
            let since = meta::deletion_timestamp(object).and_then(|since| since.parse::<Timestamp>().ok());
            since.is_some_and(|since| since.duration_until(now) > LEEWAY)
        };
        if gone(&account) {
            return Err(AccountError::deleted("service account", namespace, name));
        }
        let mut extra = BTreeMap::from([(
            "authentication.kubernetes.io/credential-id".to_owned(),
            vec![format!("JTI={}", text(&["jti"]))],
        )]);
        let is_of_pod = meta::at(claims, &["kubernetes.io", "pod"]).is_some();
        for (kind, plural) in [("secret", "secrets"), ("pod", "pods"), ("node", "nodes")] {
            if meta::at(claims, &["kubernetes.io", kind]).is_none() {
                continue;
            }
            let (name, uid) = (
                text(&["kubernetes.io", kind, "name"]),
                text(&["kubernetes.io", kind, "uid"]),
            );
            // The token names the node of a pod, but the node need not exist.
            if !(kind == "node" && is_of_pod) {
                let namespace = (kind != "node").then_some(namespace);
                let bound = self.store.get(self.store.bucket("", plural), &key(namespace, name));
                let bound = bound.ok_or(AccountError::Invalidated)?.value();
                check_uid(kind, &format!("service account {kind} ref claim"), &bound, uid)?;
                if gone(&bound) {
                    return Err(AccountError::Invalidated);
                }
            }
            if kind != "secret" {
                let known = [("name", name), ("uid", uid)]
                    .into_iter()
                    .filter(|(_, value)| !value.is_empty());
                extra.extend(known.map(|(what, value)| {
                    (
                        format!("authentication.kubernetes.io/{kind}-{what}"),
                        vec![value.to_owned()],
                    )
                }));
            }
        }
        Ok(user(namespace, name, uid, extra))
    }

    /// Returns the user of a token in a Secret.
    fn of_secret(&self, token: &str, claims: &Value) -> Result<User, AccountError> {
        let text = |key: &str| meta::text(claims, &format!("kubernetes.io/serviceaccount/{key}")).to_owned();
        let (namespace, name) = (text("namespace"), text("service-account.name"));
        let (uid, secret_name) = (text("service-account.uid"), text("secret.name"));
        let secrets = self.store.bucket("", "secrets");
        let secret = self.store.get(secrets, &key(Some(&namespace), &secret_name));
        let secret = secret.map(|secret| secret.value());
        let secret = secret.filter(|secret| meta::deletion_timestamp(secret).is_none());
        let secret = secret.ok_or(AccountError::NoSecret)?;
        let kept = meta::str_at(&secret, &["data", "token"]).map(|kept| BASE64.decode(kept));
        if !matches!(kept, Some(Ok(kept)) if kept == token.as_bytes()) {
            return Err(AccountError::OtherToken);
        }
        let account = self.account(&namespace, &name)?;
        if meta::deletion_timestamp(&account).is_some() {
            return Err(AccountError::deleted("ServiceAccount", &namespace, &name));
        }
        check_uid("ServiceAccount", "claim", &account, &uid)?;
        if meta::str_at(&secret, &["metadata", "labels", INVALID_SINCE]).is_some_and(|since| !since.is_empty()) {
            return Err(AccountError::Marked {
                namespace,
                secret: secret_name,
                name,
            });
        }
        Ok(user(&namespace, &name, &uid, BTreeMap::new()))
    }

    fn account(&self, namespace: &str, name: &str) -> Result<Arc<Value>, AccountError> {
        let accounts = self.store.bucket("", "serviceaccounts");
        let account = self.store.get(accounts, &key(Some(namespace), name));
        account
            .map(|account| account.value())
            .ok_or_else(|| AccountError::NoAccount(name.to_owned()))
    }
}

/// Returns those of the requested audiences that a token has. A token without audiences is for the API server.
fn meant(claims: &Value, asked: &[String]) -> Result<Vec<String>, AccountError> {
    let of_token: Vec<String> = match claims.get("aud") {
        Some(Value::String(only)) => vec![only.clone()],
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => vec![AUDIENCE.to_owned()],
    };
    let both: Vec<String> = of_token.iter().filter(|each| asked.contains(each)).cloned().collect();
    if both.is_empty() {
        let quoted = |all: &[String]| {
            let quoted: Vec<String> = all.iter().map(|each| format!("{each:?}")).collect();
            format!("[{}]", quoted.join(" "))
        };
        let (of_token, asked) = (quoted(&of_token), quoted(asked));
        return Err(AccountError::Audiences { of_token, asked });
    }
    Ok(both)
}

fn check_times(claims: &Value, now: Timestamp) -> Result<(), AccountError> {
    let moment = |key: &str| Timestamp::from_second(claims.get(key)?.as_i64()?).ok();
    let since = |key: &str| moment(key).map(|moment| moment.duration_until(now));
    let problem = if since("exp").is_some_and(|since| since > LEEWAY) {
        "has expired"
    } else if since("nbf").is_some_and(|since| since < -LEEWAY) {
        "is not valid yet"
    } else if since("iat").is_some_and(|since| since < -LEEWAY) {
        "is issued in the future"
    } else {
        return Ok(());
    };
    Err(AccountError::Time(problem))
}

/// Checks that a claim names this object, and not another one that has got its name.
fn check_uid(what: &str, claim: &str, found: &Value, claimed: &str) -> Result<(), AccountError> {
    let found = meta::uid(found).unwrap_or_default();
    if found == claimed {
        return Ok(());
    }
    Err(AccountError::OtherUid {
        what: what.to_owned(),
        claim: claim.to_owned(),
        found: found.to_owned(),
        claimed: claimed.to_owned(),
    })
}

fn user(namespace: &str, account: &str, uid: &str, extra: BTreeMap<String, Vec<String>>) -> User {
    let of_namespace = format!("system:serviceaccounts:{namespace}");
    let groups = ["system:serviceaccounts", &of_namespace, AUTHENTICATED];
    User {
        uid: uid.to_owned(),
        extra,
        ..User::new(&user_name(namespace, account), &groups)
    }
}

/// Returns `true` if an object is a Secret for a token.
pub(crate) fn is_token_secret(secret: &Value) -> bool {
    secret.get("type").and_then(Value::as_str) == Some(TOKEN_SECRET)
}
