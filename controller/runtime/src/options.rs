//! Feature gates and options, checked once, at start-up (GAT-05).

use std::str::FromStr;

use baton_decide::api::PurgeMode;
use baton_decide::settings::Settings;
use jiff::SignedDuration;

/// What the controller can be told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// What decisions depend on.
    pub settings: Settings,
    /// What to warn about at start-up.
    pub warnings: Vec<String>,
    /// How member objects are deleted.
    pub deletion: Deletion,
}

/// How member objects are deleted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Deletion {
    /// What an object owns (pods) goes before it, so that gone means gone. Needs a garbage collector on the member.
    #[default]
    Foreground,
    /// What an object owns goes after it.
    Background,
}

/// Options that were refused.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum OptionsError {
    /// There is no such gate.
    #[error("unknown feature gate {0:?}; known are Failover, StatefulFailoverInjection, GracefulEviction")]
    UnknownGate(String),
    /// A gate is on or off.
    #[error("feature gate {gate} is {value:?}; write {gate}=true or {gate}=false")]
    GateValue {
        /// The gate.
        gate: String,
        /// What was written.
        value: String,
    },
    /// An option's value makes no sense.
    #[error("option --{option} is {value:?}; {expected}")]
    Value {
        /// The option.
        option: &'static str,
        /// What was written.
        value: String,
        /// What was expected.
        expected: &'static str,
    },
}

impl Options {
    /// Sets gates as `Failover=true,StatefulFailoverInjection=true` does.
    pub fn set_feature_gates(&mut self, gates: &str) -> Result<(), OptionsError> {
        for gate in gates.split(',').map(str::trim).filter(|gate| !gate.is_empty()) {
            let (name, value) = gate.split_once('=').unwrap_or((gate, ""));
            self.set_feature_gate(name.trim(), value.trim())?;
        }
        Ok(())
    }

    fn set_feature_gate(&mut self, gate: &str, value: &str) -> Result<(), OptionsError> {
        if !["Failover", "StatefulFailoverInjection", "GracefulEviction"].contains(&gate) {
            return Err(OptionsError::UnknownGate(gate.to_owned()));
        }
        let on = bool::from_str(&value.to_lowercase()).map_err(|_| OptionsError::GateValue {
            gate: gate.to_owned(),
            value: value.to_owned(),
        })?;
        match gate {
            "Failover" => self.settings.failover = on,
            "StatefulFailoverInjection" => self.settings.stateful_injection = on,
            _ => self.warnings.push(
                "feature gate GracefulEviction is deprecated and has no effect: purge modes rule how workloads leave"
                    .to_owned(),
            ),
        }
        Ok(())
    }

    /// Sets `--no-execute-taint-eviction-purge-mode` (PRG-08).
    pub fn set_purge_mode(&mut self, mode: &str) -> Result<(), OptionsError> {
        self.settings.default_purge_mode = match mode {
            "Directly" => PurgeMode::Directly,
            "Gracefully" => PurgeMode::Gracefully,
            other => {
                return Err(OptionsError::Value {
                    option: "no-execute-taint-eviction-purge-mode",
                    value: other.to_owned(),
                    expected: "Directly and Gracefully are known",
                });
            }
        };
        Ok(())
    }

    /// Sets `--resource-eviction-rate`, evictions per second (RAT-01).
    pub fn set_eviction_rate(&mut self, rate: f64) -> Result<(), OptionsError> {
        self.settings.eviction_rate = checked_rate("resource-eviction-rate", rate)?;
        Ok(())
    }

    /// Sets `--secondary-resource-eviction-rate`, evictions per second (RAT-02).
    pub fn set_secondary_eviction_rate(&mut self, rate: f64) -> Result<(), OptionsError> {
        self.settings.secondary_eviction_rate = checked_rate("secondary-resource-eviction-rate", rate)?;
        Ok(())
    }

    /// Sets `--unhealthy-cluster-threshold`, a share from 0 to 1 (RAT-02).
    pub fn set_unhealthy_cluster_threshold(&mut self, share: f64) -> Result<(), OptionsError> {
        if !(0.0..=1.0).contains(&share) {
            return Err(OptionsError::Value {
                option: "unhealthy-cluster-threshold",
                value: share.to_string(),
                expected: "a share from 0 to 1 is expected",
            });
        }
        self.settings.unhealthy_cluster_threshold = share;
        Ok(())
    }

    /// Sets `--graceful-eviction-timeout`, such as `10m`.
    pub fn set_graceful_eviction_timeout(&mut self, timeout: &str) -> Result<(), OptionsError> {
        let parsed: Result<SignedDuration, _> = timeout.parse();
        self.settings.graceful_eviction_timeout =
            parsed
                .ok()
                .filter(SignedDuration::is_positive)
                .ok_or_else(|| OptionsError::Value {
                    option: "graceful-eviction-timeout",
                    value: timeout.to_owned(),
                    expected: "a duration such as 10m is expected",
                })?;
        Ok(())
    }
}

fn checked_rate(option: &'static str, rate: f64) -> Result<f64, OptionsError> {
    if rate.is_finite() && rate >= 0.0 {
        return Ok(rate);
    }
    Err(OptionsError::Value {
        option,
        value: rate.to_string(),
        expected: "a number of evictions per second is expected",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_off_until_told_and_unknown_ones_are_refused_by_name() {
        let mut options = Options::default();
        assert!(!options.settings.failover && !options.settings.stateful_injection);
        options
            .set_feature_gates("Failover=true, StatefulFailoverInjection=true")
            .unwrap();
        assert!(options.settings.failover && options.settings.stateful_injection);
        options.set_feature_gates("GracefulEviction=false").unwrap();
        assert_eq!(options.warnings.len(), 1);
        let error = options.set_feature_gates("Failovr=true").unwrap_err();
        assert!(error.to_string().contains("Failovr"), "{error}");
        assert!(
            options
                .set_feature_gates("Failover=perhaps")
                .unwrap_err()
                .to_string()
                .contains("perhaps")
        );
        assert!(options.set_feature_gates("Failover").is_err());
    }

    #[test]
    fn option_values_are_checked() {
        let mut options = Options::default();
        options.set_purge_mode("Directly").unwrap();
        assert!(
            options
                .set_purge_mode("Never")
                .unwrap_err()
                .to_string()
                .contains("Never")
        );
        options.set_graceful_eviction_timeout("10m").unwrap();
        assert!(options.set_graceful_eviction_timeout("soon").is_err());
        assert!(options.set_eviction_rate(f64::NAN).is_err());
        assert!(options.set_unhealthy_cluster_threshold(1.5).is_err());
    }
}
