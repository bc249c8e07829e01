//! The guides of the repository refer to files that are there.

#![expect(clippy::unwrap_used, reason = "what fails here fails a test")]

mod common;

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The guides of the repository.
fn guides() -> Vec<PathBuf> {
    fn below(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && !name.starts_with('.') && name != "target" && name != "node_modules" {
                below(&path, found);
            } else if path.extension().is_some_and(|it| it == "md") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    below(&common::root(), &mut found);
    found
}

/// References of a guide: targets of links, and files that it names in full.
fn references(text: &str) -> Vec<(bool, &str)> {
    let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let links = links.filter(|link| !link.contains("://") && !link.starts_with('#'));
    let named = text.split('`').skip(1).step_by(2);
    let rooms = ["harness/", "controller/", "cases/", "fixtures/", "snapshots/"];
    let named = named.filter(|name| rooms.iter().any(|room| name.starts_with(room)));
    let named = named.filter(|name| !name.contains(['*', '<', '{', ' ', '\n', '…']));
    links
        .map(|link| (true, link))
        .chain(named.map(|name| (false, name)))
        .collect()
}

#[test]
fn what_guides_refer_to_is_there() {
    let guides = guides();
    assert!(guides.len() > 5, "{guides:?}");
    let mut missing = Vec::new();
    for guide in guides {
        let text = fs::read_to_string(&guide).unwrap();
        for (is_link, reference) in references(&text) {
            let path = reference.split('#').next().unwrap_or_default();
            let folder = guide.parent().unwrap_or(Path::new("."));
            let there = if is_link {
                folder.join(path)
            } else {
                common::root().join(path)
            };
            if !there.exists() {
                missing.push(format!("{}: {reference}", guide.display()));
            }
        }
    }
    assert!(missing.is_empty(), "there is no such file: {missing:#?}");
}
