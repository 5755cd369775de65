//! The workloads of the profile that GPU baselines are recorded at; the same sizes are timed on CPUs.
//!
//! Seeds are offset a workload: tile ids by `1 + sample` (pack, fused) and `2 + sample` (unpack), scan parameters by 7,
//! parameters of the module by 17, its inputs by 101.

use std::collections::BTreeMap;

use super::super::KernelError;
use super::super::ff::{Config, Parameters, tensors};
use super::super::fused::Affine;
use super::super::random::Random;
use super::super::scan::ScanShape;
use super::super::shape::{Grid, MapShape};
use super::cpu::fusion_of;
use super::{FeatureFusion, Fused, Fusion, Pack, Scan, UnpackLevels};

/// Sides of the coarse and the fine tiles of the module, whatever the tile size of the tile kernels.
const MODULE_TILES: (usize, usize) = (16, 8);
/// Budgets of the coarse tiles and of the splits.
const MODULE_BUDGETS: (f64, f64) = (16.0, 8.0);

/// The sizes of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The map.
    pub shape: MapShape,
    /// Side of a tile in pixels.
    pub tile_size: usize,
    /// Tiles a sample.
    pub kmax: usize,
    /// Tokens a sample of the scan.
    pub steps: usize,
}

impl Profile {
    /// The sizes that baselines are recorded at.
    pub const FIXED: Profile = Profile {
        shape: MapShape { batch: 1, channels: 128, height: 128, width: 128 },
        tile_size: 8,
        kmax: 32,
        steps: 256,
    };
}

/// A map and `kmax` random tiles of it in ascending order.
///
/// # Errors
/// A tile size that does not divide the map.
pub fn pack(profile: &Profile, seed: u64) -> Result<Pack, KernelError> {
    let Profile { shape, tile_size, .. } = *profile;
    let indices = tile_ids(profile, seed.wrapping_add(1))?;
    Ok(Pack { shape, tile_size, order: None, map: Random::new(seed).normals(shape.elements()), indices })
}

/// A map, `kmax` random tiles in ascending order and a level of 0, 1 or 2 each.
///
/// # Errors
/// A tile size that does not divide the map.
pub fn unpack(profile: &Profile, seed: u64) -> Result<UnpackLevels, KernelError> {
    let Profile { shape, tile_size, .. } = *profile;
    let indices = tile_ids(profile, seed.wrapping_add(2))?;
    let mut random = Random::new(seed);
    let base = random.normals(shape.elements());
    let packed = random.normals(indices.len() * shape.channels * tile_size * tile_size);
    let levels = indices.iter().map(|_| random.below(3) as i32).collect();
    Ok(UnpackLevels { shape, tile_size, base, packed, indices, levels })
}

/// Two maps and two proxies for the default gate.
pub fn fusion(profile: &Profile, seed: u64) -> Fusion {
    fusion_of(profile.shape, seed)
}

/// Tokens and parameters for a forward scan.
pub fn scan(profile: &Profile, seed: u64) -> Scan {
    let MapShape { batch, channels, .. } = profile.shape;
    let shape = ScanShape { batch, steps: profile.steps, channels };
    let mut random = Random::new(seed.wrapping_add(7));
    Scan {
        shape,
        tokens: Random::new(seed).normals(shape.elements()),
        decay: random.uniforms(channels, 0.1, 0.9),
        input_gain: random.uniforms(channels, 0.05, 1.55),
        output_gain: random.uniforms(channels, 0.05, 1.55),
        state_bias: random.normals(channels).into_iter().map(|bias| 0.1 * bias).collect(),
    }
}

/// A map and `kmax` random tiles of it, for the default map of a pixel.
///
/// # Errors
/// A tile size that does not divide the map.
pub fn fused(profile: &Profile, seed: u64) -> Result<Fused, KernelError> {
    let Pack { shape, tile_size, map, indices, .. } = pack(profile, seed)?;
    Ok(Fused { shape, tile_size, map, indices, affine: Affine::default() })
}

/// The module from features to fused features: tiles of 16 and 8, limits of `kmax` and twice that, budgets of 16 and
/// 8, costs 1 and 0.2, split overhead 1.
///
/// Weights and biases of linear and convolution layers are uniform in `+-1/sqrt(fan in)`; norms start at weight 1 and
/// bias 0; raw scan parameters at 0; log weights of the gate at 1 and its bias at 0.
///
/// # Errors
/// A map that tiles of 16 do not divide, no channels.
pub fn feature_fusion(profile: &Profile, seed: u64) -> Result<FeatureFusion, KernelError> {
    let shape = profile.shape;
    let coarse = Grid::of_map(shape, MODULE_TILES.0)?.tiles() as usize * shape.batch;
    let mut random = Random::new(seed.wrapping_add(101));
    Ok(FeatureFusion {
        shape,
        dense: random.normals(shape.elements()),
        utilities: random.normals(coarse),
        split_utilities: random.normals(coarse),
        boundary: random.uniforms(shape.pixels(), 0.0, 1.0),
        uncertainty: random.uniforms(shape.pixels(), 0.0, 1.0),
        config: Config {
            tile_size_l0: MODULE_TILES.0,
            tile_size_l1: MODULE_TILES.1,
            kmax_l0: profile.kmax,
            kmax_l1: profile.kmax * 2,
            budget_b1: MODULE_BUDGETS.0,
            budget_b2: MODULE_BUDGETS.1,
            cost_heavy: 1.0,
            cost_cheap: 0.2,
            split_overhead: 1.0,
        },
        parameters: parameters(shape.channels, seed.wrapping_add(17))?,
    })
}

