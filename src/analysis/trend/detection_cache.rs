//! What was found in series before, so that one that has not changed since need not be looked at again.
//!
//! A detection depends on nothing but the values of a series and their context; a digest of all that is the name of
//! what came of it. The bytes hold numbers of eight bytes, those with a point as their bits: what is read back is what was
//! found.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::changes::context::Context;
use crate::changes::newest::Apart;
use crate::changes::sensitivity::Sensitivity;
use sprag_base::digest::Digest;
use sprag_model::change_point::{ChangePoint, Changes, Drift, Level, SeriesNoise};

/// What was found in series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DetectionCache {
    detections: BTreeMap<Digest, Detection>,
    alarms: BTreeMap<Digest, Vec<usize>>,
}

/// What was found in one of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Detection {
    pub(super) changes: Changes,
    pub(super) apart: Option<Apart>,
}

/// All that a detection hangs on.
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
        let mut words = Words::default();
        words.list(self.values, |words, value| words.number(*value));
        words.flag(self.is_exact);
        self.sensitivity.numbers().into_iter().for_each(|number| words.number(number));
        for ranges in [told, drifts] {
            words.list(ranges, |words, range: &RangeInclusive<usize>| {
                words.count(*range.start());
                words.count(*range.end());
            });
        }
        words.list(borders, |words, border| words.count(*border));
        words.list(runs, |words, runs| words.count(*runs));
        words.flag(more_is_better);
        words.flag(self.apart);
        Digest::from_parts(&[&words.0])
    }
}

impl DetectionCache {
    /// What was found where that was asked.
    pub(super) fn detection(&self, name: Digest) -> Option<&Detection> {
        self.detections.get(&name)
    }

    /// How many alarms there were, in each order, in what was left of a series when that had been found.
    pub(super) fn alarms(&self, name: Digest) -> Option<&[usize]> {
        self.alarms.get(&name).map(Vec::as_slice)
    }

    pub(super) fn new(
        detections: impl Iterator<Item = (Digest, Detection)>,
        alarms: impl Iterator<Item = (Digest, Vec<usize>)>,
    ) -> DetectionCache {
        DetectionCache { detections: detections.collect(), alarms: alarms.collect() }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut words = Words::default();
        words.count(self.detections.len());
        for (name, detection) in &self.detections {
            words.0.extend(name.0);
            words.detection(detection);
        }
        words.count(self.alarms.len());
        for (name, alarms) in &self.alarms {
            words.0.extend(name.0);
            words.list(alarms, |words, count| words.count(*count));
        }
        words.0
    }

    /// What was kept; absent where the bytes are none of ours.
    pub fn from_bytes(bytes: &[u8]) -> Option<DetectionCache> {
        let mut read = Read(bytes);
        let detections = read.list(|read| Some((read.name()?, read.detection()?)))?;
        let alarms = read.list(|read| Some((read.name()?, read.list(Read::count)?)))?;
        read.0.is_empty().then(|| DetectionCache::new(detections.into_iter(), alarms.into_iter()))
    }
}

#[derive(Default)]
struct Words(Vec<u8>);

impl Words {
    fn count(&mut self, count: usize) {
        self.0.extend((count as u64).to_le_bytes());
    }

    fn number(&mut self, number: f64) {
        self.0.extend(number.to_bits().to_le_bytes());
    }

    fn flag(&mut self, flag: bool) {
        self.count(usize::from(flag));
    }

    fn list<T>(&mut self, list: &[T], mut add: impl FnMut(&mut Words, &T)) {
        self.count(list.len());
        list.iter().for_each(|one| add(self, one));
    }

    fn level(&mut self, level: &Level) {
        let Level { value, lower, upper } = *level;
        [value, lower, upper].into_iter().for_each(|number| self.number(number));
    }

