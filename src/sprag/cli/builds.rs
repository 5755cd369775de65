//! The options of commands about commits of the past: the cache of their builds.

use clap::{Args, Subcommand};

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct CacheArgs {
    /// Print JSON instead of the table.
    #[arg(long)]
    pub json: bool,
    /// What to do instead of listing.
    #[command(subcommand)]
    pub command: Option<CacheCommand>,
}

#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// Remove built commits, and what failed to build, of all projects; those in use stay.
    Clear {
        /// Only those that were not used for so long, such as `30d` or `12h`.
        #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
        older_than: Option<String>,
    },
}
