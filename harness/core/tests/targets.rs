//! Target files as people write them: those of the repository are right, wrong ones are explained.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what fails here fails a test")]

mod common;

use std::{collections::BTreeSet, fs, path::Path};

use baton_core::{
    case::model::ControllerSetup,
    catalogue::Catalogue,
    implementation::{
        Launch, TargetSpec,
        read::{self, ReadContext},
    },
    names::CaseId,
    yaml::Diagnostic,
};

/// Reads a target file of a suite of two cases.
fn read_bytes(file: &Path, bytes: &[u8]) -> Result<TargetSpec, Vec<Diagnostic>> {
    read_beside(
        file,
        bytes,
        &["held-by-finalizer", "path-misses"].map(CaseId::new).into(),
    )
}

fn read_beside(file: &Path, bytes: &[u8], cases: &BTreeSet<CaseId>) -> Result<TargetSpec, Vec<Diagnostic>> {
    let catalogue = fs::read_to_string(common::root().join("cases/requirements.yaml")).unwrap();
    let catalogue = Catalogue::parse(&catalogue).unwrap();
    let context = ReadContext {
        catalogue: &catalogue,
        cases,
        variable: &|name| name.ends_with("_VERSION").then(|| "v1.18.2".to_owned()),
    };
    read::read(file, bytes, &context)
}

fn of_the_repository(name: &str) -> TargetSpec {
    let file = common::root().join("fixtures/targets").join(name);
    let cases = common::all().iter().map(|case| case.id.clone()).collect();
    read_beside(&file, &fs::read(&file).unwrap(), &cases).unwrap_or_else(|found| panic!("{}", common::lines(&found)))
}

#[test]
fn all_targets_of_the_repository_are_right() {
    let folder = fs::read_dir(common::root().join("fixtures/targets")).unwrap();
    let mut names: Vec<_> = folder
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| Path::new(name).extension().is_some_and(|it| it == "yaml"))
        .collect();
    names.sort();
    assert!(names.len() >= 2, "{names:?}");
    for name in names {
        let target = of_the_repository(&name);
        assert_eq!(format!("{}.yaml", target.name), name);
        assert_eq!(target.warnings, [], "{name}");
    }
}

