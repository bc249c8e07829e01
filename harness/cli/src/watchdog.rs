//! Runs each case in a separate thread, and gives up a case that blocks its thread.
//!
//! The clusters of a case, the observer and a built-in controller share one thread. A controller that never waits stops
//! all of them, and no code on that thread could end it. So another thread asks at intervals whether the runtime still
//! answers. A case whose runtime stops answering is abandoned: its thread spins until the process ends, the case counts
//! as broken, and the other cases go on. A limit in real time ends a case whose virtual time goes on for ever.

use std::{
    any::Any,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use baton_core::event::Event;
use thiserror::Error;
use tokio::{sync::Notify, time::Instant};

/// Number of unanswered requests after which a case is given up. Requests count, not the clock: if the whole process is
/// stopped for an hour, no request was made in that time.
const ASKED: u32 = 20;

/// Number of requests during which the time may stand still. On a slow machine, the work of one moment can take a
/// while.
const STILL: u32 = 2 * ASKED;

/// Error when a case was given up.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum GivenUp {
    /// The runtime does not answer.
    #[error("the case was given up: something in it has kept its thread for {silence:?} without a pause, {doing}")]
    Silent {
        /// Time without an answer.
        silence: Duration,
        /// Current step of the case.
        doing: String,
    },
    /// The runtime answers, but its time stands still.
    #[error("the case was given up: something in it has been busy for {busy:?} without letting time pass, {doing}")]
    Still {
        /// Duration of the standstill.
        busy: Duration,
        /// Current step of the case.
        doing: String,
    },
    /// The case had not ended at its time limit.
    #[error("the case was ended: it had not ended after {limit:?} of real time, {doing}")]
    Endless {
        /// Time limit.
        limit: Duration,
        /// Current step of the case.
        doing: String,
    },
    /// The case panicked.
    #[error("something in the case panicked, {doing}: {message}")]
    Panicked {
        /// Current step of the case.
        doing: String,
        /// Message of the panic.
        message: String,
    },
    /// The thread of the case cannot be started.
    #[error("cannot start a thread: {0}")]
    NoThread(String),
}

/// Shows that a runtime still runs.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    asked: Notify,
    answers: AtomicU64,
    /// Time of the runtime at the last answer, in milliseconds since the first.
    time: AtomicU64,
    end: Notify,
}