fn tile_ids(profile: &Profile, seed: u64) -> Result<Vec<u32>, KernelError> {
    let tiles = Grid::of_map(profile.shape, profile.tile_size)?.tiles();
    let row = |sample: usize| Random::new(seed.wrapping_add(sample as u64)).distinct(profile.kmax, tiles);
    Ok((0..profile.shape.batch).flat_map(row).collect())
}

fn parameters(channels: usize, seed: u64) -> Result<Parameters, KernelError> {
    let mut random = Random::new(seed);
    let mut values = BTreeMap::new();
    for tensor in tensors(channels) {
        let elements = tensor.elements();
        let part = |part: &str| tensor.name.contains(part);
        let filled = if part(".mlp.") || part(".depthwise.") || part(".pointwise.") {
            let fan_in = if part(".depthwise.") { 9 } else { channels };
            let bound = 1.0 / (fan_in as f32).sqrt();
            random.uniforms(elements, -bound, bound)
        } else if part("norm.weight") || part("_log_weight") {
            vec![1.0; elements]
        } else {
            vec![0.0; elements]
        };
        values.insert(tensor.name, filled);
    }
    Parameters::read(channels, |name| values.get(name).cloned())
}

#[cfg(test)]
mod tests {
    use super::super::super::tile::{pack as kernel, unpack_levels};
    use super::super::super::{ff, fused as fused_kernel, scan as scan_kernel};
    use super::super::DEFAULT_SEED;
    use super::*;

    /// Few channels, so that the plain forms are quick without optimisation; tiles and steps as in the profile.
    fn small() -> Profile {
        Profile { shape: MapShape { channels: 2, ..Profile::FIXED.shape }, ..Profile::FIXED }
    }

    #[test]
    fn tiles_are_distinct_ascending_and_differ_by_workload() {
        let tiles = pack(&small(), DEFAULT_SEED).unwrap().indices;
        assert_eq!(tiles.len(), 32);
        assert!(tiles.windows(2).all(|pair| pair[0] < pair[1]) && tiles[31] < 256);
        let unpacked = unpack(&small(), DEFAULT_SEED).unwrap();
        assert_ne!(unpacked.indices, tiles);
        assert!((0..3).all(|level| unpacked.levels.contains(&level)));
        let two = Profile { shape: MapShape { batch: 2, ..small().shape }, ..small() };
        let tiles = pack(&two, DEFAULT_SEED).unwrap().indices;
        assert_eq!(tiles.len(), 64);
        assert_ne!(tiles[..32], tiles[32..]);
        assert!(pack(&Profile { tile_size: 7, ..small() }, DEFAULT_SEED).is_err());
    }

    #[test]
    fn both_forms_of_the_kernels_agree_on_them() {
        let tiles = pack(&small(), DEFAULT_SEED).unwrap();
        let [plain, quick] = [kernel::reference::<f32>, kernel::fast::<f32>].map(|form| {
            let mut packed = vec![0.0; 32 * 2 * 64];
            form(&tiles.map, tiles.shape, tiles.tile_size, &tiles.indices, &mut packed).unwrap();
            packed
        });
        assert_eq!(plain, quick);

        let tiles = unpack(&small(), DEFAULT_SEED).unwrap();
        let [plain, quick] = [unpack_levels::reference::<f32>, unpack_levels::fast::<f32>].map(|form| {
            let (mut merged, mut scratch) = (vec![0.0; tiles.base.len()], unpack_levels::Scratch::default());
            form(&tiles.base, tiles.shape, &tiles.tiles(), tiles.rule(), &mut merged, &mut scratch).unwrap();
            merged
        });
        assert_eq!(plain, quick);

        let tiles = fused(&small(), DEFAULT_SEED).unwrap();
        let [plain, quick] = [fused_kernel::reference::<f32>, fused_kernel::fast::<f32>].map(|form| {
            let (mut merged, mut scratch) = (vec![0.0; tiles.map.len()], fused_kernel::Scratch::default());
            form(&tiles.map, tiles.shape, &tiles.choice(), &tiles.affine, &mut merged, &mut scratch).unwrap();
            merged
        });
        assert_eq!(plain, quick);

        let tokens = scan(&small(), DEFAULT_SEED);
        assert_eq!(tokens.shape.elements(), 512);
        let (mut y, mut state) = (vec![0.0; 512], vec![0.0; 2]);
        let mut scratch = scan_kernel::Scratch::default();
        scan_kernel::fast(&tokens.inputs(), &tokens.direction(), &mut y, &mut state, &mut scratch).unwrap();
        assert!(y.iter().all(|y| y.is_finite() && *y != 0.0));
        assert!(tokens.decay.iter().all(|decay| (0.1..0.9).contains(decay)));
    }

    /// What the original reports at the profile: 20 coarse tiles for 16.000000000000004, 32 fine ones for 8.
    #[test]
    fn the_module_chooses_as_many_tiles_as_the_original() {
        let module = feature_fusion(&small(), DEFAULT_SEED).unwrap();
        let (mut outputs, mut workspace) = (ff::Outputs::default(), ff::Workspace::default());
        ff::fast(&module.inputs(), &module.config, &module.parameters, &mut outputs, &mut workspace).unwrap();
        let chosen = &outputs.chosen[0];
        assert_eq!((chosen.l0.len(), chosen.l1.len()), (20, 32));
        assert_eq!((chosen.spent_b1, chosen.spent_b2), (16.000_000_000_000_004, 8.0));
        assert!(outputs.heavy_features.iter().all(|value| value.is_finite()));
    }
}
