//! The feature-fusion module that the GPU suite times end to end: choose tiles on two levels, compute them heavily,
//! and fuse the result with the dense features.
//!
//! Per sample, a two-stage choice (a tile costs `max(cost_heavy - cost_cheap, 1e-9)`, a split `split_overhead`) gives
//! coarse tiles and their split children. The heavy path runs on the coarse tiles of all samples and, if any sample has
//! children, again on the children with the result of the first run as its input. A heavy path packs tiles in Hilbert
//! order, scans their means in both directions, modulates each tile by the result, refines it, unpacks it, and passes the
//! map through a fusion gate against its own input. A sample without tiles passes the gate with its input on both sides.
//!
//! The forms differ in the form of the kernels inside.

use self::path::{Path, Results, resize};
use crate::ordering::OrderMode;
use crate::quadtree::check_halving;
use crate::selection::{Candidates, SplitRule, two_stage};
use crate::shape::{Grid, MapShape, check_length};
use crate::{Form, KernelError};

mod parameters;
mod path;

pub use parameters::{FfParameters, Film, ParameterShape, PathParameters, Refine, ScanParameters, tensors};
pub use path::Proxy;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FfConfig {
    /// Sides of coarse and of fine tiles in pixels: the second is half of the first.
    pub tile_size_l0: usize,
    pub tile_size_l1: usize,
    /// How many tiles of each level a sample may have.
    pub kmax_l0: usize,
    pub kmax_l1: usize,
    /// What the coarse tiles and the splits of a sample may cost.
    pub budget_b1: f64,
    pub budget_b2: f64,
    pub cost_heavy: f64,
    pub cost_cheap: f64,
    pub split_overhead: f64,
}

#[derive(Clone, Copy, Debug)]
pub struct FfInputs<'a> {
    /// `[B,C,H,W]`.
    pub dense: &'a [f32],
    pub shape: MapShape,
    /// Utility of each coarse tile, `[B, H/t * W/t]`.
    pub utilities: &'a [f32],
    /// Utility of splitting each coarse tile; the utilities themselves where absent.
    pub split_utilities: Option<&'a [f32]>,
    /// All ones where absent, as is `uncertainty`.
    pub boundary: Option<Proxy<'a>>,
    pub uncertainty: Option<Proxy<'a>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chosen {
    /// Best first.
    pub l0: Vec<u32>,
    /// In Hilbert order.
    pub l1: Vec<u32>,
    /// Both lists, padded with -1 to their limits.
    pub l0_kmax_buffer: Vec<i64>,
    pub l1_kmax_buffer: Vec<i64>,
    /// The cost of the coarse tiles, and of the splits.
    pub spent_b1: f64,
    pub spent_b2: f64,
}

/// The results of a call, in memory that later calls reuse.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    /// The fused features of the last path, `[B,C,H,W]`.
    pub heavy_features: Vec<f32>,
    /// The gate of the last path, `[B,1,H,W]`.
    pub alpha: Vec<f32>,
    /// The fused features of the last path less the input of that path, `[B,C,H,W]`.
    pub detail_map: Vec<f32>,
    pub chosen: Vec<Chosen>,
}

/// Working memory of a call, reused by later ones.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    boundary: Vec<f32>,
    uncertainty: Vec<f32>,
    coarse: Vec<f32>,
    path: path::Workspace,
}

const SMALLEST_DELTA: f64 = 1e-9;

