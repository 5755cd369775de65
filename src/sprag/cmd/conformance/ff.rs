//! Cases of `infer` with kind `ff_forward_infer`: the feature-fusion module with parameters given by formula.

use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::Value;

use super::case::{Fields, Form, Stop, judge, list, unknown};
use super::expected::{Floats, Tolerance, floats, id_lists, integer_list, one_number};
use super::tensor::Tensor;
use sprag_kernels::ff::{self, Config, Outputs, Parameters, Proxy, Workspace, tensors};
use sprag_kernels::shape::MapShape;

/// For heavy features and detail.
const FEATURES: Tolerance = Tolerance::new(2e-4, 2e-4);
const ALPHA: Tolerance = Tolerance::new(1e-5, 0.0);
const BUDGETS: Tolerance = Tolerance::new(1e-9, 0.0);

struct Inputs {
    dense: Tensor,
    utilities: Tensor,
    split_utilities: Option<Tensor>,
    boundary: Option<Tensor>,
    uncertainty: Option<Tensor>,
    config: Config,
    parameters: Parameters,
}

struct Got {
    shape: MapShape,
    outputs: Outputs,
}

pub(super) fn run(case: &Value) -> Result<()> {
    judge(case, &["kind", "inputs", "parameters", "params"], Form::BOTH, read, forward, compare)
}

fn read(case: &Fields<'_>) -> Result<Inputs, Stop> {
    let names = ["dense_features", "utilities", "split_utilities", "boundary_proxy", "uncertainty_proxy"];
    let inputs = Fields::of(case.get("inputs")?, "`inputs`", &names)?;
    let names = [
        "channels",
        "tile_size_l0",
        "tile_size_l1",
        "kmax_l0",
        "kmax_l1",
        "budget_b1",
        "budget_b2",
        "cost_heavy",
        "cost_cheap",
        "split_overhead",
        "use_split_utilities",
        "proxies_given",
        "runtime_plugins",
    ];
    let params = Fields::of(case.get("params")?, "`params`", &names)?;
    // The plugins of the original only swap in another implementation of the same scan.
    params.flag("runtime_plugins")?;
    let optional = |name: &str, flag: &str| {
        let tensor = params.flag(flag)?.then(|| Tensor::named(&inputs, name)).transpose()?;
        if tensor.is_none() && inputs.optional(name).is_some() {
            return Err(anyhow!("`{name}` is given although `{flag}` is false"));
        }
        Ok(tensor)
    };
    let channels = params.integer("channels")?;
    Ok(Inputs {
        dense: Tensor::named(&inputs, "dense_features")?,
        utilities: Tensor::named(&inputs, "utilities")?,
        split_utilities: optional("split_utilities", "use_split_utilities")?,
        boundary: optional("boundary_proxy", "proxies_given")?,
        uncertainty: optional("uncertainty_proxy", "proxies_given")?,
        config: Config {
            tile_size_l0: params.integer("tile_size_l0")?,
            tile_size_l1: params.integer("tile_size_l1")?,
            kmax_l0: params.integer("kmax_l0")?,
            kmax_l1: params.integer("kmax_l1")?,
            budget_b1: params.number("budget_b1")?,
            budget_b2: params.number("budget_b2")?,
            cost_heavy: params.number("cost_heavy")?,
            cost_cheap: params.number("cost_cheap")?,
            split_overhead: params.number("split_overhead")?,
        },
        parameters: read_parameters(channels, case.get("parameters")?)?,
    })
}

fn read_parameters(channels: usize, parameters: &Value) -> Result<Parameters, Stop> {
    let shapes = tensors(channels);
    let names: Vec<&str> = shapes.iter().map(|tensor| tensor.name.as_str()).collect();
    let fields = Fields::of(parameters, "`parameters`", &names)?;
    let mut values = BTreeMap::new();
    for tensor in &shapes {
        let given = Tensor::named(&fields, &tensor.name)?;
        given.check_shape(&tensor.shape)?;
        values.insert(tensor.name.as_str(), given.floats::<f32>()?);
    }
    Ok(Parameters::read(channels, |name| values.get(name).cloned())?)
}

