//! What the seed's reports state of single calls of one kernel.

use sprag_base::stats::describe;

/// What a report states of one kernel, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The median; of an even count the mean of the middle two.
    pub p50: f64,
    /// The 95th percentile, by the seed's formula: the order statistic at the floor of `0.95 * (n - 1)`.
    pub p95: f64,
}

impl Summary {
    /// How much is done in a second at the median, where a call does `work`; `None` where the median is no time.
    pub fn throughput(self, work: f64) -> Option<f64> {
        (self.p50 > 0.0).then(|| work / (self.p50 / 1000.0))
    }
}

/// Summarises single calls as the seed does; `None` for no calls, or one whose time is not finite.
pub fn summarise(milliseconds: &[f64]) -> Option<Summary> {
    if milliseconds.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = milliseconds.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    let p50 = if sorted.len() % 2 == 1 { upper } else { (sorted[sorted.len() / 2 - 1] + upper) / 2.0 };
    Some(Summary { p50, p95: describe::floor_quantile(milliseconds, 0.95)? })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn figures_are_those_of_the_seed() {
        let golden: Value = serde_json::from_str(include_str!("../../../../fixtures/golden/apex-x/stats.json"))
            .expect("the golden cases are JSON");
        let cases = golden["cases"].as_array().expect("there are cases");
        assert_eq!(cases.len(), 5);
        for case in cases {
            let timings = case["timings_ms"].as_array().expect("a list").iter();
            let timings: Vec<f64> = timings.map(|value| value.as_f64().expect("a number")).collect();
            let work = case["work_items"].as_f64().expect("a number");
            let summary = summarise(&timings).expect("there are times");
            let expected = |name: &str| case["expected"][name].as_f64();
            assert_eq!(Some(summary.p50), expected("p50_ms"), "{}", case["name"]);
            assert_eq!(Some(summary.p95), expected("p95_ms"), "{}", case["name"]);
            assert_eq!(summary.throughput(work), expected("throughput_per_s"), "{}", case["name"]);
        }
        assert_eq!(summarise(&[]), None);
        assert_eq!(summarise(&[1.0, f64::NAN]), None);
    }
}
