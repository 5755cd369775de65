//! The context of a device and its stream.

use std::cell::Cell;
use std::rc::Rc;

use cudarc::driver::{DriverError, result, sys};

use crate::gpu::DeviceError;

/// A device's primary context and the one stream that everything runs on. It belongs to the thread that opened it.
pub struct Context {
    pub(super) device: sys::CUdevice,
    pub(super) stream: sys::CUstream,
    pub(super) allocated: Cell<usize>,
    pub(super) highest: Cell<usize>,
}

impl Context {
    /// Opens a device by its number and makes its context that of this thread.
    ///
    /// # Errors
    /// When the driver refuses. The library must be there: [`crate::gpu::probe::device`] says whether it is.
    #[expect(unsafe_code, reason = "the driver's functions take handles that only the caller can vouch for")]
    pub fn open(ordinal: i32) -> Result<Rc<Context>, DeviceError> {
        checked("cuInit", result::init())?;
        let device = checked("cuDeviceGet", result::device::get(ordinal))?;
        // SAFETY: the device was just given by the driver; the context is released when this object is dropped.
        let raw = checked("cuDevicePrimaryCtxRetain", unsafe { result::primary_ctx::retain(device) })?;
        // SAFETY: the context was just retained.
        checked("cuCtxSetCurrent", unsafe { result::ctx::set_current(raw) })?;
        let stream = checked("cuStreamCreate", result::stream::create(result::stream::StreamKind::NonBlocking))?;
        Ok(Rc::new(Context { device, stream, allocated: Cell::new(0), highest: Cell::new(0) }))
    }

    /// An attribute of the device.
    ///
    /// # Errors
    /// When the driver does not know it.
    #[expect(unsafe_code, reason = "the driver's function takes a handle that only the caller can vouch for")]
    pub fn attribute(&self, attribute: sys::CUdevice_attribute) -> Result<i32, DeviceError> {
        // SAFETY: the device was given by the driver.
        checked("cuDeviceGetAttribute", unsafe { result::device::get_attribute(self.device, attribute) })
    }

    /// The model of the device.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn name(&self) -> Result<String, DeviceError> {
        checked("cuDeviceGetName", result::device::get_name(self.device))
    }

    /// The 16 bytes that tell this device from every other.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn uuid(&self) -> Result<[u8; 16], DeviceError> {
        let uuid = checked("cuDeviceGetUuid", result::device::get_uuid(self.device))?;
        Ok(uuid.bytes.map(|byte| byte as u8))
    }

    /// Bytes of device memory that are free and that there are.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn memory(&self) -> Result<(usize, usize), DeviceError> {
        checked("cuMemGetInfo", result::mem_get_info())
    }

    /// Waits until the stream is empty.
    ///
    /// # Errors
    /// What went wrong on the device since the last wait.
    #[expect(unsafe_code, reason = "the driver's function takes a handle that only the caller can vouch for")]
    pub fn wait(&self) -> Result<(), DeviceError> {
        // SAFETY: the stream lives as long as the context.
        checked("cuStreamSynchronize", unsafe { result::stream::synchronize(self.stream) })
    }
}

impl Drop for Context {
    #[expect(unsafe_code, reason = "giving back what the driver handed out")]
    fn drop(&mut self) {
        // SAFETY: all that lives on the stream keeps the context alive, so nothing uses either any more.
        // A driver that has failed has nothing left to give back, so its answers do not matter.
        unsafe {
            let _ = result::stream::destroy(self.stream);
            let _ = result::primary_ctx::release(self.device);
        }
    }
}

/// What the driver answered to a call of that name.
pub(super) fn checked<T>(what: &'static str, answer: Result<T, DriverError>) -> Result<T, DeviceError> {
    // The plain code: its description would need a further function of the library.
    answer.map_err(|error| DeviceError::Driver { what, code: format!("{:?}", error.0) })
}
