//! Commands of the implementation (`run`), and further instances of the target.

use baton_core::{
    case::model::{CommandRun, FIRST_INSTANCE},
    pattern::resolve,
    timeline::{Mark, StepEnd},
};
use tokio::time::timeout;

use super::{Run, Unfinished, step_error::StepError};
use crate::error_chain::error_chain;

impl Run<'_> {
    /// Runs a command to its end. A command that is missing or does not end is not a deviation: it breaks the run.
    pub(super) async fn run_command(&mut self, command: &CommandRun) -> StepEnd {
        let known = self.known();
        let args: Vec<String> = command.args.iter().map(|arg| resolve(arg, &known.bindings)).collect();
        let limit = command.within.mul_f64(self.timeouts.factor) + self.timeouts.slack;
        let running = self.target.run_command(self.fleet, &command.command, &args);
        let reason = match timeout(limit, running).await {
            Ok(Ok(end)) => {
                self.recorder.mark(Mark::Ran {
                    exit: end.exit,
                    said: end.said,
                });
                return StepEnd::Done;
            }
            Ok(Err(error)) => error_chain(&error),
            Err(_) => format!("the command did not end within {} s", limit.as_secs_f64()),
        };
        self.unfinished = Some(Unfinished::Command(reason.clone()));
        StepEnd::Refused { message: reason }
    }

    /// Starts another instance of the target.
    pub(super) async fn add_instance(&mut self, name: &str) -> Result<(), StepError> {
        if let Some(writers) = self.target.writers_of(name) {
            self.recorder.mark(Mark::Writers(writers));
        }
        let started = self
            .target
            .start_another(name, self.fleet, self.setup, self.log)
            .await?;
        self.others.insert(name.to_owned(), started);
        Ok(())
    }

    /// Kills an instance of the target, without a chance to release anything.
    pub(super) async fn crash_instance(&mut self, name: &str) -> Result<(), StepError> {
        let instance = if name == FIRST_INSTANCE {
            self.running.take()
        } else {
            self.others.remove(name)
        };
        match instance {
            Some(running) => {
                running.crash().await;
                Ok(())
            }
            None => Err(StepError::NotRunning(name.to_owned())),
        }
    }
}
