//! A release: go or no-go, what blocks, who accepted what, and how others check it.

use std::collections::BTreeSet;

use super::frame::{Part, history_page};
use super::release_items::{NAME, SENTENCE, blocks, derived, items, record_place, sentence};
use super::release_since::since;
use super::{cell, release_signature};
use crate::catalog::Catalog;
use crate::compare::data::Data;
use crate::mark::{Mark, Tone};
use crate::number::{count, counted};
use crate::phrase::{Fact, Phrase};
use crate::sheet::{Rows, Section, Sheet};
use crate::text::shortened;
use crate::{ReportError, date, link};
use sprag_model::checklist::{FilledChecklist, Rests, RuntimeTarget, Status};
use sprag_model::page::Page;
use sprag_model::release::ReleaseReport;

/// The files that a page lists with their digests.
const MOST_FILES: usize = 200;

/// The page of a release, and the same as Markdown.
pub(super) fn pages(
    catalog: &Catalog<'_>,
    data: Option<&Data>,
    release: &ReleaseReport,
) -> Result<Vec<Page>, ReportError> {
    link::file_word("release", &release.name)?;
    let content = content(catalog, data, release);
    let text = Page { path: link::release_text(&release.name), bytes: content.markdown().into_bytes() };
    let place = (link::release(&release.name), Part::Releases, format!("Release {}", release.name));
    let page = history_page(catalog, place, content)?;
    let statement = release_signature::files(release);
    Ok([page, text].into_iter().chain(statement).collect())
}

pub(super) fn verdict(release: &ReleaseReport) -> Mark {
    go(release.checklist.as_ref().is_ok_and(|filled| filled.go))
}

fn go(may_go: bool) -> Mark {
    if may_go { Mark::new(Tone::Better, "✓", "go") } else { Mark::new(Tone::Worse, "✕", "no-go") }
}

fn content(catalog: &Catalog<'_>, data: Option<&Data>, release: &ReleaseReport) -> Sheet {
    let crumb = Phrase::default().link(link::RELEASE_LIST, "Releases").text(" / ").text(release.name.clone());
    let headline = Phrase::default().text(format!("{}: ", release.name)).mark(verdict(release));
    match &release.checklist {
        Err(fault) => {
            let note = sentence(fault).text(". Nothing waives this.");
            let section = Section::new("blocks", "What blocks").paragraph(note);
            let lede = "Its evidence is damaged or cannot be read, so no status was derived.".into();
            Sheet { crumb, headline, lede, sections: vec![section], ..Sheet::default() }
        }
        Ok(filled) => Sheet {
            crumb,
            headline,
            lede: release_signature::signature(release).then(lede(catalog, filled)),
            facts: facts(filled),
            sections: [blocks(catalog, filled), items(catalog, release, filled), waived(filled)]
                .into_iter()
                .chain(since(catalog, data, filled))
                .chain([
                    verify(release, filled),
                    files(catalog, filled),
                    derived(filled),
                    rollback(catalog, filled),
                    sign_off(filled),
                ])
                .collect(),
            ..Sheet::default()
        },
    }
}

fn lede(catalog: &Catalog<'_>, filled: &FilledChecklist) -> Phrase {
    let commit = cell::commit_link(catalog, &filled.commit);
    let lede = match filled.tagged {
        true => Phrase::plain("Tagged at ").join(commit),
        false => Phrase::default().strong("Not yet tagged").text(": it would be ").join(commit),
    };
    let lede = match filled.measured == filled.commit {
        true => lede,
        false => lede.text(", whose code is that of ").join(cell::commit_link(catalog, &filled.measured)),
    };
    lede.text(". Every status is derived from recorded bytes.")
}

fn facts(filled: &FilledChecklist) -> Vec<Fact> {
    let blocking = filled.blocking().count();
    let of_status = |is: &dyn Fn(Status) -> bool| filled.items.iter().filter(|item| is(item.status)).count();
    let waived = of_status(&|status| status == Status::Waived);
    let needed = of_status(&|status| status != Status::NotApplicable);
    let passed = of_status(&|status| status == Status::Pass);
    let fact = |question, answer: Phrase, note: Phrase| Fact { question, answer, note };
    let or_nothing =
        |n: usize, words: [&str; 3]| if n == 0 { words[0].to_owned() } else { counted(n, words[1], words[2]) };
    vec![
        fact(
            "May it go?",
            go(filled.go).into(),
            Phrase::plain(format!(
                "{} of {} pass, for {}, as of {}",
                count(passed),
                counted(needed, "item", "items"),
                RuntimeTarget::list(&filled.targets),
                date::day(filled.as_of)
            )),
        ),
        fact(
            "What blocks it?",
            or_nothing(blocking, ["nothing", "item", "items"]).into(),
            Phrase::plain(match filled.is_damaged() {
                true => "Some evidence is damaged",
                false if blocking > 0 => "Each with what to do next, below",
                false => "Every required item passes or is waived",
            }),
        ),
        fact(
            "Who accepted what?",
            or_nothing(waived, ["nothing is waived", "waiver", "waivers"]).into(),
            Phrase::plain("The ").link(link::LEDGER, "ledger").text(" has them all"),
        ),
        fact(
            "Can others check it?",
            counted(filled.history.size as usize, "run", "runs").into(),
            format!("Offline, from a clone; Merkle root {}…", start(&filled.history.root)).into(),
        ),
    ]
}

