//! From the repository's files to checked cases.

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use baton_cluster::{admission::AdmissionRules, error_chain::error_chain, simulator::RulesError};
use baton_core::{
    case::{model::Case, read, refs::ReadContext},
    catalogue::Catalogue,
    implementation::{self, TargetSpec},
    spelling::suggestion,
    yaml::{self, Diagnostic},
};
use baton_jsonpath::Template;
use thiserror::Error;

use crate::show::count;

/// Where the repository's folders are.
#[derive(Debug, Clone)]
pub struct Roots {
    /// The cases, and the catalogue of requirements.
    pub cases: PathBuf,
    /// The files that cases apply.
    pub fixtures: PathBuf,
    /// The files that snapshots are compared with.
    pub snapshots: PathBuf,
    /// How kind clusters are configured.
    pub kind_config: PathBuf,
}

impl Roots {
    /// The folders of a repository.
    pub fn of(root: &Path) -> Self {
        Self {
            cases: root.join("cases"),
            fixtures: root.join("fixtures"),
            snapshots: root.join("snapshots"),
            kind_config: root.join("kind-config"),
        }
    }
}

/// Checked cases, and the requirements they cite.
#[derive(Debug)]
pub struct Suite {
    /// The cases, by area and name.
    pub cases: Vec<Case>,
    /// The requirements.
    pub catalogue: Catalogue,
}

