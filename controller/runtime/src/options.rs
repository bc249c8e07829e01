//! Feature gates and options, checked once, at start-up (GAT-05, GAT-09).
//!
//! [`TABLE`] contains all options: the program derives its flags from it, and library users set the same options by
//! name with [`Options::set`].

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::str::FromStr;

use baton_decide::api::PurgeMode;
use baton_decide::plugins::{Plugin, UnknownPlugin};
use baton_decide::settings::{Controllers, Settings};
use jiff::SignedDuration;

/// The options of a controller.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Feature gates and options that decisions depend on.
    pub settings: Settings,
    /// Warnings to log at start-up.
    pub warnings: Vec<String>,
    /// Deletion of dependents of member objects.
    pub deletion: Deletion,
    /// Address of the metrics endpoint; not served if unset.
    pub metrics_address: Option<SocketAddr>,
    /// Address of the admission webhook; not served if unset.
    pub webhook_address: Option<SocketAddr>,
    /// URL under which the control plane reaches the webhook; defaults to its address.
    pub webhook_url: Option<String>,
    /// Runs only one of several instances, elected by a Lease.
    pub leader_elect: bool,
    /// Identity of this instance in the election; generated if unset.
    pub identity: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            warnings: Vec::new(),
            deletion: Deletion::default(),
            metrics_address: Some(SocketAddr::from(([127, 0, 0, 1], 8080))),
            webhook_address: None,
            webhook_url: None,
            leader_elect: false,
            identity: None,
        }
    }
}

/// Order of deletion of member objects and their dependents.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Deletion {
    /// Dependents (pods) are deleted first, so that nothing of the object is left when it is gone. Needs a garbage
    /// collector on the member.
    #[default]
    Foreground,
    /// Dependents are deleted afterwards.
    Background,
}

/// An option: a flag of the program, and a name for [`Options::set`].
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    /// Name of the option, without leading dashes.
    pub name: &'static str,
    /// Placeholder of the value in the help.
    pub value: &'static str,
    /// Default value; `None` if the option then has no effect.
    pub default: Option<&'static str>,
    /// Description of the option.
    pub help: &'static str,
    set: fn(&mut Options, &str) -> Result<(), Refusal>,
}

/// Reason for refusing a value: the expected input.
type Refusal = String;

