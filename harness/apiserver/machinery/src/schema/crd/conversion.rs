//! Validation of `spec.conversion`.

use serde_json::{Value, json};

use super::super::structure::not_supported;
use crate::field::{ErrorList, FieldError, FieldErrorType, FieldPath};
use crate::go_base64;
use crate::meta::{list, text};
use crate::metadata::names::dns_1035_label;
use crate::webhook_client_config;

const FIELD: &str = "spec.conversion";

pub fn check(conversion: &Value, is_strict: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if conversion.is_null() {
        return errors;
    }
    let webhook = conversion.get("webhook").unwrap_or(&Value::Null);
    let config = webhook.get("clientConfig").filter(|config| !config.is_null());
    let reviews = list(webhook, "conversionReviewVersions");
    let strategy = text(conversion, "strategy");
    if strategy.is_empty() {
        let field = format!("{FIELD}.strategy");
        errors.push(FieldError::without_value(FieldErrorType::Required, field, ""));
    } else if !matches!(strategy, "None" | "Webhook") {
        errors.push(not_supported(
            &format!("{FIELD}.strategy"),
            strategy,
            &["None", "Webhook"],
        ));
    }
    if strategy == "Webhook" {
        check_config(config, &mut errors);
        if let (Some(config), true) = (config, is_strict) {
            check_bundle(config, &mut errors);
        }
        check_reviews(reviews, &mut errors);
        return errors;
    }
    for (set, key) in [
        (config.is_some(), "webhookClientConfig"),
        (!reviews.is_empty(), "conversionReviewVersions"),
    ] {
        if set {
            let detail = "should not be set when strategy is not set to Webhook";
            errors.push(FieldError::without_value(
                FieldErrorType::Forbidden,
                format!("{FIELD}.{key}"),
                detail,
            ));
        }
    }
    errors
}

fn check_config(config: Option<&Value>, errors: &mut Vec<FieldError>) {
    let field = format!("{FIELD}.webhookClientConfig");
    let Some(config) = config else {
        let detail = "required when strategy is set to Webhook";
        errors.push(FieldError::without_value(FieldErrorType::Required, field, detail));
        return;
    };
    let url = config.get("url").and_then(Value::as_str);
    let service = config.get("service").filter(|service| service.is_object());
    let mut found = ErrorList::default();
    let at = FieldPath::Named(&FieldPath::Root, &field);
    match (url, service) {
        (Some(url), None) => webhook_client_config::url(url, &at.child("url"), &mut found),
        (None, Some(service)) => webhook_client_config::service(service, &at.child("service"), &mut found),
        (Some(_), Some(_)) | (None, None) => found.required(&at, "exactly one of url or service is required"),
    }
    errors.append(&mut found.into_vec());
}

/// Returns `true` if the CA bundle of the definition's webhook can be read, or if there is none.
pub(super) fn has_sound_bundle(crd: &Value) -> bool {
    crd.pointer("/spec/conversion/webhook/clientConfig")
        .is_none_or(|config| bundle_problem(config).is_none())
}

fn check_bundle(config: &Value, errors: &mut Vec<FieldError>) {
    if let Some(problem) = bundle_problem(config) {
        let field = format!("{FIELD}.webhookClientConfig.caBundle");
        let detail = format!("unable to load root certificates: {problem}");
        let value = Value::from(text(config, "caBundle"));
        errors.push(FieldError::with_value(FieldErrorType::Invalid, field, &value, &detail));
    }
}

fn bundle_problem(config: &Value) -> Option<&'static str> {
    let bytes = go_base64::decode(text(config, "caBundle")).unwrap_or_default();
    if bytes.is_empty() {
        return None;
    }
    let blocks = pem::parse_many(&bytes).unwrap_or_default();
    if blocks.is_empty() {
        Some("unable to parse bytes as PEM block")
    } else if blocks.iter().all(|block| block.tag() != "CERTIFICATE") {
        Some("no valid certificate authority data seen")
    } else {
        None
    }
}

fn check_reviews(reviews: &[Value], errors: &mut Vec<FieldError>) {
    let field = format!("{FIELD}.conversionReviewVersions");
    if reviews.is_empty() {
        errors.push(FieldError::without_value(FieldErrorType::Required, field, ""));
        return;
    }
    for (index, version) in reviews.iter().enumerate() {
        let place = format!("{field}[{index}]");
        if reviews.iter().take(index).any(|other| other == version) {
            errors.push(FieldError::with_value(
                FieldErrorType::Invalid,
                place.as_str(),
                version,
                "duplicate version",
            ));
            continue;
        }
        for detail in dns_1035_label(version.as_str().unwrap_or_default()) {
            let error = FieldError::with_value(FieldErrorType::Invalid, place.as_str(), version, &detail);
            errors.push(error);
        }
    }
    if !reviews
        .iter()
        .any(|version| matches!(version.as_str(), Some("v1" | "v1beta1")))
    {
        let detail = "must include at least one of v1, v1beta1";
        errors.push(FieldError::with_value(
            FieldErrorType::Invalid,
            field,
            &json!(reviews),
            detail,
        ));
    }
}
