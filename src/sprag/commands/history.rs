//! `sprag history`: records finished runs; lists, shares, checks and proves what is recorded.

use std::io::Write;
use std::path::Path;

use super::Exit;
use crate::cli::HistoryCommand;
use sprag_history::SyncOptions;
use sprag_pipeline::records::{self, Claim, LogOptions};

pub(super) fn run(folder: &Path, command: &HistoryCommand, out: &mut dyn Write) -> anyhow::Result<Exit> {
    Ok(match command {
        HistoryCommand::Add(args) => {
            records::add(folder, &args.files, args.skip_bad, &mut std::io::stdin().lock(), out)?
        }
        HistoryCommand::Sync(args) => {
            let options =
                SyncOptions { remote: args.remote.clone(), after_rewrite: args.after_rewrite, dry_run: args.dry_run };
            records::sync(folder, &options, out)?
        }
        HistoryCommand::Log(args) => {
            let options = LogOptions {
                suites: args.suites.clone(),
                machines: args.machines.clone(),
                commit: args.commit.clone(),
                statuses: args.statuses.clone(),
                since: args.since.clone(),
                until: args.until.clone(),
                branch: args.branch.clone(),
                limit: args.limit,
                json: args.json,
            };
            records::log(folder, &options, out)?
        }
        HistoryCommand::Fsck(args) => records::fsck(folder, args.repair, args.against.as_deref(), args.json, out)?,
        HistoryCommand::Root(args) => records::root(folder, args.json, out)?,
        HistoryCommand::Prove(args) => match (&args.check, &args.run, &args.since) {
            (Some(file), ..) => records::check_proof(&folder.join(file), args.root.as_deref(), out)?,
            (None, Some(run), _) => records::prove(folder, &Claim::Run(run), args.output.as_deref(), out)?,
            (None, None, Some(root)) => records::prove(folder, &Claim::Since(root), args.output.as_deref(), out)?,
            (None, None, None) => anyhow::bail!("name a run, or an earlier root by `--since`"),
        },
        HistoryCommand::Cache => records::cache(folder, out)?,
    })
}
