//! The API's Go types, from `generated/types.txt` in the form of [`baton_apimachinery::generated`]: names, numbers and
//! types of the fields that clients see, the rules for leaving them out, and the facts in the API's documentation.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

use baton_apimachinery::generated;

use super::facts::Facts;

/// The table of all types.
pub(crate) static TYPES: LazyLock<Types> = LazyLock::new(|| Types::read(include_str!("../generated/types.txt")));

/// Types by their full names, such as `apps.v1.Deployment`.
#[derive(Debug)]
pub(crate) struct Types {
    by_name: HashMap<&'static str, usize>,
    structs: Vec<Struct>,
}

/// A type with fields.
#[derive(Debug)]
pub(crate) struct Struct {
    /// The Go name, such as `v1.PodSpec`.
    pub(crate) own: &'static str,
    /// `true` if objects of this type are merged as a whole.
    pub(crate) atomic: bool,
    /// The fields in the order of the type.
    pub(crate) fields: Vec<Field>,
    /// The fields by their names in JSON, with those of embedded structures.
    pub(crate) members: BTreeMap<&'static str, Member>,
    /// The fields that are written even if they are not set.
    pub(super) written_if_missing: Vec<&'static str>,
}

/// A field in the order of its type.
#[derive(Debug)]
pub(crate) struct Field {
    /// The number in the binary form.
    pub(crate) number: u64,
    /// The name in JSON; `-` for an embedded structure.
    pub(crate) name: &'static str,
    /// The type of the field.
    pub(crate) kind: Type,
    presence: Presence,
    facts: Arc<Facts>,
}

/// A field in JSON.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    /// The embedded structures that contain the field: `VolumeSource.`.
    pub(super) within: String,
    pub(super) kind: Type,
    pub(super) presence: Presence,
    /// The facts about the field in the API's documentation.
    pub(crate) facts: Arc<Facts>,
}

/// Treatment of a field that is missing or empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// An empty value stays, a missing one stays missing.
    Kept,
    /// An empty value is left out.
    Omitted,
    /// A missing value is written as an empty one.
    Always,
    /// A missing value is written as `null`.
    Null,
    /// A missing or empty value is written as `null`.
    NullIfEmpty,
}

/// The type of a field, an item or an entry.
#[derive(Debug, Clone)]
pub(crate) struct Type {
    /// The Go name of a named type that is not a structure.
    pub(crate) own: Option<&'static str>,
    /// The structure of the type.
    pub(crate) sort: Sort,
}

/// The structure of a type.
#[derive(Debug, Clone)]
pub(crate) enum Sort {
    /// A type with fields.
    Struct(usize),
    /// Items of one type.
    List(Box<Type>),
    /// Entries of one type.
    Map(Box<Type>),
    /// A text.
    Text,
    /// A whole number of 32 bits.
    Int32,
    /// A whole number of 64 bits.
    Int64,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// Bytes in base64.
    Bytes,
    /// A quantity.
    Quantity,
    /// A time in whole seconds.
    Time,
    /// A time in microseconds.
    MicroTime,
    /// A number or a text.
    IntOrString,
    /// A type, or an alternative to it.
    Mixed(Box<Type>, Other),
    /// Any JSON.
    Any,
}

/// The alternative to a type.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Other {
    /// A list of the type.
    List,
    /// True or false.
    Boolean,
    /// A list of texts.
    Texts,
}

impl Types {
    /// The type of a kind: `apps`, `v1`, `Deployment` is `apps.v1.Deployment`.
    pub(crate) fn of_kind(&self, group: &str, version: &str, kind: &str) -> Option<usize> {
        let package = match group.split('.').next() {
            None | Some("") => "core",
            Some(first) => first,
        };
        self.named(&format!("{package}.{version}.{kind}"))
    }

    /// The type of a full name.
    pub(crate) fn named(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Returns a type by the index from [`Types::of_kind`], [`Types::named`] or a field.
    pub(crate) fn get(&self, index: usize) -> &Struct {
        &self.structs[index]
    }

    fn read(text: &'static str) -> Self {
        let lines = || generated::lines(text);
        let by_name: HashMap<_, _> = lines().enumerate().map(|(index, line)| (line.name, index)).collect();
        let mut structs: Vec<Struct> = lines()
            .map(|line| {
                let fields = line.fields().filter_map(|field| Field::of(line.name, field, &by_name));
                Struct {
                    own: line.name.split_once('.').map_or(line.name, |(_, own)| own),
                    atomic: generated::facts(line.words).any(|fact| fact == ("map", "atomic")),
                    fields: fields.collect(),
                    members: BTreeMap::new(),
                    written_if_missing: Vec::new(),
                }
            })
            .collect();
        for index in 0..structs.len() {
            let members = members(&structs, index);
            let written = members.iter().filter(|(_, member)| match member.presence {
                Presence::Always | Presence::Null | Presence::NullIfEmpty => true,
                Presence::Kept | Presence::Omitted => false,
            });
            structs[index].written_if_missing = written.map(|(name, _)| *name).collect();
            structs[index].members = members;
        }
        Self { by_name, structs }
    }
}

/// Returns the fields of a type by their names, with those of embedded structures.
fn members(structs: &[Struct], index: usize) -> BTreeMap<&'static str, Member> {
    let mut found = BTreeMap::new();
    for field in &structs[index].fields {
        match &field.kind.sort {
            Sort::Struct(inner) if field.name == "-" => {
                let own = structs[*inner].own;
                let name = own.rsplit('.').next().unwrap_or(own);
                for (field, mut member) in members(structs, *inner) {
                    member.within.insert_str(0, &format!("{name}."));
                    found.insert(field, member);
                }
            }
            _ => {
                let member = Member {
                    within: String::new(),
                    kind: field.kind.clone(),
                    presence: field.presence,
                    facts: Arc::clone(&field.facts),
                };
                found.insert(field.name, member);
            }
        }
    }
    found
}

