//! A kernel of the user at one shape and with one choice of constants, as a program of the device.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::expression::Names;
use super::number::{Number, bits};
use super::settings::{ArgumentSettings, BufferRole, GridTerms, KernelSettings, Reference, Term, Value};
use super::source::{self, SourceFile};
use crate::gpu::operation::summed;
use crate::gpu::program::{
    Argument, BufferSpec, Content, CudaCode, CudaKernel, Data, DeviceProgram, Dtype, Fill, GpuStep, Launch,
};

/// Bytes in front of each buffer and behind it that show a write there: of 1024 threads with 16 bytes each.
const GUARD_BYTES: usize = 16 << 10;

/// More than any device has.
const MOST_BYTES: i64 = 1 << 42;

/// A kernel with its files.
#[derive(Debug)]
pub struct CustomKernel {
    pub settings: KernelSettings,
    pub root: PathBuf,
    source: Result<Arc<SourceFile>, String>,
    reference: Result<Arc<SourceFile>, String>,
}

impl CustomKernel {
    /// A file that cannot be read fails the benchmarks of the kernel.
    pub fn read(root: &Path, settings: &KernelSettings) -> CustomKernel {
        let read = |file: &str, constants: &[&str]| {
            source::read(root, file, &settings.include, &settings.options, constants).map(Arc::new)
        };
        let source = read(&settings.file, &settings.constants_of_source());
        let reference = match &settings.reference {
            Reference::Kernel(kernel) => kernel.file.as_deref().map_or_else(|| source.clone(), |file| read(file, &[])),
            _ => source.clone(),
        };
        CustomKernel { settings: settings.clone(), root: root.to_owned(), source, reference }
    }

    /// Of the source; empty where it cannot be read.
    pub fn digest(&self) -> &str {
        self.source.as_ref().map_or("", |source| &source.digest)
    }

    /// Of its buffers, each once.
    pub fn types(&self) -> String {
        let buffers = self.settings.arguments.iter().filter(|argument| argument.value.is_none());
        let types: BTreeSet<String> = buffers.map(|argument| argument.element.word()).collect();
        types.into_iter().collect::<Vec<_>>().join(",")
    }

    pub fn program(&self, shape: &Names, constants: &Names) -> Result<DeviceProgram, String> {
        let KernelSettings { grid, block, shared, .. } = &self.settings;
        let names = joined(shape, constants);
        let launch = Sizes { grid, block, shared: shared.as_ref() }.evaluated(&names)?;
        self.launched(self.source.clone()?, self.settings.entry(), constants, &names, launch)
    }

    /// The program of the reference, where that is a kernel: it has the first value of each constant.
    pub fn reference_program(&self, shape: &Names) -> Result<Option<DeviceProgram>, String> {
        let Reference::Kernel(kernel) = &self.settings.reference else { return Ok(None) };
        let constants = self.defaults(shape)?;
        let names = joined(shape, &constants);
        let grid = kernel.grid.as_ref().unwrap_or(&self.settings.grid);
        let block = kernel.block.as_ref().unwrap_or(&self.settings.block);
        let launch = Sizes { grid, block, shared: kernel.shared.as_ref() }.evaluated(&names)?;
        self.launched(self.reference.clone()?, &kernel.entry, &constants, &names, launch).map(Some)
    }

    pub fn defaults(&self, shape: &Names) -> Result<Names, String> {
        self.settings.configurations(shape).map(|all| all.into_iter().next().unwrap_or_default())
    }

    /// The value of `bytes` or `flops` at a shape, with the first value of each constant; it must be above zero.
    pub fn amount(&self, key: &str, shape: &Names) -> Result<Option<f64>, String> {
        let term = if key == "bytes" { &self.settings.bytes } else { &self.settings.flops };
        let Some(term) = term else { return Ok(None) };
        let value = value(key, term, &joined(shape, &self.defaults(shape)?))?;
        if value > 0 { Ok(Some(value as f64)) } else { Err(format!("`{key}` is {value}; it must be above zero")) }
    }

    /// What is wrong with `bytes` or `flops` at a shape.
    pub fn amounts(&self, shape: &Names) -> Result<(), String> {
        ["bytes", "flops"].iter().try_for_each(|key| self.amount(key, shape).map(|_| ()))
    }

    /// The sizes of a buffer.
    pub fn sizes(&self, argument: &ArgumentSettings, names: &Names) -> Result<Vec<u64>, String> {
        let key = format!("the shape of `{}`", argument.name);
        let size = |term: &Term| {
            let value = value(&key, term, names)?;
            u64::try_from(value).map_err(|_| format!("{key} has the size {value}"))
        };
        argument.shape.iter().flat_map(GridTerms::list).map(size).collect()
    }

    /// How far a result may be from the reference.
    pub fn tolerance(&self, element: Data) -> f64 {
        let exact = if element == Data::F64 { 1e-12 } else { 0.0 };
        self.settings.tolerance.unwrap_or_else(|| element.dtype().map_or(exact, summed))
    }

    fn launched(
        &self,
        source: Arc<SourceFile>,
        entry: &str,
        constants: &Names,
        names: &Names,
        launch: Evaluated,
    ) -> Result<DeviceProgram, String> {
        let (mut buffers, mut arguments) = (Vec::new(), Vec::new());
        for (stream, argument) in self.settings.arguments.iter().enumerate() {
            arguments.push(match &argument.value {
                Some(value) => scalar(argument, value, names)?,
                None => {
                    buffers.push(self.buffer(argument, stream as u64, names)?);
                    Argument::Buffer(buffers.len() - 1)
                }
            });
        }
        let defines = constants.iter().map(|(name, value)| (name.clone().into(), *value)).collect();
        let kernel =
            CudaKernel { source: CudaCode::Custom(source), entry: entry.to_owned().into(), dtype: Dtype::F32, defines };
        let Evaluated { grid, block, shared } = launch;
        let program =
            DeviceProgram { buffers, steps: vec![GpuStep::Launch(Launch { kernel, grid, block, shared, arguments })] };
        program.fault().map_or(Ok(program), |fault| Err(format!("launch_refused: {fault}")))
    }

