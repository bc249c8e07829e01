//! URLs, split as Go splits them.

/// A URL in its parts.
#[derive(Debug, Clone, Default)]
pub struct Url {
    /// The URL as it was written.
    pub text: String,
    /// The scheme in lower case; empty if there is none.
    pub scheme: String,
    /// The host with its port.
    pub host: String,
    /// The path.
    pub path: String,
    /// The query, without the question mark.
    pub query: String,
}

impl Url {
    /// Parses an absolute URL or a path from the root.
    pub fn parse(text: &str) -> Option<Self> {
        if text.chars().any(|letter| letter.is_ascii_control() || letter == ' ') {
            return None;
        }
        let mut url = Self {
            text: text.to_owned(),
            ..Self::default()
        };
        let mut rest = text;
        if !text.starts_with('/') {
            let (scheme, after) = text.split_once(':')?;
            let mut letters = scheme.chars();
            let valid = letters.next().is_some_and(|first| first.is_ascii_alphabetic())
                && letters.all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.'));
            if !valid {
                return None;
            }
            url.scheme = scheme.to_lowercase();
            rest = after;
        }
        if let Some(after) = rest.strip_prefix("//") {
            let end = after.find(['/', '?']).unwrap_or(after.len());
            let authority = after.get(..end)?;
            authority
                .rsplit('@')
                .next()
                .unwrap_or_default()
                .clone_into(&mut url.host);
            let port = url.port();
            if !port.bytes().all(|digit| digit.is_ascii_digit()) {
                return None;
            }
            rest = after.get(end..)?;
        }
        match rest.split_once('?') {
            Some((path, query)) => {
                path.clone_into(&mut url.path);
                query.clone_into(&mut url.query);
            }
            None => rest.clone_into(&mut url.path),
        }
        Some(url)
    }

    /// Returns the host without its port.
    pub fn hostname(&self) -> &str {
        if let Some(rest) = self.host.strip_prefix('[') {
            return rest.split(']').next().unwrap_or_default();
        }
        self.host.split(':').next().unwrap_or_default()
    }

    /// Returns the port; empty if there is none.
    pub fn port(&self) -> &str {
        let after = self.host.rsplit(']').next().unwrap_or_default();
        after.split_once(':').map_or("", |(_, port)| port)
    }
}