/// Why there is no suite.
#[derive(Debug, Error)]
pub enum LoadError {
    /// A folder or file is not there, or cannot be read.
    #[error("cannot read {}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The catalogue of requirements is wrong.
    #[error("cases/requirements.yaml is invalid")]
    Catalogue(#[from] baton_core::catalogue::CatalogueError),
    /// Cases are wrong: everything that is, in all files.
    #[error("{} in the cases", count(.0.len(), "error"))]
    Cases(Vec<Diagnostic>),
    /// A target file is not there, or cannot be read.
    #[error("cannot read the target file {}", path.display())]
    NoTarget {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A target file is wrong: everything that is.
    #[error("{} in the target", count(.0.len(), "error"))]
    Target(Vec<Diagnostic>),
    /// No case has this name, and no file is there under it.
    #[error("no case and no file is called `{name}`")]
    NoSuchCase {
        /// What was asked for.
        name: String,
        /// What to write instead.
        help: String,
    },
}

impl Suite {
    /// Reads all cases below `cases/`.
    pub fn load(roots: &Roots) -> Result<Self, LoadError> {
        let files = files_below(&roots.cases, &is_case)?;
        Self::load_files(roots, &files)
    }

    /// Reads these files.
    pub fn load_files(roots: &Roots, files: &[PathBuf]) -> Result<Self, LoadError> {
        let catalogue_file = roots.cases.join("requirements.yaml");
        let catalogue = Catalogue::parse(&String::from_utf8_lossy(&read_suite_file(&catalogue_file)?))?;
        let fixtures = fixtures_of(&roots.fixtures);
        let fixture = |name: &str| fixture(&roots.fixtures, name);
        let check_path = |path: &str| Template::parse(path).map(|_| ()).map_err(|error| error.to_string());
        let check_admission = |file: &str, text: &str| {
            let told = |wrong: Vec<RulesError>| wrong.iter().map(|it| error_chain(it)).collect::<Vec<_>>().join("; ");
            AdmissionRules::parse(file, text).map(|_| ()).map_err(told)
        };
        let context = ReadContext {
            catalogue: &catalogue,
            fixture: &fixture,
            fixtures: &fixtures,
            check_path: &check_path,
            check_admission: &check_admission,
        };
        let mut cases = Vec::new();
        let mut wrong = Vec::new();
        for file in files {
            match read::read(file, &area(&roots.cases, file), &read_suite_file(file)?, &context) {
                Ok(found) => cases.extend(found),
                Err(found) => wrong.extend(found),
            }
        }
        wrong.extend(read::duplicates(&cases));
        if wrong.is_empty() {
            Ok(Self { cases, catalogue })
        } else {
            Err(LoadError::Cases(wrong))
        }
    }

    /// Reads the cases with these names, or in these files; all of them if there are none.
    pub fn select(roots: &Roots, wanted: &[String]) -> Result<Self, LoadError> {
        let (files, names): (Vec<_>, Vec<_>) = wanted.iter().partition(|it| Path::new(it).is_file());
        let files: Vec<PathBuf> = files.into_iter().map(PathBuf::from).collect();
        if !files.is_empty() && names.is_empty() {
            return Self::load_files(roots, &files);
        }
        let mut all = Self::load(roots)?;
        for name in &names {
            if !all.cases.iter().any(|case| case.id.as_str() == name.as_str()) {
                let known: Vec<_> = all.cases.iter().map(|case| case.id.as_str()).collect();
                let help = suggestion(name, known);
                return Err(LoadError::NoSuchCase {
                    name: (*name).clone(),
                    help,
                });
            }
        }
        if !names.is_empty() {
            all.cases
                .retain(|case| names.iter().any(|name| name.as_str() == case.id.as_str()));
        }
        if !files.is_empty() {
            all.cases.extend(Self::load_files(roots, &files)?.cases);
        }
        Ok(all)
    }
}

/// Reads a target file; the suite is all that there is.
///
/// # Errors
/// If it cannot be read, and all that is wrong with it.
pub fn target(file: &Path, suite: &Suite) -> Result<TargetSpec, LoadError> {
    let cases = suite.cases.iter().map(|case| case.id.clone()).collect();
    let context = implementation::read::ReadContext {
        catalogue: &suite.catalogue,
        cases: &cases,
    };
    let text = read_file(file).map_err(|source| LoadError::NoTarget {
        path: file.to_owned(),
        source,
    })?;
    implementation::read::read(file, &text, &context).map_err(LoadError::Target)
}

fn is_case(path: &Path) -> bool {
    let yaml = path
        .extension()
        .is_some_and(|extension| extension == "yaml" || extension == "yml");
    yaml && path.file_name().is_some_and(|name| name != "requirements.yaml")
}

/// The folder below `cases/` that a file is in; `local` for files from elsewhere.
fn area(cases: &Path, file: &Path) -> String {
    let folder = file.parent().and_then(|folder| {
        let (folder, cases) = (folder.canonicalize().ok()?, cases.canonicalize().ok()?);
        folder.strip_prefix(cases).ok().map(|below| below.display().to_string())
    });
    folder
        .filter(|folder| !folder.is_empty())
        .unwrap_or_else(|| "local".to_owned())
}

fn fixture(fixtures: &Path, name: &str) -> Result<String, String> {
    let plain = Path::new(name)
        .components()
        .all(|part| matches!(part, std::path::Component::Normal(_)));
    if !plain {
        return Err("expected a path below fixtures/".to_owned());
    }
    fs::read_to_string(fixtures.join(name)).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        _ => error.to_string(),
    })
}

/// The names of all YAML files below `fixtures/`; none if there is no such folder, then every use of one is explained.
fn fixtures_of(fixtures: &Path) -> Vec<String> {
    let files = files_below(fixtures, &|path| path.extension().is_some_and(|it| it == "yaml")).unwrap_or_default();
    files
        .iter()
        .filter_map(|file| file.strip_prefix(fixtures).ok())
        .map(|file| file.display().to_string())
        .collect()
}

fn files_below(folder: &Path, wanted: &dyn Fn(&Path) -> bool) -> Result<Vec<PathBuf>, LoadError> {
    let fail = |source| LoadError::Io {
        path: folder.to_owned(),
        source,
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if path.is_dir() {
            files.extend(files_below(&path, wanted)?);
        } else if wanted(&path) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn read_suite_file(path: &Path) -> Result<Vec<u8>, LoadError> {
    read_file(path).map_err(|source| LoadError::Io {
        path: path.to_owned(),
        source,
    })
}

/// Reads a file, or the beginning of one that is refused for its size anyway.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let enough = yaml::LARGEST_FILE as u64 + 1;
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(enough).read_to_end(&mut bytes)?;
    Ok(bytes)
}