impl Field {
    fn of(structure: &str, field: generated::Field<'static>, by_name: &HashMap<&'static str, usize>) -> Option<Self> {
        let kind = Type::read(field.kind, by_name)?;
        Some(Self {
            number: field.number,
            name: field.name,
            presence: presence(structure, field.name, &kind.sort, field.marks),
            facts: Arc::new(Facts::of(&field)),
            kind,
        })
    }
}

impl Type {
    fn read(text: &'static str, by_name: &HashMap<&'static str, usize>) -> Option<Self> {
        if let Some((own, made_of)) = text.split_once(':')
            && !own.starts_with(['*', '%'])
        {
            let sort = Self::read(made_of, by_name)?.sort;
            return Some(Self { own: Some(own), sort });
        }
        let inner = || Self::read(&text[1..], by_name).map(Box::new);
        let sort = match text.as_bytes().first()? {
            b'*' => Sort::List(inner()?),
            b'%' => Sort::Map(inner()?),
            b'|' => {
                let other = match text.as_bytes().get(1)? {
                    b'*' => Other::List,
                    b'b' => Other::Boolean,
                    _ => Other::Texts,
                };
                Sort::Mixed(Self::read(&text[2..], by_name).map(Box::new)?, other)
            }
            _ => match text {
                "s" => Sort::Text,
                "i" => Sort::Int32,
                "l" => Sort::Int64,
                "d" => Sort::Number,
                "b" => Sort::Boolean,
                "y" => Sort::Bytes,
                "T" => Sort::Time,
                "M" => Sort::MicroTime,
                "Q" => Sort::Quantity,
                "I" => Sort::IntOrString,
                "J" => Sort::Any,
                name => Sort::Struct(*by_name.get(name)?),
            },
        };
        Some(Self { own: None, sort })
    }
}

/// Lists and maps for which empty and missing differ: a rule tells them apart, or a client sends empty `managedFields`
/// to reset them.
const KEPT: &[(&str, &str)] = &[
    ("apiextensions.v1.CustomResourceDefinitionSpec", "versions"),
    ("apiextensions.v1.JSONSchemaProps", "dependencies"),
    ("autoscaling.v2.HPAScalingRules", "policies"),
    ("batch.v1.PodFailurePolicyOnExitCodesRequirement", "values"),
    ("batch.v1.SuccessPolicy", "rules"),
    ("core.v1.EphemeralContainerCommon", "ports"),
    ("core.v1.EphemeralContainerCommon", "resizePolicy"),
    ("core.v1.EphemeralContainerCommon", "restartPolicyRules"),
    ("core.v1.PersistentVolumeSpec", "capacity"),
    ("meta.v1.ObjectMeta", "managedFields"),
    ("networking.v1.ServiceCIDRSpec", "cidrs"),
];

fn presence(of: &str, field: &str, sort: &Sort, marks: &str) -> Presence {
    let (may_be_missing, if_empty) = (marks.contains('&'), marks.contains(['?', '!']));
    if KEPT.contains(&(of, field)) {
        return Presence::Kept;
    }
    match sort {
        _ if marks.contains('!') => Presence::Omitted,
        _ if may_be_missing && if_empty => Presence::Kept,
        // A missing structure stays missing, so that validation can refuse it.
        Sort::Struct(_) if may_be_missing => Presence::Kept,
        _ if may_be_missing => Presence::Null,
        Sort::Struct(_) | Sort::Quantity | Sort::IntOrString => Presence::Always,
        Sort::Mixed(..) | Sort::Any => Presence::Null,
        Sort::Time | Sort::MicroTime => Presence::NullIfEmpty,
        _ if if_empty => Presence::Omitted,
        // The store does not return empty lists.
        Sort::List(_) | Sort::Map(_) | Sort::Bytes => Presence::NullIfEmpty,
        Sort::Text | Sort::Int32 | Sort::Int64 | Sort::Number | Sort::Boolean => Presence::Always,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_read() {
        for line in generated::lines(include_str!("../generated/types.txt")) {
            let read = TYPES.get(TYPES.named(line.name).expect(line.name)).fields.len();
            assert_eq!(read, line.items().count(), "{}", line.name);
        }
    }

    #[test]
    fn fields_of_inner_structures_are_members() {
        let volume = TYPES.get(TYPES.named("core.v1.Volume").expect("volumes"));
        assert_eq!(volume.members["name"].within, "");
        assert_eq!(volume.members["configMap"].within, "VolumeSource.");
        let rule = TYPES.get(
            TYPES
                .named("admissionregistration.v1.NamedRuleWithOperations")
                .expect("rules"),
        );
        assert_eq!(rule.members["apiGroups"].within, "RuleWithOperations.Rule.");
    }
}
