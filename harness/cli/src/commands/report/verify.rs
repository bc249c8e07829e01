//! `baton report verify`, `rejudge`, `sign` and `keygen`.

use crate::terminal::{errln, outln};
use std::{collections::BTreeSet, fs, path::Path};

use baton_core::report::{
    ConformanceReport,
    model::JudgedBy,
    verify::{self, Rejudged, Verification, VerifyContext},
};

use super::{Exit, InputError, parse_report, read_report, read_text, with_suite, write};
use crate::{
    args::Evidence,
    files::{self, Roots},
    load::Suite,
    show,
    signature::{self, Password, Signed},
    snapshots::{self, Stored},
};

/// Verifies a report, and its signature if there is a key to check it with.
pub(super) fn verify(roots: &Roots, evidence: &Evidence, key: Option<&Path>) -> Result<Exit, InputError> {
    let path = &evidence.report;
    let text = read_text(path)?;
    let signed = key
        .map(|key| signature::check(path, text.as_bytes(), key))
        .transpose()?;
    let exit = made_again(roots, &parse_report(path, &text)?, evidence, signed.as_ref());
    let signature = signature::path(path);
    match signed {
        Some(Signed::Good(comment)) => outln!("signed by this key: {comment}"),
        None if signature.is_file() => outln!("{} was not checked: --key does it", signature.display()),
        None | Some(_) => {}
    }
    Ok(exit)
}

/// Signs a report that its timelines confirm.
pub(super) fn sign(
    roots: &Roots,
    evidence: &Evidence,
    key: &Path,
    partial: bool,
    password_file: Option<&Path>,
) -> Result<Exit, InputError> {
    let path = &evidence.report;
    let text = read_text(path)?;
    let report = parse_report(path, &text)?;
    let exit = made_again(roots, &report, evidence, None);
    if exit != Exit::Conforms {
        errln!("error: {} is not signed, because it was not confirmed", path.display());
        return Ok(exit);
    }
    if let Some(words) = report.partly().filter(|_| !partial) {
        errln!(
            "error: {} is not signed, because it is partial: {words}",
            path.display()
        );
        errln!("help: --partial signs it all the same");
        return Ok(Exit::Deviates);
    }
    let password = password_file.map_or(Password::Ask, |file| Password::File(file.to_owned()));
    let signature = signature::sign(path, text.as_bytes(), key, &password)?;
    outln!("{}", signature.display());
    Ok(Exit::Conforms)
}

/// Creates a pair of keys.
pub(super) fn keygen(name: &Path, no_password: bool, password_file: Option<&Path>) -> Result<Exit, InputError> {
    let password = match password_file {
        Some(file) => Password::File(file.to_owned()),
        None if no_password => Password::None,
        None => Password::Ask,
    };
    let [secret, public] = signature::generate(name, &password)?;
    outln!("{}  keep it to yourself: it signs reports", secret.display());
    outln!("{}  publish it: it checks signatures", public.display());
    Ok(Exit::Conforms)
}

/// Judges the timelines of a report again, and writes the new report.
pub(super) fn rejudge(roots: &Roots, evidence: &Evidence, output: &Path) -> Result<Exit, InputError> {
    let report = read_report(&evidence.report)?;
    let mut written = Ok(());
    let exit = with_evidence(roots, &report, evidence, |context| {
        let judged_by = JudgedBy {
            baton_version: env!("CARGO_PKG_VERSION").to_owned(),
            suite: baton_suite::DIGEST.to_owned(),
        };
        match verify::rejudge(&report, context, judged_by) {
            Ok(again) => {
                written = write_again(&again, output);
                Exit::Conforms
            }
            Err(objections) => {
                for objection in objections {
                    errln!("{objection}");
                }
                errln!("error: {} is not judged again", evidence.report.display());
                errln!("help: only the timelines that a report was made of can be judged again");
                Exit::Deviates
            }
        }
    });
    written.map(|()| exit)
}

fn write_again(again: &Rejudged, output: &Path) -> Result<(), InputError> {
    for objection in &again.changed {
        outln!("note: not judged: {objection}");
    }
    write(output, &again.report.to_yaml()?)?;
    Ok(())
}

/// Builds a report again from its timelines, and prints where it differs. `signed` is the result of checking its
/// signature.
fn made_again(roots: &Roots, report: &ConformanceReport, evidence: &Evidence, signed: Option<&Signed>) -> Exit {
    with_evidence(roots, report, evidence, |context| {
        let came = verify::verify(report, context);
        for objection in &came.objections {
            outln!("{objection}");
        }
        let refused = signed.filter(|signed| !matches!(signed, Signed::Good(_)));
        if let Some(refused) = refused {
            outln!("{refused}");
        }
        let partly = report.partly().map(|partly| format!("; {partly}")).unwrap_or_default();
        let words = format!("{}{partly}", verified(&came));
        if came.objections.is_empty() && refused.is_none() {
            outln!("confirmed: {words}");
            Exit::Conforms
        } else {
            outln!("\nREFUTED: {words}");
            Exit::Deviates
        }
    })
}

