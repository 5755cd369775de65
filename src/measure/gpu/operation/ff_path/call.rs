//! A whole call: both paths, and what they must come to.

use super::super::super::program::{DeviceProgram, Dtype};
use super::super::super::settings::{Profile, Settings};
use super::super::builder::ProgramBuilder;
use super::super::inputs::with_element;
use super::super::kernel::{Code, Operation, map_params};
use super::super::tiled::IDS_SEED;
use super::super::{Expected, Form, HostInputs, LaunchConfig};
use super::layout::Layout;
use super::shape::{FfPath, config};
use super::{fused, plain};
use sprag_kernels::element::Element;
use sprag_kernels::ff::{self, Outputs, Proxy, Workspace};
use sprag_kernels::shape::MapShape;
use std::rc::Rc;

/// Maps of the feature-fusion module that nothing divides evenly: batch, channels, rows, columns, side of a coarse tile.
const FF_MAPS: [[usize; 5]; 4] = [[2, 3, 32, 48, 16], [1, 7, 6, 10, 2], [1, 36, 48, 24, 24], [1, 33, 32, 32, 16]];

/// What its tiles may cost on the two levels: so much that both are chosen, no fine ones, or none at all.
const FF_BUDGETS: [[f64; 2]; 3] = [[3.2, 2.0], [3.2, 0.0], [0.0, 2.0]];

/// The configurations worth trying, the one used untuned first: `unroll` is the channels of a block of the last launch,
/// `chunk` the pixels of a block of the convolution.
const CANDIDATES: &[LaunchConfig] = &[
    LaunchConfig::new(256, 16, 8, 32),
    LaunchConfig::new(256, 16, 4, 32),
    LaunchConfig::new(256, 16, 8, 64),
    LaunchConfig::new(128, 16, 8, 32),
    LaunchConfig::new(128, 16, 4, 16),
    LaunchConfig::new(256, 8, 8, 32),
    LaunchConfig::new(128, 8, 4, 32),
    LaunchConfig::new(256, 16, 16, 32),
];

/// How far a device may be from the reference. Where the element type is narrow the result of the coarse path, a refined
/// tile, the gate and the features are rounded; twelve times the distance of neighbours at one allows for features up to
/// eight. In `f32` it is sums in another order, before and after two normalisations.
fn tolerance(dtype: Dtype) -> f64 {
    let neighbour = match dtype {
        Dtype::F32 => return 5e-5,
        Dtype::F16 => 2.0_f64.powi(-10),
        Dtype::Bf16 => 2.0_f64.powi(-7),
        Dtype::E4m3 => 2.0_f64.powi(-3),
    };
    12.0 * neighbour
}

/// The operation at the sizes of a profile, but not of a batch that memory alone would bound. It has tiles of its own.
pub(in super::super) fn timed(profile: &Profile) -> Vec<Operation> {
    let budgets = Settings::FIXED.budgets;
    let sizes = config(profile.kmax as usize, budgets.b1, budgets.b2);
    let shape = || FfPath::new(profile.map(), sizes, Settings::FIXED.seed).ok();
    if profile.is_large() { None } else { shape() }.into_iter().map(FfPath::operation).collect()
}

impl FfPath {
    pub fn operation(self) -> Operation {
        let mut params = map_params(self.map());
        let selection = self.selection();
        params.extend([("l0", selection.l0_each.to_string()), ("l1", selection.l1_each.to_string())]);
        Operation {
            name: "ff_path",
            params,
            work: ("frames_per_s", self.map().batch as f64),
            elements_moved: None,
            candidates: CANDIDATES.to_vec(),
            tolerance,
            selection: Some(Rc::new(self.clone())),
            code: Code::new(self, FfPath::program, FfPath::expected, |_| uneven()),
        }
    }

