//! The nearest known word to one that is unknown.

use sprag_base::text::nearest;

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
