//! TileUnpack with a level a tile: tiles are applied from the lowest level to the highest, within a level in order.
//!
//! `merged` starts as a copy of `base`, or, in place, as what it holds; the tiles of a sample are applied by ascending
//! `(level - lowest level of the call, k)`, or by k alone without levels. With `override` the last applied wins; with
//! `blend` each is mixed over what stands there. Level and position must fit one 32-bit key,
//! `(level - lowest) << bits | k` with `bits = max(1, bit length of K-1)`, because implementations on a device decide
//! the winner by an atomic maximum.
//!
//! Channels do not touch one another, so the quick forms may take them in blocks: a block of planes is copied and, while
//! it is in the cache, all tiles are applied to it in their order. Maps are `[B,C,H,W]`, tiles `[B,K,C,t,t]`.

mod application;
mod scatter;

use super::super::KernelError;
use super::super::element::Element;
use super::super::shape::MapShape;
use super::{Overlap, Tiles};
use application::{by_place, by_turn, check};
use scatter::{Scatter, scatter_pixels};

pub use super::config::Config;
pub use application::Scratch;

/// The configurations worth trying, the usual one first.
pub const CANDIDATES: &[Config] =
    &[Config { channel_block: 0 }, Config { channel_block: 32 }, Config { channel_block: 4 }];

/// How a call writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule<'a> {
    /// A level a tile, `[B,K]`, of any sign.
    pub levels: Option<&'a [i32]>,
    /// Whether tiles without levels may be taken in the order given.
    pub assume_priority_sorted: bool,
    /// What a covered pixel becomes.
    pub overlap: Overlap,
}

/// Scatters tile by tile, pixel by pixel.
///
/// # Errors
/// An empty shape, a tile outside the map, slices of the wrong length, no levels without
/// `assume_priority_sorted`, levels spread beyond the key.
pub fn reference<T: Element>(
    base: &[T],
    shape: MapShape,
    tiles: &Tiles<'_, T>,
    rule: Rule<'_>,
    merged: &mut [T],
    scratch: &mut Scratch,
) -> Result<(), KernelError> {
    check(Some(base), shape, tiles, rule, merged)?;
    by_turn(shape, tiles, rule, scratch)?;
    merged.copy_from_slice(base);
    scatter_pixels(shape, tiles, rule.overlap, merged, scratch);
    Ok(())
}

/// As [`reference()`] over what `merged` holds.
///
/// # Errors
/// As [`reference()`].
pub fn reference_in_place<T: Element>(
    shape: MapShape,
    tiles: &Tiles<'_, T>,
    rule: Rule<'_>,
    merged: &mut [T],
    scratch: &mut Scratch,
) -> Result<(), KernelError> {
    check(None, shape, tiles, rule, merged)?;
    by_turn(shape, tiles, rule, scratch)?;
    scatter_pixels(shape, tiles, rule.overlap, merged, scratch);
    Ok(())
}

/// The same, tuned as is usual. Bit-equal to [`reference()`].
///
/// # Errors
/// As [`reference()`].
pub fn fast<T: Element>(
    base: &[T],
    shape: MapShape,
    tiles: &Tiles<'_, T>,
    rule: Rule<'_>,
    merged: &mut [T],
    scratch: &mut Scratch,
) -> Result<(), KernelError> {
    tuned(CANDIDATES[0], base, shape, tiles, rule, merged, scratch)
}

/// As [`fast()`] over what `merged` holds.
///
/// # Errors
/// As [`reference()`].
pub fn fast_in_place<T: Element>(
    shape: MapShape,
    tiles: &Tiles<'_, T>,
    rule: Rule<'_>,
    merged: &mut [T],
    scratch: &mut Scratch,
) -> Result<(), KernelError> {
    tuned_in_place(CANDIDATES[0], shape, tiles, rule, merged, scratch)
}

/// The same, a row of pixels at a time, cut as the configuration says. Bit-equal to [`reference()`].
///
/// # Errors
/// As [`reference()`].
pub fn tuned<T: Element>(
    config: Config,
    base: &[T],
    shape: MapShape,
    tiles: &Tiles<'_, T>,
    rule: Rule<'_>,
    merged: &mut [T],
    scratch: &mut Scratch,
) -> Result<(), KernelError> {
    check(Some(base), shape, tiles, rule, merged)?;
    by_place(shape, tiles, rule, scratch)?;
    Scatter::new(Some(base), shape, tiles, rule.overlap, scratch).run(config, merged);
    Ok(())
}

