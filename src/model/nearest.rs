//! The nearest known word to one that is unknown.

/// The word of `known` closest to `word` by the distance of Damerau and Levenshtein, where one is close enough to be meant: about a
/// third of the letters differ at most.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let distance = |candidate: &str| strsim::damerau_levenshtein(&word.to_lowercase(), candidate);
    known.iter().copied().min_by_key(|candidate| distance(candidate)).filter(|near| {
        let longest = word.chars().count().max(near.chars().count());
        distance(near) * 3 <= longest + 1
    })
}
