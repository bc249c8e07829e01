//! Error messages with all their sources.

use std::error::Error;

/// Formats an error and its sources on one line. A source that its error's message ends with already is not repeated;
/// the message of an API server is quoted unchanged.
pub fn error_chain(error: &(dyn Error + 'static)) -> String {
    let (mut text, mut last) = words(error);
    let mut source = error.source();
    while let Some(cause) = source.filter(|_| !last) {
        let told;
        (told, last) = words(cause);
        if !text.ends_with(&told) {
            text = format!("{text}: {told}");
        }
        source = cause.source();
    }
    text
}

/// The message of an error, and whether its sources only repeat it.
fn words(error: &(dyn Error + 'static)) -> (String, bool) {
    let boxed = error.downcast_ref::<Box<kube::Error>>().map(|error| &**error);
    match error.downcast_ref::<kube::Error>().or(boxed) {
        Some(kube::Error::Api(status)) if !status.message.is_empty() => (status.message.clone(), true),
        Some(kube::Error::Api(status)) => (format!("{} ({})", status.reason, status.code), true),
        _ => (error.to_string(), false),
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;
    use crate::actions::ActionError;

    #[test]
    fn what_an_api_server_said_is_told_once() {
        let status = Status::failure("admission webhook denied it", "Forbidden").with_code(403);
        let error = ActionError::Refused {
            what: "applying Deployment deploy".to_owned(),
            source: Box::new(kube::Error::Api(Box::new(status))),
        };
        assert_eq!(
            error_chain(&error),
            "applying Deployment deploy was refused: admission webhook denied it"
        );
    }
}