fn forward(form: Form, inputs: &Inputs) -> Result<Got, Stop> {
    let shape = inputs.dense.map_shape()?;
    let dense = inputs.dense.floats::<f32>()?;
    let utilities = inputs.utilities.floats::<f32>()?;
    let values = |tensor: &Option<Tensor>| tensor.as_ref().map(Tensor::floats::<f32>).transpose();
    let split_utilities = values(&inputs.split_utilities)?;
    let proxies = [values(&inputs.boundary)?, values(&inputs.uncertainty)?];
    let sizes = [size(&inputs.boundary, shape)?, size(&inputs.uncertainty, shape)?];
    let proxy = |which: usize| {
        let (height, width) = sizes[which];
        proxies[which].as_deref().map(|values| Proxy { values, height, width })
    };
    let tensors = ff::Inputs {
        dense: &dense,
        shape,
        utilities: &utilities,
        split_utilities: split_utilities.as_deref(),
        boundary: proxy(0),
        uncertainty: proxy(1),
    };
    let kernel = match form {
        Form::Reference => ff::reference,
        Form::Fast => ff::fast,
    };
    let (mut outputs, mut workspace) = (Outputs::default(), Workspace::default());
    kernel(&tensors, &inputs.config, &inputs.parameters, &mut outputs, &mut workspace)?;
    Ok(Got { shape, outputs })
}

fn size(proxy: &Option<Tensor>, shape: MapShape) -> Result<(usize, usize), Stop> {
    let Some(proxy) = proxy else { return Ok((shape.height, shape.width)) };
    let [_, _, height, width] = *proxy.axes()?;
    proxy.check_shape(&[shape.batch, 1, height, width])?;
    Ok((height, width))
}

fn compare(name: &str, expected: &Value, got: &Got) -> Result<()> {
    let MapShape { batch, channels, height, width } = got.shape;
    let map = |channels: usize, values: &[f32]| Floats {
        shape: vec![batch, channels, height, width],
        dtype: "float32",
        values: values.to_vec(),
    };
    let chosen = &got.outputs.chosen;
    match name {
        "selected_l0" => id_lists(name, expected, &chosen.iter().map(|chosen| &chosen.l0).collect::<Vec<_>>()),
        "selected_l1" => id_lists(name, expected, &chosen.iter().map(|chosen| &chosen.l1).collect::<Vec<_>>()),
        "l0_kmax_buffers" => buffers(name, expected, chosen.iter().map(|chosen| &chosen.l0_kmax_buffer)),
        "l1_kmax_buffers" => buffers(name, expected, chosen.iter().map(|chosen| &chosen.l1_kmax_buffer)),
        "spent_budget_b1" => one_number(name, expected, one(chosen)?.spent_b1, BUDGETS),
        "spent_budget_b2" => one_number(name, expected, one(chosen)?.spent_b2, BUDGETS),
        "alpha" => floats(name, expected, &map(1, &got.outputs.alpha), ALPHA),
        "heavy_features" => floats(name, expected, &map(channels, &got.outputs.heavy_features), FEATURES),
        "detail_map" => floats(name, expected, &map(channels, &got.outputs.detail_map), FEATURES),
        _ => unknown(name),
    }
}

/// The budget is one number for the whole call; how samples share it is not recorded.
fn one(chosen: &[ff::Chosen]) -> Result<&ff::Chosen> {
    ensure!(chosen.len() == 1, "a budget of {} samples is unknown to this build", chosen.len());
    chosen.first().context("the case has no sample")
}

fn buffers<'a>(name: &str, expected: &Value, got: impl ExactSizeIterator<Item = &'a Vec<i64>>) -> Result<()> {
    let expected = list(name, expected)?;
    ensure!(expected.len() == got.len(), "`{name}`: expected {} lists, got {}", expected.len(), got.len());
    for (position, (expected, got)) in expected.iter().zip(got).enumerate() {
        integer_list(&format!("{name}[{position}]"), expected, got)?;
    }
    Ok(())
}
