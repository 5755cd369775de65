//! The shapes: those of the profiles, which are timed, and those that nothing divides evenly, which are checked.

use super::super::settings::Profile;
use super::tiled::{Draw, Tiled};
use sprag_kernels::shape::MapShape;
use sprag_kernels::tile::Overlap;

/// What the ids of the timed shapes follow from, as the seed has it: the suite's seed and one more.
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

pub(super) fn map(profile: &Profile) -> MapShape {
    let [batch, channels, height, width] =
        [profile.batch, profile.channels, profile.height, profile.width].map(|size| size as usize);
    MapShape { batch, channels, height, width }
}

pub(super) fn tiles(profile: &Profile) -> Option<Tiled> {
    Tiled::drawn(map(profile), profile.tile_size as usize, profile.kmax as usize, Draw::Distinct, IDS_SEED).ok()
}

/// The ways in which tiles overlap that are timed.
pub(super) fn overlaps() -> [Overlap; 2] {
    [Overlap::Override, Overlap::blend(BLEND).expect("the factor lies between zero and one")]
}

/// Tiles that nothing divides evenly, distinct and repeating.
pub(super) fn uneven_tiles() -> Vec<Tiled> {
    let draws = [Draw::Distinct, Draw::Repeating];
    UNEVEN_MAPS.into_iter().flat_map(|sizes| draws.into_iter().filter_map(move |draw| uneven(sizes, draw))).collect()
}

/// Tiles of one of [`UNEVEN_MAPS`].
pub(super) fn uneven([batch, channels, rows, columns, side, count]: [usize; 6], draw: Draw) -> Option<Tiled> {
    let map = MapShape { batch, channels, height: rows * side, width: columns * side };
    Tiled::drawn(map, side, count, draw, 7).ok()
}
