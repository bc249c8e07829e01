//! The path to a value in an object, built on the stack while walking and written out only for an error.

use std::fmt::Write as _;

/// One step from a value to a value inside it.
#[derive(Debug, Clone, Copy)]
enum Step<'a> {
    /// The start of the walk, with a prefix.
    Root(&'a str),
    /// A declared property.
    Field(&'a str),
    /// A key of a map (`additionalProperties`).
    Key(&'a str),
    /// An item of a list.
    Index(usize),
}

/// A path as a chain of frames; a copy is two words and a step.
#[derive(Debug, Clone, Copy)]
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

impl<'a> Path<'a> {
    /// Returns the start; `prefix` is written before every field name but not inside messages (`status` for the
    /// subresource).
    pub fn root(prefix: &'a str) -> Self {
        Self {
            parent: None,
            step: Step::Root(prefix),
        }
    }

    /// The path of a declared property.
    pub fn field<'b>(&'b self, name: &'b str) -> Path<'b> {
        Path {
            parent: Some(self),
            step: Step::Field(name),
        }
    }

    /// The path of a key of a map.
    pub fn key<'b>(&'b self, name: &'b str) -> Path<'b> {
        Path {
            parent: Some(self),
            step: Step::Key(name),
        }
    }

    /// The path of an item of a list.
    pub fn index(&self, index: usize) -> Path<'_> {
        Path {
            parent: Some(self),
            step: Step::Index(index),
        }
    }

    /// Formats the path as the OpenAPI validator does: dots everywhere, no prefix: `spec.map.k`.
    pub fn dotted(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, false);
        out
    }

    /// Formats the path as the field of an error whose message comes from the OpenAPI validator.
    pub fn dotted_field(&self) -> String {
        let mut out = self.prefix().to_owned();
        let rest = self.dotted();
        if !out.is_empty() && !rest.is_empty() && !rest.starts_with('[') {
            out.push('.');
        }
        out.push_str(&rest);
        or_nil(out)
    }

    /// Formats the path as Kubernetes writes fields: `spec.map[k]`; `<nil>` for the whole object.
    pub fn bracketed_field(&self) -> String {
        let mut out = self.prefix().to_owned();
        self.write(&mut out, true);
        or_nil(out)
    }

    fn prefix(&self) -> &'a str {
        match (self.step, self.parent) {
            (Step::Root(prefix), _) => prefix,
            (_, Some(parent)) => parent.prefix(),
            (_, None) => "",
        }
    }

    fn write(&self, out: &mut String, bracketed: bool) {
        if let Some(parent) = self.parent {
            parent.write(out, bracketed);
        }
        match self.step {
            Step::Root(_) => {}
            Step::Key(name) if bracketed => {
                let _ = write!(out, "[{name}]");
            }
            Step::Field(name) | Step::Key(name) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(name);
            }
            Step::Index(index) => {
                let _ = write!(out, "[{index}]");
            }
        }
    }
}

fn or_nil(path: String) -> String {
    if path.is_empty() { "<nil>".to_owned() } else { path }
}

#[cfg(test)]
mod tests {
    use super::Path;

    #[test]
    fn the_three_ways_of_writing_a_path() {
        let root = Path::root("status");
        let map = root.field("map");
        let key = map.key("k");
        let item = key.index(2);
        assert_eq!(item.dotted(), "map.k[2]");
        assert_eq!(item.dotted_field(), "status.map.k[2]");
        assert_eq!(item.bracketed_field(), "status.map[k][2]");
        assert_eq!(Path::root("").bracketed_field(), "<nil>");
        assert_eq!(root.dotted(), "");
        assert_eq!(root.dotted_field(), "status");
    }
}
