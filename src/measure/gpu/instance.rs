//! A program with its memory on a device: filled, launched, poisoned and read back.

use std::rc::Rc;

use super::custom::fill;
use super::device::Device;
use super::driver::{DeviceBuffer, Function};
use super::operation::{HostInputs, widen};
use super::program::{Argument, BufferSpec, Content, CudaCode, CudaKernel, DeviceProgram, Fill, GpuStep, Launch};
use super::{DeviceError, GpuError};

/// In every element type this byte repeated is a NaN, in integers a number that no tile or level has.
const POISON: u8 = 0xff;

/// Threads of a block of the kernels that fill inputs.
const FILL_BLOCK: u32 = 256;

/// Shared memory of a block up to this size needs no permission.
const PLAIN_SHARED: u32 = 48 << 10;

/// A program ready to be launched on one set of buffers.
pub struct Instance {
    device: Rc<Device>,
    program: DeviceProgram,
    buffers: Vec<Rc<DeviceBuffer>>,
    seed: u64,
    steps: Vec<Ready>,
}

enum Ready {
    Launch { function: Function, grid: [u32; 3], block: [u32; 3], shared: u32, arguments: Vec<u64> },
    Zero(Rc<DeviceBuffer>),
}

/// The origin of the memory and the inputs of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supply {
    /// Random inputs follow from it.
    pub seed: u64,
    /// Instances of the same set share inputs of the same kind; those of different sets lie in different memory.
    pub inputs: u32,
    /// The same for what calls write, which may be shared since calls run one after the other.
    pub outputs: u32,
}

impl Supply {
    pub fn of_set(seed: u64, set: u32) -> Supply {
        Supply { seed, inputs: set, outputs: set }
    }
}

impl Instance {
    pub fn new(device: &Rc<Device>, program: DeviceProgram, supply: Supply) -> Result<Instance, DeviceError> {
        if let Some(fault) = program.fault() {
            return Err(DeviceError::Program(fault));
        }
        let buffers: Vec<Rc<DeviceBuffer>> =
            program.buffers.iter().map(|spec| buffer(device, spec, supply)).collect::<Result<_, _>>()?;
        let steps = program.steps.iter().map(|step| ready(device, step, &buffers)).collect::<Result<_, _>>()?;
        Ok(Instance { device: device.clone(), program, buffers, seed: supply.seed, steps })
    }

    pub fn program(&self) -> &DeviceProgram {
        &self.program
    }

    pub fn call(&self) -> Result<(), DeviceError> {
        self.steps.iter().try_for_each(|step| match step {
            Ready::Zero(buffer) => buffer.set(0),
            Ready::Launch { function, grid, block, shared, arguments } => {
                self.device.context.launch(function, *grid, *block, *shared, arguments)
            }
        })
    }

    /// Overwrites the buffers that a call writes, so that missing results show; what it updates has its first content again.
    pub fn poison(&self) -> Result<(), DeviceError> {
        self.poison_with(POISON)
    }

    /// The same with another byte.
    pub fn poison_with(&self, byte: u8) -> Result<(), DeviceError> {
        self.buffers.iter().try_for_each(|buffer| buffer.reset_guards())?;
        let mut written = self.program.buffers.iter().zip(&self.buffers).filter(|(spec, _)| is_written(spec));
        written.try_for_each(|(spec, buffer)| match spec.content {
            Content::Output | Content::Scratch => buffer.set(byte),
            _ => set(&self.device, buffer, spec, &spec.content, self.seed),
        })
    }

    /// Gives the buffers that no call writes their content again.
    pub fn refill(&self) -> Result<(), DeviceError> {
        let mut read = self.program.buffers.iter().zip(&self.buffers).filter(|(spec, _)| !is_written(spec));
        read.try_for_each(|(spec, buffer)| set(&self.device, buffer, spec, &spec.content, self.seed))
    }

    /// The inputs, which come before all other buffers.
    pub fn inputs(&self) -> Result<HostInputs, DeviceError> {
        let inputs = self.program.buffers.iter().zip(&self.buffers).take_while(|(spec, _)| !is_written(spec));
        let read = inputs.map(|(spec, buffer)| buffer.download().map(|bytes| (spec.data, bytes)));
        Ok(HostInputs { buffers: read.collect::<Result<_, _>>()? })
    }

    pub fn values(&self, place: usize) -> Result<Vec<f32>, DeviceError> {
        Ok(widen(self.program.buffers[place].data, &self.buffers[place].download()?))
    }

    pub fn buffer(&self, place: usize) -> &Rc<DeviceBuffer> {
        &self.buffers[place]
    }
}

fn is_written(spec: &BufferSpec) -> bool {
    matches!(spec.content, Content::Output | Content::Scratch | Content::Update(_))
}

