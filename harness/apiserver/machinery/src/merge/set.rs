//! Sets of fields, as `managedFields` keeps them.
//!
//! A [`Set`] is a tree with the keys of the `FieldsV1` format: `f:<field>`, `k:<key fields as JSON>`, `v:<value as
//! JSON>`, `i:<index>`. A flag marks a node that is itself a member of the set (`.` in the JSON, or an object without
//! members).

use std::cmp::Ordering;
use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Maximum depth of a tree; deeper members are dropped. Objects are never that deep.
const MAX_DEPTH: usize = 200;

/// One step of a path, written as in `FieldsV1`.
pub(crate) type Element = Box<str>;

/// The step to a field of a struct or a key of a map.
pub(crate) fn field(name: &str) -> Element {
    let mut element = String::with_capacity(name.len() + 2);
    element.push_str("f:");
    element.push_str(name);
    element.into()
}

/// A set of fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Set {
    /// Sorted by element. Most nodes have one or two children: a map would take many times their memory.
    nodes: Vec<(Element, Node)>,
}

/// A step below which there may be more steps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Node {
    member: bool,
    below: Set,
}

impl Node {
    fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }
}

impl Set {
    /// Returns the index of an element, or the index at which to insert it. Elements mostly arrive in order, so most
    /// inserts are appends.
    fn position(&self, element: &str) -> Result<usize, usize> {
        let last = self.nodes.len().wrapping_sub(1);
        match self.nodes.get(last).map(|(other, _)| (**other).cmp(element)) {
            None => Err(0),
            Some(Ordering::Less) => Err(last + 1),
            Some(Ordering::Equal) => Ok(last),
            Some(Ordering::Greater) => self.nodes.binary_search_by(|(other, _)| (**other).cmp(element)),
        }
    }

    fn node(&self, element: &str) -> Option<&Node> {
        let position = self.position(element).ok()?;
        self.nodes.get(position).map(|(_, node)| node)
    }

    fn node_mut(&mut self, element: Element) -> &mut Node {
        let position = self.position(&element).unwrap_or_else(|free| {
            self.nodes.insert(free, (element, Node::default()));
            free
        });
        &mut self.nodes[position].1
    }

    /// Returns `true` if the set is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Makes the step itself a member.
    pub(crate) fn insert(&mut self, element: Element) {
        self.node_mut(element).member = true;
    }

    /// Makes everything in `below` a member below the step.
    pub(crate) fn insert_below(&mut self, element: Element, below: Self) {
        if below.is_empty() {
            return;
        }
        self.node_mut(element).below.unite(below);
    }

    /// Makes the field at the end of a path of fields a member.
    pub(crate) fn insert_path(&mut self, path: &[&str]) {
        match path {
            [] => {}
            [last] => self.insert(field(last)),
            [first, rest @ ..] => self.node_mut(field(first)).below.insert_path(rest),
        }
    }

    /// Returns `true` if the step itself is a member.
    pub(crate) fn has(&self, element: &str) -> bool {
        self.node(element).is_some_and(|node| node.member)
    }

    /// Returns the members below a step, or `None` if there are none.
    pub(crate) fn below(&self, element: &str) -> Option<&Self> {
        self.node(element)
            .map(|node| &node.below)
            .filter(|below| !below.is_empty())
    }

