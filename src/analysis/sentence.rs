//! What a series shows, in one sentence that page, chart and Markdown share.

use sprag_base::number::percent;
use sprag_model::metric::RATIO;
use sprag_model::{Better, Comparison, LatestRow, Role, Series, Unit, Verdict};

/// Changes below this are called none: the third digit is beyond what any run here resolves.
const SMALLEST_SAID: f64 = 0.0005;

/// The newest value, its change against baseline and previous run, and what the series depends on.
pub(super) fn for_series(series: &Series, latest: &LatestRow, comparison: Option<&Comparison>) -> String {
    let Some(newest) = series.newest() else {
        return "No run has measured this series.".to_owned();
    };
    let scale = series.metric.unit.scale(newest.value);
    let mut text = scale.text(newest.value);
    let sha = newest.commit.get(..7).unwrap_or_default();
    if !sha.is_empty() {
        text.push_str(&format!(" at {sha}"));
    }
    text.push_str(&format!(" on {}", newest.time.format("%-d %B %Y")));
    match comparison.map(|one| (&one.verdict, one.baseline)) {
        Some((Verdict::NotComparable(reason), _)) => {
            text.push_str(&format!(", not comparable with the baseline ({reason})"));
        }
        Some((verdict, Some(baseline))) => {
            let change = change_words(newest.value / baseline - 1.0, series);
            text.push_str(&format!(", {change} the baseline of {}", scale.text(baseline)));
            text.push_str(match verdict {
                Verdict::Regressed | Verdict::Improved => ", beyond the tolerance",
                _ => ", within the tolerance",
            });
        }
        _ => {}
    }
    if let Some(change) = latest.change_previous {
        text.push_str(&format!("; {} the run before", change_words(change, series)));
    }
    let runs = series.points.len();
    let since = series.points.first().map(|point| point.time.format("%-d %B %Y").to_string()).unwrap_or_default();
    text.push_str(&match runs {
        1 => "; the only run so far.".to_owned(),
        _ => format!("; {runs} runs since {since}."),
    });
    text
}

fn change_words(change: f64, series: &Series) -> String {
    let metric = &series.metric;
    if change.abs() < SMALLEST_SAID {
        return "the same as".to_owned();
    }
    let size = percent(change.abs(), 1);
    // A kernel against itself is not quicker for a ratio below 1.
    if series.role == Role::Control && metric.name == RATIO {
        return format!("{size} {}", if change > 0.0 { "above" } else { "below" });
    }
    let is_speed = matches!(metric.unit, Unit::Second | Unit::PerSecond) || metric.name == RATIO;
    let word = match ((change > 0.0) == (metric.better == Better::Lower), is_speed) {
        (true, true) => "slower than",
        (true, false) => "worse than",
        (false, true) => "faster than",
        (false, false) => "better than",
    };
    format!("{size} {word}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rollup;
    use crate::trend::example::{self, point};
    use sprag_model::Metric;

    /// One value a day from 1 November 2026 on.
    fn series(metric: Metric, values: &[f64]) -> Series {
        let point = |(day, value): (usize, &f64)| {
            let time = format!("2026-11-{:02}T04:00:00Z", day + 1).parse().expect("a day of November");
            point(day, *value).of_run(|run| run.time = time)
        };
        Series { metric, points: values.iter().enumerate().map(point).collect(), ..example::series("x", &[]) }
    }

    fn sentence(metric: Metric, values: &[f64], baseline: Option<f64>, verdict: Verdict) -> String {
        let series = series(metric, values);
        let latest = rollup::latest(&series, []).expect("there is a value");
        let current = Some(latest.current);
        let comparison = Comparison {
            baseline,
            current,
            ..Comparison::bare("cpu/x @fast", series.metric.clone(), "tolerance", verdict)
        };
        for_series(&series, &latest, Some(&comparison))
    }

    #[test]
    fn a_series_speaks_in_one_sentence() {
        let check = |metric: Metric, values: &[f64], baseline, verdict, expected: &str| {
            assert_eq!(sentence(metric, values, baseline, verdict), expected);
        };
        check(
            Metric::time(),
            &[1.2e-3],
            None,
            Verdict::NoBaseline,
            "1.200 ms at 0000000 on 1 November 2026; the only run so far.",
        );
        check(
            Metric::time(),
            &[1.2e-3, 1.2e-3, 1.5e-3],
            Some(1.2e-3),
            Verdict::Regressed,
            "1.500 ms at 0000000 on 3 November 2026, 25.0 % slower than the baseline of 1.200 ms, beyond the \
             tolerance; 25.0 % slower than the run before; 3 runs since 1 November 2026.",
        );
        check(
            Metric::throughput("tiles_per_s"),
            &[1e6, 1e6],
            Some(0.5e6),
            Verdict::Improved,
            "1.000 M/s at 0000000 on 2 November 2026, 100.0 % faster than the baseline of 0.5000 M/s, beyond \
             the tolerance; the same as the run before; 2 runs since 1 November 2026.",
        );
        check(
            Metric::time(),
            &[1.0],
            Some(1.0),
            Verdict::NotComparable("compiler 1 → 2".into()),
            "1.000 s at 0000000 on 1 November 2026, not comparable with the baseline (compiler 1 → 2); the only run \
             so far.",
        );
    }

    #[test]
    fn the_ratio_of_a_kernel_to_itself_is_neither_faster_nor_slower() {
        let check = |role: Role, metric: Metric, change: f64, expected: &str| {
            let series = Series { role, ..series(metric, &[1.0]) };
            assert_eq!(change_words(change, &series), expected);
        };
        check(Role::Control, Metric::ratio(), 0.02, "2.0 % above");
        check(Role::Control, Metric::ratio(), -0.02, "2.0 % below");
        check(Role::Control, Metric::ratio(), 0.0, "the same as");
        check(Role::Control, Metric::time(), 0.02, "2.0 % slower than");
        check(Role::Tracked, Metric::ratio(), 0.02, "2.0 % slower than");
    }
}
