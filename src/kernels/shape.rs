//! Shapes of maps, packed tiles and tile grids, and the checks that slices match them.

use super::KernelError;

/// The shape of a map: `[B,C,H,W]`, row-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapShape {
    pub batch: usize,
    pub channels: usize,
    pub height: usize,
    pub width: usize,
}

impl MapShape {
    pub fn plane(self) -> usize {
        self.height.saturating_mul(self.width)
    }

    pub fn elements(self) -> usize {
        self.pixels().saturating_mul(self.channels)
    }

    /// Pixels of all samples, B * H * W: the elements of a priority map or of a proxy.
    pub fn pixels(self) -> usize {
        self.plane().saturating_mul(self.batch)
    }

    #[inline(always)]
    pub fn at(self, sample: usize, channel: usize, y: usize, x: usize) -> usize {
        ((sample * self.channels + channel) * self.height + y) * self.width + x
    }

    /// The parameters of a benchmark over such a map.
    pub fn params(self) -> Vec<(&'static str, String)> {
        let MapShape { batch, channels, height, width } = self;
        let sizes = [("b", batch), ("c", channels), ("h", height), ("w", width)];
        sizes.map(|(name, size)| (name, size.to_string())).to_vec()
    }

    pub(super) fn check(self) -> Result<(), KernelError> {
        let axes = [self.batch, self.channels, self.height, self.width];
        if axes.contains(&0) { Err(KernelError::Empty { what: "map" }) } else { Ok(()) }
    }
}

/// A grid of tiles. It has at least one tile, and `u32` counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    height: u32,
    width: u32,
}

impl Grid {
    pub fn new(height: u32, width: u32) -> Result<Self, KernelError> {
        match height.checked_mul(width) {
            None | Some(0) => Err(KernelError::Empty { what: "grid" }),
            Some(_) => Ok(Grid { height, width }),
        }
    }

    /// The grid of a map cut into square tiles of `tile_size` pixels a side.
    pub fn of_map(shape: MapShape, tile_size: usize) -> Result<Self, KernelError> {
        let MapShape { height, width, .. } = shape;
        if tile_size == 0 || !height.is_multiple_of(tile_size) || !width.is_multiple_of(tile_size) {
            return Err(KernelError::TileSize { tile_size, height, width });
        }
        let too_large = |_| KernelError::Empty { what: "grid" };
        let rows = u32::try_from(height / tile_size).map_err(too_large)?;
        Grid::new(rows, u32::try_from(width / tile_size).map_err(too_large)?)
    }

    pub fn height(self) -> u32 {
        self.height
    }

    pub fn width(self) -> u32 {
        self.width
    }

    pub fn tiles(self) -> u32 {
        self.height * self.width
    }

    #[inline(always)]
    pub fn position(self, index: u32) -> (u32, u32) {
        (index / self.width, index % self.width)
    }

    pub fn check(self, indices: &[u32]) -> Result<(), KernelError> {
        let tiles = self.tiles();
        match indices.iter().find(|&&index| index >= tiles) {
            Some(&index) => Err(KernelError::TileIndex { index, tiles }),
            None => Ok(()),
        }
    }
}

pub(super) fn check_length(what: &'static str, got: usize, expected: usize) -> Result<(), KernelError> {
    if got == expected { Ok(()) } else { Err(KernelError::Length { what, expected, got }) }
}

/// Elements a sample of a list that all samples share equally; refuses a list that they cannot.
pub(super) fn per_sample(what: &'static str, got: usize, batch: usize) -> Result<usize, KernelError> {
    if batch == 0 || !got.is_multiple_of(batch) { Err(KernelError::Rows { what, batch, got }) } else { Ok(got / batch) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_needs_tiles_that_divide_the_map() {
        let shape = MapShape { batch: 1, channels: 2, height: 6, width: 4 };
        let grid = Grid::of_map(shape, 2).unwrap();
        assert_eq!((grid.height(), grid.width(), grid.tiles()), (3, 2, 6));
        assert_eq!(grid.position(5), (2, 1));
        assert_eq!(grid.check(&[0, 6]), Err(KernelError::TileIndex { index: 6, tiles: 6 }));
        for tile_size in [0, 4, 7] {
            assert_eq!(Grid::of_map(shape, tile_size), Err(KernelError::TileSize { tile_size, height: 6, width: 4 }));
        }
        assert_eq!(Grid::of_map(MapShape { height: 0, ..shape }, 2), Err(KernelError::Empty { what: "grid" }));
        assert_eq!(Grid::new(1 << 16, 1 << 16), Err(KernelError::Empty { what: "grid" }));
    }

    #[test]
    fn lists_are_shared_equally_or_refused() {
        assert_eq!(per_sample("indices", 6, 2), Ok(3));
        assert_eq!(per_sample("indices", 0, 2), Ok(0));
        assert_eq!(per_sample("indices", 5, 2), Err(KernelError::Rows { what: "indices", batch: 2, got: 5 }));
        assert!(MapShape { batch: 0, channels: 1, height: 1, width: 1 }.check().is_err());
    }
}
