//! Objects of the CUDA driver on one context and one stream, freed when they are dropped.
//!
//! They use the driver's plain functions: the wrapper's safe objects record events around launches, which would be timed.
#![expect(
    unsafe_code,
    reason = "the driver's functions take handles and addresses that only their owner can vouch for"
)]

use std::cell::Cell;
use std::ffi::{CString, c_void};
use std::rc::Rc;

use cudarc::driver::{DriverError, result, sys};

use crate::gpu::{DeviceError, probe};

/// A device's primary context and its only stream. It belongs to the thread that opened it.
pub struct Primary {
    device: sys::CUdevice,
    stream: sys::CUstream,
    allocated: Cell<usize>,
    highest: Cell<usize>,
}

impl Primary {
    /// Opens a device and makes its context that of this thread.
    pub fn open(ordinal: i32) -> Result<Rc<Primary>, DeviceError> {
        checked("cuInit", result::init())?;
        let device = checked("cuDeviceGet", result::device::get(ordinal))?;
        // SAFETY: the device was just given by the driver; the context is released when this object is dropped.
        let raw = checked("cuDevicePrimaryCtxRetain", unsafe { result::primary_ctx::retain(device) })?;
        // SAFETY: the context was just retained.
        checked("cuCtxSetCurrent", unsafe { result::ctx::set_current(raw) })?;
        let stream = checked("cuStreamCreate", result::stream::create(result::stream::StreamKind::NonBlocking))?;
        Ok(Rc::new(Primary { device, stream, allocated: Cell::new(0), highest: Cell::new(0) }))
    }

    pub fn attribute(&self, attribute: sys::CUdevice_attribute) -> Result<i32, DeviceError> {
        // SAFETY: the device was given by the driver.
        checked("cuDeviceGetAttribute", unsafe { result::device::get_attribute(self.device, attribute) })
    }

    pub fn name(&self) -> Result<String, DeviceError> {
        checked("cuDeviceGetName", result::device::get_name(self.device))
    }

    pub fn uuid(&self) -> Result<[u8; 16], DeviceError> {
        let uuid = checked("cuDeviceGetUuid", result::device::get_uuid(self.device))?;
        Ok(uuid.bytes.map(|byte| byte as u8))
    }

    /// Free and total device memory in bytes.
    pub fn memory(&self) -> Result<(usize, usize), DeviceError> {
        checked("cuMemGetInfo", result::mem_get_info())
    }

    pub fn wait(&self) -> Result<(), DeviceError> {
        // SAFETY: the stream lives as long as the context.
        checked("cuStreamSynchronize", unsafe { result::stream::synchronize(self.stream) })
    }
}

impl Drop for Primary {
    fn drop(&mut self) {
        // SAFETY: every object on the stream keeps the context alive, so nothing uses either any more.
        // A driver that has failed has nothing left to free, so its answers do not matter.
        unsafe {
            let _ = result::stream::destroy(self.stream);
            let _ = result::primary_ctx::release(self.device);
        }
    }
}

fn checked<T>(what: &'static str, answer: Result<T, DriverError>) -> Result<T, DeviceError> {
    // The plain code: its description would need another function of the library.
    answer.map_err(|error| DeviceError::Driver { what, code: format!("{:?}", error.0) })
}

/// Device memory with undefined initial content.
pub struct DeviceBuffer {
    context: Rc<Primary>,
    pointer: sys::CUdeviceptr,
    bytes: usize,
    /// Bytes in front of it and behind it that are filled with [`GUARD`].
    guard: usize,
}

/// Fills what no kernel may write.
const GUARD: u8 = 0xa5;

/// A word of host memory that kernels read while the host writes it.
pub struct HostFlag {
    context: Rc<Primary>,
    host: *mut u32,
    device: sys::CUdeviceptr,
}

