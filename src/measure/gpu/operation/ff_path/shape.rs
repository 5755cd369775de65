//! What a call works on: the map, the tiles chosen in it, and the parameters, all from a seed.

use sprag_base::stats::random::SplitMix64;
use sprag_kernels::ff::{self, Chosen, FfConfig, Parameters};
use sprag_kernels::ordering::{OrderMode, order};
use sprag_kernels::shape::{Grid, MapShape};

/// What the seeds of the utilities and of the parameters lie above that of a call, as the first suite of this module
/// had it.
const UTILITIES_SEED: u64 = 102;
const SPLIT_UTILITIES_SEED: u64 = 103;
const PARAMETERS_SEED: u64 = 17;

/// The most channels: what the tokens and the smallest part of a tile take must fit the shared memory of a block.
const MOST_CHANNELS: usize = 2048;

/// A map, and the tiles that are computed heavily. Made by [`FfPath::new`], which checks it.
#[derive(Clone, Debug, PartialEq)]
pub struct FfPath {
    map: MapShape,
    config: FfConfig,
    seed: u64,
    utilities: Vec<f32>,
    split_utilities: Vec<f32>,
    selection: Selection,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// Coarse tiles a sample.
    pub l0_each: usize,
    /// Fine tiles a sample.
    pub l1_each: usize,
    /// Coarse tiles, `[B, l0_each]`, in Hilbert order.
    pub l0: Vec<i32>,
    /// Fine tiles, `[B, l1_each]`, in Hilbert order.
    pub l1: Vec<i32>,
    /// What the coarse tiles cost.
    pub spent_b1: f64,
    pub spent_b2: f64,
}

/// The costs and tile sizes of the module, with its limits: twice as many fine tiles as coarse ones.
pub fn config(kmax: usize, budget_b1: f64, budget_b2: f64) -> FfConfig {
    FfConfig {
        tile_size_l0: 16,
        tile_size_l1: 8,
        kmax_l0: kmax,
        kmax_l1: kmax.saturating_mul(2),
        budget_b1,
        budget_b2,
        cost_heavy: 1.0,
        cost_cheap: 0.2,
        split_overhead: 1.0,
    }
}

impl FfPath {
    /// A call whose utilities and parameters follow from `seed`.
    pub fn new(map: MapShape, config: FfConfig, seed: u64) -> Result<Self, String> {
        if !(1..=MOST_CHANNELS).contains(&map.channels) {
            return Err(format!("a map has {} channels, from 1 to {MOST_CHANNELS} can be computed", map.channels));
        }
        if config.tile_size_l0 != config.tile_size_l1 * 2 {
            return Err(format!("tiles of {} pixels are not split in two", config.tile_size_l0));
        }
        let tiles = Grid::of_map(map, config.tile_size_l0).map_err(|error| error.to_string())?.tiles() as usize;
        let normal = |seed: u64| {
            let mut random = SplitMix64::new(seed);
            (0..map.batch * tiles).map(|_| random.normal() as f32).collect()
        };
        let mut shape = FfPath {
            map,
            config,
            seed,
            utilities: normal(seed.wrapping_add(UTILITIES_SEED)),
            split_utilities: normal(seed.wrapping_add(SPLIT_UTILITIES_SEED)),
            selection: Selection::default(),
        };
        shape.selection = shape.select()?;
        Ok(shape)
    }

    /// Chooses the tiles, as each call of the whole module does on the host before the device can begin.
    pub fn select(&self) -> Result<Selection, String> {
        let mut chosen = Vec::new();
        ff::choose(self.map, &self.utilities, Some(&self.split_utilities), &self.config, &mut chosen)
            .map_err(|error| error.to_string())?;
        Ok(Selection {
            l0_each: chosen.first().map_or(0, |chosen| chosen.l0.len()),
            l1_each: chosen.first().map_or(0, |chosen| chosen.l1.len()),
            l0: self.ordered(&chosen, self.config.tile_size_l0, |chosen| &chosen.l0)?,
            l1: self.ordered(&chosen, self.config.tile_size_l1, |chosen| &chosen.l1)?,
            spent_b1: chosen.iter().map(|chosen| chosen.spent_b1).sum(),
            spent_b2: chosen.iter().map(|chosen| chosen.spent_b2).sum(),
        })
    }

