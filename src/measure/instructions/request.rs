//! Requests of a program to the Valgrind that runs it: a sequence of instructions that does nothing on a processor and
//! that Valgrind knows (Valgrind Core manual, "The Client Request mechanism"; Callgrind manual, "Client request
//! reference").

use std::ffi::CStr;

/// Tells 1 or more where Valgrind runs the program.
const RUNNING_ON_VALGRIND: usize = 0x1001;

/// The first request of the tool whose letters are `C` and `T`.
const CALLGRIND: usize = ((b'C' as usize) << 24) | ((b'T' as usize) << 16);

const TOGGLE_COLLECT: usize = CALLGRIND + 2;
const DUMP_STATS_AT: usize = CALLGRIND + 3;
const START_INSTRUMENTATION: usize = CALLGRIND + 4;
const STOP_INSTRUMENTATION: usize = CALLGRIND + 5;

/// Whether Valgrind runs this program, and it can be told so on this architecture.
pub(super) fn can_count() -> bool {
    send(RUNNING_ON_VALGRIND, 0) > 0
}

/// Counts the instructions of `work` and dumps their number under `name`. Nothing may have been counted before, other
/// than by this function. Without Valgrind it does `work` and no more.
pub(super) fn count(name: &CStr, work: impl FnOnce()) {
    send(START_INSTRUMENTATION, 0);
    send(TOGGLE_COLLECT, 0);
    work();
    send(TOGGLE_COLLECT, 0);
    send(STOP_INSTRUMENTATION, 0);
    send(DUMP_STATS_AT, name.as_ptr() as usize);
}

/// One request with its argument; 0 where nobody listens.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "the instructions that Valgrind knows as a request exist in assembly only")]
fn send(request: usize, argument: usize) -> usize {
    let message = [request, argument, 0, 0, 0, 0];
    let mut answer = 0_usize;
    // SAFETY: on a processor the rotations, by 128 bits in all, leave `rdi` as it was, and so does the exchange of `rbx`
    // with itself; only flags change, which `asm!` takes as changed. Valgrind reads the six words behind `rax`, which
    // outlive the block, and writes `rdx`. An argument that is an address points to text of the caller that ends in NUL.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            in("rax") message.as_ptr(),
            inout("rdx") answer,
            options(nostack),
        );
    }
    answer
}

/// One request with its argument; 0 where nobody listens.
#[cfg(target_arch = "aarch64")]
#[expect(unsafe_code, reason = "the instructions that Valgrind knows as a request exist in assembly only")]
fn send(request: usize, argument: usize) -> usize {
    let message = [request, argument, 0, 0, 0, 0];
    let mut answer = 0_usize;
    // SAFETY: on a processor the rotations, by 128 bits in all, leave `x12` as it was, and so does the disjunction of
    // `x10` with itself. Valgrind reads the six words behind `x4`, which outlive the block, and writes `x3`. An
    // argument that is an address points to text of the caller that ends in NUL.
    unsafe {
        std::arch::asm!(
            "ror x12, x12, #3", "ror x12, x12, #13", "ror x12, x12, #51", "ror x12, x12, #61", "orr x10, x10, x10",
            in("x4") message.as_ptr(),
            inout("x3") answer,
            options(nostack),
        );
    }
    answer
}

/// There is no request on other architectures, so nobody answers.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn send(_request: usize, _argument: usize) -> usize {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_valgrind_the_work_is_done_and_nobody_answers() {
        let mut done = 0;
        count(c"name", || done += 1);
        assert_eq!(done, 1);
        // Under Valgrind the tests may well be run too; the answer is then the depth of Valgrinds.
        assert!(send(RUNNING_ON_VALGRIND, 0) <= 1);
    }
}
