//! Cases of `statistics`: what a library of statistics gave for the same numbers. Each kind is recognised by its fields.
//! Inputs and results are next to each other: each result must be recorded.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::case::take_inputs;
use crate::expected::{Results, Tolerance, check_results, exactly, near};
use crate::failure::{Outcome, fails};
use crate::sample_gate;
use sprag_base::stats::cliffs_delta::Dominance;
use sprag_base::stats::hodges_lehmann::Location;
use sprag_base::stats::kalibera_jones::{self, VarianceLevels};
use sprag_base::stats::mann_whitney::{self, RankMethod};
use sprag_base::stats::multiplicity::{benjamini_hochberg, benjamini_yekutieli, holm};
use sprag_base::stats::{describe, hodges_lehmann, median_ratio, normal, rank_trend, sign_interval, student, welch};

/// The confidence of intervals where files do not state one.
const CONFIDENCE: f64 = 0.95;

const CLOSE: Tolerance = Tolerance::new(0.0, 1e-12);
const WELCH: Tolerance = Tolerance::new(0.0, 1e-11);
/// Counts are exact in any case.
const DOMINANCE: Tolerance = Tolerance::new(1e-15, 0.0);
const LEVELS: Tolerance = Tolerance::new(0.0, 1e-10);
const P_VALUES: Tolerance = Tolerance::new(1e-14, 0.0);
const NORMAL: Tolerance = Tolerance::new(0.0, 1e-13);
const STUDENT: Tolerance = Tolerance::new(0.0, 1e-11);

type Kind = (&'static [&'static str], fn(Value) -> Outcome);

/// The kinds of cases, each with fields that no other kind has all of, and what runs it.
const KINDS: [Kind; 12] = [
    (&["x", "percentile_q", "median"], |case| run_kind(case, &["x", "percentile_q"], description)),
    (&["x", "y", "difference", "log_ratio"], |case| run_kind(case, &["x", "y"], differences)),
    (&["x", "y", "index_x", "index_y"], |case| run_kind(case, &["x", "y", "index_x", "index_y"], resampled_ratio)),
    (&["x", "y", "t", "df"], |case| run_kind(case, &["x", "y"], welch_test)),
    (&["x", "y", "cliffs_delta"], |case| run_kind(case, &["x", "y"], dominance)),
    (&["a", "b", "cost_levels"], |case| run_kind(case, &["a", "b", "confidence", "cost_levels"], effects)),
    (&["x", "y", "slope"], |case| run_kind(case, &["x", "y"], line)),
    (&["y", "s", "var_s"], |case| run_kind(case, &["y"], monotonic_trend)),
    (&["p", "bh", "holm"], |case| run_kind(case, &["p"], adjusted)),
    (&["f", "x", "y"], |case| run_kind(case, &["f", "x", "df"], function)),
    (&["x", "y", "u1"], |case| run_kind(case, &["x", "y"], rank_sum)),
    (&["baseline_json", "current_json"], sample_gate::run),
];

/// Runs a case of whichever kind it is.
pub(crate) fn run(case: Value) -> Outcome {
    let kinds: Vec<_> = KINDS.iter().filter(|(marks, _)| marks.iter().all(|mark| case.get(mark).is_some())).collect();
    match kinds[..] {
        [(_, run)] => run(case),
        [] => Err(fails("its fields are those of no statistic known to this build")),
        _ => Err(fails("its fields are those of several statistics")),
    }
}

/// Takes the inputs out of a case, computes, and compares with all that is left.
fn run_kind<I: DeserializeOwned>(case: Value, names: &[&str], compute: fn(&I) -> Answer) -> Outcome {
    let (inputs, recorded) = take_inputs(case, names)?;
    let mut got = compute(&inputs).map_err(fails)?;
    // The same value from many more digits is recorded for some only.
    got.retain(|(name, _)| *name != "y_hp" || recorded.contains_key("y_hp"));
    check_results(&recorded, &got, true)
}

/// The results, or why there are none.
type Answer = Result<Results, &'static str>;

