//! TileUnpack of tiles on the grid and anywhere: `kernels/tile_unpack.cu`.

use std::rc::Rc;

use crate::gpu::operation::kernel::{
    BytesMoved, Call, Code, Operation, ProgramBuilder, arguments, exact, int, kernel, long, moves, optional, vector,
    with_element,
};
use crate::gpu::operation::tiled::{self, IDS_SEED, Tiled};
use crate::gpu::operation::{ExpectedBuffer, GpuForm, HostInputs, LaunchConfig};
use crate::gpu::program::{Argument, DeviceProgram, Dtype};
use crate::gpu::settings::Profile;
use sprag_base::stats::random::SplitMix64;
use sprag_kernels::KernelError;
use sprag_kernels::element::Element;
use sprag_kernels::shape::MapShape;
use sprag_kernels::tile::unpack_levels::{self, LevelsRule, UnpackScratch};
use sprag_kernels::tile::{Corner, Overlap, Placement, Tiles};

const FILE: &str = "tile_unpack.cu";

/// For tiles on the grid, the untuned configuration first. A block has `chunk` times the vectors in flight together.
const ON_GRID: &[LaunchConfig] = &[
    LaunchConfig::new(256, 16, 4, 1),
    LaunchConfig::new(256, 16, 2, 2),
    LaunchConfig::new(128, 16, 4, 1),
    LaunchConfig::new(256, 16, 4, 4),
    LaunchConfig::new(256, 16, 4, 16),
    LaunchConfig::new(512, 16, 2, 4),
    LaunchConfig::new(256, 16, 8, 2),
    LaunchConfig::new(256, 8, 4, 4),
];

/// For tiles anywhere. Here `chunk` is the channels of a block.
const ANYWHERE: &[LaunchConfig] = &[
    LaunchConfig::new(256, 16, 4, 8),
    LaunchConfig::new(256, 8, 4, 8),
    LaunchConfig::new(256, 16, 2, 16),
    LaunchConfig::new(128, 16, 4, 16),
    LaunchConfig::new(512, 8, 2, 32),
];

/// Vectors of a row of the patch of a block.
const ACROSS: usize = 32;

/// Tiles that a block finds before it applies them.
const LIST: u32 = 64;

#[derive(Clone, Debug, PartialEq)]
enum Places {
    OnGrid(Tiled),
    Anywhere(Vec<Corner>),
}

/// A map, tiles of it, and how they are applied.
#[derive(Clone, Debug, PartialEq)]
pub struct TileUnpack {
    map: MapShape,
    tile_size: usize,
    places: Places,
    /// A level per tile, `[B,K]`, of any sign; without, tiles are applied in the given order.
    levels: Option<Vec<i32>>,
    overlap: Overlap,
}

pub(super) fn timed(profile: &Profile) -> Vec<Operation> {
    let unpack = |tiles: Tiled| {
        tiled::overlaps().into_iter().filter_map(move |overlap| {
            let levels = drawn_levels(tiles.ids().len(), IDS_SEED);
            TileUnpack::on_grid(tiles.clone(), Some(levels), overlap).ok()
        })
    };
    Tiled::of_profile(profile).into_iter().flat_map(unpack).map(TileUnpack::operation).collect()
}

/// Tiles anywhere at a small shape, which no suite times.
pub(super) fn checked() -> Vec<Operation> {
    let map = MapShape { batch: 1, channels: 8, height: 64, width: 64 };
    let origins = drawn_origins(map, 8, 16, IDS_SEED);
    let with = |overlap| {
        let levels = drawn_levels(origins.len(), IDS_SEED);
        TileUnpack::anywhere(map, 8, origins.clone(), Some(levels), overlap).ok()
    };
    tiled::overlaps().into_iter().filter_map(with).map(TileUnpack::operation).collect()
}

/// Random levels in 0, 1, 2.
pub fn drawn_levels(tiles: usize, seed: u64) -> Vec<i32> {
    let mut random = SplitMix64::new(seed);
    (0..tiles).map(|_| random.below(3) as i32).collect()
}

/// Random origins for tiles of that size; none where a tile is larger than the map.
fn drawn_origins(map: MapShape, tile_size: usize, count: usize, seed: u64) -> Vec<Corner> {
    let (Some(rows), Some(columns)) = (map.height.checked_sub(tile_size), map.width.checked_sub(tile_size)) else {
        return Vec::new();
    };
    let mut random = SplitMix64::new(seed);
    let mut pixel = |most: usize| random.below(most + 1) as u32;
    (0..count).map(|_| Corner { y: pixel(rows), x: pixel(columns) }).collect()
}

