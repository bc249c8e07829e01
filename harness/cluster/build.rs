//! Embeds the fixtures that the harness needs at run time, so that adding a file needs no other change.

use std::{
    env,
    error::Error,
    ffi::OsStr,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;

fn main() -> Result<(), Box<dyn Error>> {
    let fixtures = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../fixtures");
    let mut code = String::new();
    writeln!(code, "/// Files of `fixtures/simulator`: name and text, by name.")?;
    writeln!(code, "pub(crate) const SIMULATOR: &[(&str, &str)] = &[")?;
    for file in files(&fixtures.join("simulator"))? {
        let name = file
            .file_name()
            .and_then(OsStr::to_str)
            .ok_or("a file name is not UTF-8")?;
        writeln!(code, "    ({name:?}, {:?}),", fs::read_to_string(&file)?)?;
    }
    writeln!(code, "];")?;
    // As JSON: parsing it is many times faster than YAML, and every fleet parses it when it boots.
    writeln!(code, "/// The objects in `fixtures/crds`, by file, as JSON.")?;
    writeln!(code, "pub(crate) const CRDS: &[&str] = &[")?;
    for file in files(&fixtures.join("crds"))? {
        let text = fs::read_to_string(&file)?;
        for document in serde_yaml::Deserializer::from_str(&text) {
            let object = serde_json::Value::deserialize(document)?;
            if !object.is_null() {
                writeln!(code, "    {:?},", object.to_string())?;
            }
        }
    }
    writeln!(code, "];")?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("bundled.rs"), code)?;
    Ok(())
}

/// Lists the YAML files in a folder by name; empty if the folder does not exist. Cargo watches them for changes.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    if folder.is_dir() {
        for entry in fs::read_dir(folder)? {
            files.push(entry?.path());
        }
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    Ok(files)
}