    fn buffer(&self, argument: &ArgumentSettings, stream: u64, names: &Names) -> Result<BufferSpec, String> {
        let (name, data) = (&argument.name, argument.element);
        let sizes = self.sizes(argument, names)?;
        let element = data.bytes() as u64;
        let bytes = sizes.iter().try_fold(element, |product, size| product.checked_mul(*size));
        let bytes = bytes.filter(|bytes| *bytes <= MOST_BYTES.cast_unsigned());
        let bytes = bytes.ok_or_else(|| format!("`{name}` would have more than {MOST_BYTES} bytes"))?;
        let first = || self.content(argument, data, stream, &sizes, names);
        let content = match argument.role {
            BufferRole::Input => first()?,
            BufferRole::Update => Content::Update(Box::new(first()?)),
            BufferRole::Output => Content::Output,
            BufferRole::Scratch => Content::Scratch,
        };
        let count = usize::try_from(bytes / element).unwrap_or(usize::MAX);
        Ok(BufferSpec { name: name.clone().into(), data, count, content, guard: GUARD_BYTES })
    }

    fn content(
        &self,
        argument: &ArgumentSettings,
        data: Data,
        stream: u64,
        sizes: &[u64],
        names: &Names,
    ) -> Result<Content, String> {
        let is_integer = data.is_integer();
        let bound = |key: &str, bound: &Option<Value>, default: i64| match bound {
            Some(Value::Number(number)) => Ok(*number),
            Some(other) => {
                let term = other.term().unwrap_or(Term::Integer(default));
                value(&format!("`{key}` of `{}`", argument.name), &term, names).map(|value| value as f64)
            }
            None => Ok(default as f64),
        };
        let bounds = || Ok::<_, String>((bound("low", &argument.low, 0)?, bound("high", &argument.high, 1)?));
        let fill = match &argument.fill {
            Some(Value::Integer(number)) if is_integer => Fill::Integer(*number),
            Some(Value::Integer(number)) => Fill::Float(*number as f64),
            Some(Value::Number(number)) => Fill::Float(*number),
            Some(Value::Text(text)) => match text.as_str() {
                "zeros" => Fill::Integer(0),
                "iota" => Fill::Iota,
                "uniform" if is_integer => bounds().map(|(low, high)| Fill::Integers(low as i64, high as i64))?,
                "uniform" => match bounds()? {
                    (low, high) if low < high => Fill::Uniform(low, high),
                    (low, high) => {
                        let name = &argument.name;
                        return Err(format!("`{name}`: `high` is {high}, which is not above `low`, {low}"));
                    }
                },
                "normal" => Fill::Normal(1.0),
                path => Fill::File(self.root.join(with_sizes(path, names)), sizes.to_vec()),
            },
            None if is_integer => Fill::Integer(0),
            None => Fill::Normal(1.0),
        };
        Ok(Content::Made(fill, stream))
    }
}

/// The names of a shape and of constants.
pub fn joined(shape: &Names, constants: &Names) -> Names {
    shape.iter().chain(constants).map(|(name, value)| (name.clone(), *value)).collect()
}

/// Such as `BLOCK=256 TILE=16`.
pub fn label(names: &Names) -> String {
    names.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// The path with the values of names in braces.
pub fn with_sizes(path: &str, names: &Names) -> String {
    names.iter().fold(path.to_owned(), |path, (name, value)| path.replace(&format!("{{{name}}}"), &value.to_string()))
}

fn value(key: &str, term: &Term, names: &Names) -> Result<i64, String> {
    term.value(names)
        .map_err(|error| format!("{}: {error}", if key.contains('`') { key.to_owned() } else { format!("`{key}`") }))
}

fn scalar(argument: &ArgumentSettings, given: &Value, names: &Names) -> Result<Argument, String> {
    let data = argument.element;
    let number = match given {
        Value::Number(number) => Number::Float(*number),
        other => {
            let term = other.term().unwrap_or(Term::Integer(0));
            Number::Integer(i128::from(value(&format!("the value of `{}`", argument.name), &term, names)?))
        }
    };
    let bits = bits(data, number).ok_or_else(|| {
        format!(
            "the value of `{}` is {}, which `{}` cannot hold",
            argument.name,
            number.as_f64(),
            argument.element.word()
        )
    })?;
    Ok(Argument::Bits(bits, data.bytes()))
}

struct Sizes<'a> {
    grid: &'a GridTerms,
    block: &'a GridTerms,
    shared: Option<&'a Term>,
}

/// The sizes of a launch.
struct Evaluated {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
}

impl Sizes<'_> {
    fn evaluated(&self, names: &Names) -> Result<Evaluated, String> {
        let three = |key: &str, terms: &GridTerms| {
            let mut sizes = [1; 3];
            for (size, term) in sizes.iter_mut().zip(terms.list()) {
                *size = number(key, term, names)?;
            }
            Ok::<_, String>(sizes)
        };
        let shared = self.shared.map_or(Ok(0), |term| number("shared", term, names))?;
        Ok(Evaluated { grid: three("grid", self.grid)?, block: three("block", self.block)?, shared })
    }
}

fn number(key: &str, term: &Term, names: &Names) -> Result<u32, String> {
    let value = value(key, term, names)?;
    u32::try_from(value).map_err(|_| format!("launch_refused: `{key}` is {value}"))
}
