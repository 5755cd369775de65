//! The emulator itself: it computes as a device does, refuses what a driver refuses, and reports faults that a device would
//! not notice.
//!
//! The binding loads its libraries once a process, so each case runs in a process of its own: this test program, started
//! again.

use std::process::{Command, Output};

use cudarc::driver::{CudaContext, DriverError, LaunchConfig, PushKernelArg, result, sys};
use cudarc::nvrtc::{CompileError, CompileOptions, compile_ptx_with_opts};

use crate::emulator::Machine;
use crate::sandbox::assert_contains;

/// The variable that names the case of a process.
const CASE: &str = "SPRAG_TEST_CASE";

/// Threads of a block of the sample kernels.
const BLOCK: usize = 64;

const CASES: [(&str, fn()); 12] = [
    ("kernels", kernels_compute),
    ("chain", || assert_eq!(forty_blocks("chain"), (0..40).map(|block| (0..=block).sum()).collect::<Vec<u32>>())),
    ("last_block", || assert_eq!(forty_blocks("last_block")[0], 40)),
    ("unwritten_shared", || assert_eq!(launch_alone("unwritten_shared"), [0xCDCD_CDCD_u32.cast_signed(); BLOCK])),
    ("flag", a_flag_is_awaited),
    ("graphs", graphs_replay),
    ("compiler", the_compiler_explains),
    ("refusals", mistakes_are_refused),
    ("memory", memory_is_limited),
    ("torn_barrier", || drop(launch_alone("torn_barrier"))),
    ("beyond_buffer", || drop(launch_alone("beyond_buffer"))),
    ("beyond_shared", || drop(launch_alone("beyond_shared"))),
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
fn the_emulator_computes_and_refuses_as_a_device() {
    let Some(machine) = Machine::complete() else { return };
    for case in ["kernels", "chain", "last_block", "unwritten_shared", "flag", "graphs", "refusals", "compiler"] {
        check_passes(case, &machine);
    }
    for order in ["random:1", "random:2", "interleave:1", "interleave:2"] {
        for machine in [&machine, &machine.clone().and("SPRAG_EMULATOR_SANITIZE", "races")] {
            let ordered = machine.clone().and("SPRAG_EMULATOR_BLOCKS", order);
            ["kernels", "chain", "last_block"].iter().for_each(|case| check_passes(case, &ordered));
        }
    }
    check_passes("memory", &machine.clone().and("SPRAG_EMULATOR_MEMORY", "1048576"));
}

#[test]
fn the_emulator_lets_no_fault_pass() {
    let Some(machine) = Machine::complete() else { return };
    check_fails("torn_barrier", &machine, &["`torn_barrier`", "which only 5 threads of its block reach"]);
    let races = machine.clone().and("SPRAG_EMULATOR_SANITIZE", "races").and("SPRAG_EMULATOR_BLOCKS", "interleave:1");
    check_fails("unwritten_shared", &races, &["that no thread of its block wrote", "at default_program:"]);
    let without = |function: &str| races.clone().and("SPRAG_EMULATOR_EDIT", &format!("s/{function}.*;//"));
    check_fails("chain", &without("__threadfence"), &["assertion `left == right` failed"]);
    check_fails("last_block", &without("__threadfence"), &["race: reads what thread 0 of block", "writes"]);
    check_fails("last_block", &without("__syncwarp"), &["kernel `last_block`", "reads "]);
    check_fails("kernels", &without("__syncthreads"), &["kernel `row_sums`", "reads "]);
    let watched = machine.watched();
    check_passes("kernels", &watched);
    check_fails("beyond_buffer", &watched, &["AddressSanitizer: heap-buffer-overflow", "in beyond_buffer"]);
    check_fails("beyond_shared", &watched, &["index 64 out of bounds"]);
}

type Module = std::sync::Arc<cudarc::driver::CudaModule>;
type Stream = std::sync::Arc<cudarc::driver::CudaStream>;

fn compiled(source: &str) -> Result<cudarc::nvrtc::Ptx, CompileError> {
    let options = vec!["--gpu-architecture=sm_90".to_owned(), format!("-DBLOCK={BLOCK}")];
    compile_ptx_with_opts(source, CompileOptions { options, ..CompileOptions::default() })
}

fn opened() -> (Module, Stream) {
    let context = CudaContext::new(0).expect("there is a device");
    let module = context
        .load_module(compiled(include_str!("../cuda/sample.cu")).expect("the sample compiles"))
        .expect("it loads");
    (module, context.new_stream().expect("a stream"))
}

fn blocks(count: usize) -> LaunchConfig {
    LaunchConfig { grid_dim: (count as u32, 1, 1), block_dim: (BLOCK as u32, 1, 1), shared_mem_bytes: 4 * BLOCK as u32 }
}

#[expect(unsafe_code, reason = "a launch hands untyped arguments to a kernel")]
fn kernels_compute() {
    let (module, stream) = opened();
    let values: Vec<f32> = (0..1000).map(|i| (i % 7) as f32).collect();
    let grid = values.len().div_ceil(BLOCK);
    let on_device = stream.clone_htod(&values).expect("a copy");
    let mut sums = stream.alloc_zeros::<f32>(grid).expect("memory");
    let mut count = stream.alloc_zeros::<i32>(1).expect("memory");
    let (row_sums, n) = (module.load_function("row_sums").expect("a kernel"), values.len() as i32);
    let mut launch = stream.launch_builder(&row_sums);
    launch.arg(&on_device).arg(&mut sums).arg(&mut count).arg(&n);
    // SAFETY: the arguments are those of the kernel, which stays inside their sizes.
    unsafe { launch.launch(blocks(grid)) }.expect("a launch");
    let expected: Vec<f32> = values.chunks(BLOCK).map(|row| row.iter().sum()).collect();
    assert_eq!(stream.clone_dtoh(&sums).expect("a copy"), expected);
    assert_eq!(stream.clone_dtoh(&count).expect("a copy"), [grid as i32]);
}

/// What forty blocks leave in the last of three buffers of forty words.
#[expect(unsafe_code, reason = "a launch hands untyped arguments to a kernel")]
fn forty_blocks(kernel: &str) -> Vec<u32> {
    let (module, stream) = opened();
    let function = module.load_function(kernel).expect("a kernel");
    let mut words = [(); 3].map(|()| stream.alloc_zeros::<u32>(40).expect("memory"));
    let mut launch = stream.launch_builder(&function);
    for one in &mut words {
        launch.arg(one);
    }
    // SAFETY: the arguments are those of the kernel, which stays inside their sizes.
    unsafe { launch.launch(blocks(40)) }.expect("a launch");
    stream.clone_dtoh(&words[2]).expect("a copy")
}

#[expect(unsafe_code, reason = "a word of memory is shared with a kernel")]
fn a_flag_is_awaited() {
    let (module, stream) = opened();
    let kernel = module.load_function("await_flag").expect("a kernel");
    let mut seen = stream.alloc_zeros::<u32>(1).expect("memory");
    // SAFETY: the word is mapped host memory that lives until the kernel has ended.
    let flag = unsafe { result::malloc_host(4, sys::CU_MEMHOSTALLOC_DEVICEMAP) }.expect("memory").cast::<u32>();
    let address = flag as u64;
    // SAFETY: nobody reads the word yet.
    unsafe { flag.write_volatile(0) };
    let mut launch = stream.launch_builder(&kernel);
    launch.arg(&address).arg(&mut seen);
    let one = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: both arguments are addresses of a word.
    unsafe { launch.launch(one) }.expect("a launch");
    // SAFETY: the kernel only reads the word, and a volatile write of a word is not torn.
    unsafe { flag.write_volatile(7) };
    assert_eq!(stream.clone_dtoh(&seen).expect("a copy"), [7]);
}

#[expect(unsafe_code, reason = "a launch hands untyped arguments to a kernel")]
fn graphs_replay() {
    let (module, stream) = opened();
    // SAFETY: one stream alone is used.
    unsafe { stream.context().disable_event_tracking() };
    let row_sums = module.load_function("row_sums").expect("a kernel");
    let values = stream.clone_htod(&[1.0_f32; BLOCK]).expect("a copy");
    let (mut sums, mut count) =
        (stream.alloc_zeros::<f32>(1).expect("memory"), stream.alloc_zeros::<i32>(1).expect("memory"));
    stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).expect("a capture");
    for _ in 0..3 {
        let n = BLOCK as i32;
        let mut launch = stream.launch_builder(&row_sums);
        launch.arg(&values).arg(&mut sums).arg(&mut count).arg(&n);
        // SAFETY: the arguments are those of the kernel, which stays inside their sizes.
        unsafe { launch.launch(blocks(1)) }.expect("a launch");
    }
    let graph = stream.end_capture(sys::CUgraphInstantiate_flags(0)).expect("a graph").expect("it holds launches");
    assert_eq!(stream.clone_dtoh(&count).expect("a copy"), [0], "what is captured does not run");
    let event = || stream.context().new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT)).expect("an event");
    let (start, end) = (event(), event());
    start.record(&stream).expect("a record");
    graph.launch().expect("a launch");
    graph.launch().expect("a launch");
    end.record(&stream).expect("a record");
    assert!(start.elapsed_ms(&end).expect("both were reached") >= 0.0);
    assert_eq!(stream.clone_dtoh(&count).expect("a copy"), [6]);
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

fn the_compiler_explains() {
    match compiled("extern \"C\" __global__ void broken(int* a) { a[0] = nothing; }") {
        Err(CompileError::CompileError { log, .. }) => {
            let log = log.to_string_lossy();
            assert!(log.contains("nothing"), "{log}");
        }
        other => panic!("{other:?}"),
    }
    assert!(compiled("#include <cuda_fp16.h>\n").is_err(), "a machine with the driver alone has no headers");
    let options = vec!["--gpu-architecture=sm_12".to_owned()];
    assert!(compile_ptx_with_opts("", CompileOptions { options, ..CompileOptions::default() }).is_err());
}

#[expect(unsafe_code, reason = "a launch hands untyped arguments to a kernel")]
fn launch_alone(kernel: &str) -> Vec<i32> {
    let (module, stream) = opened();
    let function = module.load_function(kernel).expect("a kernel");
    let mut values = stream.clone_htod(&[1_i32; BLOCK]).expect("a copy");
    let mut launch = stream.launch_builder(&function);
    launch.arg(&mut values);
    // SAFETY: what this kernel does wrong is what the emulator is to catch.
    unsafe { launch.launch(blocks(1)) }.expect("a launch");
    stream.clone_dtoh(&values).expect("it is done")
}
