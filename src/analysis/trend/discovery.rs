//! How much of what is reported could be chance.
//!
//! A cluster is one hypothesis: that no series of its machines changed between those commits. Its p-value is that of
//! Simes over all series that were measured on both sides, with a p-value of 1 for those that did not move. ("An
//! improved Bonferroni procedure for multiple tests of significance", Biometrika 73, 1986.) The p-value of a change is
//! the chance that a point of a series without changes gives one as clear. Benjamini and Hochberg then limit the share
//! of chance among all reports, over as many hypotheses as commits were measured.

use sprag_base::stats::multiplicity;

/// The false discovery rate that is allowed among significant events.
pub const ALLOWED: f64 = 0.05;

/// The rate up to which an event that was significant remains so.
pub(super) const RETAINED: f64 = 0.25;

/// The p-value of a cluster whose members have those p-values, of so many series that were measured.
pub(super) fn simes(chances: &[f64], measured: usize) -> f64 {
    let mut chances = chances.to_vec();
    chances.sort_by(f64::total_cmp);
    let measured = measured.max(chances.len()) as f64;
    let of = |(place, chance): (usize, &f64)| chance * measured / (place + 1) as f64;
    chances.iter().enumerate().map(of).fold(1.0, f64::min)
}

/// The false discovery rate at which each of these p-values is just reported, of so many hypotheses in all.
pub(super) fn false_discovery(p_values: &[f64], hypotheses: usize) -> Vec<f64> {
    let mut all = p_values.to_vec();
    all.resize(hypotheses.max(p_values.len()), 1.0);
    let mut adjusted = multiplicity::benjamini_hochberg(&all).unwrap_or_default();
    adjusted.truncate(p_values.len());
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_series_that_move_together_are_less_likely_chance() {
        assert_eq!(simes(&[], 10), 1.0);
        assert!((simes(&[1e-4], 10) - 1e-3).abs() < 1e-15);
        assert!((simes(&[1e-4, 1e-4], 10) - 5e-4).abs() < 1e-15);
        // A clear one says as much alone as next to others that are not.
        assert!((simes(&[1e-9, 1e-4], 10) - 1e-8).abs() < 1e-20);
        assert_eq!(simes(&[0.0, 0.1], 10), 0.0);
    }

    #[test]
    fn of_more_commits_more_is_chance() {
        assert_eq!(false_discovery(&[0.001], 10), [0.01]);
        assert_eq!(false_discovery(&[0.001], 1000), [1.0]);
        assert_eq!(false_discovery(&[0.001, 0.0001], 100), [0.05, 0.01]);
        assert_eq!(false_discovery(&[], 0), Vec::<f64>::new());
    }
}
