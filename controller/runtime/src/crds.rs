//! Writes the `CustomResourceDefinition`s as YAML, one file each.

use std::io;
use std::path::Path;

/// Error while writing the definitions.
#[derive(Debug, thiserror::Error)]
pub enum CrdsError {
    /// A definition could not be written as YAML.
    #[error("cannot write a definition as YAML")]
    Yaml(#[from] serde_yaml::Error),
    /// A file could not be written.
    #[error("cannot write {path}")]
    Io {
        /// Path of the file or folder.
        path: String,
        /// Cause of the error.
        source: io::Error,
    },
}

/// Returns file names and contents: `<plural>.<group>.yaml`.
pub fn files() -> Result<Vec<(String, String)>, CrdsError> {
    let file = |crd: k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition| {
        let name = crd.metadata.name.clone().unwrap_or_default();
        Ok((format!("{name}.yaml"), serde_yaml::to_string(&crd)?))
    };
    baton_decide::api::crds::all().into_iter().map(file).collect()
}

/// Writes the files into a folder, which is created if missing.
pub fn write(folder: &Path) -> Result<(), CrdsError> {
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |source| CrdsError::Io { path, source }
    };
    std::fs::create_dir_all(folder).map_err(failed(folder))?;
    for (name, contents) in files()? {
        let path = folder.join(name);
        std::fs::write(&path, contents).map_err(failed(&path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Folder of the stored definitions.
    const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/crds");

    #[test]
    fn the_stored_definitions_are_those_of_the_types() {
        let regenerate = "regenerate it with: cargo run -p baton-controller -- crds fixtures/crds";
        let files = files().unwrap();
        for (name, contents) in &files {
            let stored = std::fs::read_to_string(Path::new(FOLDER).join(name)).unwrap_or_default();
            assert!(
                stored == *contents,
                "fixtures/crds/{name} has drifted from the types; {regenerate}"
            );
        }
        let stored = std::fs::read_dir(FOLDER).unwrap().count();
        assert_eq!(stored, files.len(), "fixtures/crds has files that no type stands for");
    }
}