/// As [`tuned()`] over what `merged` holds.
///
/// # Errors
/// As [`reference()`].
pub fn tuned_in_place<T: Element>(
    config: Config,
    shape: MapShape,
    tiles: &Tiles<'_, T>,
    rule: Rule<'_>,
    merged: &mut [T],
    scratch: &mut Scratch,
) -> Result<(), KernelError> {
    check(None, shape, tiles, rule, merged)?;
    by_place(shape, tiles, rule, scratch)?;
    Scatter::new(None, shape, tiles, rule.overlap, scratch).run(config, merged);
    Ok(())
}

/// As [`tuned()`], with the blocks of channels shared out among the threads of the current rayon pool.
///
/// # Errors
/// As [`reference()`].
pub fn parallel<T: Element>(
    config: Config,
    base: &[T],
    shape: MapShape,
    tiles: &Tiles<'_, T>,
    rule: Rule<'_>,
    merged: &mut [T],
    scratch: &mut Scratch,
) -> Result<(), KernelError> {
    check(Some(base), shape, tiles, rule, merged)?;
    by_place(shape, tiles, rule, scratch)?;
    Scatter::new(Some(base), shape, tiles, rule.overlap, scratch).run_in_pool(config, merged);
    Ok(())
}

/// As [`parallel()`] over what `merged` holds.
///
/// # Errors
/// As [`reference()`].
pub fn parallel_in_place<T: Element>(
    config: Config,
    shape: MapShape,
    tiles: &Tiles<'_, T>,
    rule: Rule<'_>,
    merged: &mut [T],
    scratch: &mut Scratch,
) -> Result<(), KernelError> {
    check(None, shape, tiles, rule, merged)?;
    by_place(shape, tiles, rule, scratch)?;
    Scatter::new(None, shape, tiles, rule.overlap, scratch).run_in_pool(config, merged);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Origin, Placement};
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::Index;

    type InPlace<'a> = dyn Fn(&mut [f32], &mut Scratch) -> Result<(), KernelError> + 'a;

    const SHAPE: MapShape = MapShape { batch: 1, channels: 1, height: 1, width: 2 };

    type Form = fn(&[f32], MapShape, &Tiles<'_, f32>, Rule<'_>, &mut [f32], &mut Scratch) -> Result<(), KernelError>;

    fn check(levels: Option<&[i32]>, overlap: Overlap, expected: f32) {
        for form in [reference::<f32> as Form, fast::<f32>] {
            let mut merged = [0.0; 2];
            let tiles = Tiles { packed: &[1.0, 2.0, 4.0], placement: Placement::Indices(&[1, 1, 1]), tile_size: 1 };
            let rule = Rule { levels, assume_priority_sorted: true, overlap };
            form(&[8.0, 8.0], SHAPE, &tiles, rule, &mut merged, &mut Scratch::default()).unwrap();
            assert_eq!(merged, [8.0, expected]);
        }
    }

    #[test]
    fn the_highest_level_wins_then_the_later_tile() {
        check(None, Overlap::Override, 4.0);
        check(Some(&[0, 0, 0]), Overlap::Override, 4.0);
        check(Some(&[-3, 7, -3]), Overlap::Override, 2.0);
        check(Some(&[5, 5, 4]), Overlap::Override, 2.0);
        // 8 -> (8+4)/2 = 6 -> (6+1)/2 = 3.5 -> (3.5+2)/2 = 2.75.
        check(Some(&[1, 2, 0]), Overlap::blend(0.5).unwrap(), 2.75);
    }

    #[test]
    fn levels_are_needed_and_must_fit_the_key() {
        let tiles = Tiles { packed: &[1.0f32, 2.0], placement: Placement::Indices(&[0, 1]), tile_size: 1 };
        let unsorted = Rule { levels: None, assume_priority_sorted: false, overlap: Overlap::Override };
        let run = |rule: Rule<'_>| fast(&[0.0; 2], SHAPE, &tiles, rule, &mut [0.0; 2], &mut Scratch::default());
        assert_eq!(run(unsorted), Err(KernelError::LevelsNeeded));
        // Two tiles need one bit, so the spread may reach (2^31 - 1) >> 1.
        let widest = (i32::MAX >> 1) - 1;
        assert_eq!(run(Rule { levels: Some(&[-1, widest]), ..unsorted }), Ok(()));
        let refused = KernelError::LevelSpread { spread: i64::from(widest) + 2, tiles: 2 };
        assert_eq!(run(Rule { levels: Some(&[-2, widest]), ..unsorted }), Err(refused));
        assert!(run(Rule { levels: Some(&[i32::MIN, i32::MAX]), ..unsorted }).is_err());
        assert!(run(Rule { levels: Some(&[0]), ..unsorted }).is_err());
    }

    /// All forms against the reference, in place against the reference in place.
    fn check_all(shape: MapShape, tiles: &Tiles<'_, f32>, rule: Rule<'_>) {
        let base: Vec<f32> = (0..shape.elements()).map(value).collect();
        let run = |form: &InPlace<'_>, start: &[f32]| {
            let mut merged = start.to_vec();
            form(&mut merged, &mut Scratch::default()).unwrap();
            merged.into_iter().map(f32::to_bits).collect::<Vec<_>>()
        };
        let stale = vec![f32::NAN; base.len()];
        let plain = run(&|merged, scratch| reference(&base, shape, tiles, rule, merged, scratch), &stale);
        let on = run(&|merged, scratch| reference_in_place(shape, tiles, rule, merged, scratch), &base);
        assert_eq!(plain, on);
        assert_eq!(plain, run(&|merged, scratch| fast(&base, shape, tiles, rule, merged, scratch), &stale));
        assert_eq!(plain, run(&|merged, scratch| fast_in_place(shape, tiles, rule, merged, scratch), &base));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for &config in CANDIDATES.iter().chain(&[Config { channel_block: 2 }]) {
            let one =
                |merged: &mut [f32], scratch: &mut Scratch| tuned(config, &base, shape, tiles, rule, merged, scratch);
            assert_eq!(plain, run(&one, &stale), "{}", config.name());
            let one =
                |merged: &mut [f32], scratch: &mut Scratch| tuned_in_place(config, shape, tiles, rule, merged, scratch);
            assert_eq!(plain, run(&one, &base), "{}, in place", config.name());
            let one = |merged: &mut [f32], scratch: &mut Scratch| {
                pool.install(|| parallel(config, &base, shape, tiles, rule, merged, scratch))
            };
            assert_eq!(plain, run(&one, &stale), "{}, parallel", config.name());
            let one = |merged: &mut [f32], scratch: &mut Scratch| {
                pool.install(|| parallel_in_place(config, shape, tiles, rule, merged, scratch))
            };
            assert_eq!(plain, run(&one, &base), "{}, parallel in place", config.name());
        }
    }

    fn value(position: usize) -> f32 {
        (position as f32 * 0.618).fract() - 0.5
    }

    #[test]
    fn in_place_is_refused_as_with_a_copy_and_nothing_is_written() {
        let tiles = Tiles { packed: &[1.0f32, 2.0], placement: Placement::Indices(&[0, 2]), tile_size: 1 };
        let rule = Rule { levels: None, assume_priority_sorted: true, overlap: Overlap::Override };
        let mut merged = [7.0; 2];
        let outside = Err(KernelError::TileIndex { index: 2, tiles: 2 });
        assert_eq!(fast_in_place(SHAPE, &tiles, rule, &mut merged, &mut Scratch::default()), outside);
        assert_eq!(reference_in_place(SHAPE, &tiles, rule, &mut merged, &mut Scratch::default()), outside);
        assert_eq!(merged, [7.0; 2]);
    }

    proptest! {
        #[test]
        fn all_forms_give_the_same_bits(
            (batch, channels, rows, columns) in (1usize..3, 1usize..6, 1usize..4, 1usize..4),
            tile_size in prop::sample::select(vec![1usize, 2, 3, 4, 5, 8, 16]),
            (spare_rows, spare_columns) in (0usize..3, 0usize..3),
            picks in prop::collection::vec((any::<Index>(), any::<Index>(), -2i32..3), 0..6),
            (levelled, blend, on_grid) in (any::<bool>(), any::<bool>(), any::<bool>()),
        ) {
            let (height, width) = if on_grid {
                (rows * tile_size, columns * tile_size)
            } else {
                (rows * tile_size + spare_rows, columns * tile_size + spare_columns)
            };
            let shape = MapShape { batch, channels, height, width };
            let origins: Vec<Origin> = picks.iter().map(|(y, x, _)| Origin {
                y: y.index(height - tile_size + 1) as u32,
                x: x.index(width - tile_size + 1) as u32,
            }).collect::<Vec<_>>().repeat(batch);
            let indices: Vec<u32> =
                picks.iter().map(|(y, _, _)| y.index(rows * columns) as u32).collect::<Vec<_>>().repeat(batch);
            let levels: Vec<i32> = picks.iter().map(|pick| pick.2).collect::<Vec<_>>().repeat(batch);
            let count = origins.len() * channels * tile_size * tile_size;
            let packed: Vec<f32> = (7..7 + count).map(value).collect();
            let placement = if on_grid { Placement::Indices(&indices) } else { Placement::Origins(&origins) };
            let tiles = Tiles { packed: &packed, placement, tile_size };
            let overlap = if blend { Overlap::blend(0.3).unwrap() } else { Overlap::Override };
            check_all(shape, &tiles, Rule { levels: levelled.then_some(&levels), assume_priority_sorted: true, overlap });
        }
    }
}