/// Table of all options.
pub const TABLE: &[OptionSpec] = &[
    OptionSpec {
        name: "feature-gates",
        value: "GATE=BOOL,…",
        default: Some(""),
        help: "Feature gates: Failover=true|false (default false), StatefulFailoverInjection=true|false (default false)",
        set: |options, value| options.set_gates(value),
    },
    OptionSpec {
        name: "no-execute-taint-eviction-purge-mode",
        value: "MODE",
        default: Some("Gracefully"),
        help: "Purge mode of workloads whose policy has no failover.cluster: Directly or Gracefully",
        set: |options, value| options.set_purge_mode(value),
    },
    OptionSpec {
        name: "resource-eviction-rate",
        value: "RATE",
        default: Some("0.5"),
        help: "Evictions per second; 0 switches evictions off",
        set: |options, value| {
            options.settings.eviction_rate = rate(value)?;
            Ok(())
        },
    },
    OptionSpec {
        name: "secondary-resource-eviction-rate",
        value: "RATE",
        default: Some("0.1"),
        help: "Evictions per second while too many clusters of a large federation are faulty",
        set: |options, value| {
            options.settings.secondary_eviction_rate = rate(value)?;
            Ok(())
        },
    },
    OptionSpec {
        name: "unhealthy-cluster-threshold",
        value: "SHARE",
        default: Some("0.55"),
        help: "Share of faulty clusters above which evictions slow down or stop, from 0 to 1",
        set: |options, value| {
            let share = value.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
            options.settings.unhealthy_cluster_threshold = share.ok_or("expected a share from 0 to 1")?;
            Ok(())
        },
    },
    OptionSpec {
        name: "large-cluster-num-threshold",
        value: "COUNT",
        default: Some("10"),
        help: "Number of clusters above which a federation is large",
        set: |options, value| {
            let count = value.parse().map_err(|_| "expected a whole number, 0 or more")?;
            options.settings.large_cluster_num_threshold = count;
            Ok(())
        },
    },
    OptionSpec {
        name: "graceful-eviction-timeout",
        value: "DURATION",
        default: Some("10m"),
        help: "Maximum time that an old copy waits for its healthy successor, if its policy does not set it",
        set: |options, value| {
            let timeout = value.parse().ok().filter(SignedDuration::is_positive);
            options.settings.graceful_eviction_timeout = timeout.ok_or("expected a duration above 0, such as 10m")?;
            Ok(())
        },
    },
    OptionSpec {
        name: "evict-plugins",
        value: "NAMES",
        default: Some("ResourceHealth"),
        help: "Plugins that end a graceful eviction, comma-separated: ResourceHealth, or an empty list",
        set: |options, value| options.set_evict_plugins(value),
    },
    OptionSpec {
        name: "controllers",
        value: "NAMES",
        default: Some("*"),
        help: "The controllers to run, comma-separated: * for all, NAME to switch one on, -NAME to switch one off; names \
               are taint-manager, cluster-taint-policy, application-failover, graceful-eviction",
        set: |options, value| options.set_controllers(value),
    },
    OptionSpec {
        name: "enable-taint-manager",
        value: "BOOL",
        default: None,
        help: "Deprecated, without effect: use --controllers",
        set: |options, value| {
            bool::from_str(value).map_err(|_| "expected true or false")?;
            options.warnings.push(
                "option enable-taint-manager is deprecated and has no effect: use controllers=-taint-manager"
                    .to_owned(),
            );
            Ok(())
        },
    },
    OptionSpec {
        name: "metrics-bind-address",
        value: "ADDRESS",
        default: Some("127.0.0.1:8080"),
        help: "Address to serve /metrics at; 0 to disable",
        set: |options, value| {
            let refusal = "expected an address such as 127.0.0.1:8080, or 0";
            options.metrics_address = address(value).map_err(|()| refusal)?;
            Ok(())
        },
    },
    OptionSpec {
        name: "webhook-bind-address",
        value: "ADDRESS",
        default: Some("0"),
        help: "Address to serve the admission webhook for policies at; 0 to disable",
        set: |options, value| {
            let refusal = "expected an address such as 127.0.0.1:9443, or 0";
            options.webhook_address = address(value).map_err(|()| refusal)?;
            Ok(())
        },
    },
    OptionSpec {
        name: "webhook-url",
        value: "URL",
        default: None,
        help: "URL under which the control plane reaches the webhook, such as https://host:9443; defaults to webhook-bind-address",
        set: |options, value| {
            if !value.starts_with("https://") {
                return Err("expected a URL such as https://host:9443".to_owned());
            }
            options.webhook_url = Some(value.to_owned());
            Ok(())
        },
    },
    OptionSpec {
        name: "leader-elect",
        value: "BOOL",
        default: Some("false"),
        help: "Run only one of several instances, elected by the Lease karmada-system/baton-controller",
        set: |options, value| {
            options.leader_elect = bool::from_str(value).map_err(|_| "expected true or false")?;
            Ok(())
        },
    },
    OptionSpec {
        name: "member-deletion",
        value: "ORDER",
        default: Some("foreground"),
        help: "Delete dependents (pods) of member objects first (foreground) or afterwards (background)",
        set: |options, value| {
            options.deletion = match value {
                "foreground" => Deletion::Foreground,
                "background" => Deletion::Background,
                _ => return Err("expected foreground or background".to_owned()),
            };
            Ok(())
        },
    },
];

/// Error for an option that was refused.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum OptionsError {
    /// The option does not exist.
    #[error("the reference controller has no option {0}")]
    Unknown(String),
    /// The value of an option is invalid.
    #[error("option {option} is {value:?}: {reason}")]
    Value {
        /// Name of the option.
        option: &'static str,
        /// Value that was given.
        value: String,
        /// Expected value.
        reason: String,
    },
}

/// Known feature gates. The last one is deprecated and has no effect.
const FEATURE_GATES: [&str; 3] = ["Failover", "StatefulFailoverInjection", "GracefulEviction"];

