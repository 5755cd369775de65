//! Maps and their tiles that operations take: those of the profiles, which are timed, and uneven ones, which are checked.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::gpu::operation::kernel::{
    Call, Code, Operation, ProgramBuilder, arguments, exact, int, kernel, long, moves, vector, with_element,
};
use crate::gpu::operation::{ExpectedBuffer, GpuForm, HostInputs, LaunchConfig};
use crate::gpu::program::{Argument, DeviceProgram, Dtype};
use crate::gpu::settings::Profile;
use sprag_base::stats::random::SplitMix64;
use sprag_kernels::KernelError;
use sprag_kernels::fused::{self, Affine, FusedChoice, Scratch};
use sprag_kernels::shape::{Grid, MapShape};
use sprag_kernels::tile::{Overlap, pack};

/// The seed of the ids of the timed shapes, as in Apex-X's suite: that of the suite and one more.
pub(super) const IDS_SEED: u64 = 124;

const BLEND: f64 = 0.35;

/// Maps that nothing divides evenly: batch, channels, rows and columns of tiles, side of a tile, tiles taken.
pub(super) const UNEVEN_MAPS: [[usize; 6]; 7] = [
    [1, 2, 1, 1030, 1, 9],
    [1, 3, 2, 2, 8, 0],
    [2, 5, 3, 4, 3, 5],
    [1, 7, 2, 3, 8, 3],
    [3, 1, 4, 4, 1, 20],
    [1, 33, 3, 5, 16, 7],
    [2, 3, 1, 1, 6, 1],
];

/// A map and ids of its tiles, as many in each sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Tiled {
    map: MapShape,
    tile_size: usize,
    ids: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// Each at most once, in ascending order, as a selection gives them.
    Distinct,
    /// In no order; an id may repeat.
    Repeating,
}

/// How blocks of threads share the columns of a row of tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bands {
    /// Columns of tiles of a block; the last part of a row may have fewer.
    pub(super) cells: usize,
    parts: usize,
    /// Channels of a block; the last group may have fewer.
    group: usize,
    pub(super) grid: [usize; 3],
}

/// The most columns of tiles of a block, which take 8 bytes of shared memory each.
const MOST_CELLS: usize = 1024;

/// What the second-level cache reads from memory at once, in bytes: the default of `cudaLimitMaxL2FetchGranularity`.
const PIECE: usize = 64;

impl Bands {
    /// Cells, parts and group, as kernels take them.
    pub(super) fn sizes(&self) -> [usize; 3] {
        [self.cells, self.parts, self.group]
    }
}

impl Tiled {
    /// The tiles of these ids, `[B,K]`.
    pub fn new(map: MapShape, tile_size: usize, ids: Vec<u32>) -> Result<Self, KernelError> {
        let grid = Grid::of_map(map, tile_size)?;
        grid.check(&ids)?;
        let sizes = [map.batch, map.channels, map.height, map.width, ids.len(), grid.tiles() as usize];
        if map.elements() == 0 || sizes.iter().any(|&size| i32::try_from(size).is_err()) {
            return Err(KernelError::Empty { what: "map" });
        }
        if !ids.len().is_multiple_of(map.batch) {
            return Err(KernelError::Rows { what: "indices", batch: map.batch, got: ids.len() });
        }
        Ok(Tiled { map, tile_size, ids })
    }

    /// `count` random tiles a sample.
    pub fn drawn(map: MapShape, tile_size: usize, count: usize, draw: Draw, seed: u64) -> Result<Self, KernelError> {
        let tiles = Grid::of_map(map, tile_size)?.tiles();
        let ids = (0..map.batch as u64).flat_map(|sample| ids(tiles, count, draw, seed.wrapping_add(sample)));
        Tiled::new(map, tile_size, ids.collect())
    }

    /// The tiles of a profile, unless its map has none.
    pub(super) fn of_profile(profile: &Profile) -> Option<Tiled> {
        let (side, count) = (profile.tile_size as usize, profile.kmax as usize);
        Tiled::drawn(profile.map(), side, count, Draw::Distinct, IDS_SEED).ok()
    }

    pub fn map(&self) -> MapShape {
        self.map
    }

    pub fn tile_size(&self) -> usize {
        self.tile_size
    }

