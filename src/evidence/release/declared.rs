//! What a project declares about its releases: its checklist, the list of releases and the ledger.

use std::io::ErrorKind;
use std::path::Path;

use super::reviewed::read_inside;
use super::{ReleaseError, Result};
use crate::checklist::{CHECKLIST_PATH, read_checklist};
use crate::releases::{RELEASES_PATH, read_releases};
use crate::toml_text::MOST_BYTES;
use sprag_base::text::suggestion;
use sprag_history::{self as history, Leaf, Store, Target};
use sprag_model::checklist::{Checklist, Need, RuntimeTarget};
use sprag_model::release::{Release, Releases};
use sprag_model::{Ledger, Waiver};

#[derive(Clone)]
pub struct Declared {
    pub checklist: Checklist,
    pub releases: Releases,
    pub ledger: Ledger,
}

impl Declared {
    pub fn read(root: &Path, ledger: Ledger) -> Result<Declared> {
        let checklist = read_checklist(CHECKLIST_PATH, &read_file(root, CHECKLIST_PATH)?)?;
        Ok(Declared { checklist, releases: releases(root)?, ledger })
    }

    pub fn find(&self, name: &str) -> Result<&Release> {
        let release = find(&self.releases, name)?;
        self.check_roles(release)?;
        Ok(release)
    }

    pub fn check_roles(&self, release: &Release) -> Result<()> {
        let roles: Vec<&str> = self.checklist.sign_off.iter().map(String::as_str).collect();
        let Some((role, owner, _)) = release.signed.iter().find(|(role, ..)| !roles.contains(&role.as_str())) else {
            return Ok(());
        };
        let name = &release.name;
        Err(ReleaseError::refused(
            format!(
                "`{RELEASES_PATH}` says that `{owner}` signs `{name}` as `{role}`, a role that `{CHECKLIST_PATH}` does not have"
            ),
            suggestion(role, &roles),
        ))
    }

    /// Checks that the release, the item and the target of a waiver exist.
    pub fn check_waiver(&self, waiver: &Waiver) -> Result<()> {
        let release = find(&self.releases, &waiver.release)?;
        let items = &self.checklist.items;
        let Some(item) = items.iter().find(|item| item.id == waiver.item) else {
            let ids: Vec<&str> = items.iter().map(|item| item.id.as_str()).collect();
            let message = format!("`{CHECKLIST_PATH}` has no item `{}`", waiver.item);
            return Err(ReleaseError::refused(message, suggestion(&waiver.item, &ids)));
        };
        let Some(target) = waiver.target.as_deref() else { return Ok(()) };
        let needing = release.targets.iter().filter(|one| item.is_needed(&[**one].into()));
        let targets: Vec<&str> = needing.map(|one| one.word()).collect();
        if targets.contains(&target) {
            return Ok(());
        }
        let message = format!("`{}` does not need `{}` for `{target}`", release.name, item.id);
        Err(ReleaseError::refused(message, suggestion(target, &targets)))
    }

    /// The waivers without effect, each with what does not exist.
    pub fn unused_waivers(&self) -> impl Iterator<Item = (&Waiver, String)> {
        let waivers = self.ledger.waivers.iter();
        waivers.filter_map(|one| Some((one, self.check_waiver(one).err()?.to_string())))
    }

    /// The suites with a run at a commit for whose verdict no item asks: a checklist does not grow by itself.
    pub fn unasked_suites(
        &self,
        release: &Release,
        store: &Store,
        source: &Target,
        commit: &str,
    ) -> Result<Vec<String>> {
        let asks = |suite: &str| {
            self.checklist
                .items
                .iter()
                .filter(|item| item.is_needed(&release.targets))
                .any(|item| matches!(&item.rule, Need::SuiteVerdict { suite: asked, .. } if asked == suite))
        };
        let listing = history::list(store, source)?;
        let at_commit = listing.entries.iter().filter(|one| commit.starts_with(one.commit())).map(Leaf::suite);
        let mut suites: Vec<String> = at_commit.filter(|suite| !asks(suite)).map(str::to_owned).collect();
        suites.sort();
        suites.dedup();
        Ok(suites)
    }

    /// What a user should see about the declared files, a sentence each.
    pub fn warnings(&self, release: &Release, store: &Store, source: &Target, commit: &str) -> Result<Vec<String>> {
        let concerns = |one: &Waiver| one.release == release.name || self.releases.find(&one.release).is_none();
        let unused = self.unused_waivers().filter(|(one, _)| concerns(one));
        let mut warnings: Vec<String> =
            unused.map(|(one, what)| format!("{} has no effect: {what}", one.terms.entry)).collect();
        let suites = self.unasked_suites(release, store, source, commit)?;
        if !suites.is_empty() {
            warnings.push(format!(
                "no item of `{CHECKLIST_PATH}` for {} judges `{}`, measured at {}: add one with the rule `suite_verdict`",
                RuntimeTarget::list(&release.targets),
                suites.join("`, `"),
                commit.get(..12).unwrap_or(commit),
            ));
        }
        Ok(warnings)
    }
}

pub fn releases(root: &Path) -> Result<Releases> {
    Ok(read_releases(RELEASES_PATH, &read_file(root, RELEASES_PATH)?)?)
}

fn find<'r>(releases: &'r Releases, name: &str) -> Result<&'r Release> {
    releases.find(name).ok_or_else(|| {
        let names: Vec<&str> = releases.0.iter().map(|one| one.name.as_str()).collect();
        ReleaseError::refused(format!("`{RELEASES_PATH}` names no release `{name}`"), suggestion(name, &names))
    })
}

fn read_file(root: &Path, path: &str) -> Result<Vec<u8>> {
    read_inside(root, path, MOST_BYTES).map_err(|error| match error.kind() {
        ErrorKind::NotFound => ReleaseError::refused(
            format!("there is no `{path}`"),
            "create it; `sprag init --ci github-full` writes one",
        ),
        _ => ReleaseError::io("read", Path::new(path))(error),
    })
}