impl Pulse {
    /// Answers requests for as long as the runtime runs. It waits for nothing that virtual time knows of.
    pub(crate) async fn answer(self: Arc<Self>) {
        let began = Instant::now();
        loop {
            self.asked.notified().await;
            let time = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            self.time.store(time, Ordering::Relaxed);
            self.answers.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Completes once the case has to end because of its time limit.
    pub(crate) async fn limit_reached(&self) {
        self.end.notified().await;
    }
}

/// Time limits of a case.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Longest time for which it may block its thread.
    pub(crate) silence: Duration,
    /// Longest real time that it may take.
    pub(crate) total: Option<Duration>,
}

/// Message from the thread of a case.
enum Told<T> {
    Event(Box<Event>),
    End(T),
}

/// Runs the work of a case in a separate thread, until the work ends or has reached a limit.
pub(crate) fn watch<T: Send + 'static>(
    case: &str,
    Limits { silence, total }: Limits,
    emit: &(dyn Fn(Event) + Sync),
    work: impl FnOnce(&Arc<Pulse>, &(dyn Fn(Event) + Sync)) -> T + Send + 'static,
) -> Result<T, GivenUp> {
    let (sender, received) = mpsc::channel();
    let pulse = Arc::new(Pulse::default());
    let thread = thread::Builder::new().name(case.to_owned()).spawn({
        let pulse = Arc::clone(&pulse);
        move || {
            // Once the case is given up, the receiver is gone.
            let emit = |event| drop(sender.send(Told::Event(Box::new(event))));
            let end = work(&pulse, &emit);
            drop(sender.send(Told::End(end)));
        }
    });
    let thread = thread.map_err(|error| GivenUp::NoThread(error.to_string()))?;
    let mut doing = "before its first step".to_owned();
    let (mut answers, mut unanswered) = (0, 0);
    let (mut time, mut still) = (0, 0);
    let period = silence / ASKED;
    // Requests are counted here, too, so that a process that was stopped has lost no time.
    let (mut asked, mut ended_at) = (0_u32, None);
    let endless = |doing: &str| GivenUp::Endless {
        limit: total.unwrap_or_default(),
        doing: doing.to_owned(),
    };
    loop {
        match received.recv_timeout(period) {
            Ok(Told::End(_)) if ended_at.is_some() => return Err(endless(&doing)),
            Ok(Told::End(end)) => return Ok(end),
            Ok(Told::Event(event)) => {
                if let Event::StepStarted { step, text, .. } = &*event {
                    doing = format!("in step {}: {text}", step + 1);
                }
                (unanswered, still) = (0, 0);
                emit(*event);
            }
            Err(RecvTimeoutError::Timeout) => {
                let now = pulse.answers.load(Ordering::Relaxed);
                unanswered = if now == answers { unanswered + 1 } else { 0 };
                answers = now;
                if unanswered > ASKED {
                    return Err(GivenUp::Silent { silence, doing });
                }
                let since = pulse.time.load(Ordering::Relaxed);
                still = if since == time { still + 1 } else { 0 };
                time = since;
                if still > STILL {
                    let busy = silence / ASKED * STILL;
                    return Err(GivenUp::Still { busy, doing });
                }
                pulse.asked.notify_one();
                asked += 1;
                if ended_at.is_some_and(|at| asked > at + ASKED) {
                    return Err(endless(&doing));
                }
                if ended_at.is_none() && total.is_some_and(|total| period * asked >= total) {
                    ended_at = Some(asked);
                    pulse.end.notify_one();
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                let message = thread
                    .join()
                    .err()
                    .map(|payload| message(&*payload))
                    .unwrap_or_default();
                return Err(GivenUp::Panicked { doing, message });
            }
        }
    }
}

/// Returns the message of a panic.
fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    const SHORT: Duration = Duration::from_millis(400);

    fn within(silence: Duration) -> Limits {
        Limits { silence, total: None }
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    }

    #[test]
    fn who_only_waits_is_not_given_up() {
        let came = watch("waits", within(SHORT), &|_| {}, |pulse, _| {
            runtime().block_on(async {
                tokio::spawn(Arc::clone(pulse).answer());
                tokio::time::sleep(3 * SHORT).await;
                7
            })
        });
        assert_eq!(came, Ok(7));
    }

    #[test]
    fn who_keeps_the_thread_is_given_up_and_it_is_told_where() {
        static RELEASED: AtomicBool = AtomicBool::new(false);
        let came = watch("spins", within(SHORT), &|_| {}, |pulse, emit| {
            emit(Event::StepStarted {
                case: "spins".into(),
                step: 2,
                text: "taint origin".to_owned(),
            });
            runtime().block_on(async {
                tokio::spawn(Arc::clone(pulse).answer());
                while !RELEASED.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        });
        RELEASED.store(true, Ordering::Relaxed);
        let told = came.unwrap_err().to_string();
        assert!(told.contains("kept its thread for 400ms"), "{told}");
        assert!(told.ends_with("in step 3: taint origin"), "{told}");
    }

    #[test]
    fn who_never_lets_time_pass_is_given_up_too() {
        static RELEASED: AtomicBool = AtomicBool::new(false);
        let came = watch("retries at once", within(SHORT), &|_| {}, |pulse, _| {
            let mut builder = tokio::runtime::Builder::new_current_thread();
            builder
                .enable_all()
                .start_paused(true)
                .build()
                .unwrap()
                .block_on(async {
                    tokio::spawn(Arc::clone(pulse).answer());
                    while !RELEASED.load(Ordering::Relaxed) {
                        tokio::task::yield_now().await;
                    }
                });
        });
        RELEASED.store(true, Ordering::Relaxed);
        let told = came.unwrap_err().to_string();
        assert!(told.contains("busy for 800ms without letting time pass"), "{told}");
    }

    #[test]
    fn a_case_whose_virtual_time_goes_on_for_ever_ends_at_its_limit() {
        let limits = Limits {
            total: Some(SHORT),
            ..within(SHORT)
        };
        let came = watch("never ends", limits, &|_| {}, |pulse, emit| {
            emit(Event::StepStarted {
                case: "never ends".into(),
                step: 0,
                text: "wait".to_owned(),
            });
            let mut builder = tokio::runtime::Builder::new_current_thread();
            builder
                .enable_all()
                .start_paused(true)
                .build()
                .unwrap()
                .block_on(async {
                    tokio::spawn(Arc::clone(pulse).answer());
                    let renews = async {
                        loop {
                            tokio::time::sleep(Duration::from_secs(10)).await;
                        }
                    };
                    tokio::select! {
                        () = pulse.limit_reached() => {}
                        () = renews => {}
                    }
                });
        });
        let told = came.unwrap_err().to_string();
        assert_eq!(
            told,
            "the case was ended: it had not ended after 400ms of real time, in step 1: wait"
        );
    }

    #[test]
    fn a_panic_ends_the_case_alone() {
        // Printing the backtrace may take a while.
        let patient = Duration::from_secs(600);
        let came: Result<(), _> = watch("panics", within(patient), &|_| {}, |_, _| panic!("out of bananas"));
        let told = came.unwrap_err().to_string();
        assert!(told.contains("before its first step: out of bananas"), "{told}");
    }
}