impl Primary {
    pub fn allocate(self: &Rc<Primary>, bytes: usize) -> Result<DeviceBuffer, DeviceError> {
        self.allocate_guarded(bytes, 0)
    }

    /// With as many bytes in front of it and behind it, a multiple of 256, that [`DeviceBuffer::overrun`] checks.
    pub fn allocate_guarded(self: &Rc<Primary>, bytes: usize, guard: usize) -> Result<DeviceBuffer, DeviceError> {
        // SAFETY: the stream lives as long as the context; the memory is freed on it when the buffer is dropped.
        let pointer = match unsafe { result::malloc_async(self.stream, bytes.saturating_add(2 * guard).max(1)) } {
            Err(error) if error.0 == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                return Err(DeviceError::Memory { needed: bytes, free: self.memory().map_or(0, |(free, _)| free) });
            }
            other => checked("cuMemAllocAsync", other)?,
        };
        self.allocated.set(self.allocated.get() + bytes);
        self.highest.set(self.highest.get().max(self.allocated.get()));
        let buffer = DeviceBuffer { context: self.clone(), pointer: pointer + guard as u64, bytes, guard };
        buffer.reset_guards()?;
        Ok(buffer)
    }

    /// The most bytes of buffers at one time since [`Primary::reset_highest`].
    pub fn highest(&self) -> usize {
        self.highest.get()
    }

    /// Restarts the count of the most bytes from the current use.
    pub fn reset_highest(&self) {
        self.highest.set(self.allocated.get());
        self.set_pool_high_water();
    }

    /// The most bytes of the driver's memory pool at one time since [`Primary::reset_highest`]; `None` if not counted.
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

    fn set_pool_high_water(&self) {
        let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH;
        let mut zero = 0_u64;
        // SAFETY: as above; the driver accepts only zero, which resets the mark to the current use.
        unsafe {
            if let Ok(pool) = result::device::get_default_mem_pool(self.device) {
                // A driver that does not count has nothing to reset.
                let _ = sys::cuMemPoolSetAttribute(pool, attribute, (&raw mut zero).cast());
            }
        }
    }

    pub fn flag(self: &Rc<Primary>) -> Result<HostFlag, DeviceError> {
        let mut device = 0;
        // SAFETY: a word of mapped host memory, freed when the flag is dropped; `device` outlives the call.
        unsafe {
            let host = result::malloc_host(size_of::<u32>(), sys::CU_MEMHOSTALLOC_DEVICEMAP);
            let host = checked("cuMemHostAlloc", host)?.cast::<u32>();
            host.write_volatile(0);
            let answer = sys::cuMemHostGetDevicePointer_v2(&raw mut device, host.cast(), 0).result();
            let flag = HostFlag { context: self.clone(), host, device };
            checked("cuMemHostGetDevicePointer", answer)?;
            Ok(flag)
        }
    }
}