/// The inputs of all kinds but functions; an absent one is empty, and what it gives is not what is recorded.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Inputs {
    x: Vec<f64>,
    y: Vec<f64>,
    percentile_q: Vec<f64>,
    index_x: Vec<Vec<usize>>,
    index_y: Vec<Vec<usize>>,
    p: Vec<f64>,
    /// Samples over several levels of repetition: lists in lists, as deep as there are levels.
    a: Value,
    b: Value,
    confidence: f64,
    cost_levels: Vec<f64>,
}

fn description(Inputs { x, percentile_q, .. }: &Inputs) -> Answer {
    let quantile = |percent: f64| describe::quantile(x, percent / 100.0);
    let root = |variance: Option<f64>| variance.map(f64::sqrt);
    let interval = sign_interval::of_median(x, CONFIDENCE);
    let interval = interval
        .map(|result| json!({"k": result.rank, "lo": result.low, "hi": result.high, "coverage": result.coverage}));
    let close = |value: Option<f64>| near(value, CLOSE);
    Ok(vec![
        ("n", exactly(x.len())),
        ("mean", close(describe::mean(x))),
        ("var_pop", close(describe::population_variance(x))),
        ("sd_pop", close(root(describe::population_variance(x)))),
        ("var_sample", close(describe::sample_variance(x))),
        ("sd_sample", close(root(describe::sample_variance(x)))),
        ("median", close(describe::median(x))),
        ("mad_raw", close(describe::median_deviation(x))),
        ("mad_scaled", close(describe::scaled_median_deviation(x))),
        ("iqr", close(quantile(75.0).zip(quantile(25.0)).map(|(high, low)| high - low))),
        ("min", close(quantile(0.0))),
        ("max", close(quantile(100.0))),
        ("geometric_mean", close(describe::geometric_mean(x))),
        ("trimmed_mean_10", close(describe::trimmed_mean(x, 0.1))),
        ("percentile_linear", near(percentile_q.iter().map(|percent| quantile(*percent)).collect::<Vec<_>>(), CLOSE)),
        ("median_ci95_order_stats", near(interval, CLOSE)),
    ])
}

fn differences(Inputs { x, y, .. }: &Inputs) -> Answer {
    let shift = hodges_lehmann::shift(x, y, CONFIDENCE).ok_or("there is no shift")?;
    let ratio = hodges_lehmann::ratio(x, y, CONFIDENCE).ok_or("there is no ratio")?;
    let exact = |location: &Location| {
        location.exact.map(
            |exact| json!({"k": exact.rank, "lo": exact.low, "hi": exact.high, "achieved_confidence": exact.coverage}),
        )
    };
    let normal = |location: &Location| {
        let normal = location.normal;
        json!({"k": normal.rank, "lo": normal.low, "hi": normal.high, "c": normal.unrounded_rank})
    };
    let difference = json!({
        "confidence": CONFIDENCE, "shift": shift.estimate, "exact": exact(&shift), "normal": normal(&shift),
    });
    let log_ratio = json!({"ratio": ratio.estimate, "exact": exact(&ratio), "normal": normal(&ratio)});
    Ok(vec![("difference", near(difference, CLOSE)), ("log_ratio", near(log_ratio, CLOSE))])
}

fn resampled_ratio(Inputs { x, y, index_x, index_y, .. }: &Inputs) -> Answer {
    if index_x.len() != index_y.len() {
        return Err("`index_x` and `index_y` are not of the same length");
    }
    let resamples = index_x.iter().map(Vec::as_slice).zip(index_y.iter().map(Vec::as_slice));
    let result = median_ratio::from_resamples(x, y, resamples, CONFIDENCE).ok_or("there is no ratio")?;
    Ok(vec![
        ("ratio", near(result.ratio, CLOSE)),
        ("ci95_percentile", near([result.low, result.high], CLOSE)),
        ("boot_mean", near(result.mean, CLOSE)),
        ("boot_sd_ddof1", near(result.deviation, CLOSE)),
    ])
}

fn welch_test(Inputs { x, y, .. }: &Inputs) -> Answer {
    let result = welch::test(x, y, CONFIDENCE).ok_or("there is no test")?;
    Ok(vec![
        ("t", near(result.t, WELCH)),
        ("df", near(result.freedom, WELCH)),
        ("p_two_sided", near(result.two_sided, WELCH)),
        ("p_greater", near(result.greater, WELCH)),
        ("p_less", near(result.less, WELCH)),
        ("diff_mean", near(result.difference, WELCH)),
        ("ci95", near([result.low, result.high], WELCH)),
    ])
}

