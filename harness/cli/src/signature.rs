//! Keys, and signatures of reports, in the format of minisign.
//!
//! A report has the digest of each of its timelines, so that the signature of its file covers these too. minisign can
//! create the keys and check the signatures: `minisign -V -m report.yaml -p baton.pub`.

use std::{
    fmt, fs,
    io::{self, Cursor, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use jiff::Timestamp;
use minisign::{KeyPair, PError, SecretKey, SecretKeyBox};
use minisign_verify::{Error as VerifyError, PublicKey, Signature};
use thiserror::Error;

use crate::{files, report::file};

/// Error with a key or a signature.
#[derive(Debug, Error)]
pub enum SignatureError {
    /// A file does not exist or cannot be read.
    #[error("{} cannot be read", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error from the system.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("{} cannot be written", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Error from the system.
        source: io::Error,
    },
    /// A file exists that might be a key, and is not overwritten.
    #[error("{} already exists", .0.display())]
    Exists(PathBuf),
    /// A file is not in the format of minisign.
    #[error("{} is not a minisign {what}", path.display())]
    Form {
        /// Path of the file.
        path: PathBuf,
        /// Expected content: `public key`, `secret key` or `signature`.
        what: &'static str,
    },
    /// A report has no signature.
    #[error("{} is not signed: there is no {}", report.display(), signature.display())]
    Unsigned {
        /// The report.
        report: PathBuf,
        /// Expected path of its signature.
        signature: PathBuf,
    },
    /// The password does not open a secret key.
    #[error("the password is not that of {}", .0.display())]
    WrongPassword(PathBuf),
    /// The password of a key that must be protected is empty.
    #[error("the password is empty")]
    EmptyPassword,
    /// The password and its repetition differ.
    #[error("the two passwords differ")]
    Differ,
    /// There is no terminal to ask for a password.
    #[error("there is no terminal to ask for the password")]
    NoTerminal(#[source] io::Error),
    /// The library failed.
    #[error("the key cannot be used")]
    Key(#[from] PError),
}

impl SignatureError {
    /// Returns a remedy for the user.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Unsigned { .. } => "`baton report sign` signs a report",
            Self::NoTerminal(_) => "--password-file takes it from a file",
            Self::EmptyPassword => "--no-password makes a key that anyone with the file can use",
            Self::Form { what: "secret key", .. } => "`baton report keygen` makes one",
            _ => "",
        }
    }
}

/// Source of the password of a secret key.
#[derive(Debug, Clone)]
pub enum Password {
    /// The key has no password.
    None,
    /// First line of a file.
    File(PathBuf),
    /// Input on the terminal.
    Ask,
}

impl Password {
    fn get(&self, again: bool) -> Result<Option<String>, SignatureError> {
        let password = match self {
            Self::None => return Ok(None),
            Self::File(path) => {
                let text = files::read_text(path).map_err(|source| SignatureError::Read {
                    path: path.clone(),
                    source,
                })?;
                text.lines().next().unwrap_or_default().to_owned()
            }
            Self::Ask => {
                let ask = |prompt: &str| rpassword::prompt_password(prompt).map_err(SignatureError::NoTerminal);
                let password = ask("Password of the key: ")?;
                if again && ask("The same again: ")? != password {
                    return Err(SignatureError::Differ);
                }
                password
            }
        };
        if password.is_empty() {
            return Err(SignatureError::EmptyPassword);
        }
        Ok(Some(password))
    }
}

/// Creates a pair of keys: `NAME.key`, which only its owner can read, and `NAME.pub`.
///
/// If one of the files exists or cannot be written, or if there is no password.
pub fn generate(name: &Path, password: &Password) -> Result<[PathBuf; 2], SignatureError> {
    let paths = ["key", "pub"].map(|ending| PathBuf::from(format!("{}.{ending}", name.display())));
    if let Some(path) = paths.iter().find(|path| path.symlink_metadata().is_ok()) {
        return Err(SignatureError::Exists(path.clone()));
    }
    let keys = match password.get(true)? {
        None => KeyPair::generate_unencrypted_keypair()?,
        password => KeyPair::generate_encrypted_keypair(password)?,
    };
    let secret = keys.sk.to_box(Some("secret key for reports of Baton"))?.to_bytes();
    let contents = [(secret, 0o600), (keys.pk.to_box()?.to_bytes(), 0o644)];
    for (path, (content, mode)) in paths.iter().zip(contents) {
        let file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(path);
        file.and_then(|mut file| file.write_all(&content))
            .map_err(|source| SignatureError::Write {
                path: path.clone(),
                source,
            })?;
    }
    Ok(paths)
}

/// Returns the path of a report's signature.
pub fn path(report: &Path) -> PathBuf {
    PathBuf::from(format!("{}{}", report.display(), minisign::SIG_SUFFIX))
}

/// Signs a report with a secret key, and writes the signature next to it.
///
/// If the key is invalid, the password does not open it, or the signature cannot be written.
pub fn sign(report: &Path, content: &[u8], key: &Path, password: &Password) -> Result<PathBuf, SignatureError> {
    let key = secret_key(key, password)?;
    let comment = format!("timestamp:{}", Timestamp::now().as_second());
    let signature = minisign::sign(
        None,
        &key,
        Cursor::new(content),
        Some(&comment),
        Some("signature of a report"),
    )?;
    let path = path(report);
    let written = file::write(&path, &signature.to_bytes());
    written.map_err(|source| SignatureError::Write {
        path: path.clone(),
        source,
    })?;
    Ok(path)
}

fn secret_key(path: &Path, password: &Password) -> Result<SecretKey, SignatureError> {
    let no_key = || SignatureError::Form {
        path: path.to_owned(),
        what: "secret key",
    };
    let text = read(path, "secret key")?;
    let bytes = text
        .lines()
        .nth(1)
        .and_then(|line| BASE64_STANDARD.decode(line.trim()).ok());
    let locked = SecretKey::from_bytes(&bytes.ok_or_else(no_key)?).map_err(|_| no_key())?;
    let boxed = SecretKeyBox::from(text);
    if !locked.is_encrypted() {
        return boxed.into_unencrypted_secret_key().map_err(|_| no_key());
    }
    let password = match password {
        Password::None => &Password::Ask,
        password => password,
    };
    let opened = boxed.into_secret_key(password.get(false)?);
    opened.map_err(|error| match error.kind() {
        minisign::ErrorKind::Verify => SignatureError::WrongPassword(path.to_owned()),
        _ => no_key(),
    })
}

/// Result of checking a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signed {
    /// The key signed this content. Has the trusted comment of the signature.
    Good(String),
    /// Another key signed it.
    OtherKey,
    /// The content or the signature was edited.
    Different,
    /// The signature has a form that is no longer accepted.
    Legacy,
}

