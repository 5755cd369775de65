//! Changes of values, as expressions.
//!
//! Ratios are averaged and compared as differences of natural logarithms: a product of ratios can overflow, the sum
//! of their logarithms cannot, and the mean of logarithms is the logarithm of the geometric mean.

use polars::prelude::*;

/// The natural logarithm of a column; null where the value is not above zero, and so has none.
pub(super) fn log_of(column: &str) -> Expr {
    when(col(column).gt(lit(0.0))).then(col(column).log(lit(std::f64::consts::E))).otherwise(null_number())
}

/// A difference of logarithms turned such that positive is worse: over where larger values are better.
///
/// The frame needs a column `better`.
pub(super) fn worse(difference: Expr) -> Expr {
    when(col("better").eq(lit(HIGHER))).then(lit(0.0) - difference.clone()).otherwise(difference)
}

/// `current / earlier - 1`; null where the earlier value is not above zero.
pub(super) fn relative(current: &str, earlier: &str) -> Expr {
    when(col(earlier).gt(lit(0.0))).then(col(current) / col(earlier) - lit(1.0)).otherwise(null_number())
}

/// The median of numbers of any sign and size: of halves, since the gap between two numbers may be more than one can
/// hold.
pub(super) fn median_of(numbers: Expr) -> Expr {
    (numbers * lit(0.5)).median() * lit(2.0)
}

/// How far a number lies from zero.
pub(super) fn distance(number: Expr) -> Expr {
    when(number.clone().lt(lit(0.0))).then(lit(0.0) - number.clone()).otherwise(number)
}

/// A spread as a share of a level, so many times as large, and cut to the largest number; null where the level is zero.
pub(super) fn share(spread: &str, level: &str, times: f64) -> Expr {
    let share = col(spread) / distance(col(level)) * lit(times);
    when(col(level).neq(lit(0.0)))
        .then(when(share.clone().gt(lit(f64::MAX))).then(lit(f64::MAX)).otherwise(share))
        .otherwise(null_number())
}

/// Computes sorted rows before something is added up over them.
///
/// The last digits of a sum depend on the order of its terms. The optimizer takes sums for order-blind: it drops a
/// sort that only a sum would see, and joins then give the terms in an order that differs from call to call.
pub(super) fn add_up_in_order(sorted: LazyFrame) -> PolarsResult<LazyFrame> {
    Ok(sorted.collect()?.lazy())
}

/// The change that a logarithm of a ratio stands for. A ratio beyond the range of `f64` is cut to its end.
pub(super) fn from_log(log: Option<f64>) -> Option<f64> {
    finite(log.map(f64::exp_m1))
}

/// A change beyond the range of `f64` is cut to its end, so that no infinity leaves this module.
pub(super) fn finite(change: Option<f64>) -> Option<f64> {
    change.map(|change| change.clamp(f64::MIN, f64::MAX))
}

/// The word for "larger values are better" in the column `better`.
pub(super) const HIGHER: &str = "higher";

/// The word for "smaller values are better" in the column `better`.
pub(super) const LOWER: &str = "lower";

fn null_number() -> Expr {
    lit(NULL).cast(DataType::Float64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_survive_the_whole_range() {
        let frame = df!(
            "value" => [1e300, 1e-300, 5e-324, f64::MAX, 1.0, 0.0, -0.0, -3.0],
            "better" => ["lower", "higher", "lower", "higher", "lower", "lower", "lower", "lower"],
        )
        .unwrap();
        let out = frame.lazy().select([worse(log_of("value")).alias("log")]).collect().unwrap();
        let logs: Vec<Option<f64>> = out.column("log").unwrap().f64().unwrap().iter().collect();
        let expected = [
            Some(1e300_f64.ln()),
            Some(-(1e-300_f64.ln())),
            Some(5e-324_f64.ln()),
            Some(-(f64::MAX.ln())),
            Some(0.0),
            None,
            None,
            None,
        ];
        assert_eq!(logs, expected);
    }

    #[test]
    fn a_change_is_never_infinite() {
        assert_eq!(from_log(None), None);
        assert_eq!(from_log(Some(0.0)), Some(0.0));
        assert_eq!(from_log(Some(1400.0)), Some(f64::MAX));
        assert_eq!(from_log(Some(-1400.0)), Some(-1.0));
        assert!((from_log(Some(2.0_f64.ln())).unwrap() - 1.0).abs() < 1e-15);
        assert_eq!(finite(Some(f64::NEG_INFINITY)), Some(f64::MIN));
    }

    #[test]
    fn medians_and_shares_survive_the_whole_range() {
        let frame = df!(
            "value" => [-f64::MAX, f64::MAX, 1e300, 2.0, 2.0, 0.0],
            "level" => [f64::MAX, 1.0, 1e-300, -4.0, 0.0, 3.0],
        )
        .unwrap();
        let middle = |rows: i64| {
            let head = frame.clone().lazy().slice(0, rows as u32).select([median_of(col("value"))]).collect().unwrap();
            head.column("value").unwrap().f64().unwrap().get(0)
        };
        assert_eq!([middle(0), middle(1), middle(2), middle(4)], [None, Some(-f64::MAX), Some(0.0), Some(5e299)]);
        let out =
            frame.lazy().select([distance(col("value")).alias("size"), share("value", "level", 2.0).alias("share")]);
        let out = out.collect().unwrap();
        let of = |name: &str| out.column(name).unwrap().f64().unwrap().iter().collect::<Vec<Option<f64>>>();
        assert_eq!(of("size"), [f64::MAX, f64::MAX, 1e300, 2.0, 2.0, 0.0].map(Some));
        let shares = [Some(-2.0), Some(f64::MAX), Some(f64::MAX), Some(1.0), None, Some(0.0)];
        assert_eq!(of("share"), shares);
    }

    #[test]
    fn a_change_needs_an_earlier_value_above_zero() {
        let frame = df!("now" => [3.0, 3.0, 3.0, 0.0, -2.0], "then" => [2.0, 0.0, -2.0, 2.0, 2.0]).unwrap();
        let out = frame.lazy().select([relative("now", "then").alias("change")]).collect().unwrap();
        let changes: Vec<Option<f64>> = out.column("change").unwrap().f64().unwrap().iter().collect();
        assert_eq!(changes, [Some(0.5), None, None, Some(-1.0), Some(-2.0)]);
    }
}
