//! What is known of the device and its software before anything is measured.

use std::collections::BTreeMap;
use std::rc::Rc;

use cudarc::driver::sys::CUdevice_attribute as Attribute;

use super::DeviceError;
use super::description::Description;
use super::device::Device;
use super::driver::Context;
use super::instance::{Instance, Supply};
use super::nvml::Monitor;
use super::operation::copy;
use super::probe::{self, GpuError};

#[derive(Clone, Debug, PartialEq)]
pub struct DeviceFacts {
    /// Its model, such as `NVIDIA H200`.
    pub model: String,
    pub compute_capability: (u32, u32),
    /// The version of its driver, or of CUDA that the driver knows where the driver does not tell its own.
    pub driver: String,
    pub nvrtc: String,
    pub facts: BTreeMap<String, String>,
}

/// Reads what there is to know, after an empty kernel was compiled and run: a device that cannot do that is none. It is
/// closed again, since an owner may permit one process at a time to have it open.
pub fn read() -> Result<DeviceFacts, DeviceError> {
    let device = probe::device()?;
    let nvrtc = probe::nvrtc()?;
    // It is tried out before anything is promised.
    let open = Rc::new(Device::open(None)?);
    let nothing = copy::empty_program();
    Instance::new(&open, nothing, Supply::of_set(0, 0))?.call()?;
    open.context.wait()?;
    let description = Description { nvrtc: Some(nvrtc.clone()), ..described(&device, &open.context)? };
    let compute_capability = description
        .compute_capability
        .ok_or_else(|| GpuError::Init("the device does not report its compute capability".to_owned()))?;
    let driver = description.driver.clone().unwrap_or_default();
    Ok(DeviceFacts { model: device.name, compute_capability, driver, nvrtc, facts: description.facts() })
}

/// What driver and management library tell of the device. Nothing is compiled, so no compiler is needed.
pub fn describe(device: &probe::DeviceInfo) -> Result<Description, DeviceError> {
    let context = Context::open(0)?;
    described(device, &context)
}

fn described(device: &probe::DeviceInfo, context: &Context) -> Result<Description, DeviceError> {
    let attribute = |attribute: Attribute| u32::try_from(context.attribute(attribute).ok()?).ok();
    let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    let uuid = context.uuid()?;
    let mut description = Description {
        driver: Some(format!("CUDA {}", device.driver_cuda)),
        uuid: Some(uuid.iter().map(|byte| format!("{byte:02x}")).collect()),
        compute_capability: major.zip(minor),
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
        memory_bytes: context.memory().ok().map(|(_, all)| all as u64),
        l2_bytes: attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE).map(u64::from),
        ..Description::default()
    };
    match Monitor::open(uuid) {
        Ok(monitor) => monitor.describe(&mut description),
        // The device is measured all the same, without its clocks and reasons.
        Err(reason) => description.nvml = Some(reason),
    }
    Ok(description)
}
