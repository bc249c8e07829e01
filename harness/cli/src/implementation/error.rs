//! Errors in target files that show only when the target is about to run.

use std::{io, path::PathBuf};

use thiserror::Error;

/// Error when the target of a target file cannot be used here.
#[derive(Debug, Error)]
pub enum TargetFileError {
    /// The program of a command was not found.
    #[error("the command {command} of the target was not found")]
    NoCommand {
        /// Command as the file has it.
        command: String,
        /// Folders that were searched, and how to install the program.
        help: String,
    },
    /// An environment variable that the file refers to is not set.
    #[error("the environment variable {name} is not set, and the target file says {place}")]
    NoVariable {
        /// Name of the variable.
        name: String,
        /// Text in the file that refers to it.
        place: String,
        /// How to get the variable's content.
        help: String,
    },
    /// The file or folder for the definitions of the implementation does not have them.
    #[error("{} cannot serve as the target's definitions: {reason}", place.display())]
    Definitions {
        /// The file or folder.
        place: PathBuf,
        /// Reason.
        reason: String,
    },
    /// The file for webhook configurations does not have them.
    #[error("{} cannot serve as the target's webhook configurations: {reason}", file.display())]
    Webhooks {
        /// Path of the file.
        file: PathBuf,
        /// Reason.
        reason: String,
    },
    /// Certificates for programs that serve others cannot be created.
    #[error("cannot create certificates")]
    NoCertificates(#[source] io::Error),
    /// The target must be installed before a run, but embedded clusters start empty.
    #[error("the target is `installed`, but embedded clusters start empty")]
    NothingInstalled,
}

impl TargetFileError {
    /// Returns a remedy for the user.
    pub fn help(&self) -> &str {
        match self {
            Self::NoCommand { help, .. } | Self::NoVariable { help, .. } => help,
            Self::Definitions { .. } => {
                "`spec.controlPlane.definitions` names a folder with CustomResourceDefinitions in YAML"
            }
            Self::Webhooks { .. } => "`spec.controlPlane.webhooks` names files with webhook configurations in YAML",
            Self::NoCertificates(_) => "TMPDIR names the folder for temporary files",
            Self::NothingInstalled => "run against the clusters where it is installed, or start it with `exec`",
        }
    }

    /// Returns `true` if the environment caused the error, not the file.
    pub fn is_environment(&self) -> bool {
        matches!(self, Self::NoCertificates(_))
    }
}
