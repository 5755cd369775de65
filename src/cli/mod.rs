//! The command line: what can be typed, and its help. No logic.

mod command;
mod run;
mod report;
mod gpu;
mod gate;
mod kernels;

pub use command::{Cli, Command, ConformanceArgs, DemoArgs, DoctorArgs, SiteArgs, Task, WorkerArgs, parse};
pub use gate::{BaselineCommand, BaselineEmitArgs, CheckArgs, CompareArgs, Inconclusive};
pub use gpu::{Dtype, GpuBenchArgs};
pub use kernels::{KernelsCheckArgs, KernelsCommand, KernelsCompileArgs};
pub use report::{ReportArgs, TrtArgs};
pub use run::{EffortArgs, RunArgs, SingleCallArgs, WeeklyArgs};
