//! Findings by their consequence for the implementation.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use crate::{
    catalogue::{Asked, Consequence},
    names::RequirementId,
};

/// Findings by their consequence for the implementation, each group in the order of the timeline.
#[derive(Debug, Default, PartialEq)]
pub struct Weighed {
    /// Findings that break a MUST.
    pub deviations: Vec<Finding>,
    /// Findings that break nothing graver than a SHOULD or an ADVICE.
    pub remarks: Vec<Finding>,
    /// Findings about documents that the implementation does not claim.
    pub proposed: Vec<Finding>,
    /// Requirements that were refuted without a consequence, such as a MAY.
    pub allowed: BTreeSet<RequirementId>,
}

impl Weighed {
    /// Sorts findings by the gravest requirement that each refutes. A finding without requirements has the consequence
    /// `of_none`, unless it follows from another one, whose consequence it has.
    pub fn of(mut findings: Vec<Finding>, asked: &Asked, of_none: Consequence) -> Self {
        let mut weighed = Self::default();
        findings.sort_by_key(|finding| (finding.seq, finding.step));
        let of_step: BTreeMap<usize, Consequence> = findings
            .iter()
            .filter_map(|finding| Some((finding.step?, asked.gravest(&finding.requirements)?)))
            .collect();
        for mut finding in findings {
            let followed = finding.follows.and_then(|step| of_step.get(&step).copied());
            let consequence = asked.gravest(&finding.requirements).or(followed).unwrap_or(of_none);
            let (refuted, allowed): (BTreeSet<_>, BTreeSet<_>) = std::mem::take(&mut finding.requirements)
                .into_iter()
                .partition(|id| asked.consequence(id) > Consequence::None);
            finding.requirements = refuted;
            weighed.allowed.extend(allowed);
            match consequence {
                Consequence::Deviation => weighed.deviations.push(finding),
                Consequence::Remark => weighed.remarks.push(finding),
                Consequence::Proposed => weighed.proposed.push(finding),
                Consequence::None => {}
            }
        }
        weighed
    }
}
