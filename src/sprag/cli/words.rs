//! Options that take one of a few words.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// A word, its help, and its value.
pub(super) type Word<T> = (&'static str, &'static str, T);

/// Reads one of these words.
pub(super) fn words<T: Clone + Send + Sync + 'static>(words: &'static [Word<T>]) -> impl TypedValueParser<Value = T> {
    let values = words.iter().map(|(word, help, _)| PossibleValue::new(*word).help(*help));
    PossibleValuesParser::new(values).map(|given| {
        let word = words.iter().find(|(word, _, _)| *word == given);
        word.map(|(_, _, value)| value.clone()).expect("clap has refused all other words")
    })
}