    /// `[B,K]`.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    pub(super) fn per_sample(&self) -> usize {
        self.ids.len() / self.map.batch
    }

    pub(super) fn packed_elements(&self) -> usize {
        self.ids.len() * self.map.channels * self.tile_size * self.tile_size
    }

    /// What reading the tiles moves, in bytes: the pieces of memory in which they lie, each once.
    pub(super) fn bytes_read(&self, dtype: Dtype) -> usize {
        self.bytes_of(self.placed(), dtype)
    }

    /// What reading all other tiles of the map moves, in bytes.
    pub(super) fn bytes_of_others(&self, dtype: Dtype) -> usize {
        let placed: BTreeSet<(usize, usize)> = self.placed().collect();
        let tiles = self.map.height / self.tile_size * (self.map.width / self.tile_size);
        let all = (0..self.map.batch).flat_map(|sample| (0..tiles).map(move |id| (sample, id)));
        self.bytes_of(all.filter(|tile| !placed.contains(tile)), dtype)
    }

    /// The sample and id of each tile.
    fn placed(&self) -> impl Iterator<Item = (usize, usize)> {
        self.ids.iter().enumerate().map(|(place, id)| (place / self.per_sample(), *id as usize))
    }

    /// Rows of the map begin at pieces of their own.
    fn bytes_of(&self, tiles: impl Iterator<Item = (usize, usize)>, dtype: Dtype) -> usize {
        let (columns, row) = (self.map.width / self.tile_size, self.tile_size * dtype.bytes());
        let pieces = tiles.flat_map(|(sample, id)| {
            let start = id % columns * row;
            (start / PIECE..=(start + row - 1) / PIECE).map(move |piece| (sample, id / columns, piece))
        });
        pieces.collect::<BTreeSet<_>>().len() * PIECE * self.tile_size * self.map.channels
    }

    pub(super) fn indices(&self) -> Vec<i32> {
        self.ids.iter().map(|id| id.cast_signed()).collect()
    }

    pub(super) fn params(&self) -> Vec<(&'static str, String)> {
        let mut params = self.map.params();
        params.extend([("t", self.tile_size.to_string()), ("k", self.per_sample().to_string())]);
        params
    }

    /// How blocks of so many vectors share the map.
    pub(super) fn bands(&self, elements_of_vector: usize, vectors_of_block: usize) -> Bands {
        let MapShape { batch, channels, height, width } = self.map;
        let columns = width / self.tile_size;
        let cells = columns.min(MOST_CELLS);
        let parts = columns.div_ceil(cells);
        let vectors = (cells * self.tile_size * self.tile_size / elements_of_vector).max(1);
        let group = (vectors_of_block / vectors).clamp(1, channels);
        let grid = [height / self.tile_size * parts, channels.div_ceil(group), batch];
        Bands { cells, parts, group, grid }
    }
}

fn ids(tiles: u32, count: usize, draw: Draw, seed: u64) -> Vec<u32> {
    let mut random = SplitMix64::new(seed);
    match draw {
        Draw::Distinct => {
            let mut ids: Vec<u32> = (0..tiles).collect();
            random.shuffle(&mut ids);
            ids.truncate(count);
            ids.sort_unstable();
            ids
        }
        Draw::Repeating => (0..count).map(|_| random.below(tiles as usize) as u32).collect(),
    }
}

pub(super) fn overlaps() -> [Overlap; 2] {
    [Overlap::Override, Overlap::blend(BLEND).expect("the factor lies between zero and one")]
}

/// Tiles that nothing divides evenly, distinct and repeating.
pub(super) fn uneven_tiles() -> Vec<Tiled> {
    let draws = [Draw::Distinct, Draw::Repeating];
    UNEVEN_MAPS.into_iter().flat_map(|sizes| draws.into_iter().filter_map(move |draw| uneven(sizes, draw))).collect()
}

pub(super) fn uneven([batch, channels, rows, columns, side, count]: [usize; 6], draw: Draw) -> Option<Tiled> {
    let map = MapShape { batch, channels, height: rows * side, width: columns * side };
    Tiled::drawn(map, side, count, draw, 7).ok()
}

/// The untuned configuration first. Here `chunk` is the tiles that a warp reads together.
const PACK_CANDIDATES: &[LaunchConfig] = &[
    LaunchConfig::new(256, 16, 4, 8),
    LaunchConfig::new(256, 16, 4, 1),
    LaunchConfig::new(256, 16, 2, 2),
    LaunchConfig::new(128, 16, 4, 4),
    LaunchConfig::new(256, 16, 4, 16),
    LaunchConfig::new(128, 16, 1, 4),
    LaunchConfig::new(256, 16, 4, 2),
    LaunchConfig::new(256, 8, 4, 1),
];

const PACK_FILE: &str = "tile_pack.cu";

const MAP: usize = 0;
const INDICES: usize = 1;
const PACKED: usize = 2;

pub(super) fn packs(profile: &Profile) -> Vec<Operation> {
    Tiled::of_profile(profile).into_iter().map(tile_pack).collect()
}

pub fn tile_pack(tiles: Tiled) -> Operation {
    let of = tiles.clone();
    Operation {
        name: "tile_pack",
        params: tiles.params(),
        work: ("tiles_per_s", tiles.ids().len() as f64),
        bytes_moved: Some(Rc::new(move |dtype| of.bytes_read(dtype) + of.packed_elements() * dtype.bytes())),
        candidates: PACK_CANDIDATES.to_vec(),
        tolerance: exact,
        selection: None,
        code: Code::new(tiles, pack_program, pack_expected, |_| uneven_tiles().into_iter().map(tile_pack).collect()),
    }
}

