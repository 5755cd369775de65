//! Counting instructions: one call of a benchmark under Valgrind's tool Callgrind, a number without noise.
//!
//! Each benchmark gets a process of its own, so that what was counted before cannot move its memory. The worker makes
//! it ready and calls it once uncounted; then it switches counting on, calls it, switches counting off and asks for a
//! dump, twice. A count says how much work the code is, not how fast it runs: Valgrind knows no AVX-512, so kernels
//! that choose their instructions at run time take their AVX2 form here, and one instruction may cost as much as many.

mod request;
mod totals;
pub mod valgrind;
pub mod worker;