#[test]
fn cases_that_were_renamed_or_removed_are_warnings_in_a_baseline() {
    let file = common::root().join("fixtures/targets/karmada.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let all: BTreeSet<CaseId> = common::all().iter().map(|case| case.id.clone()).collect();
    let entries = "
    - {requirement: REC-01, difference: never, reason: x, cases: [grace-period-beside-never, removed-since]}
    - {requirement: REC-02, difference: never, reason: x, cases: [removed-since]}
";
    let text = format!("{}\n  baseline:{entries}", text.trim_end());
    let target = read_beside(&file, text.as_bytes(), &all).unwrap_or_else(|found| panic!("{}", common::lines(&found)));
    let told = common::lines(&target.warnings);
    assert!(
        told.contains("the case `grace-period-beside-never` is now called `grace-period-with-never`"),
        "{told}"
    );
    assert_eq!(
        told.matches("the suite has no case `removed-since`").count(),
        2,
        "{told}"
    );
    // An entry whose cases are all gone must not become one for all cases.
    let [entry] = target.baseline.entries.as_slice() else {
        panic!("{:?}", target.baseline.entries)
    };
    assert_eq!(entry.cases, BTreeSet::from([CaseId::new("grace-period-with-never")]));
}

#[test]
fn each_rename_leads_to_a_case_and_hides_none() {
    let catalogue = fs::read_to_string(common::root().join("cases/requirements.yaml")).unwrap();
    let catalogue = Catalogue::parse(&catalogue).unwrap();
    let all: BTreeSet<CaseId> = common::all().iter().map(|case| case.id.clone()).collect();
    for (earlier, present) in catalogue.renames() {
        assert!(all.contains(present), "{earlier}: there is no case {present}");
        assert!(!all.contains(earlier), "{earlier} is still the name of a case");
    }
}

#[test]
fn the_reference_controller_has_the_version_of_the_workspace() {
    let target = of_the_repository("reference.yaml");
    assert_eq!(
        target.implementation.version.as_deref(),
        Some(env!("CARGO_PKG_VERSION"))
    );
    assert!(
        target.baseline.entries.is_empty(),
        "the reference controller has no known deviations"
    );
}

#[test]
fn all_errors_of_a_target_file_are_told_at_once() {
    let found = read_bytes(Path::new("everything.yaml"), include_bytes!("bad/target.yaml")).unwrap_err();
    insta::assert_snapshot!(common::lines(&found));
}

#[test]
fn a_profile_that_is_declared_as_a_feature_is_spelled_out() {
    let text = fs::read_to_string(common::root().join("fixtures/targets/minimal.yaml")).unwrap();
    let text = text.replacen("features:", "features: [Core] #", 1);
    let told = common::lines(&read_bytes(Path::new("t.yaml"), text.as_bytes()).unwrap_err());
    let help = "unknown feature `Core` (the profile Core is LabelInjection, NoExecuteEviction, Propagation, PurgeDirectly, \
                StatePreservation)";
    assert!(told.contains(help), "{told}");
}

#[test]
fn a_target_that_runs_in_no_way_or_in_two_is_refused() {
    let text = fs::read_to_string(common::root().join("fixtures/targets/karmada.yaml")).unwrap();
    let told = |run: &str| {
        let text = text.replace("run: {installed: {}}", run);
        common::lines(&read_bytes(Path::new("t.yaml"), text.as_bytes()).unwrap_err())
    };
    let none = told("run: {}");
    assert!(none.contains(":8: run says 0 ways (say how"), "{none}");
    let two = told("run: {installed: {}, reference: {}}");
    assert!(two.contains("run says 2 ways"), "{two}");
    let no_command = told("run: {exec: {args: [x]}}");
    assert!(no_command.contains("exec needs `command`"), "{no_command}");
}

fn asked(gates: &[(&str, bool)], options: &[(&str, &str)]) -> ControllerSetup {
    ControllerSetup {
        feature_gates: gates.iter().map(|(gate, on)| ((*gate).to_owned(), *on)).collect(),
        options: options
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
    }
}

#[test]
fn what_cannot_be_told_is_said() {
    let karmada = of_the_repository("karmada.yaml");
    assert_eq!(karmada.run, Launch::Installed);
    let both = [("Failover", true), ("StatefulFailoverInjection", true)];
    assert_eq!(
        karmada.setup_for(&asked(&both, &[]), true),
        Ok(karmada.controller.clone())
    );
    assert_eq!(
        karmada.setup_for(&asked(&[], &[]), true),
        Ok(karmada.controller.clone())
    );
    let lacking = karmada
        .setup_for(&asked(&both, &[("graceful-eviction-timeout", "30s")]), true)
        .unwrap_err();
    let told = "needs the option graceful-eviction-timeout=30s; this target runs with 10m, and `settable` does not list the option";
    assert_eq!(lacking, [told]);
    let lacking = karmada
        .setup_for(&asked(&both, &[("graceful-eviction-timeout", "default")]), true)
        .unwrap_err();
    let told = "needs the default of the option graceful-eviction-timeout; this target sets it, and `settable` does not list the option";
    assert_eq!(lacking, [told]);
    let told = karmada.setup_for(&asked(&both, &[("evict-plugins", "default")]), true);
    assert_eq!(told, Ok(karmada.controller.clone()), "it does not set the option");
    // A case that names one gate relies on the default of the other.
    let lacking = karmada.setup_for(&asked(&[("Failover", true)], &[]), true).unwrap_err();
    let told = "needs the feature gate StatefulFailoverInjection=false; this target runs with true, and `settable` does not list the gate";
    assert_eq!(lacking, [told]);
    // Where no state is preserved it does not matter whether some would be injected.
    let told = karmada.setup_for(&asked(&[("Failover", true)], &[]), false);
    assert_eq!(told, Ok(karmada.controller.clone()));
    let off = asked(&[("Failover", true), ("StatefulFailoverInjection", false)], &[]);
    assert!(karmada.setup_for(&off, false).is_err());
}

#[test]
fn what_can_be_told_is_what_a_case_asks_for() {
    let reference = of_the_repository("reference.yaml");
    let setup = asked(&[("Failover", true)], &[("resource-eviction-rate", "2")]);
    let told = reference.setup_for(&setup, false).unwrap();
    assert_eq!(told.options, setup.options);
    let by_default = [("resource-eviction-rate", "default")];
    let setup = reference.setup_for(&asked(&[("Failover", true)], &by_default), false);
    assert_eq!(setup.unwrap().options, asked(&[], &[]).options);
    let off_as_by_default = [("Failover", true), ("StatefulFailoverInjection", false)];
    assert_eq!(told.feature_gates, asked(&off_as_by_default, &[]).feature_gates);
    let lacking = reference.setup_for(&asked(&[("Magic", true)], &[]), false).unwrap_err();
    let told = "needs the feature gate Magic=true; this target does not say how it runs, and `settable` does not list the gate";
    assert_eq!(lacking, [told]);
}
