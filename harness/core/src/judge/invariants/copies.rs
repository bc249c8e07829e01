//! The number of copies of a workload, and the order in which they are created and deleted.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Found, History, blaming, finding, pods};
use crate::{
    case::model::Invariant,
    judge::{
        failovers::Migrations,
        order::{Before, Placed, Precedence},
    },
    names::ClusterName,
    timeline::{Change, ObjectId},
    workload::Workload,
};

/// PRG-01, PRG-02: under Directly an object is created on another cluster only when it is absent from the origin. PRG-02 is
/// broken if the old copy is only marked for deletion.
pub(super) fn origin_gone_first(history: &History<'_>) -> Found {
    let mut found = Found::default();
    for task in history
        .tasks
        .iter()
        .filter(|task| task.is_directly() && task.ran_alone())
    {
        let copies = history.copies_of(task);
        let mut is_first = true;
        for (entry, revision) in copies {
            let elsewhere = revision.cluster != task.from && !revision.cluster.is_control();
            let created = revision.change == Change::Added && elsewhere;
            if !created || entry.seq < task.written.seq {
                continue;
            }
            let was_there = was_there(copies, (entry, revision), &task.from, &history.precedence);
            // The task may be cleared with the decision where the new copy goes, before that is there. Why one is
            // cleared while the old copy is there is not known here; PRG-03 does not ask.
            let is_shown = is_first && task.is_to_remove_at(entry.seq) && matches!(was_there, There::No);
            is_first = false;
            if !is_shown && !task.is_pending_at(entry.seq) {
                continue;
            }
            found.judged += 1;
            let expected = format!(
                "{} absent from {} before it is created anywhere else",
                task.workload, task.from
            );
            let of = |seen| {
                let object = Some(ObjectId::of(revision));
                finding(
                    Invariant::OriginGoneBeforeDestinationCreated,
                    entry,
                    object,
                    expected,
                    seen,
                )
            };
            match was_there {
                There::No => {}
                There::Yes(old) => {
                    let marked = old.1.object.pointer("/metadata/deletionTimestamp").is_some();
                    let (blamed, still) = if marked {
                        ("PRG-02", "still there, marked for deletion")
                    } else {
                        ("PRG-01", "still there")
                    };
                    let seen = format!(
                        "created on {} while the one on {}{} is {still}{}",
                        revision.cluster,
                        task.from,
                        created_after(copies, old, task.written.seq),
                        stayed(copies, (entry, revision), &task.from)
                    );
                    found.findings.push(blaming(of(seen), blamed));
                }
                There::Unknown(gone) => {
                    let seen = too_close(gone, (entry, revision));
                    found.cannot_tell(of(seen));
                }
            }
        }
    }
    found
}

/// Presence of a copy on a cluster at the moment of another event.
pub(super) enum There<'a> {
    No,
    /// With its latest revision until then.
    Yes(Placed<'a>),
    /// It was deleted at about the same time, and this is the revision that says so.
    Unknown(Placed<'a>),
}

/// Presence of a copy on `cluster` at the moment of an event.
pub(super) fn was_there<'a>(
    copies: &[Placed<'a>],
    event: Placed<'a>,
    cluster: &ClusterName,
    precedence: &Precedence,
) -> There<'a> {
    let place = copies.partition_point(|(entry, _)| entry.seq < event.0.seq);
    let on_cluster = |(_, it): &&Placed<'a>| it.cluster == *cluster;
    let Some(last) = copies[..place].iter().rfind(on_cluster) else {
        return There::No;
    };
    if last.1.change == Change::Deleted {
        return match precedence.before(*last, event) {
            Before::Yes => There::No,
            Before::No => There::Yes(*last),
            Before::Unknown => There::Unknown(*last),
        };
    }
    let is_end = |it: &&Placed<'a>| on_cluster(it) && it.1.change == Change::Deleted;
    match copies[place..].iter().find(is_end) {
        Some(gone) => match precedence.before(event, *gone) {
            Before::Yes => There::Yes(*last),
            Before::No => There::No,
            Before::Unknown => There::Unknown(*gone),
        },
        None => There::Yes(*last),
    }
}

