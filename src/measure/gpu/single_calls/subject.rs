//! What is called: the operations of the seed's report, at the sizes that are asked for.

use serde::{Deserialize, Serialize};

use super::super::operation::fusion_gate::FusionGate;
use super::super::operation::scan::Shape as Scan;
use super::super::operation::tile_pack::TilePack;
use super::super::operation::tile_unpack::TileUnpack;
use super::super::operation::{Draw, Initial, Operation, Rule, Tiled, Way, ff_path};
use super::super::settings::Settings;
use sprag_kernels::fusion::Gate;
use sprag_kernels::scan::ScanShape;
use sprag_kernels::shape::MapShape;
use sprag_kernels::tile::Overlap;

/// What the seeds of the ids lie above that of the report, as the seed has it.
const PACK_IDS_SEED: u64 = 1;
const UNPACK_IDS_SEED: u64 = 2;

/// An operation of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// Takes tiles out of maps.
    TilePack,
    /// Puts tiles with levels back into a copy of maps; of two the later one wins.
    TileUnpack,
    /// Mixes two maps by a gate.
    FusionGate,
    /// Scans tokens from first to last.
    Scan,
    /// The whole path of an image through the model, with the choice of tiles.
    EndToEnd,
}

impl Subject {
    /// All of them, in the order in which they are timed.
    pub const ALL: [Subject; 5] =
        [Subject::TilePack, Subject::TileUnpack, Subject::FusionGate, Subject::Scan, Subject::EndToEnd];

    /// Its name, as benchmarks bear it.
    pub fn word(self) -> &'static str {
        match self {
            Subject::TilePack => "tile_pack",
            Subject::TileUnpack => "tile_unpack",
            Subject::FusionGate => "fusion_gate",
            Subject::Scan => "tile_ssm_scan",
            Subject::EndToEnd => "ff_path",
        }
    }

    /// The operation at the sizes of the settings.
    ///
    /// # Errors
    /// Sizes that the operation cannot have.
    pub fn operation(self, settings: &Settings) -> Result<Operation, String> {
        let Settings { profile, seed, budgets, .. } = settings;
        let size = |value: u32| value as usize;
        let map = MapShape {
            batch: size(profile.batch),
            channels: size(profile.channels),
            height: size(profile.height),
            width: size(profile.width),
        };
        let tiled = |offset: u64| {
            let (side, count) = (size(profile.tile_size), size(profile.kmax));
            Tiled::drawn(map, side, count, Draw::Distinct, seed.wrapping_add(offset))
        };
        match self {
            Subject::TilePack => {
                tiled(PACK_IDS_SEED).map(TilePack).map(Operation::new).map_err(|error| error.to_string())
            }
            Subject::TileUnpack => tiled(UNPACK_IDS_SEED)
                .and_then(|tiles| {
                    let levels = seed.wrapping_add(UNPACK_IDS_SEED);
                    let rule = Rule::drawn(tiles.ids().len(), Overlap::Override, levels);
                    TileUnpack::new(tiles, rule).map(Operation::new)
                })
                .map_err(|error| error.to_string()),
            Subject::FusionGate => Ok(Operation::new(FusionGate { map, gate: Gate::default() })),
            Subject::Scan => {
                let tokens = ScanShape {
                    batch: size(profile.scan.batch),
                    steps: size(profile.scan.steps),
                    channels: size(profile.scan.channels),
                };
                Ok(Operation::new(Scan { tokens, way: Way::Forward, initial: Initial::Zero }))
            }
            Subject::EndToEnd => {
                let module = ff_path::config(size(profile.kmax), budgets.b1, budgets.b2);
                ff_path::Shape::new(map, module, *seed).map(Operation::new)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operations_have_the_sizes_that_are_asked_for() {
        let check = |subject: Subject, expected: &str| {
            let operation = subject.operation(&Settings::FIXED).expect("the fixed profile can be");
            assert_eq!(format!("{} {}", operation.name(), operation.label()), expected);
            assert_eq!(subject.word(), operation.name());
        };
        check(Subject::TilePack, "tile_pack b=1 c=128 h=128 w=128 t=8 k=32");
        check(Subject::TileUnpack, "tile_unpack b=1 c=128 h=128 w=128 t=8 k=32 overlap=override");
        check(Subject::FusionGate, "fusion_gate b=1 c=128 h=128 w=128");
        check(Subject::Scan, "tile_ssm_scan b=1 steps=256 c=128 way=forward initial=zero");
        check(Subject::EndToEnd, "ff_path b=1 c=128 h=128 w=128 l0=20 l1=32");
    }

    #[test]
    fn what_is_drawn_follows_from_the_seed() {
        let of =
            |subject: Subject, seed: u64| format!("{:?}", subject.operation(&Settings { seed, ..Settings::FIXED }));
        for subject in [Subject::TilePack, Subject::TileUnpack, Subject::EndToEnd] {
            assert_eq!(of(subject, 1), of(subject, 1));
            assert_ne!(of(subject, 1), of(subject, 2), "{subject:?}");
        }
        let mut settings = Settings::FIXED;
        settings.profile.height = 100;
        assert!(Subject::TilePack.operation(&settings).is_err(), "tiles do not fill the map");
    }
}
