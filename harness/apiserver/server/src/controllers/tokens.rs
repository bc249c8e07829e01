//! Secrets for the tokens of service accounts: filled when they are new, and deleted with their account.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use baton_apimachinery::meta;
use serde_json::{Value, json};

use crate::handlers::Core;
use crate::handlers::authentication::accounts::{self, ACCOUNT_NAME, ACCOUNT_UID};
use crate::handlers::verbs::delete::DeleteOptions;
use crate::store::{Expect, Stored, Write, key, key_of};

impl Core {
    /// Fills or removes the Secrets for tokens in a namespace.
    pub(super) fn keep_token_secrets(self: &Arc<Self>, namespace: &str) {
        let secrets = self.store.list(self.buckets.secrets, &format!("{namespace}/")).0;
        for secret in secrets
            .iter()
            .filter(|secret| accounts::is_token_secret(&secret.value()))
        {
            self.keep_token_secret(&key_of(&secret.value()));
        }
    }

    /// Fills a Secret for a token, or removes it if the account does not exist.
    pub(super) fn keep_token_secret(self: &Arc<Self>, key: &str) {
        while let Some(secret) = self.store.get(self.buckets.secrets, key) {
            let of_account = self.account_of_secret(&secret.value());
            let Some(account) = of_account else {
                self.remove_token_secret(key);
                return;
            };
            // Without keys, the Secret stays empty; a client that waits for the token sees that it does not come.
            let Ok(filled) = self.filled(&secret, &account) else {
                return;
            };
            if filled == *secret.value() {
                return;
            }
            let (expect, write) = (Expect::Revision(secret.revision), Write::Put(filled));
            let caller = Self::own("tokens-controller");
            if self.commit(self.buckets.secrets, key, expect, write, &caller).is_ok() {
                return;
            }
        }
    }

    fn account_of_secret(&self, secret: &Value) -> Option<Arc<Value>> {
        let name = meta::annotation(secret, ACCOUNT_NAME)?;
        let account = self
            .store
            .get(self.buckets.accounts, &key(meta::namespace(secret), name))?;
        let account = account.value();
        let uid = meta::annotation(secret, ACCOUNT_UID).filter(|uid| !uid.is_empty());
        let is_same = uid.is_none_or(|uid| meta::uid(&account) == Some(uid));
        is_same.then_some(account)
    }

    /// Returns a Secret with all its data.
    fn filled(&self, secret: &Stored, account: &Value) -> std::io::Result<Value> {
        let mut filled = Value::clone(&secret.value());
        let namespace = meta::namespace(account).unwrap_or_default();
        let has = |key: &str| meta::str_at(&filled, &["data", key]).is_some_and(|value| !value.is_empty());
        let mut data = json!({"ca.crt": BASE64.encode(self.keys.authority()?.certificate())});
        if !has("namespace") {
            data["namespace"] = BASE64.encode(namespace).into();
        }
        if !has("token") {
            data["token"] = BASE64.encode(self.issue_for_secret(account, &filled)?).into();
        }
        if let (Some(members), Value::Object(new)) = (filled.as_object_mut(), data) {
            let data = members.entry("data").or_insert_with(|| json!({}));
            if let Some(data) = data.as_object_mut() {
                data.extend(new);
            }
        }
        meta::set_annotation(&mut filled, ACCOUNT_UID, meta::uid(account).unwrap_or_default());
        Ok(filled)
    }

    fn remove_token_secret(self: &Arc<Self>, key: &str) {
        let catalogue = self.registry.current();
        if let Some(resource) = catalogue.find("", "v1", "secrets") {
            let caller = Self::own("tokens-controller");
            // Another client may delete it at the same time; then it is gone just as well.
            let _ = self.delete_object(resource, key, &DeleteOptions::default(), &caller);
        }
    }
}
