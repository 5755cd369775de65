//! What is recorded of a device beside its speed: one place decides the names, units and words of those facts.
//!
//! Of all of them the environment key covers the driver and the compiler alone: they change by an update, and with them
//! the machine code that runs. Clocks, power, temperature and counts of errors move by themselves and are no facts at
//! all; limits and modes, which an owner can set, are recorded and shown.

use std::collections::BTreeMap;

use sprag_base::digest;

/// What driver and management library tell of a device. What could not be had is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Description {
    /// The version of the driver, such as `580.65.06`, or of the CUDA it speaks.
    pub driver: Option<String>,
    /// The version of the compiler of kernels, such as `13.0`.
    pub nvrtc: Option<String>,
    /// The version of the management library.
    pub nvml: Option<String>,
    /// What tells this device from all others; only its digest is recorded.
    pub uuid: Option<String>,
    pub compute_capability: Option<(u32, u32)>,
    pub multiprocessors: Option<u32>,
    pub memory_bytes: Option<u64>,
    /// Bytes of its second-level cache.
    pub l2_bytes: Option<u64>,
    /// Whether memory corrects errors, which costs bandwidth on some models.
    pub ecc: Option<bool>,
    pub mig: Option<bool>,
    /// Whether the driver keeps it initialised.
    pub persistence: Option<bool>,
    /// Who may use it at once, such as `default` or `exclusive process`.
    pub compute_mode: Option<String>,
    pub power_limit_watts: Option<f64>,
    /// The highest clock of its multiprocessors, in megahertz.
    pub clock_max_sm_mhz: Option<u32>,
    pub clock_max_memory_mhz: Option<u32>,
    pub vbios: Option<String>,
    /// Generation and lanes of its connection.
    pub pcie: Option<(u32, u32)>,
}

impl Description {
    pub fn facts(&self) -> BTreeMap<String, String> {
        let number = |value: Option<u64>| value.map(|value| value.to_string());
        let switch = |value: Option<bool>| value.map(|is| if is { "on" } else { "off" }.to_owned());
        let hash = |uuid: &String| digest::sha256_hex(format!("gpu:{uuid}").as_bytes())[..16].to_owned();
        let facts = [
            ("gpu_driver", self.driver.clone()),
            ("nvrtc", self.nvrtc.clone()),
            ("nvml", self.nvml.clone()),
            ("gpu_uuid_hash", self.uuid.as_ref().map(hash)),
            ("gpu_compute_capability", self.compute_capability.map(|(major, minor)| format!("{major}.{minor}"))),
            ("gpu_multiprocessors", number(self.multiprocessors.map(u64::from))),
            ("gpu_memory_bytes", number(self.memory_bytes)),
            ("gpu_l2_bytes", number(self.l2_bytes)),
            ("gpu_ecc", switch(self.ecc)),
            ("gpu_mig", switch(self.mig)),
            ("gpu_persistence", switch(self.persistence)),
            ("gpu_compute_mode", self.compute_mode.clone()),
            ("gpu_power_limit_watts", self.power_limit_watts.map(|watts| format!("{watts:.0}"))),
            ("gpu_clock_max_sm_mhz", number(self.clock_max_sm_mhz.map(u64::from))),
            ("gpu_clock_max_memory_mhz", number(self.clock_max_memory_mhz.map(u64::from))),
            ("gpu_vbios", self.vbios.clone()),
            ("gpu_pcie", self.pcie.map(|(generation, lanes)| format!("generation {generation}, {lanes} lanes"))),
        ];
        facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{FACT_NAMES, environment};
    use sprag_model::environment::KEY_FACTS;

    fn full() -> Description {
        Description {
            driver: Some("580.65.06".into()),
            nvrtc: Some("13.0".into()),
            nvml: Some("13.580.65.06".into()),
            uuid: Some("GPU-0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0".into()),
            compute_capability: Some((9, 0)),
            multiprocessors: Some(132),
            memory_bytes: Some(150_000_000_000),
            l2_bytes: Some(62_914_560),
            ecc: Some(true),
            mig: Some(false),
            persistence: Some(true),
            compute_mode: Some("exclusive process".into()),
            power_limit_watts: Some(700.0),
            clock_max_sm_mhz: Some(1980),
            clock_max_memory_mhz: Some(3201),
            vbios: Some("96.00.D9.00.02".into()),
            pcie: Some((5, 16)),
        }
    }

    #[test]
    fn every_fact_is_on_the_list_and_gets_in_as_it_is() {
        let facts = full().facts();
        assert_eq!(facts.len(), 17);
        let environment = environment(&facts);
        for (name, value) in &facts {
            assert!(FACT_NAMES.contains(&name.as_str()), "{name}");
            assert_eq!(environment.facts.get(name), Some(value), "{name}");
        }
        let of_a_device = |name: &&&str| name.starts_with("gpu_") || name.starts_with("nv");
        for name in FACT_NAMES.iter().filter(of_a_device) {
            assert!(facts.contains_key(*name), "{name} is on the list and never offered");
        }
        assert_eq!(Description::default().facts(), BTreeMap::new());
    }

    #[test]
    fn a_device_is_known_again_and_its_serial_is_not_told() {
        let hash = |uuid: &str| Description { uuid: Some(uuid.into()), ..full() }.facts()["gpu_uuid_hash"].clone();
        assert_eq!(hash("GPU-1"), hash("GPU-1"));
        assert_ne!(hash("GPU-1"), hash("GPU-2"));
        assert!(!full().facts().values().any(|value| value.contains("0f1e2d3c")));
    }

    #[test]
    fn only_driver_and_compiler_decide_what_may_be_compared() {
        let key = |description: &Description| environment(&description.facts()).key;
        let base = key(&full());
        assert_ne!(key(&Description { driver: Some("590.1".into()), ..full() }), base);
        assert_ne!(key(&Description { nvrtc: Some("13.1".into()), ..full() }), base);
        let other = Description { driver: full().driver, nvrtc: full().nvrtc, ..Description::default() };
        assert_eq!(key(&other), base);
        assert!(["gpu_driver", "nvrtc"].iter().all(|name| KEY_FACTS.contains(name)));
    }
}
