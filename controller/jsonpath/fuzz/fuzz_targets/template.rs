//! Runs [`baton_jsonpath::exercise::exercise`] on fuzzed input: a template, a NUL, a value in JSON.
#![no_main]

use baton_jsonpath::exercise::exercise;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    if let Err(broken) = exercise(input) {
        panic!("{broken}");
    }
});
