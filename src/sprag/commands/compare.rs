//! `sprag compare A B`: two commits, tags or files, by what was recorded of them or measured in turn now.

use std::io::Write;
use std::path::Path;

use super::progress::Progress;
use super::{BUILT_FROM, effort};
use crate::cli::CompareArgs;
use sprag_pipeline::compare::{measured, stored};
use sprag_pipeline::exit::Exit;
use sprag_pipeline::gate::{self, CompareRequest, GateRequest, PrintFormat};
use sprag_pipeline::measuring::MeasureHost;
use sprag_pipeline::project::Project;
use sprag_pipeline::{Advice, Error};

pub(super) fn run(folder: &Path, args: &CompareArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    Ok(gate::stop_bisection(args.bisect, compared(folder, args, out))?)
}

fn compared(folder: &Path, args: &CompareArgs, out: &mut dyn Write) -> Result<Exit, Error> {
    if args.bisect && [&args.base, &args.other].iter().any(|side| side.starts_with("HEAD")) {
        gate::refuse_aside(&Project::open(folder)?)?;
    }
    let request = CompareRequest {
        gate: GateRequest {
            folder: folder.to_owned(),
            suites: args.suites.clone(),
            policy: args.policy.clone(),
            reports: args.reports.clone(),
            print: match (args.json, args.markdown) {
                (true, _) => PrintFormat::Json,
                (false, true) => PrintFormat::Markdown,
                (false, false) => PrintFormat::Table,
            },
            only_changed: args.only_changed,
            bisect: args.bisect,
            inconclusive: args.inconclusive,
        },
        base: args.base.clone(),
        other: args.other.clone(),
        filters: args.filters.clone(),
    };
    if args.measure {
        let (effort, progress) = (effort::from_args(&args.effort.plain())?, Progress::new());
        let host = MeasureHost { observer: &progress, built_from: BUILT_FROM };
        return measured::compare(&request, effort, host, out);
    }
    if args.effort.is_given() || !args.filters.is_empty() {
        let message = "`--filter`, `--quick`, `--rigorous`, `--budget` and `--pin` say what to measure, and nothing is \
                       measured";
        let hint = "add `--measure`, or leave them out".to_owned();
        return Err(Advice { message: message.to_owned(), hint }.into());
    }
    stored::compare(&request, out)
}
