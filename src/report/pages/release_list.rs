//! The list of releases, newest first, and the page of each.

use super::frame::Part;
use super::{release, sheet};
use crate::catalog::Catalog;
use crate::compare::data::Data;
use crate::number::counted;
use crate::phrase::Phrase;
use crate::sheet::{Row, Section, Sheet};
use crate::text::short_commit;
use crate::{ReportError, date, link};
use sprag_model::checklist::RuntimeTarget;
use sprag_model::page::Page;
use sprag_model::release::{ReleaseReport, Released};

/// The pages of the releases and their list; where the project lists no release, the page that says how to.
pub(crate) fn releases(catalog: &Catalog<'_>, data: Option<&Data>) -> Result<Vec<Page>, ReportError> {
    let Released { newest: all, older, .. } = catalog.releases;
    let place = (link::RELEASE_LIST.to_owned(), Part::Releases, "Releases".to_owned());
    let (Some(oldest), Some(newest)) = (all.first(), all.last()) else {
        return Ok(vec![sheet::of_one(catalog, place, none_yet())?]);
    };
    let mut pages = Vec::new();
    for release in all {
        pages.extend(release::pages(catalog, data, release)?);
    }
    let headline = Phrase::plain(format!("{}, the newest ", counted(all.len() + older, "release", "releases")))
        .mark(release::verdict(newest));
    let columns = [
        ("Release", "nb"),
        ("State", "push"),
        ("Commit", "nb"),
        ("For", "any"),
        ("Items", "any full"),
        ("As of", "nb opt"),
    ];
    let note = match older {
        0 => Phrase::default(),
        _ => {
            let older = counted(*older, "release", "releases");
            Phrase::plain(format!("Not looked at and without a page: {older} listed before {}.", oldest.name))
        }
    };
    let texts = ("releases", "Newest first", note, "");
    let rows = all.iter().rev().map(|release| row(catalog, release)).collect();
    let section = Section::of_table(texts, ("Releases, newest first", &columns), rows);
    let lede = Phrase::plain("Go or no-go follows from recorded bytes, item by item; ")
        .link(link::LEDGER, "the ledger")
        .text(" holds what is waived.");
    let content = Sheet { headline, lede, sections: vec![section], ..Sheet::default() };
    pages.push(sheet::sheet(catalog, place, content)?);
    Ok(pages)
}

/// What to do where no release is listed; a tag alone is none.
fn none_yet() -> Sheet {
    let list = vec![
        Phrase::plain("What must hold before a release goes: ").id("release/checklist.toml"),
        Phrase::plain("Each release, by the name of its tag: ").id("release/releases.toml"),
        Phrase::plain("Go or no-go, what blocks and what to do next: ").id("sprag release checklist NAME"),
    ];
    let section = Section::new("how", "How to have one here").items(list);
    Sheet {
        headline: Phrase::plain("No release is listed"),
        lede: Phrase::plain("A release has a page once two files are in the repository; a tag alone is none."),
        sections: vec![section],
        ..Sheet::default()
    }
}

fn row(catalog: &Catalog<'_>, release: &ReleaseReport) -> Row {
    let name = Phrase::default().link(link::release(&release.name), release.name.clone());
    let state = Phrase::default().mark(release::verdict(release));
    let none = || Phrase::plain("–");
    match &release.came {
        Err(_) => Row {
            bad: true,
            ..Row::new([name, state, none(), none(), Phrase::plain("does not hold together"), none()])
        },
        Ok(filled) => {
            let counts: Vec<String> = filled.counts().iter().map(|(word, count)| format!("{count} {word}")).collect();
            let commit = Phrase::default().name(catalog.commit_page(&filled.commit), short_commit(&filled.commit));
            let commit = if filled.tagged { commit } else { commit.text(", not yet tagged") };
            let targets = RuntimeTarget::list(&filled.targets);
            let rest = [targets, counts.join(", "), date::day(filled.as_of)].map(Phrase::plain);
            let [targets, counts, as_of] = rest;
            Row::new([name, state, commit, targets, counts, as_of])
        }
    }
}
