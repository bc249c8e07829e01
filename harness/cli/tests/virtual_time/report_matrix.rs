//! The pages that compare reports: what they hold, and that nothing of a report is more than text on them.

use baton::report::matrix;
use baton_core::report::ConformanceReport;

/// A script, as text of a report.
const HOSTILE: &str = "</script><script>document.title='broken'</script><img src=x>\"";

/// A small report: A-01 is broken or shown, B-01 is a proposal that is broken, C-01 rests on an issue.
fn report(name: &str, version: &str, is_broken: bool) -> ConformanceReport {
    let (result, defects) = if is_broken {
        let finding =
            "{title: first seen, expected: a label, seen: nothing, difference: missing, atSecs: 1.0, entry: 2}";
        let defect = format!(
            "defects:\n- {{requirements: [A-01], consequence: deviation, field: metadata.labels, difference: missing, \
             finding: {finding}, cases: [one]}}\n"
        );
        ("broken", defect)
    } else {
        ("shown", String::new())
    };
    let text = format!(
        "apiVersion: baton.dev/v1alpha1
kind: ConformanceReport
date: 2026-01-02T03:04:05Z
batonVersion: 0.1.0
implementation: {{name: {name}, version: {version}}}
suite: {{cases: 1, digest: sha256:0}}
backend: {{name: embedded, kubernetesVersions: []}}
features: [F]
documents:
  D: {{title: Proposal, url: https://example.org/blob/d.md, standing: merged}}
  P: {{title: Another, url: https://example.org/p, standing: open}}
summary:
  cases: {{conforming: 0, deviating: 0, unsupported: 0, broken: 0}}
  requirements: {{shown: 0, broken: 0, notShown: 0, unsupported: 0}}
  wallSecs: 1.0
{defects}requirements:
- {{id: A-01, level: MUST, feature: F, text: Labels., consequence: deviation, result: {result}, sources: [{{document: D, section: Labels, lines: 3, basis: said}}]}}
- {{id: B-01, level: MUST, feature: F, text: Queues., consequence: proposed, result: broken, sources: [{{document: P, section: Queues, lines: 1, basis: said}}]}}
- {{id: C-01, level: ADVICE, feature: F, text: Events., consequence: remark, result: notJudged, sources: [{{issue: 7}}]}}
cases: []
"
    );
    ConformanceReport::parse(&text).unwrap()
}

/// The part of the index that is about a requirement.
fn row<'a>(index: &'a str, id: &str) -> &'a str {
    let (_, rest) = index.split_once(&format!("<tr class=\"row\" id=\"{id}\"")).unwrap();
    rest.split_once("</tr>").unwrap().0
}

#[test]
fn cells_lead_to_defects_and_tell_what_changed() {
    let reports = [
        report("karmada", "v1.15.0", false),
        report("other", "v1.0.0", false),
        report("karmada", "v1.16.0", true),
    ];
    let pages = matrix::pages(&reports).unwrap();
    let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["index.html", "report-1.html", "report-2.html", "report-3.html"]);
    let index = &pages[0].1;
    let labels = row(index, "A-01");
    assert!(labels.contains("data-differs"), "{labels}");
    assert!(
        labels.contains("<a class=\"state broken\" href=\"report-3.html#defect-1\">broken</a>"),
        "{labels}"
    );
    assert!(
        labels.contains("<a class=\"state shown\" href=\"report-1.html#A-01\">shown</a>"),
        "{labels}"
    );
    // Only the later version of the same implementation has changed.
    assert_eq!(labels.matches("was shown").count(), 1, "{labels}");
    assert_eq!(labels.matches("class=\"changed\"").count(), 1, "{labels}");
    assert!(
        labels.contains("href=\"https:&#x2f;&#x2f;example.org&#x2f;blob&#x2f;d.md?plain=1#L3-L3\""),
        "{labels}"
    );
    let proposed = row(index, "B-01");
    assert_eq!(proposed.matches("state proposed").count(), 3, "{proposed}");
    assert!(!proposed.contains("data-differs"), "{proposed}");
    assert_eq!(row(index, "C-01").matches("state notJudged").count(), 3);
    let order: Vec<usize> = [
        "D (Proposal, merged): Labels",
        "P (Another, open, not merged): Queues",
        "Without a document",
    ]
    .map(|heading| index.find(heading).unwrap_or_else(|| panic!("{heading}")))
    .into();
    assert!(order.is_sorted(), "{order:?}");
    // Each link leads to something.
    for (link, page) in [("defect-1", &pages[3].1), ("A-01", &pages[1].1)] {
        assert!(page.contains(&format!("id=\"{link}\"")), "{link}");
    }
}

#[test]
fn the_headline_counts_defects_that_a_baseline_names() {
    let clean = report("karmada", "v1.15.0", false);
    let broken = report("karmada", "v1.16.0", true);
    let mut known = broken.clone();
    known.defects[0].known = true;
    let pages = matrix::pages(&[clean, broken, known]).unwrap();
    let lines: Vec<&str> = pages[0]
        .1
        .lines()
        .filter(|line| line.contains(", embedded, "))
        .collect();
    for (line, expected) in lines
        .iter()
        .zip(["no defect, ", "1 defect in 1 case, ", "1 known defect, "])
    {
        assert!(line.contains(expected), "{line}");
    }
    assert_eq!(lines.len(), 3);
}

#[test]
fn texts_of_a_report_stay_texts() {
    let mut report = report("karmada", "v1.15.0", true);
    HOSTILE.clone_into(&mut report.implementation.name);
    for document in report.documents.values_mut() {
        "javascript:document.title".clone_into(&mut document.url);
        HOSTILE.clone_into(&mut document.title);
    }
    for requirement in &mut report.requirements {
        HOSTILE.clone_into(&mut requirement.text);
        requirement.id = HOSTILE.into();
    }
    for (name, page) in matrix::pages(&[report]).unwrap() {
        assert!(!page.contains("<img") && !page.contains("</script><script>"), "{name}");
        assert_eq!(page.matches("<script").count(), 1, "{name}");
        assert!(!page.contains("href=\"javascript"), "{name}");
        assert!(page.contains("default-src 'none'"), "{name}");
    }
}
