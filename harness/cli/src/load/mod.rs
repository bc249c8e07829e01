//! Reads the suite's files into checked cases.

mod duplicates;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use baton_cluster::{
    admission::{AdmissionRules, RulesError},
    error_chain::error_chain,
    simulator::Rules,
};
use baton_core::{
    case::{
        model::Case,
        read as case_file,
        refs::{CheckError, FixtureError, Objects, ReadContext},
    },
    catalogue::Catalogue,
    implementation::{self, TargetSpec},
    names::CaseId,
    spelling::suggestion,
    yaml::Diagnostic,
};
use baton_jsonpath::Template;
use serde_json::Value;
use thiserror::Error;

use self::duplicates::{distinct, name_in, name_is_taken};
use crate::{
    files::{self, Roots},
    select,
    show::count,
};

/// Checked cases and the requirements that they cite.
#[derive(Debug, Clone)]
pub struct Suite {
    /// The cases, by area and name.
    pub cases: Vec<Case>,
    /// The requirements.
    pub catalogue: Catalogue,
    /// Errors in files whose cases are left out.
    pub broken: Vec<Diagnostic>,
    /// Rules of the workload simulator if the user has some, or the errors in them; `None` for those of the program.
    pub rules: Result<Option<Arc<Rules>>, Vec<Diagnostic>>,
}

