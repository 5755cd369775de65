//! The forward pass: choose on two levels, run the coarse path, then the fine one on its result.

use super::super::KernelError;
use super::super::ordering::OrderMode;
use super::super::quadtree::check_halving;
use super::super::selection::greedy::Candidates;
use super::super::selection::stages::{SplitRule, two_stage};
use super::super::shape::{Grid, MapShape, check_length};
use super::path::{Form, Path, Results};
use super::resize::resize;
use super::{Chosen, FfConfig, FfInputs, Outputs, Parameters, Workspace};

/// The smallest cost of computing a tile.
const SMALLEST_DELTA: f64 = 1e-9;

/// Computes with the reference forms of the kernels.
///
/// # Errors
/// Tile sizes that do not halve or do not divide the map, slices of the wrong length, parameters for another number of
/// channels, utilities that are not finite, negative budgets.
pub fn reference(
    inputs: &FfInputs<'_>,
    config: &FfConfig,
    parameters: &Parameters,
    outputs: &mut Outputs,
    workspace: &mut Workspace,
) -> Result<(), KernelError> {
    run(inputs, config, parameters, outputs, workspace, Form::Reference)
}

/// Computes with the fast forms of the kernels.
pub fn fast(
    inputs: &FfInputs<'_>,
    config: &FfConfig,
    parameters: &Parameters,
    outputs: &mut Outputs,
    workspace: &mut Workspace,
) -> Result<(), KernelError> {
    run(inputs, config, parameters, outputs, workspace, Form::Fast)
}

fn run(
    inputs: &FfInputs<'_>,
    config: &FfConfig,
    parameters: &Parameters,
    outputs: &mut Outputs,
    workspace: &mut Workspace,
    form: Form,
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
    let results =
        Results { fused: &mut outputs.heavy_features, alpha: &mut outputs.alpha, detail: &mut outputs.detail_map };
    coarse.run(inputs.dense, &rows, results, &mut workspace.path)?;
    if outputs.chosen.iter().any(|chosen| !chosen.l1.is_empty()) {
        workspace.coarse.clone_from(&outputs.heavy_features);
        let fine = Path { tile_size: config.tile_size_l1, parameters: &parameters.l1, ..coarse };
        let rows: Vec<&[u32]> = outputs.chosen.iter().map(|chosen| chosen.l1.as_slice()).collect();
        let results =
            Results { fused: &mut outputs.heavy_features, alpha: &mut outputs.alpha, detail: &mut outputs.detail_map };
        fine.run(&workspace.coarse, &rows, results, &mut workspace.path)?;
    }
    Ok(())
}

/// Chooses the tiles of each sample alone. Since all tiles cost the same, and all splits, every sample gets as many.
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
    use super::super::{Proxy, tensors};
    use super::*;

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

    fn value(position: usize) -> f32 {
        (position as f32 * 0.618).fract() - 0.5
    }

    fn parameters() -> Parameters {
        let shapes = tensors(SHAPE.channels);
        let tensor = |name: &str| {
            let index = shapes.iter().position(|shape| shape.name == name)?;
            Some((0..shapes[index].elements()).map(|position| value(index * 101 + position)).collect())
        };
        Parameters::read(SHAPE.channels, tensor).unwrap()
    }

    fn run(form: Form, inputs: &FfInputs<'_>, config: &FfConfig) -> Result<Outputs, KernelError> {
        let (mut outputs, mut workspace) = (Outputs::default(), Workspace::default());
        super::run(inputs, config, &parameters(), &mut outputs, &mut workspace, form)?;
        Ok(outputs)
    }

    fn dense() -> Vec<f32> {
        (0..SHAPE.elements()).map(value).collect()
    }

    #[test]
    fn both_forms_agree_and_only_chosen_tiles_have_detail() {
        let dense = dense();
        let utilities = [0.9, 0.1, 0.8, 0.2, 0.0, 1.0, 0.3, 0.2];
        let inputs = FfInputs {
            dense: &dense,
            shape: SHAPE,
            utilities: &utilities,
            split_utilities: None,
            boundary: None,
            uncertainty: Some(Proxy { values: &[0.25, 0.75], height: 1, width: 1 }),
        };
        let (plain, quick) = (run(Form::Reference, &inputs, &CONFIG), run(Form::Fast, &inputs, &CONFIG));
        let (plain, quick) = (plain.unwrap(), quick.unwrap());
        assert_eq!(plain.chosen, quick.chosen);
        assert_eq!(
            (plain.chosen[0].l0.as_slice(), plain.chosen[1].l0.as_slice()),
            ([0, 2].as_slice(), [1, 2].as_slice())
        );
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
        let utilities = [1.0; 8];
        let inputs = FfInputs {
            dense: &dense,
            shape: SHAPE,
            utilities: &utilities,
            split_utilities: None,
            boundary: None,
            uncertainty: None,
        };
        let outputs = run(Form::Fast, &inputs, &FfConfig { budget_b1: 0.0, ..CONFIG }).unwrap();
        assert_eq!(outputs.heavy_features, dense);
        assert!(outputs.detail_map.iter().all(|&detail| detail == 0.0));
        assert!(outputs.alpha.iter().all(|&alpha| alpha > 0.0 && alpha < 1.0));
    }

    #[test]
    fn a_workspace_serves_calls_of_any_size() {
        let dense = dense();
        let utilities = [0.9, 0.1, 0.8, 0.2, 0.0, 1.0, 0.3, 0.2];
        let large = FfInputs {
            dense: &dense,
            shape: SHAPE,
            utilities: &utilities,
            split_utilities: None,
            boundary: None,
            uncertainty: None,
        };
        let small = FfInputs {
            dense: &dense[..48],
            shape: MapShape { batch: 1, height: 4, width: 4, ..SHAPE },
            utilities: &utilities[..1],
            ..large
        };
        let (mut outputs, mut workspace) = (Outputs::default(), Workspace::default());
        for inputs in [&large, &small, &large] {
            fast(inputs, &CONFIG, &parameters(), &mut outputs, &mut workspace).unwrap();
            assert_eq!(outputs.heavy_features, run(Form::Fast, inputs, &CONFIG).unwrap().heavy_features);
            assert_eq!(outputs.alpha.len(), inputs.shape.pixels());
        }
    }

    #[test]
    fn bad_input_is_refused() {
        let dense = dense();
        let utilities = [1.0; 8];
        let good = FfInputs {
            dense: &dense,
            shape: SHAPE,
            utilities: &utilities,
            split_utilities: None,
            boundary: None,
            uncertainty: None,
        };
        let refuses = |inputs: &FfInputs<'_>, config: &FfConfig| run(Form::Reference, inputs, config).is_err();
        assert!(!refuses(&good, &CONFIG));
        assert!(refuses(&FfInputs { dense: &dense[1..], ..good }, &CONFIG));
        assert!(refuses(&FfInputs { utilities: &utilities[1..], ..good }, &CONFIG));
        assert!(refuses(&FfInputs { utilities: &[f32::NAN; 8], ..good }, &CONFIG));
        assert!(refuses(&FfInputs { split_utilities: Some(&[0.0; 2]), ..good }, &CONFIG));
        assert!(refuses(&good, &FfConfig { tile_size_l1: 4, ..CONFIG }));
        assert!(refuses(&good, &FfConfig { budget_b2: -1.0, ..CONFIG }));
        let channels = MapShape { channels: 6, batch: 1, ..SHAPE };
        assert!(refuses(&FfInputs { shape: channels, utilities: &utilities[..4], ..good }, &CONFIG));
    }
}
