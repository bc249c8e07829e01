//! Malicious kubeconfigs: each leads to a cluster or an error. With a nightly toolchain, cargo-fuzz explores them by
//! coverage (`fuzz/`).

use std::fmt::Write as _;

use baton_cluster::{
    error_chain::error_chain,
    fleet::external::{Access, Clusters},
};
use baton_core::names::ClusterName;
use kube::config::Kubeconfig;

/// Names no program and no file: using a kubeconfig means trusting it to run them.
const GOOD: &str = include_str!("../fuzz/seeds/kubeconfigs/two.yaml");

/// Strings that are significant to parsers.
const PIECES: [&str; 14] = [
    "",
    "\n",
    "'",
    "\"",
    "{",
    "}",
    "[",
    "]",
    ": ",
    "\u{0}",
    "\u{202e}é",
    "&a ",
    "*a",
    "https://[::",
];

/// Number of contexts that lead to a cluster.
async fn read(text: &str) -> Option<usize> {
    let kubeconfig = Kubeconfig::from_yaml(text).ok()?;
    let mut all = Vec::new();
    for context in &kubeconfig.contexts {
        let name = ClusterName::new(format!("member{}", all.len()));
        match Access::by_context(name, &kubeconfig, &context.name, "x").await {
            Ok(access) => all.push(access),
            Err(error) => assert!(!error_chain(&error).is_empty()),
        }
    }
    let found = all.len();
    if let Some(control) = all.pop() {
        // Two equal clusters are an error like others.
        drop(Clusters::new(control, all));
    }
    Some(found)
}

#[tokio::test]
async fn whatever_comes_is_a_cluster_or_an_error() {
    assert_eq!(read(GOOD).await, Some(2));
    let (mut tried, mut led) = (0, 0);
    for at in (0..GOOD.len()).step_by(3) {
        for piece in PIECES {
            for width in [0, 1, 9] {
                let behind = GOOD.get(at + width..).unwrap_or_default();
                let changed = format!("{}{piece}{behind}", &GOOD[..at]);
                tried += 1;
                led += read(&changed).await.unwrap_or_default();
            }
        }
    }
    assert!(0 < led && led < 2 * tried, "{led} of {tried}");
}

#[tokio::test]
async fn aliases_that_grow_are_refused_at_once() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let before = format!("*a{}, ", level - 1).repeat(10);
        writeln!(bomb, "a{level}: &a{level} [{before}]").unwrap();
    }
    let text = format!("{bomb}preferences: *a11\n{GOOD}");
    assert!(read(&text).await.unwrap_or_default() <= 2);
    let deep = format!("preferences: {}\n{GOOD}", "[".repeat(100_000));
    assert_eq!(read(&deep).await, None);
}
