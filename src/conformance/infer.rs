//! Cases of `infer`: the small model over frames (`cpu_baseline`), and the feature-fusion module (`ff_forward_infer`).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::case::{Call, Form, judge_forms, take_kind, unknown_kind};
use crate::expected::{Got, Results, Tolerance, check_expected, exactly, floats, near};
use crate::failure::{Outcome, fails, read, require};
use crate::tensor::{Dtype, Tensor};
use sprag_kernels::ff::{self, FfConfig, FfParameters, Outputs, Proxy, Workspace, tensors};
use sprag_kernels::infer::{self, BUDGET, InferFrame, Model};
use sprag_kernels::shape::MapShape;

const FRAMES: Tolerance = Tolerance::new(2e-5, 2e-5);
const SIGNALS: Tolerance = Tolerance::new(0.0, 1e-5);
const BUDGETS: Tolerance = Tolerance::new(1e-9, 0.0);
/// For heavy features and detail of the module.
const FEATURES: Tolerance = Tolerance::new(2e-4, 2e-4);
const ALPHA: Tolerance = Tolerance::new(1e-5, 0.0);

pub(crate) fn run(mut case: Value) -> Outcome {
    match take_kind(&mut case)?.as_str() {
        "cpu_baseline" => run_frames(case),
        "ff_forward_infer" => judge_forms(case, forward),
        kind => Err(unknown_kind(kind)),
    }
}

