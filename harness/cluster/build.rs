//! Takes the fixtures that the harness needs at run time into the binary, so that a new file needs no other change.

use std::{env, error::Error, ffi::OsStr, fmt::Write as _, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let fixtures = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../fixtures");
    let mut code = String::new();
    for (constant, folder) in [("SIMULATOR", "simulator"), ("CRDS", "crds")] {
        let folder = fixtures.join(folder);
        println!("cargo::rerun-if-changed={}", folder.display());
        let mut files = Vec::new();
        if folder.is_dir() {
            for entry in fs::read_dir(&folder)? {
                files.push(entry?.path());
            }
        }
        files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
        files.sort();
        writeln!(code, "/// Files of `fixtures`: name and text, by name.")?;
        writeln!(code, "pub(crate) const {constant}: &[(&str, &str)] = &[")?;
        for file in files {
            println!("cargo::rerun-if-changed={}", file.display());
            let path = file.canonicalize()?;
            let name = file.file_name().and_then(OsStr::to_str).ok_or("a name is no UTF-8")?;
            let path = path.to_str().ok_or("a path is no UTF-8")?;
            writeln!(code, "    ({name:?}, include_str!({path:?})),")?;
        }
        writeln!(code, "];")?;
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("bundled.rs"), code)?;
    Ok(())
}
