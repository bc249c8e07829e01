//! Conversion of custom resources by webhooks.
//!
//! A [`Converter`] is the webhook of a definition, [`Conversions`] are the questions of one request to it. As with
//! admission, a request never waits in the middle: it notes the objects to convert and continues with a substitute.
//! Before anything is stored or answered, the request stops ([`Conversions::settled`]), the webhook is called, and the
//! request starts again with the answers at hand.

mod review;

pub(crate) use review::ConversionError;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use baton_apimachinery::meta;
use serde_json::Value;

use crate::api_error::ApiError;
use crate::ids::Ids;
use crate::webhook_client::{self, Endpoint};

/// Timeout of a webhook call in seconds.
const TIMEOUT_SECS: u64 = 30;
/// Maximum size of a review in bytes, unless one object alone is larger.
const MAX_SENT: usize = 1 << 20;

/// The webhook of a definition.
#[derive(Debug)]
pub(crate) struct Converter {
    endpoint: Endpoint,
    /// The version of `ConversionReview` that the webhook accepts.
    review_version: String,
}

impl Converter {
    /// Reads `spec.conversion` of a definition; `None` if it has no webhook.
    pub(crate) fn read(conversion: &Value) -> Option<Self> {
        let webhook = conversion
            .get("webhook")
            .filter(|_| conversion["strategy"] == "Webhook")?;
        let versions = webhook.get("conversionReviewVersions").and_then(Value::as_array);
        let mut versions = versions.into_iter().flatten().filter_map(Value::as_str);
        let known = versions.find(|version| matches!(*version, "v1" | "v1beta1"))?;
        Some(Self {
            endpoint: Endpoint::read(webhook.get("clientConfig")?, TIMEOUT_SECS),
            review_version: known.to_owned(),
        })
    }
}

/// An object to convert.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Question {
    /// The requested `apiVersion`.
    to: String,
    /// The object as JSON, without its revision, because a new object does not have one before it is stored.
    object: String,
}

#[derive(Debug, Default)]
struct State {
    answers: BTreeMap<Question, Result<Value, Arc<ConversionError>>>,
    asked: BTreeMap<Question, Arc<Converter>>,
    /// Reason for which a required object could not be converted.
    failure: Option<Arc<ConversionError>>,
}

/// The conversions that one request needs, or a watch for its next events.
#[derive(Debug, Default)]
pub(crate) struct Conversions(Mutex<State>);

impl Conversions {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a new attempt of the request.
    pub(crate) fn restart(&self) {
        self.lock().failure = None;
    }

    /// Returns an object in another version. Until the webhook has been called, returns the object as it was.
    pub(crate) fn convert(
        &self,
        converter: &Arc<Converter>,
        mut object: Value,
        to: &str,
    ) -> Result<Value, Arc<ConversionError>> {
        if meta::str_at(&object, &["apiVersion"]) == Some(to) {
            return Ok(object);
        }
        let revision = meta::resource_version(&object).map(str::to_owned);
        meta::unset(&mut object, "resourceVersion");
        let question = Question {
            to: to.to_owned(),
            object: object.to_string(),
        };
        let mut state = self.lock();
        match state.answers.get(&question) {
            Some(Ok(answer)) => object = answer.clone(),
            Some(Err(reason)) => return Err(reason.clone()),
            None => {
                state.asked.insert(question, converter.clone());
            }
        }
        drop(state);
        if let Some(revision) = revision {
            meta::set(&mut object, "resourceVersion", revision);
        }
        Ok(object)
    }

    /// Returns the converted object; if the conversion failed, records that the request cannot continue.
    pub(crate) fn needed(&self, converted: Result<Value, Arc<ConversionError>>) -> Value {
        converted.unwrap_or_else(|reason| {
            self.lock().failure = Some(reason);
            Value::Null
        })
    }

    /// Returns `true` if there are objects to convert.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.lock().asked.is_empty()
    }

    /// Checks that all objects so far have been converted.
    ///
    /// # Errors
    /// If one could not be converted, or has to be asked for first: then the request starts again.
    pub(crate) fn settled(&self) -> Result<(), ApiError> {
        let state = self.lock();
        if !state.asked.is_empty() {
            return Err(ApiError::internal("a conversion webhook is being asked"));
        }
        match &state.failure {
            Some(error) => Err(ApiError::plain_500(error)),
            None => Ok(()),
        }
    }

    /// Calls the webhooks for all objects to convert.
    pub(crate) async fn fetch(&self, ids: &Ids) {
        let asked = std::mem::take(&mut self.lock().asked);
        let mut left: Vec<_> = asked.into_iter().collect();
        while let Some((first, converter)) = left.first() {
            let converter = converter.clone();
            let mut sent = first.object.len();
            let alike = left.iter().skip(1).take_while(|(question, _)| {
                sent += question.object.len();
                question.to == first.to && sent <= MAX_SENT
            });
            let count = 1 + alike.count();
            let batch: Vec<Question> = left.drain(..count).map(|(question, _)| question).collect();
            let outcome = ask(&converter, &batch, &ids.uid()).await;
            let mut state = self.lock();
            match outcome {
                Ok(objects) => state.answers.extend(batch.into_iter().zip(objects.into_iter().map(Ok))),
                Err(error) => {
                    let error = Arc::new(error);
                    let failed = batch.into_iter().map(|question| (question, Err(error.clone())));
                    state.answers.extend(failed);
                }
            }
        }
    }

    /// Forgets the questions and answers.
    pub(crate) fn clear(&self) {
        *self.lock() = State::default();
    }
}

/// Calls the webhook for objects that need the same version.
async fn ask(converter: &Converter, batch: &[Question], uid: &str) -> Result<Vec<Value>, ConversionError> {
    let to = batch.first().map_or("", |question| question.to.as_str());
    let read = |question: &Question| serde_json::from_str(&question.object).unwrap_or_default();
    let objects: Vec<Value> = batch.iter().map(read).collect();
    let review = review::Review {
        version: &converter.review_version,
        uid,
        to,
        objects: &objects,
    };
    let answer = webhook_client::call(&converter.endpoint, &review.body()).await;
    review.read(answer)
}
