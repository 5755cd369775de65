//! Benchmarks that only the other side has: there is nothing to hold them against, and that is told as everywhere else.

use sprag_model::baseline::Baseline;
use sprag_model::paired::New;
use sprag_model::rule::{Choice, Policy, Rule};
use sprag_model::verdict::{Comparison, Verdict};

/// Puts them among the comparisons, before what is unchanged or better.
pub(super) fn add(comparisons: &mut Vec<Comparison>, new: &[New], policy: &Policy) {
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
        add(&mut comparisons, &[fine, failed], &Policy::default());
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
        add(&mut alone, &[New::untimed("new")], &Policy::default());
        assert_eq!((alone.len(), alone[0].current), (1, None));
    }
}
