//! What the steps of the analysis of one series share.

use super::noise::Noise;
use super::scale::Scaled;
use super::sensitivity::Sensitivity;
use super::tuning::Tuning;

#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    pub(super) scaled: &'a Scaled,
    pub(super) noise: &'a Noise,
    pub(super) sensitivity: &'a Sensitivity,
}

impl<'a> Input<'a> {
    pub(super) fn tuning(&self) -> &'a Tuning {
        &self.sensitivity.tuning
    }
}
