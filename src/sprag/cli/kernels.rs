//! The options of `kernels`.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

/// What to do with the CUDA kernels.
#[derive(Debug, Subcommand)]
pub enum KernelsCommand {
    /// Compile every kernel variant with NVRTC, without a device, and print registers and spills.
    Compile(KernelsCompileArgs),
    /// Run every kernel variant on the device, at odd shapes, and compare it with the CPU reference.
    Check(KernelsCheckArgs),
}

#[derive(Args, Debug)]
pub struct KernelsCompileArgs {
    /// Compile for these architectures, such as 90 for compute capability 9.0.
    #[arg(long = "arch", value_name = "N", value_delimiter = ',', default_values_t = [80, 90, 100])]
    #[arg(value_parser = architecture)]
    pub architectures: Vec<u32>,
    /// Also fail if registers spill.
    #[arg(long)]
    pub no_spills: bool,
    /// List every kernel, not only those whose registers spill.
    #[arg(long)]
    pub all: bool,
    /// Print JSON instead of the table.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct KernelsCheckArgs {
    /// Only checks whose name contains this text; may be given several times.
    #[arg(long = "filter", value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub filters: Vec<String>,
    /// Random seed.
    #[arg(long, default_value_t = 123, value_name = "N")]
    pub seed: u64,
    /// Print JSON instead of the list.
    #[arg(long)]
    pub json: bool,
}

/// Reads `90`, `sm_90` or `9.0`.
fn architecture(text: &str) -> Result<u32, String> {
    let digits: String = text.strip_prefix("sm_").unwrap_or(text).chars().filter(|c| *c != '.').collect();
    digits.parse().map_err(|_| "give a compute capability, such as 90, sm_90 or 9.0".to_owned())
}
