//! Orders of tiles: along a Hilbert curve or by scan direction.
//!
//! Every order sorts tile ids by a rank of their grid position and is stable, so duplicates and ties keep the order
//! in which they were given. With row `ty` and column `tx` on a grid of `gh` by `gw`:
//!
//! - `hilbert`: the distance along the Hilbert curve of the smallest power-of-two square that holds the grid;
//! - `l2r`, `r2l`: by `(ty, tx)`, by `(ty, -tx)`; `u2d`, `d2u`: by `(tx, ty)`, by `(tx, -ty)`;
//! - `multi_direction`: the sum of the ranks in those four, `2 ty gw + (gw-1) + 2 tx gh + (gh-1)`.
//!
//! The Hilbert distance follows the classic bit-by-bit walk from the coarsest quadrant to the finest (D. Hilbert,
//! Mathematische Annalen 38, 1891).

use super::KernelError;
use super::shape::Grid;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OrderMode {
    #[default]
    Hilbert,
    /// By the sum of the ranks of the four scans.
    MultiDirection,
    LeftToRight,
    RightToLeft,
    /// Column by column, top to bottom.
    UpToDown,
    /// Column by column, bottom to top.
    DownToUp,
}

impl OrderMode {
    /// The order of that name or alias; white space and case do not matter.
    pub fn parse(name: &str) -> Result<Self, KernelError> {
        match name.trim().to_lowercase().as_str() {
            "hilbert" => Ok(OrderMode::Hilbert),
            "multi_direction" => Ok(OrderMode::MultiDirection),
            "l2r" | "lr" | "scan_lr" => Ok(OrderMode::LeftToRight),
            "r2l" | "rl" | "scan_rl" => Ok(OrderMode::RightToLeft),
            "u2d" | "ud" | "scan_ud" => Ok(OrderMode::UpToDown),
            "d2u" | "du" | "scan_du" => Ok(OrderMode::DownToUp),
            _ => Err(KernelError::OrderMode(name.to_owned())),
        }
    }
}

/// Sorts tile ids in place.
pub fn order(indices: &mut [u32], grid: Grid, mode: OrderMode) -> Result<(), KernelError> {
    grid.check(indices)?;
    indices.sort_by_key(|&index| rank(index, grid, mode));
    Ok(())
}

/// Sorts each of the `batch` rows of `indices`, `[B,K]`, in place.
pub fn order_rows(indices: &mut [u32], batch: usize, grid: Grid, mode: OrderMode) -> Result<(), KernelError> {
    let tiles = super::shape::per_sample("indices", indices.len(), batch)?;
    grid.check(indices)?;
    for row in indices.chunks_exact_mut(tiles.max(1)) {
        row.sort_by_key(|&index| rank(index, grid, mode));
    }
    Ok(())
}

/// Distance of column `x`, row `y` along the Hilbert curve of a square of `side` by `side`.
pub fn hilbert_distance(side: u32, x: u32, y: u32) -> Result<u64, KernelError> {
    if !side.is_power_of_two() || x >= side || y >= side {
        return Err(KernelError::HilbertPoint { side, x, y });
    }
    Ok(hilbert_rank(u64::from(side), u64::from(x), u64::from(y)))
}

/// The sort key. Two positions share a rank only under `MultiDirection`.
fn rank(index: u32, grid: Grid, mode: OrderMode) -> u64 {
    let (row, column) = grid.position(index);
    let (y, x) = (u64::from(row), u64::from(column));
    let (height, width) = (u64::from(grid.height()), u64::from(grid.width()));
    match mode {
        OrderMode::Hilbert => hilbert_rank(height.max(width).next_power_of_two(), x, y),
        OrderMode::MultiDirection => 2 * y * width + (width - 1) + 2 * x * height + (height - 1),
        OrderMode::LeftToRight => y * width + x,
        OrderMode::RightToLeft => y * width + (width - 1 - x),
        OrderMode::UpToDown => x * height + y,
        OrderMode::DownToUp => x * height + (height - 1 - y),
    }
}

fn hilbert_rank(side: u64, mut x: u64, mut y: u64) -> u64 {
    let mut distance = 0;
    let mut half = side / 2;
    while half > 0 {
        let right = u64::from(x & half > 0);
        let lower = u64::from(y & half > 0);
        distance += half * half * ((3 * right) ^ lower);
        x &= half - 1;
        y &= half - 1;
        if lower == 0 {
            if right == 1 {
                (x, y) = (half - 1 - x, half - 1 - y);
            }
            std::mem::swap(&mut x, &mut y);
        }
        half /= 2;
    }
    distance
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rows_are_ordered_apart() {
        let grid = Grid::new(2, 2).unwrap();
        let mut indices = [1, 3, 2, 0];
        order_rows(&mut indices, 2, grid, OrderMode::Hilbert).unwrap();
        assert_eq!(indices, [3, 1, 0, 2]);
        assert!(order_rows(&mut indices, 3, grid, OrderMode::Hilbert).is_err());
        assert_eq!(order_rows(&mut [], 3, grid, OrderMode::Hilbert), Ok(()));
    }

    #[test]
    fn unknown_modes_ids_and_points_are_refused() {
        assert_eq!(OrderMode::parse("zigzag"), Err(KernelError::OrderMode("zigzag".to_owned())));
        let grid = Grid::new(2, 2).unwrap();
        assert!(order(&mut [4], grid, OrderMode::Hilbert).is_err());
        for (side, x, y) in [(3, 0, 0), (0, 0, 0), (4, 4, 0), (4, 0, 4)] {
            assert_eq!(hilbert_distance(side, x, y), Err(KernelError::HilbertPoint { side, x, y }));
        }
    }

    proptest! {
        /// A Hilbert curve visits every cell once and steps to a neighbour each time.
        #[test]
        fn the_hilbert_curve_is_a_walk(bits in 0u32..6) {
            let side = 1 << bits;
            let mut cells: Vec<(u64, u32, u32)> = (0..side)
                .flat_map(|y| (0..side).map(move |x| (hilbert_distance(side, x, y).unwrap(), x, y)))
                .collect();
            cells.sort_unstable();
            for (step, cell) in cells.iter().enumerate() {
                prop_assert_eq!(cell.0, step as u64);
            }
            for pair in cells.windows(2) {
                prop_assert_eq!(pair[0].1.abs_diff(pair[1].1) + pair[0].2.abs_diff(pair[1].2), 1);
            }
        }
    }
}
