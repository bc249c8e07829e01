//! `harness/install.sh` installs a checked release, and leaves an installed program alone when it cannot.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::{fs, path::Path, process::Output};

use tempfile::TempDir;
use tokio::process::Command;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::path};

const NAME: &str = "baton-9.8.7-x86_64-unknown-linux-musl";

/// The archive of a release whose programs print `text`, and its `SHA256SUMS`.
async fn release(text: &str) -> (Vec<u8>, String) {
    let folder = tempfile::tempdir().unwrap();
    let programs = folder.path().join(NAME);
    fs::create_dir(&programs).unwrap();
    for program in ["baton", "baton-controller"] {
        fs::write(programs.join(program), format!("#!/bin/sh\necho {program} {text}\n")).unwrap();
    }
    let archive = format!("{NAME}.tar.gz");
    run(Command::new("tar").args(["-czf", &archive, NAME]).current_dir(&folder)).await;
    let sums = run(Command::new("sha256sum").arg(&archive).current_dir(&folder)).await;
    let archive = fs::read(folder.path().join(archive)).unwrap();
    (archive, String::from_utf8(sums.stdout).unwrap())
}

async fn run(command: &mut Command) -> Output {
    let output = command.output().await.unwrap();
    assert!(output.status.success(), "{output:?}");
    output
}

async fn serve(server: &MockServer, file: &str, content: Vec<u8>) {
    Mock::given(path(format!("/releases/v9.8.7/{file}")))
        .respond_with(ResponseTemplate::new(200).set_body_bytes(content))
        .mount(server)
        .await;
}

async fn install(server: &MockServer, bin: &Path) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../install.sh");
    Command::new(script)
        .arg("v9.8.7")
        .env("BATON_DOWNLOADS", format!("{}/releases", server.uri()))
        .env("BATON_BIN", bin)
        .env_remove("http_proxy")
        .output()
        .await
        .unwrap()
}

/// Output of the installed `baton`.
async fn printed(bin: &TempDir) -> String {
    let output = run(&mut Command::new(bin.path().join("baton"))).await;
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn a_released_program_is_installed() {
    let server = MockServer::start().await;
    let (archive, sums) = release("new").await;
    serve(&server, &format!("{NAME}.tar.gz"), archive).await;
    serve(&server, "SHA256SUMS", sums.into_bytes()).await;
    let bin = tempfile::tempdir().unwrap();

    let output = install(&server, bin.path()).await;

    assert!(output.status.success(), "{output:?}");
    assert_eq!(printed(&bin).await, "baton new\n");
    assert!(bin.path().join("baton-controller").is_file());
}

#[tokio::test]
async fn an_archive_with_another_checksum_is_refused() {
    let server = MockServer::start().await;
    let (_, sums) = release("published").await;
    let (archive, _) = release("forged").await;
    serve(&server, &format!("{NAME}.tar.gz"), archive).await;
    serve(&server, "SHA256SUMS", sums.into_bytes()).await;
    let bin = tempfile::tempdir().unwrap();
    fs::write(bin.path().join("baton"), "installed before").unwrap();

    let output = install(&server, bin.path()).await;

    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("differs from its checksum"), "{message}");
    let installed = fs::read_to_string(bin.path().join("baton")).unwrap();
    assert_eq!(installed, "installed before");
}

#[tokio::test]
async fn a_release_that_does_not_exist_is_named_with_the_remedy() {
    let server = MockServer::start().await;
    let bin = tempfile::tempdir().unwrap();

    let output = install(&server, bin.path()).await;

    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(
        message.contains(&format!("/v9.8.7/{NAME}.tar.gz could not be downloaded")),
        "{message}"
    );
    assert!(message.contains("cargo install"), "{message}");
}
