//! The rank-sum test of Mann and Whitney: whether values of one set tend to be larger than those of another.
//!
//! Both sets are ranked together, and equal values share the mean of their ranks. `U` is the number of pairs that the first
//! set wins; an equal pair is half a win (Mann and Whitney, "On a test of whether one of two random variables is
//! stochastically larger than the other", Annals of Mathematical Statistics 18, 1947).
//!
//! *Exact*, without equal values: the number of orders with a given `U` is a coefficient of the Gaussian binomial, the product
//! over `i` of `(1 - q^(n + i)) / (1 - q^i)`. *Asymptotic*: a normal distribution of the same mean and variance, with a
//! continuity correction of half a unit (Lehmann, "Nonparametrics", 1975, chapter 1). [`RankMethod::Auto`] chooses as SciPy's
//! `mannwhitneyu` does: exact where a set has no more than [`FEW`] values and no two values are equal.

use super::normal;

/// The largest size of the smaller set for which the exact distribution is taken.
pub const FEW: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankMethod {
    /// Exact for small sets without equal values, else asymptotic.
    Auto,
    /// For sets without equal values.
    Exact,
    Asymptotic,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankTest {
    pub u: f64,
    /// The distribution used: never [`RankMethod::Auto`].
    pub method: RankMethod,
    pub two_sided: f64,
    /// The p-value that is small where the first set is the larger.
    pub greater: f64,
    /// The p-value that is small where the first set is the smaller.
    pub less: f64,
}

/// Tests `first` against `second`; infinities are allowed. `None` where a set is empty or has a NaN; for [`RankMethod::Exact`]
/// also where two values are equal, or the number of orders exceeds a double.
pub fn test(first: &[f64], second: &[f64], method: RankMethod) -> Option<RankTest> {
    if first.is_empty() || second.is_empty() || first.iter().chain(second).any(|value| value.is_nan()) {
        return None;
    }
    let ranks = Ranks::new(first, second);
    let few = first.len().min(second.len()) <= FEW;
    let method = match method {
        RankMethod::Auto if few && ranks.groups.is_empty() => RankMethod::Exact,
        RankMethod::Auto => RankMethod::Asymptotic,
        asked => asked,
    };
    let (u, pairs) = (ranks.u, first.len() as f64 * second.len() as f64);
    let (greater, less) = match method {
        RankMethod::Exact => {
            let counts = Counts::new(first.len(), second.len()).filter(|_| ranks.groups.is_empty())?;
            (counts.survival(u as usize), counts.survival((pairs - u) as usize))
        }
        RankMethod::Asymptotic | RankMethod::Auto => {
            let deviation = ranks.deviation(first.len(), second.len());
            let survival = |u: f64| if deviation > 0.0 { normal::sf((u - pairs / 2.0 - 0.5) / deviation) } else { 1.0 };
            (survival(u), survival(pairs - u))
        }
    };
    Some(RankTest { u, method, two_sided: (2.0 * greater.min(less)).min(1.0), greater, less })
}

/// The least two-sided p-value for sets of these sizes by the exact distribution; `None` where a set is empty.
pub fn least_two_sided(first: usize, second: usize) -> Option<f64> {
    orders(first.min(second), first.max(second)).map(|orders| (2.0 / orders).min(1.0))
}

/// The number of orders of the ranks of two sets; `None` where the smaller is empty.
fn orders(few: usize, many: usize) -> Option<f64> {
    (few > 0).then(|| (1..=few).fold(1.0, |orders, i| orders * (many + i) as f64 / i as f64))
}

struct Ranks {
    u: f64,
    /// The sizes of groups of two or more equal values.
    groups: Vec<f64>,
}

impl Ranks {
    fn new(first: &[f64], second: &[f64]) -> Ranks {
        let mut pooled: Vec<(f64, bool)> =
            first.iter().map(|value| (*value, true)).chain(second.iter().map(|value| (*value, false))).collect();
        // Groups are of equal values: both zeros are one.
        pooled.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let (mut rank_sum, mut below, mut groups) = (0.0, 0.0, Vec::new());
        for group in pooled.chunk_by(|a, b| a.0 == b.0) {
            let size = group.len() as f64;
            let of_first = group.iter().filter(|(_, is_first)| *is_first).count() as f64;
            rank_sum += of_first * (below + (size + 1.0) / 2.0);
            below += size;
            if group.len() > 1 {
                groups.push(size);
            }
        }
        let n = first.len() as f64;
        Ranks { u: rank_sum - n * (n + 1.0) / 2.0, groups }
    }

    /// The standard deviation of `U` under the null hypothesis; zero where all values are equal.
    fn deviation(&self, first: usize, second: usize) -> f64 {
        let (first, second) = (first as f64, second as f64);
        let all = first + second;
        if self.groups.first() == Some(&all) {
            return 0.0;
        }
        let ties: f64 = self.groups.iter().map(|size| size.powi(3) - size).sum();
        (first * second / 12.0 * ((all + 1.0) - ties / (all * (all - 1.0)))).sqrt()
    }
}

/// The number of orders of the ranks for each `U`.
pub(super) struct Counts {
    /// From zero to the middle; the upper half is its mirror. Exact up to 2^53.
    lower: Vec<f64>,
    total: f64,
    largest: usize,
}

impl Counts {
    /// `None` where a count exceeds a double.
    pub(super) fn new(first: usize, second: usize) -> Option<Counts> {
        let (few, many) = (first.min(second), first.max(second));
        let total = orders(few, many).filter(|total| total.is_finite())?;
        let largest = few.checked_mul(many)?;
        let mut lower = vec![0.0; largest / 2 + 1];
        lower[0] = 1.0;
        for i in 1..=few {
            let factor = many + i;
            // After each round the polynomial is a Gaussian binomial itself, so that no count exceeds the final one.
            for place in (factor..lower.len()).rev() {
                lower[place] -= lower[place - factor];
            }
            for place in i..lower.len() {
                lower[place] += lower[place - i];
            }
        }
        Some(Counts { lower, total, largest })
    }

    /// The quantile at a `chance` of at most a half.
    pub(super) fn lower_quantile(&self, chance: f64) -> usize {
        // A chance that is smaller only by rounding is enough.
        let enough = chance * (1.0 - 1e-14) * self.total;
        let mut orders = 0.0;
        let is_enough = |count: &f64| {
            orders += count;
            orders >= enough
        };
        self.lower.iter().position(is_enough).unwrap_or(self.largest / 2)
    }

    pub(super) fn at_most(&self, u: usize) -> f64 {
        self.survival(self.largest - u)
    }

    /// The chance of a `U` of at least `u`, summed from the nearer end, so that small ones keep their precision.
    fn survival(&self, u: usize) -> f64 {
        let from_end = |count: usize| self.lower[..count].iter().sum::<f64>();
        let mirrored = self.largest - u;
        match mirrored <= u {
            true => from_end(mirrored + 1) / self.total,
            false => (self.total - from_end(u)) / self.total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_method_follows_sizes_and_equal_values() {
        let rising = |count: usize, by: f64| (0..count).map(|place| place as f64 + by).collect::<Vec<f64>>();
        let check = |first: &[f64], second: &[f64], expected: RankMethod| {
            assert_eq!(test(first, second, RankMethod::Auto).map(|result| result.method), Some(expected));
        };
        check(&rising(8, 0.0), &rising(500, 0.5), RankMethod::Exact);
        check(&rising(9, 0.0), &rising(9, 0.5), RankMethod::Asymptotic);
        check(&rising(3, 0.0), &rising(3, 1.0), RankMethod::Asymptotic);
        check(&[0.0], &[-0.0], RankMethod::Asymptotic);
        assert_eq!(test(&[1.0], &[1.0], RankMethod::Exact), None);
        assert_eq!(test(&rising(2000, 0.0), &rising(2000, 0.5), RankMethod::Exact), None);
        let p = |method| test(&rising(30, 0.0), &rising(30, 4.5), method).expect("the values differ").two_sided;
        assert!((p(RankMethod::Exact) / p(RankMethod::Asymptotic) - 1.0).abs() < 0.02);
        for (first, second) in [(&[][..], &[1.0][..]), (&[1.0], &[]), (&[1.0, f64::NAN], &[1.0])] {
            assert_eq!(test(first, second, RankMethod::Auto), None);
        }
        let equal = test(&[3.0; 125], &[3.0; 20], RankMethod::Auto).expect("they are numbers");
        assert_eq!((equal.u, equal.two_sided, equal.greater, equal.less), (1250.0, 1.0, 1.0, 1.0));
        let infinite = test(&[f64::INFINITY, 1.0], &[f64::NEG_INFINITY, 0.0], RankMethod::Auto).expect("they rank");
        assert_eq!(infinite.u, 4.0);
    }

    #[test]
    fn the_least_p_value_is_that_of_separate_sets() {
        for (first, second, expected) in [(1, 1, 1.0), (3, 3, 0.1), (4, 4, 2.0 / 70.0), (1, 500, 2.0 / 501.0)] {
            let above: Vec<f64> = (0..second).map(|place| 1e6 + place as f64).collect();
            let below: Vec<f64> = (0..first).map(|place| place as f64).collect();
            let separate = test(&below, &above, RankMethod::Exact).map(|result| result.two_sided);
            for p in [least_two_sided(first, second), separate] {
                assert!(p.is_some_and(|p| (p / expected - 1.0).abs() < 1e-12), "{p:?} {expected}");
            }
        }
        assert_eq!(least_two_sided(0, 5), None);
    }
}
