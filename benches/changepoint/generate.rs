//! Histories of benchmarks with known changes: families of series that show how well change points are distinguished
//! from noise.
//!
//! A value is `base * (level + noise * deviate)`. The level is 1 and then follows its steps and ramps; the deviate is one
//! of the family, mostly of variance 1. Everything follows from the seed.

use sprag_base::stats::random::SplitMix64;

/// A change that was planted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Planted {
    /// The first point of the new level.
    pub(crate) index: usize,
    /// The new level over the one before it, less 1.
    pub(crate) relative: f64,
    /// Signal to noise: `|delta| / sigma * sqrt(n1 n2 / (n1 + n2))`, with at most 100 points to either side.
    pub(crate) clearness: f64,
}

/// A series with its truth.
#[derive(Clone, Debug)]
pub(crate) struct Labelled {
    pub(crate) family: String,
    pub(crate) values: Vec<f64>,
    pub(crate) changes: Vec<Planted>,
    /// Ramps without a first commit, first point and end.
    pub(crate) drifts: Vec<(usize, usize)>,
}

impl Labelled {
    pub(crate) fn is_null(&self) -> bool {
        self.changes.is_empty() && self.drifts.is_empty()
    }
}

/// The families whose noise is what matters; a series of them has one step or none.
pub(crate) const NOISES: [&str; 8] =
    ["gaussian", "lognormal", "skew_outliers", "bimodal", "ar1", "hetero", "quantised", "spikes"];

/// The families whose change is what matters.
pub(crate) const SHAPES: [&str; 6] = ["drift", "drift_step", "multi", "revert", "tail", "machine"];

const LENGTHS: [usize; 4] = [30, 100, 365, 1000];
const SIZES: [f64; 5] = [0.01, 0.02, 0.05, 0.10, 0.25];
const DEVIATIONS: [f64; 4] = [0.005, 0.01, 0.02, 0.05];

/// A series of a family without any change.
pub(crate) fn null(family: &str, length: usize, seed: u64) -> Labelled {
    let mut random = SplitMix64::new(seed);
    let noise = pick(&mut random, &DEVIATIONS);
    finish(family, family, vec![1.0; length], noise, Vec::new(), Vec::new(), &mut random)
}

/// A series of a family, with changes or, where the family has such, without.
pub(crate) fn any(family: &str, seed: u64) -> Labelled {
    let mut random = SplitMix64::new(seed);
    let length = pick_length(&mut random);
    let noise = pick(&mut random, &DEVIATIONS);
    if NOISES.contains(&family) {
        let is_null = family == "spikes" || random.uniform() < 0.45;
        let mut level = vec![1.0; length];
        let mut truth = Vec::new();
        if !is_null {
            let size = visible(&mut random, noise, 1.5);
            let at = 6 + random.below(length - 11);
            step(&mut level, at, size, &mut truth);
        }
        return finish(family, family, level, noise, truth, Vec::new(), &mut random);
    }
    shaped(family, length, noise, &mut random)
}

/// A climb of 10 to 50 deviations over a series of 100 points or more: straight, bent or broken, without any step.
pub(crate) fn climb(seed: u64) -> Labelled {
    let mut random = SplitMix64::new(seed);
    let length = pick_length(&mut random).max(100);
    let noise = pick(&mut random, &DEVIATIONS[..3]);
    let total = noise * (10.0 + 40.0 * random.uniform());
    let course: fn(f64) -> f64 = [
        (|share| share) as fn(f64) -> f64,
        |share| share * share,
        f64::sqrt,
        |share| 1.0 / (1.0 + (-10.0 * (share - 0.5)).exp()),
        |share| if share < 0.5 { 0.3 * share } else { 0.15 + 1.7 * (share - 0.5) },
    ][random.below(5)];
    let falls = random.uniform() < 0.5;
    let level = |at: usize| {
        let risen = 1.0 + total * course(at as f64 / (length - 1) as f64);
        if falls { 1.0 / risen } else { risen }
    };
    let level = (0..length).map(level).collect();
    finish("climb", "gaussian", level, noise, Vec::new(), vec![(0, length)], &mut random)
}