    fn ordered(&self, chosen: &[Chosen], side: usize, tiles: fn(&Chosen) -> &Vec<u32>) -> Result<Vec<i32>, String> {
        let grid = Grid::of_map(self.map, side).map_err(|error| error.to_string())?;
        let mut all = Vec::new();
        for chosen in chosen {
            let mut row = tiles(chosen).clone();
            order(&mut row, grid, OrderMode::Hilbert).map_err(|error| error.to_string())?;
            let id = |id: u32| i32::try_from(id).map_err(|_| format!("tile {id} is beyond 31 bits"));
            all.extend(row.into_iter().map(id).collect::<Result<Vec<i32>, String>>()?);
        }
        Ok(all)
    }

    pub fn map(&self) -> MapShape {
        self.map
    }

    pub fn config(&self) -> &FfConfig {
        &self.config
    }

    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// The utilities of the coarse tiles, and of splitting them, `[B, tiles]`.
    pub(super) fn utilities(&self) -> (&[f32], &[f32]) {
        (&self.utilities, &self.split_utilities)
    }

    /// Parameters that keep activations near one, and none of them zero: weights uniform within ± 1 / sqrt(inputs of
    /// the layer), the scales of norms about one, all else about zero.
    pub(super) fn parameters(&self) -> Parameters {
        let shapes = ff::tensors(self.map.channels);
        let tensor = |name: &str| {
            let position = shapes.iter().position(|shape| shape.name == name)?;
            let shape = &shapes[position];
            let fan_in: usize = shape.shape.iter().skip(1).product();
            let seed = self.seed.wrapping_add(PARAMETERS_SEED).wrapping_add(position as u64);
            let mut random = SplitMix64::new(seed);
            let mut value = || match () {
                () if name.ends_with("norm.weight") => 1.0 + 0.1 * random.normal(),
                () if name.ends_with("log_weight") => 1.0,
                () if name.ends_with(".weight") => (2.0 * random.uniform() - 1.0) / (fan_in as f64).sqrt(),
                () => 0.1 * random.normal(),
            };
            Some((0..shape.elements()).map(|_| value() as f32).collect())
        };
        Parameters::read(self.map.channels, tensor).expect("every tensor is given with the elements that it has")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIXED: MapShape = MapShape { batch: 1, channels: 128, height: 128, width: 128 };

    #[test]
    fn the_fixed_profile_takes_twenty_coarse_and_thirty_two_fine_tiles() {
        let shape = FfPath::new(FIXED, config(32, 16.0, 8.0), 123).unwrap();
        let selection = shape.selection();
        assert_eq!((selection.l0_each, selection.l1_each), (20, 32));
        assert_eq!((selection.spent_b1, selection.spent_b2), (16.000000000000004, 8.0));
        assert_eq!((selection.l0.len(), selection.l1.len()), (20, 32));
        assert_eq!(shape.select().as_ref(), Ok(selection));
    }

    #[test]
    fn every_sample_gets_tiles_of_its_own_and_as_many() {
        let map = MapShape { batch: 3, channels: 2, height: 64, width: 96 };
        let selection = FfPath::new(map, config(5, 16.0, 8.0), 7).unwrap().select().unwrap();
        assert_eq!((selection.l0_each, selection.l1_each), (5, 8));
        assert_eq!((selection.l0.len(), selection.l1.len()), (15, 24));
        assert_ne!(selection.l0[..5], selection.l0[5..10]);
        assert_eq!(selection.spent_b2, 6.0);
    }

    #[test]
    fn a_shape_that_cannot_be_is_refused() {
        let refused = |map: MapShape, config: FfConfig| FfPath::new(map, config, 1).is_err();
        let good = config(4, 1.6, 1.0);
        assert!(!refused(FIXED, good));
        assert!(refused(MapShape { height: 24, ..FIXED }, good));
        assert!(refused(MapShape { channels: 0, ..FIXED }, good));
        assert!(refused(MapShape { channels: 4096, ..FIXED }, good));
        assert!(refused(FIXED, FfConfig { tile_size_l1: 4, ..good }));
        assert!(refused(FIXED, FfConfig { budget_b1: -1.0, ..good }));
    }

    #[test]
    fn parameters_follow_from_the_seed() {
        let map = MapShape { channels: 3, ..FIXED };
        let parameters = |seed| FfPath::new(map, config(4, 1.6, 1.0), seed).unwrap().parameters();
        assert_eq!(parameters(1), parameters(1));
        assert_ne!(parameters(1), parameters(2));
        assert!(parameters(1).l1().refine.norm_bias.iter().all(|bias| *bias != 0.0));
    }
}
