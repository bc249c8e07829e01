//! Decoding a tree of YAML, keeping all errors: a field that is wrong is reported and left out, and reading goes on.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{
    Data, Diagnostic, Node,
    shape::{Field, Shape, Tagged},
};
use crate::spelling::suggestion;

/// The most errors that are reported for one file.
const MOST: usize = 100;

/// Decodes one file, and keeps what is wrong with it.
#[derive(Debug)]
pub struct Decoder {
    file: PathBuf,
    found: Vec<Diagnostic>,
}

impl Decoder {
    /// For a file in which nothing is wrong yet.
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

    /// Returns `true` if no mistake was found.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Keeps an error at a node.
    pub fn error(&mut self, node: &Node, message: impl Into<String>, help: impl Into<String>) {
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

    /// Takes in what was found before the decoding began.
    pub fn extend(&mut self, found: Vec<Diagnostic>) {
        self.found.extend(found);
    }

    /// Returns the name that was probably meant; skipped when a file has very many mistakes.
    pub fn suggestion<'s>(&self, name: &str, possible: impl IntoIterator<Item = &'s str> + Clone) -> String {
        self.help(|| suggestion(name, possible))
    }

    /// Help that takes time to find; not looked for any more when very much is wrong.
    pub fn help(&self, look: impl FnOnce() -> String) -> String {
        if self.found.len() < MOST { look() } else { String::new() }
    }

    /// Everything found, in the order of the file: what is wrong in several scenarios once, of very many things the
    /// first.
    pub fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        self.found
            .sort_by_key(|diagnostic| (diagnostic.line, diagnostic.column));
        self.found.dedup();
        let more = self.found.len().saturating_sub(MOST);
        self.found.truncate(MOST);
        if let (1.., Some(last)) = (more, self.found.last().cloned()) {
            self.found.push(Diagnostic {
                message: format!("and {more} more errors"),
                help: None,
                ..last
            });
        }
        self.found
    }

    /// A field that must be there and can only be one text.
    pub fn constant(&mut self, fields: &Fields<'_>, name: &str, value: &str) {
        let Some(node) = fields.need(name, self) else {
            return;
        };
        if self.text(node, name).is_some_and(|text| text != value) {
            self.error(node, format!("{name} must be `{value}`"), "");
        }
    }

    /// The members of a map with any names.
    pub fn members<'n>(&mut self, node: &'n Node, what: &str) -> &'n [(Node, Node)] {
        match &node.data {
            Data::Map(members) => members,
            Data::Scalar { .. } | Data::List(_) => {
                self.error(node, format!("{what} must be a map, not {}", node.describe()), "");
                &[]
            }
        }
    }

    /// The items of a list.
    pub fn list<'n>(&mut self, node: &'n Node, what: &str) -> &'n [Node] {
        match &node.data {
            Data::List(items) => items,
            Data::Scalar { .. } | Data::Map(_) => {
                self.error(node, format!("{what} must be a list, not {}", node.describe()), "");
                &[]
            }
        }
    }

    /// The name of a case or a scenario: it names tests and files.
    pub fn case_name(&mut self, node: &Node, what: &str) -> Option<String> {
        let text = self.text(node, what)?;
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if !text.is_empty() && text.chars().all(plain) {
            return Some(text);
        }
        let help = "use lower-case letters, digits and dashes, since it names files";
        self.error(node, format!("`{text}` cannot be {what}"), help);
        None
    }

    /// A name that people make up: it stands in paths of files and in references such as `${origin}`.
    pub fn name(&mut self, node: &Node, what: &str) -> Option<String> {
        const LONGEST: usize = 63;
        let text = self.text(node, what)?;
        let plain = text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        if plain && (1..=LONGEST).contains(&text.len()) {
            return Some(text);
        }
        let help = "use at most 63 letters, digits, dashes and underscores";
        self.error(node, format!("`{text}` cannot be {what}"), help);
        None
    }

    /// A map with these members and no others.
    pub fn map<'n>(&mut self, node: &'n Node, what: &str, possible: &[&str]) -> Option<Fields<'n>> {
        let Data::Map(members) = &node.data else {
            self.error(
                node,
                format!("{what} must be a map, not {}", node.describe()),
                format!("with {}", possible.join(", ")),
            );
            return None;
        };
        for (key, _) in members {
            if !possible.contains(&key.key()) {
                let message = format!("unknown field `{}` in {what}", key.key());
                let help = self.suggestion(key.key(), possible.iter().copied());
                self.error(key, message, help);
            }
        }
        Some(Fields {
            node,
            what: what.to_owned(),
        })
    }

    /// A map of a shape: with its fields and no others, and with all that it needs.
    pub fn shape<'n>(&mut self, node: &'n Node, shape: &Shape) -> Option<Fields<'n>> {
        let fields = self.map(node, shape.name, &shape.names())?;
        fields.need_all(shape.fields, self);
        Some(fields)
    }

    /// A map whose fields depend on what one of them says, and what that is.
    pub fn tagged<'n>(&mut self, node: &'n Node, tagged: &Tagged) -> Option<(&'static str, Fields<'n>)> {
        let Tagged { what, key, shapes, .. } = tagged;
        let Some(tag) = node.get(key) else {
            let mut all: Vec<_> = shapes
                .iter()
                .flat_map(|(_, fields)| fields.iter())
                .map(|it| it.name)
                .collect();
            all.insert(0, key);
            self.map(node, what, &all)?.need(key, self);
            return None;
        };
        let possible: Vec<_> = shapes.iter().map(|shape| (shape.0, *shape)).collect();
        let (tag, own) = self.one_of(tag, "condition", &possible)?;
        let names: Vec<_> = std::iter::once(*key)
            .chain(own.iter().map(|field| field.name))
            .collect();
        let fields = self.map(node, &format!("{what} {key} {tag}"), &names)?;
        fields.need_all(own, self);
        Some((tag, fields))
    }

    /// A text.
    pub fn text(&mut self, node: &Node, what: &str) -> Option<String> {
        match &node.data {
            Data::Scalar { text, .. } if matches!(node.value(), Value::String(_)) => Some(text.clone()),
            Data::Scalar { text, .. } if !matches!(node.value(), Value::Null) => {
                self.error(
                    node,
                    format!("{what} must be a string, not {}", node.describe()),
                    format!("write \"{text}\""),
                );
                None
            }
            _ => {
                self.error(node, format!("{what} must be a string, not {}", node.describe()), "");
                None
            }
        }
    }

    /// Shortens a text that is shown within a message: one line, without control characters.
    pub fn line(&mut self, node: &Node, what: &str) -> Option<String> {
        let text = self.text(node, what)?;
        if text.chars().any(char::is_control) {
            self.error(node, format!("{what} must be one line without control characters"), "");
            return None;
        }
        Some(text)
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
            let help = self.suggestion(&text, names);
            self.error(node, format!("unknown {what} `{text}`"), help);
        }
        found
    }

    /// `true` or `false`.
    pub fn boolean(&mut self, node: &Node, what: &str) -> Option<bool> {
        let value = node.value().as_bool();
        if value.is_none() {
            self.error(
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
            self.error(node, format!("{what} must be a time, not {}", node.describe()), help);
            return None;
        };
        let found = parse_duration(text);
        match found {
            None => self.error(node, format!("{what} must be a time, not `{text}`"), help),
            Some(time) if time > LONGEST => {
                self.error(node, format!("{what} must be ten years at most, not `{text}`"), "");
                return None;
            }
            Some(_) => {}
        }
        found
    }
}

