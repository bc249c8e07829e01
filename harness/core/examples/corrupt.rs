//! Makes bad timelines out of a good one, for the tests of the judge.
//!
//! `cargo run -p baton-core --example corrupt -- fixtures/timelines/deployment-directly/good.jsonl`
//! writes the bad ones beside it, each broken in one way. To be run again when the format of timelines, or the case,
//! has changed: first write the good one with `baton run CASE --timelines DIR`.

use std::{env, error::Error, fs::File, io::BufReader, path::PathBuf, sync::Arc};

use baton_core::{
    judge::failovers::{self, Task},
    timeline::{Change, Entry, Event, ObjectId, Revision, Timeline},
};
use serde_json::{Value, json};

/// A way to break a timeline: gives other entries; their numbers are made anew afterwards.
type Corruption = fn(Vec<Entry>, &Task) -> Vec<Entry>;

const CORRUPTIONS: [(&str, Corruption); 7] = [
    ("label-missing", label_missing),
    ("label-on-template", label_on_template),
    ("label-added-later", label_added_later),
    ("label-with-wrong-value", label_with_wrong_value),
    ("new-before-old-is-gone", new_before_old_is_gone),
    ("two-live-copies", two_live_copies),
    ("task-without-predecessors", task_without_predecessors),
];

fn main() -> Result<(), Box<dyn Error>> {
    let good: PathBuf = env::args().nth(1).ok_or("which timeline?")?.into();
    let timeline = Timeline::read(BufReader::new(File::open(&good)?))?;
    let task = failovers::tasks(timeline.entries())
        .into_iter()
        .next()
        .ok_or("there is no eviction task in it")?;
    for (name, corrupt) in CORRUPTIONS {
        let mut entries = corrupt(timeline.entries().to_vec(), &task);
        for (seq, entry) in (1..).zip(&mut entries) {
            entry.seq = seq;
        }
        let path = good.with_file_name(name).with_extension("jsonl");
        Timeline::new(entries)?.write(File::create(path)?)?;
    }
    Ok(())
}

fn revision(entry: &Entry) -> Option<&Revision> {
    match &entry.event {
        Event::Revision(revision) => Some(revision),
        Event::Mark(_) => None,
    }
}

/// Whether an entry is of the new copy.
fn is_new(entry: &Entry, task: &Task) -> bool {
    revision(entry).is_some_and(|revision| {
        !revision.cluster.is_control() && revision.cluster != task.from && task.is_copy(&ObjectId::of(revision))
    })
}

fn is_origin_gone(entry: &Entry, task: &Task) -> bool {
    revision(entry)
        .is_some_and(|it| it.change == Change::Deleted && it.cluster == task.from && task.is_copy(&ObjectId::of(it)))
}

fn first_new(entries: &[Entry], task: &Task) -> usize {
    entries
        .iter()
        .position(|entry| is_new(entry, task))
        .unwrap_or(entries.len() - 1)
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
    let Some(mut template) = template.cloned() else {
        return entries;
    };
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
    let Some(gone) = entries.iter().position(|entry| is_origin_gone(entry, task)) else {
        return entries;
    };
    let mut gone = entries.remove(gone);
    let at = first_new(&entries, task);
    gone.at = entries[at].at;
    entries.insert(at + 1, gone);
    entries
}

fn two_live_copies(mut entries: Vec<Entry>, task: &Task) -> Vec<Entry> {
    let Some(gone) = entries.iter().position(|entry| is_origin_gone(entry, task)) else {
        return entries;
    };
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