/// Says how long a copy stayed after an event, as `, for 65.1 ms more`; empty if it was not removed.
pub(super) fn stayed(copies: &[Placed<'_>], event: Placed<'_>, cluster: &ClusterName) -> String {
    let after = copies.partition_point(|(entry, _)| entry.seq <= event.0.seq);
    let gone = copies[after..]
        .iter()
        .find(|(_, it)| it.cluster == *cluster && it.change == Change::Deleted);
    let Some((gone, _)) = gone else {
        return String::new();
    };
    let time = gone.at.saturating_sub(event.0.at).as_secs_f64();
    if time < 1.0 {
        format!(", for {:.1} ms more", time * 1e3)
    } else {
        format!(", for {time:.1} s more")
    }
}

/// Says that a copy was created after its workload was evicted, as after a restart with an old cache; empty otherwise.
fn created_after(copies: &[Placed<'_>], old: Placed<'_>, evicted: u64) -> String {
    let until = copies.partition_point(|(entry, _)| entry.seq <= old.0.seq);
    let created = copies[..until]
        .iter()
        .rfind(|(_, it)| it.cluster == old.1.cluster && it.change == Change::Added);
    created
        .filter(|(created, _)| created.seq > evicted)
        .map(|(created, _)| format!(", created after the eviction (at {:.3} s),", created.at.as_secs_f64()))
        .unwrap_or_default()
}

fn too_close(gone: Placed<'_>, created: Placed<'_>) -> String {
    format!(
        "gone from {} and created on {} within {:.1} ms: too close to tell which came first",
        gone.1.cluster,
        created.1.cluster,
        gone.0.at.abs_diff(created.0.at).as_secs_f64() * 1e3
    )
}

/// PRG-03: while a workload that ran on one cluster leaves it under Directly, no two members hold it at once.
pub(super) fn at_most_one_copy(history: &History<'_>) -> Found {
    let mut found = Found::default();
    let mut of_workloads: BTreeMap<_, Migrations<'_>> = BTreeMap::new();
    for task in history.tasks.iter().filter(|task| task.ran_alone()) {
        let Migrations { directly, others } = of_workloads.entry(Workload::from(&task.workload)).or_default();
        if task.is_directly() { directly } else { others }.push(task);
    }
    for migrations in of_workloads.into_values() {
        let Some(task) = migrations.directly.first().copied() else {
            continue;
        };
        found.judged += 1;
        let on_members = history.copies_of(task).iter().copied();
        let copies: Vec<Placed<'_>> = on_members.filter(|(_, it)| !it.cluster.is_control()).collect();
        let mut holders: BTreeMap<&ClusterName, usize> = BTreeMap::new();
        let mut overlapping = false;
        let mut first_overlap = None;
        for (place, (entry, revision)) in copies.iter().enumerate() {
            match revision.change {
                Change::Deleted => drop(holders.remove(&revision.cluster)),
                Change::List | Change::Added | Change::Modified => {
                    holders.entry(&revision.cluster).or_insert(place);
                }
            }
            let expected = || format!("{} on one cluster at most, at every moment", task.workload);
            let of = |seen| {
                let object = Some(ObjectId::of(revision));
                finding(Invariant::AtMostOneLiveCopy, entry, object, expected(), seen)
            };
            // One finding for each time that two copies begin to exist, not for each revision in between.
            let mut rivals = holders.clone();
            rivals.retain(|cluster, _| !migrations.may_stay(entry.seq, cluster));
            let overlaps = rivals.len() > 1 && migrations.concern(entry.seq, rivals.keys().copied());
            if overlaps && !overlapping {
                let all = rivals.keys().map(|it| it.as_str()).collect::<Vec<_>>().join(" and ");
                match overlap(&copies, &rivals, &history.precedence) {
                    There::No => {}
                    There::Yes(_) => {
                        first_overlap.get_or_insert(entry.seq);
                        found.findings.push(of(format!("copies on {all} at the same time")));
                    }
                    There::Unknown(gone) => found.cannot_tell(of(too_close(gone, (entry, revision)))),
                }
            }
            overlapping = overlaps;
            let alone = holders.len() == 1 && revision.change == Change::Added;
            let unclear = alone.then(|| just_gone(&copies, place, &history.precedence)).flatten();
            let unclear = unclear.filter(|(_, gone)| migrations.concern(entry.seq, [&gone.cluster]));
            if let Some(gone) = unclear {
                found.cannot_tell(of(too_close(gone, (entry, revision))));
            }
        }
        // Pods of copies that overlap do so too.
        let pods = pods::overlap(history, task, &migrations).into_iter();
        let is_new = |finding: &Finding| first_overlap.is_none_or(|first| finding.seq < first);
        found.findings.extend(pods.filter(is_new));
        shadows(history, &migrations, &copies, &mut found);
    }
    found
}

/// Finds shadow copies on one cluster while a copy is on another one: when either is created, and when a task is written.
fn shadows(history: &History<'_>, migrations: &Migrations<'_>, copies: &[Placed<'_>], found: &mut Found) {
    let Some(task) = migrations.directly.first() else {
        return;
    };
    let shadows = history.shadows_of(task);
    let holders: BTreeSet<&ClusterName> = copies.iter().map(|(_, it)| &it.cluster).collect();
    for (place, shadow) in shadows.iter().enumerate() {
        let id = ObjectId::of(shadow.1);
        let before = shadows[..place].iter().rfind(|(_, it)| ObjectId::of(it) == id);
        let begins = shadow.1.change != Change::Deleted && before.is_none_or(|(_, it)| it.change == Change::Deleted);
        if !begins {
            continue;
        }
        let gone = shadows
            .iter()
            .find(|(entry, it)| entry.seq > shadow.0.seq && it.change == Change::Deleted && ObjectId::of(it) == id);
        let is_there =
            |(entry, _): &Placed<'_>| entry.seq >= shadow.0.seq && gone.is_none_or(|(gone, _)| entry.seq < gone.seq);
        let tasks = migrations.directly.iter().filter_map(|task| history.written(task));
        let created = copies.iter().copied().filter(|(_, it)| it.change == Change::Added);
        let moments = std::iter::once(*shadow).chain(tasks).chain(created).filter(is_there);
        let beside = moments.into_iter().find_map(|moment| {
            let concerned = |other: &&ClusterName| {
                let begins = migrations.directly.iter().any(|task| task.written.seq == moment.0.seq);
                let is_concerned = begins || migrations.concern(moment.0.seq, [*other, &shadow.1.cluster]);
                is_concerned && !migrations.may_stay(moment.0.seq, other)
            };
            let others = holders
                .iter()
                .copied()
                .filter(|it| **it != shadow.1.cluster)
                .filter(concerned);
            let mut there = others.map(|it| (it, was_there(copies, moment, it, &history.precedence)));
            // The moment may be the creation of that copy.
            let is_there = |other: &ClusterName, it| matches!(it, There::Yes(_)) || moment.1.cluster == *other;
            there.find_map(|(other, it)| is_there(other, it).then_some((moment.0, other)))
        });
        if let Some((entry, other)) = beside {
            found.findings.push(finding(
                Invariant::AtMostOneLiveCopy,
                entry,
                Some(id.clone()),
                format!("{} on one cluster at most, at every moment", task.workload),
                format!(
                    "a copy on {other}, and {} {} with its containers on {}",
                    id.kind, id.name, id.cluster
                ),
            ));
        }
    }
}

/// Returns `true` if two clusters that hold a copy at once, by the order of the timeline, really did so at the same time.
fn overlap<'a>(copies: &[Placed<'a>], holders: &BTreeMap<&ClusterName, usize>, precedence: &Precedence) -> There<'a> {
    let mut worst = There::No;
    for place in holders.values() {
        for (other, _) in holders.iter().filter(|(_, began)| *began < place) {
            match was_there(copies, copies[*place], other, precedence) {
                There::No => {}
                There::Yes(old) => return There::Yes(old),
                There::Unknown(gone) => worst = There::Unknown(gone),
            }
        }
    }
    worst
}

/// The end of another copy that stands before the beginning of this one, but may have come after it.
fn just_gone<'a>(copies: &[Placed<'a>], place: usize, precedence: &Precedence) -> Option<Placed<'a>> {
    let here = &copies[place].1.cluster;
    let others: BTreeSet<&ClusterName> = copies[..place].iter().map(|(_, it)| &it.cluster).collect();
    others.into_iter().filter(|other| *other != here).find_map(|other| {
        match was_there(copies, copies[place], other, precedence) {
            There::Unknown(gone) => Some(gone),
            There::No | There::Yes(_) => None,
        }
    })
}
