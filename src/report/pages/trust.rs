//! Whether the numbers can be trusted: what the rule of the gate says where a commit was measured again, and nothing changed.

use crate::catalog::Catalog;
use crate::link;
use crate::number::{count, counted, fixed};
use crate::phrase::Phrase;
use sprag_model::calibration::{Reruns, Tally};

/// What the rule said over all suites and machines, in a sentence or two.
pub(super) fn sentence(catalog: &Catalog<'_>) -> Phrase {
    let tally = catalog.reruns.iter().fold(Tally::default(), |sum, one: &Reruns| sum.plus(one.tally));
    let sentence = match tally.judged {
        0 => Phrase::plain(
            "Whether the rule of the gate calls a change where there is none, no rerun tells: no commit was measured in two \
             sessions of one environment.",
        ),
        judged => Phrase::plain("Where a commit was measured again, nothing changed: of ")
            .strong(counted(judged, "pair", "pairs"))
            .text(" of a value and those of the sessions before, the rule of the gate called ")
            .strong(format!("{} changed ({})", count(tally.changed()), share(tally)))
            .text(format!("{}.", doubt(tally))),
    };
    sentence.text(" ").link(link::METHOD, "How it is judged").text(".")
}

/// The share of what was called changed, of all that was held against something.
pub(super) fn share(tally: Tally) -> String {
    let percent = 100.0 * tally.changed() as f64 / tally.judged.max(1) as f64;
    format!("{}{}%", fixed(percent, if percent > 0.0 && percent < 1.0 { 2 } else { 1 }), crate::number::NARROW)
}

fn doubt(tally: Tally) -> String {
    match tally.inconclusive {
        0 => String::new(),
        doubt => format!(" and left {} in doubt", count(doubt)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_data;

    fn check(reruns: Vec<Reruns>, expected: &str) {
        let mut sample = sample_data::rich();
        sample.reruns = reruns;
        let heads = sample.heads();
        let result = sentence(&Catalog::new(&sample.input(&heads))).words().replace('\u{202f}', " ");
        assert_eq!(result, format!("{expected} How it is judged."));
    }

    #[test]
    fn the_digest_says_how_often_the_rule_is_wrong_or_that_nothing_tells() {
        let of = |judged: usize, regressed: usize, improved: usize, inconclusive: usize| Reruns {
            suite: "cpu".to_owned(),
            machine: "m".to_owned(),
            tally: Tally { judged, regressed, improved, inconclusive, share: None },
        };
        check(
            Vec::new(),
            "Whether the rule of the gate calls a change where there is none, no rerun tells: no commit was measured in two \
             sessions of one environment.",
        );
        check(
            vec![of(1, 0, 0, 0)],
            "Where a commit was measured again, nothing changed: of 1 pair of a value and those of the sessions before, the rule of \
             the gate called 0 changed (0.0 %).",
        );
        check(
            vec![of(1_000, 2, 1, 7), of(204, 0, 0, 0)],
            "Where a commit was measured again, nothing changed: of 1 204 pairs of a value and those of the sessions before, the \
             rule of the gate called 3 changed (0.25 %) and left 7 in doubt.",
        );
    }
}
