//! The samples of a subsection, one list a process: where they are, what they say of a side, and why they say nothing.

use super::PerformanceData;
use sprag_base::stats::{bootstrap, describe, sign_interval};
use sprag_model::evidence::Side;

/// How often the interval of a side is to hold its median.
const CONFIDENCE: f64 = 0.95;

/// Section and subsection of all that any of the data has, no name twice.
pub(crate) fn names(data: &[PerformanceData]) -> Vec<(&str, &str)> {
    let mut names: Vec<(&str, &str)> = Vec::new();
    for (section, subsection, _) in data.iter().flat_map(PerformanceData::entries) {
        if !names.contains(&(section, subsection)) {
            names.push((section, subsection));
        }
    }
    names
}

/// The samples of a subsection, one list a process.
pub(crate) fn lists<'d>(data: &'d [PerformanceData], section: &str, subsection: &str) -> Vec<Option<&'d [f64]>> {
    data.iter().map(|one| one.samples(section, subsection)).collect()
}

/// What is known of one side, of the lists of its processes.
pub(crate) fn side(lists: &[&[f64]]) -> Option<Side> {
    let medians: Vec<f64> = lists.iter().filter_map(|list| describe::median(list)).collect();
    let interval = match lists {
        [samples] => sign_interval::of_median(samples, CONFIDENCE).map(|found| (found.low, found.high)),
        _ => bootstrap::median_interval(&medians),
    };
    Some(Side { value: describe::median(&medians)?, interval, sessions: 1, samples: lists.concat() })
}

/// The number of one side, of those of its processes that have samples.
pub(crate) fn value(lists: &[Option<&[f64]>]) -> Option<f64> {
    side(&lists.iter().copied().flatten().collect::<Vec<_>>()).map(|side| side.value)
}

/// Why no share can be taken of the samples of either side, whatever the rule.
pub(crate) fn refusal(baseline: &[Option<&[f64]>], current: &[Option<&[f64]>]) -> Option<String> {
    let of_side = |lists: &[Option<&[f64]>], side: &str| {
        lists.iter().enumerate().find_map(|(process, samples)| {
            let samples = (*samples)?;
            let place = samples.iter().position(|sample| !(sample.is_finite() && *sample > 0.0))?;
            let process = if lists.len() > 1 { format!(" in process {}", process + 1) } else { String::new() };
            let sample = samples[place];
            Some(format!("sample {} of {side}{process} is {sample}, where more than zero is needed", place + 1))
        })
    };
    of_side(baseline, "the baseline").or_else(|| of_side(current, "the current run"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sample_without_a_share_is_named() {
        let check = |baseline: &[Option<&[f64]>], current: &[Option<&[f64]>], expected: Option<&str>| {
            assert_eq!(refusal(baseline, current).as_deref(), expected, "{baseline:?} {current:?}");
        };
        let fine: &[f64] = &[1.0, 1e-300];
        check(&[Some(fine)], &[Some(fine), None], None);
        check(&[], &[None], None);
        let told = "sample 2 of the baseline is 0, where more than zero is needed";
        check(&[Some(&[1.0, 0.0])], &[Some(&[-1.0])], Some(told));
        let told = "sample 1 of the current run in process 2 is -1, where more than zero is needed";
        check(&[None], &[Some(fine), Some(&[-1.0])], Some(told));
        check(&[Some(&[f64::NAN])], &[], Some("sample 1 of the baseline is NaN, where more than zero is needed"));
        let told = "sample 1 of the current run is inf, where more than zero is needed";
        check(&[Some(fine)], &[Some(&[f64::INFINITY])], Some(told));
    }
}
