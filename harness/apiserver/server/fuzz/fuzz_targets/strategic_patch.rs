#![no_main]

use baton_apiserver_fuzz::{targets, try_input};

libfuzzer_sys::fuzz_target!(|input: &[u8]| try_input(&targets::STRATEGIC_PATCH, input));
