//! The trimmed mean of few values with its standard error.
//!
//! Of `n` sorted values the `g = floor(0.1 n)` least and largest are left out, and the mean of the other `h = n - 2g` is the
//! centre. With the winsorised variance `s²` its standard error is `s * sqrt((n - 1) / (h (h - 1)))`, and the centre over its
//! error follows Student's t with `h - 1` degrees of freedom. Below ten values this is the ordinary mean. (Tukey and
//! McLaughlin, "Less vulnerable confidence and significance procedures for location based on a single sample", Sankhya A 25,
//! 1963.) On recorded timings of unchanged code, the trimmed mean detects 5 % where the plain one often does not
//! (`benches/rules.rs`), as one disturbed process of ten costs only its own information.

use super::describe;

/// The share of the values left out at either end.
const TRIMMED: f64 = 0.1;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Centre {
    pub value: f64,
    /// Its standard error.
    pub error: f64,
    pub freedom: f64,
    pub count: usize,
}

pub fn estimate(values: &[f64]) -> Option<Centre> {
    let n = values.len();
    if n < 2 {
        return None;
    }
    let sorted = describe::sorted(values);
    let left_out = trimmed(n);
    let middle = &sorted[left_out..n - left_out];
    let (h, least, largest) = (middle.len() as f64, middle[0], middle[middle.len() - 1]);
    let value = middle.iter().sum::<f64>() / h;
    // Equal values have no spread, despite rounding.
    if least == largest {
        return Some(Centre { value: least, error: 0.0, freedom: h - 1.0, count: n });
    }
    let winsorised = sorted.iter().map(|one| one.clamp(least, largest));
    let mean = winsorised.clone().sum::<f64>() / n as f64;
    let squares: f64 = winsorised.map(|one| (one - mean).powi(2)).sum();
    Some(Centre { value, error: (squares / (h * (h - 1.0))).sqrt(), freedom: h - 1.0, count: n })
}

impl Centre {
    /// The error and the degrees of freedom that `count` values of the same spread would have; `count` is at least two.
    pub fn with(&self, count: usize) -> (f64, f64) {
        let spread = self.error * remaining(self.count).sqrt();
        (spread / remaining(count).sqrt(), remaining(count) - 1.0)
    }
}

fn trimmed(count: usize) -> usize {
    (count as f64 * TRIMMED) as usize
}

fn remaining(count: usize) -> f64 {
    (count - 2 * trimmed(count)) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_ten_values_leaves_out_two() {
        // Mean 3, sum of squares 10: the error is sqrt(10 / (5 * 4)).
        let few = estimate(&[1.0, 5.0, 2.0, 4.0, 3.0]).expect("there are five");
        assert_eq!((few.value, few.freedom, few.count), (3.0, 4.0, 5));
        assert!((few.error - 0.5_f64.sqrt()).abs() < 1e-15, "{}", few.error);
        // Of 0, 1, ..., 8, 1000 the least and the largest go: 1 to 8, mean 4.5. Winsorised, the sum of squares of
        // 1, 1, 2, ..., 8, 8 around 4.5 is 66.5, and the error sqrt(66.5 / (8 * 7)).
        let mut ten: Vec<f64> = (0..9).map(f64::from).collect();
        ten.push(1000.0);
        let centre = estimate(&ten).expect("there are ten");
        assert_eq!((centre.value, centre.freedom), (4.5, 7.0));
        assert!((centre.error - (66.5_f64 / 56.0).sqrt()).abs() < 1e-12, "{}", centre.error);
        assert_eq!([estimate(&[]), estimate(&[1.0])], [None; 2]);
        assert_eq!(estimate(&[0.1; 7]).map(|centre| (centre.value, centre.error)), Some((0.1, 0.0)));
        // Sixteen values of the same spread.
        let centre = estimate(&[1.0, 2.0, 3.0, 4.0]).expect("there are four");
        let (error, freedom) = centre.with(16);
        assert!((error - centre.error * (4.0_f64 / 14.0).sqrt()).abs() < 1e-15, "{error}");
        assert_eq!(freedom, 13.0);
        assert_eq!(centre.with(4), (centre.error, 3.0));
    }
}
