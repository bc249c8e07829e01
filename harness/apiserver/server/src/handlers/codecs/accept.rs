//! The `Accept` header: the form in which a client wants its answer.

use http::{HeaderMap, header};

use crate::api_error::ApiError;
use crate::handlers::{Call, Verb};

/// The encoding of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Yaml,
}

/// The part of its objects that an answer shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// The whole object.
    Whole,
    /// Rows of a table, in a version of `meta.k8s.io`.
    Table(MetaVersion),
    /// Metadata of one object.
    Partial(MetaVersion),
    /// Metadata of a collection.
    PartialList(MetaVersion),
}

/// A version of `meta.k8s.io`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetaVersion {
    V1,
    V1Beta1,
}

impl MetaVersion {
    pub(crate) fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) format: Format,
    pub(crate) view: View,
}

impl Form {
    pub(crate) const JSON: Self = Self {
        format: Format::Json,
        view: View::Whole,
    };
}

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// One entry of the header.
struct Clause<'a> {
    media: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    quality: f32,
}

fn clauses(accept: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<Clause<'_>> = accept
        .split(',')
        .filter(|clause| !clause.trim().is_empty())
        .map(|clause| {
            let mut parts = clause.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default();
            let parameters: Vec<_> = parts.filter_map(|part| part.split_once('=')).collect();
            let quality = parameters
                .iter()
                .find(|(key, _)| *key == "q")
                .and_then(|(_, q)| q.parse().ok());
            Clause {
                media,
                parameters,
                quality: quality.unwrap_or(1.0),
            }
        })
        .collect();
    clauses.sort_by(|a, b| b.quality.total_cmp(&a.quality));
    clauses
}

impl Clause<'_> {
    fn format(&self) -> Option<Format> {
        match self.media {
            // Clients that read protobuf also read JSON.
            "application/json" | PROTOBUF | "*/*" | "application/*" => Some(Format::Json),
            "application/yaml" => Some(Format::Yaml),
            _ => None,
        }
    }

    fn view(&self) -> Option<View> {
        let parameter = |name: &str| {
            self.parameters
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| *value)
        };
        let Some(wanted) = parameter("as") else {
            return Some(View::Whole);
        };
        let version = match (parameter("g"), parameter("v")) {
            (Some("meta.k8s.io"), Some("v1")) => MetaVersion::V1,
            (Some("meta.k8s.io"), Some("v1beta1")) => MetaVersion::V1Beta1,
            _ => return None,
        };
        match wanted {
            "Table" => Some(View::Table(version)),
            "PartialObjectMetadata" => Some(View::Partial(version)),
            "PartialObjectMetadataList" => Some(View::PartialList(version)),
            _ => None,
        }
    }
}

/// Returns the first form of the header that the server supports, whatever the request.
pub(crate) fn any(headers: &HeaderMap) -> Form {
    let accept = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    // A clause for a partial view does not apply to errors.
    let clauses = clauses(accept);
    let mut whole = clauses.iter().filter(|clause| clause.view() == Some(View::Whole));
    let format = whole.find_map(Clause::format).unwrap_or(Format::Json);
    Form {
        format,
        view: View::Whole,
    }
}

/// Returns the form in which a call is answered.
pub(crate) fn of_call(call: &Call) -> Result<Form, ApiError> {
    let accept = call.header(header::ACCEPT).unwrap_or_default();
    if accept.trim().is_empty() {
        return Ok(Form::JSON);
    }
    let clauses = clauses(accept);
    let watched = matches!(
        call.verb,
        Verb::List | Verb::Watch | Verb::DeleteCollection | Verb::Create
    );
    let streams = watched && call.verb != Verb::Create;
    let custom = call.resource.custom().is_some();
    // Custom resources have no protobuf; only their server accepts wildcards with a prefix.
    let readable = |clause: &&Clause<'_>| match clause.media {
        PROTOBUF => !custom || clause.view() != Some(View::Whole),
        "application/*" => custom,
        _ => clause.format().is_some(),
    };
    let known: Vec<&Clause<'_>> = clauses.iter().filter(readable).collect();
    if known.is_empty() && !custom {
        let mut message = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, \
                           application/vnd.kubernetes.protobuf"
            .to_owned();
        if streams {
            message.push_str(", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch");
        }
        return Err(ApiError::new(
            406,
            "NotAcceptable",
            message,
            Some(serde_json::json!({})),
        ));
    }
    // Clients that read protobuf get JSON instead, unless they ask for a view in protobuf only.
    let readable = |clause: &&&Clause<'_>| clause.media != PROTOBUF || clause.view() == Some(View::Whole);
    let several = known.iter().any(|clause| clause.media != PROTOBUF);
    let form = known
        .iter()
        .filter(|clause| !several || readable(clause))
        .find_map(|clause| {
            let (format, view) = (clause.format()?, clause.view()?);
            Some(Form { format, view })
        });
    form.ok_or_else(|| {
        not_acceptable(
            "only the following media types are accepted: application/json, application/yaml, \
             application/vnd.kubernetes.protobuf"
                .to_owned(),
        )
    })
}

pub(crate) fn not_acceptable(message: String) -> ApiError {
    ApiError::new(406, "NotAcceptable", message, None)
}
