//! Run files as `run --output-run` writes them, made without measuring.

use sprag_model::commit::Commit;
use sprag_model::run::Run;

#[path = "../../src/history/sample_run.rs"]
mod sample_run;

pub(crate) use sample_run::{rounds, run};

/// As [`run`], of a commit that no repository holds.
pub(crate) fn run_of_an_absent_commit(number: i64) -> Run {
    let run = run(number);
    let commit = Commit {
        sha: "0123456789abcdef0123456789abcdef01234567".to_owned(),
        parents: Vec::new(),
        author_time: run.timestamp,
        commit_time: run.timestamp,
        subject: "Squashed since".to_owned(),
        branch: None,
        dirty: false,
    };
    Run { commit: Some(commit), ..run }
}

/// The text of the record of a run.
pub(crate) fn text(run: &Run) -> String {
    String::from_utf8(run.to_record().2).expect("a record is ASCII")
}

/// The name that a record bears in the history.
pub(crate) fn name(run: &Run) -> String {
    let (_, path, _) = run.to_record();
    path.rsplit('/').next().expect("a path has a last part").to_owned()
}