impl TileUnpack {
    pub fn on_grid(tiles: Tiled, levels: Option<Vec<i32>>, overlap: Overlap) -> Result<Self, KernelError> {
        let (map, tile_size) = (tiles.map(), tiles.tile_size());
        TileUnpack { map, tile_size, places: Places::OnGrid(tiles), levels, overlap }.checked()
    }

    /// Tiles with these upper left pixels, `[B,K]`.
    fn anywhere(
        map: MapShape,
        tile_size: usize,
        origins: Vec<Corner>,
        levels: Option<Vec<i32>>,
        overlap: Overlap,
    ) -> Result<Self, KernelError> {
        let MapShape { batch, channels, height, width } = map;
        let sizes = [batch, channels, height, width, tile_size, 2 * origins.len()];
        if map.elements() == 0 || tile_size == 0 || sizes.iter().any(|&size| i32::try_from(size).is_err()) {
            return Err(KernelError::Empty { what: "map" });
        }
        if !origins.len().is_multiple_of(batch) {
            return Err(KernelError::Rows { what: "origins", batch, got: origins.len() });
        }
        let leaves = |origin: &&Corner| origin.y as usize + tile_size > height || origin.x as usize + tile_size > width;
        match origins.iter().find(leaves) {
            Some(&Corner { y, x }) => Err(KernelError::Origin { y, x, tile_size, height, width }),
            None => TileUnpack { map, tile_size, places: Places::Anywhere(origins), levels, overlap }.checked(),
        }
    }

    fn checked(self) -> Result<Self, KernelError> {
        let expected = self.count();
        match &self.levels {
            Some(levels) if levels.len() != expected => {
                Err(KernelError::Length { what: "levels", expected, got: levels.len() })
            }
            _ => Ok(self),
        }
    }

    pub fn operation(self) -> Operation {
        let (name, candidates) = match self.places {
            Places::OnGrid(_) => ("tile_unpack", ON_GRID),
            Places::Anywhere(_) => ("tile_unpack_anywhere", ANYWHERE),
        };
        let mut params = self.map.params();
        params.extend([("t", self.tile_size.to_string()), ("k", self.per_sample().to_string())]);
        params.push(("overlap", if self.blends() { "blend" } else { "override" }.to_owned()));
        Operation {
            name,
            params,
            work: ("tiles_per_s", self.count() as f64),
            bytes_moved: self.bytes_moved(),
            candidates: candidates.to_vec(),
            tolerance: exact,
            selection: None,
            code: Code::new(self, TileUnpack::program, TileUnpack::expected, TileUnpack::uneven),
        }
    }

    /// Every tile is read, and of the base what no tile replaces; every pixel is written once.
    fn bytes_moved(&self) -> Option<Rc<BytesMoved>> {
        let (all, packed) = (self.map.elements(), self.count() * self.map.channels * self.tile_size * self.tile_size);
        match &self.places {
            Places::OnGrid(tiles) if !self.blends() => {
                let tiles = tiles.clone();
                Some(Rc::new(move |dtype| tiles.bytes_of_others(dtype) + (packed + all) * dtype.bytes()))
            }
            Places::OnGrid(_) => moves(2 * all + packed),
            // They overlap, and no suite times them.
            Places::Anywhere(_) => None,
        }
    }

