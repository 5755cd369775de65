//! The small inference model that the CPU suite times end to end: pool, choose tiles, scan, modulate, merge.
//!
//! For an image `[1,C,H,W]` whose sides are multiples of 128:
//! 1. `pv16` and `ff8` are its mean pools over 16 by 16 and 8 by 8 pixels.
//! 2. `ff8` is cut into tiles of 16; the signal of a tile is its population variance plus its mean absolute value over
//!    all channels. A hysteresis mask of the signals is carried from call to call.
//! 3. The signals are the utilities of a greedy choice with cost 1, budget 16, at most 32 tiles.
//! 4. The chosen tiles, or tile 0 if there is none, are packed in Hilbert order. A token is the mean of a tile in one
//!    channel; tokens are scanned with `s = a s + (1-a) x`, a = 0.85, from zero, giving `m`. A tile becomes
//!    `tile * (1 + tanh(m)) + m`, and the tiles are unpacked over `ff8`.
//! 5. The score is the largest value of that, clamped to [0, 1].
//!
//! Means and variances are summed in `f64` and rounded to `f32` once; everything else is `f32`.
//!
//! The fast form gives the same bits. A sum of numbers whose magnitudes are alike is exact in `f64` and so does not depend
//! on its order (`Span`); other sums are computed in the order of the reference.

use crate::ordering::{OrderMode, order};
use crate::selection::{Candidates, Thresholds, select, update};
use crate::shape::{Grid, MapShape, check_length};
use crate::tile::unpack_priority::{self, PriorityRule};
use crate::tile::{Overlap, Placement, Tiles, pack};
use crate::wide::{self, Width, Work};
use crate::{Form, KernelError};

/// Pixels of a side of a pooled pixel of `pv16`, and of `ff8`.
const COARSE_POOL: usize = 16;
const FINE_POOL: usize = 8;
/// Side of a tile of `ff8`.
const TILE_SIZE: usize = 16;
/// The default budget: the sum of the costs of the chosen tiles, which are one each.
pub const BUDGET: f64 = 16.0;
const KMAX: usize = 32;
const DECAY: f32 = 0.85;
const THRESHOLDS: Thresholds = Thresholds { theta_on: 0.6, theta_off: 0.45, max_active: KMAX };

#[derive(Clone, Debug, Default, PartialEq)]
pub struct InferFrame {
    pub signals: Vec<f32>,
    /// Best first.
    pub selected_tiles: Vec<u32>,
    pub spent_budget: f64,
    /// After this call.
    pub hysteresis_mask: Vec<bool>,
    /// `[C,H/16,W/16]`.
    pub pv16: Vec<f32>,
    /// `[C,H/8,W/8]`.
    pub ff8: Vec<f32>,
    /// `ff8` with the modulated tiles, `[C,H/8,W/8]`.
    pub merged: Vec<f32>,
    /// After the last tile, `[C]`.
    pub ssm_state: Vec<f32>,
    /// Clamped to [0, 1].
    pub det_score: f32,
}

/// The size of the images, the mask carried between them, and working memory.
#[derive(Clone, Debug)]
pub struct Model {
    image: MapShape,
    features: MapShape,
    grid: Grid,
    budget: f64,
    frame: InferFrame,
    ordered: Vec<u32>,
    packed: Vec<f32>,
    priority_map: Vec<i8>,
}

impl Model {
    pub fn new(image: MapShape) -> Result<Self, KernelError> {
        Model::with_budget(image, BUDGET)
    }

    pub fn with_budget(image: MapShape, budget: f64) -> Result<Self, KernelError> {
        image.check()?;
        if image.batch != 1 {
            return Err(KernelError::Batch { what: "image", expected: 1, got: image.batch });
        }
        Grid::of_map(image, FINE_POOL * TILE_SIZE)?;
        let features = MapShape { height: image.height / FINE_POOL, width: image.width / FINE_POOL, ..image };
        let grid = Grid::of_map(features, TILE_SIZE)?;
        let frame = InferFrame {
            hysteresis_mask: vec![false; grid.tiles() as usize],
            pv16: vec![0.0; image.elements() / (COARSE_POOL * COARSE_POOL)],
            ff8: vec![0.0; features.elements()],
            merged: vec![0.0; features.elements()],
            ssm_state: vec![0.0; image.channels],
            ..InferFrame::default()
        };
        let priority_map = vec![0; features.pixels()];
        Ok(Model { image, features, grid, budget, frame, ordered: Vec::new(), packed: Vec::new(), priority_map })
    }
}

