//! Distribution of members among cases: a case that runs alone gets all members, concurrent cases as many as each
//! needs.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::names::Company;
use crate::fleet::FleetError;

/// The members of a backend.
#[derive(Debug)]
pub(super) struct Pool {
    /// One permit per member.
    permits: Arc<Semaphore>,
    size: u32,
    free: Arc<Mutex<BTreeSet<usize>>>,
    pub company: Arc<Company>,
}

impl Pool {
    /// A pool of this many members.
    pub(super) fn new(members: usize) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(members)),
            size: u32::try_from(members).unwrap_or(u32::MAX),
            free: Arc::new(Mutex::new((0..members).collect())),
            company: Arc::default(),
        }
    }

    /// Waits until no case holds a member, and takes the first members.
    pub(super) async fn alone(&self, members: usize) -> Result<Turn, FleetError> {
        self.turn(members, self.size).await
    }

    /// Waits until this many members are free, and takes them.
    pub(super) async fn beside_others(&self, members: usize) -> Result<Turn, FleetError> {
        self.turn(members, u32::try_from(members).unwrap_or(u32::MAX)).await
    }

    async fn turn(&self, members: usize, permits: u32) -> Result<Turn, FleetError> {
        let too_few = || FleetError::TooFew {
            wanted: members,
            there: self.size as usize,
        };
        if members > self.size as usize {
            return Err(too_few());
        }
        let permit = Arc::clone(&self.permits).acquire_many_owned(permits).await;
        // The semaphore is never closed.
        let permit = permit.map_err(|_| too_few())?;
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let taken: Vec<usize> = free.iter().take(members).copied().collect();
        free.retain(|number| !taken.contains(number));
        Ok(Turn {
            taken,
            free: Arc::clone(&self.free),
            _permit: permit,
        })
    }
}

/// The right to use a control plane and some members, until it is dropped.
#[derive(Debug)]
pub(in crate::fleet) struct Turn {
    taken: Vec<usize>,
    free: Arc<Mutex<BTreeSet<usize>>>,
    /// Released after the members.
    _permit: OwnedSemaphorePermit,
}

impl Turn {
    /// Numbers of the members, ascending.
    pub(super) fn members(&self) -> &[usize] {
        &self.taken
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.extend(self.taken.iter());
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn nobody_has_a_member_that_somebody_else_has() {
        let pool = Pool::new(5);
        let one = pool.beside_others(2).await.unwrap();
        let other = pool.beside_others(2).await.unwrap();
        assert_eq!((one.members(), other.members()), (&[0, 1][..], &[2, 3][..]));
        assert!(pool.beside_others(2).now_or_never().is_none(), "only one is left");
        drop(one);
        assert_eq!(pool.beside_others(3).await.unwrap().members(), [0, 1, 4]);
        assert!(matches!(pool.beside_others(6).await, Err(FleetError::TooFew { .. })));
    }

    #[tokio::test]
    async fn who_is_alone_waits_until_all_are_gone_and_nobody_comes_meanwhile() {
        let pool = Pool::new(4);
        let one = pool.beside_others(1).await.unwrap();
        assert!(pool.alone(1).now_or_never().is_none());
        drop(one);
        let alone = pool.alone(2).await.unwrap();
        assert_eq!(alone.members(), [0, 1]);
        assert!(pool.beside_others(1).now_or_never().is_none());
        drop(alone);
        assert!(pool.beside_others(1).now_or_never().is_some());
    }
}
