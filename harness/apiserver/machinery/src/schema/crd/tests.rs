use serde_json::{Value, json};

use super::{
    default, deprecation_warning, names_conditions, prepare_create, prepare_update, validate_create, validate_update,
};

fn widgets(edit: impl FnOnce(&mut Value)) -> Value {
    let mut crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
                "properties": {"spec": {"type": "object", "properties": {"x": {"type": "string"}, "r": {"type": "integer"}}}}}}}]
        }
    });
    edit(&mut crd);
    default(&mut crd);
    prepare_create(&mut crd);
    crd
}

fn refusals(edit: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut texts: Vec<String> = validate_create(&widgets(edit))
        .iter()
        .map(ToString::to_string)
        .collect();
    texts.sort();
    texts
}

#[test]
fn defaults_and_the_first_status() {
    let crd = widgets(|_| {});
    assert_eq!(
        crd["spec"]["names"],
        json!({"plural": "widgets", "kind": "Widget", "singular": "widget", "listKind": "WidgetList"})
    );
    assert_eq!(crd["spec"]["conversion"], json!({"strategy": "None"}));
    assert_eq!(
        crd["status"],
        json!({"acceptedNames": {"kind": "", "plural": ""}, "conditions": null, "storedVersions": ["v1"]})
    );
    assert_eq!(validate_create(&crd), []);
}

#[test]
fn refusals_in_the_words_of_the_server() {
    type Edit = fn(&mut Value);
    let cases: [(Edit, Vec<&str>); 8] = [
        (
            |crd| crd["spec"]["scope"] = json!("Galactic"),
            vec![r#"spec.scope: Unsupported value: "Galactic": supported values: "Cluster", "Namespaced""#],
        ),
        (
            |crd| crd["metadata"]["name"] = json!("others.example.com"),
            vec![r#"metadata.name: Invalid value: "others.example.com": must be spec.names.plural+"."+spec.group"#],
        ),
        (
            |crd| crd["spec"]["versions"] = json!([]),
            vec![
                "spec.versions: Invalid value: []: must have exactly one version marked as storage version",
                "status.storedVersions: Invalid value: null: must have at least one stored version",
            ],
        ),
        (
            |crd| {
                crd["spec"]["versions"][0]["subresources"] =
                    json!({"scale": {"specReplicasPath": ".status.r", "statusReplicasPath": "x"}});
            },
            vec![
                r#"spec.subresources.scale.specReplicasPath: Invalid value: ".status.r": should be a json path under .spec"#,
                r#"spec.subresources.scale.statusReplicasPath: Invalid value: "x": must be a simple json path starting with ."#,
            ],
        ),
        (
            |crd| {
                crd["spec"]["versions"][0]["additionalPrinterColumns"] =
                    json!([{"name": "X", "type": "text", "jsonPath": ".spec.x"}]);
            },
            vec![
                r#"spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,number,string"#,
            ],
        ),
        (
            |crd| {
                crd["spec"]["versions"][0]["selectableFields"] =
                    json!([{"jsonPath": ".spec.nope"}, {"jsonPath": ".spec"}]);
            },
            vec![
                r#"spec.selectableFields[0].jsonPath: Invalid value: ".spec.nope": is an invalid path: does not refer to a valid field"#,
                r#"spec.selectableFields[1].jsonPath: Invalid value: ".spec": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."#,
            ],
        ),
        (
            |crd| crd["spec"]["versions"][0]["deprecationWarning"] = json!("old"),
            vec![
                r#"spec.versions[0].deprecationWarning: Invalid value: "old": can only be set for deprecated versions"#,
            ],
        ),
        (
            |crd| crd["spec"]["conversion"] = json!({"strategy": "Webhook"}),
            vec![
                "spec.conversion.conversionReviewVersions: Required value",
                "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
            ],
        ),
    ];
    for (edit, expected) in cases {
        assert_eq!(refusals(edit), expected);
    }
}

#[test]
fn updates_keep_the_identity_and_remember_storage() {
    let mut old = widgets(|_| {});
    old["status"] = names_conditions(&old, [].iter(), "2026-01-01T00:00:00Z").unwrap();
    let mut new = old.clone();
    new["spec"]["scope"] = json!("Cluster");
    new["spec"]["versions"][0]["name"] = json!("v2");
    prepare_update(&mut new, &old);
    assert_eq!(new["status"]["storedVersions"], json!(["v1", "v2"]));
    let texts: Vec<String> = validate_update(&new, &old).iter().map(ToString::to_string).collect();
    assert_eq!(texts[0], r#"spec.scope: Invalid value: "Cluster": field is immutable"#);
    assert!(
        texts[1].starts_with(r#"status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was"#)
    );
}

#[test]
fn the_second_of_two_with_the_same_names_waits() {
    let mut first = widgets(|_| {});
    first["status"] = names_conditions(&first, [].iter(), "t0").unwrap();
    assert_eq!(first["status"]["conditions"][1]["reason"], "InitialNamesAccepted");
    assert_eq!(names_conditions(&first, [].iter(), "t1"), None);
    let second = widgets(|crd| {
        crd["metadata"]["name"] = json!("gadgets.example.com");
        crd["spec"]["names"] = json!({"plural": "gadgets", "kind": "Widget", "shortNames": ["g"]});
    });
    let status = names_conditions(&second, [&first].into_iter(), "t2").unwrap();
    assert_eq!(
        status["acceptedNames"],
        json!({"plural": "gadgets", "shortNames": ["g"], "kind": "", })
    );
    assert_eq!(status["conditions"][0]["message"], r#""WidgetList" is already in use"#);
    assert_eq!(status["conditions"][1]["reason"], "NotAccepted");
}

#[test]
fn deprecated_versions_point_to_a_better_one() {
    let spec = json!({"group": "g.io", "names": {"kind": "W"}, "versions": [
        {"name": "v1alpha1", "served": true, "deprecated": true}, {"name": "v1", "served": true}, {"name": "v1beta1", "served": true}
    ]});
    let warning = deprecation_warning(&spec, &spec["versions"][0]);
    assert_eq!(warning.as_deref(), Some("g.io/v1alpha1 W is deprecated; use g.io/v1 W"));
    assert_eq!(deprecation_warning(&spec, &spec["versions"][1]), None);
}
