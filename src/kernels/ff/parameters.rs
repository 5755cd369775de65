//! The parameters of the feature-fusion module, under the dotted names of checkpoints.
//!
//! Two paths, `l0_path` and `l1_path`, have 28 tensors each. The scan parameters are raw and converted once when they are
//! read: a decay is `1e-3 + 0.998 sigmoid(logit)`, a gain is `softplus(raw) + 1e-6`, a merge gate is `sigmoid(logit)`. The
//! tensors of `scan_forward` belong to a scan that this module never runs; they are checked and ignored.

use super::super::KernelError;
use super::super::fusion::{Mix, softplus};
use super::super::scan;

const DECAY_FLOOR: f32 = 1e-3;
const DECAY_SPAN: f32 = 0.998;
const GAIN_FLOOR: f32 = 1e-6;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterShape {
    pub name: String,
    /// None for a scalar.
    pub shape: Vec<usize>,
}

impl ParameterShape {
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }
}

/// Every list has the length that its shape requires.
#[derive(Clone, Debug, PartialEq)]
pub struct FfParameters {
    pub(super) channels: usize,
    pub(super) l0: PathParameters,
    pub(super) l1: PathParameters,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PathParameters {
    pub forward: ScanParameters,
    pub backward: ScanParameters,
    /// The weight of the forward scan, `[C]`.
    pub merge_gate: Vec<f32>,
    pub film: Film,
    pub refine: Refine,
    pub gate: Mix,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ScanParameters {
    pub decay: Vec<f32>,
    pub input_gain: Vec<f32>,
    pub output_gain: Vec<f32>,
    pub state_bias: Vec<f32>,
}

impl ScanParameters {
    pub(super) fn view(&self) -> scan::Recurrence<'_> {
        scan::Recurrence {
            decay: &self.decay,
            input_gain: &self.input_gain,
            output_gain: &self.output_gain,
            state_bias: &self.state_bias,
        }
    }
}

/// Layer normalisation, a linear layer from C to C, one from C to 2C. Weights are row-major, a row an output.
#[derive(Clone, Debug, PartialEq)]
pub struct Film {
    pub norm_weight: Vec<f32>,
    pub norm_bias: Vec<f32>,
    pub hidden_weight: Vec<f32>,
    pub hidden_bias: Vec<f32>,
    pub output_weight: Vec<f32>,
    pub output_bias: Vec<f32>,
}

/// A depthwise convolution, `[C,1,3,3]`, a pointwise one, `[2C,C,1,1]`, and a group normalisation of `2C` channels.
#[derive(Clone, Debug, PartialEq)]
pub struct Refine {
    pub depthwise_weight: Vec<f32>,
    pub depthwise_bias: Vec<f32>,
    pub pointwise_weight: Vec<f32>,
    pub pointwise_bias: Vec<f32>,
    pub norm_weight: Vec<f32>,
    pub norm_bias: Vec<f32>,
}

/// Names and shapes of all 56 tensors for this many channels, in the order of a checkpoint.
pub fn tensors(channels: usize) -> Vec<ParameterShape> {
    let c = channels;
    let scan = ["decay_logit", "input_gain_raw", "output_gain_raw", "state_bias"];
    let mut shapes: Vec<(String, Vec<usize>)> = Vec::new();
    shapes.extend(scan.iter().map(|name| (format!("scan_forward.{name}"), vec![c])));
    shapes.push(("scan_bidirectional.merge_gate_logit".to_owned(), vec![c]));
    for direction in ["forward_scan", "backward_scan"] {
        shapes.extend(scan.iter().map(|name| (format!("scan_bidirectional.{direction}.{name}"), vec![c])));
    }
    let norm = |name: &str, channels: usize| {
        [("weight", vec![channels]), ("bias", vec![channels])].map(|(part, shape)| (format!("{name}.{part}"), shape))
    };
    let layer = |name: &str, weight: Vec<usize>| {
        let bias = vec![weight[0]];
        [(format!("{name}.weight"), weight), (format!("{name}.bias"), bias)]
    };
    shapes.extend(norm("film.token_norm", c));
    shapes.extend(layer("film.mlp.0", vec![c, c]));
    shapes.extend(layer("film.mlp.2", vec![2 * c, c]));
    shapes.extend(layer("refine.depthwise", vec![c, 1, 3, 3]));
    shapes.extend(layer("refine.pointwise", vec![2 * c, c, 1, 1]));
    shapes.extend(norm("refine.norm", 2 * c));
    let gate = ["boundary_log_weight", "uncertainty_log_weight", "bias"];
    shapes.extend(gate.map(|name| (format!("fusion_gate.{name}"), Vec::new())));
    let of_path = |path: &'static str| {
        shapes.iter().map(move |(name, shape)| ParameterShape { name: format!("{path}.{name}"), shape: shape.clone() })
    };
    of_path("l0_path").chain(of_path("l1_path")).collect()
}

