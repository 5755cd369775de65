//! For any finite numbers, no statistic panics or returns NaN.

use std::fmt::Debug;

use proptest::prelude::*;

use super::{
    cliffs_delta, describe, hodges_lehmann, kalibera_jones, mann_whitney, median_ratio, multiplicity, pair_ratio,
    rank_trend, sign_interval, welch,
};

/// Extreme numbers, some of which are likely to be equal.
fn number() -> impl Strategy<Value = f64> {
    let ends = vec![0.0, -0.0, 1.0, -1.0, f64::MAX, -f64::MAX, f64::MIN_POSITIVE, 5e-324, -5e-324, 1e154, 1e-154, 0.1];
    prop_oneof![prop::sample::select(ends), any::<f64>().prop_filter("a finite number", |value| value.is_finite())]
}

fn check(answer: &dyn Debug) {
    let answer = format!("{answer:?}");
    assert!(!answer.contains("NaN"), "{answer}");
}

proptest! {
    #[test]
    fn no_answer_is_nan(
        x in prop::collection::vec(number(), 0..9),
        y in prop::collection::vec(number(), 0..9),
        share in prop_oneof![0.0..=1.0_f64, number()],
    ) {
        for of in [describe::median, describe::mean, describe::geometric_mean, describe::population_variance] {
            check(&of(&x));
        }
        for of in [describe::sample_variance, describe::median_deviation, describe::scaled_median_deviation] {
            check(&of(&x));
        }
        check(&(describe::quantile(&x, share), describe::trimmed_mean(&x, share)));
        check(&pair_ratio::of_processes(&x, &y));
        check(&(sign_interval::of_median(&x, share), rank_trend::mann_kendall(&x)));
        check(&(multiplicity::holm(&x), multiplicity::benjamini_hochberg(&x), multiplicity::benjamini_yekutieli(&x)));
        check(&(welch::test(&x, &y, share), cliffs_delta::Dominance::new(&x, &y)));
        check(&mann_whitney::test(&x, &y, mann_whitney::RankMethod::Auto));
        check(&(hodges_lehmann::shift(&x, &y, share), hodges_lehmann::ratio(&x, &y, share)));
        let line = x.len().min(y.len());
        check(&rank_trend::theil_sen(&x[..line], &y[..line], share));
        let (first, second) = (Vec::from_iter(0..x.len()), Vec::from_iter(0..y.len()));
        check(&median_ratio::from_resamples(&x, &y, [(&*first, &*second); 2], share));
        let levels = |values: &[f64]| {
            let half = values.len() / 2;
            [vec![values.len()], vec![2, half]].map(|shape| kalibera_jones::VarianceLevels::new(values, &shape))
        };
        for (old, new) in levels(&x).into_iter().zip(levels(&y)) {
            check(&old);
            let Some(old) = old else { continue };
            check(&(old.half_width(share), old.best_repetitions(&y), old.best_repetitions(&[1.0, 1e300])));
            check(&new.and_then(|new| kalibera_jones::effect(&old, &new, share)));
        }
    }
}