/// Clocks end somewhere beyond, and no case waits so long.
const LONGEST: std::time::Duration = std::time::Duration::from_secs(10 * 365 * 24 * 3600);

/// A time such as `300s`, `5m`, `1h30m`, `1.5s` or `250ms`.
pub fn parse_duration(text: &str) -> Option<std::time::Duration> {
    let mut rest = text;
    let mut nanos: u128 = 0;
    while !rest.is_empty() {
        let number_ends = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, behind) = rest.split_at(number_ends);
        let unit_ends = behind.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(unit_ends);
        nanos = nanos.checked_add(parse_part(number, unit)?)?;
        rest = behind;
    }
    let seconds = u64::try_from(nanos / NANOS).ok()?;
    let subsec = u32::try_from(nanos % NANOS).ok()?;
    (!text.is_empty()).then(|| std::time::Duration::new(seconds, subsec))
}

const NANOS: u128 = 1_000_000_000;

fn parse_part(number: &str, unit: &str) -> Option<u128> {
    let unit: u128 = match unit {
        "ms" => NANOS / 1000,
        "s" => NANOS,
        "m" => 60 * NANOS,
        "h" => 3600 * NANOS,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let whole = whole.parse::<u64>().ok()?;
    // More digits than nanoseconds have mean nothing.
    let fraction = fraction
        .get(..fraction.len().min(12))
        .filter(|digits| !digits.is_empty())?;
    let scale = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    Some(u128::from(whole) * unit + u128::from(fraction.parse::<u64>().ok()?) * unit / scale)
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

    fn need_all(&self, fields: &[Field], decoder: &mut Decoder) {
        for field in fields.iter().filter(|field| field.needed) {
            self.need(field.name, decoder);
        }
    }

    /// A member that must be there.
    pub fn need(&self, name: &str, decoder: &mut Decoder) -> Option<&'n Node> {
        let member = self.node.get(name);
        if member.is_none() {
            decoder.error(self.node, format!("{} needs `{name}`", self.what), "");
        }
        member
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::parse_duration;

    #[test]
    fn times_have_units() {
        let times = [
            ("300s", Duration::from_mins(5)),
            ("5m", Duration::from_mins(5)),
            ("1h30m", Duration::from_mins(90)),
            ("250ms", Duration::from_millis(250)),
            ("1.5s", Duration::from_millis(1500)),
            ("0s", Duration::ZERO),
        ];
        for (text, time) in times {
            assert_eq!(parse_duration(text), Some(time), "{text}");
        }
        let wrong = [
            "",
            "300",
            "s",
            "5 m",
            "-5s",
            "1e3s",
            "1.s",
            "NaNs",
            "5d",
            "1h30",
            "99999999999999999999h",
            "ü",
        ];
        for text in wrong {
            assert_eq!(parse_duration(text), None, "{text}");
        }
        assert_eq!(parse_duration("18446744073709551615h"), None);
    }
}
