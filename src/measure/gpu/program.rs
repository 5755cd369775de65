//! What one call of an operation does on the device, as plain data: buffers, and the launches that fill them.
//!
//! Nothing here touches a driver, so grids, sizes and contents are tested on machines without a device; one runner
//! executes every program alike.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The element type of maps, tiles and tokens on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    F32,
    F16,
    /// 16-bit floating point with the range of 32 (bfloat16).
    Bf16,
    /// 8-bit floating point with 4 bits of exponent and 3 of mantissa (OFP8 E4M3), without infinities.
    E4m3,
}

/// The buffers of a call and its steps, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceProgram {
    pub buffers: Vec<BufferSpec>,
    /// What is done, in order, on one stream.
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct BufferSpec {
    /// What it holds, such as `map`, for messages.
    pub name: &'static str,
    pub data: Data,
    pub count: usize,
    pub content: Content,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    Element(Dtype),
    /// 32-bit floating point, whatever the element type: parameters, states.
    F32,
    /// 32-bit signed integers: tile ids, levels.
    I32,
}

/// Where what a buffer holds comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Values drawn on the device before the first call; the same for the same seed.
    Random(Random),
    Integers(Vec<i32>),
    Floats(Vec<f32>),
    /// Written by the call and compared with the reference. Poisoned before every check.
    Output,
    /// Written and read by the call, of no interest to others. Poisoned before every check, too.
    Scratch,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Random {
    pub distribution: Distribution,
    /// Which of the independent streams: two inputs of one program must differ in it.
    pub stream: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Uniform from the first value up to the second.
    Uniform(f32, f32),
    /// About normal, with that standard deviation around zero.
    Normal(f32),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    Launch(Launch),
    Zero(usize),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    pub kernel: CudaKernel,
    /// Blocks along x, y and z.
    pub grid: [u32; 3],
    pub block: u32,
    pub shared: u32,
    /// The arguments, in the order of the kernel's parameters.
    pub arguments: Vec<Argument>,
}

/// A kernel as it is compiled: equal values are compiled once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CudaKernel {
    /// The file under `kernels/`, such as `tile_pack.cu`.
    pub file: &'static str,
    /// The name of the `extern "C"` function.
    pub entry: &'static str,
    /// The element type, handed to the compiler as the macro `ELEMENT`.
    pub dtype: Dtype,
    /// Further macros, such as `BLOCK`.
    pub defines: BTreeMap<&'static str, u32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Argument {
    Buffer(usize),
    /// No buffer: a null pointer.
    Null,
    I32(i32),
    I64(i64),
    F32(f32),
}

impl Dtype {
    /// The word of benchmark parameters, such as `f16`.
    pub fn word(self) -> &'static str {
        match self {
            Dtype::F32 => "f32",
            Dtype::F16 => "f16",
            Dtype::Bf16 => "bf16",
            Dtype::E4m3 => "e4m3",
        }
    }

    pub fn bytes(self) -> usize {
        match self {
            Dtype::F32 => 4,
            Dtype::F16 | Dtype::Bf16 => 2,
            Dtype::E4m3 => 1,
        }
    }

    pub fn macro_value(self) -> u32 {
        match self {
            Dtype::F32 => 0,
            Dtype::F16 => 1,
            Dtype::Bf16 => 2,
            Dtype::E4m3 => 3,
        }
    }
}

impl Data {
    pub fn bytes(self) -> usize {
        match self {
            Data::Element(dtype) => dtype.bytes(),
            Data::F32 | Data::I32 => 4,
        }
    }
}

impl BufferSpec {
    pub fn bytes(&self) -> usize {
        self.count.saturating_mul(self.data.bytes())
    }
}

impl DeviceProgram {
    pub fn bytes(&self) -> usize {
        self.buffers.iter().map(BufferSpec::bytes).fold(0, usize::saturating_add)
    }

    pub fn launches(&self) -> impl Iterator<Item = &Launch> {
        self.steps.iter().filter_map(|step| match step {
            Step::Launch(launch) => Some(launch),
            Step::Zero(_) => None,
        })
    }

    pub fn kernels(&self) -> impl Iterator<Item = &CudaKernel> {
        self.launches().map(|launch| &launch.kernel)
    }

    /// The first thing that cannot be: a step that names a buffer which is not there, or a grid or block of no size or
    /// beyond what devices take.
    pub fn fault(&self) -> Option<String> {
        let missing = |place: usize| (place >= self.buffers.len()).then(|| format!("there is no buffer {place}"));
        self.steps.iter().find_map(|step| match step {
            Step::Zero(place) => missing(*place),
            Step::Launch(launch) => {
                let entry = launch.kernel.entry;
                let [x, y, z] = launch.grid;
                if [x, y, z, launch.block].contains(&0) || y > 65_535 || z > 65_535 || launch.block > 1024 {
                    return Some(format!(
                        "`{entry}` has a grid of {:?} blocks of {} threads",
                        launch.grid, launch.block
                    ));
                }
                launch.arguments.iter().find_map(|argument| match argument {
                    Argument::Buffer(place) => missing(*place),
                    _ => None,
                })
            }
        })
    }
}
