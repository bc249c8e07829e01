//! The verbs get and list.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, URL_SAFE_NO_PAD};
use baton_apimachinery::go_json::{self, JsonError};
use serde_json::{Value, json};

use crate::api_error::ApiError;
use crate::handlers::codecs::reply::{List, Reply};
use crate::handlers::verbs::options;
use crate::handlers::versioning::matches;
use crate::handlers::{Call, Core};
use crate::selector::Selectors;
use crate::store::{Part, Stored, Wanted, key_of};

impl Core {
    pub(in crate::handlers) fn get(&self, call: &Call) -> Result<Reply, ApiError> {
        let wanted = options::version(call.query.get("resourceVersion")).map_err(ApiError::plain_500)?;
        let current = self.store.revision();
        if let Some(wanted) = wanted.filter(|wanted| *wanted > current) {
            return Err(options::too_new(wanted, current));
        }
        let stored = self.find(call)?;
        Ok(Reply::Object {
            code: 200,
            object: call.show(&stored)?,
            resource: call.resource.clone(),
        })
    }

    /// Returns the object that a call names.
    pub(in crate::handlers) fn find(&self, call: &Call) -> Result<Arc<Stored>, ApiError> {
        self.store
            .get(call.resource.bucket, &call.key())
            .ok_or_else(|| ApiError::not_found(call.about(call.name.as_deref().unwrap_or_default())))
    }

    pub(in crate::handlers) fn list(&self, call: &Call) -> Result<Reply, ApiError> {
        let page = self.page(call)?;
        Ok(Reply::List(List {
            resource: call.resource.clone(),
            items: call.show_all(&page.items)?,
            revision: page.revision,
            next: page.next,
            remaining: page.remaining,
        }))
    }

    /// Returns the objects of a list, or of the deletion of a collection.
    pub(in crate::handlers) fn page(&self, call: &Call) -> Result<Listed, ApiError> {
        options::check_list(call)?;
        call.query.number("timeoutSeconds")?;
        let selectors = selectors(call)?;
        let page = Page::read(call)?;
        let (part, revision) = self.part(call, &page, page.limit.filter(|_| selectors.is_empty()))?;
        let (items, left) = if selectors.is_empty() {
            let before = page.left.unwrap_or(part.total);
            let left = before.saturating_sub(part.items.len());
            (part.items, left)
        } else {
            if call.resource.converter().is_some() {
                call.show_all(&part.items)?;
            }
            let matches = |stored: &Arc<Stored>| matches(&selectors, &call.resource, &call.conversions, stored);
            let mut matching = part.items.into_iter().filter(matches);
            let items: Vec<_> = matching.by_ref().take(page.limit.unwrap_or(usize::MAX)).collect();
            (items, usize::from(matching.next().is_some()))
        };
        let last = items.last().filter(|_| left > 0);
        let next = last.map(|last| token(revision, &key_of(&last.value()), left));
        Ok(Listed {
            items,
            revision,
            next,
            remaining: (left > 0 && selectors.is_empty()).then_some(left),
        })
    }

    /// Returns the objects of the collection at the revision of the list, and that revision.
    fn part(&self, call: &Call, page: &Page, limit: Option<usize>) -> Result<(Part, u64), ApiError> {
        let current = self.store.revision();
        if let Some(wanted) = page.revision.filter(|wanted| *wanted > current) {
            return Err(options::too_new(wanted, current));
        }
        let prefix = call.prefix();
        let wanted = Wanted {
            prefix: &prefix,
            after: page.after.as_deref(),
            limit,
            revision: page.revision.filter(|_| page.exact),
        };
        if let Some(stale) = self.stale(call, &wanted) {
            return Ok(stale);
        }
        self.store.part(call.resource.bucket, &wanted).map_err(|_| {
            ApiError::expired(if page.after.is_some() {
                "The provided continue parameter is too old to display a consistent list result. You can start a new \
                 list without the continue parameter."
            } else {
                "The resourceVersion for the provided list is too old."
            })
        })
    }

    /// Returns the objects of a collection, and its revision, for a watch that begins with them.
    pub(in crate::handlers) fn present(&self, call: &Call) -> (Vec<Arc<Stored>>, u64) {
        let prefix = call.prefix();
        let wanted = Wanted {
            prefix: &prefix,
            ..Wanted::default()
        };
        match self.stale(call, &wanted) {
            Some((part, revision)) => (part.items, revision),
            None => self.store.list(call.resource.bucket, &prefix),
        }
    }

