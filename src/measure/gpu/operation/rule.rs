//! In which order an unpack applies its tiles, and what a tile does to the pixels that it covers.

use super::super::program::{Argument, BufferSpec, Dtype, Step};
use super::inputs::with_element;
use super::{Expected, Inputs, Stored, launch};
use sprag_base::stats::random::SplitMix64;
use sprag_kernels::KernelError;
use sprag_kernels::element::Element;
use sprag_kernels::shape::MapShape;
use sprag_kernels::tile::unpack_levels::{self, Scratch};
use sprag_kernels::tile::{Overlap, Placement, Tiles};

pub(super) const FILE: &str = "tile_unpack.cu";

/// The levels of the tiles of all samples, if they have any, and how tiles overlap.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// A level a tile, `[B,K]`, of any sign; without, tiles are applied in the order given.
    pub levels: Option<Vec<i32>>,
    /// What a covered pixel becomes.
    pub overlap: Overlap,
}

impl Rule {
    /// Random levels in 0, 1, 2 for so many tiles.
    pub fn drawn(tiles: usize, overlap: Overlap, seed: u64) -> Self {
        let mut random = SplitMix64::new(seed);
        Rule { levels: Some((0..tiles).map(|_| random.below(3) as i32).collect()), overlap }
    }

    pub(super) fn check(&self, tiles: usize) -> Result<(), KernelError> {
        match &self.levels {
            Some(levels) if levels.len() != tiles => {
                Err(KernelError::Length { what: "levels", expected: tiles, got: levels.len() })
            }
            _ => Ok(()),
        }
    }

    pub(super) fn blends(&self) -> bool {
        matches!(self.overlap, Overlap::Blend(_))
    }

    pub(super) fn buffer(&self) -> Option<BufferSpec> {
        self.levels.clone().map(|levels| launch::integers("levels", levels))
    }

    /// The argument that names the levels, which are at that place if anywhere.
    pub(super) fn levels(&self, place: usize) -> Argument {
        if self.levels.is_some() { Argument::Buffer(place) } else { Argument::Null }
    }

    /// What all tuned kernels are told after their buffers.
    pub(super) fn arguments(&self, dtype: Dtype, map: MapShape, per_sample: usize) -> Vec<Argument> {
        let sizes = [per_sample, map.channels, map.height, map.width].map(launch::int);
        sizes.into_iter().chain(self.turns(per_sample)).chain(self.weights(dtype)).collect()
    }

    /// The launch of the reference kernel. The places are those of ids, origins, levels and the merged map.
    pub(super) fn plain(
        &self,
        dtype: Dtype,
        map: MapShape,
        tile_size: usize,
        per_sample: usize,
        places: [Argument; 4],
    ) -> Step {
        let mut arguments = vec![Argument::Buffer(0), Argument::Buffer(1)];
        arguments.extend(places);
        arguments.extend([per_sample, map.channels, map.height, map.width, tile_size].map(launch::int));
        arguments.extend(self.turns(per_sample));
        arguments.push(launch::int(usize::from(self.blends())));
        arguments.extend(self.weights(dtype));
        arguments.push(launch::long(map.elements()));
        launch::plain(FILE, "tile_unpack_reference", dtype, map.elements(), arguments)
    }

    /// What kernels make turns of: the lowest level, and the bits below the level that hold the place of a tile.
    fn turns(&self, per_sample: usize) -> [Argument; 2] {
        let lowest = self.levels.iter().flatten().min().copied().unwrap_or(0);
        let bits = (usize::BITS - per_sample.saturating_sub(1).leading_zeros()).max(1);
        [Argument::I32(lowest), Argument::I32(bits.cast_signed())]
    }

    /// The weights of what stands there and of the new tile.
    fn weights(&self, dtype: Dtype) -> [Argument; 2] {
        let Overlap::Blend(factor) = self.overlap else { return [Argument::F32(0.0), Argument::F32(1.0)] };
        with_element!(dtype, T => {
            let (keep, take) = factor.weights::<T>();
            [Argument::F32(keep.to_f32()), Argument::F32(take.to_f32())]
        })
    }
}

/// The merged map that an unpack of these inputs must give, exactly. Base and packed tiles are the first two inputs.
pub(super) fn expected<T: Element + Stored>(
    map: MapShape,
    tile_size: usize,
    placement: Placement<'_>,
    rule: &Rule,
    inputs: &Inputs,
    merged: usize,
) -> Result<Vec<Expected>, String> {
    let (base, packed) = (inputs.elements::<T>(0)?, inputs.elements::<T>(1)?);
    let tiles = Tiles { packed: &packed, placement, tile_size };
    let rule =
        unpack_levels::Rule { levels: rule.levels.as_deref(), assume_priority_sorted: true, overlap: rule.overlap };
    let mut values = vec![T::default(); map.elements()];
    unpack_levels::reference(&base, map, &tiles, rule, &mut values, &mut Scratch::default())
        .map_err(|error| error.to_string())?;
    Ok(vec![Expected::new(merged, &values, 0.0)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_leave_room_for_every_place() {
        let check = |levels: Option<Vec<i32>>, per_sample: usize, lowest: i32, bits: i32| {
            let rule = Rule { levels, overlap: Overlap::Override };
            assert_eq!(rule.turns(per_sample), [Argument::I32(lowest), Argument::I32(bits)]);
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
        let rule = Rule { levels: None, overlap: Overlap::blend(0.3).unwrap() };
        assert_eq!(rule.weights(Dtype::F32), [Argument::F32(0.7), Argument::F32(0.3)]);
        assert_eq!(rule.weights(Dtype::E4m3), [Argument::F32(0.6875), Argument::F32(0.3125)]);
        assert!(rule.blends() && rule.check(3).is_ok());
        assert!(Rule::drawn(4, Overlap::Override, 1).check(3).is_err());
    }
}
