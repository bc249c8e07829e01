//! Fixtures embedded in the binary; see `build.rs`.

include!(concat!(env!("OUT_DIR"), "/bundled.rs"));
