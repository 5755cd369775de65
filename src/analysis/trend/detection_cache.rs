//! What was found in series before, so that a series that has not changed since need not be analysed again.
//!
//! A detection depends on nothing but the values of a series and their context; a digest of all that is its name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::changes::context::Context;
use crate::changes::newest::Apart;
use crate::changes::sensitivity::Sensitivity;
use sprag_base::digest::Digest;
use sprag_model::change_point::Changes;

/// What was found in series, and how many alarms each order of what was left of a series gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DetectionCache {
    detections: BTreeMap<Digest, Detection>,
    alarms: BTreeMap<Digest, Vec<usize>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Detection {
    pub(super) changes: Changes,
    pub(super) apart: Option<Apart>,
}

/// All that a detection depends on.
pub(super) struct Asked<'a> {
    pub(super) values: &'a [f64],
    pub(super) is_exact: bool,
    pub(super) sensitivity: &'a Sensitivity,
    pub(super) known: &'a Context<'a>,
    /// Whether newest points that lie apart are looked for.
    pub(super) apart: bool,
}

impl Asked<'_> {
    pub(super) fn name(&self) -> Digest {
        let Context { told, drifts, borders, more_is_better, runs } = *self.known;
        let context = (told, drifts, borders, more_is_better, runs);
        let asked = (self.values, self.is_exact, self.sensitivity.numbers(), context, self.apart);
        Digest::from_parts(&[&bytes(&asked)])
    }
}

impl DetectionCache {
    pub(super) fn detection(&self, name: Digest) -> Option<&Detection> {
        self.detections.get(&name)
    }

    pub(super) fn alarms(&self, name: Digest) -> Option<&[usize]> {
        self.alarms.get(&name).map(Vec::as_slice)
    }

    pub(super) fn new(
        detections: impl Iterator<Item = (Digest, Detection)>,
        alarms: impl Iterator<Item = (Digest, Vec<usize>)>,
    ) -> DetectionCache {
        DetectionCache { detections: detections.collect(), alarms: alarms.collect() }
    }

    /// The cache as MessagePack, in which numbers keep all their bits.
    pub fn to_bytes(&self) -> Vec<u8> {
        bytes(self)
    }

    /// Reads what [`DetectionCache::to_bytes`] wrote; absent for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<DetectionCache> {
        rmp_serde::from_slice(bytes).ok()
    }
}

fn bytes(value: &impl Serialize) -> Vec<u8> {
    rmp_serde::to_vec(value).expect("plain values can be written")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::change_point::{ChangePoint, Drift, Level, SeriesNoise};

    fn detection(number: f64) -> Detection {
        let level = Level { value: number, lower: -0.0, upper: f64::INFINITY };
        let point = ChangePoint {
            index: 5,
            first: 4,
            last: 6,
            before: level,
            after: level,
            relative: level,
            score: f64::MAX,
            chance: 1e-300,
            likelihoods: vec![0.25, 1.0, number],
        };
        let drift = Drift { begin: 1, end: 9, before: 1.0, after: 2.0, rate: level, chance: 0.5, held: number > 1.0 };
        let noise = SeriesNoise { deviation: 0.01, inflation: 1.5, is_relative: true };
        let changes = Changes {
            points: vec![point.clone(), point],
            drifts: vec![drift],
            levels: vec![level; 3],
            noise: Some(noise),
        };
        Detection { changes, apart: Some(Apart { begin: 7, runs: 2, level, relative: number }) }
    }

    fn name(text: &str) -> Digest {
        Digest::from_parts(&[text.as_bytes()])
    }

    #[test]
    fn detections_read_back_to_the_bit() {
        let detections =
            [(name("a"), detection(1.25)), (name("b"), detection(0.1 + 0.2)), (name("c"), Detection::default())];
        let alarms = [(name("d"), vec![0, 3, 1])];
        let memory = DetectionCache::new(detections.into_iter(), alarms.into_iter());
        let bytes = memory.to_bytes();
        assert_eq!(DetectionCache::from_bytes(&bytes), Some(memory));
        // What is no number equals nothing, not even itself.
        let strange =
            DetectionCache::new([(name("a"), detection(f64::NAN))].into_iter(), std::iter::empty()).to_bytes();
        assert_eq!(DetectionCache::from_bytes(&strange).map(|memory| memory.to_bytes()), Some(strange));
        assert_eq!(DetectionCache::from_bytes(&DetectionCache::default().to_bytes()), Some(DetectionCache::default()));
        assert!((0..bytes.len()).all(|length| DetectionCache::from_bytes(&bytes[..length]).is_none()));
    }

    #[test]
    fn each_input_of_a_detection_changes_its_name() {
        let (values, more) = ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0]);
        let (one, other) = ([1..=2], [1..=3]);
        let known = Context::default();
        let balanced = Sensitivity::BALANCED;
        let plain = Asked { values: &values, is_exact: false, sensitivity: &balanced, known: &known, apart: true };
        let in_context = |known: Context<'_>| Asked { known: &known, ..plain }.name();
        let names = [
            plain.name(),
            Asked { values: &more, ..plain }.name(),
            Asked { values: &values[..2], ..plain }.name(),
            Asked { is_exact: true, ..plain }.name(),
            Asked { apart: false, ..plain }.name(),
            Asked { sensitivity: &Sensitivity::STRICT, ..plain }.name(),
            Asked { sensitivity: &balanced.at_least(0.5), ..plain }.name(),
            in_context(Context { told: &one, ..known }),
            in_context(Context { told: &other, ..known }),
            in_context(Context { drifts: &one, ..known }),
            in_context(Context { borders: &[1], ..known }),
            in_context(Context { runs: &[1], ..known }),
            in_context(Context { more_is_better: true, ..known }),
        ];
        for (place, name) in names.iter().enumerate() {
            assert!(!names[..place].contains(name), "{place}");
        }
        assert_eq!(plain.name(), names[0]);
    }
}
