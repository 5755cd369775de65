//! The settings of a suite of CUDA kernels, and what holds where they are absent.

use super::suite::{GpuProfile, Suite, SuiteKind};
use sprag_measure::gpu::precision::AskedDtype;

impl Suite {
    /// The sizes that it measures at: both where it says nothing.
    pub fn profiles(&self) -> Vec<GpuProfile> {
        self.profiles.clone().unwrap_or_else(|| vec![GpuProfile::Fixed, GpuProfile::Large])
    }

    /// The element types that it measures with, all but the 8-bit one where it says nothing.
    pub fn dtypes(&self) -> Vec<AskedDtype> {
        self.dtypes.clone().unwrap_or_else(|| vec![AskedDtype::Fp16, AskedDtype::Bf16, AskedDtype::Fp32])
    }

    /// The first setting of a suite of CUDA kernels that cannot be, and what is wrong, to be read after the suite's
    /// name.
    pub fn gpu_fault(&self) -> Option<(&'static str, String)> {
        if self.kind != SuiteKind::Gpu {
            return None;
        }
        let (profiles, dtypes) = (self.profiles(), self.dtypes());
        let is_twice = |places: usize, same: &dyn Fn(usize, usize) -> bool| {
            (0..places).any(|later| (0..later).any(|earlier| same(earlier, later)))
        };
        for (key, count, twice) in [
            ("profiles", profiles.len(), is_twice(profiles.len(), &|a, b| profiles[a] == profiles[b])),
            ("dtypes", dtypes.len(), is_twice(dtypes.len(), &|a, b| dtypes[a] == dtypes[b])),
        ] {
            if count == 0 {
                return Some((key, format!(".{key}` is empty, so nothing would be measured; leave it out for all")));
            }
            if twice {
                return Some((key, format!(".{key}` names one twice")));
            }
        }
        None
    }
}
