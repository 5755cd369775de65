//! The operations of the GPU suite: for each its shapes, its programs in both forms, and what it must come to.

use crate::gpu::program::{CudaKernel, Dtype};
use crate::gpu::settings::Profile;

pub mod tiled;
mod kernel;

pub mod copy;
pub mod ff_path;
pub mod fusion_gate;
pub mod scan;
pub mod tile_unpack;

#[cfg(test)]
pub(super) mod checks;

pub(in crate::gpu) use self::kernel::summed;
pub use self::kernel::{Code, ExpectedBuffer, GpuForm, HostInputs, LaunchConfig, Operation, SelectTiles, widen};
pub use self::scan::{InitialState, ScanWay, TokenScan};
pub use self::tiled::{Draw, Tiled};

/// The operations that a suite times at the sizes of a profile, in the order in which tables list them.
const TIMED: [fn(&Profile) -> Vec<Operation>; 6] =
    [tiled::packs, tile_unpack::timed, tiled::fused, fusion_gate::timed, scan::timed, ff_path::timed];

const CHECKED: [fn() -> Vec<Operation>; 2] = [tile_unpack::checked, copy::checked];

impl Operation {
    pub fn all(profile: &Profile) -> Vec<Operation> {
        TIMED.iter().flat_map(|timed| timed(profile)).collect()
    }

    pub fn every() -> Vec<Operation> {
        let checked = CHECKED.iter().flat_map(|checked| checked());
        Operation::all(&Profile::FIXED).into_iter().chain(checked).collect()
    }
}

/// The start of every source: element types, conversions and vectors.
const ELEMENT: &str = include_str!("../../../../kernels/element.cuh");

const FILES: [(&str, &str); 13] = [
    ("clock.cu", include_str!("../../../../kernels/clock.cu")),
    ("compare.cu", include_str!("../../../../kernels/compare.cu")),
    ("copy.cu", include_str!("../../../../kernels/copy.cu")),
    ("empty.cu", include_str!("../../../../kernels/empty.cu")),
    ("ff.cu", include_str!("../../../../kernels/ff.cu")),
    ("ff_fused.cu", include_str!("../../../../kernels/ff_fused.cu")),
    ("fill.cu", include_str!("../../../../kernels/fill.cu")),
    ("fused.cu", include_str!("../../../../kernels/fused.cu")),
    ("fusion_gate.cu", include_str!("../../../../kernels/fusion_gate.cu")),
    ("scan.cu", include_str!("../../../../kernels/scan.cu")),
    ("spin.cu", include_str!("../../../../kernels/spin.cu")),
    ("tile_pack.cu", include_str!("../../../../kernels/tile_pack.cu")),
    ("tile_unpack.cu", include_str!("../../../../kernels/tile_unpack.cu")),
];

pub fn files() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// The kernels that no operation launches: they fill, compare, wait and read clocks.
pub fn service_kernels(dtype: Dtype) -> Vec<CudaKernel> {
    let kernel = |file, entry| CudaKernel::built_in(file, entry, dtype);
    vec![
        kernel("fill.cu", "fill_uniform"),
        kernel("compare.cu", "compare"),
        kernel("spin.cu", "spin"),
        kernel("clock.cu", "clock_reading"),
        kernel("empty.cu", "empty"),
    ]
}

/// The source of a kernel file as the compiler takes it; `None` where there is no such file.
pub fn source(file: &str) -> Option<String> {
    let (_, text) = FILES.iter().find(|(name, _)| *name == file)?;
    Some(format!("{ELEMENT}\n#line 1 \"{file}\"\n{text}"))
}