    /// Returns the steps, each with a flag for membership and the set below it.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (&str, bool, &Self)> {
        self.nodes
            .iter()
            .map(|(element, node)| (&**element, node.member, &node.below))
    }

    /// Adds the members of another set.
    pub(crate) fn unite(&mut self, other: Self) {
        if self.nodes.is_empty() {
            self.nodes = other.nodes;
            return;
        }
        let mut mine = std::mem::take(&mut self.nodes).into_iter().peekable();
        for (element, theirs) in other.nodes {
            while let Some(before) = mine.next_if(|(each, _)| *each < element) {
                self.nodes.push(before);
            }
            let (_, mut node) = mine.next_if(|(each, _)| *each == element).unwrap_or_default();
            node.member |= theirs.member;
            node.below.unite(theirs.below);
            self.nodes.push((element, node));
        }
        self.nodes.extend(mine);
    }

    /// The members of this set that are not members of the other.
    pub(crate) fn difference(&self, other: &Self) -> Self {
        self.filter(|element, node| {
            let Some(theirs) = other.node(element) else {
                return node.clone();
            };
            Node {
                member: node.member && !theirs.member,
                below: node.below.difference(&theirs.below),
            }
        })
    }

    /// Removes the members of another set.
    pub(crate) fn subtract(&mut self, other: &Self) {
        for (element, theirs) in &other.nodes {
            if let Ok(position) = self.position(element) {
                let node = &mut self.nodes[position].1;
                node.member &= !theirs.member;
                node.below.subtract(&theirs.below);
            }
        }
        self.nodes.retain(|(_, node)| !node.is_empty());
    }

    /// Returns `true` if the sets share a member.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.nodes.iter().any(|(element, node)| {
            let theirs = other.node(element);
            theirs.is_some_and(|theirs| (node.member && theirs.member) || node.below.meets(&theirs.below))
        })
    }

    /// The members of this set that are neither members of the other nor below one.
    pub(crate) fn recursive_difference(&self, other: &Self) -> Self {
        self.filter(|element, node| match other.node(element) {
            None => node.clone(),
            Some(theirs) if theirs.member => Node::default(),
            Some(theirs) => Node {
                member: node.member,
                below: node.below.recursive_difference(&theirs.below),
            },
        })
    }

    /// The members of both sets.
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        self.filter(|element, node| {
            let Some(theirs) = other.node(element) else {
                return Node::default();
            };
            Node {
                member: node.member && theirs.member,
                below: node.below.intersection(&theirs.below),
            }
        })
    }

    fn filter(&self, keep: impl Fn(&str, &Node) -> Node) -> Self {
        let nodes = self
            .nodes
            .iter()
            .filter_map(|(element, node)| {
                let kept = keep(element, node);
                (!kept.is_empty()).then(|| (element.clone(), kept))
            })
            .collect();
        Self { nodes }
    }

    /// The paths of all members as messages write them: `.spec.containers[name="c"].image`.
    pub fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.collect_paths("", &mut paths);
        paths
    }

    fn collect_paths(&self, prefix: &str, paths: &mut Vec<String>) {
        for (element, node) in &self.nodes {
            if node.member {
                paths.push(format!("{prefix}{}", written(element)));
            }
        }
        for (element, node) in &self.nodes {
            if !node.below.is_empty() {
                node.below
                    .collect_paths(&format!("{prefix}{}", written(element)), paths);
            }
        }
    }

    /// Reads `fieldsV1`. Returns `None` if a step has an unknown form.
    pub(crate) fn from_fields_v1(value: &Value) -> Option<Self> {
        Self::read(value, 0)
    }

    fn read(value: &Value, depth: usize) -> Option<Self> {
        let mut set = Self::default();
        if depth > MAX_DEPTH {
            return Some(set);
        }
        for (key, inner) in value.as_object()? {
            if key == "." {
                continue;
            }
            if !key
                .as_bytes()
                .get(1)
                .is_some_and(|colon| *colon == b':' && key.starts_with(['f', 'k', 'v', 'i']))
            {
                return None;
            }
            let members = inner.as_object()?;
            let node = Node {
                member: members.is_empty() || members.contains_key("."),
                below: Self::read(inner, depth + 1)?,
            };
            set.nodes.push((canonical(key), node));
        }
        // A set in another form than ours may be out of order or contain duplicates: the last one counts.
        set.nodes.reverse();
        set.nodes.sort_by(|(left, _), (right, _)| left.cmp(right));
        set.nodes.dedup_by(|(later, _), (earlier, _)| later == earlier);
        Some(set)
    }

    /// Writes `fieldsV1`.
    pub fn to_fields_v1(&self) -> Value {
        let mut map = Map::new();
        for (element, node) in &self.nodes {
            let mut inner = node.below.to_fields_v1();
            if node.member
                && !node.below.is_empty()
                && let Value::Object(members) = &mut inner
            {
                members.insert(".".to_owned(), Value::Object(Map::new()));
            }
            map.insert(String::from(&**element), inner);
        }
        Value::Object(map)
    }
}

/// Normalizes the JSON of keys and values in an element, so that elements from different writers compare equal.
fn canonical(key: &str) -> Element {
    match key.split_at_checked(2) {
        Some((kind @ ("k:" | "v:"), json)) => match serde_json::from_str::<Value>(json) {
            Ok(value) => format!("{kind}{value}").into(),
            Err(_) => key.into(),
        },
        _ => key.into(),
    }
}

