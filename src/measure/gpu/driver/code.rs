//! Compiled kernels on the device, and their launches.

use std::ffi::{CString, c_void};
use std::rc::Rc;

use cudarc::driver::{result, sys};

use super::context::{Context, checked};
use crate::gpu::DeviceError;

/// A loaded module, whose functions can be launched.
pub struct Module {
    context: Rc<Context>,
    raw: sys::CUmodule,
}

/// A kernel of a module.
#[derive(Clone)]
pub struct Function {
    module: Rc<Module>,
    raw: sys::CUfunction,
}

impl Context {
    /// Loads a compiled image.
    ///
    /// # Errors
    /// When the driver does not take it, as one of a newer compiler.
    #[expect(unsafe_code, reason = "the driver reads an image through a pointer")]
    pub fn load(self: &Rc<Context>, image: &[u8]) -> Result<Rc<Module>, DeviceError> {
        // PTX is text, and the driver reads it up to a zero byte.
        let mut ended = image.to_vec();
        ended.push(0);
        // SAFETY: the image is a whole cubin or a text that ends with zero, and outlives the call.
        let raw = checked("cuModuleLoadData", unsafe { result::module::load_data(ended.as_ptr().cast()) })?;
        Ok(Rc::new(Module { context: self.clone(), raw }))
    }

    /// Puts a kernel on the stream. Each argument lies in the low bytes of its word.
    ///
    /// # Errors
    /// When the driver refuses.
    #[expect(unsafe_code, reason = "a launch hands untyped arguments to a kernel")]
    pub fn launch(
        &self,
        function: &Function,
        grid: [u32; 3],
        block: u32,
        shared: u32,
        arguments: &[u64],
    ) -> Result<(), DeviceError> {
        let mut words = arguments.to_vec();
        let mut pointers: Vec<*mut c_void> = words.iter_mut().map(|word| std::ptr::from_mut(word).cast()).collect();
        let grid = (grid[0], grid[1], grid[2]);
        // SAFETY: the function belongs to a loaded module; the driver copies as many bytes of each word as the kernel's
        // parameter has, eight at most, before it returns; that they fit the kernel is what parity checks show.
        let answer =
            unsafe { result::launch_kernel(function.raw, grid, (block, 1, 1), shared, self.stream, &mut pointers) };
        checked("cuLaunchKernel", answer)
    }
}

impl Module {
    /// A kernel by its name.
    ///
    /// # Errors
    /// When the module has none.
    #[expect(unsafe_code, reason = "the driver's function takes a handle that only the caller can vouch for")]
    pub fn function(self: &Rc<Module>, name: &str) -> Result<Function, DeviceError> {
        let text = CString::new(name).map_err(|_| DeviceError::Program(format!("`{name}` is no name of a kernel")))?;
        // SAFETY: the module is loaded.
        let raw = checked("cuModuleGetFunction", unsafe { result::module::get_function(self.raw, text) })?;
        Ok(Function { module: self.clone(), raw })
    }
}

impl Function {
    /// Permits launches with that much dynamic shared memory, which beyond 48 KiB must be asked for.
    ///
    /// # Errors
    /// When the device has less.
    #[expect(unsafe_code, reason = "the driver's function takes a handle that only the caller can vouch for")]
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
    #[expect(unsafe_code, reason = "giving back what the driver handed out")]
    fn drop(&mut self) {
        // Kernels of it must have ended.
        let _ = self.context.wait();
        // SAFETY: its functions keep it alive, so none is left.
        let _ = unsafe { result::module::unload(self.raw) };
    }
}