impl DeviceBuffer {
    pub fn address(&self) -> u64 {
        self.pointer
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where the memory begins, and where its last part does, which is behind the buffer.
    fn guards(&self) -> [sys::CUdeviceptr; 2] {
        [self.pointer - self.guard as u64, self.pointer + self.bytes as u64]
    }

    /// Fills the bytes around it, which an earlier kernel may have overwritten.
    pub fn reset_guards(&self) -> Result<(), DeviceError> {
        if self.guard == 0 {
            return Ok(());
        }
        self.guards().into_iter().try_for_each(|at| {
            // SAFETY: as many bytes come before those of the buffer, and as many follow.
            let answer = unsafe { result::memset_d8_async(at, GUARD, self.guard, self.context.stream) };
            checked("cuMemsetD8Async", answer)
        })
    }

    /// The bytes around it that a kernel changed, as a sentence; `None` where there is none.
    pub fn overrun(&self) -> Result<Option<String>, DeviceError> {
        self.context.wait()?;
        for (at, side) in self.guards().into_iter().zip(["in front of its start", "behind its end"]) {
            let mut bytes = vec![GUARD; self.guard];
            if !bytes.is_empty() {
                // SAFETY: as many bytes come before those of the buffer, and as many follow.
                checked("cuMemcpyDtoH", unsafe { result::memcpy_dtoh_sync(&mut bytes, at) })?;
            }
            if at < self.pointer {
                bytes.reverse();
            }
            if let Some(last) = bytes.iter().rposition(|byte| *byte != GUARD) {
                let count = bytes.iter().filter(|byte| **byte != GUARD).count();
                return Ok(Some(format!("{count} bytes {side} are overwritten, up to {} bytes away", last + 1)));
            }
        }
        Ok(None)
    }

    pub fn set(&self, byte: u8) -> Result<(), DeviceError> {
        if self.bytes == 0 {
            return Ok(());
        }
        // SAFETY: the buffer is alive and has so many bytes.
        let answer = unsafe { result::memset_d8_async(self.pointer, byte, self.bytes, self.context.stream) };
        checked("cuMemsetD8Async", answer)
    }

    /// Copies from the host in stream order, after reading the bytes.
    pub fn upload(&self, bytes: &[u8]) -> Result<(), DeviceError> {
        if bytes.len() != self.bytes {
            return Err(DeviceError::Program(format!("{} bytes for a buffer of {}", bytes.len(), self.bytes)));
        }
        if bytes.is_empty() {
            return Ok(());
        }
        // A plain copy would use another stream, for which kernels of this one do not wait.
        // SAFETY: the buffer is alive and has as many bytes as the slice, which is pageable memory of the host: the driver
        // copies it before it returns.
        let answer = unsafe { result::memcpy_htod_async(self.pointer, bytes, self.context.stream) };
        checked("cuMemcpyHtoDAsync", answer)
    }

    pub fn download(&self) -> Result<Vec<u8>, DeviceError> {
        let mut bytes = Vec::with_capacity(self.bytes);
        self.read(self.bytes, |part| bytes = part)?;
        Ok(bytes)
    }

    /// Hands on its content in parts of so many bytes at most.
    pub fn read(&self, most: usize, mut each: impl FnMut(Vec<u8>)) -> Result<(), DeviceError> {
        self.context.wait()?;
        let mut begin = 0;
        while begin < self.bytes {
            let mut bytes = vec![0; most.min(self.bytes - begin)];
            // SAFETY: the buffer is alive and has as many bytes as the slice from there on.
            let answer = unsafe { result::memcpy_dtoh_sync(&mut bytes, self.pointer + begin as u64) };
            checked("cuMemcpyDtoH", answer)?;
            begin += bytes.len();
            each(bytes);
        }
        Ok(())
    }
}

impl HostFlag {
    pub fn address(&self) -> u64 {
        self.device
    }

    pub fn set(&self, value: u32) {
        // SAFETY: the word is alive; the device only reads it, and a volatile write of a word is not torn.
        unsafe { self.host.write_volatile(value) }
    }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        self.context.allocated.set(self.context.allocated.get().saturating_sub(self.bytes));
        // SAFETY: the memory belongs to this stream and is freed after all earlier work on it.
        // A driver that has failed has nothing left to free, so its answer does not matter.
        let _ = unsafe { result::free_async(self.guards()[0], self.context.stream) };
    }
}

impl Drop for HostFlag {
    fn drop(&mut self) {
        // Kernels that read it must have ended.
        let _ = self.context.wait();
        // SAFETY: the word was handed out by the driver, and nobody reads it any more.
        let _ = unsafe { result::free_host(self.host.cast()) };
    }
}

pub struct Module {
    context: Rc<Primary>,
    raw: sys::CUmodule,
}

#[derive(Clone)]
pub struct Function {
    module: Rc<Module>,
    raw: sys::CUfunction,
}

/// How much the driver may say of PTX that it does not compile.
const JIT_LOG_BYTES: usize = 4096;

