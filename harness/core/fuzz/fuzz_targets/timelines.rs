//! Reads whatever the fuzzer thinks of as a timeline; what can be read is judged, drawn, and written.
#![no_main]

use baton_core::{excerpt, judge, report::timeline_view::TimelineView, timeline::Timeline};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(timeline) = Timeline::read(bytes) else {
        return;
    };
    let judged = judge::judge_recording(&timeline);
    for finding in &judged.findings {
        drop(finding.to_string());
        drop(excerpt::around(&timeline, finding.seq));
    }
    drop(TimelineView::of(&timeline, &[]));
    let mut written = Vec::new();
    timeline.write(&mut written).expect("nothing can fail in memory");
    Timeline::read(written.as_slice()).expect("it was written");
});
