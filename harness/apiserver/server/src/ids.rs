//! Uids and name suffixes: a sequence that depends on the seed alone, so that two runs make the same ones.

use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

/// The characters of generated names: no vowels and no digits that look like letters, as in Kubernetes.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;

/// The generator of one server.
#[derive(Debug)]
pub(crate) struct Ids {
    base: u64,
    counter: AtomicU64,
}

impl Ids {
    pub(crate) fn new(name: &str, seed: u64) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(seed.to_be_bytes());
        hasher.update(name.as_bytes());
        let digest = hasher.finalize();
        let base = digest
            .iter()
            .take(8)
            .fold(0u64, |acc, byte| (acc << 8) | u64::from(*byte));
        Self {
            base,
            counter: AtomicU64::new(0),
        }
    }

    /// Returns the next number of the sequence (splitmix64).
    fn next(&self) -> u64 {
        let step = self.counter.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let mut z = self.base.wrapping_add(step.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a uid in the form of a random UUID.
    pub(crate) fn uid(&self) -> String {
        let value = (u128::from(self.next()) << 64) | u128::from(self.next());
        uuid::Builder::from_random_bytes(value.to_be_bytes())
            .into_uuid()
            .to_string()
    }

    /// Returns five letters to append to a `generateName`.
    pub(crate) fn suffix(&self) -> String {
        let mut rest = self.next();
        let mut suffix = String::with_capacity(SUFFIX_LENGTH);
        for _ in 0..SUFFIX_LENGTH {
            let index = usize::try_from(rest % 27).unwrap_or_default();
            suffix.push(char::from(ALPHABET[index]));
            rest /= 27;
        }
        suffix
    }
}
