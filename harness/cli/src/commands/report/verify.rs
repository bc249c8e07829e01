//! `baton report verify`, `sign` and `keygen`.

use crate::terminal::{errln, outln};
use std::{fs, path::Path};

use baton_core::report::{
    ConformanceReport,
    verify::{self, Verification},
};

use super::{Exit, InputError, parse_report, read_text, with_suite};
use crate::{
    args::Evidence,
    files::Roots,
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
    password_file: Option<&Path>,
) -> Result<Exit, InputError> {
    let path = &evidence.report;
    let text = read_text(path)?;
    let exit = made_again(roots, &parse_report(path, &text)?, evidence, None);
    if exit != Exit::Conforms {
        errln!("error: {} is not signed, because it was not confirmed", path.display());
        return Ok(exit);
    }
    let password = password_file.map_or(Password::Ask, |file| Password::File(file.to_owned()));
    let signature = signature::sign(path, text.as_bytes(), key, &password)?;
    outln!("{}", signature.display());
    Ok(Exit::Conforms)
}

/// Makes a pair of keys.
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

/// Makes a report again from its timelines, and says where it differs. `signed` says what its signature came to.
fn made_again(roots: &Roots, report: &ConformanceReport, evidence: &Evidence, signed: Option<&Signed>) -> Exit {
    let Evidence {
        cases: more, timelines, ..
    } = evidence;
    let suite = Suite::load(roots).and_then(Suite::whole).and_then(|suite| {
        let more = Suite::load_files(roots, more)?.whole()?;
        Ok(Suite {
            cases: [suite.cases, more.cases].concat(),
            ..suite
        })
    });
    with_suite(suite, |suite| {
        let stored = Stored::read(roots, &suite.cases);
        let cases = suite.cases.into_iter().map(|case| (case.id.clone(), case)).collect();
        let context = verify::VerifyContext {
            catalogue: &suite.catalogue,
            cases: &cases,
            timeline: &|name| fs::read(timelines.join(name)).map_err(|error| error.to_string()),
            snapshots: &|case, verdict| snapshots::differences(roots, &stored, case, &verdict.snapshots),
        };
        let came = verify::verify(report, &context);
        for objection in &came.objections {
            outln!("{objection}");
        }
        let refused = signed.filter(|signed| !matches!(signed, Signed::Good(_)));
        if let Some(refused) = refused {
            outln!("{refused}");
        }
        let words = verified(&came);
        if came.objections.is_empty() && refused.is_none() {
            outln!("confirmed: {words}");
            Exit::Conforms
        } else {
            outln!("\nREFUTED: {words}");
            Exit::Deviates
        }
    })
}

/// What a verification came to, in a line.
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
            (came.missing, "missing because the run was interrupted"),
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