fn pack_program(tiles: &Tiled, dtype: Dtype, form: GpuForm) -> DeviceProgram {
    let (map, packed, side) = (tiles.map(), tiles.packed_elements(), tiles.tile_size());
    let mut program = ProgramBuilder::new(dtype);
    let places = [
        program.normal("map", map.elements()),
        program.integers("indices", tiles.indices()),
        program.output("packed", packed),
    ];
    let sizes = [tiles.per_sample(), map.channels, map.height, map.width].map(int);
    let mut arguments = arguments(&places, &sizes);
    match form {
        _ if packed == 0 => {}
        GpuForm::Reference => {
            arguments.extend([int(side), long(packed)]);
            program.plain(PACK_FILE, "tile_pack_reference", packed, arguments);
        }
        GpuForm::Tuned(config) => {
            let LaunchConfig { block, unroll, chunk: group, .. } = config;
            let vector = vector(config, dtype, side);
            let vectors = map.channels * side * side * dtype.bytes() / vector as usize;
            let step = (block / group * unroll) as usize;
            let grid = [tiles.per_sample().div_ceil(group as usize), vectors.div_ceil(step), map.batch];
            let defines =
                [("BLOCK", block), ("VECTOR", vector), ("UNROLL", unroll), ("GROUP", group), ("TILE", side as u32)];
            let kernel = kernel(PACK_FILE, "tile_pack", dtype, &defines);
            program.launch(Call { kernel, grid, block, shared: 0 }, arguments);
        }
    }
    program.finish()
}

fn pack_expected(tiles: &Tiled, dtype: Dtype, inputs: &HostInputs) -> Result<Vec<ExpectedBuffer>, String> {
    let indices = inputs.ids(INDICES)?;
    with_element!(dtype, T => {
        let map = inputs.elements::<T>(MAP)?;
        let mut packed = vec![T::default(); tiles.packed_elements()];
        pack::run(sprag_kernels::Form::Reference, &map, tiles.map(), tiles.tile_size(), &indices, &mut packed)
            .map_err(|error| error.to_string())?;
        Ok(vec![ExpectedBuffer::new(PACKED, &packed, 0.0)])
    })
}

/// The untuned configuration first. Here a block has `chunk` times as many vectors as its threads have in flight together.
const FUSED_CANDIDATES: &[LaunchConfig] = &[
    LaunchConfig::new(256, 16, 4, 1),
    LaunchConfig::new(256, 16, 2, 2),
    LaunchConfig::new(128, 16, 4, 1),
    LaunchConfig::new(256, 16, 4, 4),
    LaunchConfig::new(256, 16, 4, 16),
    LaunchConfig::new(512, 16, 2, 4),
    LaunchConfig::new(256, 8, 4, 4),
];

/// Scales and biases that exercise every part of the gate.
const AFFINE: Affine = Affine { value_scale: 1.25, value_bias: 0.1, gate_scale: 0.75, gate_bias: 0.2 };

const FUSED_FILE: &str = "fused.cu";

const MERGED: usize = 2;

pub(super) fn fused(profile: &Profile) -> Vec<Operation> {
    Tiled::of_profile(profile).into_iter().map(fused_pack_op_unpack).collect()
}

fn fused_pack_op_unpack(tiles: Tiled) -> Operation {
    Operation {
        name: "fused_pack_op_unpack",
        params: tiles.params(),
        work: ("tiles_per_s", tiles.ids().len() as f64),
        bytes_moved: moves(2 * tiles.map().elements()),
        candidates: FUSED_CANDIDATES.to_vec(),
        tolerance: exact,
        selection: None,
        // Its tiles are distinct.
        code: Code::new(tiles, fused_program, fused_expected, |_| {
            let tiles = UNEVEN_MAPS.into_iter().filter_map(|sizes| uneven(sizes, Draw::Distinct));
            tiles.map(fused_pack_op_unpack).collect()
        }),
    }
}

