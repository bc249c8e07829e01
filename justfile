# The usual tasks. `just` lists them; each line also works without just.

# List the recipes.
default:
    @just --list

# Run the suite on embedded clusters, or some cases: just run 'purge/*'.
run *cases:
    cargo run -p baton -- run {{ if cases == "" { "" } else { "--filter '" + cases + "'" } }}

# Formatting, lints and the tests that take a minute.
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    cargo test -p baton-core -p baton-decide -p baton-jsonpath

# All tests.
test:
    cargo test --workspace

# Run the controller with each known defect; some case must find it.
mutants *names:
    cargo test -p baton --test mutants {{ names }}

# Change single tokens of the controller's decisions, a sample of them; the cases must notice (needs cargo-mutants).
tokens sample="60":
    SAMPLE={{ sample }} controller/mutants.sh

# Write a new case: just case recovery/my-case.
case name:
    cargo run -p baton -- case new {{ name }}

# Regenerate the schemas for editors.
schemas:
    cargo run -p baton -- schema case > fixtures/schemas/case.json
    cargo run -p baton -- schema target > fixtures/schemas/target.json
    cargo run -p baton -- schema rules > fixtures/schemas/rules.json

# Review changed snapshots and accept them (needs cargo-insta).
review:
    cargo insta review

# Real API servers: build their programs (needs Go), then run the proposal's cases on them.
envtest:
    harness/assets.sh
    KUBEBUILDER_ASSETS=$PWD/target/assets cargo run -p baton -- run --backend envtest --filter 'proposal/*'

# Print the figures of the harness (release build).
bench:
    cargo bench -p baton --bench figures

# Everything that CI runs.
ci:
    .ci/run