/// Error when the suite cannot be read.
#[derive(Debug, Error)]
pub enum LoadError {
    /// A folder or file does not exist or cannot be read.
    #[error("cannot read {}", path.display())]
    Io {
        /// Path of the folder or file.
        path: PathBuf,
        /// Error from the system.
        source: io::Error,
    },
    /// The catalogue of requirements is invalid.
    #[error("cases/requirements.yaml is invalid")]
    Catalogue(#[from] baton_core::catalogue::CatalogueError),
    /// Cases are invalid; all errors in all files.
    #[error("{} in the cases", count(.0.len(), "error"))]
    Cases(Vec<Diagnostic>),
    /// A target file does not exist or cannot be read.
    #[error("cannot read the target file {}", path.display())]
    NoTarget {
        /// Path of the target file.
        path: PathBuf,
        /// Error from the system.
        source: io::Error,
    },
    /// A target file is invalid; all errors in it.
    #[error("{} in the target", count(.0.len(), "error"))]
    Target(Vec<Diagnostic>),
    /// Neither a case nor a file has this name.
    #[error("no case, area or file is called `{name}`")]
    NoSuchCase {
        /// Name that was given.
        name: String,
        /// Names that exist.
        help: String,
    },
}

/// Errors in a file of admission rules.
#[derive(Debug, Error)]
#[error("{}", .0.iter().map(|error| error_chain(error)).collect::<Vec<_>>().join("; "))]
struct InvalidRules(Vec<RulesError>);

/// Calls a function with the context for reading cases.
fn with_context<T>(roots: &Roots, catalogue: &Catalogue, read: impl FnOnce(&ReadContext<'_>) -> T) -> T {
    let fixtures = fixtures_of(roots);
    let fixture = |name: &str| fixture(roots, name);
    let check_path = |path: &str| Template::parse(path).map(|_| ()).map_err(CheckError::from);
    let check_admission = |file: &str, text: &str| {
        let rules = AdmissionRules::parse(file, text).map_err(InvalidRules);
        rules.map(|_| ()).map_err(CheckError::from)
    };
    read(&ReadContext {
        catalogue,
        fixture: &fixture,
        fixtures: &fixtures,
        check_path: &check_path,
        check_admission: &check_admission,
        objects: Objects::default(),
    })
}

/// Reads the catalogue of a suite.
///
/// If it cannot be read or is invalid.
pub fn catalogue(roots: &Roots) -> Result<Catalogue, LoadError> {
    Ok(Catalogue::parse(&String::from_utf8_lossy(&read(
        roots,
        files::CATALOGUE,
    )?))?)
}

/// Returns the cases in files, and the errors in these files.
fn read_files(
    roots: &Roots,
    files: &[PathBuf],
    context: &ReadContext<'_>,
) -> Result<(Vec<Case>, Vec<Diagnostic>), LoadError> {
    let mut cases = Vec::new();
    let mut broken = Vec::new();
    for file in files {
        let name = roots.name_of(file);
        let text = match &name {
            Some(name) if name == files::CATALOGUE => continue,
            Some(name) => read(roots, name)?,
            None => files::read(file).map_err(|source| not_read(file, source))?,
        };
        match case_file::read(file, area(name.as_deref()), &text, context) {
            Ok(found) => cases.extend(found),
            // A mistake in a list of scenarios is reported once, not for each file that uses the list.
            Err(found) => {
                let new: Vec<_> = found.into_iter().filter(|it| !broken.contains(it)).collect();
                broken.extend(new);
            }
        }
    }
    Ok((cases, broken))
}

impl Suite {
    /// Reads all cases below `cases/`. Errors in some files do not keep the others from being read.
    ///
    /// If files cannot be read, or the catalogue is invalid.
    pub fn load(roots: &Roots) -> Result<Self, LoadError> {
        let names = roots
            .yaml_below("cases")
            .map_err(|source| not_read(&roots.path("cases"), source))?;
        let files = names.iter().map(|name| roots.path(name)).collect::<Vec<_>>();
        Self::load_files(roots, &files)
    }

    /// Reads these files.
    ///
    /// If files cannot be read, or the catalogue is invalid.
    pub fn load_files(roots: &Roots, files: &[PathBuf]) -> Result<Self, LoadError> {
        let catalogue = catalogue(roots)?;
        let (cases, mut broken) = with_context(roots, &catalogue, |context| read_files(roots, files, context))?;
        let (cases, duplicates) = distinct(cases);
        broken.extend(duplicates);
        Ok(Self {
            cases,
            catalogue,
            broken,
            rules: rules(roots)?,
        })
    }

    /// Reads the cases in a text as if it were the content of this file.
    ///
    /// All errors in the text.
    pub(crate) fn read_text(&self, roots: &Roots, file: &Path, text: &str) -> Result<Vec<Case>, Vec<Diagnostic>> {
        with_context(roots, &self.catalogue, |context| {
            case_file::read(file, "", text.as_bytes(), context)
        })
    }

    /// Returns the file of a case as a value, with the parameters of its scenario filled in.
    ///
    /// # Errors
    /// If the file cannot be read, or is no longer valid.
    pub(crate) fn expanded(&self, roots: &Roots, case: &Case) -> Result<Option<Value>, LoadError> {
        let text = match roots.name_of(&case.file) {
            Some(name) => read(roots, &name)?,
            None => files::read(&case.file).map_err(|source| not_read(&case.file, source))?,
        };
        let files = with_context(roots, &self.catalogue, |context| {
            case_file::expanded(&case.file, &text, context)
        });
        let files = files.map_err(LoadError::Cases)?;
        Ok(files.into_iter().find(|(id, _)| *id == case.id).map(|(_, root)| root))
    }

    /// Reads the selected cases: by name, by area, by the name of their file without extension, by file, or by folder; all
    /// cases if `wanted` is empty. The first of these that has the name counts. Reports errors in these files only, and names
    /// that a case of the whole suite has too.
    ///
    /// If files cannot be read, or there is no such case.
    pub fn select(roots: &Roots, wanted: &[String]) -> Result<Self, LoadError> {
        Self::load(roots)?.chosen(roots, wanted)
    }

    /// Removes cases of this suite's folder that have the name of another case there. A file elsewhere may be a copy of a case,
    /// to be tried: see [`overridden`](Self::overridden).
    fn without_taken_names(mut self, roots: &Roots, suite: &[Case]) -> Self {
        let is_of_suite = |case: &Case| roots.name_of(&case.file).is_some_and(|name| name.starts_with("cases/"));
        let taken = |case: &Case| in_another_file(case, suite).filter(|_| is_of_suite(case));
        let told: Vec<_> = self
            .cases
            .iter()
            .filter_map(|case| Some(name_is_taken(case, taken(case)?)))
            .collect();
        self.cases.retain(|case| taken(case).is_none());
        self.broken.extend(told);
        self
    }

    /// Returns the files of this suite whose cases are not used, because a case in another file has the same name.
    pub(crate) fn overridden(&self, roots: &Roots, by: &[Case]) -> BTreeSet<String> {
        let others = by.iter().filter_map(|case| in_another_file(case, &self.cases));
        let name = |other: &Case| {
            roots
                .name_of(&other.file)
                .unwrap_or_else(|| other.file.display().to_string())
        };
        others.map(name).collect()
    }

    /// Selects cases as [`Suite::select`] does, from a suite that has been read as a whole.
    ///
    /// # Errors
    /// If files cannot be read, or there is no such case.
    pub fn chosen(&self, roots: &Roots, wanted: &[String]) -> Result<Self, LoadError> {
        if wanted.is_empty() {
            return Ok(self.clone());
        }
        let Asked { files, names } = Asked::of(wanted)?;
        let mut chosen = Self::load_files(roots, &files)?.without_taken_names(roots, &self.cases);
        let selects = |name: &str, case: &Case| select::is_area_or_glob(name, case);
        let in_area = |file: &Path, area: &str| {
            let folder = file.parent().and_then(Path::file_name);
            folder.is_some_and(|folder| folder == area)
        };
        let is_group = |name: &str| {
            let of_area = |it: &Diagnostic| in_area(&it.file, name);
            !self.is_case(name)
                && (self.cases.iter().any(|case| selects(name, case)) || self.broken.iter().any(of_area))
        };
        let (groups, names): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| is_group(name));
        if let Some(name) = names.iter().find(|name| !self.knows(name)) {
            return Err(self.no_such_case(name));
        }
        // If a case and a file have the same name, the name selects the case alone.
        let (cases, stems): (Vec<&str>, Vec<&str>) = names.iter().partition(|name| self.is_case(name));
        let by_name =
            |file: &Path, id: &CaseId| stems.iter().any(|name| is_stem(file, name)) || cases.contains(&id.as_str());
        let by_group = |case: &Case| groups.iter().any(|name| selects(name, case));
        let of_suite = self
            .cases
            .iter()
            .filter(|case| by_name(&case.file, &case.id) || by_group(case));
        let of_suite: Vec<Case> = of_suite.cloned().collect();
        // A case that is selected twice runs once.
        chosen.cases.retain(|case| {
            let again = |it: &Case| it.id == case.id && same(&it.file, &case.file);
            !of_suite.iter().any(again)
        });
        chosen.cases.splice(..0, of_suite);
        // A pattern may match a case in a file that could not be read.
        let may_have =
            |file: &Path, group: &str| in_area(file, group) || self.cases.iter().all(|case| case.area != group);
        let is_asked = |it: &&Diagnostic| {
            names.iter().any(|name| has_name(&it.file, name)) || groups.iter().any(|group| may_have(&it.file, group))
        };
        let broken = self.broken.iter().filter(is_asked);
        chosen.broken.splice(..0, broken.cloned());
        if !names.is_empty() || !groups.is_empty() {
            let (cases, duplicates) = distinct(std::mem::take(&mut chosen.cases));
            chosen.cases = cases;
            chosen.broken.extend(duplicates);
        }
        Ok(chosen)
    }

    /// Returns the suite if no file has errors.
    ///
    /// All errors.
    pub fn whole(self) -> Result<Self, LoadError> {
        if self.broken.is_empty() {
            Ok(self)
        } else {
            Err(LoadError::Cases(self.broken))
        }
    }

    fn is_case(&self, name: &str) -> bool {
        self.cases.iter().any(|case| case.id.as_str() == name)
    }

    /// Returns `true` if a case or a file has this name.
    fn knows(&self, name: &str) -> bool {
        let mut files = self.cases.iter().map(|case| &case.file);
        self.is_case(name)
            || files.any(|file| is_stem(file, name))
            || self.broken.iter().any(|it| has_name(&it.file, name))
    }

    fn no_such_case(&self, name: &str) -> LoadError {
        let areas = self.cases.iter().map(|case| case.area.as_str());
        let known: Vec<_> = self.cases.iter().map(|case| case.id.as_str()).chain(areas).collect();
        LoadError::NoSuchCase {
            name: name.to_owned(),
            help: suggestion(name, known),
        }
    }
}

/// Returns the case of a suite that has the name of this one, and is in another file.
fn in_another_file<'a>(case: &Case, suite: &'a [Case]) -> Option<&'a Case> {
    let has_name = |other: &&Case| other.id == case.id && !same(&other.file, &case.file);
    suite.iter().find(has_name)
}

