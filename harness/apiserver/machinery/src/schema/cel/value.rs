//! Values of CEL. JSON is not copied: lists and maps are references until an expression changes them.

use std::cmp::Ordering;
use std::net::IpAddr;
use std::rc::Rc;

use base64::Engine as _;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use super::super::node::{ListType, Node};
use super::quantity::Quantity;
use super::url::Url;

/// A text borrowed from JSON or from the expression, or made by an expression.
#[derive(Debug, Clone)]
pub enum Text<'a> {
    /// Text borrowed from JSON or the expression.
    Given(&'a str),
    /// Text made by an expression.
    Made(Rc<str>),
}

impl Text<'_> {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Given(text) => text,
            Self::Made(text) => text,
        }
    }
}

/// A list.
#[derive(Debug, Clone)]
pub enum List<'a> {
    /// A list in JSON with its schema.
    Json(&'a [Value], Option<&'a Node>),
    /// A list made by an expression.
    Made(Rc<Vec<Val<'a>>>),
}

impl<'a> List<'a> {
    /// Returns the number of items.
    pub fn count(&self) -> usize {
        match self {
            Self::Json(items, _) => items.len(),
            Self::Made(items) => items.len(),
        }
    }

    /// Returns an item.
    pub fn get(&self, index: usize) -> Option<Val<'a>> {
        match self {
            Self::Json(items, node) => {
                let node = node.and_then(|node| node.items.as_deref());
                items.get(index).map(|item| Val::of_json(item, node))
            }
            Self::Made(items) => items.get(index).cloned(),
        }
    }

    /// Returns all items.
    pub fn iter(&self) -> impl Iterator<Item = Val<'a>> + '_ {
        (0..self.count()).filter_map(|index| self.get(index))
    }
}

/// A map or an object.
#[derive(Debug, Clone)]
pub enum MapVal<'a> {
    /// An object in JSON with its schema.
    Json(&'a Map<String, Value>, Option<&'a Node>),
    /// A map made by an expression.
    Made(Rc<Vec<(Val<'a>, Val<'a>)>>),
}

impl<'a> MapVal<'a> {
    /// Returns the number of members.
    pub fn count(&self) -> usize {
        match self {
            Self::Json(map, _) => map.len(),
            Self::Made(pairs) => pairs.len(),
        }
    }

    /// Returns a member.
    pub fn get(&self, key: &Val<'a>) -> Option<Val<'a>> {
        match (self, key) {
            (Self::Json(map, node), Val::Str(name)) => json_member(map, *node, name.as_str()),
            (Self::Json(..), _) => None,
            (Self::Made(pairs), key) => {
                let found = pairs.iter().find(|(other, _)| equal(other, key));
                found.map(|(_, value)| value.clone())
            }
        }
    }

    /// The keys, in order.
    pub fn keys(&self) -> Vec<Val<'a>> {
        match self {
            Self::Json(map, _) => map.keys().map(|key| Val::Str(Text::Given(key))).collect(),
            Self::Made(pairs) => pairs.iter().map(|(key, _)| key.clone()).collect(),
        }
    }
}

fn json_member<'a>(map: &'a Map<String, Value>, node: Option<&'a Node>, name: &str) -> Option<Val<'a>> {
    let value = map.get(name)?;
    Some(Val::of_json(value, node.and_then(|node| node.member(name))))
}

/// A value.
#[derive(Debug, Clone)]
pub enum Val<'a> {
    /// `null`
    Null,
    /// `bool`
    Bool(bool),
    /// `int`
    Int(i64),
    /// `uint`
    Uint(u64),
    /// `double`
    Double(f64),
    /// `string`
    Str(Text<'a>),
    /// `bytes`
    Bytes(Rc<[u8]>),
    /// `list`
    List(List<'a>),
    /// `map` and objects
    Map(MapVal<'a>),
    /// `google.protobuf.Timestamp`
    Timestamp(Timestamp),
    /// `google.protobuf.Duration`
    Duration(SignedDuration),
    /// `optional_type`
    Optional(Option<Rc<Val<'a>>>),
    /// The type of a value, by name.
    Type(&'static str),
    /// `net.IP`
    Ip(IpAddr),
    /// `net.CIDR`
    Cidr(IpAddr, u8),
    /// `kubernetes.URL`
    Url(Rc<Url>),
    /// `kubernetes.Quantity`
    Quantity(Quantity),
    /// `kubernetes.Semver`
    Semver(Rc<semver::Version>),
    /// A format to check texts against.
    Format(&'static str),
    /// The authorizer and its queries; every user may do everything.
    Authorizer,
}

impl<'a> Val<'a> {
    /// Returns a text made by an expression.
    pub fn text(text: impl Into<Rc<str>>) -> Self {
        Self::Str(Text::Made(text.into()))
    }

    /// Returns a list made by an expression.
    pub fn list(items: Vec<Val<'a>>) -> Self {
        Self::List(List::Made(Rc::new(items)))
    }

    /// An optional that holds a value.
    pub fn some(value: Val<'a>) -> Self {
        Self::Optional(Some(Rc::new(value)))
    }

    /// Returns the CEL value of JSON, in the type that the schema gives it.
    pub fn of_json(value: &'a Value, node: Option<&'a Node>) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(flag) => Self::Bool(*flag),
            Value::Number(number) => {
                let real = node.is_some_and(|node| node.is("number"));
                match number.as_i64().filter(|_| !real) {
                    Some(whole) => Self::Int(whole),
                    None => Self::Double(number.as_f64().unwrap_or_default()),
                }
            }
            Value::String(text) => Self::of_text(text, node),
            Value::Array(items) => Self::List(List::Json(items, node)),
            Value::Object(map) => Self::Map(MapVal::Json(map, node)),
        }
    }

    fn of_text(text: &'a str, node: Option<&'a Node>) -> Self {
        let format = node.map_or("", |node| node.format_name.as_str());
        let typed = match format {
            "date-time" | "datetime" => text.parse().ok().map(Self::Timestamp),
            "date" => format!("{text}T00:00:00Z").parse().ok().map(Self::Timestamp),
            "duration" => super::duration::parse(text).map(Self::Duration),
            "byte" => base64::engine::general_purpose::STANDARD
                .decode(text)
                .ok()
                .map(|bytes| Self::Bytes(bytes.into())),
            _ => None,
        };
        typed.unwrap_or(Self::Str(Text::Given(text)))
    }

    /// The name of the type, as CEL writes it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::Str(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Optional(_) => "optional_type",
            Self::Type(_) => "type",
            Self::Ip(_) => "net.IP",
            Self::Cidr(..) => "net.CIDR",
            Self::Url(_) => "kubernetes.URL",
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Semver(_) => "kubernetes.Semver",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::Authorizer => "kubernetes.authorization.Authorizer",
        }
    }

    /// Returns the text, if the value is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text.as_str()),
            _ => None,
        }
    }
}