/// Calls a function with the suite and the timelines that a report is judged by.
fn with_evidence(
    roots: &Roots,
    report: &ConformanceReport,
    evidence: &Evidence,
    judge: impl FnOnce(&VerifyContext<'_>) -> Exit,
) -> Exit {
    let Evidence {
        cases: more, timelines, ..
    } = evidence;
    if report.cases.iter().any(|case| case.evidence.is_some()) && !timelines.is_dir() {
        errln!("error: there is no folder {}", timelines.display());
        errln!("help: name the folder of the report's timelines with --timelines");
        return Exit::BadInput;
    }
    let mut overridden = BTreeSet::new();
    let suite = Suite::load(roots).and_then(Suite::whole).and_then(|suite| {
        let more = Suite::load_files(roots, more)?.whole()?;
        overridden = suite.overridden(roots, &more.cases);
        Ok(Suite {
            cases: [suite.cases, more.cases].concat(),
            ..suite
        })
    });
    with_suite(suite, |suite| {
        let stored = Stored::read(roots, &suite.cases);
        let cases = suite.cases.into_iter().map(|case| (case.id.clone(), case)).collect();
        let unnamed = unnamed(report, timelines);
        notes(roots, report, timelines, &unnamed, overridden);
        judge(&VerifyContext {
            catalogue: &suite.catalogue,
            cases: &cases,
            timeline: &|name| files::read_evidence(&timelines.join(name)),
            snapshots: &|case, verdict| snapshots::differences(roots, &stored, case, &verdict.snapshots),
            unnamed: &unnamed,
        })
    })
}

/// Returns the timelines in a folder that a report does not name.
fn unnamed(report: &ConformanceReport, folder: &Path) -> Vec<String> {
    let named: BTreeSet<&str> = report
        .cases
        .iter()
        .filter_map(|case| Some(case.evidence.as_ref()?.timeline.as_str()))
        .collect();
    // If the folder cannot be read, each timeline that the report names is an objection.
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = files.filter(|entry| entry.file_type().is_ok_and(|it| it.is_file()));
    let timelines = files.filter(|entry| entry.path().extension().is_some_and(|it| it == "jsonl"));
    let others = timelines.filter_map(|entry| entry.file_name().into_string().ok());
    let mut unnamed: Vec<String> = others.filter(|name| !named.contains(name.as_str())).collect();
    unnamed.sort();
    unnamed
}

/// Prints notes for the reader of a report before its verdict: the suite that it is from, the timelines that it leaves out,
/// and the cases that arguments override.
fn notes(
    roots: &Roots,
    report: &ConformanceReport,
    folder: &Path,
    unnamed: &[String],
    mut overridden: BTreeSet<String>,
) {
    if !unnamed.is_empty() {
        let files = show::count(unnamed.len(), "timeline");
        outln!(
            "note: the report does not name {files} in {}: {}",
            folder.display(),
            show::some(unnamed.iter().map(String::as_str))
        );
    }
    if !report.suite.replaced.is_empty() {
        outln!(
            "note: in the run of the report {}",
            show::replaced(&report.suite.replaced)
        );
    }
    let judged_by = report.judged_by.as_ref().map(|by| &by.suite);
    let suite = judged_by.or(report.suite.built_in.as_ref());
    if let Some(suite) = suite.filter(|it| *it != baton_suite::DIGEST) {
        let short = suite.get(..12).unwrap_or(suite);
        outln!(
            "note: the report was made with the suite {short}; this program has the suite {}",
            &baton_suite::DIGEST[..12]
        );
    }
    match roots.replaced() {
        Ok(replaced) => overridden.extend(replaced),
        Err(error) => outln!(
            "note: {} cannot be compared with the built-in suite: {error}",
            roots.folder().display()
        ),
    }
    if !overridden.is_empty() {
        outln!("note: in this verification {}", show::replaced(&overridden));
    }
}

/// Returns the result of a verification in a line.
fn verified(came: &Verification) -> String {
    let selected = came.judged + came.unsupported + came.broken + came.missing;
    let confirmed = came.confirmed;
    let mut words = format!(
        "{confirmed} of {} from their timelines",
        if selected == 1 {
            "1 case follows".to_owned()
        } else {
            format!("{selected} cases follow")
        }
    );
    let not_run = selected - came.judged;
    if not_run > 0 {
        let why = [
            (came.unsupported, "unsupported"),
            (came.broken, "broken"),
            (came.missing, "missing from the report"),
        ];
        let why = why.iter().filter(|(count, _)| *count > 0);
        let why: Vec<String> = why.map(|(count, why)| format!("{count} {why}")).collect();
        words = format!("{words}; {not_run} not run ({})", why.join(", "));
    }
    if came.not_selected > 0 {
        words = format!(
            "{words}; {} of the suite not selected",
            show::count(came.not_selected, "case")
        );
    }
    words
}
