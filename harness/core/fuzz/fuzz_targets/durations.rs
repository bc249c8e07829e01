//! Reads whatever the fuzzer thinks of as a time: what can be read is not negative, and writing it as seconds and
//! nanoseconds says the same.
#![no_main]

use baton_core::yaml::decode::parse_duration;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Some(time) = parse_duration(text) {
        let again = format!("{}.{:09}s", time.as_secs(), time.subsec_nanos());
        assert_eq!(parse_duration(&again), Some(time), "{text:?}");
    }
});
