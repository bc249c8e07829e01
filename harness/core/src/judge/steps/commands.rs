//! `run`: how a command of the implementation ended, and what it said.

use super::{Finding, Judged, Ran, ended_badly, nearest_words};
use crate::{
    case::model::{Action, CommandRun},
    timeline::{Event, Mark, Timeline},
};

/// What came of the command stands in a mark of the step.
pub(super) fn judge(number: usize, command: &CommandRun, run: &Ran<'_>, timeline: &Timeline, judged: &mut Judged) {
    let entries = &timeline.entries()[run.entries.clone()];
    let ran = entries.iter().find_map(|entry| match &entry.event {
        Event::Mark(Mark::Ran { exit, said }) => Some((entry, *exit, said)),
        Event::Mark(_) | Event::Revision(_) => None,
    });
    let Some((entry, exit, said)) = ran else {
        let ended = ended_badly(number, &Action::Run(command.clone()), run, timeline);
        return judged.findings.extend(ended);
    };
    let says = |text: &String| said.iter().any(|line| line.contains(text.as_str()));
    if exit == Some(i32::from(command.exits)) && command.says.iter().all(says) {
        return judged.proved.extend(command.proves.iter().cloned());
    }
    let outcome = exit.map_or_else(
        || "it was ended by a signal".to_owned(),
        |code| format!("it exited with {code}"),
    );
    let words = if said.is_empty() {
        "nothing".to_owned()
    } else {
        nearest_words(said, &command.says)
    };
    judged.findings.push(Finding {
        requirements: command.proves.clone(),
        title: "a command of the implementation".to_owned(),
        step: Some(number),
        expected: command.to_string(),
        seen: format!("{outcome} and said: {words}"),
        object: None,
        seq: entry.seq,
        at: entry.at,
        mismatches: Vec::new(),
    });
}