impl FfParameters {
    /// `tensor` returns the elements of a name, row-major.
    pub fn read(channels: usize, tensor: impl Fn(&str) -> Option<Vec<f32>>) -> Result<Self, KernelError> {
        if channels == 0 {
            return Err(KernelError::Empty { what: "parameters" });
        }
        let mut values = Vec::new();
        for shape in tensors(channels) {
            let elements = tensor(&shape.name).ok_or_else(|| KernelError::ParameterMissing(shape.name.clone()))?;
            let (expected, got) = (shape.elements(), elements.len());
            if got != expected {
                return Err(KernelError::ParameterLength { name: shape.name, expected, got });
            }
            values.push(elements);
        }
        let mut values = values.into_iter();
        let (l0, l1) = (PathParameters::take(&mut values), PathParameters::take(&mut values));
        Ok(FfParameters { channels, l0, l1 })
    }

    pub fn l0(&self) -> &PathParameters {
        &self.l0
    }

    pub fn l1(&self) -> &PathParameters {
        &self.l1
    }
}

impl PathParameters {
    /// Takes the 28 tensors of a path in the order of [`tensors`].
    fn take(values: &mut impl Iterator<Item = Vec<f32>>) -> Self {
        let mut next = || values.next().expect("`tensors` names as many tensors as are taken");
        for _ in 0..4 {
            next();
        }
        let merge_gate = next().into_iter().map(sigmoid).collect();
        let mut scan = || ScanParameters {
            decay: next().into_iter().map(|logit| DECAY_FLOOR + DECAY_SPAN * sigmoid(logit)).collect(),
            input_gain: next().into_iter().map(|raw| softplus(raw) + GAIN_FLOOR).collect(),
            output_gain: next().into_iter().map(|raw| softplus(raw) + GAIN_FLOOR).collect(),
            state_bias: next(),
        };
        let (forward, backward) = (scan(), scan());
        let film = Film {
            norm_weight: next(),
            norm_bias: next(),
            hidden_weight: next(),
            hidden_bias: next(),
            output_weight: next(),
            output_bias: next(),
        };
        let refine = Refine {
            depthwise_weight: next(),
            depthwise_bias: next(),
            pointwise_weight: next(),
            pointwise_bias: next(),
            norm_weight: next(),
            norm_bias: next(),
        };
        let gate = Mix { boundary_log_weight: next()[0], uncertainty_log_weight: next()[0], bias: next()[0] };
        PathParameters { forward, backward, merge_gate, film, refine, gate }
    }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_of_128_channels_has_172550_parameters_in_56_tensors() {
        let shapes = tensors(128);
        assert_eq!(shapes.len(), 56);
        assert_eq!(shapes.iter().map(ParameterShape::elements).sum::<usize>(), 172_550);
        assert_eq!(shapes[4].name, "l0_path.scan_bidirectional.merge_gate_logit");
        assert_eq!(shapes[55], ParameterShape { name: "l1_path.fusion_gate.bias".to_owned(), shape: vec![] });
    }

    #[test]
    fn raw_parameters_are_converted_and_each_lands_in_its_place() {
        let shapes = tensors(1);
        let position = |name: &str| shapes.iter().position(|shape| shape.name == name);
        let parameters = FfParameters::read(1, |name| {
            let index = position(name)?;
            Some(vec![index as f32 / 10.0; shapes[index].elements()])
        })
        .unwrap();
        let value = |name: &str| position(name).unwrap() as f32 / 10.0;
        let scan = parameters.l1.backward.view();
        let prefix = "l1_path.scan_bidirectional.backward_scan";
        assert_eq!(scan.decay, [1e-3 + 0.998 * sigmoid(value(&format!("{prefix}.decay_logit")))]);
        assert_eq!(scan.output_gain, [softplus(value(&format!("{prefix}.output_gain_raw"))) + 1e-6]);
        assert_eq!(scan.state_bias, [value(&format!("{prefix}.state_bias"))]);
        assert_eq!(parameters.l0.refine.norm_bias, [value("l0_path.refine.norm.bias"); 2]);
        assert_eq!(parameters.l0.film.output_bias, [value("l0_path.film.mlp.2.bias"); 2]);
        assert_eq!(parameters.l1.gate.bias, value("l1_path.fusion_gate.bias"));
    }

    #[test]
    fn absent_and_misshapen_tensors_are_named() {
        let name = "l0_path.scan_forward.decay_logit".to_owned();
        assert_eq!(FfParameters::read(1, |_| None), Err(KernelError::ParameterMissing(name.clone())));
        let refused = KernelError::ParameterLength { name, expected: 1, got: 2 };
        assert_eq!(FfParameters::read(1, |_| Some(vec![0.0; 2])), Err(refused));
        assert!(FfParameters::read(0, |_| Some(vec![])).is_err());
    }
}