    /// Returns what a lagging cache has of a collection: for lists of any age, while the cache lags and the history goes
    /// back far enough.
    fn stale(&self, call: &Call, wanted: &Wanted<'_>) -> Option<(Part, u64)> {
        let is_of_any_age = call.query.get("resourceVersion") == Some("0") && wanted.after.is_none();
        let revision = self.faults.stale_revision(call.caller.side).filter(|_| is_of_any_age);
        let wanted = Wanted {
            revision: Some(revision?),
            ..*wanted
        };
        self.store.part(call.resource.bucket, &wanted).ok()
    }
}

/// A page of a collection, in the form in which it is stored.
pub(in crate::handlers) struct Listed {
    pub(in crate::handlers) items: Vec<Arc<Stored>>,
    pub(in crate::handlers) revision: u64,
    /// The token of the next page.
    pub(in crate::handlers) next: Option<String>,
    pub(in crate::handlers) remaining: Option<usize>,
}

/// Returns the selectors of a call.
pub(in crate::handlers) fn selectors(call: &Call) -> Result<Selectors, ApiError> {
    Selectors::parse(
        &call.resource,
        call.query.get("labelSelector"),
        call.query.get("fieldSelector"),
    )
}

/// The part of a collection that a list shows, and its revision.
struct Page {
    limit: Option<usize>,
    revision: Option<u64>,
    /// `true` if the list must be of exactly this revision; `false` if the revision is the oldest acceptable one.
    exact: bool,
    /// The key of the last object of the previous page.
    after: Option<String>,
    /// Number of objects after that page.
    left: Option<usize>,
}

impl Page {
    fn read(call: &Call) -> Result<Self, ApiError> {
        let given = call.query.get("resourceVersion");
        let limit = call
            .query
            .number("limit")?
            .and_then(|limit| usize::try_from(limit).ok())
            .filter(|limit| *limit > 0);
        if let Some(token) = call.query.get("continue") {
            let (revision, after, left) =
                read_token(token).map_err(|error| ApiError::bad_request(format!("invalid continue token: {error}")))?;
            if given.is_some_and(|given| given != "0") {
                let message = "specifying resource version is not allowed when using continue";
                return Err(ApiError::bad_request(message));
            }
            return Ok(Self {
                limit,
                revision: Some(revision),
                exact: true,
                after: Some(after),
                left,
            });
        }
        let revision = options::version(given)
            .map_err(|error| ApiError::bad_request(format!("invalid resource version: {error}")))?;
        let exact = match call.query.get("resourceVersionMatch") {
            Some("Exact") => true,
            Some(_) => false,
            None => limit.is_some(),
        };
        Ok(Self {
            // In the reference, a list of any age comes from the watch cache, which ignores the limit.
            limit: limit.filter(|_| given != Some("0")),
            revision,
            exact,
            after: None,
            left: None,
        })
    }
}

/// URL-safe base64 that ignores spare bits after the last byte.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Returns the token of the page after an object; `left` is the number of objects on that page and later ones.
fn token(revision: u64, last: &str, left: usize) -> String {
    let token = json!({"v": "meta.k8s.io/v1", "rv": revision, "start": format!("{last}\0"), "left": left});
    URL_SAFE_NO_PAD.encode(token.to_string())
}

/// Reason for which a continue token cannot be read.
#[derive(Debug, thiserror::Error)]
enum TokenError {
    #[error("continue key is not valid: illegal base64 data at input byte 0")]
    Base64(#[from] base64::DecodeError),
    #[error("continue key is not valid: {0}")]
    Json(#[from] JsonError),
    #[error("continue key is not valid: incorrect encoded start resourceVersion")]
    Start,
}

fn read_token(token: &str) -> Result<(u64, String, Option<usize>), TokenError> {
    let value = go_json::parse(&LENIENT.decode(token)?)?;
    let revision = value.get("rv").and_then(Value::as_u64);
    let start = value
        .get("start")
        .and_then(Value::as_str)
        .and_then(|start| start.strip_suffix('\0'));
    let left = value.get("left").and_then(Value::as_u64);
    let left = left.and_then(|left| usize::try_from(left).ok());
    match (revision, start) {
        (Some(revision), Some(start)) => Ok((revision, start.to_owned(), left)),
        _ => Err(TokenError::Start),
    }
}
