//! Hysteresis: a tile that is on stays on through a dip, so that a choice does not flicker from frame to frame.
//!
//! A tile is on when its utility exceeds `theta_on`, or exceeds `theta_off` and it was on before. When more than
//! `max_active` are on, those that were on before are kept first, then by utility, highest first, then by id.

use super::super::KernelError;
use super::super::shape::check_length;
use super::check_finite;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// A utility above this switches a tile on.
    pub theta_on: f64,
    /// A utility above this keeps a tile on.
    pub theta_off: f64,
    pub max_active: usize,
}

/// The masks after one step.
pub fn update(utilities: &[f64], previous: &[bool], thresholds: &Thresholds) -> Result<Vec<bool>, KernelError> {
    check_length("previous_mask", previous.len(), utilities.len())?;
    check_finite("utilities", utilities)?;
    let is_on = |(&utility, &was_on): (&f64, &bool)| {
        utility > thresholds.theta_on || (utility > thresholds.theta_off && was_on)
    };
    let mut mask: Vec<bool> = utilities.iter().zip(previous).map(is_on).collect();
    let mut active: Vec<usize> = (0..mask.len()).filter(|&id| mask[id]).collect();
    if active.len() > thresholds.max_active {
        active.sort_by(|&a, &b| {
            let by_utility = utilities[b].partial_cmp(&utilities[a]).expect("utilities were checked to be finite");
            previous[b].cmp(&previous[a]).then(by_utility).then(a.cmp(&b))
        });
        for &id in &active[thresholds.max_active..] {
            mask[id] = false;
        }
    }
    Ok(mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(utilities: &[f64], previous: &[u8], max_active: usize, expected: &[u8]) {
        let previous: Vec<bool> = previous.iter().map(|&bit| bit == 1).collect();
        let mask = update(utilities, &previous, &Thresholds { theta_on: 0.6, theta_off: 0.45, max_active }).unwrap();
        assert_eq!(mask.into_iter().map(u8::from).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_dip_does_not_switch_off_and_the_limit_prefers_what_was_on() {
        check(&[0.7, 0.5, 0.5, 0.45, 0.6], &[0, 1, 0, 1, 0], 9, &[1, 1, 0, 0, 0]);
        check(&[0.7, 0.5, 0.65, 0.2, 0.9], &[0, 1, 0, 1, 1], 2, &[0, 1, 0, 0, 1]);
        check(&[0.8, 0.8, 0.9], &[0, 0, 0], 2, &[1, 0, 1]);
        check(&[0.8], &[1], 0, &[0]);
    }

    #[test]
    fn bad_input_is_refused() {
        let thresholds = Thresholds { theta_on: 0.6, theta_off: 0.45, max_active: 1 };
        assert!(update(&[f64::NAN], &[true], &thresholds).is_err());
        assert!(update(&[0.5], &[], &thresholds).is_err());
    }
}
