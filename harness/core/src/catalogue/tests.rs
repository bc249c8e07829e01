use super::*;

const SUITE: &str = include_str!("../../../../cases/requirements.yaml");

/// A catalogue with one document of 20 lines and one requirement.
fn parse(level: &str, sources: &str) -> Result<Catalogue, CatalogueError> {
    Catalogue::parse(&format!(
        "documents:\n  D:\n    {{title: T, url: u, standing: merged, note: n, lines: 20,\n     \
         sections: [{{heading: One, line: 2}}, {{heading: Two, line: 10}}]}}\n\
         requirements:\n- {{id: A-01, level: {level}, feature: F, text: T, sources: [{sources}]}}\n"
    ))
}

fn refused(level: &str, sources: &str) -> String {
    let error = parse(level, sources).unwrap_err();
    match std::error::Error::source(&error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

#[test]
fn every_requirement_of_the_suite_has_grounds_that_carry_its_level() {
    let catalogue = Catalogue::parse(SUITE).unwrap();
    let rec_01 = catalogue.get(&"REC-01".into()).unwrap();
    assert_eq!((rec_01.level, rec_01.feature.as_str()), (Level::Must, "LabelInjection"));
    let links = |requirement: &Requirement| {
        requirement
            .sources
            .iter()
            .all(|source| catalogue.link(source).is_some())
    };
    assert!(catalogue.iter().all(links));
    assert!(catalogue.iter().count() >= 158);
}

#[test]
fn a_must_needs_a_passage_of_a_document() {
    let said = "{document: D, section: One, lines: 3-4, basis: said}";
    assert!(parse("MUST", said).is_ok());
    let error = refused("MUST", "{fixed: 7348}");
    assert!(
        error.starts_with("line 6: A-01 is a MUST and needs a passage of a document"),
        "{error}"
    );
    assert!(parse("SHOULD", "{fixed: 7348}").is_ok());
    assert!(refused("SHOULD", "").starts_with("line 6: A-01 is a SHOULD and needs"));
    assert!(refused("ADVICE", "").starts_with("line 6: A-01 is a ADVICE and needs a source"));
}

#[test]
fn a_wish_is_advice() {
    assert!(parse("ADVICE", "{issue: 6232}").is_ok());
    for level in ["MUST", "SHOULD"] {
        assert!(
            refused(level, "{issue: 6232}").ends_with("its level must be ADVICE"),
            "{level}"
        );
    }
}

#[test]
fn a_passage_is_in_the_section_that_it_names() {
    let error = refused("MUST", "{document: D, section: Two, lines: 3, basis: said}");
    assert!(error.ends_with("these lines are in section \"One\""), "{error}");
    let error = refused("MUST", "{document: D, section: One, lines: 1, basis: said}");
    assert!(error.ends_with("these lines are before the first section"), "{error}");
    let error = refused("MUST", "{document: D, section: Two, lines: 19-21, basis: said}");
    assert!(error.ends_with("the document has 20 lines"), "{error}");
    let error = refused("MUST", "{document: E, section: Two, lines: 19, basis: said}");
    assert!(error.ends_with("not under `documents`: expected one of D"), "{error}");
}

#[test]
fn a_source_is_a_passage_or_a_number() {
    for (sources, remedy) in [
        (
            "{document: D, section: One, lines: 3, basis: follows}",
            "`basis: follows` needs `because`",
        ),
        (
            "{document: D, section: One, lines: 3, basis: said, because: b}",
            "`because` goes with `basis: follows` only",
        ),
        (
            "{document: D, section: One, lines: 3}",
            "a source is {document, section, lines, basis}",
        ),
        ("{fixed: 1, issue: 2}", "a source is {document, section, lines, basis}"),
        (
            "{document: D, section: One, lines: 4-3, basis: said}",
            "lines, such as 300 or 262-264",
        ),
    ] {
        let error = refused("MUST", sources);
        assert!(error.contains(remedy), "{sources}: {error}");
    }
}

#[test]
fn an_id_that_does_not_exist_leads_to_the_one_that_was_meant() {
    let catalogue = Catalogue::parse(SUITE).unwrap();
    for wrong in ["REC-1", "rec-01", "REC01", "rec_1", "REC-001", "REC 1"] {
        assert_eq!(catalogue.suggestion(wrong), "did you mean `REC-01`?", "{wrong}");
    }
    assert_eq!(catalogue.suggestion("OBS"), "there are OBS-01 to OBS-05");
    assert_eq!(catalogue.suggestion("OBS-77"), "there are OBS-01 to OBS-05");
    assert_eq!(catalogue.suggestion("RCE-01"), "did you mean `REC-01`?");
    for nonsense in ["", "é", "☃-1", "-", "99999999999999"] {
        assert!(
            catalogue.suggestion(nonsense).starts_with("expected one of"),
            "{nonsense}"
        );
    }
}

#[test]
fn an_id_is_listed_once() {
    let entry = "- {id: A-1, level: ADVICE, feature: F, text: T, sources: [{issue: 1}]}\n";
    let error = Catalogue::parse(&format!("requirements:\n{entry}{entry}")).unwrap_err();
    assert_eq!(error.to_string(), "the requirement A-1 is listed twice");
}

fn consequence_of(
    level: &str,
    sources: &str,
    declared: &[&str],
    claims: Option<(&str, Option<&[&str]>)>,
) -> Consequence {
    let features = |names: &[&str]| names.iter().map(|name| Feature::new(*name)).collect::<BTreeSet<_>>();
    let claims = match claims {
        None => DocumentClaims::default(),
        Some((document, of)) => DocumentClaims::of([(document.into(), of.map(features))].into()),
    };
    let catalogue = parse(level, sources).unwrap();
    Asked::of(&catalogue, &features(declared), &claims).consequence(&"A-01".into())
}

#[test]
fn the_level_decides_the_consequence() {
    let said = "{document: D, section: One, lines: 3, basis: said}";
    for (level, consequence) in [
        ("MUST", Consequence::Deviation),
        ("SHOULD", Consequence::Remark),
        ("ADVICE", Consequence::Remark),
        ("MAY", Consequence::None),
    ] {
        assert_eq!(consequence_of(level, said, &["F"], None), consequence, "{level}");
    }
    assert_eq!(consequence_of("MUST", said, &[], None), Consequence::None, "undeclared");
}

#[test]
fn a_document_that_is_not_claimed_only_proposes() {
    let said = "{document: D, section: One, lines: 3, basis: said}";
    assert_eq!(
        consequence_of("MUST", said, &["F"], Some(("D", None))),
        Consequence::Deviation
    );
    assert_eq!(
        consequence_of("MUST", said, &["F"], Some(("D", Some(&["F"])))),
        Consequence::Deviation
    );
    assert_eq!(
        consequence_of("MUST", said, &["F"], Some(("D", Some(&["G"])))),
        Consequence::Proposed
    );
    assert_eq!(
        consequence_of("MUST", said, &["F"], Some(("E", None))),
        Consequence::Proposed
    );
    // An accepted fix counts without the document, and a wish does not.
    let fixed = format!("{said}, {{fixed: 1}}");
    assert_eq!(
        consequence_of("MUST", &fixed, &["F"], Some(("E", None))),
        Consequence::Remark
    );
    let wish = format!("{said}, {{issue: 1}}");
    assert_eq!(
        consequence_of("MUST", &wish, &["F"], Some(("E", None))),
        Consequence::Proposed
    );
    assert_eq!(
        consequence_of("ADVICE", "{issue: 1}", &["F"], Some(("E", None))),
        Consequence::Remark
    );
}
