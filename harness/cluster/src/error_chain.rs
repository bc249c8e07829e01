//! Errors as people read them.

/// An error with all its sources, on one line. A source that its error ends with already is not repeated.
pub fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let told = cause.to_string();
        if !text.ends_with(&told) {
            text = format!("{text}: {told}");
        }
        source = cause.source();
    }
    text
}
