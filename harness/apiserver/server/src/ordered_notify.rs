//! A value to wait for: a change wakes the waiters in the order in which they began to wait.
//!
//! `tokio::sync::watch` wakes its waiters in an order that differs from run to run; two watches would then get the same
//! write in another order each time.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The value, and the waiters.
#[derive(Debug)]
pub(crate) struct OrderedNotify<T> {
    value: Mutex<T>,
    changed: Notify,
}

impl<T: Copy> OrderedNotify<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            value: Mutex::new(value),
            changed: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, T> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self) -> T {
        *self.lock()
    }

    /// Changes the value and wakes all waiters.
    pub(crate) fn change(&self, edit: impl FnOnce(&mut T)) {
        edit(&mut self.lock());
        self.changed.notify_waiters();
    }

    /// Waits until the value meets a condition, and returns it.
    pub(crate) async fn wait_for(&self, wanted: impl Fn(&T) -> bool) -> T {
        loop {
            // From here on no change is missed, even one before the await below.
            let changed = self.changed.notified();
            let value = self.get();
            if wanted(&value) {
                return value;
            }
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::OrderedNotify;

    #[tokio::test]
    async fn those_who_wait_are_woken_in_their_order() {
        for _ in 0..20 {
            let board = Arc::new(OrderedNotify::new(0_u32));
            let woken = Arc::new(Mutex::new(Vec::new()));
            let waiting: Vec<_> = (0..10)
                .map(|number| {
                    let (board, woken) = (Arc::clone(&board), Arc::clone(&woken));
                    tokio::spawn(async move {
                        board.wait_for(|value| *value == 1).await;
                        woken.lock().expect("no holder panics").push(number);
                    })
                })
                .collect();
            tokio::task::yield_now().await;
            board.change(|value| *value += 1);
            for task in waiting {
                task.await.expect("it ends");
            }
            assert_eq!(*woken.lock().expect("no holder panics"), (0..10).collect::<Vec<_>>());
        }
    }
}