fn fused_program(tiles: &Tiled, dtype: Dtype, form: GpuForm) -> DeviceProgram {
    let (map, side) = (tiles.map(), tiles.tile_size());
    let mut program = ProgramBuilder::new(dtype);
    let places = [
        program.normal("map", map.elements()),
        program.integers("indices", tiles.indices()),
        program.output("merged", map.elements()),
    ];
    let Affine { value_scale, value_bias, gate_scale, gate_bias } = AFFINE;
    let affine = [value_scale, value_bias, gate_scale, gate_bias].map(Argument::F32);
    let sizes = [tiles.per_sample(), map.channels, map.height, map.width].map(int);
    let mut arguments = arguments(&places, &sizes);
    match form {
        GpuForm::Reference => {
            arguments.push(int(side));
            arguments.extend(affine);
            arguments.push(long(map.elements()));
            program.plain(FUSED_FILE, "fused_reference", map.elements(), arguments);
        }
        GpuForm::Tuned(config) => {
            let LaunchConfig { block, unroll, chunk, .. } = config;
            let vector = vector(config, dtype, side);
            let bands = tiles.bands(vector as usize / dtype.bytes(), (block * unroll * chunk) as usize);
            arguments.extend(affine);
            arguments.extend(bands.sizes().map(int));
            let defines = [("BLOCK", block), ("VECTOR", vector), ("UNROLL", unroll), ("TILE", side as u32)];
            let kernel = kernel(FUSED_FILE, "fused", dtype, &defines);
            let shared = bands.cells * size_of::<i32>();
            program.launch(Call { kernel, grid: bands.grid, block, shared }, arguments);
        }
    }
    program.finish()
}

fn fused_expected(tiles: &Tiled, dtype: Dtype, inputs: &HostInputs) -> Result<Vec<ExpectedBuffer>, String> {
    let indices = inputs.ids(INDICES)?;
    let choice = FusedChoice { indices: &indices, tile_size: tiles.tile_size(), require_unique: false };
    let (form, shape) = (sprag_kernels::Form::Reference, tiles.map());
    with_element!(dtype, T => {
        let map = inputs.elements::<T>(MAP)?;
        let mut merged = vec![T::default(); shape.elements()];
        fused::run(form, &map, shape, &choice, &AFFINE, &mut merged, &mut Scratch::default())
            .map_err(|error| error.to_string())?;
        Ok(vec![ExpectedBuffer::new(MERGED, &merged, 0.0)])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: MapShape = MapShape { batch: 2, channels: 3, height: 6, width: 8 };

    #[test]
    fn tiles_are_drawn_as_asked_and_follow_from_the_seed() {
        let tiled = Tiled::drawn(MAP, 2, 5, Draw::Distinct, 9).unwrap();
        assert_eq!((tiled.per_sample(), tiled.ids().len(), tiled.packed_elements()), (5, 10, 120));
        assert!(tiled.ids().chunks(5).all(|row| row.windows(2).all(|pair| pair[0] < pair[1])));
        assert_eq!(Tiled::drawn(MAP, 2, 5, Draw::Distinct, 9), Ok(tiled.clone()));
        assert_ne!(Tiled::drawn(MAP, 2, 5, Draw::Distinct, 10), Ok(tiled));
        let count = |count, draw| Tiled::drawn(MAP, 2, count, draw, 9).unwrap().per_sample();
        let counts = [count(99, Draw::Distinct), count(99, Draw::Repeating), count(0, Draw::Repeating)];
        assert_eq!(counts, [12, 99, 0]);
    }

    #[test]
    fn invalid_tiles_are_refused() {
        let check = |map: MapShape, tile_size: usize, ids: &[u32]| {
            assert!(Tiled::new(map, tile_size, ids.to_vec()).is_err(), "{map:?} {tile_size} {ids:?}");
        };
        check(MAP, 4, &[]);
        check(MAP, 0, &[]);
        check(MAP, 2, &[0, 12]);
        check(MAP, 2, &[0, 1, 2]);
        check(MapShape { batch: 0, ..MAP }, 2, &[]);
        check(MapShape { channels: 0, ..MAP }, 2, &[]);
        check(MapShape { channels: 1 << 31, ..MAP }, 2, &[]);
    }

    #[test]
    fn tiles_in_one_piece_of_memory_are_read_once() {
        let check = |ids: &[u32], dtype, pieces: usize| {
            let map = MapShape { batch: 1, channels: 3, height: 16, width: 64 };
            let tiled = Tiled::new(map, 8, ids.to_vec()).unwrap();
            assert_eq!(tiled.bytes_read(dtype), pieces * PIECE * 8 * 3, "{ids:?} {dtype:?}");
        };
        check(&[], Dtype::F16, 0);
        check(&[0, 3], Dtype::F16, 1);
        check(&[3, 4], Dtype::F16, 2);
        check(&[0, 8], Dtype::F16, 2);
        check(&[0, 1], Dtype::F32, 1);
        check(&[1, 2], Dtype::F32, 2);
        check(&[0, 7], Dtype::E4m3, 1);
        let map = MapShape { batch: 2, channels: 3, height: 16, width: 64 };
        let tiled = Tiled::new(map, 8, [[0, 1, 2, 3], [4, 5, 6, 8]].concat()).unwrap();
        // Of eight pieces of four tiles, the first has none of the others.
        assert_eq!(tiled.bytes_of_others(Dtype::F16), 7 * PIECE * 8 * 3);
    }
}
