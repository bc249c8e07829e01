//! `baton case`: new case files.

use crate::terminal::outln;
use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use thiserror::Error;

use super::{Exit, bad_input, with_suite};
use crate::{args, files::Roots, load::Suite, output::quoted};

/// Content of a new case file: a case that conforms, with comments.
const SKELETON: &str = include_str!("case.yaml");

/// Placeholder for the case's name in it.
const NAME: &str = "NAME";

#[derive(Debug, Error)]
enum NewCaseError {
    #[error("`{0}` is not of the form AREA/NAME")]
    Name(String),
    #[error("the case `{name}` already exists")]
    Taken { name: String },
    #[error("{} already exists", .0.display())]
    Exists(PathBuf),
    #[error("{} cannot be written", file.display())]
    Io { file: PathBuf, source: io::Error },
}

impl NewCaseError {
    fn help(&self) -> &'static str {
        match self {
            Self::Name(_) => {
                "pass a folder below cases/ and a name in lower-case letters, digits and dashes, such as recovery/my-case"
            }
            Self::Taken { .. } => {
                "choose another name, since it identifies the case in reports and snapshots; `baton list` shows all names"
            }
            Self::Exists(_) => "choose another name; existing files are not overwritten",
            Self::Io { .. } => "pass a folder that can be written to with --root",
        }
    }
}

/// The schema that the first line of a new case names.
const SCHEMA: &str = "fixtures/schemas/case.json";

/// Runs a command on case files.
pub(super) fn case(roots: &Roots, asked: &args::Case) -> Exit {
    let args::Case::New { name } = asked;
    with_suite(Suite::load(roots), |suite| match new(roots, &suite, name) {
        Ok(file) => {
            let file = quoted(&file);
            outln!("{file}\ncheck it with `baton lint {file}`, run it with `baton run {file}`");
            let schema = roots.path(SCHEMA);
            if !schema.exists() {
                let mkdir = schema.parent().filter(|folder| !folder.exists());
                let mkdir = mkdir.map(|folder| format!("mkdir -p {} && ", quoted(folder)));
                outln!(
                    "editors complete it by its schema: `{}baton schema case > {}`",
                    mkdir.unwrap_or_default(),
                    quoted(&schema)
                );
            }
            Exit::Conforms
        }
        Err(error) => bad_input(&error, error.help()),
    })
}

fn new(roots: &Roots, suite: &Suite, wanted: &str) -> Result<PathBuf, NewCaseError> {
    let (area, name) = wanted
        .split_once('/')
        .filter(|(area, name)| is_name(area) && is_name(name))
        .ok_or_else(|| NewCaseError::Name(wanted.to_owned()))?;
    let folder = roots.path("cases").join(area);
    let file = folder.join(format!("{name}.yaml"));
    if file.exists() {
        return Err(NewCaseError::Exists(file));
    }
    if suite.cases.iter().any(|case| case.id.as_str() == name) {
        return Err(NewCaseError::Taken { name: name.to_owned() });
    }
    write(&folder, &file, &SKELETON.replacen(NAME, name, 1)).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => NewCaseError::Exists(file.clone()),
        _ => NewCaseError::Io {
            file: file.clone(),
            source,
        },
    })?;
    Ok(file)
}

/// Returns `true` for small letters, digits and dashes: the name becomes a file name.
fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.chars().all(fits)
}

fn write(folder: &Path, file: &Path, text: &str) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::File::create_new(file)?.write_all(text.as_bytes())
}
