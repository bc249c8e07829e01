//! No circle between the top-level modules of any crate of the workspace, and one version of Kubernetes.
//!
//! A module depends on another if a path in its code leads there: by `use`, in an expression or type, or among the
//! tokens of a macro. An item that `lib.rs` exports under its name counts as the module that it comes from. Tests
//! are left out.
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
    Attribute, Expr, Item, Lit, Meta, UseTree,
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
    let folder = std::env::temp_dir().join(format!("baton-structure-{}", std::process::id()));
    let files = [
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
    ];
    for (file, text) in files {
        let path = folder.join("src").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let circle = Crate::read(&folder).circle();
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(
        circle.as_deref(),
        Some("  high -> low at src/high.rs:2\n  low -> high at src/low/inner.rs:2\n")
    );
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

/// The top-level modules of a crate, and where each depends on others.
#[derive(Default)]
struct Crate {
    folder: PathBuf,
    modules: BTreeSet<String>,
    /// Names that the root exports, and the modules that they come from.
    exported: BTreeMap<String, String>,
    edges: BTreeMap<String, BTreeMap<String, String>>,
}

impl Crate {
    fn read(folder: &Path) -> Self {
        let mut this = Self {
            folder: folder.to_owned(),
            ..Self::default()
        };
        for root in ["src/lib.rs", "src/main.rs"].map(|file| folder.join(file)) {
            if root.exists() {
                this.read_root(&root);
            }
        }
        this
    }

    fn read_root(&mut self, file: &Path) {
        let items = parse(file);
        let modules = items.iter().filter_map(|item| match item {
            Item::Mod(module) if !is_test(&module.attrs) => Some(module.ident.to_string()),
            _ => None,
        });
        self.modules.extend(modules);
        for item in &items {
            if let Item::Use(item) = item {
                let mut paths = Vec::new();
                leaves(&item.tree, &mut Vec::new(), &mut paths);
                for (path, name, _) in paths {
                    let inside = path
                        .iter()
                        .find(|segment| !matches!(segment.as_str(), "crate" | "self"));
                    if let Some(module) = inside.filter(|module| self.modules.contains(*module)) {
                        self.exported.insert(name, module.clone());
                    }
                }
            }
        }
        let folder = file.parent().unwrap().to_owned();
        for item in items {
            if let Item::Mod(module) = item {
                self.read_module(&module, &folder, file, &[]);
            }
        }
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
        let mut paths = Paths::default();
        for item in items {
            match item {
                Item::Mod(module) => self.read_module(module, folder, file, path),
                other => paths.visit_item(other),
            }
        }
        for (segments, at) in paths.found {
            self.add_edge(path, &segments, file, at);
        }
    }

    fn add_edge(&mut self, from: &[String], segments: &[String], file: &Path, at: LineColumn) {
        let mut absolute: Vec<&str> = Vec::new();
        let mut segments = segments.iter().map(String::as_str).peekable();
        match segments.peek() {
            Some(&"crate") => {}
            Some(&("self" | "super")) => absolute = from.iter().map(String::as_str).collect(),
            _ => return,
        }
        for segment in segments {
            match segment {
                "crate" | "self" => {}
                "super" => drop(absolute.pop()),
                name => absolute.push(name),
            }
        }
        let Some(first) = absolute.first() else { return };
        let to = self.exported.get(*first).map_or(*first, String::as_str);
        if to != from[0] && self.modules.contains(to) {
            let place = file.strip_prefix(&self.folder).unwrap().display();
            let edges = self.edges.entry(from[0].clone()).or_default();
            edges.entry(to.to_owned()).or_insert(format!("{place}:{}", at.line));
        }
    }

    /// The shortest circle, if there is any: its edges, one a line.
    fn circle(&self) -> Option<String> {
        let circles = self.edges.keys().filter_map(|start| self.way_back_to(start));
        let shortest = circles.min_by_key(Vec::len)?;
        let mut text = String::new();
        for (index, from) in shortest.iter().enumerate() {
            let to = &shortest[(index + 1) % shortest.len()];
            writeln!(text, "  {from} -> {to} at {}", self.edges[from][to]).unwrap();
        }
        Some(text)
    }

    /// The modules on the shortest way from a module back to itself.
    fn way_back_to(&self, start: &str) -> Option<Vec<String>> {
        let mut ways = vec![vec![start.to_owned()]];
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