/// Arguments that select cases.
struct Asked<'a> {
    /// Files, also those in folders.
    files: Vec<PathBuf>,
    /// Other arguments: names of cases, or of files of the suite.
    names: Vec<&'a str>,
}

impl<'a> Asked<'a> {
    fn of(wanted: &'a [String]) -> Result<Self, LoadError> {
        let mut files = Vec::new();
        let mut names = Vec::new();
        for it in wanted {
            let path = Path::new(it);
            if path.is_dir() {
                files.extend(files::yaml_files(path).map_err(|source| not_read(path, source))?);
            } else if path.is_file() {
                files.push(path.to_owned());
            } else {
                names.push(it.as_str());
            }
        }
        Ok(Self { files, names })
    }
}

/// Folder with the rules of the workload simulator.
const RULES: &str = "fixtures/simulator";

/// Reads the rules of the simulator, those in the program with the user's laid over them; `None` if the user has none.
fn rules(roots: &Roots) -> Result<Result<Option<Arc<Rules>>, Vec<Diagnostic>>, LoadError> {
    let bundled = baton_suite::paths().filter(|name| Path::new(name).starts_with(RULES));
    let bundled = bundled.filter_map(|name| Some((name.clone(), baton_suite::read(&name)?.to_vec())));
    let bundled: BTreeMap<String, Vec<u8>> = bundled.collect();
    let mut files = bundled.clone();
    for name in roots
        .own_yaml_below(RULES)
        .map_err(|source| not_read(&roots.path(RULES), source))?
    {
        let text = read(roots, &name)?;
        files.insert(name, text);
    }
    if files == bundled {
        return Ok(Ok(None));
    }
    let files: Vec<_> = files.iter().map(|(name, text)| (roots.path(name), text)).collect();
    let parsed = Rules::parse(files.iter().map(|(path, text)| (path.as_path(), text.as_slice())));
    Ok(parsed.map(|rules| Some(Arc::new(rules))))
}