    fn detection(&mut self, detection: &Detection) {
        let Detection { changes: Changes { points, drifts, levels, noise }, apart } = detection;
        self.list(points, |words, point| {
            let ChangePoint { index, first, last, before, after, relative, score, chance, likelihoods } = point;
            [index, first, last].into_iter().for_each(|count| words.count(*count));
            [before, after, relative].into_iter().for_each(|level| words.level(level));
            [score, chance].into_iter().for_each(|number| words.number(*number));
            words.list(likelihoods, |words, one| words.number(*one));
        });
        self.list(drifts, |words, drift| {
            let Drift { begin, end, before, after, rate, chance, held } = drift;
            [begin, end].into_iter().for_each(|count| words.count(*count));
            words.level(rate);
            [before, after, chance].into_iter().for_each(|number| words.number(*number));
            words.flag(*held);
        });
        self.list(levels, Words::level);
        self.list(noise.as_slice(), |words, noise| {
            let SeriesNoise { deviation, inflation, is_relative } = *noise;
            [deviation, inflation].into_iter().for_each(|number| words.number(number));
            words.flag(is_relative);
        });
        self.list(apart.as_slice(), |words, apart| {
            let Apart { begin, runs, level, relative } = apart;
            [begin, runs].into_iter().for_each(|count| words.count(*count));
            words.level(level);
            words.number(*relative);
        });
    }
}

/// The bytes that are still to be read.
struct Read<'a>(&'a [u8]);

impl Read<'_> {
    fn name(&mut self) -> Option<Digest> {
        let (name, rest) = self.0.split_first_chunk::<32>()?;
        self.0 = rest;
        Some(Digest(*name))
    }

    fn bits(&mut self) -> Option<u64> {
        let (word, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*word))
    }

    fn count(&mut self) -> Option<usize> {
        usize::try_from(self.bits()?).ok()
    }

    fn number(&mut self) -> Option<f64> {
        Some(f64::from_bits(self.bits()?))
    }

    fn flag(&mut self) -> Option<bool> {
        Some(self.count()? == 1)
    }

    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        (0..self.count()?).map(|_| one(self)).collect()
    }

    fn level(&mut self) -> Option<Level> {
        Some(Level { value: self.number()?, lower: self.number()?, upper: self.number()? })
    }

    // The fields are read in the order in which they are written here.
    fn detection(&mut self) -> Option<Detection> {
        let points = self.list(|read| {
            Some(ChangePoint {
                index: read.count()?,
                first: read.count()?,
                last: read.count()?,
                before: read.level()?,
                after: read.level()?,
                relative: read.level()?,
                score: read.number()?,
                chance: read.number()?,
                likelihoods: read.list(Read::number)?,
            })
        })?;
        let drifts = self.list(|read| {
            Some(Drift {
                begin: read.count()?,
                end: read.count()?,
                rate: read.level()?,
                before: read.number()?,
                after: read.number()?,
                chance: read.number()?,
                held: read.flag()?,
            })
        })?;
        let levels = self.list(Read::level)?;
        let noise = self.list(|read| {
            Some(SeriesNoise { deviation: read.number()?, inflation: read.number()?, is_relative: read.flag()? })
        })?;
        let apart = self.list(|read| {
            Some(Apart { begin: read.count()?, runs: read.count()?, level: read.level()?, relative: read.number()? })
        })?;
        let changes = Changes { points, drifts, levels, noise: noise.into_iter().next() };
        Some(Detection { changes, apart: apart.into_iter().next() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn what_was_found_is_read_back_to_the_bit() {
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
    fn whatever_a_look_hangs_on_gives_it_another_name() {
        let (values, more) = ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0]);
        let (one, other) = ([1..=2], [1..=3]);
        let known = Context::default();
        let balanced = Sensitivity::BALANCED;
        let plain = Asked { values: &values, is_exact: false, sensitivity: &balanced, known: &known, apart: true };
        let of_known = |known: Context<'_>| Asked { known: &known, ..plain }.name();
        let names = [
            plain.name(),
            Asked { values: &more, ..plain }.name(),
            Asked { values: &values[..2], ..plain }.name(),
            Asked { is_exact: true, ..plain }.name(),
            Asked { apart: false, ..plain }.name(),
            Asked { sensitivity: &Sensitivity::STRICT, ..plain }.name(),
            Asked { sensitivity: &balanced.at_least(0.5), ..plain }.name(),
            of_known(Context { told: &one, ..known }),
            of_known(Context { told: &other, ..known }),
            of_known(Context { drifts: &one, ..known }),
            of_known(Context { borders: &[1], ..known }),
            of_known(Context { runs: &[1], ..known }),
            of_known(Context { more_is_better: true, ..known }),
        ];
        for (place, name) in names.iter().enumerate() {
            assert!(!names[..place].contains(name), "{place}");
        }
        assert_eq!(plain.name(), names[0]);
    }
}
