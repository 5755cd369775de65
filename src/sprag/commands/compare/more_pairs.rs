//! How a user of `compare --measure` gets the further pairs of processes that would settle a doubt.
//!
//! A budget is no way to them: it ends where the intervals are within 1 %, and what is in doubt mostly needs narrower ones.

use sprag_analysis::rules::remedy::{Remedy, refit};
use sprag_measure::plan::MOST_PROCESSES;
use sprag_model::verdict::{Comparison, Verdict};

/// Says it in the reasons of doubt; `pairs` have been measured, and `--rigorous` takes `rigorous`.
pub(super) fn tell(comparisons: &mut [Comparison], pairs: usize, rigorous: u32) {
    for one in comparisons {
        if let Verdict::Inconclusive(reason) = &mut one.verdict {
            *reason = refit(reason, |remedy| Some(words(remedy, pairs, rigorous as usize)));
        }
    }
}

fn words(remedy: Remedy, pairs: usize, rigorous: usize) -> String {
    let words = remedy.words();
    let Remedy::Pairs(more) = remedy else { return words };
    let wanted = pairs + more;
    // A suite is compared in twice as many pairs as a run of it has processes.
    let processes = wanted.div_ceil(2);
    if wanted <= rigorous {
        format!("{words} (`--rigorous` takes {rigorous} in all)")
    } else if processes <= MOST_PROCESSES as usize {
        format!("{words} (`processes = {processes}` of the suite takes {} in all)", 2 * processes)
    } else {
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_report::gate::example;

    #[test]
    fn the_option_gives_the_pairs_that_are_asked_for() {
        let check = |remedy: Remedy, pairs: usize, expected: &str| {
            let verdict = Verdict::Inconclusive(remedy.after("why"));
            let mut comparisons = [example::comparison("cpu/a @fast", 1.0, verdict)];
            tell(&mut comparisons, pairs, 15);
            assert_eq!(comparisons[0].verdict.reason(), Some(format!("why; {expected}").as_str()));
        };
        check(Remedy::Pairs(1), 3, "about 1 more pair of processes would settle it (`--rigorous` takes 15 in all)");
        check(Remedy::Pairs(5), 10, "about 5 more pairs of processes would settle it (`--rigorous` takes 15 in all)");
        let words = "about 7 more pairs of processes would settle it (`processes = 9` of the suite takes 18 in all)";
        check(Remedy::Pairs(7), 10, words);
        check(Remedy::Pairs(900), 10, "about 900 more pairs of processes would settle it");
        check(Remedy::Turns, 10, &Remedy::Turns.words());
    }
}
