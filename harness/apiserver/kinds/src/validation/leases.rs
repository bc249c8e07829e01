//! Leases.

use baton_apimachinery::field::ErrorList;
use serde_json::Value;

use super::ROOT;
use super::checks::Check::{In, NotNegative, Positive};
use super::checks::{Check, run};

const LEASE: &[Check] = &[Positive("leaseDurationSeconds"), NotNegative("leaseTransitions")];

/// Validates a lease.
pub(super) fn body(lease: &Value, found: &mut ErrorList) {
    run(&[In("spec", LEASE)], lease, &ROOT, found);
}
