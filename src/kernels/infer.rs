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

use crate::ordering::{OrderMode, order};
use crate::selection::{Candidates, Thresholds, select, update};
use crate::shape::{Grid, MapShape, check_length};
use crate::tile::unpack_priority::{self, PriorityRule};
use crate::tile::{Overlap, Placement, Tiles, pack};
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
pub struct Frame {
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
    frame: Frame,
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
        let frame = Frame {
            hysteresis_mask: vec![false; grid.tiles() as usize],
            pv16: vec![0.0; image.elements() / (COARSE_POOL * COARSE_POOL)],
            ff8: vec![0.0; features.elements()],
            merged: vec![0.0; features.elements()],
            ssm_state: vec![0.0; image.channels],
            ..Frame::default()
        };
        let priority_map = vec![0; features.pixels()];
        Ok(Model { image, features, grid, budget, frame, ordered: Vec::new(), packed: Vec::new(), priority_map })
    }
}

/// Runs the model on one image, `[1,C,H,W]`.
pub fn reference<'a>(image: &[f32], model: &'a mut Model) -> Result<&'a Frame, KernelError> {
    check_length("image", image.len(), model.image.elements())?;
    let Model { image: shape, features, grid, budget, frame, ordered, packed, priority_map } = model;
    mean_pool(image, *shape, COARSE_POOL, &mut frame.pv16);
    mean_pool(image, *shape, FINE_POOL, &mut frame.ff8);

    ordered.clear();
    ordered.extend(0..grid.tiles());
    gather(&frame.ff8, *features, ordered, packed)?;
    let pixels = features.channels * TILE_SIZE * TILE_SIZE;
    frame.signals.clear();
    frame.signals.extend(packed.chunks_exact(pixels).map(signal));
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
    gather(&frame.ff8, *features, ordered, packed)?;
    frame.ssm_state.fill(0.0);
    for tile in packed.chunks_exact_mut(pixels) {
        for (plane, state) in tile.chunks_exact_mut(TILE_SIZE * TILE_SIZE).zip(&mut frame.ssm_state) {
            *state = DECAY * *state + (1.0 - DECAY) * mean(plane, |x| x);
            let (gamma, beta) = (state.tanh(), *state);
            for pixel in plane {
                *pixel = *pixel * (1.0 + gamma) + beta;
            }
        }
    }

    priority_map.fill(0);
    let tiles = Tiles { packed: packed.as_slice(), placement: Placement::Indices(ordered), tile_size: TILE_SIZE };
    let rule = PriorityRule { level_priority: 1, overlap: Overlap::Override };
    unpack_priority::run(Form::Reference, &frame.ff8, *features, &tiles, rule, &mut frame.merged, priority_map)?;
    frame.det_score = frame.merged.iter().copied().fold(f32::NEG_INFINITY, f32::max).clamp(0.0, 1.0);
    Ok(frame)
}

fn gather(map: &[f32], shape: MapShape, indices: &[u32], packed: &mut Vec<f32>) -> Result<(), KernelError> {
    packed.resize(indices.len() * shape.channels * TILE_SIZE * TILE_SIZE, 0.0);
    pack::run(Form::Reference, map, shape, TILE_SIZE, indices, packed)
}

fn mean_pool(map: &[f32], shape: MapShape, side: usize, pooled: &mut [f32]) {
    let (rows, columns) = (shape.height / side, shape.width / side);
    let area = (side * side) as f64;
    for channel in 0..shape.channels {
        for row in 0..rows {
            for column in 0..columns {
                let mut sum = 0.0;
                for y in row * side..(row + 1) * side {
                    let start = shape.at(0, channel, y, column * side);
                    sum += map[start..][..side].iter().map(|&pixel| f64::from(pixel)).sum::<f64>();
                }
                pooled[(channel * rows + row) * columns + column] = (sum / area) as f32;
            }
        }
    }
}

fn signal(tile: &[f32]) -> f32 {
    let average = f64::from(mean(tile, |x| x));
    let squares = tile.iter().map(|&x| (f64::from(x) - average).powi(2)).sum::<f64>();
    (squares / tile.len() as f64) as f32 + mean(tile, f64::abs)
}

fn mean(values: &[f32], map: impl Fn(f64) -> f64) -> f32 {
    (values.iter().map(|&value| map(f64::from(value))).sum::<f64>() / values.len() as f64) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMAGE: MapShape = MapShape { batch: 1, channels: 2, height: 128, width: 256 };

    #[test]
    fn a_constant_image_by_hand() {
        let mut model = Model::new(IMAGE).unwrap();
        let frame = reference(&vec![0.5; IMAGE.elements()], &mut model).unwrap();
        assert_eq!(frame.signals, [0.5, 0.5]);
        assert_eq!((frame.selected_tiles.as_slice(), frame.spent_budget), ([0, 1].as_slice(), 2.0));
        assert_eq!(frame.hysteresis_mask, [false, false]);
        assert!(frame.pv16.iter().chain(&frame.ff8).all(|&pixel| pixel == 0.5));
        // The scan gives 0.15 * 0.5 = 0.075, then 0.85 * 0.075 + 0.075 = 0.13875, the same in both channels.
        let check = |got: f32, expected: f64| assert!((f64::from(got) - expected).abs() < 1e-6, "{got}");
        check(frame.ssm_state[1], 0.13875);
        check(frame.merged[0], 0.5 * (1.0 + 0.075f64.tanh()) + 0.075);
        check(frame.merged[16], 0.5 * (1.0 + 0.13875f64.tanh()) + 0.13875);
        check(frame.det_score, 0.5 * (1.0 + 0.13875f64.tanh()) + 0.13875);
    }

    #[test]
    fn the_mask_is_carried_from_frame_to_frame() {
        let mut model = Model::new(IMAGE).unwrap();
        let masks = [0.5, 0.7, 0.5, 0.4]
            .map(|value| reference(&vec![value; IMAGE.elements()], &mut model).unwrap().hysteresis_mask.clone());
        assert_eq!(masks, [[false; 2], [true; 2], [true; 2], [false; 2]]);
    }

    #[test]
    fn more_tiles_than_the_budget_leave_the_weakest() {
        let shape = MapShape { channels: 1, height: 128, width: 128 * 17, ..IMAGE };
        let image: Vec<f32> = (0..shape.elements()).map(|i| ((i % shape.width) / 128) as f32 / 32.0).collect();
        let mut model = Model::new(shape).unwrap();
        let frame = reference(&image, &mut model).unwrap();
        assert_eq!(frame.selected_tiles, (1..17).rev().collect::<Vec<u32>>());
        assert_eq!(frame.merged[..16], frame.ff8[..16]);
    }

    #[test]
    fn bad_images_are_refused() {
        assert!(Model::new(MapShape { batch: 2, ..IMAGE }).is_err());
        assert!(Model::new(MapShape { width: 192, ..IMAGE }).is_err());
        let mut model = Model::new(IMAGE).unwrap();
        assert!(reference(&[0.0; 3], &mut model).is_err());
        assert!(reference(&vec![f32::NAN; IMAGE.elements()], &mut model).is_err());
    }
}