/// A parallel form runs each kernel in parallel, not the samples.
pub fn run(
    form: Form<()>,
    inputs: &FfInputs<'_>,
    config: &FfConfig,
    parameters: &FfParameters,
    outputs: &mut Outputs,
    workspace: &mut Workspace,
) -> Result<(), KernelError> {
    let shape = inputs.shape;
    shape.check()?;
    check_length("dense", inputs.dense.len(), shape.elements())?;
    check_length("parameters", parameters.channels, shape.channels)?;
    check_halving(config.tile_size_l0, config.tile_size_l1)?;
    resize(inputs.boundary, "boundary", shape, &mut workspace.boundary)?;
    resize(inputs.uncertainty, "uncertainty", shape, &mut workspace.uncertainty)?;
    choose(shape, inputs.utilities, inputs.split_utilities, config, &mut outputs.chosen)?;

    outputs.heavy_features.resize(shape.elements(), 0.0);
    outputs.alpha.resize(shape.pixels(), 0.0);
    outputs.detail_map.resize(shape.elements(), 0.0);
    let proxies = (workspace.boundary.as_slice(), workspace.uncertainty.as_slice());
    let coarse = Path { shape, tile_size: config.tile_size_l0, parameters: &parameters.l0, proxies, form };
    let rows: Vec<&[u32]> = outputs.chosen.iter().map(|chosen| chosen.l0.as_slice()).collect();
    let Outputs { heavy_features: fused, alpha, detail_map: detail, .. } = outputs;
    let mut results = Results { fused, alpha, detail };
    coarse.run(inputs.dense, &rows, &mut results, &mut workspace.path)?;
    if outputs.chosen.iter().any(|chosen| !chosen.l1.is_empty()) {
        workspace.coarse.clear();
        workspace.coarse.extend_from_slice(results.fused);
        let fine = Path { tile_size: config.tile_size_l1, parameters: &parameters.l1, ..coarse };
        let rows: Vec<&[u32]> = outputs.chosen.iter().map(|chosen| chosen.l1.as_slice()).collect();
        fine.run(&workspace.coarse, &rows, &mut results, &mut workspace.path)?;
    }
    Ok(())
}

