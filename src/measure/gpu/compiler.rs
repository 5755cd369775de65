//! Compiling kernels at run time with NVRTC, and what the compiler tells of them.
//!
//! Code is compiled for the very architecture of the device (a cubin), so that a compiler newer than the driver does no
//! harm. Where the compiler does not know the architecture, it makes PTX for the newest that it knows below, which the
//! driver then translates.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char};

use cudarc::nvrtc::{result, sys};

use super::DeviceError;
use super::operation;
use super::program::CudaKernel;

#[derive(Clone, Debug, PartialEq)]
pub struct Compiled {
    /// A cubin, or PTX as text.
    pub image: Vec<u8>,
    pub log: String,
}

/// What a kernel takes of a multiprocessor, as the assembler tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub registers: u32,
    /// Bytes of static shared memory of a block.
    pub shared_bytes: u32,
    /// Bytes of registers that were stored to memory for want of room.
    pub spill_bytes: u32,
}

/// An architecture, such as 90 for compute capability 9.0.
pub type Architecture = u32;

/// The version of NVRTC, such as `13.0`.
#[expect(unsafe_code, reason = "the version has no safe wrapper")]
pub fn version() -> Result<String, DeviceError> {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: both numbers outlive the call that writes them.
    let answer = unsafe { sys::nvrtcVersion(&raw mut major, &raw mut minor) };
    if answer == sys::nvrtcResult::NVRTC_SUCCESS {
        Ok(format!("{major}.{minor}"))
    } else {
        Err(DeviceError::Compiler(format!("{answer:?}")))
    }
}

#[expect(unsafe_code, reason = "the list has no safe wrapper")]
pub fn architectures() -> Result<Vec<Architecture>, DeviceError> {
    let fault = |answer: sys::nvrtcResult| DeviceError::Compiler(format!("{answer:?}"));
    let mut count = 0;
    // SAFETY: the number outlives the call that writes it.
    let answer = unsafe { sys::nvrtcGetNumSupportedArchs(&raw mut count) };
    if answer != sys::nvrtcResult::NVRTC_SUCCESS {
        return Err(fault(answer));
    }
    let mut list = vec![0; usize::try_from(count).unwrap_or(0)];
    // SAFETY: the list has as many places as the compiler has just asked for.
    let answer = unsafe { sys::nvrtcGetSupportedArchs(list.as_mut_ptr()) };
    if answer != sys::nvrtcResult::NVRTC_SUCCESS {
        return Err(fault(answer));
    }
    let mut list: Vec<Architecture> = list.into_iter().filter_map(|one| Architecture::try_from(one).ok()).collect();
    list.sort_unstable();
    Ok(list)
}

pub fn options(
    kernel: &CudaKernel,
    architecture: Architecture,
    known: &[Architecture],
) -> Result<Vec<String>, DeviceError> {
    let target = if known.contains(&architecture) {
        format!("sm_{architecture}")
    } else {
        let nearest = known.iter().rfind(|one| **one < architecture);
        let nearest = nearest.ok_or_else(|| DeviceError::Compiler(format!("it knows no sm_{architecture}")))?;
        format!("compute_{nearest}")
    };
    let mut options = vec![
        format!("--gpu-architecture={target}"),
        "--std=c++17".to_owned(),
        "--ptxas-options=-v".to_owned(),
        format!("-DELEMENT={}", kernel.dtype.macro_value()),
    ];
    options.extend(kernel.defines.iter().map(|(name, value)| format!("-D{name}={value}")));
    Ok(options)
}

#[expect(unsafe_code, reason = "the compiler's functions take handles that only the caller can vouch for")]
pub fn compile(kernel: &CudaKernel, options: &[String]) -> Result<Compiled, DeviceError> {
    let source = operation::source(kernel.file)
        .ok_or_else(|| DeviceError::Program(format!("there is no kernel file `{}`", kernel.file)))?;
    let text = |text: &str| CString::new(text).map_err(|_| DeviceError::Program("a source holds a zero byte".into()));
    let fault = |error: result::NvrtcError| DeviceError::Compiler(format!("{:?}", error.0));
    let program = result::create_program(&text(&source)?, Some(&text(kernel.file)?)).map_err(fault)?;
    // SAFETY: the program was just made and is destroyed below, after its last use.
    let compiled = unsafe {
        let done = result::compile_program(program, options);
        let log = result::get_program_log(program).map(|raw| from_c(&raw)).unwrap_or_default();
        let compiled = match done {
            Err(_) => Err(DeviceError::Compile { file: kernel.file, log }),
            Ok(()) => image(program).map(|image| Compiled { image, log }),
        };
        // What cannot be destroyed is lost memory, no more.
        let _ = result::destroy_program(program);
        compiled?
    };
    Ok(compiled)
}

