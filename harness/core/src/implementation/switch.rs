//! Gates and options that enable features, as advice for users whose target lacks a feature.

use super::{Exec, template::Template};
use crate::{case::model::ControllerSetup, names::Feature};

/// A gate or an option that a feature needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    /// The feature.
    pub feature: Feature,
    /// Gate or option, with the value that enables the feature.
    pub setting: Setting,
    /// Program that takes the setting, if there are several.
    pub of: Option<String>,
}

/// A gate or an option, with the value that enables a feature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// This feature gate must be on.
    Gate(String),
    /// This option must have this value.
    Option {
        /// Its name, without dashes.
        name: String,
        /// The value.
        value: String,
    },
}

impl Switch {
    /// Returns `true` if the feature is enabled in a setup; `None` if the setup does not define the gate or option.
    pub fn is_on(&self, setup: &ControllerSetup) -> Option<bool> {
        match &self.setting {
            Setting::Gate(gate) => setup.feature_gates.get(gate).copied(),
            Setting::Option { name, value } => setup.options.get(name).map(|now| now == value),
        }
    }

    /// Enables the feature in a setup.
    pub fn turn_on(&self, setup: &mut ControllerSetup) {
        match &self.setting {
            Setting::Gate(gate) => {
                setup.feature_gates.insert(gate.clone(), true);
            }
            Setting::Option { name, value } => {
                setup.options.insert(name.clone(), value.clone());
            }
        }
    }

    /// Returns the argument that enables the feature: in the form of the command, otherwise in the form of Kubernetes
    /// programs.
    pub fn argument(&self, programs: &[Exec]) -> String {
        let named = programs.iter().find(|program| Some(&program.name) == self.of.as_ref());
        let candidates = || named.into_iter().chain(programs);
        let fill = |template: Option<&Template>, places: &[(&str, &str)]| template.map(|it| it.fill(places));
        match &self.setting {
            Setting::Gate(gate) => {
                let on = format!("{gate}=true");
                let template = candidates().find_map(|exec| exec.feature_gates.as_ref());
                fill(template, &[("gates", &on)]).unwrap_or_else(|| format!("--feature-gates={on}"))
            }
            Setting::Option { name, value } => {
                let template = candidates().find_map(|exec| exec.option.as_ref());
                let places = [("name", name.as_str()), ("value", value.as_str())];
                fill(template, &places).unwrap_or_else(|| format!("--{name}={value}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::implementation::programs::Part;

    fn switch(setting: Setting) -> Switch {
        Switch {
            feature: Feature::new("FailoverGate"),
            setting,
            of: None,
        }
    }

    #[test]
    fn the_argument_is_as_the_command_takes_it() {
        let gate = switch(Setting::Gate("Failover".to_owned()));
        assert_eq!(gate.argument(&[]), "--feature-gates=Failover=true");
        let option = switch(Setting::Option {
            name: "rate".to_owned(),
            value: "2".to_owned(),
        });
        assert_eq!(option.argument(&[]), "--rate=2");
        let exec = Exec {
            name: "c".to_owned(),
            command: Template::parse("c").unwrap(),
            args: Vec::new(),
            env: std::collections::BTreeMap::new(),
            feature_gates: Template::parse("-g {{gates}}").ok(),
            option: Template::parse("-{{name}} {{value}}").ok(),
            ready: None,
            part: Part::Controller,
            install: None,
        };
        let other = Exec {
            name: "d".to_owned(),
            feature_gates: Template::parse("-d {{gates}}").ok(),
            ..exec.clone()
        };
        let programs = [exec, other];
        assert_eq!(gate.argument(&programs), "-g Failover=true");
        assert_eq!(option.argument(&programs), "-rate 2");
        let of_other = Switch {
            of: Some("d".to_owned()),
            ..gate
        };
        assert_eq!(of_other.argument(&programs), "-d Failover=true");
    }

    #[test]
    fn what_is_turned_on_is_on() {
        let option = switch(Setting::Option {
            name: "mode".to_owned(),
            value: "all".to_owned(),
        });
        for switch in [switch(Setting::Gate("G".to_owned())), option] {
            let mut setup = ControllerSetup::default();
            assert_eq!(switch.is_on(&setup), None);
            switch.turn_on(&mut setup);
            assert_eq!(switch.is_on(&setup), Some(true));
        }
    }
}