    fn program(&self, dtype: Dtype, form: Form) -> DeviceProgram {
        let mut builder = ProgramBuilder::new(dtype);
        let layout = Layout::add(&mut builder, self, dtype);
        let map = self.map();
        for (level, ends) in layout.levels(&mut builder, map, dtype) {
            match form {
                Form::Reference => plain::add(&mut builder, map, dtype, level, ends, layout.proxies),
                Form::Tuned(config) => fused::add(&mut builder, map, dtype, level, ends, layout.proxies, config),
            }
        }
        builder.finish()
    }

    fn expected(&self, dtype: Dtype, inputs: &HostInputs) -> Result<Vec<Expected>, String> {
        let layout = Layout::add(&mut ProgramBuilder::new(dtype), self, dtype);
        let wide = |place: usize| -> Result<Vec<f32>, String> {
            with_element!(dtype, T => Ok(inputs.elements::<T>(place)?.into_iter().map(Element::to_f32).collect()))
        };
        let [boundary, uncertainty] = layout.proxies.map(wide);
        let (dense, boundary, uncertainty) = (wide(layout.dense)?, boundary?, uncertainty?);
        let map = self.map();
        let proxy = |values| Some(Proxy { values, height: map.height, width: map.width });
        let (utilities, split_utilities) = self.utilities();
        let reads = ff::FfInputs {
            dense: &dense,
            shape: map,
            utilities,
            split_utilities: Some(split_utilities),
            boundary: proxy(boundary.as_slice()),
            uncertainty: proxy(uncertainty.as_slice()),
        };
        let (mut outputs, mut workspace) = (Outputs::default(), Workspace::default());
        ff::reference(&reads, self.config(), &self.parameters(), &mut outputs, &mut workspace)
            .map_err(|error| error.to_string())?;
        let tolerance = tolerance(dtype);
        Ok(vec![
            Expected::new(layout.features, &outputs.heavy_features, tolerance),
            Expected::new(layout.alpha, &outputs.alpha, tolerance),
            Expected::new(layout.detail, &outputs.detail_map, tolerance),
        ])
    }
}

