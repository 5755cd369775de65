//! A map and the tiles of it that an operation takes.

use super::super::program::BufferSpec;
use super::launch;
use sprag_base::stats::random::SplitMix64;
use sprag_kernels::KernelError;
use sprag_kernels::shape::{Grid, MapShape};

/// A map and the ids of tiles of it, as many in each sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Tiled {
    map: MapShape,
    tile_size: usize,
    ids: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// Each at most once, in ascending order: what a selection gives. No more than there are tiles.
    Distinct,
    /// In no order; an id may repeat.
    Repeating,
}

/// How the columns of a row of tiles are shared out among blocks of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bands {
    /// Columns of tiles that a block takes; the last part of a row may have fewer.
    pub(super) cells: usize,
    pub(super) parts: usize,
    /// Channels that a block takes; the last group may have fewer.
    pub(super) group: usize,
    /// Blocks along x, y and z.
    pub(super) grid: [u32; 3],
}

/// The most columns of tiles of a block, which it notes in shared memory: at 8 bytes each a small part of it.
const MOST_CELLS: usize = 1024;

impl Tiled {
    /// The tiles of these ids, `[B,K]`.
    ///
    /// # Errors
    /// A tile size that does not divide the map, an empty map, ids that samples cannot share equally, an id outside the
    /// grid, more of a kind than 31 bits count.
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

    /// So many tiles a sample, drawn at random; what follows from equal seeds is equal.
    pub fn drawn(map: MapShape, tile_size: usize, count: usize, draw: Draw, seed: u64) -> Result<Self, KernelError> {
        let tiles = Grid::of_map(map, tile_size)?.tiles();
        let ids = (0..map.batch as u64).flat_map(|sample| ids(tiles, count, draw, seed.wrapping_add(sample)));
        Tiled::new(map, tile_size, ids.collect())
    }

    pub fn map(&self) -> MapShape {
        self.map
    }

    pub fn tile_size(&self) -> usize {
        self.tile_size
    }

    /// The ids, `[B,K]`.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    pub fn per_sample(&self) -> usize {
        self.ids.len() / self.map.batch
    }

    pub fn packed_elements(&self) -> usize {
        self.ids.len() * self.map.channels * self.tile_size * self.tile_size
    }

    pub(super) fn indices(&self) -> BufferSpec {
        launch::integers("indices", self.ids.iter().map(|id| id.cast_signed()).collect())
    }

    /// How blocks of so many vectors share out the map, where a vector has so many elements.
    pub(super) fn bands(&self, elements_of_vector: usize, vectors_of_block: usize) -> Bands {
        let MapShape { batch, channels, height, width } = self.map;
        let columns = width / self.tile_size;
        let cells = columns.min(MOST_CELLS);
        let parts = columns.div_ceil(cells);
        let vectors = (cells * self.tile_size * self.tile_size / elements_of_vector).max(1);
        let group = (vectors_of_block / vectors).clamp(1, channels);
        let rows = height / self.tile_size;
        let grid = [rows * parts, channels.div_ceil(group), batch].map(launch::count);
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
        assert_eq!(Tiled::drawn(MAP, 2, 99, Draw::Distinct, 9).unwrap().per_sample(), 12);
        assert_eq!(Tiled::drawn(MAP, 2, 99, Draw::Repeating, 9).unwrap().per_sample(), 99);
        assert_eq!(Tiled::drawn(MAP, 2, 0, Draw::Repeating, 9).unwrap().packed_elements(), 0);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
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
    fn blocks_together_take_all_columns_rows_and_channels() {
        for (height, width, tile_size) in [(4, 4, 2), (3, 4099, 1), (8, 2048, 2), (16, 16, 16)] {
            for channels in [1, 3, 64] {
                for vectors in [1, 256, 100_000] {
                    let map = MapShape { batch: 2, channels, height, width };
                    let tiled = Tiled::new(map, tile_size, Vec::new()).unwrap();
                    let Bands { cells, parts, group, grid } = tiled.bands(tile_size.min(4), vectors);
                    let (columns, rows) = (width / tile_size, height / tile_size);
                    assert!(parts * cells >= columns && (parts - 1) * cells < columns && cells <= MOST_CELLS);
                    let groups = grid[1] as usize;
                    assert!(groups * group >= channels && (groups - 1) * group < channels);
                    assert_eq!((grid[0] as usize, grid[2]), (rows * parts, 2));
                }
            }
        }
    }
}
