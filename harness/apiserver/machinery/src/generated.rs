//! The form of the files that `generate.sh` writes from Kubernetes' own Go sources: one entry per line, `NAME: ITEM,
//! ITEM, …`.
//!
//! ```text
//! core.v1.Secret: 1 metadata meta.v1.ObjectMeta? default={}, 5 immutable b&?, 2 data %y?, 3 type v1.SecretType:s?
//! ```
//!
//! The name may be followed by words about the whole entry. The meaning of an item depends on the file; a [`Field`] of
//! a type is its number in the binary form (0 if it has none), its name, its type with marks, and facts about it.
//!
//! Types: `s` text, `i` and `l` whole numbers of 32 and 64 bits, `b` boolean, `d` number, `y` bytes, `T` time, `M` time
//! with microseconds, `Q` quantity, `I` number or text, `J` any JSON; `*` before a type is a list, `%` a map with texts
//! as keys, `|` is the type or the alternative that the next letter names (`*` a list of it, `b` a boolean, `s` texts),
//! and the part before a colon is the Go name of a named type. Marks: `&` an optional field, `?` a field left out when
//! it is empty, `!` a field left out when it is empty even if it is a structure. A field called `-` is an embedded
//! structure: its fields belong to the structure around it.
//!
//! Facts: `required`, `default=JSON`, `enum=A|B`, `list=atomic|set|map:KEY:KEY`, `map=atomic|granular`,
//! `patch=STRATEGY,STRATEGY:KEY`.

/// A line of a generated file.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// The first word: `core.v1.Secret`.
    pub name: &'a str,
    /// The rest of the text before the colon.
    pub words: &'a str,
    items: &'a str,
}

/// A field of a type.
#[derive(Debug, Clone, Copy)]
pub struct Field<'a> {
    /// The number in the binary form; 0 if there is none.
    pub number: u64,
    /// The name in JSON or Go; `-` for an embedded structure.
    pub name: &'a str,
    /// Its type without marks.
    pub kind: &'a str,
    /// `&`, `?` and `!`.
    pub marks: &'a str,
    facts: &'a str,
}

/// The lines of a generated file.
pub fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.lines().filter_map(|line| {
        // The name may have a colon, but none before a space.
        let (head, items) = line.split_once(": ").or_else(|| Some((line.strip_suffix(':')?, "")))?;
        let (name, words) = head.split_once(' ').unwrap_or((head, ""));
        Some(Line { name, words, items })
    })
}

impl<'a> Line<'a> {
    /// Returns the items as they are written.
    pub fn items(&self) -> impl Iterator<Item = &'a str> {
        self.items.split(", ").filter(|item| !item.is_empty())
    }

    /// The items of a type.
    pub fn fields(&self) -> impl Iterator<Item = Field<'a>> {
        self.items().filter_map(Field::read)
    }
}

impl<'a> Field<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let mut parts = text.splitn(4, ' ');
        let (number, name, marked) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()?);
        let kind = marked.trim_end_matches(['&', '?', '!']);
        Some(Self {
            number,
            name,
            kind,
            marks: &marked[kind.len()..],
            facts: parts.next().unwrap_or_default(),
        })
    }

    /// Returns the facts about the field, each as a word and the text after its `=`.
    pub fn facts(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        facts(self.facts)
    }
}

/// Splits words with values: `list=set required` is `("list", "set"), ("required", "")`.
pub fn facts(words: &str) -> impl Iterator<Item = (&str, &str)> {
    words
        .split_whitespace()
        .map(|word| word.split_once('=').unwrap_or((word, "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_name_words_and_fields() {
        let text = "a.B map=atomic: 1 c *v1.D:s&? required enum=X|Y, 0 - a.E\na.Empty:\nno line\n";
        let lines: Vec<Line<'_>> = lines(text).collect();
        assert_eq!(
            lines.iter().map(|line| line.name).collect::<Vec<_>>(),
            ["a.B", "a.Empty"]
        );
        assert_eq!(lines[0].words, "map=atomic");
        let fields: Vec<Field<'_>> = lines[0].fields().collect();
        assert_eq!((fields[0].number, fields[0].name), (1, "c"));
        assert_eq!((fields[0].kind, fields[0].marks), ("*v1.D:s", "&?"));
        assert_eq!(
            fields[0].facts().collect::<Vec<_>>(),
            [("required", ""), ("enum", "X|Y")]
        );
        assert_eq!(
            (fields[1].name, fields[1].kind, fields[1].facts().count()),
            ("-", "a.E", 0)
        );
        assert_eq!(lines[1].fields().count(), 0);
    }
}