/// A step as messages write it: `.field`, `[name="x",port=80]`, `[="value"]`, `[3]`.
pub(crate) fn written(element: &str) -> String {
    let Some((kind, rest)) = element.split_at_checked(2) else {
        return element.to_owned();
    };
    match kind {
        "f:" => format!(".{rest}"),
        "v:" => format!("[={rest}]"),
        "k:" => {
            let mut text = String::from("[");
            if let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(rest) {
                for (position, (name, value)) in fields.iter().enumerate() {
                    let comma = if position == 0 { "" } else { "," };
                    let _ = write!(text, "{comma}{name}={value}");
                }
            }
            text.push(']');
            text
        }
        _ => format!("[{rest}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn set(value: &Value) -> Set {
        Set::from_fields_v1(value).expect("fields")
    }

    #[test]
    fn fields_v1_are_read_and_written_alike() {
        let fields = json!({"f:data": {".": {}, "f:k": {}}, "f:spec": {"f:list": {"k:{\"name\":\"x\",\"port\":80}": {".": {}, "f:name": {}}}, "f:set": {"v:\"a\"": {}}}});
        assert_eq!(set(&fields).to_fields_v1(), fields);
        assert_eq!(
            set(&fields).paths(),
            [
                ".data",
                ".data.k",
                ".spec.list[name=\"x\",port=80]",
                ".spec.list[name=\"x\",port=80].name",
                ".spec.set[=\"a\"]"
            ]
        );
    }

    #[test]
    fn unreadable_fields_are_refused() {
        for wrong in [json!([]), json!({"x": {}}), json!({"f:a": 1}), json!({"": {}})] {
            assert_eq!(Set::from_fields_v1(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn operations_treat_a_step_and_what_is_below_separately() {
        let left = set(&json!({"f:a": {".": {}, "f:b": {}, "f:c": {}}}));
        let right = set(&json!({"f:a": {".": {}, "f:c": {}}}));
        assert_eq!(left.difference(&right), set(&json!({"f:a": {"f:b": {}}})));
        let mut less = left.clone();
        less.subtract(&right);
        assert_eq!(less, left.difference(&right));
        assert!(left.meets(&right) && !less.meets(&right));
        less.subtract(&left);
        assert!(less.is_empty());
        assert_eq!(left.intersection(&right), right);
        let parent = set(&json!({"f:a": {}}));
        assert_eq!(left.difference(&parent), set(&json!({"f:a": {"f:b": {}, "f:c": {}}})));
        assert!(left.recursive_difference(&parent).is_empty());
        let mut both = parent;
        both.unite(right);
        assert_eq!(both, set(&json!({"f:a": {".": {}, "f:c": {}}})));
    }

    #[test]
    fn sets_are_what_sets_of_paths_are() {
        const PATHS: [&[&str]; 6] = [&["b"], &["a"], &["a", "d"], &["a", "c"], &["a", "c", "x"], &["e", "f"]];
        // Each bit is a path; the paths are inserted out of order.
        let of = |bits: u32| {
            let mut set = Set::default();
            for (position, path) in PATHS.iter().enumerate() {
                if bits >> position & 1 == 1 {
                    set.insert_path(path);
                }
            }
            set
        };
        for (left, right) in (0..64).flat_map(|left| (0..64).map(move |right| (left, right))) {
            let (one, other) = (of(left), of(right));
            let (mut both, mut less) = (one.clone(), one.clone());
            both.unite(other.clone());
            less.subtract(&other);
            assert_eq!(both, of(left | right), "{left} {right}");
            assert_eq!(less, of(left & !right), "{left} {right}");
            assert_eq!(one.difference(&other), less, "{left} {right}");
            assert_eq!(one.intersection(&other), of(left & right), "{left} {right}");
            assert_eq!(one.meets(&other), left & right != 0, "{left} {right}");
            assert_eq!(one.paths().len(), left.count_ones() as usize, "{left}");
            assert_eq!(Set::from_fields_v1(&one.to_fields_v1()), Some(one), "{left}");
        }
    }

    #[test]
    fn what_is_written_out_of_order_is_read_in_order_and_the_last_of_two_counts() {
        let two = json!({"f:list": {r#"k:{"a": 2}"#: {}, r#"k:{"a":1}"#: {"f:x": {}}, r#"k:{"a":2}"#: {"f:y": {}}}});
        assert_eq!(set(&two).paths(), [".list[a=1].x", ".list[a=2].y"]);
    }
}
