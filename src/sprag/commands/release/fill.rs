//! A checklist filled from what was gathered.

use std::collections::{BTreeMap, BTreeSet};

use super::found::Look;
use super::gather::Gathered;
use sprag_evidence::{derive, figures};
use sprag_model::checklist::{Filled, FilledChecklist, Item, RuntimeTarget, SCHEMA_VERSION, Signed, Waiving};
use sprag_model::ledger::{State, Terms, Waiver, day};
use sprag_model::release::Figures;

/// Fills the checklist of a release: every status from the records.
///
/// # Errors
/// When something cannot be read.
pub(super) fn fill(of: &Gathered) -> anyhow::Result<FilledChecklist> {
    Ok(fill_by(of, &Look::of(of, None)?)?.0)
}

/// Likewise, by what there is to look at, with the figures of the items by their names.
///
/// # Errors
/// As [`fill`].
pub(super) fn fill_by(of: &Gathered, look: &Look<'_>) -> anyhow::Result<(FilledChecklist, BTreeMap<String, Figures>)> {
    let mut figures = BTreeMap::new();
    let mut items = Vec::new();
    for item in &of.checklist.items {
        let (filled, told) = filled(of, look, item)?;
        figures.extend(told.map(|told| (item.id.clone(), told)));
        items.push(filled);
    }
    let signed = |role: &String| {
        let found = of.release.signed.iter().find(|(of, ..)| of == role);
        Signed {
            role: role.clone(),
            owner: found.map(|(_, owner, _)| owner.clone()),
            date: found.map(|(_, _, date)| date.clone()),
        }
    };
    let filled = FilledChecklist {
        schema_version: SCHEMA_VERSION,
        release: of.release.name.clone(),
        commit: of.identity.commit.clone(),
        tagged: of.identity.tagged,
        measured: of.identity.measured.clone(),
        previous: of.release.previous.clone(),
        targets: of.release.targets.clone(),
        as_of: of.as_of,
        history: of.history.clone(),
        branch: of.branch.clone(),
        reviewed: of.reviewed.clone(),
        go: items.iter().all(|item| !item.status.blocks()),
        items,
        rollback: of.checklist.rollback.clone(),
        sign_off: of.checklist.sign_off.iter().map(signed).collect(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    Ok((filled, figures))
}

fn filled(of: &Gathered, look: &Look<'_>, item: &Item) -> anyhow::Result<(Filled, Option<Figures>)> {
    if !item.is_needed(&of.release.targets) {
        return Ok((derive::filled(item, None, Vec::new(), None), None));
    }
    let (found, mut rests) = look.found(item)?;
    let waiver = waiver(of, item);
    if let Some((one, _)) = waiver {
        rests.push(of.rests(&one.terms.entry.path)?);
        rests.sort();
        rests.dedup();
    }
    let waiving = waiver.map(|(one, in_force)| waiving(&one.terms, in_force));
    Ok((derive::filled(item, Some(&found), rests, waiving), figures::figures(&found)))
}

/// What the ledger says of an item: a waiver for each target that needs it, or one for all of them. Where one is not in
/// force, that one is told.
fn waiver<'g>(of: &'g Gathered, item: &Item) -> Option<(&'g Waiver, bool)> {
    let today = day(of.as_of);
    let concerned: BTreeSet<RuntimeTarget> = match item.targets.is_empty() {
        true => of.release.targets.clone(),
        false => of.release.targets.intersection(&item.targets).copied().collect(),
    };
    let is_in_force = |one: &Waiver| one.terms.state(today) == State::InForce;
    let speaks = |target: &RuntimeTarget| of.ledger.waiver(&of.release.name, &item.id, Some(target.word()), today);
    let found: Vec<&Waiver> = concerned.iter().filter_map(speaks).collect();
    let holds = found.len() == concerned.len() && found.iter().all(|one| is_in_force(one));
    let told = found.iter().find(|one| !is_in_force(one)).or(found.first())?;
    Some((told, holds))
}

fn waiving(of: &Terms, in_force: bool) -> Waiving {
    Waiving {
        entry: of.entry.to_string(),
        author: of.author.clone(),
        reason: of.reason.clone(),
        date: of.date,
        expires: of.expires,
        in_force,
    }
}
