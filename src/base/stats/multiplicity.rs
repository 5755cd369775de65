//! P-values adjusted for multiple tests, in the order of the input; `None` where a p-value lies outside of 0 to 1.
//!
//! With the `i`-th least of `m` p-values: [`holm`] controls the family-wise error rate, `(m - i + 1) p` with a running maximum
//! (Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979);
//! [`benjamini_hochberg`] controls the false discovery rate of independent or positively dependent tests, `m p / i` with a
//! running minimum from the largest (Journal of the Royal Statistical Society B 57, 1995); and [`benjamini_yekutieli`]
//! controls it for any dependence, with a factor `1 + 1/2 + ... + 1/m` (Annals of Statistics 29, 2001).

pub fn holm(p_values: &[f64]) -> Option<Vec<f64>> {
    let order = order(p_values)?;
    let mut adjusted = vec![0.0; p_values.len()];
    let mut largest: f64 = 0.0;
    for (place, index) in order.into_iter().enumerate() {
        largest = largest.max((p_values.len() - place) as f64 * p_values[index]);
        adjusted[index] = largest.min(1.0);
    }
    Some(adjusted)
}

pub fn benjamini_hochberg(p_values: &[f64]) -> Option<Vec<f64>> {
    step_up(p_values, 1.0)
}

pub fn benjamini_yekutieli(p_values: &[f64]) -> Option<Vec<f64>> {
    step_up(p_values, (1..=p_values.len()).map(|place| 1.0 / place as f64).sum())
}

fn step_up(p_values: &[f64], factor: f64) -> Option<Vec<f64>> {
    let order = order(p_values)?;
    let mut adjusted = vec![0.0; p_values.len()];
    let mut least: f64 = 1.0;
    for (place, index) in order.into_iter().enumerate().rev() {
        least = least.min(p_values[index] * (p_values.len() as f64 * factor / (place + 1) as f64));
        adjusted[index] = least;
    }
    Some(adjusted)
}

/// The indices of the p-values, from the least to the largest.
fn order(p_values: &[f64]) -> Option<Vec<usize>> {
    if !p_values.iter().all(|p| (0.0..=1.0).contains(p)) {
        return None;
    }
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    Some(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_source() {
        // Benjamini and Hochberg, 1995: at 5 % their procedure rejects four of these, and that of Holm, as of Bonferroni, three.
        let p_values = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
            0.7590, 1.0,
        ];
        let rejected = |adjusted: Option<Vec<f64>>| adjusted.map(|all| all.iter().filter(|p| **p <= 0.05).count());
        assert_eq!([rejected(benjamini_hochberg(&p_values)), rejected(holm(&p_values))], [Some(4), Some(3)]);
    }
}
