//! What there is to know of many metrics at once.

use sprag_model::verdict::{Comparison, Verdict};

/// The note that all judged metrics of a suite bear, where there are several: said once, it is read.
pub fn common_note(comparisons: &[Comparison]) -> Option<&str> {
    let is_judged =
        |one: &&Comparison| matches!(one.verdict, Verdict::Unchanged | Verdict::Improved | Verdict::Regressed);
    let judged: Vec<&Comparison> = comparisons.iter().filter(is_judged).collect();
    let note = judged.first()?.note.as_deref()?;
    (judged.len() > 1 && judged.iter().all(|one| one.note.as_deref() == Some(note))).then_some(note)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::example;

    #[test]
    fn a_note_is_common_where_all_that_was_judged_bears_it() {
        let noted = |verdict: Verdict, note: Option<&str>| Comparison {
            note: note.map(str::to_owned),
            ..example::comparison("cpu/a @fast", 1.0, verdict)
        };
        let check = |all: &[Comparison], expected: Option<&str>| assert_eq!(common_note(all), expected);
        let (same, other) = (noted(Verdict::Unchanged, Some("x")), noted(Verdict::Improved, Some("x")));
        check(&[same.clone(), other.clone()], Some("x"));
        check(&[same.clone(), noted(Verdict::Missing, None), other.clone()], Some("x"));
        check(std::slice::from_ref(&same), None);
        check(&[same.clone(), other.clone(), noted(Verdict::Regressed, None)], None);
        check(&[noted(Verdict::Missing, Some("x")), noted(Verdict::Missing, Some("x"))], None);
        check(&[], None);
    }
}
