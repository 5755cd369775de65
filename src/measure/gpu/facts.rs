//! The device and its software before anything is measured.

use std::collections::BTreeMap;
use std::rc::Rc;

use cudarc::driver::sys::CUdevice_attribute as Attribute;

use super::device::Device;
use super::driver::Primary;
use super::instance::{Instance, Supply};
use super::nvml::{Monitor, hexadecimal};
use super::operation::copy;
use super::{DeviceError, GpuError, probe};
use sprag_base::digest;

#[derive(Clone, Debug, PartialEq)]
pub struct DeviceFacts {
    /// Its model, such as `NVIDIA H200`.
    pub model: String,
    pub compute_capability: (u32, u32),
    /// Of the driver, or of its CUDA where the driver does not report its own.
    pub driver: String,
    pub nvrtc: String,
    /// Recorded with a run. The environment key covers only driver and compiler, whose updates change the machine code.
    pub facts: BTreeMap<String, String>,
}

/// Reads all facts after compiling and running an empty kernel, since a device must be able to do that. The device is closed
/// again: its owner may permit only one process at a time.
pub fn read() -> Result<DeviceFacts, DeviceError> {
    let device = probe::device()?;
    let nvrtc = probe::nvrtc()?;
    let open = Rc::new(Device::open(None)?);
    Instance::new(&open, copy::empty_program(), Supply::of_set(0, 0))?.call()?;
    open.context.wait()?;
    let compute_capability = compute_capability(&open.context)
        .ok_or_else(|| GpuError::Init("the device does not report its compute capability".to_owned()))?;
    let mut facts = described(&device, &open.context)?;
    facts.insert("nvrtc".to_owned(), nvrtc.clone());
    let driver = facts["gpu_driver"].clone();
    Ok(DeviceFacts { model: device.name, compute_capability, driver, nvrtc, facts })
}

/// The facts of driver and management library, without a compiler.
pub fn describe(device: &probe::DeviceInfo) -> Result<BTreeMap<String, String>, DeviceError> {
    let context = Primary::open(0)?;
    described(device, &context)
}

fn attribute(context: &Primary, attribute: Attribute) -> Option<u32> {
    u32::try_from(context.attribute(attribute).ok()?).ok()
}

fn compute_capability(context: &Primary) -> Option<(u32, u32)> {
    let major = attribute(context, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    major.zip(attribute(context, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR))
}

fn described(device: &probe::DeviceInfo, context: &Primary) -> Result<BTreeMap<String, String>, DeviceError> {
    let uuid = context.uuid()?;
    let number = |name| attribute(context, name).map(|value| value.to_string());
    let capability = compute_capability(context).map(|(major, minor)| format!("{major}.{minor}"));
    let read = [
        ("gpu_driver", Some(format!("CUDA {}", device.driver_cuda))),
        ("gpu_uuid_hash", Some(uuid_hash(&uuid))),
        ("gpu_compute_capability", capability),
        ("gpu_multiprocessors", number(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)),
        ("gpu_memory_bytes", context.memory().ok().map(|(_, all)| all.to_string())),
        ("gpu_l2_bytes", number(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)),
    ];
    let mut facts: BTreeMap<String, String> =
        read.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    match Monitor::open(uuid) {
        // Its version of the driver is more precise than that of CUDA.
        Ok(monitor) => facts.extend(monitor.facts()),
        // The device is measured without its clocks and reasons.
        Err(reason) => facts.extend([("nvml".to_owned(), reason)]),
    }
    Ok(facts)
}

/// Identifies the device without its serial number.
fn uuid_hash(uuid: &[u8; 16]) -> String {
    digest::sha256_hex(format!("gpu:{}", hexadecimal(uuid)).as_bytes())[..16].to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::environment::{FACT_NAMES, environment};

    #[test]
    fn a_device_is_recognised_and_its_serial_is_not_recorded() {
        let hash = uuid_hash(&[0x0f; 16]);
        assert_eq!((hash.len(), &hash), (16, &uuid_hash(&[0x0f; 16])));
        assert!(hash != uuid_hash(&[0x0e; 16]) && !hash.contains("0f0f"));
    }

    #[test]
    fn every_fact_is_on_the_list_and_the_list_has_no_others() {
        let sources = [include_str!("facts.rs"), include_str!("nvml.rs")].map(|text| text.split('"'));
        let is_fact = |word: &&str| word.starts_with("gpu_") && word.len() > 4;
        let read: BTreeSet<&str> = sources.into_iter().flatten().filter(is_fact).collect();
        assert_eq!(read, FACT_NAMES.iter().copied().filter(is_fact).collect());
    }

    #[test]
    fn only_driver_and_compiler_decide_what_may_be_compared() {
        let key = |facts: &[&str]| environment(&facts.iter().map(|name| ((*name).into(), "1".into())).collect()).key;
        let base = key(&[]);
        for name in FACT_NAMES.iter().filter(|name| name.starts_with("gpu_") || name.starts_with("nv")) {
            assert_eq!(key(&[name]) != base, ["gpu_driver", "nvrtc"].contains(name), "{name}");
        }
    }
}
