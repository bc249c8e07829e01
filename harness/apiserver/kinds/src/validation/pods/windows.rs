//! Pods on nodes with Windows, and what pods with another system cannot have.

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::metadata::names;
use serde_json::Value;

use super::containers::visit;
use super::uses_host_network;
use crate::validation::checks::text;

const MAX_CREDENTIALS_KIB: usize = 64;
const DOMAIN_LIMIT: usize = 256;
const MAX_USER: usize = 104;
const USER_AT_FAULT: &str = "\"/\\:;|=,+*?<>@[]";

/// The options of a security context.
pub(crate) fn options(options: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let given = |field: &str| options.get(field).and_then(Value::as_str);
    if let Some(name) = given("gmsaCredentialSpecName") {
        found.invalid_each(&at.child("gmsaCredentialSpecName"), name, names::dns_subdomain(name));
    }
    if let Some(credentials) = given("gmsaCredentialSpec") {
        let at = at.child("gmsaCredentialSpec");
        if credentials.is_empty() {
            found.invalid(&at, credentials, "gmsaCredentialSpec cannot be an empty string");
        } else if credentials.len() > MAX_CREDENTIALS_KIB * 1024 {
            let detail = format!("gmsaCredentialSpec size must be under {MAX_CREDENTIALS_KIB} KiB");
            found.invalid(&at, credentials, &detail);
        }
    }
    if let Some(name) = given("runAsUserName") {
        for problem in user_problems(name) {
            found.invalid(&at.child("runAsUserName"), name, &format!("runAsUserName{problem}"));
        }
    }
}

/// What is wrong with a user, of a domain or not.
fn user_problems(name: &str) -> Vec<String> {
    if name.is_empty() {
        return vec![" cannot be an empty string".to_owned()];
    }
    if name.bytes().any(|byte| byte.is_ascii_control()) {
        return vec![" cannot contain control characters".to_owned()];
    }
    let (domain, user) = match name.split_once('\\') {
        Some((_, rest)) if rest.contains('\\') => {
            return vec![" cannot contain more than one backslash".to_owned()];
        }
        Some((domain, user)) => (Some(domain), user),
        None => (None, name),
    };
    let mut problems = Vec::new();
    if let Some(domain) = domain {
        if domain.len() >= DOMAIN_LIMIT {
            problems.push(format!("'s Domain length must be under {DOMAIN_LIMIT} characters"));
        }
        if !is_net_bios(domain) && !is_dns(domain) {
            problems.push("'s Domain doesn't match the NetBios nor the DNS format".to_owned());
        }
    }
    if user.is_empty() {
        problems.push("'s User cannot be empty".to_owned());
    } else if user.len() > MAX_USER {
        problems.push(format!("'s User length must not be longer than {MAX_USER} characters"));
    }
    if !user.is_empty() && user.chars().all(|letter| matches!(letter, '.' | ' ')) {
        problems.push("'s User cannot contain only periods or spaces".to_owned());
    }
    if user.contains(|letter| USER_AT_FAULT.contains(letter)) {
        problems.push(format!(
            "'s User cannot contain the following characters: {USER_AT_FAULT}"
        ));
    }
    problems
}

fn is_net_bios(domain: &str) -> bool {
    let has_bad = domain.contains(|letter| "\\/:*?\"<>|".contains(letter));
    (1..=15).contains(&domain.chars().count()) && !has_bad && !domain.starts_with('.')
}

fn is_dns(domain: &str) -> bool {
    domain.split('.').all(|label| {
        let is_known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        (1..=63).contains(&label.len())
            && label.bytes().all(is_known)
            && !label.starts_with('-')
            && !label.ends_with('-')
    })
}

fn host_process(of: &Value) -> Option<bool> {
    let options = of.get("securityContext")?.get("windowsOptions")?;
    options.get("hostProcess")?.as_bool()
}

/// Either all containers of a pod are processes of the node, or none.
pub(crate) fn host_processes(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let of_pod = host_process(spec);
    let (mut all, mut processes) = (0, 0);
    visit(spec, at, &mut |container, at| {
        all += 1;
        let own = host_process(container);
        if let (Some(of_pod), Some(own)) = (of_pod, own)
            && of_pod != own
        {
            let detail = format!("pod hostProcess value must be identical if both are specified, was {of_pod}");
            found.invalid(&at.child("securityContext.windowsOptions.hostProcess"), own, &detail);
        }
        if own.or(of_pod) == Some(true) {
            processes += 1;
        }
    });
    if processes == 0 {
        return;
    }
    if processes != all {
        let detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        found.invalid(at, "", detail);
    }
    if !uses_host_network(spec) {
        let detail = "hostNetwork must be true if pod contains any hostProcess containers";
        found.invalid(&at.child("hostNetwork"), false, detail);
    }
}

/// What a pod with Windows cannot have, in the order in which it is looked at.
const NOT_OF_PODS: &[&str] = &[
    "securityContext.appArmorProfile",
    "securityContext.seLinuxOptions",
    "hostUsers",
    "hostPID",
    "hostIPC",
    "securityContext.seccompProfile",
    "securityContext.fsGroup",
    "securityContext.fsGroupChangePolicy",
    "securityContext.sysctls",
    "shareProcessNamespace",
    "securityContext.runAsUser",
    "securityContext.runAsGroup",
    "securityContext.supplementalGroups",
    "securityContext.supplementalGroupsPolicy",
    "securityContext.seLinuxChangePolicy",
];

/// The same of containers, in their security context.
const NOT_OF_CONTAINERS: &[&str] = &[
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
];

/// The system that a pod is for, and what there is only with another one.
pub(crate) fn system(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let Some(os) = spec.get("os") else { return };
    match text(os, "name") {
        "" => found.required(&at.child("os.name"), ""),
        "linux" => linux(spec, at, found),
        "windows" => windows(spec, at, found),
        other => found.not_supported(&at.child("os"), other, &["linux", "windows"]),
    }
}

fn linux(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    const DETAIL: &str = "windows options cannot be set for a linux pod";
    const FIELD: &str = "securityContext.windowsOptions";
    let has_options = |of: &Value| of.pointer("/securityContext/windowsOptions").is_some();
    if has_options(spec) {
        found.forbidden(&at.child(FIELD), DETAIL);
    }
    visit(spec, at, &mut |container, at| {
        if has_options(container) {
            found.forbidden(&at.child(FIELD), DETAIL);
        }
    });
}

fn windows(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    const DETAIL: &str = "cannot be set for a windows pod";
    for path in NOT_OF_PODS {
        let given = match path.split_once('.') {
            Some((outer, field)) => spec.get(outer).and_then(|outer| outer.get(field)),
            None => spec.get(*path),
        };
        if given.is_some() {
            found.forbidden(&at.child(path), DETAIL);
        }
    }
    visit(spec, at, &mut |container, at| {
        let Some(context) = container.get("securityContext") else {
            return;
        };
        let at = at.child("securityContext");
        for field in NOT_OF_CONTAINERS.iter().filter(|field| context.get(**field).is_some()) {
            found.forbidden(&at.child(field), DETAIL);
        }
    });
}