/// Reads a target file, or one of the suite, such as `fixtures/targets/karmada.yaml`. `suite` is the whole suite.
///
/// If it cannot be read; all errors in it.
pub fn target(roots: &Roots, file: &Path, suite: &Suite) -> Result<TargetSpec, LoadError> {
    let cases = suite.cases.iter().map(|case| case.id.clone()).collect();
    let context = implementation::read::ReadContext {
        catalogue: &suite.catalogue,
        cases: &cases,
        variable: &|name| std::env::var(name).ok(),
    };
    let text = files::read(file).or_else(|error| match (error.kind(), file.to_str()) {
        (io::ErrorKind::NotFound, Some(name)) => roots.read(name),
        _ => Err(error),
    });
    let text = text.map_err(|source| LoadError::NoTarget {
        path: file.to_owned(),
        source,
    })?;
    implementation::read::read(file, &text, &context).map_err(LoadError::Target)
}

/// Returns the folder below `cases/` of a file of the suite; `local` for other files.
fn area(name: Option<&str>) -> &str {
    let below = name.and_then(|name| name.strip_prefix("cases/"));
    below
        .and_then(|below| below.rsplit_once('/'))
        .map_or("local", |(area, _)| area)
}

/// Returns `true` if a file with errors, or the case in it, has this name.
fn has_name(file: &Path, name: &str) -> bool {
    is_stem(file, name) || name_in(file).is_some_and(|node| node.value() == name)
}

fn is_stem(file: &Path, name: &str) -> bool {
    file.file_stem().is_some_and(|stem| stem == name)
}

fn same(one: &Path, other: &Path) -> bool {
    one == other
        || one
            .canonicalize()
            .ok()
            .is_some_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

fn fixture(roots: &Roots, name: &str) -> Result<String, FixtureError> {
    let plain = Path::new(name)
        .components()
        .all(|part| matches!(part, std::path::Component::Normal(_)));
    if !plain {
        return Err(FixtureError::Outside);
    }
    let text = roots
        .read(&format!("fixtures/{name}"))
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => match above(roots, name) {
                Some(folder) => FixtureError::Above(folder),
                None => FixtureError::Missing,
            },
            _ => FixtureError::Read(error),
        })?;
    Ok(String::from_utf8(text)?)
}

/// Returns the nearest folder above the suite's which has this fixture: the user may be in a folder of cases.
fn above(roots: &Roots, name: &str) -> Option<PathBuf> {
    const LEVELS: usize = 5;
    let folder = roots.folder().canonicalize().ok()?;
    let above = folder.ancestors().skip(1).take(LEVELS);
    let mut with_it = above.filter(|above| above.join("fixtures").join(name).is_file());
    with_it.next().map(Path::to_owned)
}

/// Returns the names of all YAML files below `fixtures/`. Without such a folder it is empty, so that every use of a
/// fixture is explained.
fn fixtures_of(roots: &Roots) -> Vec<String> {
    let names = roots.yaml_below("fixtures").unwrap_or_default();
    names
        .iter()
        .filter_map(|name| name.strip_prefix("fixtures/"))
        .map(str::to_owned)
        .collect()
}

fn read(roots: &Roots, name: &str) -> Result<Vec<u8>, LoadError> {
    roots.read(name).map_err(|source| not_read(&roots.path(name), source))
}

fn not_read(path: &Path, source: io::Error) -> LoadError {
    LoadError::Io {
        path: path.to_owned(),
        source,
    }
}
