//! Objects stored as JSON text until they are read: decoded objects need many times the memory, and there may be
//! thousands.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Number of decoded objects to keep: about as many as concurrent reconcilers read between two writes.
const RECENT: u64 = 256;

/// The objects read most recently, of any type, because they are likely to be read again soon.
#[derive(Default)]
pub struct RecentObjects {
    last: Mutex<Last>,
}

#[derive(Default)]
struct Last {
    /// Number of objects added so far.
    taken: u64,
    /// The most recent objects, at the index of their number modulo the capacity.
    objects: Vec<Taken>,
}

struct Taken {
    number: u64,
    object: Arc<dyn Any + Send + Sync>,
}

impl RecentObjects {
    /// Adds an object, and returns the number that finds it while it is kept.
    fn take(&self, object: Arc<dyn Any + Send + Sync>) -> u64 {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let number = last.taken;
        last.taken += 1;
        let taken = Taken { number, object };
        match last.objects.get_mut(place(number)) {
            Some(oldest) => *oldest = taken,
            None => last.objects.push(taken),
        }
        number
    }

    fn find(&self, number: u64) -> Option<Arc<dyn Any + Send + Sync>> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = last.objects.get(place(number))?;
        (taken.number == number).then(|| Arc::clone(&taken.object))
    }
}

fn place(number: u64) -> usize {
    usize::try_from(number % RECENT).unwrap_or_default()
}

impl fmt::Debug for RecentObjects {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("RecentObjects")
    }
}

/// An object as JSON text, decoded on access unless it is among the recent ones.
#[derive(Debug)]
pub struct CompactObject<T> {
    json: Box<[u8]>,
    /// Number of the decoded object in `recent`. A weak reference would keep the memory of dropped objects.
    number: AtomicU64,
    recent: Arc<RecentObjects>,
    typed: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned + Send + Sync + 'static> CompactObject<T> {
    /// Stores an object, and returns it decoded as well.
    pub fn new(object: &Value, recent: &Arc<RecentObjects>) -> Result<(Self, Arc<T>), serde_json::Error> {
        let read = Arc::new(T::deserialize(object)?);
        let compact = Self {
            json: serde_json::to_vec(object)?.into_boxed_slice(),
            number: AtomicU64::new(recent.take(read.clone())),
            recent: Arc::clone(recent),
            typed: PhantomData,
        };
        Ok((compact, read))
    }

    /// Returns the decoded object. Decoding succeeded when the object was stored, so it succeeds here.
    pub fn get(&self) -> Option<Arc<T>> {
        let is_recent = self.recent.find(self.number.load(Ordering::Relaxed));
        if let Some(object) = is_recent.and_then(|object| object.downcast().ok()) {
            return Some(object);
        }
        let object = Arc::new(serde_json::from_slice::<T>(&self.json).ok()?);
        self.number.store(self.recent.take(object.clone()), Ordering::Relaxed);
        Some(object)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn it_is_read_once_while_it_is_in_hand() {
        let recent = Arc::default();
        let object = json!({"metadata": {"name": "a"}, "spec": [1, "2", null]});
        let (compact, read) = CompactObject::<Value>::new(&object, &recent).unwrap();
        assert_eq!(*read, object);
        let first = Arc::downgrade(&read);
        drop(read);
        assert!(Arc::downgrade(&compact.get().unwrap()).ptr_eq(&first));
        for other in 0..RECENT {
            CompactObject::<Value>::new(&json!(other), &recent).unwrap();
        }
        assert_eq!(first.strong_count(), 0, "no more is kept than was read last");
        let again = compact.get().unwrap();
        assert_eq!(*again, object);
        assert!(Arc::ptr_eq(&again, &compact.get().unwrap()));
        assert!(CompactObject::<Vec<u8>>::new(&object, &recent).is_err());
    }
}
