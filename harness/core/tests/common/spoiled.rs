//! Good timelines of `fixtures/timelines`, and bad ones made of them, each spoiled in one way.
#![allow(dead_code, reason = "each test uses a part of it")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a good timeline can be read and has all that is spoiled in it, or the test has failed"
)]

use std::{fs, path::Path, sync::Arc};

use baton_core::{
    judge::failovers::{self, Task},
    timeline::{Change, Entry, Event, ObjectId, Revision, Timeline},
};
use serde_json::{Value, json};

/// The good timeline of a proposal's case, as it is stored.
pub fn good(case: &str) -> Timeline {
    let file = format!("../../fixtures/timelines/{case}/good.jsonl");
    let text = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    Timeline::read(text.as_slice()).unwrap()
}

/// The timeline of a proposal's case: the good one, or one spoiled in the way of this name.
pub fn timeline(case: &str, name: &str) -> Timeline {
    let spoil = match name {
        "good" => return good(case),
        "label-added-later" => label_added_later,
        "label-missing" => label_missing,
        "label-on-template" => label_on_template,
        "label-with-wrong-value" => label_with_wrong_value,
        "named-before-old-is-gone" => named_before_old_is_gone,
        "new-before-old-is-gone" => new_before_old_is_gone,
        "task-without-predecessors" => task_without_predecessors,
        "two-live-copies" => two_live_copies,
        _ => panic!("timelines are not spoiled by {name}"),
    };
    spoiled(&good(case), spoil)
}

/// The bytes of that timeline, as a run writes them.
pub fn bytes(case: &str, name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    timeline(case, name).write(&mut bytes).unwrap();
    bytes
}

/// The entries are numbered anew after the change.
fn spoiled(good: &Timeline, spoil: fn(Vec<Entry>, &Task) -> Vec<Entry>) -> Timeline {
    let task = failovers::tasks(good.entries()).into_iter().next().unwrap();
    let mut entries = spoil(good.entries().to_vec(), &task);
    for (seq, entry) in (1..).zip(&mut entries) {
        entry.seq = seq;
    }
    Timeline::new(entries).unwrap()
}

fn revision(entry: &Entry) -> Option<&Revision> {
    match &entry.event {
        Event::Revision(revision) => Some(revision),
        Event::Mark(_) => None,
    }
}

/// Returns `true` if an entry is of the new copy.
fn is_new(entry: &Entry, task: &Task) -> bool {
    revision(entry).is_some_and(|revision| {
        !revision.cluster.is_control() && revision.cluster != task.from && task.is_copy(&ObjectId::of(revision))
    })
}

/// Position of the entry that deletes the old copy.
fn origin_gone(entries: &[Entry], task: &Task) -> usize {
    let is_gone =
        |it: &Revision| it.change == Change::Deleted && it.cluster == task.from && task.is_copy(&ObjectId::of(it));
    entries
        .iter()
        .position(|entry| revision(entry).is_some_and(is_gone))
        .unwrap()
}

/// Position of the entry that creates the new copy.
fn first_new(entries: &[Entry], task: &Task) -> usize {
    entries.iter().position(|entry| is_new(entry, task)).unwrap()
}

fn edit(entry: &mut Entry, change: impl Fn(&mut Value)) {
    if let Event::Revision(revision) = &mut entry.event {
        change(Arc::make_mut(&mut revision.object));
    }
}

fn without_labels(object: &mut Value, task: &Task) {
    if let Some(labels) = object.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        labels.retain(|key, _| !task.state.contains_key(key));
    }
}

fn label_missing(mut entries: Vec<Entry>, task: &Task) -> Vec<Entry> {
    for entry in entries.iter_mut().filter(|entry| is_new(entry, task)) {
        edit(entry, |object| without_labels(object, task));
    }
    entries
}

fn label_added_later(mut entries: Vec<Entry>, task: &Task) -> Vec<Entry> {
    let first = first_new(&entries, task);
    edit(&mut entries[first], |object| without_labels(object, task));
    entries
}

fn label_with_wrong_value(mut entries: Vec<Entry>, task: &Task) -> Vec<Entry> {
    for entry in entries.iter_mut().filter(|entry| is_new(entry, task)) {
        edit(entry, |object| {
            for key in task.state.keys() {
                object["metadata"]["labels"][key] = json!("wrong");
            }
        });
    }
    entries
}

fn label_on_template(mut entries: Vec<Entry>, task: &Task) -> Vec<Entry> {
    let at = first_new(&entries, task);
    let template = entries[..at]
        .iter()
        .rev()
        .find(|entry| revision(entry).is_some_and(|it| it.cluster.is_control() && task.is_copy(&ObjectId::of(it))));
    let mut template = template.unwrap().clone();
    template.at = entries[at].at;
    if let Event::Revision(revision) = &mut template.event {
        revision.change = Change::Modified;
    }
    edit(&mut template, |object| {
        for (key, value) in &task.state {
            object["metadata"]["labels"][key] = json!(value);
        }
    });
    entries.insert(at, template);
    entries
}

fn new_before_old_is_gone(mut entries: Vec<Entry>, task: &Task) -> Vec<Entry> {
    let gone = origin_gone(&entries, task);
    let mut gone = entries.remove(gone);
    let at = first_new(&entries, task);
    gone.at = entries[at].at;
    entries.insert(at + 1, gone);
    entries
}

/// The result names the next cluster in the revision with which the task is written.
fn named_before_old_is_gone(mut entries: Vec<Entry>, task: &Task) -> Vec<Entry> {
    let to = revision(&entries[first_new(&entries, task)]).unwrap().cluster.clone();
    let written = entries.iter_mut().find(|entry| entry.seq == task.written.seq).unwrap();
    edit(written, |binding| {
        binding["spec"]["clusters"] = json!([{"name": to.as_str()}]);
    });
    entries
}

fn two_live_copies(mut entries: Vec<Entry>, task: &Task) -> Vec<Entry> {
    let gone = origin_gone(&entries, task);
    let at = first_new(&entries, task);
    let mut back = entries[gone].clone();
    back.at = entries[at].at;
    if let Event::Revision(revision) = &mut back.event {
        revision.change = Change::Added;
    }
    entries.insert(at + 1, back);
    entries
}

fn task_without_predecessors(mut entries: Vec<Entry>, _task: &Task) -> Vec<Entry> {
    for entry in &mut entries {
        edit(entry, |object| {
            let tasks = object
                .pointer_mut("/spec/gracefulEvictionTasks")
                .and_then(Value::as_array_mut);
            for task in tasks.into_iter().flatten().filter_map(Value::as_object_mut) {
                task.remove("clustersBeforeFailover");
            }
        });
    }
    entries
}
