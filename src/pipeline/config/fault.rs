//! A value that cannot be, where it stands, and the word that was meant.

use sprag_base::text::nearest;

/// What is wrong with a value, and by which keys it is found.
pub struct Fault {
    /// The keys from the root of the file to the value; of a list the place, from 0.
    pub keys: Vec<String>,
    pub message: String,
}

impl Fault {
    /// A fault of the value under those keys.
    pub fn new(keys: &[&str], message: String) -> Fault {
        Fault { keys: keys.iter().map(|key| (*key).to_owned()).collect(), message }
    }
}

/// Reads the unknown word and the known ones out of serde's message "unknown field `x`, expected one of `a`, `b`".
pub(crate) fn suggestion(message: &str) -> Option<String> {
    if !message.starts_with("unknown field") && !message.starts_with("unknown variant") {
        return None;
    }
    let mut words = message.split('`').skip(1).step_by(2);
    let unknown = words.next()?;
    let known: Vec<&str> = words.collect();
    nearest(unknown, &known).map(str::to_owned)
}

/// The end of a message: the word that was meant, where one is close.
pub(crate) fn hint_text(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map(|word| format!("; did you mean `{word}`?")).unwrap_or_default()
}
