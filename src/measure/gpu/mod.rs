//! The GPU, found at run time: a missing driver or device is a reason, never a panic.

mod error;
pub mod probe;
pub mod description;
pub mod precision;
pub mod settings;
mod library;
pub mod program;
pub mod operation;
pub mod driver;
pub mod compiler;
pub mod device;
pub mod instance;
pub mod track;
pub mod timer;
pub mod throttle;
pub mod nvml;
pub mod facts;
pub mod lock;
pub mod meter;
pub mod parity;
pub mod scope;
pub mod suite;
pub mod survey;

pub use self::error::DeviceError;
