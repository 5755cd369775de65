//! The options of commands about commits of the past: measuring them, and the cache of their builds.

use clap::{ArgGroup, Args, Subcommand};

#[derive(Args, Debug)]
#[command(group(ArgGroup::new("which").required(true).args(["range", "around"])))]
#[command(
    after_help = "Examples:\n  sprag backfill v1.0..HEAD --every 20 --budget 2h\n  sprag backfill v1.0..v2.0 --releases\n  \
    sprag backfill --around e-1f2e3d4c\n\nExit codes: 0 done, also if some commits failed or the budget ended later; \
    2 usage error; 5 no commit could be measured, or the budget ended before the first."
)]
pub struct BackfillArgs {
    /// The commits, such as `v1.0..HEAD`: the first-parent line with both ends.
    #[arg(value_name = "RANGE")]
    pub range: Option<String>,
    /// Measure the commits that may have caused this event; `worst` is the worst open regression.
    #[arg(long, value_name = "EVENT")]
    pub around: Option<String>,
    /// First measure each N-th commit, and others only between neighbours that differ. By default all are measured.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub every: Option<u32>,
    /// Only commits with a tag.
    #[arg(long)]
    pub releases: bool,
    /// Also skip commits that this machine measured in another environment or in a bisection.
    ///
    /// Commits that it measured in its present environment are always skipped.
    #[arg(long)]
    pub missing: bool,
    /// Only this suite; may be given several times.
    #[arg(long = "suite", value_name = "NAME")]
    pub suites: Vec<String>,
    /// Stop after this time, such as `2h`, even in the middle of a build or a measurement. A commit that would probably not end
    /// within it is not started.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub budget: Option<String>,
    /// Measure one of n parts of the commits, such as `2/4`; the hash of a commit decides which.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<String>,
    /// Try commits again that failed to build or to run.
    #[arg(long)]
    pub retry: bool,
    /// One process for each commit: faster and less precise.
    #[arg(long, conflicts_with = "rigorous")]
    pub quick: bool,
    /// At least fifteen processes for each commit.
    #[arg(long)]
    pub rigorous: bool,
    /// Print which commits would be measured, and measure nothing.
    #[arg(long)]
    pub dry_run: bool,
}

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
    /// Remove cached builds and recorded build failures of all projects, except those in use.
    Clear {
        /// Only builds that were not used for this time, such as `30d` or `12h`.
        #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
        older_than: Option<String>,
    },
}