/// Runs the model on one image, `[1,C,H,W]`. It is too small to share out: the parallel form is the fast one.
pub fn run<'a>(form: Form<()>, image: &[f32], model: &'a mut Model) -> Result<&'a InferFrame, KernelError> {
    check_length("image", image.len(), model.image.elements())?;
    let Model { image: shape, features, grid, budget, frame, ordered, packed, priority_map } = model;
    let form = if form == Form::Reference { form } else { Form::Fast(()) };
    if form == Form::Reference {
        mean_pool(image, shape.width, COARSE_POOL, &mut frame.pv16);
        mean_pool(image, shape.width, FINE_POOL, &mut frame.ff8);
    } else {
        mean_pools(image, shape.width, &mut frame.pv16, &mut frame.ff8);
    }

    ordered.clear();
    ordered.extend(0..grid.tiles());
    gather(form, &frame.ff8, *features, ordered, packed)?;
    let pixels = features.channels * TILE_SIZE * TILE_SIZE;
    frame.signals.clear();
    frame.signals.extend(packed.chunks_exact(pixels).map(|tile| signal(form, tile)));
    let utilities: Vec<f64> = frame.signals.iter().map(|&signal| f64::from(signal)).collect();
    let delta_costs = vec![1.0; utilities.len()];
    let candidates = Candidates { utilities: &utilities, delta_costs: &delta_costs, budget: *budget, kmax: KMAX };
    let selection = select(&candidates)?;
    frame.hysteresis_mask = update(&utilities, &frame.hysteresis_mask, &THRESHOLDS)?;
    frame.spent_budget = selection.spent;
    frame.selected_tiles = selection.selected;

    ordered.clone_from(&frame.selected_tiles);
    if ordered.is_empty() {
        ordered.push(0);
    }
    order(ordered, *grid, OrderMode::Hilbert)?;
    gather(form, &frame.ff8, *features, ordered, packed)?;
    frame.ssm_state.fill(0.0);
    for tile in packed.chunks_exact_mut(pixels) {
        for (plane, state) in tile.chunks_exact_mut(TILE_SIZE * TILE_SIZE).zip(&mut frame.ssm_state) {
            *state = DECAY * *state + (1.0 - DECAY) * moments(form, plane).0;
            let (gamma, beta) = (state.tanh(), *state);
            for pixel in plane {
                *pixel = *pixel * (1.0 + gamma) + beta;
            }
        }
    }

    priority_map.fill(0);
    let tiles = Tiles { packed: packed.as_slice(), placement: Placement::Indices(ordered), tile_size: TILE_SIZE };
    let rule = PriorityRule { level_priority: 1, overlap: Overlap::Override };
    unpack_priority::run(form, &frame.ff8, *features, &tiles, rule, &mut frame.merged, priority_map)?;
    // The sum makes a zero positive, whichever zero is treated as the largest.
    frame.det_score = largest(&frame.merged).clamp(0.0, 1.0) + 0.0;
    Ok(frame)
}

/// In lanes, since one maximum after another would wait for the one before.
fn largest(values: &[f32]) -> f32 {
    let (chunks, rest) = values.as_chunks::<LANES>();
    let mut lanes = [f32::NEG_INFINITY; LANES];
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, value)| *lane = lane.max(*value));
    }
    lanes.iter().chain(rest).copied().fold(f32::NEG_INFINITY, f32::max)
}

fn gather(
    form: Form<()>,
    map: &[f32],
    shape: MapShape,
    indices: &[u32],
    packed: &mut Vec<f32>,
) -> Result<(), KernelError> {
    packed.resize(indices.len() * shape.channels * TILE_SIZE * TILE_SIZE, 0.0);
    pack::run(form.untuned(pack::CANDIDATES), map, shape, TILE_SIZE, indices, packed)
}

/// Means of `side` by `side` pixels of planes whose height is a multiple of it.
fn mean_pool(map: &[f32], width: usize, side: usize, pooled: &mut [f32]) {
    for (rows, pooled) in map.chunks_exact(side * width).zip(pooled.chunks_exact_mut(width / side)) {
        for (column, mean) in pooled.iter_mut().enumerate() {
            let mut sum = 0.0;
            for row in rows.chunks_exact(width) {
                sum += row[column * side..][..side].iter().map(|&pixel| f64::from(pixel)).sum::<f64>();
            }
            *mean = (sum / (side * side) as f64) as f32;
        }
    }
}

/// Both pools in one pass.
fn mean_pools(map: &[f32], width: usize, coarse: &mut [f32], fine: &mut [f32]) {
    let pooled = coarse.chunks_exact_mut(width / COARSE_POOL).zip(fine.chunks_exact_mut(2 * width / FINE_POOL));
    for (rows, (coarse, fine)) in map.chunks_exact(COARSE_POOL * width).zip(pooled) {
        let span = wide::run(Width::widest(), Pools { rows, width, coarse, fine });
        if !span.is_exact(COARSE_POOL * COARSE_POOL) {
            mean_pool(rows, width, COARSE_POOL, coarse);
            mean_pool(rows, width, FINE_POOL, fine);
        }
    }
}

