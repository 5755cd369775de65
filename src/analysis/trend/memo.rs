//! Results that are taken from an earlier analysis where they follow from equal inputs.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sprag_base::digest::Digest;

/// Results by the digests of their inputs, for several threads.
pub(super) struct Memo<T> {
    before: HashMap<String, T>,
    used: Mutex<BTreeMap<String, T>>,
}

impl<T> Default for Memo<T> {
    fn default() -> Memo<T> {
        Memo::new(HashMap::new())
    }
}

impl<T> Memo<T> {
    pub(super) fn new(before: HashMap<String, T>) -> Memo<T> {
        Memo { before, used: Mutex::default() }
    }

    /// The results that were asked for.
    pub(super) fn used(&self) -> MutexGuard<'_, BTreeMap<String, T>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether one was asked for that was not there before.
    pub(super) fn has_news(&self) -> bool {
        self.used().keys().any(|digest| !self.before.contains_key(digest))
    }
}

impl<T: Clone> Memo<T> {
    /// The result for an input, computed where it is not there.
    pub(super) fn get(&self, input: &impl Hash, compute: impl FnOnce() -> T) -> T {
        let digest = Digest::from_value(input).to_string();
        let result = self.before.get(&digest).cloned().unwrap_or_else(compute);
        self.used().insert(digest, result.clone());
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_computed_for_each_input_once() {
        let first = Memo::default();
        assert_eq!((first.get(&1, || "one"), first.get(&2, || "two"), first.has_news()), ("one", "two", true));
        let next = Memo::new(first.used().clone().into_iter().collect());
        assert_eq!((next.get(&2, || "other"), next.has_news(), next.used().len()), ("two", false, 1));
        assert_eq!((next.get(&3, || "three"), next.has_news()), ("three", true));
    }
}
