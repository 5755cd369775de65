//! Two sides of samples, section by section, by the rule `rank` as tt-metal has it.

use std::collections::{BTreeMap, BTreeSet};

use super::rules::rank::{self, RankParameters};
use sprag_model::sample_gate::{GroundTruth, RankFigures, RankOutcome, SampleMismatch, SampleSeries, Section};

/// Compares each benchmark with the one of the same name, in the order of the baseline.
///
/// # Errors
/// Where the sides do not have the same sections in the same order, the same names in each, and as many samples of
/// each. The first difference is reported, and nothing is judged.
pub fn check(
    baseline: &GroundTruth,
    current: &GroundTruth,
    parameters: &RankParameters,
) -> Result<Vec<Section<RankFigures>>, SampleMismatch> {
    let names = |side: &GroundTruth| side.sections.iter().map(|section| section.name.clone()).collect::<Vec<_>>();
    if names(baseline) != names(current) {
        return Err(SampleMismatch::Sections { baseline: names(baseline), current: names(current) });
    }
    baseline.sections.iter().zip(&current.sections).map(|(was, is)| section(was, is, parameters)).collect()
}

fn section(
    baseline: &Section<SampleSeries>,
    current: &Section<SampleSeries>,
    parameters: &RankParameters,
) -> Result<Section<RankFigures>, SampleMismatch> {
    let by_name = |section: &Section<SampleSeries>| {
        section.entries.iter().map(|(name, _)| name.clone()).collect::<BTreeSet<String>>()
    };
    let (was, is) = (by_name(baseline), by_name(current));
    if was != is {
        let [baseline_names, current_names] = [was, is].map(|names| names.into_iter().collect());
        let section = baseline.name.clone();
        return Err(SampleMismatch::Entries { section, baseline: baseline_names, current: current_names });
    }
    let now: BTreeMap<&str, &SampleSeries> =
        current.entries.iter().map(|(name, series)| (name.as_str(), series)).collect();
    let mut entries = Vec::with_capacity(baseline.entries.len());
    for (name, was) in &baseline.entries {
        let is = now[name.as_str()];
        if was.samples.len() != is.samples.len() {
            return Err(SampleMismatch::Counts {
                section: baseline.name.clone(),
                entry: name.clone(),
                baseline: was.samples.len(),
                current: is.samples.len(),
            });
        }
        let figures = rank::figures(&was.samples, &is.samples, parameters);
        // The original's test refuses them; before a median of zero it is not reached.
        let is_tested = figures.outcome != RankOutcome::ZeroBase;
        if is_tested && (was.has_long || is.has_long) {
            return Err(SampleMismatch::Long);
        }
        entries.push((name.clone(), figures));
    }
    Ok(Section { name: baseline.name.clone(), entries })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sections of names with as many samples as the number says.
    fn side(sections: &[(&str, &[(&str, usize)])]) -> GroundTruth {
        let series = |count: usize| SampleSeries { samples: vec![1.0; count], has_long: false };
        let section = |(name, entries): &(&str, &[(&str, usize)])| Section {
            name: (*name).to_owned(),
            entries: entries.iter().map(|(name, count)| ((*name).to_owned(), series(*count))).collect(),
        };
        GroundTruth { sections: sections.iter().map(section).collect() }
    }

    #[test]
    fn sides_must_match_to_the_last_sample() {
        let parameters = RankParameters { noise_threshold_percent: 1.0, significance: 0.05, mad_multiplier: 3.0 };
        let base = side(&[("p", &[("x", 2), ("y", 3)]), ("q", &[("x", 1)])]);
        let fault = |current: GroundTruth| check(&base, &current, &parameters).err();
        assert_eq!(fault(base.clone()), None);
        assert_eq!(fault(side(&[("p", &[("y", 3), ("x", 2)]), ("q", &[("x", 1)])])), None);
        let turned = fault(side(&[("q", &[("x", 1)]), ("p", &[("x", 2), ("y", 3)])]));
        assert!(matches!(turned, Some(SampleMismatch::Sections { current, .. }) if current == ["q", "p"]));
        let renamed = fault(side(&[("p", &[("x", 2), ("z", 3)]), ("q", &[("x", 1)])]));
        assert!(matches!(renamed, Some(SampleMismatch::Entries { current, .. }) if current == ["x", "z"]));
        let fewer = fault(side(&[("p", &[("x", 2), ("y", 2)]), ("q", &[("x", 1)])]));
        assert!(matches!(fewer, Some(SampleMismatch::Counts { baseline: 3, current: 2, .. })));
        let mut long = base.clone();
        long.sections[1].entries[0].1.has_long = true;
        assert_eq!(fault(long), Some(SampleMismatch::Long));
    }
}
