//! Fields of the maps in a file. Readers use these tables, and [`schema`](crate::schema) generates the JSON Schemas for
//! editors from them.

/// A map with these fields and no others.
#[derive(Debug)]
pub struct Shape {
    /// Its name with its article: `a target`.
    pub name: &'static str,
    /// Its fields, in the order in which people write them.
    pub fields: &'static [Field],
    /// Set if some of them exclude each other.
    pub choice: Choice,
}

/// Fields of a map that exclude each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// None do.
    None,
    /// Exactly one of these must be there.
    OneOf(&'static [&'static str]),
    /// Exactly one of all its fields must be there.
    OneOfAll,
}

impl Shape {
    /// A map with these fields and no others.
    pub const fn closed(name: &'static str, fields: &'static [Field]) -> Self {
        Self {
            name,
            fields,
            choice: Choice::None,
        }
    }

    /// A map with exactly one of these fields.
    pub const fn one_of(name: &'static str, fields: &'static [Field]) -> Self {
        Self {
            name,
            fields,
            choice: Choice::OneOfAll,
        }
    }

    /// The names of its fields.
    pub fn names(&self) -> Vec<&'static str> {
        self.fields.iter().map(|field| field.name).collect()
    }
}

/// A map whose other fields depend on what one of them says.
#[derive(Debug)]
pub struct Tagged {
    /// Its name with its article: `a wait`.
    pub what: &'static str,
    /// The field that says so.
    pub key: &'static str,
    /// Description of that field.
    pub about: &'static str,
    /// Allowed values of the field, each with the other fields.
    pub shapes: &'static [(&'static str, &'static [Field])],
}

impl Tagged {
    /// The other fields that go with what the key says.
    pub fn fields(&self, tag: &str) -> Option<&'static [Field]> {
        self.shapes
            .iter()
            .find(|(name, _)| *name == tag)
            .map(|(_, fields)| *fields)
    }
}

/// A field of a map.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Set if it is required.
    pub needed: bool,
    /// Type of its value.
    pub holds: Holds,
    /// Description, for authors.
    pub about: &'static str,
}

impl Field {
    /// A field that must be there.
    pub const fn needed(name: &'static str, holds: Holds, about: &'static str) -> Self {
        Self {
            name,
            needed: true,
            holds,
            about,
        }
    }

    /// A field that may be left out.
    pub const fn optional(name: &'static str, holds: Holds, about: &'static str) -> Self {
        Self {
            name,
            needed: false,
            holds,
            about,
        }
    }
}

/// Type of a field's value.
#[derive(Debug, Clone, Copy)]
pub enum Holds {
    /// This text and no other.
    Constant(&'static str),
    /// Any text.
    Text,
    /// A text that this regular expression describes.
    Like(&'static str),
    /// One of these texts.
    OneOf(fn() -> Vec<&'static str>),
    /// `true` or `false`.
    Boolean,
    /// A whole number in a range, both ends included.
    Count(u64, u64),
    /// A number above 0.
    Positive,
    /// A time with its unit, such as `300s`.
    Time,
    /// One value: a text, a number, or true or false.
    Scalar,
    /// The id of a requirement in the catalogue.
    Requirement,
    /// A feature that requirements of the catalogue belong to.
    Feature,
    /// An object of Kubernetes, with its apiVersion, kind and name.
    Object,
    /// Pattern for an object: lists say how they match.
    Pattern,
    /// Whatever YAML can hold.
    Anything,
    /// A list.
    List(&'static Holds),
    /// One of it, or a list.
    OneOrMore(&'static Holds),
    /// One of these.
    Either(fn() -> Vec<Holds>),
    /// A map with names that people make up.
    Named(&'static Holds),
    /// A map with these fields.
    Map(&'static Shape),
    /// A map whose fields depend on one of them.
    Tagged(&'static Tagged),
}