fn dominance(Inputs { x, y, .. }: &Inputs) -> Answer {
    let result = Dominance::new(x, y).ok_or("there is no delta")?;
    Ok(vec![
        ("count_y_gt_x", exactly(result.above)),
        ("count_y_lt_x", exactly(result.below)),
        ("cliffs_delta", near(result.delta, DOMINANCE)),
        ("a12", near(result.superiority, DOMINANCE)),
        ("u_y", near(result.wins, DOMINANCE)),
        ("magnitude", exactly(result.magnitude())),
    ])
}

/// What levels are called, the highest first; a design names as many from the right as it has.
const LEVEL_NAMES: [&str; 3] = ["builds", "executions", "iterations"];

fn effects(Inputs { a, b, confidence, cost_levels, .. }: &Inputs) -> Answer {
    let levels = |samples: &Value| {
        let (values, shape) = nested(samples)?;
        Ok::<_, &'static str>((VarianceLevels::new(&values, &shape).ok_or("samples have no levels")?, shape.len()))
    };
    let ((old, depth), (new, _)) = (levels(a)?, levels(b)?);
    let effect = kalibera_jones::effect(&old, &new, *confidence).ok_or("there is no effect")?;
    let repetitions = old.best_repetitions(cost_levels).ok_or("`cost_levels` does not have a cost for each level")?;
    Ok(vec![
        ("design", exactly(LEVEL_NAMES[LEVEL_NAMES.len().saturating_sub(depth)..].join(" x "))),
        ("mean_a", near(old.mean, LEVELS)),
        ("mean_b", near(new.mean, LEVELS)),
        ("h_a", near(old.half_width(*confidence), LEVELS)),
        ("h_b", near(new.half_width(*confidence), LEVELS)),
        ("ratio", near(effect.ratio, LEVELS)),
        ("unbounded", exactly(effect.interval.is_none())),
        ("lo", near(effect.interval.map(|(low, _)| low), LEVELS)),
        ("hi", near(effect.interval.map(|(_, high)| high), LEVELS)),
        ("optimal_reps_a_lower_levels", exactly(repetitions)),
        ("s2_levels_a", near(old.variances, LEVELS)),
        ("s2_levels_b", near(new.variances, LEVELS)),
        ("t2_levels_a", near(old.components, LEVELS)),
        ("t2_levels_b", near(new.components, LEVELS)),
    ])
}

/// Numbers in lists of lists, in order, and how many each level of lists holds, the outermost first.
fn nested(value: &Value) -> Result<(Vec<f64>, Vec<usize>), &'static str> {
    let items = value.as_array().ok_or("samples are not in lists")?;
    if !items.iter().any(Value::is_array) {
        let numbers = items.iter().map(|item| item.as_f64().ok_or("a sample is not a number"));
        return Ok((numbers.collect::<Result<_, _>>()?, vec![items.len()]));
    }
    let (mut numbers, mut shape) = (Vec::new(), None);
    for item in items {
        let (own, own_shape) = nested(item)?;
        numbers.extend(own);
        if *shape.get_or_insert_with(|| own_shape.clone()) != own_shape {
            return Err("samples are not as deep or long everywhere");
        }
    }
    Ok((numbers, [vec![items.len()], shape.unwrap_or_default()].concat()))
}

fn line(Inputs { x, y, .. }: &Inputs) -> Answer {
    let line = rank_trend::theil_sen(x, y, CONFIDENCE).ok_or("there is no line")?;
    Ok(vec![
        ("slope", near(line.slope, CLOSE)),
        ("lo", near(line.low, CLOSE)),
        ("hi", near(line.high, CLOSE)),
        ("intercept_separate", near(line.intercept_of_medians, CLOSE)),
        ("intercept_joint", near(line.intercept_of_rests, CLOSE)),
    ])
}

