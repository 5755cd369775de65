//! `sprag history` and `sprag baseline`.

use std::io::Write;
use std::path::Path;

use crate::cli::{BaselineCommand, HistoryCommand};
use sprag_history::SyncOptions;
use sprag_pipeline::baseline::{self, AcceptOptions, DiffOptions, EmitOptions};
use sprag_pipeline::error::Exit;
use sprag_pipeline::records::{self, Claim, LogOptions};
use sprag_pipeline::{Error, Result};

pub(super) fn history(folder: &Path, command: &HistoryCommand, out: &mut dyn Write) -> Result<Exit> {
    Ok(match command {
        HistoryCommand::Add { files, skip_bad } => {
            records::add(folder, files, *skip_bad, &mut std::io::stdin().lock(), out)?
        }
        &HistoryCommand::Sync { ref remote, after_rewrite, dry_run } => {
            records::sync(folder, &SyncOptions { remote: remote.clone(), after_rewrite, dry_run }, out)?
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
        HistoryCommand::Fsck { repair, against, json } => {
            records::fsck(folder, *repair, against.as_deref(), *json, out)?
        }
        HistoryCommand::Root { json } => records::root(folder, *json, out)?,
        HistoryCommand::Prove(args) => match (&args.check, &args.run, &args.since) {
            (Some(file), ..) => records::check_proof(&folder.join(file), args.root.as_deref(), out)?,
            (None, Some(run), _) => records::prove(folder, &Claim::Run(run), args.output.as_deref(), out)?,
            (None, None, Some(root)) => records::prove(folder, &Claim::Since(root), args.output.as_deref(), out)?,
            (None, None, None) => return Err(Error::message("name a run, or an earlier root by `--since`")),
        },
        HistoryCommand::Cache => records::cache(folder, out)?,
    })
}

pub(super) fn baseline(folder: &Path, command: &BaselineCommand, out: &mut dyn Write) -> Result<Exit> {
    Ok(match command {
        BaselineCommand::Emit(args) => {
            let options = EmitOptions {
                folder,
                suites: &args.suites,
                run: args.run.as_deref(),
                from: args.from.as_deref(),
                output: args.output.as_deref(),
                notes: args.notes.as_deref(),
            };
            baseline::emit(&options, out)?
        }
        BaselineCommand::Accept(args) => {
            let options = AcceptOptions {
                folder,
                file: args.file.as_deref(),
                why: &args.why,
                suites: &args.suites,
                metrics: &args.metrics,
                partial: args.partial,
                dirty: args.dirty,
            };
            baseline::accept(&options, out)?
        }
        BaselineCommand::List { archive, json } => baseline::list(folder, *archive, *json, out)?,
        BaselineCommand::Diff(args) => {
            let options = DiffOptions {
                folder,
                from: args.from.as_deref(),
                to: args.to.as_deref(),
                run: args.run,
                suites: &args.suites,
                json: args.json,
            };
            baseline::diff(&options, out)?
        }
    })
}