/// Pools a row of `coarse` and two of `fine`, and returns the span of the pixels.
struct Pools<'a> {
    rows: &'a [f32],
    width: usize,
    coarse: &'a mut [f32],
    fine: &'a mut [f32],
}

impl Work for Pools<'_> {
    type Output = Span;

    #[inline(always)]
    fn run(self, _: Width) -> Span {
        let Pools { rows, width, coarse, fine } = self;
        let (upper, lower) = fine.split_at_mut(width / FINE_POOL);
        let mut spans = [Span::default(); FINE_POOL];
        for (column, mean) in coarse.iter_mut().enumerate() {
            let mut total = 0.0;
            for (fine, rows) in [&mut *upper, &mut *lower].into_iter().zip(rows.chunks_exact(FINE_POOL * width)) {
                for (fine, start) in fine[2 * column..][..2].iter_mut().zip([0, FINE_POOL]) {
                    let mut sums = [0.0; FINE_POOL];
                    for row in rows.chunks_exact(width) {
                        let pixels: &[f32; FINE_POOL] =
                            row[column * COARSE_POOL + start..].first_chunk().expect("a pool lies within the row");
                        for lane in 0..FINE_POOL {
                            sums[lane] += f64::from(pixels[lane]);
                            spans[lane].add(pixels[lane]);
                        }
                    }
                    let sum = add_up(sums);
                    *fine = (sum / (FINE_POOL * FINE_POOL) as f64) as f32;
                    total += sum;
                }
            }
            *mean = (total / (COARSE_POOL * COARSE_POOL) as f64) as f32;
        }
        Span::of_all(&spans)
    }
}

/// Numbers that are computed at once.
const LANES: usize = 16;

/// The smallest and the largest magnitude of some numbers, zeros left out.
///
/// All numbers are multiples of the last digit of the smallest. A sum of `2^k` of them below `2^e` is less than `2^(e+k)`, so
/// that no partial sum needs more digits than `f64` has, 53, where the exponents lie near enough to each other.
#[derive(Clone, Copy, Debug)]
struct Span {
    /// Bits without the sign, less one, so that zero is the largest of all.
    least: u32,
    most: u32,
}

impl Default for Span {
    fn default() -> Self {
        Span { least: u32::MAX, most: 0 }
    }
}

impl Span {
    #[inline(always)]
    fn add(&mut self, value: f32) {
        let bits = value.to_bits() << 1;
        self.least = self.least.min(bits.wrapping_sub(1));
        self.most = self.most.max(bits);
    }

    #[inline(always)]
    fn of_all(spans: &[Span]) -> Span {
        let most = spans.iter().fold(0, |most, span| most.max(span.most));
        Span { least: spans.iter().fold(u32::MAX, |least, span| least.min(span.least)), most }
    }

    /// Whether every sum of so many of the numbers is exact, in any order.
    fn is_exact(self, count: usize) -> bool {
        const NOT_FINITE: u32 = 0xff;
        let digits = count.next_power_of_two().trailing_zeros() + f32::MANTISSA_DIGITS;
        let (least, most) = ((self.least >> 24).max(1), self.most >> 24);
        most < NOT_FINITE && most.saturating_sub(least) + digits <= f64::MANTISSA_DIGITS
    }
}

/// The sum of numbers and that of their magnitudes, with their span.
struct Sums<'a>(&'a [f32]);

impl Work for Sums<'_> {
    type Output = (f64, f64, Span);

    #[inline(always)]
    fn run(self, _: Width) -> (f64, f64, Span) {
        let (chunks, rest) = self.0.as_chunks::<LANES>();
        let (mut sums, mut magnitudes, mut spans) = ([0.0; LANES], [0.0; LANES], [Span::default(); LANES]);
        for chunk in chunks {
            for lane in 0..LANES {
                sums[lane] += f64::from(chunk[lane]);
                magnitudes[lane] += f64::from(chunk[lane].abs());
                spans[lane].add(chunk[lane]);
            }
        }
        let (mut sum, mut magnitude) = (add_up(sums), add_up(magnitudes));
        for value in rest {
            sum += f64::from(*value);
            magnitude += f64::from(value.abs());
            spans[0].add(*value);
        }
        (sum, magnitude, Span::of_all(&spans))
    }
}

