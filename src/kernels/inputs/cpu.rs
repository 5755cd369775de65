//! The workloads of the CPU suite.

use super::super::fusion::Gate;
use super::super::ordering::{OrderMode, order};
use super::super::random::Random;
use super::super::shape::{Grid, MapShape};
use super::super::tile::{Overlap, pack, unpack_priority};
use super::{Fusion, Infer, Pack, UnpackPriority};

/// The tiles of the suite, on a grid of 8 by 8.
pub const TILES: [u32; 10] = [0, 5, 9, 12, 18, 27, 33, 40, 50, 63];

/// The image of `infer`.
const IMAGE: MapShape = MapShape { batch: 1, channels: 3, height: 128, width: 128 };
/// The map of the tile kernels.
const MAP: MapShape = MapShape { batch: 1, channels: 64, height: 128, width: 128 };
/// Side of a tile in pixels.
const TILE_SIZE: usize = 16;
/// The priority that the timed unpack writes with.
const PRIORITY: i8 = 2;

/// One image, uniform in [0, 1); the timed call reuses one model.
pub fn infer(seed: u64) -> Infer {
    Infer { shape: IMAGE, image: Random::new(seed).uniforms(IMAGE.elements(), 0.0, 1.0) }
}

/// The ten tiles of a map, to be put in Hilbert order by the timed call.
pub fn pack(seed: u64) -> Pack {
    let map = Random::new(seed).normals(MAP.elements());
    Pack { shape: MAP, tile_size: TILE_SIZE, order: Some(OrderMode::Hilbert), map, indices: TILES.to_vec() }
}

/// The tiles that [`pack()`] gathers, over another map.
pub fn unpack(seed: u64) -> UnpackPriority {
    let Pack { shape, tile_size, map, mut indices, .. } = pack(seed);
    let grid = Grid::of_map(shape, tile_size).expect("the tile size divides the map of the suite");
    order(&mut indices, grid, OrderMode::Hilbert).expect("the tiles of the suite lie on its grid");
    let mut packed = vec![0.0; indices.len() * shape.channels * tile_size * tile_size];
    pack::fast(&map, shape, tile_size, &indices, &mut packed).expect("the lengths follow from the shape");
    let base = Random::new(seed.wrapping_add(1)).normals(shape.elements());
    let rule = unpack_priority::Rule { level_priority: PRIORITY, overlap: Overlap::Override };
    UnpackPriority { shape, tile_size, base, packed, indices, rule }
}

/// Two maps and two proxies for the default gate.
pub fn fusion(seed: u64) -> Fusion {
    fusion_of(MAP, seed)
}

pub(super) fn fusion_of(shape: MapShape, seed: u64) -> Fusion {
    let mut random = Random::new(seed);
    Fusion {
        shape,
        base: random.normals(shape.elements()),
        detail: random.normals(shape.elements()),
        boundary: random.uniforms(shape.pixels(), 0.0, 1.0),
        uncertainty: random.uniforms(shape.pixels(), 0.0, 1.0),
        gate: Gate::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tile::unpack_priority;
    use super::super::super::{fusion as kernel, infer as model};
    use super::super::DEFAULT_SEED;
    use super::*;

    #[test]
    fn equal_seeds_give_equal_inputs_and_others_do_not() {
        assert_eq!(infer(5), infer(5));
        assert_ne!(infer(5), infer(6));
        assert_eq!(fusion(5), fusion(5));
    }

    #[test]
    fn the_kernels_take_them_and_both_forms_agree() {
        let image = infer(DEFAULT_SEED);
        let mut model = model::Model::new(image.shape).unwrap();
        assert_eq!(model::reference(&image.image, &mut model).unwrap().selected_tiles, [0]);

        let tiles = unpack(DEFAULT_SEED);
        assert_eq!(tiles.indices.len(), TILES.len());
        let kernels = [unpack_priority::reference::<f32>, unpack_priority::fast::<f32>];
        let [plain, quick] = kernels.map(|form| {
            let (mut merged, mut map) = (vec![0.0; tiles.base.len()], vec![0; tiles.shape.pixels()]);
            form(&tiles.base, tiles.shape, &tiles.tiles(), tiles.rule, &mut merged, &mut map).unwrap();
            assert_eq!(map.iter().filter(|&&priority| priority == 2).count(), 10 * 16 * 16);
            merged
        });
        assert_eq!(plain, quick);
        // Tile 63 is the last of the grid, so the last pixel is that of the packed map.
        assert_eq!(plain.last(), pack(DEFAULT_SEED).map.last());

        let gate = fusion(DEFAULT_SEED);
        let (mut alpha, mut fused) = (vec![0.0; gate.shape.pixels()], vec![0.0; gate.base.len()]);
        kernel::fast(&gate.inputs(), gate.shape, &gate.gate, &mut alpha, &mut fused).unwrap();
        assert!(alpha.iter().all(|alpha| (0.5..1.0).contains(alpha)));
    }
}