fn shaped(family: &str, length: usize, noise: f64, random: &mut SplitMix64) -> Labelled {
    let (mut truth, mut drifts) = (Vec::new(), Vec::new());
    let length = if family == "multi" { length.max(100) } else { length };
    let mut level = vec![1.0; length];
    let mut inner = ["gaussian", "gaussian", "lognormal", "t3"][random.below(4)];
    match family {
        "drift" | "drift_step" => {
            let begin = random.below(length / 3);
            let end = length - random.below(length / 3);
            let total = noise * (2.0 + 4.0 * random.uniform()) * sign(random);
            for (at, level) in level.iter_mut().enumerate() {
                let share = ((at as f64 - begin as f64) / (end - begin) as f64).clamp(0.0, 1.0);
                *level *= 1.0 + total * share;
            }
            drifts.push((begin, end));
            if family == "drift" {
                inner = "gaussian";
            } else {
                let size = visible(random, noise, 2.0);
                let at = 6 + random.below(length - 11);
                step(&mut level, at, size, &mut truth);
            }
        }
        "multi" => {
            let count = 2 + random.below(6).min(length / 20);
            let mut places: Vec<usize> = Vec::new();
            for _ in 0..200 {
                let at = 12 + random.below(length - 24);
                if places.len() < count && places.iter().all(|place| place.abs_diff(at) >= 12) {
                    places.push(at);
                }
            }
            places.sort_unstable();
            let mut last: Option<f64> = None;
            for at in places {
                let size = match last {
                    Some(last) if random.uniform() < 0.3 => 1.0 / (1.0 + last) - 1.0,
                    _ => visible(random, noise, 1.0),
                };
                last = Some(size);
                step(&mut level, at, size, &mut truth);
            }
        }
        "revert" => {
            let size = visible(random, noise, 4.0);
            let (at, span) = (6 + random.below(length - 14), 2 + random.below(2));
            step(&mut level, at, size, &mut truth);
            step(&mut level, at + span, 1.0 / (1.0 + size) - 1.0, &mut truth);
        }
        "tail" => {
            if random.uniform() >= 0.25 {
                if random.uniform() < 0.3 {
                    let size = visible(random, noise, 2.0);
                    step(&mut level, 6 + random.below(length - 17), size, &mut truth);
                }
                let size = visible(random, noise, 4.0);
                let span = if random.uniform() < 0.5 { 3 } else { 5 };
                step(&mut level, length - span, size, &mut truth);
            }
        }
        _ => {
            let size = noise * (5.0 + 25.0 * random.uniform()) * sign(random);
            step(&mut level, 6 + random.below(length - 11), size, &mut truth);
        }
    }
    finish(family, inner, level, noise, truth, drifts, random)
}

fn finish(
    family: &str,
    noises: &str,
    level: Vec<f64>,
    noise: f64,
    truth: Vec<(usize, f64, f64)>,
    drifts: Vec<(usize, usize)>,
    random: &mut SplitMix64,
) -> Labelled {
    let length = level.len();
    let base = 10_f64.powf(6.0 * random.uniform());
    let deviates = deviates(noises, length, random);
    let mut values: Vec<f64> =
        level.iter().zip(deviates).map(|(level, deviate)| base * (level + noise * deviate).max(0.01)).collect();
    if noises == "quantised" {
        let tick = base * noise * (0.5 + 3.5 * random.uniform());
        for value in &mut values {
            *value = ((*value / tick).round() * tick).max(tick);
        }
    }
    let bounds: Vec<usize> = truth.iter().map(|one| one.0).collect();
    let clearness = |place: usize, delta: f64| {
        let before = bounds[place] - place.checked_sub(1).map_or(0, |last| bounds[last]);
        let after = bounds.get(place + 1).unwrap_or(&length) - bounds[place];
        let (before, after) = (before.min(100) as f64, after.min(100) as f64);
        delta.abs() / noise * (before * after / (before + after)).sqrt()
    };
    let planted = |(place, &(index, relative, delta)): (usize, &(usize, f64, f64))| Planted {
        index,
        relative,
        clearness: clearness(place, delta),
    };
    Labelled { family: family.to_owned(), changes: truth.iter().enumerate().map(planted).collect(), values, drifts }
}

