//! The rank-sum test of Mann and Whitney: whether values of one set tend to be larger than those of another.
//!
//! The values of both sets are ranked together, and equal ones share the mean of their ranks; `U` is the rank sum of the
//! first set less the least that it could be: how many pairs of one value a set the first set wins, an equal pair being
//! half a win. (Mann and Whitney, "On a test of whether one of two random variables is stochastically larger than the
//! other", Annals of Mathematical Statistics 18, 1947.)
//!
//! *Exact*: without equal values every order of ranks is as likely as any other, and the number of orders with a given `U`
//! is a coefficient of the Gaussian binomial, the product over `i` of `(1 - q^(n + i)) / (1 - q^i)`. *Asymptotic*: a
//! normal distribution of the same mean and variance, the latter less by what equal values take from it, with half a
//! unit for continuity (Lehmann, "Nonparametrics", 1975, chapter 1). [`Method::Auto`] chooses as SciPy's
//! `mannwhitneyu` does: exact where a set has no more than [`FEW`] values and no two values are equal.

use super::normal;

/// The largest size of the smaller set for which the exact distribution is taken.
pub const FEW: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Exact for small sets without equal values, else asymptotic.
    Auto,
    /// That of all orders of the ranks; for sets without equal values.
    Exact,
    Asymptotic,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankTest {
    /// How many pairs the first set wins, an equal pair being half a win. Exact.
    pub u: f64,
    /// Which distribution was taken: never [`Method::Auto`].
    pub method: Method,
    /// The chance of a `U` as far from the middle as this, on either side, where the sets are alike.
    pub two_sided: f64,
    /// The chance of a `U` of at least this where the sets are alike: small where the first set is the larger.
    pub greater: f64,
    /// The chance of a `U` of at most this: small where the first set is the smaller.
    pub less: f64,
}

/// Tests `first` against `second`. Infinities rank as any other number.
///
/// `None` where a set is empty or holds a value that is not a number; and for [`Method::Exact`] also where two values are
/// equal, or the sets are so large that their orders cannot be counted in a double.
pub fn test(first: &[f64], second: &[f64], method: Method) -> Option<RankTest> {
    if first.is_empty() || second.is_empty() || first.iter().chain(second).any(|value| value.is_nan()) {
        return None;
    }
    let ranks = Ranks::new(first, second);
    let few = first.len().min(second.len()) <= FEW;
    let method = match method {
        Method::Auto if few && ranks.groups.is_empty() => Method::Exact,
        Method::Auto => Method::Asymptotic,
        asked => asked,
    };
    let (u, pairs) = (ranks.u, first.len() as f64 * second.len() as f64);
    let (greater, less) = match method {
        Method::Exact => {
            let counts = Counts::new(first.len(), second.len()).filter(|_| ranks.groups.is_empty())?;
            (counts.survival(u as usize), counts.survival((pairs - u) as usize))
        }
        Method::Asymptotic | Method::Auto => {
            let deviation = ranks.deviation(first.len(), second.len());
            let survival = |u: f64| if deviation > 0.0 { normal::sf((u - pairs / 2.0 - 0.5) / deviation) } else { 1.0 };
            (survival(u), survival(pairs - u))
        }
    };
    Some(RankTest { u, method, two_sided: (2.0 * greater.min(less)).min(1.0), greater, less })
}

/// The least two-sided chance that sets of these sizes can come to by the exact distribution: that of one set lying above
/// the other altogether. `None` where a set is empty.
pub fn least_two_sided(first: usize, second: usize) -> Option<f64> {
    orders(first.min(second), first.max(second)).map(|orders| (2.0 / orders).min(1.0))
}

/// In how many orders the ranks of two sets can come; `None` where the smaller is empty.
fn orders(few: usize, many: usize) -> Option<f64> {
    (few > 0).then(|| (1..=few).fold(1.0, |orders, i| orders * (many + i) as f64 / i as f64))
}

/// The ranks of two sets, as far as the test needs them.
struct Ranks {
    u: f64,
    /// How many values each group of equal ones has, of two and more.
    groups: Vec<f64>,
}

