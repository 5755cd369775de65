//! The quadtree of tiles: a tile of one level covers four tiles of half the side on the next.
//!
//! The finer grid has twice the rows and columns. The children of `(ty, tx)` are `(2ty, 2tx)`, `(2ty, 2tx+1)`,
//! `(2ty+1, 2tx)`, `(2ty+1, 2tx+1)`, in that order.

use super::KernelError;
use super::shape::Grid;

pub const CHILDREN: usize = 4;

pub fn finer(grid: Grid) -> Result<Grid, KernelError> {
    match (grid.height().checked_mul(2), grid.width().checked_mul(2)) {
        (Some(height), Some(width)) => Grid::new(height, width),
        _ => Err(KernelError::Empty { what: "grid" }),
    }
}

/// Ids of the four children of `parent` on the finer grid.
pub fn children(parent: u32, grid: Grid) -> Result<[u32; CHILDREN], KernelError> {
    grid.check(&[parent])?;
    let width = finer(grid)?.width();
    let (row, column) = grid.position(parent);
    let first = 2 * row * width + 2 * column;
    Ok([first, first + 1, first + width, first + width + 1])
}

/// Ids of the sixteen grandchildren of `parent`, two levels down, in the order of its children.
pub fn descendants(parent: u32, grid: Grid) -> Result<[u32; CHILDREN * CHILDREN], KernelError> {
    let next = finer(grid)?;
    let mut ids = [0; CHILDREN * CHILDREN];
    for (slots, child) in ids.chunks_exact_mut(CHILDREN).zip(children(parent, grid)?) {
        slots.copy_from_slice(&children(child, next)?);
    }
    Ok(ids)
}

/// Id of the tile of `grid` that covers `child`, a tile of the next finer grid.
pub fn parent(child: u32, grid: Grid) -> Result<u32, KernelError> {
    let next = finer(grid)?;
    next.check(&[child])?;
    let (row, column) = next.position(child);
    Ok(row / 2 * grid.width() + column / 2)
}

/// Refuses a child that does not have half the side of its parent.
pub fn check_halving(parent_size: usize, child_size: usize) -> Result<(), KernelError> {
    if child_size > 0 && parent_size == child_size * 2 {
        return Ok(());
    }
    Err(KernelError::TileHalving { parent: parent_size, child: child_size })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_tile_covers_four_and_sixteen() {
        let grid = Grid::new(2, 2).unwrap();
        assert_eq!(children(3, grid), Ok([10, 11, 14, 15]));
        assert_eq!(descendants(0, grid), Ok([0, 1, 8, 9, 2, 3, 10, 11, 16, 17, 24, 25, 18, 19, 26, 27]));
        assert_eq!(children(4, grid), Err(KernelError::TileIndex { index: 4, tiles: 4 }));
        assert!(parent(16, grid).is_err());
        assert!(finer(Grid::new(1 << 15, 1 << 15).unwrap()).is_err());
    }

    #[test]
    fn tile_sizes_halve() {
        assert_eq!(check_halving(16, 8), Ok(()));
        for (parent, child) in [(16, 4), (15, 7), (0, 0)] {
            assert_eq!(check_halving(parent, child), Err(KernelError::TileHalving { parent, child }));
        }
    }

    proptest! {
        #[test]
        fn the_children_of_all_tiles_are_all_finer_tiles(height in 1u32..9, width in 1u32..9) {
            let grid = Grid::new(height, width).unwrap();
            let mut all = Vec::new();
            for tile in 0..grid.tiles() {
                for child in children(tile, grid).unwrap() {
                    prop_assert_eq!(parent(child, grid), Ok(tile));
                    all.push(child);
                }
            }
            all.sort_unstable();
            prop_assert_eq!(all, (0..finer(grid).unwrap().tiles()).collect::<Vec<_>>());
        }
    }
}