/// The inputs are the images `image_0`, `image_1` and so on, all of one shape.
type FrameCase = Call<BTreeMap<String, Tensor>, FrameParams>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FrameParams {
    input_hw: usize,
    /// The most that the tiles of a frame may cost; by default the model's own.
    #[serde(rename = "routing.budget_b1")]
    budget_b1: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedFrames {
    frames: Vec<Value>,
}

/// Each frame is compared by its recorded fields.
fn run_frames(mut case: Value) -> Outcome {
    let expected: ExpectedFrames = read("`expected`", case["expected"].take())?;
    case["expected"] = json!(expected.frames.len());
    judge_forms(case, |form, case: &FrameCase| {
        let frames = case.run(form)?;
        for (place, (recorded, got)) in expected.frames.iter().zip(&frames).enumerate() {
            check_expected(recorded, got).map_err(|failure| failure.at(format_args!("frames[{place}]")))?;
        }
        Ok(vec![("expected", exactly(frames.len()))])
    })
}

impl FrameCase {
    fn run(&self, form: Form) -> Outcome<Vec<Results>> {
        let image = |place: usize| {
            let name = format!("image_{place}");
            self.inputs.get(&name).ok_or_else(|| fails(format!("`{name}` is absent")))
        };
        let shape = image(0)?.map_shape()?;
        let mut model = Model::with_budget(shape, self.params.budget_b1.unwrap_or(BUDGET))?;
        let mut frames = Vec::new();
        for place in 0..self.inputs.len() {
            let image = image(place)?;
            image.check_shape(&[shape.batch, shape.channels, self.params.input_hw, self.params.input_hw])?;
            frames.push(results(infer::run(form, &image.floats::<f32>()?, &mut model)?, shape));
        }
        Ok(frames)
    }
}

fn float32(shape: &[usize], values: &[f32], tolerance: Tolerance) -> Got {
    floats(shape, Dtype::Float32, values, tolerance)
}

fn results(frame: &InferFrame, image: MapShape) -> Results {
    let pooled = |side: usize, values: &[f32]| {
        float32(&[1, image.channels, image.height / side, image.width / side], values, FRAMES)
    };
    let signals: Vec<f64> = frame.signals.iter().map(|&signal| f64::from(signal)).collect();
    let mask: Vec<u8> = frame.hysteresis_mask.iter().map(|&on| u8::from(on)).collect();
    vec![
        ("signals", near(signals, SIGNALS)),
        ("selected_tiles", exactly(&frame.selected_tiles)),
        ("hysteresis_mask", exactly(mask)),
        ("spent_budget_b1", near(frame.spent_budget, BUDGETS)),
        ("pv16", pooled(16, &frame.pv16)),
        ("ff8", pooled(8, &frame.ff8)),
        ("merged", pooled(8, &frame.merged)),
        ("ssm_state", float32(&[1, image.channels], &frame.ssm_state, FRAMES)),
        ("det_score", near(f64::from(frame.det_score), FRAMES)),
    ]
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModuleCase {
    inputs: ModuleInputs,
    parameters: BTreeMap<String, Tensor>,
    params: ModuleParams,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModuleInputs {
    dense_features: Tensor,
    utilities: Tensor,
    split_utilities: Option<Tensor>,
    boundary_proxy: Option<Tensor>,
    uncertainty_proxy: Option<Tensor>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModuleParams {
    channels: usize,
    tile_size_l0: usize,
    tile_size_l1: usize,
    kmax_l0: usize,
    kmax_l1: usize,
    budget_b1: f64,
    budget_b2: f64,
    cost_heavy: f64,
    cost_cheap: f64,
    split_overhead: f64,
    use_split_utilities: bool,
    proxies_given: bool,
    /// The plugins of the original only swap in another implementation of the same scan.
    #[serde(rename = "runtime_plugins")]
    _runtime_plugins: bool,
}

fn forward(form: Form, case: &ModuleCase) -> Outcome<Results> {
    let ModuleCase { inputs, params, .. } = case;
    let shape = inputs.dense_features.map_shape()?;
    let values = |tensor: &Option<Tensor>, is_given: bool| {
        require(tensor.is_some() == is_given, || "a tensor is given, or absent, against `params`".to_owned())?;
        tensor.as_ref().map(Tensor::floats::<f32>).transpose()
    };
    let split_utilities = values(&inputs.split_utilities, params.use_split_utilities)?;
    let boundary = values(&inputs.boundary_proxy, params.proxies_given)?;
    let uncertainty = values(&inputs.uncertainty_proxy, params.proxies_given)?;
    let (dense, utilities) = (inputs.dense_features.floats::<f32>()?, inputs.utilities.floats::<f32>()?);
    let tensors = ff::FfInputs {
        dense: &dense,
        shape,
        utilities: &utilities,
        split_utilities: split_utilities.as_deref(),
        boundary: proxy(&inputs.boundary_proxy, boundary.as_deref(), shape)?,
        uncertainty: proxy(&inputs.uncertainty_proxy, uncertainty.as_deref(), shape)?,
    };
    let config = FfConfig {
        tile_size_l0: params.tile_size_l0,
        tile_size_l1: params.tile_size_l1,
        kmax_l0: params.kmax_l0,
        kmax_l1: params.kmax_l1,
        budget_b1: params.budget_b1,
        budget_b2: params.budget_b2,
        cost_heavy: params.cost_heavy,
        cost_cheap: params.cost_cheap,
        split_overhead: params.split_overhead,
    };
    let mut outputs = Outputs::default();
    ff::run(form, &tensors, &config, &case.parameters()?, &mut outputs, &mut Workspace::default())?;
    let MapShape { batch, channels, height, width } = shape;
    let map =
        |channels: usize, values: &[f32], tolerance| float32(&[batch, channels, height, width], values, tolerance);
    let Outputs { chosen, alpha, heavy_features, detail_map } = &outputs;
    let each = |of: fn(&ff::Chosen) -> Value| exactly(chosen.iter().map(of).collect::<Value>());
    // The original states what all samples of a call spent together.
    let spent = |of: fn(&ff::Chosen) -> f64| near(chosen.iter().map(of).fold(0.0, |sum, spent| sum + spent), BUDGETS);
    Ok(vec![
        ("selected_l0", each(|one| json!(one.l0))),
        ("selected_l1", each(|one| json!(one.l1))),
        ("l0_kmax_buffers", each(|one| json!(one.l0_kmax_buffer))),
        ("l1_kmax_buffers", each(|one| json!(one.l1_kmax_buffer))),
        ("spent_budget_b1", spent(|one| one.spent_b1)),
        ("spent_budget_b2", spent(|one| one.spent_b2)),
        ("alpha", map(1, alpha, ALPHA)),
        ("heavy_features", map(channels, heavy_features, FEATURES)),
        ("detail_map", map(channels, detail_map, FEATURES)),
    ])
}

fn proxy<'a>(tensor: &Option<Tensor>, values: Option<&'a [f32]>, shape: MapShape) -> Outcome<Option<Proxy<'a>>> {
    let (Some(tensor), Some(values)) = (tensor, values) else { return Ok(None) };
    let [_, _, height, width] = *tensor.axes()?;
    tensor.check_shape(&[shape.batch, 1, height, width])?;
    Ok(Some(Proxy { values, height, width }))
}

impl ModuleCase {
    fn parameters(&self) -> Outcome<FfParameters> {
        let shapes = tensors(self.params.channels);
        let is_unknown = |name: &&String| !shapes.iter().any(|shape| shape.name == **name);
        if let Some(other) = self.parameters.keys().find(is_unknown) {
            return Err(fails(format!("parameter `{other}` is unknown to this build")));
        }
        let mut values = BTreeMap::new();
        for tensor in &shapes {
            let given = self.parameters.get(&tensor.name);
            let given = given.ok_or_else(|| fails(format!("parameter `{}` is absent", tensor.name)))?;
            given.check_shape(&tensor.shape)?;
            values.insert(tensor.name.as_str(), given.floats::<f32>()?);
        }
        Ok(FfParameters::read(self.params.channels, |name| values.get(name).cloned())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A golden case of one sample, given twice as a batch: both choose alike, and spend twice as much together.
    #[test]
    fn a_batch_of_two_spends_together() {
        let golden: Value = serde_json::from_str(include_str!("../../fixtures/golden/apex-x/infer.json"))
            .expect("the golden cases are JSON");
        let case = golden["cases"].as_array().into_iter().flatten().find(|case| case["kind"] == "ff_forward_infer");
        let mut case = case.expect("there is one").clone();
        for name in ["dense_features", "utilities", "split_utilities", "boundary_proxy", "uncertainty_proxy"] {
            let tensor = &case["inputs"][name];
            let one: Tensor = serde_json::from_value(tensor.clone()).expect("a tensor");
            let one: Vec<f32> = one.floats().expect("floats");
            let both = [&one[..], &one].concat();
            let mut shape = tensor["shape"].clone();
            shape[0] = json!(2);
            case["inputs"][name] = json!({"shape": shape, "data": both});
        }
        for name in ["selected_l0", "selected_l1", "l0_kmax_buffers", "l1_kmax_buffers"] {
            let one = case["expected"][name][0].clone();
            case["expected"][name] = json!([one, one]);
        }
        for name in ["spent_budget_b1", "spent_budget_b2"] {
            let one = case["expected"][name].as_f64().expect("a number");
            case["expected"][name] = json!(2.0 * one);
        }
        for name in ["alpha", "heavy_features", "detail_map"] {
            case["expected"].as_object_mut().expect("an object").remove(name);
        }
        run(case.clone()).expect("it passes");
        case["expected"]["spent_budget_b1"] = json!(0.8);
        assert!(run(case).is_err());
    }
}
