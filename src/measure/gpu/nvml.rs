//! The management library: settings of the device once, its state around every block. It only reads. Boards and containers
//! do not support all questions, whose answers are absent; the library itself is optional.

use std::collections::BTreeMap;

use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::{Clock, ComputeMode, PerformancePolicy, TemperatureSensor};

use crate::gpu::throttle::DeviceState;

pub struct Monitor {
    nvml: Nvml,
    index: u32,
}

impl Monitor {
    /// Finds the device by its UUID, since the library orders devices differently.
    pub fn open(uuid: [u8; 16]) -> Result<Monitor, String> {
        let fault = |error: nvml_wrapper::error::NvmlError| format!("nvml_unavailable: {error}");
        let nvml = Nvml::init().map_err(fault)?;
        let wanted = hexadecimal(&uuid);
        let count = nvml.device_count().map_err(fault)?;
        let is_wanted = |index: &u32| {
            let uuid = nvml.device_by_index(*index).and_then(|device| device.uuid());
            uuid.is_ok_and(|uuid| uuid.chars().filter(char::is_ascii_hexdigit).collect::<String>().ends_with(&wanted))
        };
        let index = (0..count).find(is_wanted);
        match index {
            Some(index) => Ok(Monitor { nvml, index }),
            // A container may hide the UUID of its only device.
            None if count == 1 => Ok(Monitor { nvml, index: 0 }),
            None => Err("nvml_unavailable: it does not list this device".to_owned()),
        }
    }

    pub fn state(&self) -> DeviceState {
        let Ok(device) = self.nvml.device_by_index(self.index) else { return DeviceState::default() };
        let violations = [PerformancePolicy::Power, PerformancePolicy::Thermal];
        let counters =
            violations.into_iter().filter_map(|policy| Some(device.violation_status(policy).ok()?.violation_time));
        let throttled = counters.reduce(u64::saturating_add);
        DeviceState {
            reasons: device.current_throttle_reasons().ok().map(|reasons| reasons.bits()),
            throttled_nanos: throttled,
            clock: device.clock_info(Clock::SM).ok(),
            memory_clock: device.clock_info(Clock::Memory).ok(),
            temperature: device.temperature(TemperatureSensor::Gpu).ok(),
            power: device.power_usage().ok(),
            energy: device.total_energy_consumption().ok(),
            seen_clock: None,
        }
    }

    /// Settings and versions. Clocks, power, temperature and error counts change by themselves and are not facts.
    pub fn facts(&self) -> BTreeMap<String, String> {
        let mut facts = BTreeMap::new();
        let mut put = |name: &str, value: Option<String>| facts.extend(value.map(|value| (name.to_owned(), value)));
        let switch = |is_on: bool| if is_on { "on" } else { "off" }.to_owned();
        put("nvml", self.nvml.sys_nvml_version().ok());
        put("gpu_driver", self.nvml.sys_driver_version().ok());
        let Ok(device) = self.nvml.device_by_index(self.index) else { return facts };
        put("gpu_ecc", device.is_ecc_enabled().ok().map(|state| switch(state.currently_enabled)));
        put("gpu_mig", device.mig_mode().ok().map(|mode| switch(mode.current != 0)));
        // The library has persistence mode on Linux only.
        #[cfg(target_os = "linux")]
        put("gpu_persistence", device.is_in_persistent_mode().ok().map(switch));
        put("gpu_compute_mode", device.compute_mode().ok().map(|mode| compute_mode(mode).to_owned()));
        let watts = device.enforced_power_limit().ok().map(|milliwatts| f64::from(milliwatts) * 1e-3);
        put("gpu_power_limit_watts", watts.map(|watts| format!("{watts:.0}")));
        put("gpu_clock_max_sm_mhz", device.max_clock_info(Clock::SM).ok().map(|clock| clock.to_string()));
        put("gpu_clock_max_memory_mhz", device.max_clock_info(Clock::Memory).ok().map(|clock| clock.to_string()));
        put("gpu_vbios", device.vbios_version().ok());
        let link = device.current_pcie_link_gen().ok().zip(device.current_pcie_link_width().ok());
        put("gpu_pcie", link.map(|(generation, lanes)| format!("generation {generation}, {lanes} lanes")));
        facts
    }
}

fn compute_mode(mode: ComputeMode) -> &'static str {
    match mode {
        ComputeMode::Default => "default",
        ComputeMode::ExclusiveThread => "exclusive thread",
        ComputeMode::Prohibited => "prohibited",
        ComputeMode::ExclusiveProcess => "exclusive process",
    }
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
