//! What was measured of a release and no item of its checklist asks about.

use std::collections::BTreeSet;

use anyhow::Context as _;

use super::identity::Identity;
use crate::commands::{text, warn};
use sprag_evidence::checklist::CHECKLIST_PATH;
use sprag_history::{self as history, Entry, Store, Target};
use sprag_model::checklist::{Checklist, Rule, RuntimeTarget};

/// Warns of suites with a run at the commit of a release for whose verdict no item asks: a checklist does not grow by itself.
///
/// # Errors
/// When the history cannot be read.
pub(super) fn tell(
    store: &Store,
    source: &Target,
    identity: &Identity,
    checklist: &Checklist,
    targets: &BTreeSet<RuntimeTarget>,
) -> anyhow::Result<()> {
    let listing = history::list(store, source).context("cannot read the history")?;
    let short = identity.measured.get(..12).unwrap_or(&identity.measured);
    let measured = listing.entries.iter().filter(|one| one.commit() == short).map(Entry::suite);
    let unasked: BTreeSet<&str> = measured.filter(|suite| !asks(checklist, targets, suite)).collect();
    if unasked.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = unasked.into_iter().map(|suite| format!("`{suite}`")).collect();
    let has = if names.len() == 1 { "was" } else { "were" };
    let names = names.join(", ");
    warn(&text::printable(&format!(
        "{names} {has} measured at {short}, and no item of `{CHECKLIST_PATH}` for {} has the rule `suite_verdict` for it",
        RuntimeTarget::list(targets)
    )));
    Ok(())
}

fn asks(checklist: &Checklist, targets: &BTreeSet<RuntimeTarget>, suite: &str) -> bool {
    let asks = |rule: &Rule| matches!(rule, Rule::SuiteVerdict { suite: asked, .. } if asked == suite);
    checklist.items.iter().any(|item| item.is_needed(targets) && asks(&item.rule))
}
