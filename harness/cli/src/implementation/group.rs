//! Programs of a target that run together.

use std::{
    fs::File,
    io::{self, PipeReader, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use async_trait::async_trait;
use baton_cluster::{
    program::{Program, last_lines},
    runner::{Ended, Running},
    scratch::Scratch,
};
use baton_core::redact;
use futures::future::{join_all, select_all};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    net::unix::pipe,
    sync::watch,
    task::JoinHandle,
    time::timeout,
};

/// How long a command may take to end when it is asked to, before it is killed.
const GRACE: Duration = Duration::from_secs(10);

/// How long the last lines of a command may take to come out of its pipe.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Of what a command wrote, this many lines are told when it ends by itself.
const LAST_LINES: usize = 12;

/// Programs that run together: if one of them ends, the target has ended.
#[derive(Default)]
pub(super) struct Group(Vec<Started>);

/// A command that runs.
pub(super) struct Started {
    /// Its name, where there are several.
    pub(super) name: Option<String>,
    /// Whether it is not under test.
    pub(super) environment: bool,
    pub(super) program: Program,
    pub(super) log: PathBuf,
    /// If somebody listens to it.
    pub(super) captured: Option<CapturedOutput>,
    /// A folder of its own, as long as it runs.
    pub(super) data: Option<Scratch>,
}

/// What a command says, line by line.
pub(super) struct CapturedOutput {
    lines: watch::Receiver<Vec<String>>,
    /// Ends with the last line.
    listening: JoinHandle<()>,
}

impl CapturedOutput {
    /// Listens to a pipe, and adds to the log what comes.
    pub(super) fn to(pipe: PipeReader, log: &Path) -> io::Result<Self> {
        let pipe = pipe::Receiver::from_owned_fd(pipe.into())?;
        let mut log = File::options().create(true).append(true).open(log)?;
        let (told, lines) = watch::channel(Vec::new());
        let listening = tokio::spawn(async move {
            let mut pipe = BufReader::new(pipe).lines();
            while let Ok(Some(line)) = pipe.next_line().await {
                // What cannot be kept is heard all the same.
                let _ = writeln!(log, "{line}");
                told.send_modify(|lines| lines.push(redact::text(&line)));
            }
        });
        Ok(Self { lines, listening })
    }
}

impl Started {
    async fn ended(&mut self) -> Ended {
        let status = match self.program.ended().await {
            Ok(status) => status.to_string(),
            Err(error) => format!("its exit status cannot be had: {error}"),
        };
        if let Some(captured) = &mut self.captured {
            // What it has started may hold the pipe open for ever.
            let _ = timeout(LAST_WORDS, &mut captured.listening).await;
        }
        Ended {
            status: match &self.name {
                Some(name) => format!("{name}, {status}"),
                None => status,
            },
            last_lines: last_lines(&self.log, LAST_LINES),
            environment: self.environment,
        }
    }

    /// What it has said by the time that it says what is waited for.
    async fn said(&mut self, mentions: &[String], within: Duration) -> Vec<String> {
        let Some(captured) = &mut self.captured else {
            return Vec::new();
        };
        let mentions_all = |line: &String| mentions.iter().all(|text| line.contains(text.as_str()));
        // In time or not, and whether it has ended or not: what was said counts.
        let _ = timeout(within, captured.lines.wait_for(|lines| lines.iter().any(mentions_all))).await;
        captured.lines.borrow().clone()
    }
}

impl Group {
    pub(super) fn add(&mut self, started: Started) {
        self.0.push(started);
    }

    /// The last lines of the program that was started last.
    pub(super) fn last_lines(&self) -> Vec<String> {
        let last = self.0.last();
        last.map(|started| last_lines(&started.log, LAST_LINES))
            .unwrap_or_default()
    }

    /// Completes when one of them has ended.
    pub(super) async fn first_to_end(&mut self) -> Ended {
        if self.0.is_empty() {
            return std::future::pending().await;
        }
        let ends = self.0.iter_mut().map(|started| Box::pin(started.ended()));
        select_all(ends).await.0
    }

    /// Ends all of them; those that cannot be waited for are killed by their watchdogs.
    pub(super) async fn end(self) {
        // What others need is ended after them.
        let (needed, others): (Vec<_>, Vec<_>) = self.0.into_iter().partition(|started| started.environment);
        for part in [others, needed] {
            join_all(part.into_iter().map(|started| started.program.stop(GRACE))).await;
        }
    }
}

#[async_trait]
impl Running for Group {
    async fn ended(&mut self) -> Ended {
        self.first_to_end().await
    }

    async fn said(&mut self, mentions: &[String], within: Duration) -> Vec<String> {
        let mentions_all = |lines: &Vec<String>| {
            let mentions_all = |line: &String| mentions.iter().all(|text| line.contains(text.as_str()));
            lines.iter().any(mentions_all)
        };
        let mut waiting: Vec<_> = self
            .0
            .iter_mut()
            .map(|started| Box::pin(started.said(mentions, within)))
            .collect();
        let mut said = Vec::new();
        while !waiting.is_empty() {
            let (lines, _, rest) = select_all(waiting).await;
            let found = mentions_all(&lines);
            said.extend(lines);
            if found {
                break;
            }
            waiting = rest;
        }
        said
    }

    async fn stop(self: Box<Self>) {
        self.end().await;
    }
}
