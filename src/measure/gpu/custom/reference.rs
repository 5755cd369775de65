//! What the results of a kernel of the user should be: from another kernel, a program, or files.

use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use super::expression::Names;
use super::kernel::{CustomKernel, joined, label, with_sizes};
use super::number::{Numbers, of_npy, to_npy};
use super::settings::{ArgumentSettings, Reference, ReferenceCommand};
use crate::command::{self, CommandFault, Invocation};
use crate::gpu::DeviceError;
use crate::gpu::device::Device;
use crate::gpu::instance::{Instance, Supply};
use crate::gpu::program::{Argument, Data, GpuStep};
use crate::process::WorkerCommand;
use sprag_base::files::read_bounded;

/// A kernel at a shape on a device.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) device: &'a Rc<Device>,
    pub(super) kernel: &'a CustomKernel,
    pub(super) shape: &'a Names,
}

impl<'a> Case<'a> {
    /// The buffers of its programs, with their arguments.
    pub(super) fn buffers(&self) -> impl Iterator<Item = (usize, &'a ArgumentSettings)> + use<'a> {
        self.kernel.settings.arguments.iter().filter(|argument| argument.value.is_none()).enumerate()
    }
}

/// The set of outputs of the reference, which no benchmark has.
const SET: u32 = 1 << 18;

/// What a reference starts on, where the kernel starts on another byte.
const REFERENCE_POISON: u8 = 0x5a;

const MOST_FILE_BYTES: usize = 16 << 30;

/// The worker is stopped before where its own time is up.
const LONGEST: Duration = Duration::from_secs(3600);

/// What each result should hold, in the order of the arguments; `None` where nothing checks it.
///
/// # Errors
/// A reference kernel that writes to its inputs or next to a buffer is itself wrong.
pub(super) fn expected(case: &Case<'_>, supply: Supply) -> Result<Option<Rc<Vec<Numbers>>>, DeviceError> {
    let Case { device, kernel, shape } = case;
    if matches!(kernel.settings.reference, Reference::Word(_)) {
        return Ok(None);
    }
    let key = format!("{} {} {}", kernel.settings.name, label(shape), supply.seed);
    if let Some(expected) = device.expected(&key) {
        return Ok(Some(expected));
    }
    let program = kernel.reference_program(shape).map_err(DeviceError::Custom)?;
    let expected = match (&kernel.settings.reference, program) {
        (Reference::Kernel(reference), Some(program)) => {
            let instance = Instance::new(device, program, Supply { outputs: SET, ..supply })?;
            // Integers that neither writes must differ.
            instance.poison_with(REFERENCE_POISON)?;
            if let Some(fault) = case.call(&instance)? {
                return Err(reference_failed(format!("in the kernel `{}`, {fault}", reference.entry)));
            }
            downloaded(case, &instance)?
        }
        (Reference::Command(command), _) => by_command(case, command, supply)?,
        (Reference::Files(files), _) => {
            let path = |argument: &ArgumentSettings| {
                let path = files.files.get(&argument.name).map_or("", String::as_str);
                kernel.root.join(with_sizes(path, shape))
            };
            read(case, &path)?
        }
        _ => return Ok(None),
    };
    let expected = Rc::new(expected);
    device.keep_expected(key, expected.clone());
    Ok(Some(expected))
}

fn downloaded(case: &Case<'_>, instance: &Instance) -> Result<Vec<Numbers>, DeviceError> {
    let results = case.buffers().filter(|(_, argument)| argument.role.is_result());
    let download = |(place, argument): (usize, &ArgumentSettings)| {
        Ok(Numbers { data: argument.element, bytes: instance.buffer(place).download()? })
    };
    results.map(download).collect()
}

fn read(case: &Case<'_>, path: &dyn Fn(&ArgumentSettings) -> std::path::PathBuf) -> Result<Vec<Numbers>, DeviceError> {
    let names = joined(case.shape, &case.kernel.defaults(case.shape).map_err(DeviceError::Custom)?);
    let one = |(_, argument): (usize, &ArgumentSettings)| {
        let path = path(argument);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let fault = |fault: &str| format!("the reference of `{}`, `{name}`, {fault}", argument.name);
        let sizes = case.kernel.sizes(argument, &names)?;
        let file = read_bounded(&path, MOST_FILE_BYTES).map_err(|error| fault(&format!("cannot be read: {error}")))?;
        let (data, bytes) = of_npy(argument.element, &sizes, &file).map_err(|error| fault(&error))?;
        Ok(Numbers { data, bytes })
    };
    let results = case.buffers().filter(|(_, argument)| argument.role.is_result());
    results.map(one).collect::<Result<_, String>>().map_err(reference_failed)
}

fn reference_failed(fault: String) -> DeviceError {
    DeviceError::Reference(fault)
}

/// Runs a program on files with the inputs.
fn by_command(case: &Case<'_>, reference: &ReferenceCommand, supply: Supply) -> Result<Vec<Numbers>, DeviceError> {
    let folder = tempfile::tempdir().map_err(|error| reference_failed(format!("no temporary folder: {error}")))?;
    let (inputs, outputs) = (folder.path().join("inputs"), folder.path().join("outputs"));
    let made = fs::create_dir(&inputs).and_then(|()| fs::create_dir(&outputs));
    made.map_err(|error| reference_failed(format!("no temporary folder: {error}")))?;
    write_inputs(case, &inputs, supply)?;
    let folders = [&inputs, &outputs].map(|folder| folder.to_string_lossy().into_owned());
    let called = [&reference.command[..], &folders].concat();
    // If this worker is stopped, the guard ends the program.
    let guard = WorkerCommand::for_this_program(&["guard"]).ok();
    let program = Invocation {
        passed: Some(&reference.pass_env),
        guard: guard.as_ref(),
        ..Invocation::new(&called, &case.kernel.root, LONGEST)
    };
    let failed = |fault: CommandFault| reference_failed(format!("`{}`: {}", reference.command[0], fault.text()));
    command::run(&program, 1).map_err(failed)?;
    read(case, &|argument| outputs.join(format!("{}.npy", argument.name)))
}

/// Writes each argument that a call reads as `NAME.npy`.
fn write_inputs(case: &Case<'_>, folder: &Path, supply: Supply) -> Result<(), DeviceError> {
    let Case { device, kernel, shape } = case;
    let constants = kernel.defaults(shape).map_err(DeviceError::Custom)?;
    let program = kernel.program(shape, &constants).map_err(DeviceError::Custom)?;
    let instance = Instance::new(device, program, Supply { outputs: SET, ..supply })?;
    instance.poison()?;
    let names = joined(shape, &constants);
    let write = |name: &str, data: Data, sizes: &[u64], bytes: &[u8]| {
        let written = fs::write(folder.join(format!("{name}.npy")), to_npy(data, sizes, bytes));
        written.map_err(|error| reference_failed(format!("cannot write the input `{name}`: {error}")))
    };
    for (place, argument) in case.buffers().filter(|(_, argument)| argument.is_read()) {
        let sizes = kernel.sizes(argument, &names).map_err(DeviceError::Custom)?;
        write(&argument.name, argument.element, &sizes, &instance.buffer(place).download()?)?;
    }
    let launches = instance.program().steps.iter().filter_map(|step| match step {
        GpuStep::Launch(launch) => Some(launch),
        GpuStep::Zero(_) => None,
    });
    for (argument, given) in launches.flat_map(|launch| kernel.settings.arguments.iter().zip(&launch.arguments)) {
        if let Argument::Bits(bits, bytes) = given {
            write(&argument.name, argument.element, &[], &bits.to_le_bytes()[..*bytes])?;
        }
    }
    Ok(())
}
