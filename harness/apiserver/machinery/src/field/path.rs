//! The path to a field.

use std::fmt;

/// The path of a field, written out only for an error.
#[derive(Debug, Clone, Copy)]
pub enum FieldPath<'a> {
    /// The object itself.
    Root,
    /// A named field of a structure; the name may have dots.
    Named(&'a FieldPath<'a>, &'a str),
    /// An item of a list.
    Item(&'a FieldPath<'a>, usize),
    /// A value of a map.
    Key(&'a FieldPath<'a>, &'a str),
}

impl<'a> FieldPath<'a> {
    /// Returns `self.name`.
    #[must_use]
    pub fn child(&'a self, name: &'a str) -> Self {
        Self::Named(self, name)
    }

    /// Returns `self[index]`.
    #[must_use]
    pub fn item(&'a self, index: usize) -> Self {
        Self::Item(self, index)
    }

    /// Returns `self[key]`.
    #[must_use]
    pub fn key(&'a self, key: &'a str) -> Self {
        Self::Key(self, key)
    }
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Named(Self::Root, name) => f.write_str(name),
            Self::Named(of, name) => write!(f, "{of}.{name}"),
            Self::Item(of, index) => write!(f, "{of}[{index}]"),
            Self::Key(of, key) => write!(f, "{of}[{key}]"),
        }
    }
}
