//! Keys, and signatures of reports, in the format of minisign.
//!
//! A report names the digest of each of its timelines, so the signature of its file binds these too. Whoever has minisign
//! can make keys and check signatures with it: `minisign -V -m report.yaml -p baton.pub`.

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

/// Why there is no key, or no signature.
#[derive(Debug, Error)]
pub enum SignatureError {
    /// A file is not there, or cannot be read.
    #[error("{} cannot be read", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("{} cannot be written", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A key of this name must not be lost.
    #[error("{} is there already", .0.display())]
    Exists(PathBuf),
    /// A file has something else.
    #[error("{} is no {what} in the format of minisign", path.display())]
    Form {
        /// Which.
        path: PathBuf,
        /// What it was taken for.
        what: &'static str,
    },
    /// A report has no signature.
    #[error("{} is not signed: there is no {}", report.display(), signature.display())]
    Unsigned {
        /// The report.
        report: PathBuf,
        /// Where its signature would be.
        signature: PathBuf,
    },
    /// A secret key does not open.
    #[error("the password is not that of {}", .0.display())]
    WrongPassword(PathBuf),
    /// A key that shall be protected, and is not.
    #[error("the password is empty")]
    EmptyPassword,
    /// A typing error, most likely.
    #[error("the two passwords differ")]
    Differ,
    /// Nobody can be asked.
    #[error("there is no terminal to ask for the password")]
    NoTerminal(#[source] io::Error),
    /// The library failed.
    #[error("the key cannot be used")]
    Key(#[from] PError),
}

impl SignatureError {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Unsigned { .. } => "`baton report sign` signs a report",
            Self::NoTerminal(_) => "--password-file takes it from a file",
            Self::EmptyPassword => "--no-password makes a key that whoever has the file can use",
            Self::Form { what: "secret key", .. } => "`baton report keygen` makes one",
            _ => "",
        }
    }
}

/// Where the password of a secret key comes from.
#[derive(Debug, Clone)]
pub enum Password {
    /// There is none.
    None,
    /// The first line of a file.
    File(PathBuf),
    /// Whoever sits at the terminal.
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

/// Makes a pair of keys: `NAME.key`, which only its owner can read, and `NAME.pub`.
///
/// # Errors
/// Also if one of them is there already.
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

/// Where the signature of a report is.
pub fn path(report: &Path) -> PathBuf {
    PathBuf::from(format!("{}{}", report.display(), minisign::SIG_SUFFIX))
}

/// Signs a report with a secret key, and writes the signature beside it.
///
/// # Errors
/// If the key is none, does not open, or the signature cannot be written.
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

/// What a signature says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signed {
    /// It is one of this content by this key; with the comment that was signed too.
    Good(String),
    /// It is by another key.
    OtherKey,
    /// It is one of something else, or was itself edited.
    Different,
    /// It is of a form that is not accepted any more.
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

/// Checks the signature beside a report.
///
/// # Errors
/// If there is none, or the key is none.
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