/// Returns `true` if two values are equal; values of different types are not.
pub fn equal(left: &Val<'_>, right: &Val<'_>) -> bool {
    match (left, right) {
        (Val::Null, Val::Null) | (Val::Authorizer, Val::Authorizer) | (Val::Optional(None), Val::Optional(None)) => {
            true
        }
        (Val::Bool(a), Val::Bool(b)) => a == b,
        (Val::Str(a), Val::Str(b)) => a.as_str() == b.as_str(),
        (Val::Bytes(a), Val::Bytes(b)) => a == b,
        (Val::List(a), Val::List(b)) => equal_lists(a, b),
        (Val::Map(a), Val::Map(b)) => equal_maps(a, b),
        (Val::Timestamp(a), Val::Timestamp(b)) => a == b,
        (Val::Duration(a), Val::Duration(b)) => a == b,
        (Val::Optional(Some(a)), Val::Optional(Some(b))) => equal(a, b),
        (Val::Type(a), Val::Type(b)) | (Val::Format(a), Val::Format(b)) => a == b,
        (Val::Ip(a), Val::Ip(b)) => a == b,
        (Val::Cidr(a, x), Val::Cidr(b, y)) => a == b && x == y,
        (Val::Url(a), Val::Url(b)) => a.text == b.text,
        (Val::Quantity(a), Val::Quantity(b)) => a.order(b).is_eq(),
        (Val::Semver(a), Val::Semver(b)) => a.cmp_precedence(b).is_eq(),
        _ => numbers(left, right) == Some(Ordering::Equal),
    }
}

fn equal_lists(left: &List<'_>, right: &List<'_>) -> bool {
    if left.count() != right.count() {
        return false;
    }
    let kind = |list: &List<'_>| match list {
        List::Json(_, Some(node)) => node.list_type,
        List::Json(_, None) | List::Made(_) => ListType::Atomic,
    };
    match (kind(left), kind(right)) {
        (ListType::Atomic, ListType::Atomic) => left.iter().zip(right.iter()).all(|(a, b)| equal(&a, &b)),
        // Sets and maps among lists have no order.
        _ => left.iter().all(|a| right.iter().any(|b| equal(&a, &b))),
    }
}

fn equal_maps(left: &MapVal<'_>, right: &MapVal<'_>) -> bool {
    if let (MapVal::Json(a, x), MapVal::Json(b, y)) = (left, right)
        && std::ptr::eq(
            x.map_or(std::ptr::null(), std::ptr::from_ref::<Node>),
            y.map_or(std::ptr::null(), std::ptr::from_ref),
        )
        && a == b
    {
        return true;
    }
    left.count() == right.count()
        && left.keys().iter().all(|key| match (left.get(key), right.get(key)) {
            (Some(a), Some(b)) => equal(&a, &b),
            (_, None) | (None, _) => false,
        })
}

/// Returns the order of two numbers of any types.
#[expect(
    clippy::cast_precision_loss,
    reason = "CEL compares numbers of different kinds as doubles"
)]
pub fn numbers(left: &Val<'_>, right: &Val<'_>) -> Option<Ordering> {
    match (left, right) {
        (Val::Int(a), Val::Int(b)) => Some(a.cmp(b)),
        (Val::Uint(a), Val::Uint(b)) => Some(a.cmp(b)),
        (Val::Int(a), Val::Uint(b)) => Some(u64::try_from(*a).map_or(Ordering::Less, |a| a.cmp(b))),
        (Val::Uint(a), Val::Int(b)) => Some(u64::try_from(*b).map_or(Ordering::Greater, |b| a.cmp(&b))),
        (Val::Double(a), Val::Double(b)) => a.partial_cmp(b),
        (Val::Double(a), Val::Int(b)) => a.partial_cmp(&(*b as f64)),
        (Val::Int(a), Val::Double(b)) => (*a as f64).partial_cmp(b),
        (Val::Double(a), Val::Uint(b)) => a.partial_cmp(&(*b as f64)),
        (Val::Uint(a), Val::Double(b)) => (*a as f64).partial_cmp(b),
        _ => None,
    }
}
