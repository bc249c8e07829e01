//! Checks of a kubeconfig: a client can reach its servers, and its files end.

use std::{fs, path::Path};

use http::Uri;
use kube::config::Kubeconfig;
use serde_json::Value;

use super::AccessError;

/// A kubeconfig, a certificate, a key or a token may have so many bytes.
pub(super) const MOST: u64 = 16 << 20;

/// The members of users and clusters that name files.
const FILES: [&str; 4] = [
    "/clusters/0/cluster/certificate-authority",
    "/users/0/user/client-certificate",
    "/users/0/user/client-key",
    "/users/0/user/tokenFile",
];

/// Checks the only context of a kubeconfig.
pub(super) fn check(kubeconfig: &Kubeconfig, context: &str, file: &str) -> Result<(), AccessError> {
    let value = serde_json::to_value(kubeconfig).unwrap_or_default();
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
    if let Some(reason) = text("/clusters/0/cluster/server").and_then(wrong_server) {
        return Err(AccessError::Server {
            file: file.to_owned(),
            context: context.to_owned(),
            reason,
        });
    }
    FILES
        .iter()
        .filter_map(|pointer| text(pointer))
        .try_for_each(|file| regular(Path::new(file)))
}

/// Explains what is wrong with the address of a server. It is not repeated, because it may hold a password.
fn wrong_server(server: &str) -> Option<&'static str> {
    // The client reports other text as an error.
    let uri: Uri = server.parse().ok()?;
    if uri.authority().is_some_and(|it| it.as_str().contains('@')) {
        return Some("has a user or a password in its address; write them below `users`");
    }
    match (uri.scheme_str(), uri.host()) {
        (Some("https" | "http"), Some(_)) => None,
        (_, _) => Some("has an address without a scheme; write https://HOST:PORT"),
    }
}

/// Refuses a file that would never end, such as a pipe or a device. A missing file is an error of its reader.
pub(super) fn regular(file: &Path) -> Result<(), AccessError> {
    match fs::metadata(file) {
        Ok(it) if !(it.is_file() || it.is_dir()) || it.len() > MOST => Err(AccessError::Unbounded {
            file: file.display().to_string(),
        }),
        Ok(_) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_needs_a_scheme_and_keeps_no_password() {
        for (server, wrong) in [
            ("https://10.0.0.1:6443", false),
            ("http://localhost:8080/path", false),
            ("https://[::1]:6443", false),
            ("127.0.0.1:6443", true),
            ("localhost", true),
            ("/path", true),
            ("ftp://10.0.0.1", true),
            ("https://user:hunter2@10.0.0.1", true),
            ("https://token@10.0.0.1", true),
        ] {
            let told = wrong_server(server);
            assert_eq!(told.is_some(), wrong, "{server}");
            assert!(!told.unwrap_or_default().contains("hunter2"));
        }
    }

    #[test]
    fn pipes_and_devices_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let file = folder.path().join("file");
        fs::write(&file, "x").unwrap();
        for (path, refused) in [
            (pipe.as_path(), true),
            (Path::new("/dev/zero"), true),
            (file.as_path(), false),
            (Path::new("/none"), false),
        ] {
            assert_eq!(regular(path).is_err(), refused, "{}", path.display());
        }
    }
}
