//! The emulator itself: it refuses what a driver refuses and reports faults that a device would not notice. The tests of the
//! GPU suite and `scripts/kernels-on-cpu.sh` show that it computes what a device computes.
//!
//! The binding loads its libraries once a process, so each case runs in a process of its own: this test program, started
//! again.

use std::process::{Command, Output};

use cudarc::driver::{CudaContext, DriverError, LaunchConfig, PushKernelArg, result, sys};
use cudarc::nvrtc::{CompileOptions, compile_ptx_with_opts};

use crate::emulator::Machine;
use crate::sandbox::assert_contains;

/// The variable that names the case of a process.
const CASE: &str = "SPRAG_TEST_CASE";

/// Threads of a block of the sample kernels.
const BLOCK: usize = 64;

const CASES: [(&str, fn()); 5] = [
    ("refusals", mistakes_are_refused),
    ("memory", memory_is_limited),
    ("torn_barrier", || launch_alone("torn_barrier")),
    ("beyond_buffer", || launch_alone("beyond_buffer")),
    ("beyond_shared", || launch_alone("beyond_shared")),
];

/// Runs the case of this process, if it has one.
#[test]
fn inside() {
    let Ok(case) = std::env::var(CASE) else { return };
    let (_, run) = CASES.iter().find(|(name, _)| *name == case).expect("the case is in the list");
    run();
    eprintln!("the case came to its end");
}

fn run(case: &str, machine: &Machine) -> Output {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args(["emulated::inside", "--exact", "--nocapture"]).env(CASE, case).envs(machine.variables());
    command.output().expect("this program runs")
}

#[track_caller]
fn check_passes(case: &str, machine: &Machine) {
    let output = run(case, machine);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && error.contains("the case came to its end"), "{case}: {error}");
}

#[track_caller]
fn check_fails(case: &str, machine: &Machine, words: &[&str]) {
    let output = run(case, machine);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{case} came to its end");
    assert_contains(&error, words);
}

#[test]
fn the_emulator_refuses_what_a_driver_refuses() {
    let Some(machine) = Machine::complete() else { return };
    check_passes("refusals", &machine);
    check_passes("memory", &machine.clone().and("SPRAG_EMULATOR_MEMORY", "1048576"));
}

#[test]
fn the_emulator_lets_no_fault_pass() {
    let Some(machine) = Machine::complete() else { return };
    check_fails("torn_barrier", &machine, &["`torn_barrier`", "which only 5 threads of its block reach"]);
    let watched = machine.watched();
    check_fails("beyond_buffer", &watched, &["AddressSanitizer: heap-buffer-overflow", "in beyond_buffer"]);
    check_fails("beyond_shared", &watched, &["index 64 out of bounds"]);
}

type Module = std::sync::Arc<cudarc::driver::CudaModule>;
type Stream = std::sync::Arc<cudarc::driver::CudaStream>;

fn opened() -> (Module, Stream) {
    let context = CudaContext::new(0).expect("there is a device");
    let options = vec!["--gpu-architecture=sm_90".to_owned(), format!("-DBLOCK={BLOCK}")];
    let options = CompileOptions { options, ..CompileOptions::default() };
    let sample = compile_ptx_with_opts(include_str!("../cuda/sample.cu"), options).expect("the sample compiles");
    let module = context.load_module(sample).expect("it loads");
    (module, context.new_stream().expect("a stream"))
}

fn blocks(count: usize) -> LaunchConfig {
    LaunchConfig { grid_dim: (count as u32, 1, 1), block_dim: (BLOCK as u32, 1, 1), shared_mem_bytes: 4 * BLOCK as u32 }
}

#[expect(unsafe_code, reason = "mistakes are what the safe functions keep from happening")]
fn mistakes_are_refused() {
    let (module, stream) = opened();
    let refused =
        |answer: Result<(), DriverError>, code: sys::CUresult| assert_eq!(answer.map_err(|error| error.0), Err(code));
    let invalid = sys::CUresult::CUDA_ERROR_INVALID_VALUE;
    let (raw, context) = (stream.cu_stream(), stream.context());

    let untimed = || context.new_event(None).expect("an event");
    let (start, end) = (untimed(), untimed());
    start.record(&stream).expect("a record");
    end.record(&stream).expect("a record");
    refused(start.elapsed_ms(&end).map(drop), sys::CUresult::CUDA_ERROR_INVALID_HANDLE);
    refused(module.load_function("nothing").map(drop), sys::CUresult::CUDA_ERROR_NOT_FOUND);

    // SAFETY: the driver is to refuse each of these calls before it touches anything.
    unsafe {
        refused(result::malloc_sync(0).map(drop), invalid);
        let memory = result::malloc_sync(16).expect("memory");
        refused(result::memcpy_htod_sync(memory, &[0_u8; 17]), invalid);
        refused(result::memcpy_dtoh_sync(&mut [0_u8; 9], memory + 8), invalid);
        result::free_sync(memory).expect("it was not freed yet");
        refused(result::free_sync(memory), invalid);

        let function = module.load_function("beyond_buffer").expect("a kernel").cu_function();
        let mut arguments = [std::ptr::null_mut()];
        for (grid, block) in [((0, 1, 1), (1, 1, 1)), ((1, 65_536, 1), (1, 1, 1)), ((1, 1, 1), (1025, 1, 1))] {
            refused(result::launch_kernel(function, grid, block, 0, raw, &mut arguments), invalid);
        }
        refused(result::launch_kernel(function, (1, 1, 1), (1, 1, 1), 49_153, raw, &mut arguments), invalid);

        let thread_local = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        let unsupported = sys::CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        for spoil in [|_| result::malloc_sync(16).map(drop), |raw| result::stream::synchronize(raw)] {
            result::stream::begin_capture(raw, thread_local).expect("a capture");
            let spoil: fn(sys::CUstream) -> Result<(), DriverError> = spoil;
            refused(spoil(raw), unsupported);
            let ended = result::stream::end_capture(raw);
            refused(ended.map(drop), sys::CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        }
    }
}

fn memory_is_limited() {
    let (_module, stream) = opened();
    let half = stream.alloc_zeros::<u8>(1 << 19).expect("there is so much");
    let answer = stream.alloc_zeros::<u8>((1 << 19) + 1).map(drop).map_err(|error| error.0);
    assert_eq!(answer, Err(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY));
    assert_eq!(stream.context().mem_get_info().expect("an answer"), (1 << 19, 1 << 20));
    drop(half);
    assert!(stream.alloc_zeros::<u8>(1 << 20).is_ok(), "what was freed serves again");
}

#[expect(unsafe_code, reason = "a launch hands untyped arguments to a kernel")]
fn launch_alone(kernel: &str) {
    let (module, stream) = opened();
    let function = module.load_function(kernel).expect("a kernel");
    let mut values = stream.clone_htod(&[1_i32; BLOCK]).expect("a copy");
    let mut launch = stream.launch_builder(&function);
    launch.arg(&mut values);
    // SAFETY: what this kernel does wrong is what the emulator is to catch.
    unsafe { launch.launch(blocks(1)) }.expect("a launch");
    stream.synchronize().expect("it is done");
}