fn ready(device: &Rc<Device>, step: &GpuStep, buffers: &[Rc<DeviceBuffer>]) -> Result<Ready, DeviceError> {
    let launch = match step {
        GpuStep::Zero(place) => return Ok(Ready::Zero(buffers[*place].clone())),
        GpuStep::Launch(launch) => launch,
    };
    let function = device.function(&launch.kernel)?;
    if check_launch(device, &function, launch)? > PLAIN_SHARED {
        function.permit_shared(launch.shared)?;
    }
    let arguments = launch.arguments.iter().map(|argument| match argument {
        Argument::Buffer(place) => buffers[*place].address(),
        Argument::Null => 0,
        Argument::I32(value) => u64::from(value.cast_unsigned()),
        Argument::I64(value) => value.cast_unsigned(),
        Argument::F32(value) => u64::from(value.to_bits()),
        Argument::Bits(bits, _) => *bits,
    });
    Ok(Ready::Launch {
        function,
        grid: launch.grid,
        block: launch.block,
        shared: launch.shared,
        arguments: arguments.collect(),
    })
}

/// Refuses a launch that the device or the kernel does not allow: the driver only says that a value is invalid, or reads beyond
/// the arguments. Returns the shared memory of a block.
fn check_launch(device: &Device, function: &Function, launch: &Launch) -> Result<u32, DeviceError> {
    let entry = &launch.kernel.entry;
    let limits = function.limits()?;
    let threads = launch.block.iter().product::<u32>();
    if threads > limits.threads {
        let most = limits.threads;
        return Err(DeviceError::Launch(format!(
            "`{entry}` has blocks of {threads} threads, its registers allow {most}"
        )));
    }
    let shared = launch.shared.saturating_add(limits.static_shared);
    if shared > device.most_shared {
        let most = device.most_shared;
        let text = format!("`{entry}` takes {shared} bytes of shared memory a block, the device has {most}");
        return Err(DeviceError::Launch(text));
    }
    let Some(parameters) = function.parameters() else {
        // Without it the driver would read beyond the arguments of a kernel that has more.
        return match launch.kernel.source {
            CudaCode::BuiltIn(_) => Ok(shared),
            CudaCode::Custom(_) => Err(GpuError::OldDriver("cuFuncGetParamInfo").into()),
        };
    };
    let given: Vec<usize> = launch.arguments.iter().map(|argument| argument.bytes()).collect();
    if parameters.len() != given.len() {
        let text = format!("`{entry}` has {} parameters, {} arguments are given", parameters.len(), given.len());
        return Err(DeviceError::Launch(text));
    }
    match (0..given.len()).find(|place| parameters[*place] != given[*place]) {
        Some(place) => Err(DeviceError::Launch(format!(
            "parameter {} of `{entry}` has {} bytes, its argument has {}",
            place + 1,
            parameters[place],
            given[place]
        ))),
        None => Ok(shared),
    }
}

/// The buffer of a set for a specification, made and filled by the first call.
fn buffer(device: &Rc<Device>, spec: &BufferSpec, supply: Supply) -> Result<Rc<DeviceBuffer>, DeviceError> {
    let (is_written, Supply { seed, inputs, outputs }) = (is_written(spec), supply);
    let owner = if is_written { format!("written {outputs}") } else { format!("read {inputs} {seed}") };
    let name = format!("{spec:?} {owner}");
    device.shared(&name, || {
        let buffer = device.context.allocate_guarded(spec.bytes(), spec.guard)?;
        set(device, &buffer, spec, &spec.content, seed)?;
        Ok(buffer)
    })
}

fn set(
    device: &Rc<Device>,
    buffer: &DeviceBuffer,
    spec: &BufferSpec,
    content: &Content,
    seed: u64,
) -> Result<(), DeviceError> {
    match content {
        Content::Output | Content::Scratch => buffer.set(POISON),
        Content::Integers(values) => {
            buffer.upload(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())
        }
        Content::Floats(values) => {
            buffer.upload(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())
        }
        Content::Made(fill, stream) => {
            let seed = seed_of(seed, *stream);
            let kernel = |entry, dtype| CudaKernel::built_in("fill.cu", entry, dtype);
            match (fill, spec.data.dtype()) {
                (Fill::Uniform(low, high), Some(dtype)) => {
                    draw(device, buffer, spec, &kernel("fill_uniform", dtype), &[*low, *high], seed)
                }
                (Fill::Normal(deviation), Some(dtype)) => {
                    draw(device, buffer, spec, &kernel("fill_normal", dtype), &[*deviation], seed)
                }
                _ => buffer.upload(&fill::bytes(fill, spec, seed).map_err(DeviceError::Custom)?),
            }
        }
        Content::Update(first) => set(device, buffer, spec, first, seed),
    }
}

fn seed_of(seed: u64, stream: u64) -> u64 {
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ stream.wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

fn draw(
    device: &Rc<Device>,
    buffer: &DeviceBuffer,
    spec: &BufferSpec,
    kernel: &CudaKernel,
    parameters: &[f64],
    seed: u64,
) -> Result<(), DeviceError> {
    let function = device.function(kernel)?;
    let blocks = spec.count.div_ceil(FILL_BLOCK as usize).max(1);
    let blocks = u32::try_from(blocks).map_err(|_| DeviceError::Program(format!("`{}` is too large", spec.name)))?;
    let mut arguments = vec![buffer.address(), spec.count as u64, seed];
    arguments.extend(parameters.iter().map(|value| u64::from((*value as f32).to_bits())));
    device.context.launch(&function, [blocks, 1, 1], [FILL_BLOCK, 1, 1], 0, &arguments)
}
