//! `spec.conversion`.

use serde_json::{Value, json};

use super::super::structure::not_supported;
use crate::error::{FieldError, FieldErrorType};
use crate::meta::text;
use crate::metadata::names::dns_1035_in_one;

const FIELD: &str = "spec.conversion";

pub(super) fn check(conversion: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if conversion.is_null() {
        return errors;
    }
    let webhook = conversion.get("webhook").unwrap_or(&Value::Null);
    let config = webhook.get("clientConfig").filter(|config| !config.is_null());
    let reviews = webhook
        .get("conversionReviewVersions")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let strategy = text(conversion, "strategy");
    if !matches!(strategy, "None" | "Webhook") {
        errors.push(not_supported(
            &format!("{FIELD}.strategy"),
            strategy,
            &["None", "Webhook"],
        ));
    }
    if strategy == "Webhook" {
        check_config(config, &mut errors);
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
    match (url, service) {
        (Some(url), None) => {
            let detail = if url.starts_with("https://") {
                None
            } else {
                Some("'https' is the only allowed URL scheme; desired format: https://host[/path]")
            };
            if let Some(detail) = detail {
                let value = Value::from(url);
                errors.push(FieldError::with_value(
                    FieldErrorType::Invalid,
                    format!("{field}.url"),
                    &value,
                    detail,
                ));
            }
        }
        (None, Some(service)) => {
            for (key, detail) in [
                ("name", "service name is required"),
                ("namespace", "service namespace is required"),
            ] {
                if text(service, key).is_empty() {
                    let field = format!("{field}.service.{key}");
                    errors.push(FieldError::without_value(FieldErrorType::Required, field, detail));
                }
            }
        }
        (Some(_), Some(_)) | (None, None) => {
            let detail = "exactly one of url or service is required";
            errors.push(FieldError::without_value(FieldErrorType::Required, field, detail));
        }
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
                place,
                version,
                "duplicate version",
            ));
        } else if let Some(detail) = dns_1035_in_one(version.as_str().unwrap_or_default()) {
            errors.push(FieldError::with_value(FieldErrorType::Invalid, place, version, &detail));
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
