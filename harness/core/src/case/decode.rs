//! Decoding a tree of YAML, keeping all errors: a field that is wrong is noted and left out, and reading goes on.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{
    diagnostic::{Diagnostic, suggestion},
    yaml::{Data, Node},
};

/// What was found wrong so far in one file.
#[derive(Debug)]
pub struct Notes {
    file: PathBuf,
    found: Vec<Diagnostic>,
}

impl Notes {
    /// Nothing found yet.
    pub fn new(file: &Path) -> Self {
        Self {
            file: file.to_owned(),
            found: Vec::new(),
        }
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Whether nothing was found wrong.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Notes that something is wrong with a node.
    pub fn wrong(&mut self, node: &Node, message: impl Into<String>, help: impl Into<String>) {
        let help = help.into();
        self.found.push(Diagnostic {
            file: self.file.clone(),
            line: node.line,
            column: node.column,
            span: node.span.clone(),
            message: message.into(),
            help: (!help.is_empty()).then_some(help),
        });
    }

    /// Everything found, in the order of the file; what is wrong in several scenarios once.
    pub fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        self.found
            .sort_by_key(|diagnostic| (diagnostic.line, diagnostic.column));
        self.found.dedup();
        self.found
    }

    /// A map with these members and no others.
    pub fn map<'n>(&mut self, node: &'n Node, what: &str, possible: &[&str]) -> Option<Fields<'n>> {
        let Data::Map(members) = &node.data else {
            self.wrong(
                node,
                format!("{what} must be a map, not {}", node.describe()),
                format!("with {}", possible.join(", ")),
            );
            return None;
        };
        for (key, _) in members {
            if !possible.contains(&key.key().as_str()) {
                let message = format!("{what} has no field `{}`", key.key());
                self.wrong(key, message, suggestion(&key.key(), possible.iter().copied()));
            }
        }
        Some(Fields {
            node,
            what: what.to_owned(),
        })
    }

    /// A text.
    pub fn text(&mut self, node: &Node, what: &str) -> Option<String> {
        match &node.data {
            Data::Scalar { text, .. } if matches!(node.value(), Value::String(_)) => Some(text.clone()),
            Data::Scalar { text, .. } if !matches!(node.value(), Value::Null) => {
                self.wrong(
                    node,
                    format!("{what} must be a text, not {}", node.describe()),
                    format!("write \"{text}\""),
                );
                None
            }
            _ => {
                self.wrong(node, format!("{what} must be a text, not {}", node.describe()), "");
                None
            }
        }
    }

    /// One text, or a list of texts.
    pub fn texts<'n>(&mut self, node: &'n Node, what: &str) -> Vec<(&'n Node, String)> {
        match &node.data {
            Data::List(items) => items
                .iter()
                .filter_map(|item| self.text(item, what).map(|text| (item, text)))
                .collect(),
            Data::Scalar { .. } | Data::Map(_) => self.text(node, what).map(|text| (node, text)).into_iter().collect(),
        }
    }

    /// One of some names.
    pub fn one_of<T: Copy>(&mut self, node: &Node, what: &str, possible: &[(&str, T)]) -> Option<T> {
        let text = self.text(node, what)?;
        let found = possible.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
        if found.is_none() {
            let names: Vec<_> = possible.iter().map(|(name, _)| *name).collect();
            self.wrong(node, format!("`{text}` is no {what}"), suggestion(&text, names));
        }
        found
    }

    /// `true` or `false`.
    pub fn boolean(&mut self, node: &Node, what: &str) -> Option<bool> {
        let value = node.value().as_bool();
        if value.is_none() {
            self.wrong(
                node,
                format!("{what} must be true or false, not {}", node.describe()),
                "",
            );
        }
        value
    }

    /// A time such as `300s`, `5m` or `250ms`.
    pub fn duration(&mut self, node: &Node, what: &str) -> Option<std::time::Duration> {
        let help = "write a number with its unit, such as 300s, 5m or 250ms";
        let Data::Scalar { text, .. } = &node.data else {
            self.wrong(node, format!("{what} must be a time, not {}", node.describe()), help);
            return None;
        };
        let found = parse_duration(text);
        if found.is_none() {
            self.wrong(node, format!("{what} must be a time, not `{text}`"), help);
        }
        found
    }
}

/// A time such as `300s`, `5m`, `1h` or `250ms`.
pub fn parse_duration(text: &str) -> Option<std::time::Duration> {
    let split = text.find(|c: char| c.is_ascii_alphabetic())?;
    let number: f64 = text[..split].parse().ok()?;
    let seconds = match &text[split..] {
        "ms" => number / 1000.0,
        "s" => number,
        "m" => number * 60.0,
        "h" => number * 3600.0,
        _ => return None,
    };
    std::time::Duration::try_from_secs_f64(seconds).ok()
}

/// The members of a map whose names are known to be possible.
#[derive(Debug, Clone)]
pub struct Fields<'n> {
    /// The map.
    pub node: &'n Node,
    what: String,
}

impl<'n> Fields<'n> {
    /// A member that may be missing.
    pub fn get(&self, name: &str) -> Option<&'n Node> {
        self.node.get(name)
    }

    /// A member that must be there.
    pub fn need(&self, name: &str, notes: &mut Notes) -> Option<&'n Node> {
        let member = self.node.get(name);
        if member.is_none() {
            notes.wrong(self.node, format!("{} needs `{name}`", self.what), "");
        }
        member
    }
}
