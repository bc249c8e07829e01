//! Has the crate compiled again when a file of the suite comes or goes; cargo knows by itself of those that change.

fn main() {
    for folder in ["cases", "fixtures", "kind-config", "snapshots"] {
        println!("cargo::rerun-if-changed=../../{folder}");
    }
}
