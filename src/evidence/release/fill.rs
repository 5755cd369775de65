//! A checklist filled with what the evidence says of each item.

use std::collections::{BTreeMap, BTreeSet};

use super::inputs::ReleaseInputs;
use super::{ReleaseError, Result};
use crate::derive::{self, ItemFinding};
use sprag_history::Store;
use sprag_model::Waiver;
use sprag_model::checklist::{FilledChecklist, Item, Rests, RuntimeTarget, SCHEMA_VERSION, Signed, Waiving};
use sprag_model::ledger::{State, day};
use sprag_model::release::Figures;

pub type FilledWithFigures = (FilledChecklist, BTreeMap<String, Figures>);

/// Fills the checklist of a release; `find` gives what the evidence says of an item, and the files that it read for that.
pub fn fill<E: From<ReleaseError>>(
    inputs: &ReleaseInputs,
    store: &Store,
    find: impl Fn(&Item) -> Result<(ItemFinding, Vec<Rests>), E>,
) -> Result<FilledWithFigures, E> {
    let ReleaseInputs { declared, release, identity, .. } = inputs;
    let mut figures = BTreeMap::new();
    let mut items = Vec::new();
    for item in &declared.checklist.items {
        if !item.is_needed(&release.targets) {
            items.push(derive::not_applicable(item));
            continue;
        }
        let (finding, mut rests) = find(item)?;
        let waiver = waiver(inputs, item);
        if let Some((one, _)) = waiver {
            rests.push(inputs.rests(store, &one.terms.entry.path)?);
            rests.sort();
            rests.dedup();
        }
        let (filled, of_item) = derive::filled(item, &finding, rests, waiver.map(waiving));
        figures.extend(of_item.map(|one| (item.id.clone(), one)));
        items.push(filled);
    }
    let signed = |role: &String| {
        let signed = release.signed.iter().find(|(of, ..)| of == role);
        let (owner, date) = signed.map(|(_, owner, date)| (owner.clone(), date.clone())).unzip();
        Signed { role: role.clone(), owner, date }
    };
    let filled = FilledChecklist {
        schema_version: SCHEMA_VERSION,
        release: release.name.clone(),
        commit: identity.commit.clone(),
        tagged: identity.tagged,
        measured: identity.measured.clone(),
        previous: release.previous.clone(),
        targets: release.targets.clone(),
        as_of: inputs.as_of,
        history: inputs.history.clone(),
        branch: inputs.branch.clone(),
        reviewed: inputs.reviewed.clone(),
        go: items.iter().all(|item| !item.status.blocks()),
        items,
        rollback: declared.checklist.rollback.clone(),
        sign_off: declared.checklist.sign_off.iter().map(signed).collect(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    Ok((filled, figures))
}

/// The waiver of an item, and whether it is in force, for all targets that need the item; the first that is not in force.
fn waiver<'i>(inputs: &'i ReleaseInputs, item: &Item) -> Option<(&'i Waiver, bool)> {
    let today = day(inputs.as_of);
    let (release, ledger) = (&inputs.release, &inputs.declared.ledger);
    let targets: BTreeSet<RuntimeTarget> = match item.targets.is_empty() {
        true => release.targets.clone(),
        false => release.targets.intersection(&item.targets).copied().collect(),
    };
    let is_in_force = |one: &Waiver| one.terms.state(today) == State::InForce;
    let waiver = |target: &RuntimeTarget| ledger.waiver(&release.name, &item.id, Some(target.word()), today);
    let waivers: Vec<&Waiver> = targets.iter().filter_map(waiver).collect();
    let holds = waivers.len() == targets.len() && waivers.iter().all(|one| is_in_force(one));
    let shown = waivers.iter().find(|one| !is_in_force(one)).or(waivers.first())?;
    Some((shown, holds))
}

fn waiving((waiver, in_force): (&Waiver, bool)) -> Waiving {
    let terms = &waiver.terms;
    Waiving {
        entry: terms.entry.to_string(),
        author: terms.author.clone(),
        reason: terms.reason.clone(),
        date: terms.date,
        expires: terms.expires,
        in_force,
    }
}
