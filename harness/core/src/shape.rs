//! What a map in a file may hold, said once: readers go by these tables, and the schemas for editors are made of them.

/// A map with these fields and no others.
#[derive(Debug)]
pub struct Shape {
    /// What it is, with its article: `a target`.
    pub name: &'static str,
    /// Its fields, in the order in which people write them.
    pub fields: &'static [Field],
}

/// A field of a map.
#[derive(Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Whether it must be there.
    pub needed: bool,
    /// What it holds.
    pub holds: Holds,
    /// What it means, for whoever writes it.
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

/// What a field holds.
#[derive(Debug, Clone, Copy)]
pub enum Holds {
    /// This text and no other.
    Constant(&'static str),
    /// Any text.
    Text,
    /// A text that this regular expression describes.
    Like(&'static str),
    /// One of these texts.
    OneOf(&'static [&'static str]),
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
    /// Whatever an object of Kubernetes can hold.
    Anything,
    /// A list.
    List(&'static Holds),
    /// One of it, or a list.
    OneOrMore(&'static Holds),
    /// A map with names that people make up.
    Named(&'static Holds),
    /// A map with these fields.
    Map(&'static Shape),
}
