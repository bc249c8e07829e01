//! No circle between modules with the same parent, at any depth of any crate of the workspace, no text as an error, and
//! one version of Kubernetes.
//!
//! A module depends on another if a path in its code, or in that of the modules below it, leads there: by `use`, in an
//! expression or type, or among the tokens of a macro. An item that a parent exports under its name counts as the module
//! that it comes from. A path from a module to its parent or back makes no circle. Tests are left out.
//!
//! A separate binary: it does not link the program, so it is built and run in seconds.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails here fails a test"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::{LineColumn, TokenStream, TokenTree};
use syn::{
    Attribute, Expr, GenericArgument, Item, Lit, Meta, PathArguments, Type, UseTree,
    visit::{self, Visit},
};

#[test]
fn no_crate_has_a_circle_of_modules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = String::new();
    for member in members(&root) {
        if let Some(circle) = Crate::read(&root.join(&member)).circle() {
            writeln!(found, "{member} has a circle:\n{circle}").unwrap();
        }
    }
    assert!(found.is_empty(), "{found}");
}

#[test]
fn a_circle_is_named_with_the_lines_that_close_it() {
    let this = read_files(&[
        ("lib.rs", "mod low;\nmod high;\nmod apart;\npub use high::High;\n"),
        (
            "low.rs",
            "mod inner;\n#[cfg(test)]\nmod tests { use crate::apart::Apart; }\n",
        ),
        (
            "low/inner.rs",
            "//! Deep.\nfn f() { log!(\"{}\", crate::High::new()); }\n",
        ),
        ("high.rs", "pub struct High;\nuse super::low as below;\n"),
        ("apart.rs", "use crate::{high::High, low};\n"),
    ]);
    assert_eq!(
        this.circle().as_deref(),
        Some("  high -> low at src/high.rs:2\n  low -> high at src/low/inner.rs:2\n")
    );
}

#[test]
fn files_below_a_module_make_circles_too() {
    let this = read_files(&[
        ("lib.rs", "mod all;\n"),
        (
            "all.rs",
            "mod one;\nmod two;\npub use one::One;\nuse two::Two;\npub struct All;\n",
        ),
        ("all/one.rs", "pub struct One;\nuse super::{All, two::Two};\n"),
        ("all/two.rs", "pub struct Two;\nfn f() -> super::One { super::One }\n"),
    ]);
    assert_eq!(
        this.circle().as_deref(),
        Some("  all::one -> all::two at src/all/one.rs:2\n  all::two -> all::one at src/all/two.rs:2\n")
    );
}

/// The type of an error says what failed.
#[test]
fn no_function_returns_a_text_as_its_error() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = String::new();
    for member in members(&root) {
        for place in Crate::read(&root.join(&member)).text_errors {
            writeln!(found, "{member}/{place}").unwrap();
        }
    }
    assert!(found.is_empty(), "`Result<_, String>` in\n{found}");
}

#[test]
fn texts_as_errors_are_found_wherever_a_type_may_stand() {
    let this = read_files(&[
        ("lib.rs", "mod low;\ntype Scan<T> = Result<T, String>;\n"),
        (
            "low.rs",
            "fn f() -> io::Result<String> { g::<Result<(), std::string::String>>() }\n\
             #[cfg(test)]\nmod tests { fn f() -> Result<(), String> { Ok(()) } }\n",
        ),
    ]);
    assert_eq!(this.text_errors, ["src/low.rs:1", "src/lib.rs:2"]);
}

/// Reads a crate of these files.
fn read_files(files: &[(&str, &str)]) -> Crate {
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in files {
        let path = folder.path().join("src").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    Crate::read(folder.path())
}

/// A new version of Kubernetes is one line in one file.
#[test]
fn the_version_of_kubernetes_is_in_one_place() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let version = fs::read_to_string(root.join("harness/apiserver/kubernetes-version")).unwrap();
    let (minor, _) = version.trim().rsplit_once('.').unwrap();
    let mut folders = [".github/workflows", "harness", "controller"]
        .map(|it| root.join(it))
        .to_vec();
    let (mut files, mut found) = (0, String::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if !matches!(name.as_str(), "tests" | "target" | "fixtures") {
                    folders.push(path);
                }
            } else if [".rs", ".sh", ".yaml"].iter().any(|end| name.ends_with(end)) {
                files += 1;
                let text = fs::read_to_string(&path).unwrap();
                let code = text.lines().filter(|line| !line.trim_start().starts_with(['#', '/']));
                for line in code.filter(|line| line.contains(&format!("{minor}."))) {
                    writeln!(found, "{}: {line}", path.display()).unwrap();
                }
            }
        }
    }
    assert!(files > 500, "{files}");
    assert!(
        found.is_empty(),
        "harness/apiserver/kubernetes-version has the version:\n{found}"
    );
}

