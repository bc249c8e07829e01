//! Objects as JSON as long as nobody looks at them: as trees they take many times the room, and there may be thousands.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde::de::DeserializeOwned;
use serde_json::Value;

/// How many objects stay in hand: what the reconcilers that run at a time look at between two of their writes.
const IN_HAND: usize = 256;

/// Keeps the objects that were read last, whatever their type, because they are likely to be looked at again soon.
#[derive(Default)]
pub struct Hand {
    last: Mutex<VecDeque<Arc<dyn Any + Send + Sync>>>,
}

impl Hand {
    fn take(&self, object: Arc<dyn Any + Send + Sync>) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.len() == IN_HAND {
            last.pop_front();
        }
        last.push_back(object);
    }
}

impl fmt::Debug for Hand {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Hand")
    }
}

/// An object that is read anew when somebody asks for it and nobody has it in hand.
#[derive(Debug)]
pub struct Packed<T> {
    json: Box<[u8]>,
    read: Mutex<Weak<T>>,
    hand: Arc<Hand>,
}

impl<T: DeserializeOwned + Send + Sync + 'static> Packed<T> {
    /// Packs an object, and gives it as it will be read.
    pub fn new(object: &Value, hand: &Arc<Hand>) -> Result<(Self, Arc<T>), serde_json::Error> {
        let read = Arc::new(T::deserialize(object)?);
        hand.take(read.clone());
        let packed = Self {
            json: serde_json::to_vec(object)?.into_boxed_slice(),
            read: Mutex::new(Arc::downgrade(&read)),
            hand: Arc::clone(hand),
        };
        Ok((packed, read))
    }

    /// The object; it could be read when it was packed, so that there is one.
    pub fn get(&self) -> Option<Arc<T>> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(object) = read.upgrade() {
            return Some(object);
        }
        let object = Arc::new(serde_json::from_slice::<T>(&self.json).ok()?);
        *read = Arc::downgrade(&object);
        self.hand.take(object.clone());
        Some(object)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn it_is_read_once_while_somebody_has_it_in_hand() {
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
        assert_eq!(packed.get().as_deref(), Some(&object));
        assert!(Packed::<Vec<u8>>::new(&object, &hand).is_err());
    }
}