/// The cubin, or the PTX where there is none.
#[expect(unsafe_code, reason = "the compiler writes through pointers")]
fn image(program: sys::nvrtcProgram) -> Result<Vec<u8>, DeviceError> {
    let mut size = 0;
    // SAFETY: the caller's program is compiled; the buffer has as many bytes as the compiler has just asked for.
    unsafe {
        let has_cubin = sys::nvrtcGetCUBINSize(program, &raw mut size) == sys::nvrtcResult::NVRTC_SUCCESS && size > 0;
        if has_cubin {
            let mut cubin = vec![0_u8; size];
            let answer = sys::nvrtcGetCUBIN(program, cubin.as_mut_ptr().cast());
            return match answer {
                sys::nvrtcResult::NVRTC_SUCCESS => Ok(cubin),
                other => Err(DeviceError::Compiler(format!("{other:?}"))),
            };
        }
        let ptx = result::get_ptx(program).map_err(|error| DeviceError::Compiler(format!("{:?}", error.0)))?;
        Ok(from_c(&ptx).into_bytes())
    }
}

/// A text that ends at its first zero byte.
fn from_c(raw: &[c_char]) -> String {
    let bytes: Vec<u8> = raw.iter().map(|byte| *byte as u8).collect();
    let ended = CStr::from_bytes_until_nul(&bytes).map(|text| text.to_string_lossy().into_owned());
    ended.unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into_owned())
}

impl Compiled {
    /// What each kernel takes, by its name; empty where the compiler made PTX, which is not assembled yet.
    pub fn usage(&self) -> BTreeMap<String, Usage> {
        usage(&self.log)
    }
}

/// Reads what the assembler says under `-v`: for each kernel a line that names it, then its spills and registers.
fn usage(log: &str) -> BTreeMap<String, Usage> {
    let mut found: BTreeMap<String, Usage> = BTreeMap::new();
    let mut current = None;
    for line in log.lines() {
        if let Some(rest) = line.split("entry function '").nth(1) {
            current = rest.split('\'').next().map(str::to_owned);
        }
        let Some(name) = &current else { continue };
        let number_before = |word: &str| {
            let (before, _) = line.split_once(word)?;
            before.rsplit(|c: char| !c.is_ascii_digit()).find(|part| !part.is_empty())?.parse::<u32>().ok()
        };
        let entry = found.entry(name.clone()).or_default();
        if let Some(spills) = number_before(" bytes spill stores") {
            entry.spill_bytes = spills;
        }
        if let Some(registers) = number_before(" registers") {
            entry.registers = registers;
            entry.shared_bytes = number_before(" bytes smem").unwrap_or(0);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::program::Dtype;

    #[test]
    fn options_name_the_architecture_that_the_compiler_knows() {
        let kernel = CudaKernel {
            file: "empty.cu",
            entry: "empty",
            dtype: Dtype::Bf16,
            defines: BTreeMap::from([("BLOCK", 64)]),
        };
        let check = |architecture, known: &[Architecture], expected: &str| {
            let options = options(&kernel, architecture, known).expect("it knows one");
            assert_eq!(options[0], format!("--gpu-architecture={expected}"));
            assert_eq!(options[3..], ["-DELEMENT=2", "-DBLOCK=64"]);
        };
        check(90, &[80, 90, 100], "sm_90");
        check(103, &[80, 90, 100], "compute_100");
        assert!(options(&kernel, 70, &[80]).is_err());
    }

    #[test]
    fn the_assembler_tells_what_a_kernel_takes() {
        let log = "ptxas info    : Compiling entry function 'a' for 'sm_90'\n\
                   ptxas info    : Function properties for a\n\
                   ptxas         .     0 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads\n\
                   ptxas info    : Used 18 registers, used 1 barriers, 1024 bytes smem\n\
                   ptxas info    : Compiling entry function 'b' for 'sm_90'\n\
                   ptxas info    : Used 8 registers, used 0 barriers\n";
        let found = usage(log);
        assert_eq!(found["a"], Usage { registers: 18, shared_bytes: 1024, spill_bytes: 12 });
        assert_eq!(found["b"], Usage { registers: 8, shared_bytes: 0, spill_bytes: 0 });
        assert!(usage("").is_empty());
    }
}
