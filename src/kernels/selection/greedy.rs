//! Greedy choice: walk the candidates by score and take what still fits.
//!
//! With utility `u` and cost `c`, the score is `u / max(c, 1e-9)`. Candidates are walked by score, highest first, ties
//! by id; the walk stops when `kmax` are taken; a candidate is taken when `spent + c <= budget + 1e-9`, with the raw
//! cost (it may be zero or negative), and passed over otherwise.

use super::super::KernelError;
use super::super::shape::check_length;
use super::{BUDGET_SLACK, check_budget, check_finite, kmax_buffer, rank, score};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidates<'a> {
    pub utilities: &'a [f64],
    pub delta_costs: &'a [f64],
    /// What may be spent, finite and not negative.
    pub budget: f64,
    pub kmax: usize,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// Ids taken, by score. Their number is the `valid_count` of the buffer.
    pub selected: Vec<u32>,
    /// The running sum of their costs, in the order taken.
    pub spent: f64,
    pub ordered_candidates: Vec<u32>,
    pub scores: Vec<f64>,
    /// `selected`, padded with -1 to `kmax`.
    pub kmax_buffer: Vec<i64>,
}

/// Chooses among `candidates`.
pub fn select(candidates: &Candidates<'_>) -> Result<Selection, KernelError> {
    let Candidates { utilities, delta_costs, budget, kmax } = *candidates;
    check_length("delta_costs", delta_costs.len(), utilities.len())?;
    check_finite("utilities", utilities)?;
    check_finite("delta_costs", delta_costs)?;
    check_budget("budget", budget)?;
    let count = u32::try_from(utilities.len()).map_err(|_| KernelError::Empty { what: "utilities" })?;

    let scores: Vec<f64> = utilities.iter().zip(delta_costs).map(|(&utility, &cost)| score(utility, cost)).collect();
    let mut ordered_candidates: Vec<u32> = (0..count).collect();
    rank(&mut ordered_candidates, |id| scores[id as usize]);

    let mut selected = Vec::with_capacity(kmax.min(utilities.len()));
    let mut spent = 0.0;
    for &id in &ordered_candidates {
        if selected.len() == kmax {
            break;
        }
        let cost = delta_costs[id as usize];
        if spent + cost <= budget + BUDGET_SLACK {
            selected.push(id);
            spent += cost;
        }
    }
    let kmax_buffer = kmax_buffer(&selected, kmax);
    Ok(Selection { selected, spent, ordered_candidates, scores, kmax_buffer })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(utilities: &[f64], delta_costs: &[f64], budget: f64, kmax: usize, expected: &[u32], spent: f64) {
        let selection = select(&Candidates { utilities, delta_costs, budget, kmax }).unwrap();
        assert_eq!((selection.selected.as_slice(), selection.spent), (expected, spent));
    }

    #[test]
    fn the_best_that_fits_is_taken() {
        check(&[1.0, 1.0, 0.5, 1.0], &[1.0; 4], 2.0, 4, &[0, 1], 2.0);
        check(&[10.0, 3.0, 2.0, 1.0], &[5.0, 1.0, 1.0, 1.0], 3.0, 3, &[1, 2, 3], 3.0);
        check(&[1.0, 2.0], &[1.0, 1.0], 9.0, 1, &[1], 1.0);
        check(&[1.0, 2.0], &[1.0, 1.0], 9.0, 0, &[], 0.0);
        check(&[], &[], 1.0, 3, &[], 0.0);
        // Zero and both signs of zero tie; a negative cost gives budget back.
        check(&[-0.0, 0.0], &[1.0, 1.0], 1.0, 2, &[0], 1.0);
        check(&[1.0, 1.0], &[1.0, -1.0], 0.0, 2, &[1, 0], 0.0);
    }

    #[test]
    fn buffers_are_padded() {
        let candidates = Candidates { utilities: &[1.0, 2.0], delta_costs: &[1.0, 1.0], budget: 2.0, kmax: 4 };
        assert_eq!(select(&candidates).unwrap().kmax_buffer, [1, 0, -1, -1]);
    }

    #[test]
    fn bad_input_is_refused() {
        let good = Candidates { utilities: &[1.0], delta_costs: &[1.0], budget: 1.0, kmax: 1 };
        let check = |candidates: Candidates<'_>, expected: KernelError| assert_eq!(select(&candidates), Err(expected));
        check(Candidates { utilities: &[f64::NAN], ..good }, KernelError::NotFinite { what: "utilities", position: 0 });
        check(
            Candidates { delta_costs: &[f64::INFINITY], ..good },
            KernelError::NotFinite { what: "delta_costs", position: 0 },
        );
        check(
            Candidates { delta_costs: &[], ..good },
            KernelError::Length { what: "delta_costs", expected: 1, got: 0 },
        );
        check(Candidates { budget: -1.0, ..good }, KernelError::Budget { what: "budget", value: -1.0 });
        assert!(select(&Candidates { budget: f64::NAN, ..good }).is_err());
    }

    proptest! {
        #[test]
        fn a_choice_keeps_its_limits(
            pairs in prop::collection::vec((-1.0f64..1.0, 0.0f64..2.0), 0..40),
            budget in 0.0f64..10.0,
            kmax in 0usize..20,
        ) {
            let (utilities, delta_costs): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let candidates = Candidates { utilities: &utilities, delta_costs: &delta_costs, budget, kmax };
            let selection = select(&candidates).unwrap();
            prop_assert!(selection.selected.len() <= kmax);
            prop_assert!(selection.spent <= budget + BUDGET_SLACK);
            prop_assert_eq!(selection.kmax_buffer.len(), kmax.max(selection.selected.len()));
            let mut once = selection.ordered_candidates.clone();
            once.sort_unstable();
            prop_assert_eq!(once, (0..utilities.len() as u32).collect::<Vec<_>>());
            // Whoever was passed over did not fit, or the places were taken.
            if selection.selected.len() < kmax {
                for id in 0..utilities.len() as u32 {
                    let fits = selection.spent + delta_costs[id as usize] <= budget;
                    prop_assert!(selection.selected.contains(&id) || !fits);
                }
            }
        }
    }
}