fn start(digest: &str) -> &str {
    digest.get(..16).unwrap_or(digest)
}

fn waived(filled: &FilledChecklist) -> Section {
    let rows = filled.items.iter().filter_map(|item| Some((item, item.waiver.as_ref()?)));
    Rows::new("Waivers of items of this release", rows)
        .column("Item", "any", |(item, _)| Phrase::default().id(item.id.clone()))
        .column("State", "push", |(item, waiver)| match (waiver.in_force, item.status) {
            (true, Status::Waived) => Mark::new(Tone::Doubt, "◆", "in force"),
            (true, _) => Mark::new(Tone::Plain, "=", "not needed"),
            (false, _) => Mark::new(Tone::Worse, "●", "expired, or not yet in force"),
        })
        .column("Reason", "any full", |(_, waiver)| shortened(&waiver.reason, SENTENCE))
        .column("Author", "any full", |(_, waiver)| shortened(&waiver.author, NAME))
        .column("From", "nb", |(_, waiver)| date::calendar_day(waiver.date))
        .column("Until", "nb", |(_, waiver)| date::calendar_day(waiver.expires))
        .column("Entry", "any opt2", |(_, waiver)| Phrase::default().id(shortened(&waiver.entry, NAME)))
        .section("accepted", "Who accepted what", "", "The ledger waives nothing here.")
}

fn verify(release: &ReleaseReport, filled: &FilledChecklist) -> Section {
    let FilledChecklist { release: name, history, .. } = filled;
    let mut list =
        vec![Phrase::plain("Write the evidence: ").id(format!("sprag release attest {name} --out evidence"))];
    if release.statement.is_none() {
        let folder = format!("release/{name}");
        list.push(
            Phrase::plain("Publish it here from the next build on: ")
                .id(format!("mkdir -p {folder} && cp evidence/statement*.json {folder}/"))
                .text(", and commit it"),
        );
    }
    list.extend([
        Phrase::plain("Check its files against their digests: ").id("cd evidence && sha256sum -c --strict SHA256SUMS"),
        Phrase::plain("Derive every status again from a clone: ")
            .id("sprag release verify evidence --repository CLONE"),
        Phrase::plain("Commit: ").id(filled.commit.clone()),
        Phrase::plain("History: ").id(history.commit.clone()).text(format!(", {} runs", count(history.size as usize))),
        Phrase::plain("Merkle root of the history: ").id(history.root.clone()),
    ]);
    let note = Phrase::plain(
        "None of it needs a network. To detect a history that was rewritten as a whole, keep a copy of the Merkle root elsewhere, \
         for example in the release notes. No digest proves that the numbers were measured honestly.",
    );
    let list = release_signature::downloads(release).into_iter().chain(list);
    Section::new("verify", "How to verify it").paragraph(note).items(list)
}

fn files(catalog: &Catalog<'_>, filled: &FilledChecklist) -> Section {
    let files: BTreeSet<&Rests> = filled.items.iter().flat_map(|item| &item.rests_on).collect();
    Rows::new("Files that the statuses are derived from, with their digests", files)
        .first(MOST_FILES)
        .column("File", "any full", |file| {
            Phrase::default().name(record_place(catalog, &file.path), shortened(&file.path, NAME))
        })
        .column("Bytes", "n push", |file| count(file.bytes as usize))
        .column("SHA-256", "any full", |file| Phrase::default().id(file.sha256.clone()))
        .section("files", "Evidence files", "", "No file is recorded.")
}

fn rollback(catalog: &Catalog<'_>, filled: &FilledChecklist) -> Section {
    let before = match (&filled.previous, tag_before(catalog, &filled.commit)) {
        (Some(name), _) => Phrase::plain("The previous release is ").id(name.clone()),
        (None, Some(tag)) => {
            Phrase::plain("It names no previous release; the newest tag before its commit is ").id(tag)
        }
        (None, None) => Phrase::plain("It names no previous release"),
    };
    let before = before.text(". ");
    let begun = |begin: String, text: &String| Phrase::plain(begin).join(sentence(text));
    let triggers = filled.rollback.triggers.iter().map(|one| begun("Go back where ".to_owned(), one));
    let steps = filled.rollback.steps.iter().enumerate();
    let steps = steps.map(|(place, one)| begun(format!("Step {}: ", place + 1), one));
    let list: Vec<Phrase> = triggers.chain(steps).collect();
    let note = if list.is_empty() { before.text("No rollback is planned.") } else { before };
    Section::new("back", "How to go back").paragraph(note).items(list)
}

/// The newest tag on the line before a commit.
fn tag_before<'a>(catalog: &Catalog<'a>, sha: &str) -> Option<&'a str> {
    let before = &catalog.line.commits[..catalog.position(sha)?];
    before.iter().rev().find_map(|commit| commit.tags.first()).map(String::as_str)
}

fn sign_off(filled: &FilledChecklist) -> Section {
    let text = |text: &Option<String>| cell::or_none(text.as_ref(), |text| shortened(text, NAME));
    Rows::new("Who signs", &filled.sign_off)
        .column("Role", "any", |one| shortened(&one.role, NAME))
        .column("Owner", "any push", |one| text(&one.owner))
        .column("Date", "nb", |one| text(&one.date))
        .section("signed", "Sign-off", "People sign; the statuses above are what they sign for.", "Nobody has to sign.")
}
