//! Objects as JSON as long as nobody looks at them: as trees they take many times the room, and there may be thousands.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::de::DeserializeOwned;
use serde_json::Value;

/// How many objects stay in hand: what the reconcilers that run at a time look at between two of their writes.
const IN_HAND: u64 = 256;

/// Keeps the objects that were read last, whatever their type, because they are likely to be looked at again soon.
#[derive(Default)]
pub struct Hand {
    last: Mutex<Last>,
}

#[derive(Default)]
struct Last {
    /// How many have been taken so far.
    taken: u64,
    /// The last of them, by number modulo their number.
    objects: Vec<Taken>,
}

struct Taken {
    number: u64,
    object: Arc<dyn Any + Send + Sync>,
}

impl Hand {
    /// Takes an object, and gives the number that it is found by as long as it is here.
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
    usize::try_from(number % IN_HAND).unwrap_or_default()
}

impl fmt::Debug for Hand {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Hand")
    }
}

/// An object that is read anew when somebody asks for it and it is no longer in hand.
#[derive(Debug)]
pub struct Packed<T> {
    json: Box<[u8]>,
    /// Its number in the hand. No weak reference: that would keep the room of what is gone.
    number: AtomicU64,
    hand: Arc<Hand>,
    typed: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned + Send + Sync + 'static> Packed<T> {
    /// Packs an object, and gives it as it will be read.
    pub fn new(object: &Value, hand: &Arc<Hand>) -> Result<(Self, Arc<T>), serde_json::Error> {
        let read = Arc::new(T::deserialize(object)?);
        let packed = Self {
            json: serde_json::to_vec(object)?.into_boxed_slice(),
            number: AtomicU64::new(hand.take(read.clone())),
            hand: Arc::clone(hand),
            typed: PhantomData,
        };
        Ok((packed, read))
    }

    /// The object; it could be read when it was packed, so that there is one.
    pub fn get(&self) -> Option<Arc<T>> {
        let in_hand = self.hand.find(self.number.load(Ordering::Relaxed));
        if let Some(object) = in_hand.and_then(|object| object.downcast().ok()) {
            return Some(object);
        }
        let object = Arc::new(serde_json::from_slice::<T>(&self.json).ok()?);
        self.number.store(self.hand.take(object.clone()), Ordering::Relaxed);
        Some(object)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn it_is_read_once_while_it_is_in_hand() {
        let hand = Arc::default();
        let object = json!({"metadata": {"name": "a"}, "spec": [1, "2", null]});
        let (packed, read) = Packed::<Value>::new(&object, &hand).unwrap();
        assert_eq!(*read, object);
        let first = Arc::downgrade(&read);
        drop(read);
        assert!(Arc::downgrade(&packed.get().unwrap()).ptr_eq(&first));
        for other in 0..IN_HAND {
            Packed::<Value>::new(&json!(other), &hand).unwrap();
        }
        assert_eq!(first.strong_count(), 0, "no more is kept than was read last");
        let again = packed.get().unwrap();
        assert_eq!(*again, object);
        assert!(Arc::ptr_eq(&again, &packed.get().unwrap()));
        assert!(Packed::<Vec<u8>>::new(&object, &hand).is_err());
    }
}
