//! Quantiles of Student's t distribution, as tabulated in Fisher and Yates, "Statistical Tables for Biological,
//! Agricultural and Medical Research", 1963, table III; beyond the table, by the expansion of Cornish and Fisher.

/// The quantile at 97.5 % for 1 to 10 degrees of freedom.
const AT_97_5: [f64; 10] = [12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281];

/// The quantile at 80 % for 1 to 10 degrees of freedom.
const AT_80: [f64; 10] = [1.3764, 1.0607, 0.9785, 0.9410, 0.9195, 0.9057, 0.8960, 0.8889, 0.8834, 0.8791];

/// Quantiles of the standard normal distribution at 97.5 % and 80 %.
const NORMAL: (f64, f64) = (1.959_963_984_540_054, 0.841_621_233_572_914_3);

/// The value that |t| exceeds in 5 % of all cases. `freedom` is at least one.
pub fn two_sided_95(freedom: usize) -> f64 {
    quantile(&AT_97_5, NORMAL.0, freedom)
}

/// The value that t lies below in 80 % of all cases. `freedom` is at least one.
pub fn power_80(freedom: usize) -> f64 {
    quantile(&AT_80, NORMAL.1, freedom)
}

fn quantile(table: &[f64; 10], normal: f64, freedom: usize) -> f64 {
    match table.get(freedom.max(1) - 1) {
        Some(value) => *value,
        None => {
            let (z, n) = (normal, freedom as f64);
            let [first, second, third] = [
                (z.powi(3) + z) / 4.0,
                (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0,
                (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0,
            ];
            z + first / n + second / n.powi(2) + third / n.powi(3)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        let check = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-3, "{found} and {expected}");
        check(two_sided_95(2), 4.3027);
        check(two_sided_95(11), 2.2010);
        check(two_sided_95(28), 2.0484);
        check(two_sided_95(1000), 1.9623);
        check(power_80(8), 0.8889);
        check(power_80(20), 0.8600);
        check(power_80(1000), 0.8420);
    }
}