/// Every map with tiles on both levels, and the first also without.
fn uneven() -> Vec<Operation> {
    let path = |[batch, channels, height, width, side]: [usize; 5], [b1, b2]: [f64; 2]| {
        let sizes = ff::FfConfig { tile_size_l0: side, tile_size_l1: side / 2, ..config(5, b1, b2) };
        let map = MapShape { batch, channels, height, width };
        FfPath::new(map, sizes, IDS_SEED).ok().map(FfPath::operation)
    };
    let full = FF_MAPS.into_iter().map(|map| (map, FF_BUDGETS[0]));
    let scarce = FF_BUDGETS[1..].iter().map(|budgets| (FF_MAPS[0], *budgets));
    full.chain(scarce).filter_map(|(map, budgets)| path(map, budgets)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::super::program::{Content, Launch};
    use super::super::super::checks;
    use super::*;
    use sprag_kernels::ff::FfConfig as Module;

    fn shapes() -> Vec<FfPath> {
        let small = config(5, 3.2, 2.0);
        let cases = [
            (MapShape { batch: 1, channels: 128, height: 128, width: 128 }, config(32, 16.0, 8.0)),
            (MapShape { batch: 2, channels: 3, height: 32, width: 48 }, small),
            (
                MapShape { batch: 1, channels: 7, height: 6, width: 10 },
                Module { tile_size_l0: 2, tile_size_l1: 1, ..small },
            ),
            (
                MapShape { batch: 1, channels: 260, height: 48, width: 24 },
                Module { tile_size_l0: 24, tile_size_l1: 12, ..small },
            ),
            (MapShape { batch: 2, channels: 4, height: 32, width: 32 }, Module { budget_b1: 0.0, ..small }),
            (MapShape { batch: 1, channels: 4, height: 32, width: 32 }, Module { budget_b2: 0.0, ..small }),
        ];
        cases.map(|(map, module)| FfPath::new(map, module, 123).unwrap()).into()
    }

    #[test]
    fn no_launch_asks_for_more_memory_than_a_block_has() {
        for shape in shapes() {
            let fits = |launch: &Launch| assert!(launch.shared <= 48 * 1024 - 128, "{launch:?}");
            checks::launches(&shape.clone().operation(), |launch, _| fits(launch));
            let plain = shape.program(Dtype::F16, Form::Reference);
            plain.launches().for_each(fits);
            assert!(plain.buffers.iter().all(|buffer| buffer.count > 0));
            // Inputs and outputs stand before all scratch.
            let first = plain.buffers.iter().position(|buffer| buffer.content == Content::Scratch);
            assert!(
                plain.buffers[first.unwrap_or(plain.buffers.len())..]
                    .iter()
                    .all(|buffer| buffer.content == Content::Scratch)
            );
        }
    }

    #[test]
    fn blocks_reach_every_tile_pixel_and_channel() {
        for shape in shapes() {
            let (map, selection) = (shape.map(), shape.selection());
            for config in CANDIDATES {
                let program = shape.program(Dtype::F16, Form::Tuned(*config));
                let launches = |entry: &str| {
                    let all = program.launches();
                    all.filter(|launch| launch.kernel.entry == entry).cloned().collect::<Vec<Launch>>()
                };
                let each = [selection.l0_each, selection.l1_each].into_iter().filter(|each| *each > 0);
                let sides = [shape.config().tile_size_l0, shape.config().tile_size_l1];
                for (level, each) in each.enumerate() {
                    let side = sides[level];
                    let tiles = each * map.batch;
                    let [means, modulation, convolve, finish] =
                        ["ff_means", "ff_modulation", "ff_convolve", "ff_finish"]
                            .map(|entry| launches(entry)[level].clone());
                    let at = |launch: &Launch, name: &str| launch.kernel.defines[name] as usize;
                    assert!(means.grid[0] as usize * (means.block as usize / 32) >= tiles * map.channels);
                    assert_eq!(modulation.grid, [each as u32, map.batch as u32, 1]);
                    let chunk = at(&convolve, "CHUNK");
                    let outputs = convolve.block as usize * 32 / chunk;
                    assert!(convolve.grid[0] as usize * chunk >= side * side, "{:?} {config:?}", map);
                    assert!(convolve.grid[1] as usize * outputs >= 2 * map.channels, "{:?} {config:?}", map);
                    assert_eq!(convolve.grid[2] as usize, tiles);
                    assert!(chunk.is_power_of_two() && (4..=convolve.block as usize * 4).contains(&chunk));
                    assert_eq!(finish.grid[0] as usize * side, map.height);
                    assert!(finish.grid[1] as usize * at(&finish, "UNROLL") >= map.channels);
                    assert_eq!(finish.grid[2] as usize, map.batch);
                    assert!(side.is_multiple_of(at(&finish, "VECTOR") / Dtype::F16.bytes()));
                }
            }
        }
    }

    #[test]
    fn the_fixed_profile_takes_eight_launches() {
        let program = shapes()[0].program(Dtype::F16, Form::Tuned(CANDIDATES[0]));
        let entries: Vec<&str> = program.launches().map(|launch| launch.kernel.entry).collect();
        assert_eq!(entries, ["ff_means", "ff_modulation", "ff_convolve", "ff_finish"].repeat(2));
    }

    #[test]
    fn the_reference_is_read_from_the_inputs_of_the_program() {
        let shape = &shapes()[4];
        let map = shape.map();
        let bytes = |count: usize| (0..count).flat_map(|i| (i as f32 * 0.25).to_le_bytes()).collect::<Vec<u8>>();
        let inputs = HostInputs::new([map.elements(), map.pixels(), map.pixels()].map(bytes).into());
        // Where nothing is chosen the features are the input.
        let all = shape.expected(Dtype::F32, &inputs).unwrap();
        assert_eq!(all[0].values, inputs.floats(0).unwrap());
    }
}
