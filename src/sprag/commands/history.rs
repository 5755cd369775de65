//! `sprag history` and `sprag baseline`.

use std::io::Write;
use std::path::Path;

use crate::cli::{BaselineCommand, HistoryCommand};
use sprag_history::SyncOptions;
use sprag_pipeline::baseline::{self, AcceptOptions, DiffOptions, EmitOptions};
use sprag_pipeline::error::Exit;
use sprag_pipeline::records::{self, Claim, ExpectedRecords, LogOptions};
use sprag_pipeline::{Error, Result};

pub(super) fn history(folder: &Path, command: HistoryCommand, out: &mut dyn Write) -> Result<Exit> {
    match command {
        HistoryCommand::Add { files, skip_bad, expect_suites, expect_commit, max_age, allow_future } => {
            let (suites, commit, max_age_days) = (expect_suites, expect_commit, max_age);
            let expected = ExpectedRecords { suites, commit, max_age_days, allow_future };
            records::add(folder, &files, skip_bad, &expected, &mut std::io::stdin().lock(), out)
        }
        HistoryCommand::Retract { run, reason, undo } => {
            records::retract(folder, &run, &reason, undo, out)?;
            Ok(Exit::Done)
        }
        HistoryCommand::Sync { remote, after_rewrite, dry_run } => {
            records::sync(folder, &SyncOptions { remote, after_rewrite, dry_run }, out)
        }
        HistoryCommand::Archive { before: Some(before), out: place, .. } => {
            records::archive(folder, &before, place.as_deref(), out)
        }
        HistoryCommand::Archive { restore, .. } => records::restore(folder, &restore, out),
        HistoryCommand::Log { suites, machines, commit, statuses, since, until, branch, limit, json } => {
            let options = LogOptions { suites, machines, commit, statuses, since, until, branch, limit, json };
            records::log(folder, &options, out)
        }
        HistoryCommand::Fsck { repair, against, json } => records::fsck(folder, repair, against.as_deref(), json, out),
        HistoryCommand::Root { json } => records::root(folder, json, out),
        HistoryCommand::Prove { run, since, check, root, output } => match (&check, &run, &since) {
            (Some(file), ..) => records::check_proof(&folder.join(file), root.as_deref(), out),
            (None, Some(run), _) => records::prove(folder, &Claim::Run(run), output.as_deref(), out),
            (None, None, Some(root)) => records::prove(folder, &Claim::Since(root), output.as_deref(), out),
            (None, None, None) => Err(Error::message("name a run, or an earlier root by `--since`")),
        },
        HistoryCommand::Cache => records::cache(folder, out),
    }
}

pub(super) fn baseline(folder: &Path, command: &BaselineCommand, out: &mut dyn Write) -> Result<Exit> {
    match command {
        BaselineCommand::Emit { suites, run, from, output, notes } => {
            let (run, from) = (run.as_deref(), from.as_deref());
            let (output, notes) = (output.as_deref(), notes.as_deref());
            baseline::emit(&EmitOptions { folder, suites, run, from, output, notes }, out)
        }
        &BaselineCommand::Accept { ref file, ref why, ref suites, ref metrics, partial, dirty } => {
            let file = file.as_deref();
            baseline::accept(&AcceptOptions { folder, file, why, suites, metrics, partial, dirty }, out)
        }
        BaselineCommand::List { archive, json } => baseline::list(folder, *archive, *json, out),
        &BaselineCommand::Diff { ref from, ref to, run, ref suites, json } => {
            let (from, to) = (from.as_deref(), to.as_deref());
            baseline::diff(&DiffOptions { folder, from, to, run, suites, json }, out)
        }
    }
}
