//! The list of releases, newest first, and the page of each.

use super::frame::{Part, history_page, subject_page};
use super::{cell, release};
use crate::catalog::Catalog;
use crate::compare::data::Data;
use crate::number::{self, counted};
use crate::phrase::Phrase;
use crate::sheet::{Rows, Section, Sheet};
use crate::{ReportError, date, link};
use sprag_model::checklist::{FilledChecklist, RuntimeTarget};
use sprag_model::page::Page;
use sprag_model::release::{ReleaseReport, Released};

/// The pages of the releases and their list; where the project lists no release, the page that says how to.
pub(crate) fn releases(catalog: &Catalog<'_>, data: Option<&Data>) -> Result<Vec<Page>, ReportError> {
    let Released { newest: all, older, .. } = catalog.releases;
    let place = (link::RELEASE_LIST.to_owned(), Part::Releases, "Releases".to_owned());
    let (Some(oldest), Some(newest)) = (all.first(), all.last()) else {
        return Ok(vec![subject_page(catalog, place, None, none_yet())?]);
    };
    let mut pages = Vec::new();
    for release in all {
        pages.extend(release::pages(catalog, data, release)?);
    }
    let headline = Phrase::plain(format!("{}, the newest ", counted(all.len() + older, "release", "releases")))
        .mark(release::verdict(newest));
    let note = match older {
        0 => String::new(),
        _ => {
            let older = counted(*older, "release", "releases");
            format!("Without a page: {older} listed before {}.", oldest.name)
        }
    };
    let filled = |release: &ReleaseReport| release.checklist.as_ref().ok().cloned();
    let rows = all.iter().rev().map(|release| (release, filled(release)));
    let commit = |filled: &FilledChecklist| {
        let commit = cell::commit_link(catalog, &filled.commit);
        if filled.tagged { commit } else { commit.text(", not yet tagged") }
    };
    let counts = |filled: &FilledChecklist| {
        filled.counts().iter().map(|(word, count)| format!("{count} {word}")).collect::<Vec<String>>().join(", ")
    };
    let section = Rows::new("Releases, newest first", rows)
        .column("Release", "nb", |(release, _)| {
            Phrase::default().link(link::release(&release.name), release.name.clone())
        })
        .column("State", "push", |(release, _)| release::verdict(release))
        .column("Commit", "nb", |(_, filled)| filled.as_ref().map_or_else(|| number::NONE.into(), commit))
        .column("For", "any", |(_, filled)| {
            cell::or_none(filled.as_ref(), |filled| RuntimeTarget::list(&filled.targets))
        })
        .column("Items", "any full", |(_, filled)| {
            filled.as_ref().map_or_else(|| "damaged or unreadable".to_owned(), counts)
        })
        .column("As of", "nb opt", |(_, filled)| cell::or_none(filled.as_ref(), |filled| date::day(filled.as_of)))
        .tint(|(_, filled)| filled.is_none())
        .section("releases", "Newest first", note, "");
    let lede = Phrase::plain("Go or no-go is derived from recorded bytes, item by item. ")
        .link(link::LEDGER, "The ledger")
        .text(" has the waivers.");
    let sheet = Sheet { headline, lede, sections: vec![section], ..Sheet::default() };
    pages.push(history_page(catalog, place, sheet)?);
    Ok(pages)
}

/// What to do where no release is listed.
fn none_yet() -> Sheet {
    let list = vec![
        Phrase::plain("What a release requires: ").id("release/checklist.toml"),
        Phrase::plain("Each release, by the name of its tag: ").id("release/releases.toml"),
        Phrase::plain("Go or no-go, what blocks and what to do next: ").id("sprag release checklist NAME"),
    ];
    let section = Section::new("how", "How to list a release").items(list);
    Sheet {
        headline: "No release is listed".into(),
        lede: "A release gets a page once two files are in the repository; a tag alone is not enough.".into(),
        sections: vec![section],
        ..Sheet::default()
    }
}
