//! The cost of an evaluation.

use super::error::CelError;

/// The cost of an evaluation so far, and its limit.
#[derive(Debug)]
pub struct Budget {
    cost: u64,
    limit: u64,
}

impl Budget {
    /// Returns a budget of which nothing is spent.
    pub fn new(limit: u64) -> Self {
        Self { cost: 0, limit }
    }

    /// Returns the cost so far.
    pub fn cost(&self) -> u64 {
        self.cost
    }

    /// Adds to the cost.
    ///
    /// # Errors
    /// [`CelError::Cost`] beyond the limit.
    pub fn spend(&mut self, cost: u64) -> Result<(), CelError> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.limit {
            Err(CelError::Cost)
        } else {
            Ok(())
        }
    }
}
