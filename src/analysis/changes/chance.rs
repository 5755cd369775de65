//! How rarely chance makes a change as clear as one is.
//!
//! The rates come from series without a change, of all kinds of noise and lengths of `benches/changepoint/`. A rate is
//! how many changes with at least that score are reported in a thousand points. The bench counts them again and
//! compares these constants with its counts.

/// Scores, and how many of the false alarms that a sensitivity is allowed have at least that score.
const RATES: [(f64, f64); 5] = [(1.0, 1.0), (1.1, 0.45), (1.25, 0.16), (1.5, 0.03), (2.0, 0.008)];

/// The chance that a point of a series which holds nothing gives a change with at least that score; `budget` are the false
/// alarms in 1,000 points that the sensitivity is allowed. Between the scores that were counted, and beyond them, a straight
/// line in the logarithm of the rate.
pub fn of_score(score: f64, budget: f64) -> f64 {
    let last = RATES.len() - 2;
    let pair = RATES.windows(2).position(|pair| score < pair[1].0).unwrap_or(last);
    let [(low, more), (high, fewer)] = [RATES[pair], RATES[pair + 1]];
    let slope = (fewer / more).ln() / (high - low);
    (budget / 1000.0 * more * (slope * (score - low)).exp()).clamp(f64::MIN_POSITIVE, 1.0)
}

/// Scores, and the share of false alarms that have at least that score.
pub fn rates() -> &'static [(f64, f64)] {
    &RATES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clearer_the_rarer() {
        let scores = [0.2, 0.7, 1.0, 1.05, 1.1, 1.3, 1.7, 2.0, 3.0, 10.0, 1e6, f64::MAX];
        let chances: Vec<f64> = scores.iter().map(|score| of_score(*score, 0.05)).collect();
        assert!(chances.windows(2).all(|pair| pair[0] >= pair[1]), "{chances:?}");
        for (score, rate) in RATES {
            assert!((of_score(score, 0.05) / 5e-5 / rate - 1.0).abs() < 1e-9);
        }
        assert!(of_score(f64::MAX, 0.05) > 0.0 && of_score(0.0, 0.25) <= 1.0);
    }
}
