//! `baton jsonpath`: evaluates a path against a status.

use std::{
    io::{self, IsTerminal as _, Read as _},
    path::Path,
};

use baton_core::yaml::{self, plain};
use baton_decide::preserve::why_no_label_value;
use baton_jsonpath::{EvaluateError, EvaluateErrorKind, Template};
use serde_json::Value;

use super::{Exit, bad_file, bad_input};
use crate::{
    files,
    terminal::{errln, outln},
};

/// Prints the text on standard output, or the error on standard error. A text that cannot be the value of a label causes a
/// warning.
pub fn jsonpath(path: &str, file: &Path) -> Exit {
    let text = read(file);
    let template = match Template::parse(path) {
        Ok(template) => template,
        Err(error) => return bad_input(&error, ""),
    };
    let text = match text {
        Ok(text) => text,
        Err(error) => return bad_input(&error, &format!("check that {} is the right file", file.display())),
    };
    // YAML includes most of JSON, but not all its escapes and numbers.
    let status: Value = match serde_json::from_str(&text).or_else(|_| plain::read(&text)) {
        Ok(status) => status,
        Err(error) => {
            let name = if file == Path::new("-") {
                "standard input".into()
            } else {
                file.to_string_lossy()
            };
            let help = "the file must hold one document of JSON or YAML, the content of `status`";
            return bad_file(&name, &error, help);
        }
    };
    match template.evaluate(&status) {
        Ok(found) => {
            outln!("{found}");
            if !path.contains('{') {
                errln!("warning: the path has no braces, so it is a text and not a path; did you mean '{{{path}}}'?");
            }
            if let Some(reason) = why_no_label_value(&found) {
                errln!("warning: this is not a valid label value: {reason}; an eviction that has to preserve it waits");
            }
            Exit::Conforms
        }
        Err(error) => bad_input(&error, &help(&error, &status)),
    }
}

fn read(file: &Path) -> io::Result<String> {
    if file != Path::new("-") {
        return files::read_text(file);
    }
    if io::stdin().is_terminal() {
        errln!("reading the status from standard input; press Ctrl-D to end it");
    }
    let mut text = String::new();
    // An endless input must not fill the memory.
    io::stdin()
        .lock()
        .take(yaml::LARGEST_FILE as u64 + 1)
        .read_to_string(&mut text)?;
    if text.len() > yaml::LARGEST_FILE {
        let reason = format!("standard input has more than {} bytes", yaml::LARGEST_FILE);
        return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    }
    Ok(text)
}

fn help(error: &EvaluateError, status: &Value) -> String {
    let is_object = ["apiVersion", "kind", "status"]
        .iter()
        .all(|key| status.get(key).is_some());
    match (&error.kind, error.help()) {
        (EvaluateErrorKind::NotFound { .. }, None) if is_object => {
            "paths start at the status: pass a file with the content of `status`".to_owned()
        }
        (_, help) => help.unwrap_or_default(),
    }
}
