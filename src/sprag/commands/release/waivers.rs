//! Waivers of what there is not: of another release, item or target than the files of the project state.

use super::stated::{self, Stated};
use crate::commands::{Advice, text, warn};
use crate::config::nearest;
use sprag_evidence::checklist::CHECKLIST_PATH;
use sprag_model::ledger::Waiver;
use sprag_model::release::Release;

/// Checks that there is what an entry waives: the release, the item, and that for its target, where it names one.
///
/// # Errors
/// What there is not, with what was likely meant.
pub(super) fn check_known(stated: &Stated, of: &Waiver) -> Result<(), Advice> {
    let release = stated::find(&stated.releases, &of.release)?;
    let unknown = |what: String, word: &str, known: &[&str]| {
        let near = nearest(word, known).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        let list = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Err(Advice { message: text::printable(&what), hint: format!("{near}there are: {list}") })
    };
    let items = &stated.checklist.items;
    let Some(item) = items.iter().find(|item| item.id == of.item) else {
        let ids: Vec<&str> = items.iter().map(|item| item.id.as_str()).collect();
        return unknown(format!("`{CHECKLIST_PATH}` has no item `{}`", of.item), &of.item, &ids);
    };
    let Some(target) = of.target.as_deref() else { return Ok(()) };
    let needing = release.targets.iter().filter(|one| item.is_needed(&[**one].into()));
    let targets: Vec<&str> = needing.map(|one| one.word()).collect();
    if targets.contains(&target) {
        return Ok(());
    }
    unknown(format!("`{}` does not need `{}` for `{target}`", release.name, item.id), target, &targets)
}

/// The waivers that answer for nothing, each with what there is not.
pub(super) fn astray(stated: &Stated) -> impl Iterator<Item = (&Waiver, String)> {
    stated.ledger.waivers.iter().filter_map(|one| Some((one, check_known(stated, one).err()?.message)))
}

/// Warns of them where they are of this release, or of none that is listed.
pub(super) fn tell_astray(stated: &Stated, release: &Release) {
    for (one, what) in astray(stated) {
        if one.release == release.name || stated.releases.find(&one.release).is_none() {
            warn(&format!("{} answers for nothing: {what}", one.terms.entry));
        }
    }
}
