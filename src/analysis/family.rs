//! Many metrics judged together: that none of them is called changed by chance alone.
//!
//! Of a hundred unchanged kernels, each judged at one per cent, one is called slower in most checks. So a change also
//! has to pass the procedure of Benjamini and Hochberg over all metrics that were judged together, for each direction.
//! ("Controlling the False Discovery Rate", Journal of the Royal Statistical Society B 57, 1995.) Of the changes that
//! are reported, at most [`FALSE_DISCOVERIES`] are then chance. Where nothing changed, at most this share of all checks
//! reports anything.

use super::rules::interval;
use sprag_model::{Comparison, Rule, TwoSides, Verdict};

/// What a verdict was reached by, where a rule was asked.
pub type Basis = Option<(Rule, TwoSides)>;

/// The share of reported changes that may be chance.
pub const FALSE_DISCOVERIES: f64 = 0.05;

/// The comparisons, by place, that are called changed and could be chance, and the level that was required of each.
///
/// Only those with a `p_value` are judged together.
pub fn by_chance(comparisons: &[Comparison]) -> Vec<(usize, f64)> {
    by_chance_of(&comparisons.iter().map(|one| (&one.verdict, one.p_value)).collect::<Vec<_>>())
}

/// As [`by_chance`], of verdicts with their chances.
pub fn by_chance_of(verdicts: &[(&Verdict, Option<f64>)]) -> Vec<(usize, f64)> {
    let judged = verdicts.iter().filter(|(_, p_value)| p_value.is_some()).count();
    let mut doubted = Vec::new();
    for direction in [Verdict::Regressed, Verdict::Improved] {
        let mut changed: Vec<(usize, f64)> = verdicts
            .iter()
            .enumerate()
            .filter(|(_, (verdict, _))| **verdict == direction)
            .filter_map(|(place, (_, p_value))| Some((place, (*p_value)?)))
            .collect();
        changed.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        let level = |rank: usize| FALSE_DISCOVERIES * rank as f64 / judged as f64;
        let passing = (1..=changed.len()).rev().find(|rank| changed[rank - 1].1 <= level(*rank)).unwrap_or(0);
        doubted.extend(changed[passing..].iter().map(|(place, _)| (*place, level(passing + 1))));
    }
    doubted.sort_by_key(|(place, _)| *place);
    doubted
}

/// The comparisons, in doubt where they could be chance among so many; only verdicts in `doubted` are. `what` is a plural noun.
pub fn without_chance(judged: Vec<(Comparison, Basis)>, doubted: &[Verdict], what: &str) -> Vec<Comparison> {
    let (mut comparisons, bases): (Vec<Comparison>, Vec<Basis>) = judged.into_iter().unzip();
    let size = size(&comparisons);
    for (place, level) in by_chance(&comparisons) {
        let verdict = &mut comparisons[place].verdict;
        let Some((rule, evidence)) = bases[place].as_ref().filter(|_| doubted.contains(verdict)) else { continue };
        *verdict = Verdict::Inconclusive(match rule {
            Rule::Interval { tolerance } => interval::doubt_of_many(*tolerance, evidence, size, level),
            _ => format!("of {size} {what} judged together, one may differ this much by chance"),
        });
    }
    comparisons
}

/// How many of the comparisons are judged together.
pub fn size(comparisons: &[Comparison]) -> usize {
    comparisons.iter().filter(|one| one.p_value.is_some()).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::Metric;

    fn comparison(verdict: Verdict, p_value: Option<f64>) -> Comparison {
        Comparison {
            baseline: Some(1.0),
            current: Some(1.0),
            p_value,
            ..Comparison::bare("cpu/x @fast", Metric::time(), "interval", verdict)
        }
    }

    fn suite(unchanged: usize, changed: &[(Verdict, f64)]) -> Vec<usize> {
        let mut all = vec![comparison(Verdict::Unchanged, Some(0.4)); unchanged];
        all.extend(changed.iter().map(|(verdict, p)| comparison(verdict.clone(), Some(*p))));
        by_chance(&all).into_iter().map(|(place, _)| place - unchanged).collect()
    }

    #[test]
    fn one_of_many_must_stand_out_and_many_hold_one_another() {
        use Verdict::{Improved, Regressed};
        assert_eq!(suite(0, &[(Regressed, 0.009)]), Vec::<usize>::new());
        assert_eq!(suite(9, &[(Regressed, 0.009)]), [0]);
        assert_eq!(suite(9, &[(Regressed, 0.004)]), Vec::<usize>::new());
        assert_eq!(suite(8, &[(Regressed, 0.001), (Regressed, 0.009)]), Vec::<usize>::new());
        assert_eq!(suite(97, &[(Regressed, 0.0001), (Regressed, 0.0011), (Regressed, 0.009)]), [1, 2]);
        // Directions do not lend each other strength.
        assert_eq!(suite(8, &[(Regressed, 0.009), (Improved, 0.0001)]), [0]);
    }

    #[test]
    fn rules_without_a_chance_are_apart() {
        let mut all = vec![comparison(Verdict::Regressed, None); 50];
        all.push(comparison(Verdict::Regressed, Some(0.01)));
        assert_eq!(by_chance(&all), []);
        assert_eq!(size(&all), 1);
    }
}
