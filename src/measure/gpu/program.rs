//! What one call of an operation does on the device, as plain data that is tested without a device.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::custom::source::SourceFile;
use sprag_base::words;

/// The element type of maps, tiles and tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    F32,
    F16,
    /// With the range of 32 bits (bfloat16).
    Bf16,
    /// 8 bits, of which 4 are exponent and 3 mantissa (OFP8 E4M3), without infinities.
    E4m3,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DeviceProgram {
    pub buffers: Vec<BufferSpec>,
    /// In order, on one stream.
    pub steps: Vec<GpuStep>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct BufferSpec {
    /// Such as `map`, for messages.
    pub name: Cow<'static, str>,
    pub data: Data,
    pub count: usize,
    pub content: Content,
    /// Bytes behind it that no call may write.
    pub guard: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "CudaType")]
pub enum Data {
    F32,
    F64,
    F16,
    Bf16,
    E4m3,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
}

/// The content of a buffer.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    Integers(Vec<i32>),
    Floats(Vec<f32>),
    /// Made before the first call; the number is the stream of random values, in which two inputs of a program must differ.
    Made(Fill, u64),
    /// Written by the call and compared with the reference. Poisoned before every check.
    Output,
    /// Written and read by the call alone. Poisoned before every check.
    Scratch,
    /// Read by the call and overwritten with its result. Filled again before every check.
    Update(Box<Content>),
}

/// What a buffer is filled with. Types of the built-in kernels are drawn on the device, all else is made on the host.
#[derive(Clone, Debug, PartialEq)]
pub enum Fill {
    /// With that standard deviation around zero.
    Normal(f64),
    /// From the first value up to the second.
    Uniform(f64, f64),
    /// From the first up to the second, which is not drawn.
    Integers(i64, i64),
    Iota,
    Integer(i64),
    Float(f64),
    /// A `.npy` file whose array has that shape.
    File(PathBuf, Vec<u64>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum GpuStep {
    Launch(Launch),
    Zero(usize),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    pub kernel: CudaKernel,
    /// Blocks along x, y and z.
    pub grid: [u32; 3],
    /// Threads along x, y and z.
    pub block: [u32; 3],
    pub shared: u32,
    /// In the order of the kernel's parameters.
    pub arguments: Vec<Argument>,
}

/// A kernel as it is compiled: equal values are compiled once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CudaKernel {
    pub source: CudaCode,
    /// The name of the `extern "C"` function.
    pub entry: Cow<'static, str>,
    /// The compiler sees it as the macro `ELEMENT` in what is built in.
    pub dtype: Dtype,
    /// Further macros, such as `BLOCK`.
    pub defines: BTreeMap<Cow<'static, str>, i64>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CudaCode {
    /// Under `kernels/`, such as `tile_pack.cu`.
    BuiltIn(&'static str),
    Custom(Arc<SourceFile>),
}

impl CudaCode {
    pub fn name(&self) -> &str {
        match self {
            CudaCode::BuiltIn(file) => file,
            CudaCode::Custom(file) => &file.name,
        }
    }
}

impl CudaKernel {
    pub fn built_in(file: &'static str, entry: &'static str, dtype: Dtype) -> CudaKernel {
        CudaKernel { source: CudaCode::BuiltIn(file), entry: entry.into(), dtype, defines: BTreeMap::new() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Argument {
    Buffer(usize),
    Null,
    I32(i32),
    I64(i64),
    F32(f32),
    /// The bits of any number, in the low bytes, and how many bytes it has.
    Bits(u64, usize),
}

impl Argument {
    pub fn bytes(self) -> usize {
        match self {
            Argument::Buffer(_) | Argument::Null | Argument::I64(_) => 8,
            Argument::I32(_) | Argument::F32(_) => 4,
            Argument::Bits(_, bytes) => bytes,
        }
    }
}

impl Dtype {
    /// The distance of the neighbours of one.
    pub fn epsilon(self) -> f64 {
        match self {
            Dtype::F32 => 2.0_f64.powi(-23),
            Dtype::F16 => 2.0_f64.powi(-10),
            Dtype::Bf16 => 2.0_f64.powi(-7),
            Dtype::E4m3 => 2.0_f64.powi(-3),
        }
    }

    pub fn bytes(self) -> usize {
        Data::from(self).bytes()
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

words!(Dtype { F32: "f32", F16: "f16", Bf16: "bf16", E4m3: "e4m3" });

impl From<Dtype> for Data {
    fn from(dtype: Dtype) -> Data {
        match dtype {
            Dtype::F32 => Data::F32,
            Dtype::F16 => Data::F16,
            Dtype::Bf16 => Data::Bf16,
            Dtype::E4m3 => Data::E4m3,
        }
    }
}

impl Data {
    pub const ALL: [Data; 13] = {
        use Data::*;
        [F32, F64, F16, Bf16, E4m3, I8, I16, I32, I64, U8, U16, U32, U64]
    };

    /// Absent for types that only kernels of the user have.
    pub fn dtype(self) -> Option<Dtype> {
        [Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::E4m3].into_iter().find(|dtype| Data::from(*dtype) == self)
    }

    pub fn word(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    pub fn bytes(self) -> usize {
        match self {
            Data::E4m3 | Data::I8 | Data::U8 => 1,
            Data::F16 | Data::Bf16 | Data::I16 | Data::U16 => 2,
            Data::F32 | Data::I32 | Data::U32 => 4,
            Data::F64 | Data::I64 | Data::U64 => 8,
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
            GpuStep::Launch(launch) => Some(launch),
            GpuStep::Zero(_) => None,
        })
    }

    pub fn kernels(&self) -> impl Iterator<Item = &CudaKernel> {
        self.launches().map(|launch| &launch.kernel)
    }

    /// The first step that cannot run: it names a buffer that does not exist, or its grid or block is empty or too large.
    pub fn fault(&self) -> Option<String> {
        let missing = |place: usize| (place >= self.buffers.len()).then(|| format!("there is no buffer {place}"));
        self.steps.iter().find_map(|step| match step {
            GpuStep::Zero(place) => missing(*place),
            GpuStep::Launch(launch) => {
                let entry = &launch.kernel.entry;
                let [x, y, z] = launch.grid;
                let [across, down, deep] = launch.block;
                let threads = launch.block.iter().map(|size| u64::from(*size)).product::<u64>();
                let is_empty = [x, y, z, across, down, deep].contains(&0);
                if is_empty || x > 0x7fff_ffff || y > 65_535 || z > 65_535 || threads > 1024 || deep > 64 {
                    let limits =
                        "at most 2147483647, 65535 and 65535 blocks of 1024 threads, 64 along z, can be launched";
                    return Some(format!(
                        "`{entry}` has a grid of {x} x {y} x {z} blocks of {across} x {down} x {deep} threads; {limits}"
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
