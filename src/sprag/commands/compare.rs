//! `sprag compare A B`: two commits, tags or files, by what was recorded of them or measured in turn now.

use std::io::Write;
use std::path::Path;

use crate::cli::CompareArgs;
use crate::commands::effort;
use crate::commands::progress::{BUILT_FROM, Progress};
use sprag_pipeline::compare::{compare_interleaved, stored};
use sprag_pipeline::error::Exit;
use sprag_pipeline::gate::{self, CompareRequest, GateRequest, PrintFormat};
use sprag_pipeline::measuring::MeasureHost;
use sprag_pipeline::project::Project;
use sprag_pipeline::{Error, Result, refuse};

pub(super) fn run(folder: &Path, args: &CompareArgs, out: &mut dyn Write) -> Result<Exit> {
    gate::stop_bisection(args.bisect, compared(folder, args, out))
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
        return compare_interleaved(&request, effort, host, out);
    }
    if args.effort.is_given() || !args.filters.is_empty() {
        let message = "`--filter`, `--quick`, `--rigorous`, `--budget` and `--pin` say what to measure, and nothing is \
                       measured";
        let hint = "add `--measure`, or leave them out";
        return refuse(message.to_owned(), hint);
    }
    stored::compare(&request, out)
}