impl Primary {
    pub fn load(self: &Rc<Primary>, image: &[u8]) -> Result<Rc<Module>, DeviceError> {
        // PTX is text, and the driver reads it up to a zero byte.
        let mut ended = image.to_vec();
        ended.push(0);
        let mut log = [0_u8; JIT_LOG_BYTES];
        let mut options =
            [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(log.len())];
        let mut raw = std::ptr::null_mut();
        // SAFETY: the image is a whole cubin or a text that ends with zero. It, the options and the log outlive the call.
        let answer = unsafe {
            sys::cuModuleLoadDataEx(&mut raw, ended.as_ptr().cast(), 2, options.as_mut_ptr(), values.as_mut_ptr())
        };
        checked("cuModuleLoadDataEx", answer.result()).map_err(|error| match error {
            DeviceError::Driver { what, code } => {
                let text = log.split(|byte| *byte == 0).next().unwrap_or_default();
                let words: Vec<String> = String::from_utf8_lossy(text).split_whitespace().map(str::to_owned).collect();
                let said = if words.is_empty() { String::new() } else { format!(" ({})", words.join(" ")) };
                DeviceError::Driver { what, code: code + &said }
            }
            other => other,
        })?;
        Ok(Rc::new(Module { context: self.clone(), raw }))
    }

    /// Launches a kernel. Each argument is in the low bytes of its word.
    pub fn launch(
        &self,
        function: &Function,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        arguments: &[u64],
    ) -> Result<(), DeviceError> {
        let mut words = arguments.to_vec();
        let mut pointers: Vec<*mut c_void> = words.iter_mut().map(|word| std::ptr::from_mut(word).cast()).collect();
        let (grid, block) = ((grid[0], grid[1], grid[2]), (block[0], block[1], block[2]));
        // SAFETY: the function belongs to a loaded module; the driver copies as many bytes of each word as the kernel's
        // parameter has, at most eight, before it returns. Parity checks show that they fit a kernel of Sprag; those of the user
        // are compared with their kernel before.
        let answer = unsafe { result::launch_kernel(function.raw, grid, block, shared, self.stream, &mut pointers) };
        checked("cuLaunchKernel", answer)
    }
}

impl Module {
    pub fn function(self: &Rc<Module>, name: &str) -> Result<Function, DeviceError> {
        let text = CString::new(name).map_err(|_| DeviceError::Program(format!("`{name}` is not a kernel's name")))?;
        // SAFETY: the module is loaded.
        let raw = checked("cuModuleGetFunction", unsafe { result::module::get_function(self.raw, text) })?;
        Ok(Function { module: self.clone(), raw })
    }
}

/// What a launch of a function may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionLimits {
    /// Threads of a block, which its registers limit.
    pub threads: u32,
    /// Bytes of a block that it declares itself.
    pub static_shared: u32,
}

