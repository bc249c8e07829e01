//! Fixtures that are part of the binary; see `build.rs`.

include!(concat!(env!("OUT_DIR"), "/bundled.rs"));
