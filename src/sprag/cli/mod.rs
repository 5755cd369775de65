//! The command line: what can be typed, and its help. No logic.

mod words;
mod command;
mod run;
mod report;
mod gate;
mod export;
mod kernels;
mod history;
mod replay;
mod release;
mod trend;
mod shells;

pub use command::{
    Cli, Command, CompletionsArgs, ConformanceArgs, DemoArgs, DoctorArgs, GuardArgs, InitArgs, ManArgs, SchemaArgs,
    SiteArgs, Task, WorkerArgs, parse,
};
pub use export::{ExportCommand, ExportCsvArgs, ExportParquetArgs, ExportTextArgs, SelectionArgs};
pub use gate::{BaselineCommand, CheckArgs, CompareArgs};
pub use history::{HistoryCommand, ImportArgs};
pub use kernels::{KernelsCheckArgs, KernelsCommand, KernelsCompileArgs};
pub use release::{AttestArgs, AttestFormat, ChecklistArgs, ReleaseArgs, ReleaseCommand, VerifyReleaseArgs, WaiveArgs};
pub use replay::{RecordArgs, ReplayCommand, VerifyArgs};
pub use report::{ReportArgs, TrtArgs};
pub use run::{EffortArgs, RunArgs, SingleCallArgs, WeeklyArgs};
pub use shells::{completions, man_pages};
pub use trend::{DetectArgs, TrendArgs, TrendFormat};