impl fmt::Display for Signed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Good(_) => "the report is signed by this key",
            Self::OtherKey => "the report is signed by another key",
            Self::Different => "the report, or its signature, was edited after it was signed",
            Self::Legacy => "the signature is of minisign's older form, which is not accepted: sign again",
        })
    }
}

/// Checks the signature next to a report.
///
/// If there is no signature, or if the signature or the key is invalid.
pub fn check(report: &Path, content: &[u8], key: &Path) -> Result<Signed, SignatureError> {
    let form = |path: &Path, what: &'static str| SignatureError::Form {
        path: path.to_owned(),
        what,
    };
    let public = PublicKey::decode(&read(key, "public key")?).map_err(|_| form(key, "public key"))?;
    let path = path(report);
    let signature = match read(&path, "signature") {
        Err(SignatureError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Err(SignatureError::Unsigned {
                report: report.to_owned(),
                signature: path,
            });
        }
        text => Signature::decode(&text?).map_err(|_| form(&path, "signature"))?,
    };
    Ok(match public.verify(content, &signature, false) {
        Ok(()) => Signed::Good(signature.trusted_comment().to_owned()),
        Err(VerifyError::UnexpectedKeyId) => Signed::OtherKey,
        Err(VerifyError::UnexpectedAlgorithm) => Signed::Legacy,
        Err(_) => Signed::Different,
    })
}

fn read(path: &Path, what: &'static str) -> Result<String, SignatureError> {
    let bytes = files::read(path).map_err(|source| SignatureError::Read {
        path: path.to_owned(),
        source,
    })?;
    String::from_utf8(bytes).map_err(|_| SignatureError::Form {
        path: path.to_owned(),
        what,
    })
}
