//! A new case is a new test: whenever something changes below `cases/`, the tests are made anew.

fn main() {
    println!("cargo::rerun-if-changed=../../cases");
}