/// Deviates of a family, of variance 1 but for outliers and regimes.
fn deviates(family: &str, length: usize, random: &mut SplitMix64) -> Vec<f64> {
    let normal = |count: usize, random: &mut SplitMix64| -> Vec<f64> { (0..count).map(|_| random.normal()).collect() };
    match family {
        "lognormal" => {
            let shape = 0.3 + 0.6 * random.uniform();
            let square: f64 = shape * shape;
            let (mean, deviation) = ((square / 2.0).exp(), ((square.exp() - 1.0) * square.exp()).sqrt());
            normal(length, random).iter().map(|z| ((shape * z).exp() - mean) / deviation).collect()
        }
        "skew_outliers" => {
            let (shape, rate) = (1.0 + 3.0 * random.uniform(), 0.01 + 0.04 * random.uniform());
            (0..length)
                .map(|_| {
                    let plain = (gamma(shape, random) - shape) / shape.sqrt();
                    if random.uniform() < rate { plain + 5.0 + 15.0 * random.uniform() } else { plain }
                })
                .collect()
        }
        "bimodal" => {
            let (gap, share) = (3.0 + 4.0 * random.uniform(), 0.2 + 0.3 * random.uniform());
            let deviation = (1.0 + gap * gap * share * (1.0 - share)).sqrt();
            (0..length)
                .map(|_| {
                    let mode = if random.uniform() < share { gap } else { 0.0 };
                    (random.normal() + mode - gap * share) / deviation
                })
                .collect()
        }
        "ar1" => {
            let rho = 0.3 + 0.1 * random.below(6) as f64;
            let mut last = random.normal();
            (0..length)
                .map(|_| {
                    last = rho * last + (1.0 - rho * rho).sqrt() * random.normal();
                    last
                })
                .collect()
        }
        "hetero" => {
            let waves = random.uniform() < 0.5;
            let (period, phase) = (60.0 + 80.0 * random.uniform(), random.uniform());
            let mut at: Vec<f64> = (0..1 + random.below(3)).map(|_| 0.1 + 0.8 * random.uniform()).collect();
            at.sort_by(f64::total_cmp);
            let regimes: Vec<f64> = (0..at.len()).map(|_| [0.3, 0.5, 2.0, 3.0][random.below(4)]).collect();
            (0..length)
                .map(|index| {
                    let place = index as f64 / length as f64;
                    let regime = at.iter().zip(&regimes).filter(|(at, _)| **at <= place).map(|(_, sd)| *sd).next_back();
                    let wave = 1.0 + 0.7 * (std::f64::consts::TAU * (index as f64 / period + phase)).sin();
                    random.normal() * if waves { wave } else { regime.unwrap_or(1.0) }
                })
                .collect()
        }
        "spikes" => {
            let rate = 0.01 + 0.02 * random.uniform();
            (0..length)
                .map(|_| {
                    let plain = random.normal();
                    if random.uniform() < rate { plain + 10.0 + 40.0 * random.uniform() } else { plain }
                })
                .collect()
        }
        "t3" => (0..length)
            .map(|_| {
                let squares: f64 = normal(3, random).iter().map(|z| z * z).sum();
                random.normal() / (squares / 3.0).sqrt() / 3_f64.sqrt()
            })
            .collect(),
        _ => normal(length, random),
    }
}

/// Marsaglia and Tsang, "A simple method for generating gamma variables", 2000; for shapes of 1 or more.
fn gamma(shape: f64, random: &mut SplitMix64) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let z = random.normal();
        let v = (1.0 + c * z).powi(3);
        if v > 0.0 && random.uniform().ln() < 0.5 * z * z + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}

/// A size of a step, up or down, that is `least` times the noise or more where there is one.
fn visible(random: &mut SplitMix64, noise: f64, least: f64) -> f64 {
    let sizes: Vec<f64> = SIZES.iter().copied().filter(|size| *size >= least * noise).collect();
    let size = if sizes.is_empty() { SIZES[4] } else { sizes[random.below(sizes.len())] };
    size * sign(random)
}

fn step(level: &mut [f64], at: usize, relative: f64, truth: &mut Vec<(usize, f64, f64)>) {
    truth.push((at, relative, level[at - 1] * relative));
    level[at..].iter_mut().for_each(|level| *level *= 1.0 + relative);
}

fn sign(random: &mut SplitMix64) -> f64 {
    if random.uniform() < 0.5 { 1.0 } else { -1.0 }
}

fn pick(random: &mut SplitMix64, from: &[f64]) -> f64 {
    from[random.below(from.len())]
}

/// Lengths as often as projects have them: a third 100 or 365 points, a quarter 30, a tenth 1,000.
fn pick_length(random: &mut SplitMix64) -> usize {
    match random.uniform() {
        share if share < 0.25 => LENGTHS[0],
        share if share < 0.58 => LENGTHS[1],
        share if share < 0.90 => LENGTHS[2],
        _ => LENGTHS[3],
    }
}