impl Function {
    pub fn limits(&self) -> Result<FunctionLimits, DeviceError> {
        use sys::CUfunction_attribute as Attribute;
        let number = |attribute| {
            // SAFETY: the function belongs to a loaded module, which it keeps alive.
            let answer = unsafe { result::function::get_function_attribute(self.raw, attribute) };
            checked("cuFuncGetAttribute", answer).map(|value| u32::try_from(value).unwrap_or(0))
        };
        Ok(FunctionLimits {
            threads: number(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            static_shared: number(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
        })
    }

    /// The bytes of each parameter; `None` where the driver is too old to say.
    pub fn parameters(&self) -> Option<Vec<usize>> {
        if !probe::describes_parameters() {
            return None;
        }
        let size = |place| {
            let (mut offset, mut size) = (0, 0);
            // SAFETY: the driver has the function, and both numbers outlive the call that writes them.
            let answer = unsafe { sys::cuFuncGetParamInfo(self.raw, place, &raw mut offset, &raw mut size) };
            (answer == sys::CUresult::CUDA_SUCCESS).then_some(size)
        };
        Some((0..).map_while(size).collect())
    }

    /// Permits launches with that much dynamic shared memory, which is needed beyond 48 KiB.
    pub fn permit_shared(&self, bytes: u32) -> Result<(), DeviceError> {
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
        // SAFETY: the function belongs to a loaded module, which it keeps alive.
        let answer = unsafe { result::function::set_function_attribute(self.raw, attribute, bytes) };
        debug_assert!(Rc::strong_count(&self.module) > 0);
        checked("cuFuncSetAttribute", answer)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // Kernels of it must have ended.
        let _ = self.context.wait();
        // SAFETY: its functions keep it alive, so none is left.
        let _ = unsafe { result::module::unload(self.raw) };
    }
}

/// Recorded launches that are replayed as one.
pub struct Graph {
    context: Rc<Primary>,
    raw: sys::CUgraphExec,
}

pub struct CudaEvent {
    context: Rc<Primary>,
    raw: sys::CUevent,
}

impl Primary {
    /// Records the work on the stream without running it.
    pub fn capture(self: &Rc<Primary>, work: impl FnOnce() -> Result<(), DeviceError>) -> Result<Graph, DeviceError> {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is ours and does not capture yet.
        checked("cuStreamBeginCapture", unsafe { result::stream::begin_capture(self.stream, mode) })?;
        let done = work();
        // SAFETY: capturing has begun; it must end also where `work` failed.
        let graph = unsafe { result::stream::end_capture(self.stream) };
        done?;
        let graph = checked("cuStreamEndCapture", graph)?;
        // SAFETY: the graph was just made; the executable form does not need it any more.
        let raw = unsafe {
            let raw = result::graph::instantiate(graph, sys::CUgraphInstantiate_flags(0));
            checked("cuGraphDestroy", result::graph::destroy(graph))?;
            checked("cuGraphInstantiateWithFlags", raw)?
        };
        Ok(Graph { context: self.clone(), raw })
    }

    pub fn event(self: &Rc<Primary>) -> Result<CudaEvent, DeviceError> {
        // The default flags: others switch timing off.
        let raw = checked("cuEventCreate", result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT))?;
        Ok(CudaEvent { context: self.clone(), raw })
    }
}

impl Graph {
    pub fn launch(&self) -> Result<(), DeviceError> {
        // SAFETY: both are alive.
        checked("cuGraphLaunch", unsafe { result::graph::launch(self.raw, self.context.stream) })
    }

    /// Transfers it to the device ahead of its first launch.
    pub fn upload(&self) -> Result<(), DeviceError> {
        // SAFETY: both are alive.
        checked("cuGraphUpload", unsafe { result::graph::upload(self.raw, self.context.stream) })
    }
}

impl CudaEvent {
    pub fn record(&self) -> Result<(), DeviceError> {
        // SAFETY: both are alive.
        checked("cuEventRecord", unsafe { result::event::record(self.raw, self.context.stream) })
    }

    /// Waits for both; returns the seconds between them, with a resolution of about half a microsecond.
    pub fn seconds_to(&self, later: &CudaEvent) -> Result<f64, DeviceError> {
        // SAFETY: both were made to take the time, and are alive.
        unsafe {
            checked("cuEventSynchronize", result::event::synchronize(later.raw))?;
            Ok(f64::from(checked("cuEventElapsedTime", result::event::elapsed(self.raw, later.raw))?) * 1e-3)
        }
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: nobody launches it any more; a running launch keeps what it needs.
        // A driver that has failed has nothing left to free, so its answer does not matter.
        let _ = unsafe { result::graph::exec_destroy(self.raw) };
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        debug_assert!(Rc::strong_count(&self.context) > 0);
        // SAFETY: nobody records or reads it any more.
        let _ = unsafe { result::event::destroy(self.raw) };
    }
}
