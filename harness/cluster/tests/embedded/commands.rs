//! A command of the implementation that is missing or does not end breaks the run, and names the step.

use std::{collections::BTreeSet, path::Path, time::Duration};

use async_trait::async_trait;
use baton_cluster::{
    fleet::{Fleet, embedded::Time},
    runner::{self, CommandEnd, RunError, RunOptions, Running, Target, TargetError, Timeouts},
};
use baton_core::{
    case::model::{Action, CommandRun, ControllerSetup},
    names::Feature,
    plan::Plan,
    timeline::{Event, Mark, Timeline},
};

use crate::common::fleet;

/// A target that does nothing but run commands.
#[derive(Debug)]
struct WithCommands;

#[async_trait]
impl Target for WithCommands {
    fn name(&self) -> &'static str {
        "a controller with commands"
    }

    fn features(&self) -> BTreeSet<Feature> {
        BTreeSet::new()
    }

    async fn start(
        &self,
        _fleet: &dyn Fleet,
        _setup: &ControllerSetup,
        _log: &Path,
    ) -> Result<Box<dyn Running>, TargetError> {
        Ok(Box::new(Idle))
    }

    async fn run_command(&self, _: &dyn Fleet, name: &str, args: &[String]) -> Result<CommandEnd, TargetError> {
        match name {
            "echo" => Ok(CommandEnd {
                exit: Some(3),
                said: args.to_vec(),
            }),
            "hang" => std::future::pending().await,
            _ => Err(TargetError::Start(format!("there is no {name}"))),
        }
    }
}

struct Idle;

#[async_trait]
impl Running for Idle {
    async fn stop(self: Box<Self>) {}
}

async fn run(command: &str) -> Result<Timeline, RunError> {
    let fleet = fleet(0, Time::Virtual).await;
    let action = Action::Run(CommandRun {
        command: command.to_owned(),
        args: vec!["one".to_owned()],
        within: Duration::from_secs(60),
        exits: 0,
        says: Vec::new(),
        proves: BTreeSet::new(),
    });
    let plan = Plan::of_actions("command", 0, [action]);
    let (setup, timeouts) = (ControllerSetup::default(), Timeouts::default().exact());
    let log = Path::new("/dev/null");
    let options = RunOptions {
        timeouts,
        log,
        on_step: &|_, _| {},
        traffic: None,
        precedents: None,
    };
    let ran = runner::run(&plan, &setup, &*fleet, &WithCommands, &options).await;
    fleet.shut_down().await.unwrap();
    ran
}

#[tokio::test(start_paused = true)]
async fn how_it_ends_and_what_it_says_are_on_the_timeline() {
    let timeline = run("echo").await.unwrap();
    let is_end = |event: &Event| matches!(event, Event::Mark(Mark::Ran { exit: Some(3), said }) if said.as_slice() == ["one".to_owned()]);
    assert!(timeline.entries().iter().any(|entry| is_end(&entry.event)));
}

#[tokio::test(start_paused = true)]
async fn one_that_is_missing_or_does_not_end_breaks_the_run_and_names_the_step() {
    for (command, reason) in [
        ("hang", "the command did not end within 60 s"),
        ("nothing", "there is no nothing"),
    ] {
        let error = run(command).await.unwrap_err().to_string();
        assert_eq!(error, format!("step 1, run {command} one: it exits with 0: {reason}"));
    }
}
