//! The shapes: those of the profiles, which are timed, and those that nothing divides evenly, which are checked.

use super::super::settings::{Profile, Settings};
use super::catalog::Operation;
use super::copy::Copy;
use super::fused::Fused;
use super::fusion_gate::FusionGate;
use super::scan::Shape as Scan;
use super::tile_unpack::TileUnpack;
use super::tile_unpack_anywhere::TileUnpackAnywhere;
use super::way::{Initial, Merge, Way};
use super::{Draw, Rule, Tiled, ff_path};
use sprag_kernels::ff;
use sprag_kernels::fused::Affine;
use sprag_kernels::fusion::Gate;
use sprag_kernels::scan::ScanShape;
use sprag_kernels::shape::MapShape;
use sprag_kernels::tile::Overlap;

/// What the ids of the timed shapes follow from, as the seed has it: the suite's seed and one more.
const IDS_SEED: u64 = 124;

/// How much of a tile is mixed in.
const BLEND: f64 = 0.35;

/// The gate of the fused operation: scales and biases that leave no part of it out.
const AFFINE: Affine = Affine { value_scale: 1.25, value_bias: 0.1, gate_scale: 0.75, gate_bias: 0.2 };

/// Maps that nothing divides evenly: batch, channels, rows and columns of tiles, side of a tile, tiles taken.
const MAPS: [[usize; 6]; 7] = [
    [1, 2, 1, 1030, 1, 9],
    [1, 3, 2, 2, 8, 0],
    [2, 5, 3, 4, 3, 5],
    [1, 7, 2, 3, 8, 3],
    [3, 1, 4, 4, 1, 20],
    [1, 33, 3, 5, 16, 7],
    [2, 3, 1, 1, 6, 1],
];

/// Maps of the feature-fusion module that nothing divides evenly: batch, channels, rows, columns, side of a coarse tile.
const FF_MAPS: [[usize; 5]; 4] = [[2, 3, 32, 48, 16], [1, 7, 6, 10, 2], [1, 36, 48, 24, 24], [1, 33, 32, 32, 16]];

/// What its tiles may cost on the two levels: so much that both are chosen, no fine ones, or none at all.
const FF_BUDGETS: [[f64; 2]; 3] = [[3.2, 2.0], [3.2, 0.0], [0.0, 2.0]];

/// Scans that nothing divides evenly: samples, steps, channels.
const SCANS: [[usize; 3]; 6] = [[1, 1, 1], [2, 7, 3], [1, 129, 5], [3, 300, 33], [1, 515, 8], [2, 64, 130]];

/// The operations of a profile at its shapes.
pub(super) fn of(profile: &Profile) -> Vec<Operation> {
    let size = |value: u32| value as usize;
    let map = MapShape {
        batch: size(profile.batch),
        channels: size(profile.channels),
        height: size(profile.height),
        width: size(profile.width),
    };
    let tokens = ScanShape {
        batch: size(profile.scan.batch),
        steps: size(profile.scan.steps),
        channels: size(profile.scan.channels),
    };
    let tiled = Tiled::drawn(map, size(profile.tile_size), size(profile.kmax), Draw::Distinct, IDS_SEED);
    let mut operations: Vec<Operation> = Vec::new();
    if let Ok(tiles) = tiled {
        let rule = |overlap| Rule::drawn(tiles.ids().len(), overlap, IDS_SEED);
        let unpack = |overlap| TileUnpack::new(tiles.clone(), rule(overlap)).map(Operation::TileUnpack);
        operations.push(Operation::TilePack(tiles.clone()));
        operations.extend([Overlap::Override, blend()].into_iter().filter_map(|overlap| unpack(overlap).ok()));
        operations.push(Operation::Fused(Fused { tiles: tiles.clone(), affine: AFFINE }));
    }
    operations.push(Operation::FusionGate(FusionGate { map, gate: Gate::default() }));
    operations.push(Operation::Scan(Scan { tokens, way: Way::Forward, initial: Initial::Zero }));
    // The module has tiles of its own, and none of a batch that memory alone would bound.
    let budgets = Settings::FIXED.budgets;
    let config = ff_path::config(size(profile.kmax), budgets.b1, budgets.b2);
    if !profile.is_large() {
        operations.extend(ff_path::Shape::new(map, config, Settings::FIXED.seed).map(Operation::FfPath));
    }
    operations
}

/// Every operation, at the shapes of the fixed profile.
pub(super) fn every() -> Vec<Operation> {
    let mut operations = of(&Profile::FIXED);
    let map = MapShape { batch: 1, channels: 8, height: 64, width: 64 };
    let origins = TileUnpackAnywhere::drawn(map, 8, 16, IDS_SEED);
    for overlap in [Overlap::Override, blend()] {
        let rule = Rule::drawn(origins.len(), overlap, IDS_SEED);
        let anywhere = TileUnpackAnywhere::new(map, 8, origins.clone(), rule);
        operations.extend(anywhere.map(Operation::TileUnpackAnywhere));
    }
    operations.push(Operation::Copy(Copy { elements: 1 << 20 }));
    operations
}

