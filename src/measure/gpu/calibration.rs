//! The calibration kernels of a device: a copy, which shows the most that its memory gives, and an empty launch.

use std::rc::Rc;

use super::DeviceError;
use super::device::Device;
use super::instance::{Instance, Supply};
use super::meter;
use super::operation::{Form, copy, empty};
use super::program::{Dtype, Program};
use crate::calibration::Calibration;
use crate::workload::{self, Prepared};

/// Calibrations lie in memory that no benchmark uses.
const SET: u32 = 1 << 16;

/// Makes a calibration kernel ready on the device that this thread has opened.
///
/// # Errors
/// When there is no device, or it cannot run the kernel.
pub fn prepare(calibration: Calibration, seed: u64) -> Result<Prepared, DeviceError> {
    let (program, track) = match calibration {
        Calibration::DeviceCopy { bytes, track } => (copying(bytes), track),
        Calibration::DeviceLaunch { track } => (empty::program(Dtype::F32, Form::Tuned(empty::CANDIDATES[0])), track),
        other => return Err(DeviceError::Program(format!("`{}` is none of a device", other.word()))),
    };
    let device = Device::of_this_thread(None)?;
    let bytes = program.bytes();
    let sets = u32::try_from(track.sets(bytes, device.cache_bytes)).unwrap_or(u32::MAX);
    let instance = |set| Instance::new(&device, program.clone(), Supply::of_set(seed, SET + set)).map(Rc::new);
    let instances = (0..sets).map(instance).collect::<Result<Vec<_>, _>>()?;
    meter::prepared(&device, instances, track, workload::unchecked(), bytes)
}

fn copying(bytes: usize) -> Program {
    let elements = (bytes / Dtype::F32.bytes()).max(1);
    copy::program(&copy::Copy { elements }, Dtype::F32, Form::Tuned(copy::CANDIDATES[0]))
}
