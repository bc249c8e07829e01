//! Follows the guide `cases/OWN-CRD.md` as a reader does: with the program alone, in an empty folder.

use std::{fmt::Write as _, fs, path::Path};

use crate::common::{baton_in, outcome};

const GUIDE: &str = include_str!("../../../../cases/OWN-CRD.md");

/// Creates a folder with the files of the guide: each block begins with a comment that has its path.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let blocks: Vec<&str> = GUIDE.split("```yaml\n").skip(1).collect();
    assert_eq!(blocks.len(), 4);
    for block in blocks {
        let text = block.split("```").next().unwrap();
        let name = text.lines().next().unwrap().strip_prefix("# ").unwrap();
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    folder
}

/// Runs the command in a folder; returns its exit code, standard output and standard error.
fn baton(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    outcome(&baton_in(folder, arguments).output().unwrap())
}

fn change(folder: &Path, file: &str, from: &str, to: &str) {
    let file = folder.join(file);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(file, text.replace(from, to)).unwrap();
}

const RULES: &str = "fixtures/simulator/pipeline.yaml";
const CASE: &str = "cases/stream/pipeline-resumes.yaml";

#[test]
fn the_guide_leads_to_a_verdict() {
    let folder = folder();
    let lint = baton(folder.path(), &["lint", "pipeline-resumes"]);
    assert_eq!(lint, (Some(0), "1 case without errors\n".to_owned(), String::new()));
    let (code, told, error) = baton(folder.path(), &["run", "pipeline-resumes"]);
    assert_eq!((code, error.as_str()), (Some(0), ""), "{told}");
    assert!(told.contains("1 conforms in "), "{told}");
    assert!(told.contains("REC-01") && told.contains("PRG-03"), "{told}");
}

#[test]
fn its_mistake_is_found_before_and_after() {
    let folder = folder();
    change(folder.path(), CASE, "{ .position }", "{ .postion }");
    let (code, _, error) = baton(folder.path(), &["lint", "pipeline-resumes"]);
    assert_eq!(code, Some(0));
    let promised = "  ! the path `{ .postion }` matches nothing: the status of a Pipeline has no `postion`\n";
    assert!(GUIDE.contains(promised) && error.starts_with(promised), "{error}");
    let (code, _, error) = baton(folder.path(), &["run", "pipeline-resumes"]);
    assert_eq!(code, Some(1), "{error}");
    assert!(error.starts_with(promised), "{error}");
}

/// Checks the message and the remedy of `lint` for one mistake at a time.
#[test]
fn mistakes_with_a_kind_of_ones_own_are_found_before() {
    let definition = "fixtures/stream/crd.yaml";
    let mut all = String::new();
    for (file, from, to) in [
        (CASE, "{ .position }", "{ .status.position }"),
        (CASE, "purgeMode: Directly", "purgeMode: Gracefully"),
        (
            CASE,
            "on: [control, members], file: stream/crd",
            "on: control, file: stream/crd",
        ),
        (CASE, "[member1, member2]", "[member1, memb2]"),
        (CASE, "effect: NoExecute", "effect: NoSchedule"),
        (CASE, "[member1, member2]", "[member1]"),
        (
            CASE,
            "StatefulFailoverInjection: true",
            "StatefulFailoverInjektion: true",
        ),
        (CASE, "status: {position: 3000}", "status: {offset: 3000}"),
        (CASE, "startedFrom: 3000", "startedFrom: \"3000\""),
        (CASE, "position: \"3000\"", "position: 3000"),
        (CASE, "key: example.com/failed", "key: example.com/has failed"),
        (definition, "      subresources: {status: {}}\n", ""),
        (RULES, "kind: Pipeline", "kind: Pipelin"),
    ] {
        let folder = folder();
        change(folder.path(), file, from, to);
        let (_, _, error) = baton(folder.path(), &["lint", "pipeline-resumes"]);
        let said = error
            .lines()
            .filter(|line| ["  ! ", "  x ", "  help: "].iter().any(|it| line.starts_with(it)));
        writeln!(all, "{}\n{}", to.trim(), said.collect::<Vec<_>>().join("\n")).unwrap();
    }
    let folder = folder();
    let pod = folder.path().join("fixtures/simulator/pod.yaml");
    fs::rename(folder.path().join(RULES), pod).unwrap();
    let (_, _, error) = baton(folder.path(), &["lint", "pipeline-resumes"]);
    all.push_str(&error);
    insta::assert_snapshot!(all);
}

/// An API server drops a field that the definition lacks, without an error.
#[test]
fn a_rule_that_writes_what_the_definition_lacks_is_named() {
    let folder = folder();
    change(
        folder.path(),
        RULES,
        "        position: {{ object.status.position + 1000 }}",
        "        offset: {{ object.status.position + 1000 }}",
    );
    let (code, told, _) = baton(folder.path(), &["run", "pipeline-resumes"]);
    assert_eq!(code, Some(3), "{told}");
    let reason = ": rule `reads` on Pipeline default/orders: the definition of Pipeline has no `offset` in its status";
    let at = told.find(reason).unwrap();
    let line = fs::read_to_string(folder.path().join(RULES)).unwrap();
    let line = line.lines().position(|line| line.contains("name: reads")).unwrap() + 1;
    assert!(told[..at].ends_with(&format!("{RULES}:{line}")), "{told}");
}