/// Shapes of the same operation that nothing divides evenly.
pub(super) fn uneven(operation: &Operation) -> Vec<Operation> {
    match operation {
        Operation::TilePack(_) => tiled().into_iter().map(Operation::TilePack).collect(),
        Operation::TileUnpack(shape) => {
            let overlap = shape.rule().overlap;
            let with = |tiles: Tiled| {
                let drawn = Rule::drawn(tiles.ids().len(), overlap, 11);
                let rules = [drawn, Rule { levels: None, overlap }];
                rules.map(|rule| TileUnpack::new(tiles.clone(), rule)).into_iter().filter_map(Result::ok)
            };
            tiled().into_iter().flat_map(with).map(Operation::TileUnpack).collect()
        }
        Operation::TileUnpackAnywhere(shape) => {
            let overlap = shape.rule().overlap;
            let with = |[batch, channels, rows, columns, side, count]: [usize; 6]| {
                let map = MapShape { batch, channels, height: rows * side + 1, width: columns * side + 3 };
                let origins = TileUnpackAnywhere::drawn(map, side, count, 5);
                let rule = Rule::drawn(origins.len(), overlap, 11);
                TileUnpackAnywhere::new(map, side, origins, rule).ok()
            };
            MAPS.into_iter().filter_map(with).map(Operation::TileUnpackAnywhere).collect()
        }
        Operation::FusionGate(shape) => {
            let with = |[batch, channels, rows, columns, side, _]: [usize; 6]| FusionGate {
                map: MapShape { batch, channels, height: rows * side, width: columns * side },
                ..*shape
            };
            MAPS.into_iter().map(with).map(Operation::FusionGate).collect()
        }
        Operation::Fused(shape) => {
            let with = |tiles: Tiled| Operation::Fused(Fused { tiles, ..shape.clone() });
            // Its tiles are distinct.
            MAPS.into_iter().filter_map(|sizes| tiles(sizes, Draw::Distinct)).map(with).collect()
        }
        Operation::Scan(_) => scans(),
        Operation::FfPath(_) => ff_paths(),
        Operation::Copy(_) => [1, 31, 4096, 70_001].map(|elements| Operation::Copy(Copy { elements })).to_vec(),
    }
}

/// Every map of the module with tiles on both levels, and the first also without.
fn ff_paths() -> Vec<Operation> {
    let path = |[batch, channels, height, width, side]: [usize; 5], [b1, b2]: [f64; 2]| {
        let config = ff::Config { tile_size_l0: side, tile_size_l1: side / 2, ..ff_path::config(5, b1, b2) };
        let map = MapShape { batch, channels, height, width };
        ff_path::Shape::new(map, config, IDS_SEED).ok().map(Operation::FfPath)
    };
    let full = FF_MAPS.into_iter().map(|map| (map, FF_BUDGETS[0]));
    let scarce = FF_BUDGETS[1..].iter().map(|budgets| (FF_MAPS[0], *budgets));
    full.chain(scarce).filter_map(|(map, budgets)| path(map, budgets)).collect()
}

fn blend() -> Overlap {
    Overlap::blend(BLEND).expect("the factor lies between zero and one")
}

fn tiled() -> Vec<Tiled> {
    let draws = [Draw::Distinct, Draw::Repeating];
    MAPS.into_iter().flat_map(|sizes| draws.into_iter().filter_map(move |draw| tiles(sizes, draw))).collect()
}

fn tiles([batch, channels, rows, columns, side, count]: [usize; 6], draw: Draw) -> Option<Tiled> {
    let map = MapShape { batch, channels, height: rows * side, width: columns * side };
    Tiled::drawn(map, side, count, draw, 7).ok()
}

/// Every way and initial state, each at some of the sizes.
fn scans() -> Vec<Operation> {
    let merges = [Merge::Sum, Merge::Average, Merge::Even, Merge::Gated, Merge::GatedBySample];
    let ways: Vec<Way> = [Way::Forward, Way::Backward].into_iter().chain(merges.map(Way::Both)).collect();
    let initials = [Initial::Zero, Initial::Shared, Initial::EachWay];
    let mut scans = Vec::new();
    for (number, [batch, steps, channels]) in SCANS.into_iter().enumerate() {
        let tokens = ScanShape { batch, steps, channels };
        for (place, way) in ways.iter().enumerate() {
            // Forward and backward at every size, the merges in turn.
            if place < 2 || (place + number) % merges.len() < 2 {
                let initial = initials[(place + number) % initials.len()];
                // One direction has one state.
                let initial = match (way, initial) {
                    (Way::Forward | Way::Backward, Initial::EachWay) => Initial::Shared,
                    _ => initial,
                };
                scans.push(Operation::Scan(Scan { tokens, way: *way, initial }));
            }
        }
    }
    scans
}
