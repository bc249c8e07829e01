//! Reads how a controller is set up.

use super::{model::ControllerSetup, shapes};
use crate::yaml::{
    Data, Node,
    decode::{Decoder, Fields},
};

/// Reads the set-up of a controller: `featureGates` and `options`.
pub(crate) fn controller_setup(node: &Node, decoder: &mut Decoder) -> ControllerSetup {
    let fields = decoder.shape(node, &shapes::CONTROLLER);
    fields.map(|fields| setup(&fields, decoder)).unwrap_or_default()
}

/// Reads the set-up from a mapping that has other fields, too.
pub(super) fn setup(fields: &Fields<'_>, decoder: &mut Decoder) -> ControllerSetup {
    let mut setup = ControllerSetup::default();
    if let Some(gates) = fields.get("featureGates") {
        for (key, value) in decoder.members(gates, "featureGates") {
            if let Some(on) = decoder.boolean(value, "a feature gate") {
                setup.feature_gates.insert(key.key().to_owned(), on);
            }
        }
    }
    if let Some(options) = fields.get("options") {
        for (key, value) in decoder.members(options, "options") {
            match &value.data {
                Data::Scalar { text, .. } => {
                    setup.options.insert(key.key().to_owned(), text.clone());
                }
                Data::List(_) | Data::Map(_) => decoder.error(value, "an option must be a single value", ""),
            }
        }
    }
    setup
}
