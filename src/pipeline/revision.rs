//! Commits that are to be measured, whatever is checked out: which one a revision means, and which suites can be.

use crate::Advice;
use crate::config::{Suite, SuiteKind};
use crate::notices::note;
use crate::project::Project;
use sprag_history::{self as history, HistoryError};
use sprag_model::commit::Commit;

/// The commit that a revision means: of a commit that only adds records, the one that they are of.
pub fn commit(project: &Project, named: &str) -> crate::Result<Commit> {
    let store = project.store()?;
    let found = match history::commit_at(store, named) {
        Ok(found) => found,
        Err(error @ HistoryError::Revision { .. }) if history::facts(store)?.shallow => {
            let hint =
                "this clone is shallow: run `git fetch --unshallow`, in a workflow set `fetch-depth: 0`".to_owned();
            return Err(Advice { message: error.to_string(), hint }.into());
        }
        Err(error) => return Err(error.into()),
    };
    let Some(commit) = found else {
        return Err(Advice {
            message: format!("`{}` holds records alone, so there is nothing to measure", named.escape_debug()),
            hint: "name a commit that holds code".to_owned(),
        }
        .into());
    };
    // A working tree that cannot be looked at is none that could be confused with the commit.
    let here = history::measured_commit(store).ok().flatten();
    if here.is_some_and(|here| here.dirty && here.sha == commit.sha) {
        note(&format!("tracked files differ from {0}; {0} is measured, without them", commit.short()));
    }
    Ok(commit)
}

/// Whether a commit is built for suites of that kind.
pub fn can_be_built(kind: SuiteKind) -> bool {
    matches!(kind, SuiteKind::Cpu | SuiteKind::Command)
}

/// Of the suites that were asked for, those that can be measured at a commit; the others are told of.
pub fn measurable<'a>(asked: &[(&'a str, &'a Suite)], are_named: bool) -> crate::Result<Vec<(&'a str, &'a Suite)>> {
    let (able, others): (Vec<_>, Vec<_>) = asked.iter().partition(|(_, suite)| can_be_built(suite.kind));
    if let Some((name, suite)) = others.first().filter(|_| are_named || able.is_empty()) {
        return Err(Advice {
            message: format!("the suite `{name}` is of the kind `{}`, which no commit is built for", suite.kind.word()),
            hint: "name a suite of the kind `cpu` or `command` with `--suite`".to_owned(),
        }
        .into());
    }
    for (name, suite) in &others {
        note(&format!("the suite `{name}` is left out: no commit is built for the kind `{}`", suite.kind.word()));
    }
    Ok(able)
}
