//! Signed tokens in compact form: claims as JSON, signed with ECDSA on P-256 (`ES256` in RFC 7518); no other algorithm
//! is supported. The crates for JSON web tokens would add a second cryptography library to the one that TLS uses.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, UnparsedPublicKey,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

const ALGORITHM: &str = "ES256";

/// Reason for which a token is forged, in the words of a kube-apiserver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum Forged {
    /// Another key has signed the token, such as that of another server.
    #[error("invalid signature, no keys found")]
    OtherKey,
    /// The token was changed after it had been signed.
    #[error("go-jose/go-jose: error in cryptographic primitive")]
    Changed,
}

/// A parsed token that has not been verified.
#[derive(Debug)]
pub(super) struct Unverified<'a> {
    /// Header and claims, as they were signed.
    signed: &'a str,
    header: Value,
    signature: Vec<u8>,
    /// The claims of the token.
    pub(super) claims: Value,
}

impl<'a> Unverified<'a> {
    /// Reads a token; `None` if it does not have this form.
    pub(super) fn read(token: &'a str) -> Option<Self> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let json = |part: &str| serde_json::from_slice(&BASE64.decode(part).ok()?).ok();
        Some(Self {
            signed,
            header: json(header)?,
            signature: BASE64.decode(signature).ok()?,
            claims: json(claims)?,
        })
    }
}

/// A key that signs tokens and verifies its own signatures.
pub(crate) struct SigningKey {
    pair: EcdsaKeyPair,
    random: SystemRandom,
    id: String,
}

impl SigningKey {
    /// Generates a new key.
    pub(super) fn generate() -> io::Result<Self> {
        let random = SystemRandom::new();
        let failed = |_| io::Error::other("cannot get random numbers from the operating system");
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).map_err(failed)?;
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random);
        let pair = pair.map_err(|error| io::Error::other(error.to_string()))?;
        let id = BASE64.encode(Sha256::digest(pair.public_key()));
        Ok(Self { pair, random, id })
    }

    /// Signs a token with these claims.
    pub(super) fn sign(&self, claims: &Value) -> io::Result<String> {
        let header = json!({"alg": ALGORITHM, "kid": self.id});
        let [header, claims] = [&header, claims].map(|part| BASE64.encode(part.to_string()));
        let signed = format!("{header}.{claims}");
        let signature = self.pair.sign(&self.random, signed.as_bytes());
        let signature =
            signature.map_err(|_| io::Error::other("cannot get random numbers from the operating system"))?;
        Ok(format!("{signed}.{}", BASE64.encode(signature)))
    }

    /// Checks that this key has signed the token.
    pub(super) fn verify(&self, token: &Unverified<'_>) -> Result<(), Forged> {
        if token.header.get("kid").and_then(Value::as_str) != Some(&self.id) {
            return Err(Forged::OtherKey);
        }
        if token.header.get("alg").and_then(Value::as_str) != Some(ALGORITHM) {
            return Err(Forged::Changed);
        }
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.pair.public_key());
        let verified = key.verify(token.signed.as_bytes(), &token.signature);
        verified.map_err(|_| Forged::Changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verify(key: &SigningKey, token: &str) -> Result<(), Forged> {
        key.verify(&Unverified::read(token).expect("a token"))
    }

    #[test]
    fn only_what_the_key_has_signed_is_its_own() {
        let [own, other] = [(); 2].map(|()| SigningKey::generate().expect("a key"));
        let token = own.sign(&json!({"sub": "a"})).expect("a token");
        assert_eq!(verify(&own, &token), Ok(()));
        assert_eq!(verify(&other, &token), Err(Forged::OtherKey));
        let parts: Vec<&str> = token.split('.').collect();
        let changed = |at: usize, part: &Value| {
            let mut parts: Vec<String> = parts.iter().map(|&part| part.to_owned()).collect();
            parts[at] = BASE64.encode(part.to_string());
            parts.join(".")
        };
        let none = json!({"alg": "none", "kid": own.id});
        for forged in [changed(1, &json!({"sub": "b"})), changed(0, &none)] {
            assert_eq!(verify(&own, &forged), Err(Forged::Changed), "{forged}");
        }
        let unsigned = format!("{}.{}.", parts[0], parts[1]);
        assert_eq!(verify(&own, &unsigned), Err(Forged::Changed));
    }

    #[test]
    fn what_is_no_token_is_not_read() {
        for text in ["", ".", "..", "a.b.c", "e30.e30", "e30.e30.!", "e30.bm8.e30"] {
            assert!(Unverified::read(text).is_none(), "{text}");
        }
        assert!(Unverified::read("e30.e30.e30").is_some());
    }
}
