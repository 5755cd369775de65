//! What the verdicts of interleaved builds say beyond the rules: how many more pairs would settle a doubt, and benchmarks
//! that only one side has.

use sprag_analysis::rules::remedy::{Remedy, refit};
use sprag_measure::plan::MOST_PROCESSES;
use sprag_model::baseline::Baseline;
use sprag_model::paired::New;
use sprag_model::rule::{Choice, Policy, Rule};
use sprag_model::verdict::{Comparison, Verdict};

/// Says it in the reasons of doubt; `pairs` have been measured, and `--rigorous` takes `rigorous`.
pub(super) fn advise_pairs(comparisons: &mut [Comparison], pairs: usize, rigorous: u32) {
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

/// Puts them among the comparisons, before what is unchanged or better.
pub(super) fn add_new(comparisons: &mut Vec<Comparison>, new: &[New], policy: &Policy) {
    let (failed, fine): (Vec<Comparison>, Vec<Comparison>) =
        new.iter().map(|one| comparison(one, policy)).partition(|one| one.verdict == Verdict::Missing);
    let place = |comparisons: &[Comparison], is_before: fn(&Verdict) -> bool| {
        comparisons.iter().take_while(|one| is_before(&one.verdict)).count()
    };
    let after = place(comparisons, |verdict| matches!(verdict, Verdict::Regressed | Verdict::Missing));
    comparisons.splice(after..after, failed);
    let after = place(comparisons, |verdict| !matches!(verdict, Verdict::Improved | Verdict::Unchanged));
    comparisons.splice(after..after, fine);
}

fn comparison(new: &New, policy: &Policy) -> Comparison {
    let rule = match policy.choice(&Baseline::key(&new.benchmark, &new.metric.name)) {
        Choice::Fixed(rule) => rule.name(),
        Choice::Learnt => Rule::NAMES[0],
    };
    let (verdict, note) = match &new.failure {
        // What should give a result and does not is missing, whatever it is held against.
        Some(failure) => (Verdict::Missing, format!("new, and failed: {failure}")),
        None => (Verdict::NoBaseline, "new: the base does not have it".to_owned()),
    };
    Comparison {
        current: new.value,
        note: Some(note),
        ..Comparison::bare(&new.benchmark, new.metric.clone(), rule, verdict)
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
            advise_pairs(&mut comparisons, pairs, 15);
            assert_eq!(comparisons[0].verdict.reason(), Some(format!("why; {expected}").as_str()));
        };
        check(Remedy::Pairs(1), 3, "about 1 more pair of processes would settle it (`--rigorous` takes 15 in all)");
        check(Remedy::Pairs(5), 10, "about 5 more pairs of processes would settle it (`--rigorous` takes 15 in all)");
        let words = "about 7 more pairs of processes would settle it (`processes = 9` of the suite takes 18 in all)";
        check(Remedy::Pairs(7), 10, words);
        check(Remedy::Pairs(900), 10, "about 900 more pairs of processes would settle it");
        check(Remedy::Turns, 10, &Remedy::Turns.words());
    }

    #[test]
    fn what_is_new_stands_before_what_is_fine() {
        let one = |name: &str, verdict: Verdict| example::comparison(name, 1.0, verdict);
        let mut comparisons = vec![
            one("slow", Verdict::Regressed),
            one("doubt", Verdict::Inconclusive("why".to_owned())),
            one("fast", Verdict::Improved),
            one("same", Verdict::Unchanged),
        ];
        let fine = New { value: Some(2.0), ..New::untimed("new") };
        let failed = New { failure: Some("it broke".to_owned()), ..New::untimed("broken") };
        add_new(&mut comparisons, &[fine, failed], &Policy::default());
        let told: Vec<(&str, &str)> =
            comparisons.iter().map(|one| (one.benchmark.as_str(), one.verdict.word())).collect();
        let expected = [
            ("slow", "regressed"),
            ("broken", "missing"),
            ("doubt", "inconclusive"),
            ("new", "no baseline"),
            ("fast", "improved"),
            ("same", "unchanged"),
        ];
        assert_eq!(told, expected);
        assert_eq!(
            (comparisons[3].baseline, comparisons[3].current, comparisons[3].rule),
            (None, Some(2.0), "interval")
        );
        let mut alone = Vec::new();
        add_new(&mut alone, &[New::untimed("new")], &Policy::default());
        assert_eq!((alone.len(), alone[0].current), (1, None));
    }
}
