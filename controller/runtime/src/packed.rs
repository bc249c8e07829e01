//! Objects as JSON as long as nobody looks at them: as trees they take many times the room, and there may be thousands.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde::de::DeserializeOwned;
use serde_json::Value;

/// An object that is read anew when somebody asks for it and nobody has it in hand.
#[derive(Debug)]
pub struct Packed<T> {
    json: Box<[u8]>,
    in_hand: Mutex<Weak<T>>,
}

impl<T: DeserializeOwned> Packed<T> {
    /// Packs an object, and gives it as it will be read.
    pub fn new(object: &Value) -> Result<(Self, Arc<T>), serde_json::Error> {
        let json = serde_json::to_vec(object)?.into_boxed_slice();
        let read = Arc::new(serde_json::from_slice(&json)?);
        let packed = Self {
            json,
            in_hand: Mutex::new(Arc::downgrade(&read)),
        };
        Ok((packed, read))
    }

    /// The object; it could be read when it was packed, so that there is one.
    pub fn get(&self) -> Option<Arc<T>> {
        let mut in_hand = self.in_hand.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(object) = in_hand.upgrade() {
            return Some(object);
        }
        let object = Arc::new(serde_json::from_slice(&self.json).ok()?);
        *in_hand = Arc::downgrade(&object);
        Some(object)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn it_is_read_once_while_somebody_has_it_in_hand() {
        let object = json!({"metadata": {"name": "a"}, "spec": [1, "2", null]});
        let (packed, first) = Packed::<Value>::new(&object).unwrap();
        assert_eq!(*first, object);
        assert!(Arc::ptr_eq(&first, &packed.get().unwrap()));
        drop(first);
        assert_eq!(packed.get().as_deref(), Some(&object));
        assert!(Packed::<Vec<u8>>::new(&object).is_err());
    }
}
