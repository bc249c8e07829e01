//! Compiles the crate again when a file of the suite is added or removed (cargo notices those that change), and computes
//! the digest of the files, so that a program can print the suite that it carries.

use std::{error::Error, fmt::Write as _, fs};

use sha2::{Digest as _, Sha256};
use walkdir::WalkDir;

const ROOT: &str = "../..";

fn main() -> Result<(), Box<dyn Error>> {
    let mut digest = Sha256::new();
    for folder in ["cases", "fixtures", "kind-config", "snapshots"] {
        println!("cargo::rerun-if-changed={ROOT}/{folder}");
    }
    // What decides a verdict: what cases say and apply, and what they are compared with.
    for folder in [
        "cases",
        "fixtures/flink",
        "fixtures/scenarios",
        "fixtures/workloads",
        "snapshots",
    ] {
        for entry in WalkDir::new(format!("{ROOT}/{folder}")).sort_by_file_name() {
            let entry = entry?;
            if entry.file_type().is_file() {
                let content = fs::read(entry.path())?;
                let name = entry.path().strip_prefix(ROOT)?.display().to_string();
                digest.update(format!("{name} {}\n", content.len()));
                digest.update(content);
            }
        }
    }
    let mut digits = String::new();
    for byte in digest.finalize() {
        write!(digits, "{byte:02x}")?;
    }
    println!("cargo::rustc-env=BATON_SUITE_DIGEST={digits}");
    Ok(())
}
