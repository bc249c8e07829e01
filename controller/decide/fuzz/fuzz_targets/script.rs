//! Runs [`baton_decide::interpret::is_healthy`] on random scripts: each run must end, at the latest at a limit.
#![no_main]

use baton_decide::interpret::is_healthy;
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|script: &str| {
    let object = json!({"metadata": {"name": "x", "generation": 2}, "status": {"replicas": 2, "conditions": [{"type": "Ready"}]}});
    let _ = is_healthy(&object, script, || false);
    let body = format!("function InterpretHealth(observedObj)\n{script}\nend");
    let _ = is_healthy(&object, &body, || false);
});