fn monotonic_trend(Inputs { y, .. }: &Inputs) -> Answer {
    let trend = rank_trend::mann_kendall(y).ok_or("there is no trend")?;
    Ok(vec![
        ("s", near(trend.score as f64, CLOSE)),
        ("var_s", near(trend.variance, CLOSE)),
        ("z", near(trend.z, CLOSE)),
        ("p_two_sided", near(trend.two_sided, CLOSE)),
        ("tau_a", near(trend.tau_a, CLOSE)),
        ("kendall_tau_b", near(trend.tau_b, CLOSE)),
    ])
}

fn adjusted(Inputs { p, .. }: &Inputs) -> Answer {
    let adjusted = |adjust: fn(&[f64]) -> Option<Vec<f64>>| {
        let adjusted = adjust(p).ok_or("`p` holds a number that is not a p-value");
        adjusted.map(|adjusted| near(adjusted, P_VALUES))
    };
    Ok(vec![("bh", adjusted(benjamini_hochberg)?), ("by", adjusted(benjamini_yekutieli)?), ("holm", adjusted(holm)?)])
}

#[derive(Deserialize)]
struct Function {
    f: String,
    x: f64,
    df: Option<f64>,
}

fn function(Function { f, x, df }: &Function) -> Answer {
    let (value, tolerance) = match (f.as_str(), df) {
        ("norm_cdf", None) => (Some(normal::cdf(*x)), NORMAL),
        ("norm_ppf", None) => (normal::quantile(*x), NORMAL),
        ("t_sf", Some(freedom)) => (student::sf(*x, *freedom), STUDENT),
        ("t_ppf", Some(freedom)) => (student::quantile(*x, *freedom), STUDENT),
        _ => return Err("the function is unknown to this build, or `df` is absent or too many"),
    };
    let value = value.ok_or("the function has no value there")?;
    Ok(vec![("y", near(value, tolerance)), ("y_hp", near(value, tolerance))])
}

/// The rank-sum test: `U` exact, chances close. The fields that end in `_hp` are of a reference with sixty digits.
fn rank_sum(Inputs { x, y, .. }: &Inputs) -> Answer {
    let result = mann_whitney::test(x, y, RankMethod::Auto).ok_or("the test refuses the values")?;
    let mut pooled = [&x[..], y].concat();
    pooled.sort_unstable_by(f64::total_cmp);
    let method = match result.method {
        RankMethod::Exact => "exact",
        RankMethod::Asymptotic | RankMethod::Auto => "asymptotic",
    };
    Ok(vec![
        ("ties", exactly(pooled.windows(2).any(|pair| pair[0] == pair[1]))),
        ("method", exactly(method)),
        ("u1", exactly(result.u)),
        ("p_two_sided", near(result.two_sided, CLOSE)),
        ("p_greater", near(result.greater, CLOSE)),
        ("p_less", near(result.less, CLOSE)),
        ("p_two_sided_hp", near(result.two_sided, CLOSE)),
        ("p_greater_hp", near(result.greater, CLOSE)),
        ("p_less_hp", near(result.less, CLOSE)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A short list does not pass for a long one, and an input that cannot be read is not a result.
    #[test]
    fn inputs_that_cannot_be_read_fail() {
        let check = |case: Value, says: &str| {
            let error = run(case).expect_err("it cannot be read").to_string();
            assert!(error.contains(says), "{error}");
        };
        check(json!({"x": [1]}), "no statistic known");
        check(json!({"f": "norm_pdf", "x": 0, "y": 0.4}), "unknown to this build");
        check(json!({"f": "t_sf", "x": 0, "y": 0.5}), "`df` is absent");
        check(json!({"f": "norm_ppf", "x": 2, "y": 0.5}), "no value there");
        check(json!({"p": [2], "bh": [1], "by": [1], "holm": [1]}), "not a p-value");
        check(json!({"p": [0.5], "bh": [], "by": [0.5], "holm": [0.5]}), "expected 0 elements");
        check(json!({"x": [1], "y": [1], "slope": 1, "t": 1, "df": 1}), "several statistics");
        check(json!({"x": [1], "y": [1], "u1": 1}), "field `ties` is absent");
        assert_eq!(nested(&json!([[1, 2], [3]])), Err("samples are not as deep or long everywhere"));
        assert_eq!(nested(&json!([[1, 2], 3])), Err("samples are not in lists"));
    }
}
