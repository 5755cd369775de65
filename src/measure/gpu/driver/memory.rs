//! Memory of the device, and the host's that kernels can read.

use std::rc::Rc;

use cudarc::driver::{result, sys};

use super::context::{Context, checked};
use crate::gpu::DeviceError;

/// Device memory. What it holds at first is undefined.
pub struct Buffer {
    context: Rc<Context>,
    pointer: sys::CUdeviceptr,
    bytes: usize,
}

/// A word of host memory that kernels can read while the host writes it.
pub struct Flag {
    context: Rc<Context>,
    host: *mut u32,
    device: sys::CUdeviceptr,
}

impl Context {
    /// Device memory of at least one byte.
    ///
    /// # Errors
    /// [`DeviceError::Memory`] where there is too little.
    #[expect(unsafe_code, reason = "the driver's function takes a handle that only the caller can vouch for")]
    pub fn allocate(self: &Rc<Context>, bytes: usize) -> Result<Buffer, DeviceError> {
        // SAFETY: the stream lives as long as the context; the memory is freed on it when the buffer is dropped.
        let pointer = match unsafe { result::malloc_async(self.stream, bytes.max(1)) } {
            Err(error) if error.0 == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                return Err(DeviceError::Memory { needed: bytes, free: self.memory().map_or(0, |(free, _)| free) });
            }
            other => checked("cuMemAllocAsync", other)?,
        };
        self.allocated.set(self.allocated.get() + bytes);
        self.highest.set(self.highest.get().max(self.allocated.get()));
        Ok(Buffer { context: self.clone(), pointer, bytes })
    }

    /// The most bytes that buffers held at one time since [`Context::reset_highest`].
    pub fn highest(&self) -> usize {
        self.highest.get()
    }

    /// Begins to count the most bytes anew, from what is held now.
    pub fn reset_highest(&self) {
        self.highest.set(self.allocated.get());
        self.set_pool_high_water();
    }

    /// The most bytes that the driver's memory pool had handed out at one time since [`Context::reset_highest`];
    /// `None` where the driver does not count.
    #[expect(unsafe_code, reason = "the driver's functions take handles and untyped values")]
    pub fn pool_high_water(&self) -> Option<u64> {
        let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH;
        let mut value = 0_u64;
        // SAFETY: the device was given by the driver, and this attribute is an unsigned number of 64 bits, as `value`.
        unsafe {
            let pool = result::device::get_default_mem_pool(self.device).ok()?;
            let answer = sys::cuMemPoolGetAttribute(pool, attribute, (&raw mut value).cast());
            (answer == sys::CUresult::CUDA_SUCCESS).then_some(value)
        }
    }

    #[expect(unsafe_code, reason = "the driver's functions take handles and untyped values")]
    fn set_pool_high_water(&self) {
        let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH;
        let mut zero = 0_u64;
        // SAFETY: as above; the driver takes zero alone, which sets the mark back to what is in use.
        unsafe {
            if let Ok(pool) = result::device::get_default_mem_pool(self.device) {
                // A driver that does not count has nothing to set back.
                let _ = sys::cuMemPoolSetAttribute(pool, attribute, (&raw mut zero).cast());
            }
        }
    }

    /// A flag that kernels can read, not set.
    ///
    /// # Errors
    /// When the driver refuses.
    #[expect(unsafe_code, reason = "the driver hands out host memory through a pointer")]
    pub fn flag(self: &Rc<Context>) -> Result<Flag, DeviceError> {
        let mut device = 0;
        // SAFETY: a word of mapped host memory, freed when the flag is dropped; `device` outlives the call.
        unsafe {
            let host = result::malloc_host(size_of::<u32>(), sys::CU_MEMHOSTALLOC_DEVICEMAP);
            let host = checked("cuMemHostAlloc", host)?.cast::<u32>();
            host.write_volatile(0);
            let answer = sys::cuMemHostGetDevicePointer_v2(&raw mut device, host.cast(), 0).result();
            let flag = Flag { context: self.clone(), host, device };
            checked("cuMemHostGetDevicePointer", answer)?;
            Ok(flag)
        }
    }
}

impl Buffer {
    pub fn address(&self) -> u64 {
        self.pointer
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Sets every byte, in the order of the stream.
    ///
    /// # Errors
    /// When the driver refuses.
    #[expect(unsafe_code, reason = "the driver writes through an address")]
    pub fn set(&self, byte: u8) -> Result<(), DeviceError> {
        if self.bytes == 0 {
            return Ok(());
        }
        // SAFETY: the buffer is alive and has so many bytes.
        let answer = unsafe { result::memset_d8_async(self.pointer, byte, self.bytes, self.context.stream) };
        checked("cuMemsetD8Async", answer)
    }

    /// Copies from the host, in the order of the stream. The bytes are taken before this returns.
    ///
    /// # Errors
    /// When there are not as many bytes, or the driver refuses.
    #[expect(unsafe_code, reason = "the driver writes through an address")]
    pub fn upload(&self, bytes: &[u8]) -> Result<(), DeviceError> {
        if bytes.len() != self.bytes {
            return Err(DeviceError::Program(format!("{} bytes for a buffer of {}", bytes.len(), self.bytes)));
        }
        if bytes.is_empty() {
            return Ok(());
        }
        // The plain copy would go by another stream, which kernels of this one do not wait for.
        // SAFETY: the buffer is alive and has as many bytes as the slice, which is ordinary memory of the host: the
        // driver takes it aside before it returns.
        let answer = unsafe { result::memcpy_htod_async(self.pointer, bytes, self.context.stream) };
        checked("cuMemcpyHtoDAsync", answer)
    }

    /// Waits and copies to the host.
    ///
    /// # Errors
    /// What went wrong on the device, or when the driver refuses.
    #[expect(unsafe_code, reason = "the driver reads through an address")]
    pub fn download(&self) -> Result<Vec<u8>, DeviceError> {
        self.context.wait()?;
        let mut bytes = vec![0; self.bytes];
        if !bytes.is_empty() {
            // SAFETY: the buffer is alive and has as many bytes as the slice.
            checked("cuMemcpyDtoH", unsafe { result::memcpy_dtoh_sync(&mut bytes, self.pointer) })?;
        }
        Ok(bytes)
    }
}

impl Flag {
    /// The address that kernels read it at.
    pub fn address(&self) -> u64 {
        self.device
    }

    /// Sets it to a value, which kernels that are running see.
    #[expect(unsafe_code, reason = "the word is shared with the device")]
    pub fn set(&self, value: u32) {
        // SAFETY: the word is alive; the device only reads it, and a volatile write of a word is not torn.
        unsafe { self.host.write_volatile(value) }
    }
}

impl Drop for Buffer {
    #[expect(unsafe_code, reason = "giving back what the driver handed out")]
    fn drop(&mut self) {
        self.context.allocated.set(self.context.allocated.get().saturating_sub(self.bytes));
        // SAFETY: the memory was handed out on this stream and is freed after all that was put on it before.
        // A driver that has failed has nothing left to give back, so its answer does not matter.
        let _ = unsafe { result::free_async(self.pointer, self.context.stream) };
    }
}

impl Drop for Flag {
    #[expect(unsafe_code, reason = "giving back what the driver handed out")]
    fn drop(&mut self) {
        // Kernels that read it must have ended.
        let _ = self.context.wait();
        // SAFETY: the word was handed out by the driver, and nobody reads it any more.
        let _ = unsafe { result::free_host(self.host.cast()) };
    }
}
