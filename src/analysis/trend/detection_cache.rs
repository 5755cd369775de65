//! What was detected before, by a digest of all that it follows from: a commit that one suite measured leaves the points of all
//! other suites as they were.

use super::common::RunNoise;
use super::memo::Memo;
use super::series_changes::Detection;

/// Of one history. What an analysis does not ask for is dropped by the next that finds something new.
#[derive(Default)]
pub struct DetectionCache {
    /// Without their points and values.
    pub(super) detections: Memo<Detection>,
    /// By suite, machine and metric.
    pub(super) common: Memo<RunNoise>,
}

impl DetectionCache {
    /// Empty where the bytes cannot be read.
    pub fn from_bytes(bytes: &[u8]) -> DetectionCache {
        let (detections, common) = rmp_serde::from_slice(bytes).unwrap_or_default();
        DetectionCache { detections: Memo::new(detections), common: Memo::new(common) }
    }

    /// Nothing where all that was asked for was there before.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let has_news = self.detections.has_news() || self.common.has_news();
        let bytes = || rmp_serde::to_vec(&(&*self.detections.used(), &*self.common.used()));
        has_news.then(|| bytes().expect("plain values can be written"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trend::analyse::analyse;
    use crate::trend::example::{analysis, input, noisy};
    use crate::trend::outline::Input;
    use sprag_model::Series;

    #[test]
    fn an_analysis_gives_the_same_from_the_cache() {
        let of = |seed: u64| -> Vec<Series> {
            let one = |number: u64| noisy(&format!("s{number}"), 200, 1, &[(0, 1.0), (120, 1.2)], seed + number);
            (0..10).map(one).collect()
        };
        let analysed = |series: &[Series], cache: &DetectionCache| {
            format!("{:?}", analyse(Input { cache, ..input(&analysis(series.to_vec())) }).trend)
        };
        let (series, first) = (of(7), DetectionCache::default());
        let expected = analysed(&series, &first);
        let bytes = first.to_bytes().expect("all is new");
        let repeated = DetectionCache::from_bytes(&bytes);
        assert_eq!(analysed(&series, &repeated), expected);
        assert_eq!(repeated.to_bytes(), None);
        // The newest point of one series, and all of all.
        let mut more = series.clone();
        more[3].points.last_mut().expect("points").value *= 1.0001;
        for changed in [more, of(8)] {
            let cache = DetectionCache::from_bytes(&bytes);
            assert_eq!(analysed(&changed, &cache), analysed(&changed, &DetectionCache::default()));
            assert!(cache.to_bytes().is_some());
        }
        assert_eq!(analysed(&series, &DetectionCache::from_bytes(&bytes[1..])), expected);
    }
}