    fn placement(&self) -> Placement<'_> {
        match &self.places {
            Places::OnGrid(tiles) => Placement::Indices(tiles.ids()),
            Places::Anywhere(origins) => Placement::Origins(origins),
        }
    }

    fn count(&self) -> usize {
        self.placement().count()
    }

    fn per_sample(&self) -> usize {
        self.count() / self.map.batch
    }

    fn blends(&self) -> bool {
        matches!(self.overlap, Overlap::Blend(_))
    }

    fn program(&self, dtype: Dtype, form: GpuForm) -> DeviceProgram {
        let (map, side) = (self.map, self.tile_size);
        let mut program = ProgramBuilder::new(dtype);
        let base = program.normal("base", map.elements());
        let packed = program.normal("packed", self.count() * map.channels * side * side);
        let (ids, origins) = match &self.places {
            Places::OnGrid(tiles) => (Some(program.integers("indices", tiles.indices())), None),
            Places::Anywhere(origins) => {
                let pixels = origins.iter().flat_map(|origin| [origin.y.cast_signed(), origin.x.cast_signed()]);
                (None, Some(program.integers("origins", pixels.collect())))
            }
        };
        let levels = self.levels.clone().map(|levels| program.integers("levels", levels));
        let merged = program.output("merged", map.elements());

        let sizes = [self.per_sample(), map.channels, map.height, map.width].map(int);
        let GpuForm::Tuned(config) = form else {
            let mut all = arguments(&[base, packed], &[ids, origins, levels, Some(merged)].map(optional));
            all.extend(sizes);
            all.push(int(side));
            all.extend(self.turns());
            all.push(int(usize::from(self.blends())));
            all.extend(self.weights(dtype));
            all.push(long(map.elements()));
            program.plain(FILE, "tile_unpack_reference", map.elements(), all);
            return program.finish();
        };
        let mut arguments = arguments(&[base, packed], &[ids.or(origins), levels, Some(merged)].map(optional));
        arguments.extend(sizes);
        arguments.extend(self.turns());
        arguments.extend(self.weights(dtype));
        let call = match &self.places {
            Places::OnGrid(tiles) => self.tuned_on_grid(tiles, dtype, config, &mut arguments),
            Places::Anywhere(_) => self.tuned_anywhere(dtype, config, &mut arguments),
        };
        program.launch(call, arguments);
        program.finish()
    }

    fn tuned_on_grid(&self, tiles: &Tiled, dtype: Dtype, config: LaunchConfig, arguments: &mut Vec<Argument>) -> Call {
        let vector = vector(config, dtype, self.tile_size);
        // To mix, both sides are read, so half as many places are in flight.
        let unroll = if self.blends() { config.unroll.div_ceil(2) } else { config.unroll };
        let vectors = (config.block * unroll * config.chunk) as usize;
        let bands = tiles.bands(vector as usize / dtype.bytes(), vectors);
        arguments.extend(bands.sizes().map(int));
        let defines = [
            ("BLOCK", config.block),
            ("VECTOR", vector),
            ("UNROLL", unroll),
            ("TILE", self.tile_size as u32),
            ("BLEND", u32::from(self.blends())),
        ];
        let tables = if self.blends() { 2 } else { 1 };
        let kernel = kernel(FILE, "tile_unpack", dtype, &defines);
        Call { kernel, grid: bands.grid, block: config.block, shared: tables * bands.cells * size_of::<i32>() }
    }

    fn tuned_anywhere(&self, dtype: Dtype, config: LaunchConfig, arguments: &mut Vec<Argument>) -> Call {
        let (map, LaunchConfig { block, unroll, chunk: group, .. }) = (self.map, config);
        let vector = vector(config, dtype, map.width);
        let (across, down) = (ACROSS * vector as usize / dtype.bytes(), block as usize / ACROSS);
        let patches = map.width.div_ceil(across) * map.height.div_ceil(down);
        arguments.push(int(group as usize));
        let defines = [
            ("BLOCK", block),
            ("VECTOR", vector),
            ("UNROLL", unroll),
            ("TILE", self.tile_size as u32),
            ("BLEND", u32::from(self.blends())),
            ("LIST", LIST),
        ];
        let kernel = kernel(FILE, "tile_unpack_anywhere", dtype, &defines);
        Call { kernel, grid: [patches, map.channels.div_ceil(group as usize), map.batch], block, shared: 0 }
    }

    /// The lowest level, and the bits of a turn below the level, which hold the place of a tile.
    fn turns(&self) -> [Argument; 2] {
        let lowest = self.levels.iter().flatten().min().copied().unwrap_or(0);
        let bits = (usize::BITS - self.per_sample().saturating_sub(1).leading_zeros()).max(1);
        [Argument::I32(lowest), Argument::I32(bits.cast_signed())]
    }

    /// The weights of the current pixel and of the new tile.
    fn weights(&self, dtype: Dtype) -> [Argument; 2] {
        let Overlap::Blend(factor) = self.overlap else { return [Argument::F32(0.0), Argument::F32(1.0)] };
        with_element!(dtype, T => {
            let (keep, take) = factor.weights::<T>();
            [Argument::F32(keep.to_f32()), Argument::F32(take.to_f32())]
        })
    }

    fn expected(&self, dtype: Dtype, inputs: &HostInputs) -> Result<Vec<ExpectedBuffer>, String> {
        let rule = LevelsRule { levels: self.levels.as_deref(), assume_priority_sorted: true, overlap: self.overlap };
        let (form, map) = (sprag_kernels::Form::Reference, self.map);
        // After base, packed tiles, ids or origins and, where there are any, levels.
        let merged = 3 + usize::from(self.levels.is_some());
        with_element!(dtype, T => {
            let (base, packed) = (inputs.elements::<T>(0)?, inputs.elements::<T>(1)?);
            let tiles = Tiles { packed: &packed, placement: self.placement(), tile_size: self.tile_size };
            let mut values = vec![T::default(); map.elements()];
            unpack_levels::run(form, Some(&base), map, &tiles, rule, &mut values, &mut UnpackScratch::default())
                .map_err(|error| error.to_string())?;
            Ok(vec![ExpectedBuffer::new(merged, &values, 0.0)])
        })
    }

    fn uneven(&self) -> Vec<Operation> {
        let overlap = self.overlap;
        let shapes: Vec<TileUnpack> = match self.places {
            Places::OnGrid(_) => tiled::uneven_tiles()
                .into_iter()
                .flat_map(|tiles| {
                    [Some(drawn_levels(tiles.ids().len(), 11)), None].map(|levels| (tiles.clone(), levels))
                })
                .filter_map(|(tiles, levels)| TileUnpack::on_grid(tiles, levels, overlap).ok())
                .collect(),
            Places::Anywhere(_) => {
                let with = |[batch, channels, rows, columns, side, count]: [usize; 6]| {
                    let map = MapShape { batch, channels, height: rows * side + 1, width: columns * side + 3 };
                    let origins = drawn_origins(map, side, count, 5);
                    let levels = drawn_levels(origins.len(), 11);
                    TileUnpack::anywhere(map, side, origins, Some(levels), overlap).ok()
                };
                // The last has more tiles in a patch than two lists hold.
                tiled::UNEVEN_MAPS.into_iter().chain([[1, 1, 2, 2, 8, 130]]).filter_map(with).collect()
            }
        };
        shapes.into_iter().map(TileUnpack::operation).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_tiles_are_refused() {
        let map = MapShape { batch: 2, channels: 1, height: 4, width: 5 };
        let check = |origins: &[(u32, u32)], tile_size: usize, levels: Option<Vec<i32>>, fits: bool| {
            let origins = origins.iter().map(|&(y, x)| Corner { y, x }).collect();
            let unpack = TileUnpack::anywhere(map, tile_size, origins, levels, Overlap::Override);
            assert_eq!(unpack.is_ok(), fits);
        };
        check(&[(0, 1), (0, 0)], 4, None, true);
        check(&[(0, 2), (0, 0)], 4, None, false);
        check(&[(1, 1), (0, 0)], 4, None, false);
        check(&[(0, 1)], 4, None, false);
        check(&[(0, 1), (0, 0)], 4, Some(vec![1]), false);
        check(&[], 0, None, false);
        assert!(drawn_origins(map, 5, 3, 1).is_empty());
        let tiles = tiled::uneven_tiles().remove(0);
        assert!(TileUnpack::on_grid(tiles, Some(vec![0]), Overlap::Override).is_err());
    }

    fn column(per_sample: usize, levels: Option<Vec<i32>>, overlap: Overlap) -> TileUnpack {
        let map = MapShape { batch: 1, channels: 1, height: 1, width: 100 };
        TileUnpack::anywhere(map, 1, vec![Corner::default(); per_sample], levels, overlap).unwrap()
    }

    #[test]
    fn turns_leave_room_for_every_place() {
        let check = |levels: Option<Vec<i32>>, per_sample: usize, lowest: i32, bits: i32| {
            let unpack = column(per_sample, levels, Overlap::Override);
            assert_eq!(unpack.turns(), [Argument::I32(lowest), Argument::I32(bits)]);
        };
        check(None, 0, 0, 1);
        check(None, 1, 0, 1);
        check(None, 2, 0, 1);
        check(Some(vec![3, -2, 1]), 3, -2, 2);
        check(Some(vec![5; 64]), 64, 5, 6);
        check(Some(vec![5; 65]), 65, 5, 7);
    }

    #[test]
    fn weights_are_rounded_to_the_element_type() {
        let unpack = column(0, None, Overlap::blend(0.3).unwrap());
        assert_eq!(unpack.weights(Dtype::F32), [Argument::F32(0.7), Argument::F32(0.3)]);
        assert_eq!(unpack.weights(Dtype::E4m3), [Argument::F32(0.6875), Argument::F32(0.3125)]);
    }
}