impl Options {
    /// Sets an option by its name.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), OptionsError> {
        let spec = TABLE.iter().find(|spec| spec.name == name);
        let spec = spec.ok_or_else(|| OptionsError::Unknown(name.to_owned()))?;
        (spec.set)(self, value.trim()).map_err(|reason| OptionsError::Value {
            option: spec.name,
            value: value.to_owned(),
            reason,
        })
    }

    /// Sets a feature gate.
    pub fn set_gate(&mut self, gate: &str, on: bool) -> Result<(), OptionsError> {
        self.set("feature-gates", &format!("{gate}={on}"))
    }

    fn set_gates(&mut self, gates: &str) -> Result<(), Refusal> {
        for gate in names(gates) {
            let (name, value) = gate.split_once('=').unwrap_or((gate, ""));
            let (name, value) = (name.trim(), value.trim());
            if !FEATURE_GATES.contains(&name) {
                return Err(format!(
                    "unknown feature gate {name:?}; known are {}",
                    FEATURE_GATES.join(", ")
                ));
            }
            let on = bool::from_str(&value.to_lowercase());
            let on = on.map_err(|_| format!("feature gate {name} is {value:?}; write {name}=true or {name}=false"))?;
            match name {
                "Failover" => self.settings.failover = on,
                "StatefulFailoverInjection" => self.settings.stateful_injection = on,
                _ => self.warnings.push(
                    "feature gate GracefulEviction is deprecated and has no effect: purge modes rule how workloads \
                     leave"
                        .to_owned(),
                ),
            }
        }
        Ok(())
    }

    fn set_purge_mode(&mut self, mode: &str) -> Result<(), Refusal> {
        self.settings.default_purge_mode = match mode {
            "Directly" => PurgeMode::Directly,
            "Gracefully" => PurgeMode::Gracefully,
            _ => return Err("expected Directly or Gracefully".to_owned()),
        };
        Ok(())
    }

    fn set_evict_plugins(&mut self, list: &str) -> Result<(), Refusal> {
        let plugins: Result<BTreeSet<Plugin>, UnknownPlugin> = names(list).map(str::parse).collect();
        let known = || Plugin::ALL.map(Plugin::name).join(", ");
        self.settings.evict_plugins = plugins.map_err(|unknown| format!("{unknown}; known are {}", known()))?;
        Ok(())
    }

    fn set_controllers(&mut self, list: &str) -> Result<(), Refusal> {
        let mut controllers = Controllers::all(names(list).any(|name| name == "*"));
        for item in names(list).filter(|name| *name != "*") {
            let (name, on) = item.strip_prefix('-').map_or((item, true), |name| (name, false));
            let switch = match name {
                "taint-manager" | "taintManager" => &mut controllers.taint_manager,
                "cluster-taint-policy" => &mut controllers.cluster_taint_policy,
                "application-failover" => &mut controllers.application_failover,
                "graceful-eviction" => &mut controllers.graceful_eviction,
                _ => {
                    return Err(format!(
                        "unknown controller {name:?}; known are taint-manager, cluster-taint-policy, \
                         application-failover, graceful-eviction"
                    ));
                }
            };
            *switch = on;
        }
        self.settings.controllers = controllers;
        Ok(())
    }
}

/// Splits a comma-separated list.
fn names(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|name| !name.is_empty())
}

/// Parses an address to listen on; `None` for `0`.
fn address(value: &str) -> Result<Option<SocketAddr>, ()> {
    match value {
        "0" => Ok(None),
        address => address.parse().map(Some).map_err(|_| ()),
    }
}

fn rate(value: &str) -> Result<f64, Refusal> {
    let rate = value.parse::<f64>().ok();
    let rate = rate.filter(|rate| rate.is_finite() && *rate >= 0.0);
    rate.ok_or_else(|| "expected a number of evictions per second, 0 or more".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_of_the_table_are_the_defaults() {
        let mut options = Options::default();
        for spec in TABLE {
            if let Some(default) = spec.default {
                options.set(spec.name, default).unwrap();
            }
        }
        assert_eq!(options, Options::default());
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_option_and_value() {
        for (name, value) in [
            ("feature-gates", "Failovr=true"),
            ("feature-gates", "Failover=perhaps"),
            ("feature-gates", "Failover"),
            ("no-execute-taint-eviction-purge-mode", "Never"),
            ("resource-eviction-rate", "-1"),
            ("resource-eviction-rate", "NaN"),
            ("secondary-resource-eviction-rate", "fast"),
            ("unhealthy-cluster-threshold", "1.5"),
            ("unhealthy-cluster-threshold", "-0.1"),
            ("large-cluster-num-threshold", "2.5"),
            ("large-cluster-num-threshold", "-1"),
            ("graceful-eviction-timeout", "soon"),
            ("graceful-eviction-timeout", "0s"),
            ("evict-plugins", "ResourceHealth,Whim"),
            ("controllers", "*,-failover"),
            ("enable-taint-manager", "maybe"),
            ("metrics-bind-address", "everywhere"),
            ("webhook-bind-address", "9443"),
            ("webhook-url", "http://host:9443"),
            ("leader-elect", "perhaps"),
            ("member-deletion", "sideways"),
        ] {
            let error = Options::default().set(name, value).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(value), "{error}");
        }
        let error = Options::default().set("evict-rate", "1").unwrap_err();
        assert_eq!(error.to_string(), "the reference controller has no option evict-rate");
    }

    #[test]
    fn deprecated_ones_are_accepted_with_a_warning() {
        let mut options = Options::default();
        options.set("feature-gates", "GracefulEviction=false").unwrap();
        options.set("enable-taint-manager", "false").unwrap();
        assert_eq!(options.warnings.len(), 2);
        assert!(options.settings.controllers.taint_manager);
    }

    #[test]
    fn gates_plugins_and_controllers_are_lists() {
        let mut options = Options::default();
        options
            .set("feature-gates", "Failover=true, StatefulFailoverInjection=True")
            .unwrap();
        assert!(options.settings.failover && options.settings.stateful_injection);
        options.set("evict-plugins", "").unwrap();
        assert!(options.settings.evict_plugins.is_empty());
        options.set("controllers", "*,-taint-manager").unwrap();
        let expected = Controllers {
            taint_manager: false,
            ..Controllers::all(true)
        };
        assert_eq!(options.settings.controllers, expected);
        options.set("controllers", "graceful-eviction").unwrap();
        assert!(!options.settings.controllers.application_failover);
    }
}