/// Chooses the tiles of each sample. Since all tiles cost the same, and all splits, every sample gets as many.
pub fn choose(
    shape: MapShape,
    utilities: &[f32],
    split_utilities: Option<&[f32]>,
    config: &FfConfig,
    chosen: &mut Vec<Chosen>,
) -> Result<(), KernelError> {
    let grid = Grid::of_map(shape, config.tile_size_l0)?;
    let tiles = grid.tiles() as usize;
    let split_utilities = split_utilities.unwrap_or(utilities);
    check_length("utilities", utilities.len(), shape.batch * tiles)?;
    check_length("split_utilities", split_utilities.len(), shape.batch * tiles)?;
    let delta_costs = vec![(config.cost_heavy - config.cost_cheap).max(SMALLEST_DELTA); tiles];
    let overheads = vec![config.split_overhead; tiles];
    let widen = |values: &[f32]| values.iter().map(|&value| f64::from(value)).collect::<Vec<f64>>();
    chosen.clear();
    for (utilities, splits) in utilities.chunks_exact(tiles).zip(split_utilities.chunks_exact(tiles)) {
        let (utilities, splits) = (widen(utilities), widen(splits));
        let candidates = Candidates {
            utilities: &utilities,
            delta_costs: &delta_costs,
            budget: config.budget_b1,
            kmax: config.kmax_l0,
        };
        let rule = SplitRule {
            utilities: &splits,
            overheads: &overheads,
            budget: config.budget_b2,
            kmax: config.kmax_l1,
            order: OrderMode::Hilbert,
        };
        let outcome = two_stage(&candidates, &rule, grid)?;
        chosen.push(Chosen {
            l0: outcome.coarse.selected,
            l1: outcome.split.ordered,
            l0_kmax_buffer: outcome.coarse.kmax_buffer,
            l1_kmax_buffer: outcome.split.kmax_buffer,
            spent_b1: outcome.coarse.spent,
            spent_b2: outcome.split.spent,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::values;

    const CONFIG: FfConfig = FfConfig {
        tile_size_l0: 4,
        tile_size_l1: 2,
        kmax_l0: 3,
        kmax_l1: 8,
        budget_b1: 1.6,
        budget_b2: 1.0,
        cost_heavy: 1.0,
        cost_cheap: 0.2,
        split_overhead: 1.0,
    };
    const SHAPE: MapShape = MapShape { batch: 2, channels: 3, height: 8, width: 8 };

    fn parameters() -> FfParameters {
        let shapes = tensors(SHAPE.channels);
        let tensor = |name: &str| {
            let index = shapes.iter().position(|shape| shape.name == name)?;
            Some(values(shapes[index].elements(), index * 101))
        };
        FfParameters::read(SHAPE.channels, tensor).unwrap()
    }

    fn run(form: Form<()>, inputs: &FfInputs<'_>, config: &FfConfig) -> Result<Outputs, KernelError> {
        let (mut outputs, mut workspace) = (Outputs::default(), Workspace::default());
        super::run(form, inputs, config, &parameters(), &mut outputs, &mut workspace)?;
        Ok(outputs)
    }

    const UTILITIES: [f32; 8] = [0.9, 0.1, 0.8, 0.2, 0.0, 1.0, 0.3, 0.2];

    fn dense() -> Vec<f32> {
        values(SHAPE.elements(), 0)
    }

    fn inputs(dense: &[f32]) -> FfInputs<'_> {
        FfInputs {
            dense,
            shape: SHAPE,
            utilities: &UTILITIES,
            split_utilities: None,
            boundary: None,
            uncertainty: None,
        }
    }

    #[test]
    fn both_forms_agree_and_only_chosen_tiles_have_detail() {
        let dense = dense();
        let uncertainty = Some(Proxy { values: &[0.25, 0.75], height: 1, width: 1 });
        let inputs = FfInputs { uncertainty, ..inputs(&dense) };
        let (plain, quick) = (run(Form::Reference, &inputs, &CONFIG), run(Form::Fast(()), &inputs, &CONFIG));
        let (plain, quick) = (plain.unwrap(), quick.unwrap());
        assert_eq!(plain.chosen, quick.chosen);
        assert_eq!([&plain.chosen[0].l0[..], &plain.chosen[1].l0[..]], [[0, 2], [1, 2]]);
        assert_eq!(plain.chosen[0].l1, [0, 1, 5, 4]);
        assert_eq!(plain.chosen[0].l0_kmax_buffer, [0, 2, -1]);
        for (plain, quick) in plain.heavy_features.iter().zip(&quick.heavy_features) {
            assert!((plain - quick).abs() <= 2e-4 + 2e-4 * plain.abs());
        }
        // The last path is the fine one: in the first sample its tiles fill the coarse tile 0, rows and columns 0 to 3.
        for (position, &detail) in plain.detail_map[..64].iter().enumerate() {
            assert_eq!(detail != 0.0, position / 8 < 4 && position % 8 < 4, "pixel {position}");
        }
    }

    #[test]
    fn nothing_chosen_passes_the_input_through_the_gate() {
        let dense = dense();
        let inputs = inputs(&dense);
        let outputs = run(Form::Fast(()), &inputs, &FfConfig { budget_b1: 0.0, ..CONFIG }).unwrap();
        assert_eq!(outputs.heavy_features, dense);
        assert!(outputs.detail_map.iter().all(|&detail| detail == 0.0));
        assert!(outputs.alpha.iter().all(|&alpha| alpha > 0.0 && alpha < 1.0));
    }

    #[test]
    fn a_workspace_can_be_reused_for_calls_of_any_size() {
        let dense = dense();
        let large = inputs(&dense);
        let small = FfInputs {
            dense: &dense[..48],
            shape: MapShape { batch: 1, height: 4, width: 4, ..SHAPE },
            utilities: &UTILITIES[..1],
            ..large
        };
        let (mut outputs, mut workspace) = (Outputs::default(), Workspace::default());
        for inputs in [&large, &small, &large] {
            super::run(Form::Fast(()), inputs, &CONFIG, &parameters(), &mut outputs, &mut workspace).unwrap();
            assert_eq!(outputs.heavy_features, run(Form::Fast(()), inputs, &CONFIG).unwrap().heavy_features);
            assert_eq!(outputs.alpha.len(), inputs.shape.pixels());
        }
    }

    #[test]
    fn bad_input_is_refused() {
        let dense = dense();
        let good = inputs(&dense);
        let refuses = |inputs: &FfInputs<'_>, config: &FfConfig| run(Form::Reference, inputs, config).is_err();
        assert!(!refuses(&good, &CONFIG));
        assert!(refuses(&FfInputs { dense: &dense[1..], ..good }, &CONFIG));
        assert!(refuses(&FfInputs { utilities: &UTILITIES[1..], ..good }, &CONFIG));
        assert!(refuses(&FfInputs { utilities: &[f32::NAN; 8], ..good }, &CONFIG));
        assert!(refuses(&FfInputs { split_utilities: Some(&[0.0; 2]), ..good }, &CONFIG));
        assert!(refuses(&good, &FfConfig { tile_size_l1: 4, ..CONFIG }));
        assert!(refuses(&good, &FfConfig { budget_b2: -1.0, ..CONFIG }));
        let channels = MapShape { channels: 6, batch: 1, ..SHAPE };
        assert!(refuses(&FfInputs { shape: channels, utilities: &UTILITIES[..4], ..good }, &CONFIG));
    }
}
