//! Positions in the files of a case: a field of an object in a step, or in a file below `fixtures/`.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    path::{Path, PathBuf},
    rc::Rc,
};

use baton_core::{
    case::model::{Action, Case, Step},
    yaml::{self, Data, Diagnostic, Node},
};
use serde_json::Value;

use crate::files::{self, Roots};

/// Path of a field: keys, and positions in lists.
pub(super) type Way = Vec<Segment>;

/// Segment of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    /// A member of a map.
    Key(String),
    /// An item of a list.
    Item(usize),
}

/// Part of a field: its key or its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The key.
    Key,
    /// The value.
    Value,
}

/// Parsed files; each is read once.
pub(super) struct Sources<'r> {
    roots: &'r Roots,
    read: RefCell<BTreeMap<PathBuf, Rc<Vec<Node>>>>,
}

impl<'r> Sources<'r> {
    pub(super) fn new(roots: &'r Roots) -> Self {
        Self {
            roots,
            read: RefCell::default(),
        }
    }

    /// Returns the text of a file, from the disk or from the program; empty if it does not exist.
    pub(super) fn text(&self, file: &Path) -> String {
        let read = files::read(file).or_else(|error| {
            let name = self.roots.name_of(file);
            name.map_or(Err(error), |name| self.roots.read(&name))
        });
        String::from_utf8_lossy(&read.unwrap_or_default()).into_owned()
    }

    /// Returns the documents of a file; empty if it is broken, which reading the cases reports.
    pub(super) fn documents(&self, file: &Path) -> Rc<Vec<Node>> {
        if let Some(read) = self.read.borrow().get(file) {
            return Rc::clone(read);
        }
        let text = self.text(file);
        let mut documents = Vec::new();
        let (mut begins, mut line) = (0, 0);
        let mut at = 0;
        let mut ends: Vec<(usize, usize)> = Vec::new();
        for (number, content) in text.split_inclusive('\n').enumerate() {
            if content.starts_with("---") {
                ends.push((at, number));
            }
            at += content.len();
        }
        ends.push((text.len(), 0));
        for (end, number) in ends {
            if let Ok((mut node, _)) = yaml::parse(file, &text.as_bytes()[begins..end]) {
                moved(&mut node, begins, line);
                documents.push(node);
            }
            begins = end + text[end..].find('\n').map_or(0, |newline| newline + 1);
            line = number + 1;
        }
        let documents = Rc::new(documents);
        self.read.borrow_mut().insert(file.to_owned(), Rc::clone(&documents));
        documents
    }

    /// Creates a diagnostic about a step, at its line.
    pub(super) fn of_step(&self, case: &Case, step: &Step, message: String, help: &str) -> Diagnostic {
        let text = self.text(&case.file);
        let start: usize = text
            .split_inclusive('\n')
            .take(step.line.saturating_sub(1))
            .map(str::len)
            .sum();
        let line = text[start..].lines().next().unwrap_or_default();
        let indent = line.len() - line.trim_start().len();
        Diagnostic {
            file: case.file.clone(),
            line: step.line,
            column: indent + 1,
            span: start + indent..start + line.len(),
            message,
            help: (!help.is_empty()).then(|| help.to_owned()),
        }
    }

    /// Creates a diagnostic about a field of a case.
    pub(super) fn of_case(
        &self,
        case: &Case,
        (way, part): (&[Segment], Part),
        message: String,
        help: String,
    ) -> Diagnostic {
        let documents = self.documents(&case.file);
        let node = documents.first().map(|root| find(root, way, part));
        Diagnostic {
            file: case.file.clone(),
            line: node.as_ref().map_or(1, |node| node.line),
            column: node.as_ref().map_or(1, |node| node.column),
            span: node.map_or(0..0, |node| node.span),
            message,
            help: Some(help),
        }
    }

    /// Creates a diagnostic about a field of an object that a step writes, or about the step if the field cannot be
    /// found.
    pub(super) fn diagnostic(
        &self,
        (case, step): (&Case, &Step),
        object: &Value,
        (way, part): (&[Segment], Part),
        message: String,
        help: String,
    ) -> Diagnostic {
        let (file, node) = self
            .in_fixture(step, object, way, part)
            .or_else(|| self.in_step(case, step, way, part))
            .unwrap_or_else(|| (case.file.clone(), None));
        Diagnostic {
            file,
            line: node.as_ref().map_or(step.line, |node| node.line),
            column: node.as_ref().map_or(1, |node| node.column),
            span: node.map_or(0..0, |node| node.span),
            message,
            help: (!help.is_empty()).then_some(help),
        }
    }

    fn in_fixture(&self, step: &Step, object: &Value, way: &[Segment], part: Part) -> Option<(PathBuf, Option<Node>)> {
        let Action::Apply { file: Some(name), .. } = &step.action else {
            return None;
        };
        let file = self.roots.path(&format!("fixtures/{name}"));
        let documents = self.documents(&file);
        let same = |node: &&Node, way: &[&str]| {
            let there = way.iter().try_fold(*node, |node, key| node.get(key)).map(Node::value);
            there.as_ref() == object.pointer(&format!("/{}", way.join("/")))
        };
        let of_kind: Vec<&Node> = documents.iter().filter(|node| same(node, &["kind"])).collect();
        let named = of_kind.iter().find(|node| same(node, &["metadata", "name"]));
        let node = named.or(of_kind.first()).map(|node| find(node, way, part));
        Some((file, node))
    }

    fn in_step(&self, case: &Case, step: &Step, way: &[Segment], part: Part) -> Option<(PathBuf, Option<Node>)> {
        let documents = self.documents(&case.file);
        let steps = documents.first()?.get("spec")?.get("steps")?;
        let node = steps.items().iter().find(|node| node.line == step.line)?;
        let object = match &step.action {
            Action::Apply { .. } => node.get("apply").and_then(|it| it.get("resource")),
            Action::Patch { .. } => node.get("patch").and_then(|it| it.get("merge")),
            _ => None,
        };
        Some((case.file.clone(), Some(find(object?, way, part))))
    }
}

/// Returns the node at a path, or the last one on it, if the rest comes from a parameter.
fn find(node: &Node, way: &[Segment], part: Part) -> Node {
    let mut at = node.clone();
    for (number, segment) in way.iter().enumerate() {
        let next = match (segment, &at.data) {
            (Segment::Key(name), Data::Map(members)) => members.iter().find(|(key, _)| key.key() == name),
            (Segment::Item(index), Data::List(items)) => {
                let Some(item) = items.get(*index) else { break };
                at = item.clone();
                continue;
            }
            _ => None,
        };
        let Some((key, value)) = next else { break };
        let last = number + 1 == way.len();
        at = if last && part == Part::Key {
            key.clone()
        } else {
            value.clone()
        };
    }
    at
}

/// Moves a node from its position in a part of a file to its position in the file.
fn moved(node: &mut Node, bytes: usize, lines: usize) {
    node.line += lines;
    node.span = node.span.start + bytes..node.span.end + bytes;
    match &mut node.data {
        Data::Scalar { .. } => {}
        Data::List(items) => items.iter_mut().for_each(|item| moved(item, bytes, lines)),
        Data::Map(members) => {
            for (key, value) in members {
                moved(key, bytes, lines);
                moved(value, bytes, lines);
            }
        }
    }
}
