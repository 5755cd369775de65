//! The GPU, found at run time: a missing driver or device is a reason, never a panic.

pub mod probe;
pub mod settings;
pub mod program;
pub mod operation;
pub mod driver;
pub mod device;
pub mod instance;
pub mod timer;
pub mod throttle;
pub mod nvml;
pub mod facts;
pub mod parity;
pub mod suite;
pub mod survey;

pub use self::probe::DeviceError;