/// The folders of the workspace's crates.
fn members(root: &Path) -> Vec<String> {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let (_, list) = manifest
        .split_once("\nmembers = [")
        .expect("the workspace lists its members");
    let (list, _) = list.split_once(']').unwrap();
    let members: Vec<String> = list.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    assert!(!members.is_empty());
    members
}

/// Path of a module from the root of its crate.
type ModulePath = Vec<String>;

/// A path in the code of a module.
struct Reference {
    from: ModulePath,
    segments: Vec<String>,
    /// File and line.
    place: String,
}

/// The modules of a crate, and where each depends on others with the same parent.
#[derive(Default)]
struct Crate {
    folder: PathBuf,
    modules: BTreeSet<ModulePath>,
    /// Modules that items come from which a module exports, by the path of the exported name.
    exported: BTreeMap<ModulePath, ModulePath>,
    references: Vec<Reference>,
    /// Places of `Result<_, String>`.
    text_errors: Vec<String>,
    edges: BTreeMap<ModulePath, BTreeMap<ModulePath, String>>,
}

impl Crate {
    fn read(folder: &Path) -> Self {
        let mut this = Self {
            folder: folder.to_owned(),
            ..Self::default()
        };
        for root in ["src/lib.rs", "src/main.rs"].map(|file| folder.join(file)) {
            if root.exists() {
                let folder = root.parent().unwrap().to_owned();
                this.read_items(&parse(&root), &folder, &root, &[]);
            }
        }
        for reference in std::mem::take(&mut this.references) {
            this.add_edge(reference);
        }
        this
    }

    /// Reads a module that is declared in `file`, whose own modules are in `folder`.
    fn read_module(&mut self, module: &syn::ItemMod, folder: &Path, file: &Path, parents: &[String]) {
        if is_test(&module.attrs) {
            return;
        }
        let name = module.ident.to_string();
        let path: Vec<String> = parents.iter().cloned().chain([name.clone()]).collect();
        if let Some((_, items)) = &module.content {
            self.read_items(items, &folder.join(&name), file, &path);
            return;
        }
        let named = module.attrs.iter().find_map(path_attribute);
        let beside = [folder.join(format!("{name}.rs")), folder.join(&name).join("mod.rs")];
        let file = match named {
            Some(named) => file.parent().unwrap().join(named),
            None => beside.into_iter().find(|file| file.exists()).unwrap(),
        };
        self.read_items(&parse(&file), &folder.join(&name), &file, &path);
    }

    fn read_items(&mut self, items: &[Item], folder: &Path, file: &Path, path: &[String]) {
        if !path.is_empty() {
            self.modules.insert(path.to_vec());
        }
        let mut paths = Paths::default();
        for item in items {
            match item {
                Item::Mod(module) => self.read_module(module, folder, file, path),
                other => paths.visit_item(other),
            }
            if let Item::Use(item) = item {
                self.read_exports(item, path);
            }
        }
        let place = file.strip_prefix(&self.folder).unwrap().display();
        let text_errors = paths.text_errors.iter().map(|at| format!("{place}:{}", at.line));
        self.text_errors.extend(text_errors);
        let references = paths.found.into_iter().map(|(segments, at)| Reference {
            from: path.to_vec(),
            segments,
            place: format!("{place}:{}", at.line),
        });
        self.references.extend(references);
    }

    /// Reads the names that a module gives to items of the modules below it.
    fn read_exports(&mut self, item: &syn::ItemUse, path: &[String]) {
        let mut found = Vec::new();
        leaves(&item.tree, &mut Vec::new(), &mut found);
        for (segments, name, _) in found {
            let target = absolute(path, &segments).unwrap_or_else(|| [path, segments.as_slice()].concat());
            if target.len() > path.len() + 1 && target.starts_with(path) {
                let from = target[..=path.len()].to_vec();
                self.exported.insert([path, &[name]].concat(), from);
            }
        }
    }

    fn add_edge(&mut self, reference: Reference) {
        let Reference { from, segments, place } = reference;
        let Some(target) = absolute(&from, &segments) else {
            return;
        };
        let common = from.iter().zip(&target).take_while(|(one, other)| one == other).count();
        if common == from.len() || common == target.len() {
            return;
        }
        let to = target[..=common].to_vec();
        let exported = self.exported.get(&to).filter(|module| self.modules.contains(*module));
        let to = exported.cloned().unwrap_or(to);
        let from = from[..=common].to_vec();
        if to != from && self.modules.contains(&to) {
            self.edges.entry(from).or_default().entry(to).or_insert(place);
        }
    }

    /// The shortest circle, if there is any: its edges, one a line.
    fn circle(&self) -> Option<String> {
        let circles = self.edges.keys().filter_map(|start| self.way_back_to(start));
        let shortest = circles.min_by_key(Vec::len)?;
        let mut text = String::new();
        for (index, from) in shortest.iter().enumerate() {
            let to = &shortest[(index + 1) % shortest.len()];
            let place = &self.edges[from][to];
            writeln!(text, "  {} -> {} at {place}", from.join("::"), to.join("::")).unwrap();
        }
        Some(text)
    }

