//! Runs the targets of the server's test `fuzz` on the inputs of the fuzzer.

#[path = "../../tests/raw/mod.rs"]
mod raw;
#[path = "../../tests/targets/mod.rs"]
pub mod targets;

use std::cell::RefCell;

use tokio::runtime::{Builder, Runtime};

use targets::{Attacked, Target};

/// Number of inputs before a new server replaces the old one, so that the written objects do not pile up.
const INPUTS: u32 = 1_000;

struct Running {
    runtime: Runtime,
    server: Attacked,
    left: u32,
}

impl Running {
    fn new() -> Self {
        // On paused time, nothing waits.
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        let server = runtime.block_on(Attacked::new());
        Self {
            runtime,
            server,
            left: INPUTS,
        }
    }
}

/// Sends the input to a server, and checks that the server still answers.
pub fn try_input(target: &Target, input: &[u8]) {
    thread_local!(static RUNNING: RefCell<Option<Running>> = const { RefCell::new(None) });
    RUNNING.with_borrow_mut(|running| {
        let Running { runtime, server, left } = running.get_or_insert_with(Running::new);
        runtime.block_on(server.try_input(target, input));
        *left -= 1;
        if *left == 0 {
            runtime.block_on(server.still_answers());
            *running = None;
        }
    });
}