impl Ranks {
    fn new(first: &[f64], second: &[f64]) -> Ranks {
        let mut pooled: Vec<(f64, bool)> =
            first.iter().map(|value| (*value, true)).chain(second.iter().map(|value| (*value, false))).collect();
        // Zero equals itself with the other sign: the groups go by equality, for which it is enough to lie side by side.
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

    /// The standard deviation of `U` where the sets are alike; zero where all values are equal.
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

/// How many orders of the ranks there are for each `U`.
pub(super) struct Counts {
    /// From zero to the middle; the upper half is the same in reverse. Whole numbers, and exact up to 2^53.
    lower: Vec<f64>,
    total: f64,
    largest: usize,
}

impl Counts {
    /// `None` where the counts go beyond what a double holds.
    pub(super) fn new(first: usize, second: usize) -> Option<Counts> {
        let (few, many) = (first.min(second), first.max(second));
        let total = orders(few, many).filter(|total| total.is_finite())?;
        let largest = few.checked_mul(many)?;
        let mut lower = vec![0.0; largest / 2 + 1];
        lower[0] = 1.0;
        for i in 1..=few {
            let factor = many + i;
            // After each round the polynomial is a Gaussian binomial itself, so no count is ever larger than the last.
            for place in (factor..lower.len()).rev() {
                lower[place] -= lower[place - factor];
            }
            for place in i..lower.len() {
                lower[place] += lower[place - i];
            }
        }
        Some(Counts { lower, total, largest })
    }

    /// The least `u` that `U` does not exceed with at least this `chance`, of a half at most.
    pub(super) fn lower_quantile(&self, chance: f64) -> usize {
        // A chance that is equal but for rounding is enough.
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

    /// The chance of a `U` of at least `u`: summed from the nearer end, so that a small one keeps its digits.
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

    fn close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-12, "{found} and {expected}");
    }

    #[test]
    fn the_method_follows_sizes_and_equal_values() {
        let rising = |count: usize, by: f64| (0..count).map(|place| place as f64 + by).collect::<Vec<f64>>();
        let check = |first: &[f64], second: &[f64], expected: Method| {
            assert_eq!(test(first, second, Method::Auto).map(|found| found.method), Some(expected));
        };
        check(&rising(8, 0.0), &rising(500, 0.5), Method::Exact);
        check(&rising(9, 0.0), &rising(9, 0.5), Method::Asymptotic);
        check(&rising(3, 0.0), &rising(3, 1.0), Method::Asymptotic);
        check(&[0.0], &[-0.0], Method::Asymptotic);
        assert_eq!(test(&[1.0], &[1.0], Method::Exact), None);
        let large = rising(2000, 0.0);
        assert_eq!(test(&large, &rising(2000, 0.5), Method::Exact), None);
        let (exact, normal) = (rising(30, 0.0), rising(30, 4.5));
        let exact_p = test(&exact, &normal, Method::Exact).expect("they differ").two_sided;
        let normal_p = test(&exact, &normal, Method::Asymptotic).expect("they differ").two_sided;
        assert!((exact_p / normal_p - 1.0).abs() < 0.02, "{exact_p} {normal_p}");
    }

    #[test]
    fn what_cannot_be_ranked_is_refused_and_what_is_alike_is_certain() {
        assert_eq!(test(&[], &[1.0], Method::Auto), None);
        assert_eq!(test(&[1.0], &[], Method::Auto), None);
        assert_eq!(test(&[1.0, f64::NAN], &[1.0], Method::Auto), None);
        let alike = test(&[3.0; 125], &[3.0; 20], Method::Auto).expect("they are numbers");
        assert_eq!((alike.u, alike.two_sided, alike.greater, alike.less), (1250.0, 1.0, 1.0, 1.0));
        let endless = test(&[f64::INFINITY, 1.0], &[f64::NEG_INFINITY, 0.0], Method::Auto).expect("they rank");
        assert_eq!(endless.u, 4.0);
    }

    #[test]
    fn the_least_chance_is_that_of_sets_apart() {
        let check = |first: usize, second: usize, expected: f64| {
            close(least_two_sided(first, second).expect("there are values"), expected);
            let apart: Vec<f64> = (0..second).map(|place| 1e6 + place as f64).collect();
            let below: Vec<f64> = (0..first).map(|place| place as f64).collect();
            close(test(&below, &apart, Method::Exact).expect("they differ").two_sided, expected);
        };
        check(1, 1, 1.0);
        check(3, 3, 0.1);
        check(4, 4, 2.0 / 70.0);
        check(1, 500, 2.0 / 501.0);
        assert_eq!(least_two_sided(0, 5), None);
    }
}
