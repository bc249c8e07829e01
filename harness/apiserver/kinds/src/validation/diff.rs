//! What changed between two lists of lines, as messages show it.

use std::collections::BTreeMap;
use std::ops::Range;

use baton_apimachinery::go_values;
use serde_json::Value;

/// Lines around a change that are shown as well.
const CONTEXT: usize = 3;

/// From so many lines on, those that occur too often are no place to begin with.
const MANY: usize = 200;

/// Lines that are the same in both lists: where they begin, and how many there are.
#[derive(Debug, Clone, Copy)]
struct Block {
    old: usize,
    new: usize,
    size: usize,
}

/// Lines that are the same, or that have become others.
#[derive(Debug, Clone)]
struct Step {
    is_same: bool,
    old: Range<usize>,
    new: Range<usize>,
}

/// What changed in a value of a type such as `core.PodSpec`.
pub(super) fn of(kind: &str, old: &Value, new: &Value) -> String {
    unified(&go_values::lines(kind, old), &go_values::lines(kind, new))
}

/// The changes, each with some lines around it; empty if there is none.
fn unified(old: &[String], new: &[String]) -> String {
    let mut shown: Vec<String> = Vec::new();
    for group in grouped(steps(old, new)) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let (before, after) = (
            place(first.old.start, last.old.end),
            place(first.new.start, last.new.end),
        );
        shown.push(format!("@@ -{before} +{after} @@\n"));
        for step in &group {
            let mark = if step.is_same { ' ' } else { '-' };
            let lines = old.get(step.old.clone()).unwrap_or_default();
            shown.extend(lines.iter().map(|line| format!("{mark}{line}\n")));
            if !step.is_same {
                let lines = new.get(step.new.clone()).unwrap_or_default();
                shown.extend(lines.iter().map(|line| format!("+{line}\n")));
            }
        }
    }
    shown.concat()
}

/// A range of lines: the first one, counted from one, and how many there are unless it is one.
fn place(start: usize, end: usize) -> String {
    match end.saturating_sub(start) {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        length => format!("{},{length}", start + 1),
    }
}

/// Steps with what is far from any change left out.
fn grouped(mut steps: Vec<Step>) -> Vec<Vec<Step>> {
    if let Some(first) = steps.first_mut().filter(|first| first.is_same) {
        first.old.start = first.old.start.max(first.old.end.saturating_sub(CONTEXT));
        first.new.start = first.new.start.max(first.new.end.saturating_sub(CONTEXT));
    }
    if let Some(last) = steps.last_mut().filter(|last| last.is_same) {
        last.old.end = last.old.end.min(last.old.start + CONTEXT);
        last.new.end = last.new.end.min(last.new.start + CONTEXT);
    }
    let (mut groups, mut group) = (Vec::new(), Vec::new());
    for mut step in steps {
        if step.is_same && step.old.len() > 2 * CONTEXT {
            group.push(Step {
                is_same: true,
                old: step.old.start..step.old.start + CONTEXT,
                new: step.new.start..step.new.start + CONTEXT,
            });
            groups.push(std::mem::take(&mut group));
            step.old.start = step.old.end - CONTEXT;
            step.new.start = step.new.end - CONTEXT;
        }
        group.push(step);
    }
    groups.push(group);
    groups.retain(|group| group.iter().any(|step| !step.is_same));
    groups
}

fn steps(old: &[String], new: &[String]) -> Vec<Step> {
    let mut blocks = Vec::new();
    Matcher::new(old, new).blocks(0..old.len(), 0..new.len(), &mut blocks);
    blocks.push(Block {
        old: old.len(),
        new: new.len(),
        size: 0,
    });
    let mut steps: Vec<Step> = Vec::new();
    let (mut from_old, mut from_new) = (0, 0);
    for block in blocks {
        if from_old < block.old || from_new < block.new {
            steps.push(Step {
                is_same: false,
                old: from_old..block.old,
                new: from_new..block.new,
            });
        }
        (from_old, from_new) = (block.old + block.size, block.new + block.size);
        match steps.last_mut().filter(|last| last.is_same) {
            // Blocks beside each other are one.
            Some(last) => (last.old.end, last.new.end) = (from_old, from_new),
            None if block.size > 0 => steps.push(Step {
                is_same: true,
                old: block.old..from_old,
                new: block.new..from_new,
            }),
            None => {}
        }
    }
    steps
}

struct Matcher<'a> {
    old: &'a [String],
    new: &'a [String],
    /// Where a line is in the new list.
    places: BTreeMap<&'a str, Vec<usize>>,
}

impl<'a> Matcher<'a> {
    fn new(old: &'a [String], new: &'a [String]) -> Self {
        let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, line) in new.iter().enumerate() {
            places.entry(line).or_default().push(index);
        }
        if new.len() >= MANY {
            let most = new.len() / 100 + 1;
            places.retain(|_, all| all.len() <= most);
        }
        Self { old, new, places }
    }

    /// The longest block, and then the same of what is before and of what is after it.
    fn blocks(&self, old: Range<usize>, new: Range<usize>, blocks: &mut Vec<Block>) {
        let block = self.longest(&old, &new);
        if block.size == 0 {
            return;
        }
        if old.start < block.old && new.start < block.new {
            self.blocks(old.start..block.old, new.start..block.new, blocks);
        }
        blocks.push(block);
        let (end_old, end_new) = (block.old + block.size, block.new + block.size);
        if end_old < old.end && end_new < new.end {
            self.blocks(end_old..old.end, end_new..new.end, blocks);
        }
    }

    /// The longest block; of several, the first one.
    fn longest(&self, old: &Range<usize>, new: &Range<usize>) -> Block {
        let mut best = Block {
            old: old.start,
            new: new.start,
            size: 0,
        };
        // How long the block is that ends with the line before, by where it ends in the new list.
        let mut lengths: BTreeMap<usize, usize> = BTreeMap::new();
        for index in old.clone() {
            let mut longer = BTreeMap::new();
            let places = self.places.get(self.old[index].as_str()).into_iter().flatten();
            for place in places.copied().filter(|place| new.contains(place)) {
                let before = place.checked_sub(1).and_then(|before| lengths.get(&before));
                let size = before.copied().unwrap_or(0) + 1;
                longer.insert(place, size);
                if size > best.size {
                    best = Block {
                        old: index + 1 - size,
                        new: place + 1 - size,
                        size,
                    };
                }
            }
            lengths = longer;
        }
        // Lines that occur often belong to it as well.
        while best.old > old.start && best.new > new.start && self.old[best.old - 1] == self.new[best.new - 1] {
            best.old -= 1;
            best.new -= 1;
            best.size += 1;
        }
        while best.old + best.size < old.end
            && best.new + best.size < new.end
            && self.old[best.old + best.size] == self.new[best.new + best.size]
        {
            best.size += 1;
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.chars().map(String::from).collect()
    }

    #[test]
    fn changes_are_shown_with_three_lines_around_them() {
        for (old, new, expected) in [
            ("abc", "abc", ""),
            ("abcdefgh", "abcdeXgh", "@@ -3,6 +3,6 @@\n c\n d\n e\n-f\n+X\n g\n h\n"),
            ("abcdefghij", "Xabcdefghij", "@@ -1,3 +1,4 @@\n+X\n a\n b\n c\n"),
            (
                "abcdefghijkl",
                "Xbcdefghijk",
                "@@ -1,4 +1,4 @@\n-a\n+X\n b\n c\n d\n@@ -9,4 +9,3 @@\n i\n j\n k\n-l\n",
            ),
        ] {
            assert_eq!(unified(&lines(old), &lines(new)), expected);
        }
    }
}