/// In a tree, which is shorter than a chain.
#[inline(always)]
fn add_up<const N: usize>(mut lanes: [f64; N]) -> f64 {
    let mut half = N / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// The mean of values, and that of their magnitudes.
#[inline]
fn moments(form: Form<()>, values: &[f32]) -> (f32, f32) {
    if form != Form::Reference {
        let (sum, magnitude, span) = wide::run(Width::widest(), Sums(values));
        if span.is_exact(values.len()) {
            let count = values.len() as f64;
            return ((sum / count) as f32, (magnitude / count) as f32);
        }
    }
    (mean(values, |x| x), mean(values, f64::abs))
}

fn signal(form: Form<()>, tile: &[f32]) -> f32 {
    let (average, magnitude) = moments(form, tile);
    let average = f64::from(average);
    let squares = tile.iter().map(|&x| (f64::from(x) - average).powi(2)).sum::<f64>();
    (squares / tile.len() as f64) as f32 + magnitude
}

fn mean(values: &[f32], map: impl Fn(f64) -> f64) -> f32 {
    (values.iter().map(|&value| map(f64::from(value))).sum::<f64>() / values.len() as f64) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMAGE: MapShape = MapShape { batch: 1, channels: 2, height: 128, width: 256 };

    #[test]
    fn the_mask_is_carried_from_frame_to_frame() {
        let mut model = Model::new(IMAGE).unwrap();
        let masks = [0.5, 0.7, 0.5, 0.4].map(|value| {
            run(Form::Reference, &vec![value; IMAGE.elements()], &mut model).unwrap().hysteresis_mask.clone()
        });
        assert_eq!(masks, [[false; 2], [true; 2], [true; 2], [false; 2]]);
    }

    #[test]
    fn more_tiles_than_the_budget_leave_the_weakest() {
        let shape = MapShape { channels: 1, height: 128, width: 128 * 17, ..IMAGE };
        let image: Vec<f32> = (0..shape.elements()).map(|i| ((i % shape.width) / 128) as f32 / 32.0).collect();
        let mut model = Model::new(shape).unwrap();
        let frame = run(Form::Fast(()), &image, &mut model).unwrap();
        assert_eq!(frame.selected_tiles, (1..17).rev().collect::<Vec<u32>>());
        assert_eq!(frame.merged[..16], frame.ff8[..16]);
    }

    #[test]
    fn bad_images_are_refused() {
        assert!(Model::new(MapShape { batch: 2, ..IMAGE }).is_err());
        assert!(Model::new(MapShape { width: 192, ..IMAGE }).is_err());
        let mut model = Model::new(IMAGE).unwrap();
        for form in [Form::Reference, Form::Fast(())] {
            assert!(run(form, &[0.0; 3], &mut model).is_err());
            assert!(run(form, &vec![f32::NAN; IMAGE.elements()], &mut model).is_err());
        }
    }

    #[test]
    fn sums_are_exact_while_exponents_are_near() {
        let is_exact = |values: &[f32], count| {
            let mut span = Span::default();
            values.iter().for_each(|value| span.add(*value));
            span.is_exact(count)
        };
        // 24 digits of a number and 8 of 256 terms leave 21 for the exponents.
        assert!(is_exact(&[1.5, 1.5 * 0.5f32.powi(21), 0.0, -0.0], 256));
        assert!(!is_exact(&[1.5, 1.5 * 0.5f32.powi(22)], 256));
        assert!(is_exact(&[], 256) && is_exact(&[0.0, f32::from_bits(1), f32::MIN_POSITIVE], 256));
        assert!(!is_exact(&[f32::INFINITY], 1) && !is_exact(&[f32::NAN], 1));
    }

    #[test]
    fn the_fast_form_gives_the_same_bits_whatever_the_magnitudes() {
        let shape = MapShape { channels: 3, height: 256, width: 128 * 9, ..IMAGE };
        for spread in [0u32, 4, 30, 60] {
            let (mut plain, mut fast) = (Model::new(shape).unwrap(), Model::new(shape).unwrap());
            for frame in 0..2 {
                let value = |(place, value): (usize, &f32)| {
                    let exponent = (place as u32).wrapping_mul(2_654_435_761) >> 8;
                    if place % 7 == 0 { -0.0 } else { value * 0.5f32.powi((exponent % (spread + 1)) as i32) }
                };
                let image = crate::testing::values(shape.elements(), frame * 1000);
                let image: Vec<f32> = image.iter().enumerate().map(value).collect();
                let plain = run(Form::Reference, &image, &mut plain).unwrap();
                let fast = run(Form::Fast(()), &image, &mut fast).unwrap();
                let parts = |frame: &InferFrame| {
                    let InferFrame { signals, pv16, ff8, merged, ssm_state, det_score, .. } = frame;
                    [signals, pv16, ff8, merged, ssm_state, &vec![*det_score]].map(|part| crate::testing::bits(part))
                };
                assert_eq!(parts(plain), parts(fast), "spread {spread}, frame {frame}");
                assert_eq!(plain, fast);
            }
        }
    }
}
