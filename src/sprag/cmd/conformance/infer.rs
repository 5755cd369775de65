//! Cases of `infer`: the small model over frames (`cpu_baseline`) and the feature-fusion module (`ff_forward_infer`).

use anyhow::{Result, anyhow, bail, ensure};
use serde_json::Value;

use super::case::{Fields, Form, Stop, each, judge, list, unknown};
use super::expected::{Floats, Tolerance, floats, id_list, integer_list, number_list, one_number};
use super::tensor::Tensor;
use sprag_kernels::infer::{Frame, Model, reference};
use sprag_kernels::shape::MapShape;

const ARRAYS: Tolerance = Tolerance::new(2e-5, 2e-5);
const SIGNALS: Tolerance = Tolerance::new(0.0, 1e-5);
const BUDGETS: Tolerance = Tolerance::new(1e-9, 0.0);

pub(super) fn run(case: &Value) -> Result<()> {
    match Fields::any(case, "the case")?.text("kind")? {
        "cpu_baseline" => run_frames(case),
        "ff_forward_infer" => super::ff::run(case),
        kind => bail!("kind `{kind}` is unknown to this build"),
    }
}

fn run_frames(case: &Value) -> Result<()> {
    judge(case, &["kind", "inputs", "params"], Form::ONE, read, infer, |name, expected, got| match name {
        "frames" => {
            let expected = list(name, expected)?;
            ensure!(expected.len() == got.len(), "expected {} frames, got {}", expected.len(), got.len());
            for (position, (expected, got)) in expected.iter().zip(got).enumerate() {
                let frame = format!("frames[{position}]");
                each(&frame, expected, |name, value| compare(&format!("{frame}.{name}"), name, value, got))?;
            }
            Ok(())
        }
        _ => unknown(name),
    })
}

/// The frames of a case, at least one, all of one shape.
struct Images(Vec<Tensor>);

fn read(case: &Fields<'_>) -> Result<Images, Stop> {
    let inputs = Fields::any(case.get("inputs")?, "`inputs`")?;
    let side: usize = Fields::of(case.get("params")?, "`params`", &["input_hw"])?.integer("input_hw")?;
    let count = inputs.names().count();
    let images: Vec<Tensor> =
        (0..count).map(|frame| Tensor::named(&inputs, &format!("image_{frame}"))).collect::<Result<_>>()?;
    if images.is_empty() {
        return Err(anyhow!("the case has no image").into());
    }
    for image in &images {
        let [_, channels, ..] = *image.axes::<4>()?;
        image.check_shape(&[1, channels, side, side])?;
    }
    Ok(Images(images))
}

/// A frame and the shape of its image.
type Seen = (Frame, MapShape);

fn infer(_: Form, Images(images): &Images) -> Result<Vec<Seen>, Stop> {
    let shape = images[0].map_shape()?;
    let mut model = Model::new(shape)?;
    images.iter().map(|image| Ok((reference(&image.floats::<f32>()?, &mut model)?.clone(), shape))).collect()
}

fn compare(path: &str, name: &str, expected: &Value, (frame, image): &Seen) -> Result<()> {
    let map = |pool: usize, values: &[f32]| Floats {
        shape: vec![1, image.channels, image.height / pool, image.width / pool],
        dtype: "float32",
        values: values.to_vec(),
    };
    match name {
        "signals" => {
            let signals: Vec<f64> = frame.signals.iter().map(|&signal| f64::from(signal)).collect();
            number_list(path, expected, &signals, SIGNALS)
        }
        "selected_tiles" => id_list(path, expected, &frame.selected_tiles),
        "hysteresis_mask" => {
            let mask: Vec<i64> = frame.hysteresis_mask.iter().map(|&on| i64::from(on)).collect();
            integer_list(path, expected, &mask)
        }
        "spent_budget_b1" => one_number(path, expected, frame.spent_budget, BUDGETS),
        "pv16" => floats(path, expected, &map(16, &frame.pv16), ARRAYS),
        "ff8" => floats(path, expected, &map(8, &frame.ff8), ARRAYS),
        "merged" => floats(path, expected, &map(8, &frame.merged), ARRAYS),
        "ssm_state" => {
            let state = Floats { shape: vec![1, image.channels], dtype: "float32", values: frame.ssm_state.clone() };
            floats(path, expected, &state, ARRAYS)
        }
        "det_score" => one_number(path, expected, f64::from(frame.det_score), ARRAYS),
        _ => unknown(path),
    }
}
