//! Programs of a target that run together.

use std::{
    fs::File,
    io::{self, PipeReader, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use async_trait::async_trait;
use baton_cluster::{
    loopback::Ports,
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

/// Time that a command gets to end on request before it is killed.
const GRACE: Duration = Duration::from_secs(10);

/// Time limit for reading the last lines of a command from its pipe.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Number of lines of a command's log that are reported when it exits early.
const LAST_LINES: usize = 12;

/// Programs that run together: if one of them ends, the target has ended.
pub(super) struct Group {
    programs: Vec<Started>,
    /// Claimed until all programs have ended.
    _ports: Ports,
}

/// Running command.
pub(super) struct Started {
    /// Name of the program, if there are several.
    pub(super) name: Option<String>,
    /// Set if the program is not under test.
    pub(super) environment: bool,
    pub(super) program: Program,
    pub(super) log: PathBuf,
    /// Output, if it is captured.
    pub(super) captured: Option<CapturedOutput>,
    /// Data folder of the program, removed when it ends.
    pub(super) data: Option<Scratch>,
}

/// Output of a command, line by line.
pub(super) struct CapturedOutput {
    lines: watch::Receiver<Vec<String>>,
    /// Ends with the last line.
    listening: JoinHandle<()>,
}

impl CapturedOutput {
    /// Captures the output in a pipe, and appends it to the log.
    pub(super) fn to(pipe: PipeReader, log: &Path) -> io::Result<Self> {
        let pipe = pipe::Receiver::from_owned_fd(pipe.into())?;
        let mut log = File::options().create(true).append(true).open(log)?;
        let (told, lines) = watch::channel(Vec::new());
        let listening = tokio::spawn(async move {
            let mut pipe = BufReader::new(pipe).lines();
            while let Ok(Some(line)) = pipe.next_line().await {
                // A line that cannot be written to the log is captured all the same.
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
            Err(error) => format!("its exit status is unknown: {error}"),
        };
        if let Some(captured) = &mut self.captured {
            // A child of the program may keep the pipe open for ever.
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

    /// Waits until a line contains all of the texts, and returns the lines so far.
    async fn said(&mut self, mentions: &[String], within: Duration) -> Vec<String> {
        let Some(captured) = &mut self.captured else {
            return Vec::new();
        };
        let mentions_all = |line: &String| mentions.iter().all(|text| line.contains(text.as_str()));
        // After a timeout or an early exit, the lines so far count.
        let _ = timeout(within, captured.lines.wait_for(|lines| lines.iter().any(mentions_all))).await;
        captured.lines.borrow().clone()
    }
}

impl Group {
    /// Creates a group whose programs will serve on some ports.
    pub(super) fn on(ports: Ports) -> Self {
        Self {
            programs: Vec::new(),
            _ports: ports,
        }
    }

    pub(super) fn add(&mut self, started: Started) {
        self.programs.push(started);
    }

    /// Returns the last lines of the program that was started last.
    pub(super) fn last_lines(&self) -> Vec<String> {
        let last = self.programs.last();
        last.map(|started| last_lines(&started.log, LAST_LINES))
            .unwrap_or_default()
    }

    /// Waits until one of the programs has ended.
    pub(super) async fn first_to_end(&mut self) -> Ended {
        if self.programs.is_empty() {
            return std::future::pending().await;
        }
        let ends = self.programs.iter_mut().map(|started| Box::pin(started.ended()));
        select_all(ends).await.0
    }

    /// Ends all programs. The watchdogs kill those that do not end in time.
    pub(super) async fn end(self) {
        // Programs that others need are ended after them.
        let (needed, others): (Vec<_>, Vec<_>) = self.programs.into_iter().partition(|started| started.environment);
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
            .programs
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