    /// The modules on the shortest way from a module back to itself.
    fn way_back_to(&self, start: &ModulePath) -> Option<Vec<ModulePath>> {
        let mut ways = vec![vec![start.clone()]];
        let mut seen = BTreeSet::new();
        while !ways.is_empty() {
            let mut longer = Vec::new();
            for way in ways {
                for to in self.edges.get(way.last()?).into_iter().flat_map(BTreeMap::keys) {
                    if to == start {
                        return Some(way);
                    }
                    if seen.insert(to.clone()) {
                        longer.push([way.clone(), vec![to.clone()]].concat());
                    }
                }
            }
            ways = longer;
        }
        None
    }
}

/// Returns where a path in a module leads, from the root of the crate; `None` if it leads into another crate, or
/// begins with a name of the module itself.
fn absolute(from: &[String], segments: &[String]) -> Option<ModulePath> {
    let mut absolute = match segments.first().map(String::as_str) {
        Some("crate") => Vec::new(),
        Some("self" | "super") => from.to_vec(),
        _ => return None,
    };
    for segment in segments {
        match segment.as_str() {
            "crate" | "self" => {}
            "super" => drop(absolute.pop()),
            name => absolute.push(name.to_owned()),
        }
    }
    Some(absolute)
}

fn parse(file: &Path) -> Vec<Item> {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let parsed = syn::parse_file(&text);
    parsed
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
        .items
}

fn is_test(attributes: &[Attribute]) -> bool {
    let is_test = |meta: &Meta| match meta {
        Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        Meta::Path(_) | Meta::NameValue(_) => false,
    };
    attributes.iter().any(|attribute| is_test(&attribute.meta))
}

fn path_attribute(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else {
        return None;
    };
    match &pair.value {
        Expr::Lit(literal) if pair.path.is_ident("path") => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// The paths that an item names, each with the place where it does.
#[derive(Default)]
struct Paths {
    found: Vec<(Vec<String>, LineColumn)>,
    /// Places of `Result<_, String>`.
    text_errors: Vec<LineColumn>,
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Use(item) if is_test(&item.attrs) => {}
            Item::Fn(item) if is_test(&item.attrs) => {}
            Item::Impl(item) if is_test(&item.attrs) => {}
            Item::Use(item) => {
                let mut paths = Vec::new();
                leaves(&item.tree, &mut Vec::new(), &mut paths);
                self.found.extend(paths.into_iter().map(|(path, _, at)| (path, at)));
            }
            other => visit::visit_item(self, other),
        }
    }

    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        if segment.ident == "Result"
            && let PathArguments::AngleBracketed(arguments) = &segment.arguments
            && let Some(GenericArgument::Type(Type::Path(error))) = arguments.args.get(1)
            && error.path.segments.last().is_some_and(|name| name.ident == "String")
        {
            self.text_errors.push(segment.ident.span().start());
        }
        visit::visit_path_segment(self, segment);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = path.segments.iter().map(|segment| segment.ident.to_string());
        if let Some(first) = path.segments.first() {
            self.found.push((segments.collect(), first.ident.span().start()));
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.visit_path(&call.path);
        self.visit_tokens(call.tokens.clone());
    }
}

impl Paths {
    fn visit_tokens(&mut self, tokens: TokenStream) {
        let mut path: Option<(Vec<String>, LineColumn)> = None;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => match &mut path {
                    Some((segments, _)) => segments.push(name.to_string()),
                    None => path = Some((vec![name.to_string()], name.span().start())),
                },
                TokenTree::Punct(mark) if mark.as_char() == ':' => {}
                TokenTree::Group(group) => {
                    self.found.extend(path.take());
                    self.visit_tokens(group.stream());
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => self.found.extend(path.take()),
            }
        }
        self.found.extend(path);
    }
}

/// The paths of a `use`, each with the name that it gets here and where it is written.
fn leaves(tree: &UseTree, path: &mut Vec<String>, found: &mut Vec<(Vec<String>, String, LineColumn)>) {
    match tree {
        UseTree::Path(step) => {
            path.push(step.ident.to_string());
            leaves(&step.tree, path, found);
            path.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, path, found)),
        UseTree::Name(name) => {
            let full = [path.clone(), vec![name.ident.to_string()]].concat();
            found.push((full, name.ident.to_string(), name.ident.span().start()));
        }
        UseTree::Rename(rename) => {
            let full = [path.clone(), vec![rename.ident.to_string()]].concat();
            found.push((full, rename.rename.to_string(), rename.ident.span().start()));
        }
        UseTree::Glob(glob) => found.push((path.clone(), String::new(), glob.star_token.spans[0].start())),
    }
}