/// A case that cannot be right with the known definitions does not run; the other cases do.
#[test]
fn a_case_with_an_error_is_left_out_of_a_run() {
    let folder = folder();
    let right = fs::read_to_string(folder.path().join(CASE)).unwrap();
    let wrong = right
        .replace("name: pipeline-resumes", "name: wrong")
        .replace("purgeMode: Directly", "purgeMode: Direct");
    fs::write(folder.path().join("cases/stream/wrong.yaml"), wrong).unwrap();
    let (code, told, error) = baton(folder.path(), &["run", "cases/stream"]);
    assert_eq!(code, Some(2), "{told}{error}");
    assert!(told.contains("1 conforms in ") && !told.contains("wrong"), "{told}");
    assert!(error.contains("purgeMode cannot be `Direct`"), "{error}");
    assert!(
        error.contains("error: 1 error in the cases; those that have one were left out"),
        "{error}"
    );
    let (code, told, _) = baton(folder.path(), &["run", "wrong"]);
    assert_eq!((code, told.as_str()), (Some(2), ""));
}

#[test]
fn of_two_cases_of_one_name_that_of_the_suite_is_run() {
    let folder = folder();
    change(
        folder.path(),
        CASE,
        "name: pipeline-resumes",
        "name: deployment-directly",
    );
    let (code, told, error) = baton(folder.path(), &["run", "deployment-directly"]);
    assert_eq!(code, Some(2), "{error}");
    assert!(told.contains("deployment-directly  conforms  "), "{told}");
    let same =
        "`deployment-directly` is also the name of cases/proposal/deployment-directly.yaml in the built-in suite";
    assert!(
        error.contains(same) && error.contains("pipeline-resumes.yaml:4:18"),
        "{error}"
    );
}

#[test]
fn from_within_the_folder_of_cases_the_root_is_told() {
    let folder = folder();
    let (code, _, error) = baton(&folder.path().join("cases/stream"), &["lint", "pipeline-resumes.yaml"]);
    assert_eq!(code, Some(2));
    let root = folder.path().canonicalize().unwrap();
    let told = format!("no such file; say `--root {}`, where it is", root.display());
    assert!(error.contains(&told), "{error}");
}

#[test]
fn a_case_that_cannot_be_read_is_found_by_its_name() {
    let folder = folder();
    change(folder.path(), CASE, "  invariants:", "  invarants:");
    fs::rename(folder.path().join(CASE), folder.path().join("cases/stream/x.yaml")).unwrap();
    let (code, _, error) = baton(folder.path(), &["lint", "pipeline-resumes"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("unknown field `invarants`"), "{error}");
}

#[test]
fn rules_provide_objects_too() {
    let folder = folder();
    let provide = r#"  rules:
    - name: makes-up-a-service
      provide: |
        - apiVersion: v1
          kind: Service
          metadata: {name: {{ object.metadata.name ~ "-made-up" }}}
          spec: {ports: [{port: 80}]}
"#;
    change(folder.path(), RULES, "  rules:\n", provide);
    let assertion = "    - assert: {mode: eventually, on: origin, of: {apiVersion: v1, kind: Service, namespace: default, \
                     name: orders-made-up}, present: true}\n    - taint:";
    change(folder.path(), CASE, "    - taint:", assertion);
    let (code, told, error) = baton(folder.path(), &["run", "pipeline-resumes"]);
    assert_eq!(code, Some(0), "{told}{error}");
}

#[test]
fn rules_that_are_wrong_are_told_with_their_place_and_nothing_runs() {
    let folder = folder();
    change(folder.path(), RULES, "not object.status", "not objekt.status");
    change(folder.path(), RULES, "      after: 1s", "      aftr: 1s");
    change(
        folder.path(),
        RULES,
        "position: {{ object.status.position + 1000 }}",
        "position: {{ object.status.position + }}",
    );
    let (code, told, error) = baton(folder.path(), &["lint", "pipeline-resumes"]);
    assert_eq!((code, told.as_str()), (Some(2), ""));
    insta::assert_snapshot!(error);
    let run = baton(folder.path(), &["run", "pipeline-resumes"]);
    assert_eq!(run, (Some(2), String::new(), error));
    // Other commands do not need them.
    let (code, told, _) = baton(folder.path(), &["plan", "pipeline-resumes"]);
    assert_eq!(code, Some(0), "{told}");
}

#[test]
fn rules_of_ones_own_take_the_place_of_bundled_ones_by_their_name() {
    let folder = folder();
    change(
        folder.path(),
        RULES,
        "{apiVersion: stream.example.com/v1, kind: Pipeline}",
        "{apiVersion: v1, kind: Pod}",
    );
    let (code, _, error) = baton(folder.path(), &["lint", "pipeline-resumes"]);
    assert_eq!(code, Some(2));
    assert!(
        error.contains("there are rules for Pod of v1 in another file already"),
        "{error}"
    );
    fs::rename(
        folder.path().join(RULES),
        folder.path().join("fixtures/simulator/pod.yaml"),
    )
    .unwrap();
    let (code, _, error) = baton(folder.path(), &["lint", "pipeline-resumes"]);
    assert_eq!(code, Some(0), "{error}");
}

#[test]
fn the_schema_of_rules_is_the_present_one() {
    let (code, told, _) = baton(Path::new("."), &["schema", "rules"]);
    assert_eq!(code, Some(0));
    let there = include_str!("../../../../fixtures/schemas/rules.json");
    assert!(
        there == told,
        "write it anew: baton schema rules > fixtures/schemas/rules.json"
    );
}
