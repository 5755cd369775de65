//! A release: go or no-go, what blocks, who accepted what, and how others check it.

use super::frame::Part;
use super::release_items::{NAME, SENTENCE, blocks, derived, items, record_place, sentence};
use super::release_since::since;
use super::{release_signature, sheet};
use crate::catalog::Catalog;
use crate::compare::data::Data;
use crate::mark::{Mark, Tone};
use crate::number::{count, counted};
use crate::phrase::{Fact, Phrase};
use crate::sheet::{Row, Section, Sheet};
use crate::text::{short_commit, shortened};
use crate::{ReportError, date, link};
use sprag_model::checklist::{Filled, FilledChecklist, Rests, RuntimeTarget, Signed, Status};
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
    let page = sheet::sheet(
        catalog,
        (link::release(&release.name), Part::Releases, format!("Release {}", release.name)),
        content,
    )?;
    let statement = release_signature::files(release);
    Ok([page, text].into_iter().chain(statement).collect())
}

pub(super) fn verdict(release: &ReleaseReport) -> Mark {
    match &release.came {
        Ok(filled) if filled.go => Mark::new(Tone::Better, "✓", "go"),
        _ => Mark::new(Tone::Worse, "✕", "no-go"),
    }
}

fn content(catalog: &Catalog<'_>, data: Option<&Data>, release: &ReleaseReport) -> Sheet {
    let crumb = Phrase::default().link(link::RELEASE_LIST, "Releases").text(" / ").text(release.name.clone());
    let headline = Phrase::default().text(format!("{}: ", release.name)).mark(verdict(release));
    match &release.came {
        Err(fault) => {
            let note = sentence(fault).text(". Nothing waives this.");
            let section = Section::new("blocks", "What blocks").paragraph(note);
            let lede = Phrase::plain(
                "What is recorded of it does not hold together or cannot be looked at, so nothing of it was derived.",
            );
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
        },
    }
}

fn lede(catalog: &Catalog<'_>, filled: &FilledChecklist) -> Phrase {
    let commit = |sha: &str| (catalog.commit_page(sha), short_commit(sha).to_owned());
    let (page, name) = commit(&filled.commit);
    let lede = match filled.tagged {
        true => Phrase::plain("Tagged at ").name(page, name),
        false => Phrase::default().strong("Not yet tagged").text(": it would be ").name(page, name),
    };
    let lede = match filled.measured == filled.commit {
        true => lede,
        false => {
            let (page, name) = commit(&filled.measured);
            lede.text(", whose code is that of ").name(page, name)
        }
    };
    lede.text(". Every status is derived from recorded bytes; none is typed in.")
}

fn facts(filled: &FilledChecklist) -> Vec<Fact> {
    let blocking = filled.blocking().count();
    let waived = filled.items.iter().filter(|item| item.status == Status::Waived).count();
    let needed = filled.items.iter().filter(|item| item.status != Status::NotApplicable).count();
    let passed = filled.items.iter().filter(|item| item.status == Status::Pass).count();
    let fact = |question, answer: Phrase, note: Phrase| Fact { question, answer, note };
    vec![
        fact(
            "May it go?",
            Phrase::default().mark(match filled.go {
                true => Mark::new(Tone::Better, "✓", "go"),
                false => Mark::new(Tone::Worse, "✕", "no-go"),
            }),
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
            Phrase::plain(if blocking == 0 { "nothing".to_owned() } else { counted(blocking, "item", "items") }),
            Phrase::plain(match filled.is_damaged() {
                true => "Some evidence does not hold together",
                false if blocking > 0 => "Each with what to do next, below",
                false => "All that is needed is shown or waived",
            }),
        ),
        fact(
            "Who accepted what?",
            Phrase::plain(if waived == 0 {
                "nothing is waived".to_owned()
            } else {
                counted(waived, "waiver", "waivers")
            }),
            Phrase::default().text("The ").link(link::LEDGER, "ledger").text(" has them all"),
        ),
        fact(
            "Can others check it?",
            Phrase::plain(counted(filled.history.size as usize, "run", "runs")),
            Phrase::plain(format!("Offline, from a clone; Merkle root {}…", start(&filled.history.root))),
        ),
    ]
}

fn start(digest: &str) -> &str {
    digest.get(..16).unwrap_or(digest)
}

fn waived(filled: &FilledChecklist) -> Section {
    let row = |item: &Filled| {
        let waiver = item.waiver.as_ref()?;
        let state = match (waiver.in_force, item.status) {
            (true, Status::Waived) => Mark::new(Tone::Doubt, "◆", "in force"),
            (true, _) => Mark::new(Tone::Plain, "=", "not needed"),
            (false, _) => Mark::new(Tone::Worse, "●", "expired, or not yet"),
        };
        Some(Row::new([
            Phrase::default().id(item.id.clone()),
            Phrase::default().mark(state),
            Phrase::plain(shortened(&waiver.reason, SENTENCE)),
            Phrase::plain(shortened(&waiver.author, NAME)),
            Phrase::plain(date::calendar_day(waiver.date)),
            Phrase::plain(date::calendar_day(waiver.expires)),
            Phrase::default().id(shortened(&waiver.entry, NAME)),
        ]))
    };
    Section::of_table(
        ("accepted", "Who accepted what", Phrase::default(), "The ledger waives nothing here."),
        (
            "Waivers of items of this release",
            &[
                ("Item", "any"),
                ("State", "push"),
                ("Reason", "any full"),
                ("Author", "any full"),
                ("From", "nb"),
                ("Until", "nb"),
                ("Entry", "any opt2"),
            ],
        ),
        filled.items.iter().filter_map(row).collect(),
    )
}

fn verify(release: &ReleaseReport, filled: &FilledChecklist) -> Section {
    let FilledChecklist { release: name, history, .. } = filled;
    let mut list =
        vec![Phrase::plain("Write the evidence: ").id(format!("sprag release attest {name} --out evidence"))];
    if release.kept.is_none() {
        let folder = format!("release/{name}");
        list.push(
            Phrase::plain("Have it handed out here, from the next build on: ")
                .id(format!("mkdir -p {folder} && cp evidence/statement*.json {folder}/"))
                .text(", and commit it"),
        );
    }
    list.extend([
        Phrase::plain("Hold its files against their digests: ").id("cd evidence && sha256sum -c --strict SHA256SUMS"),
        Phrase::plain("Derive every status again, from a clone: ")
            .id("sprag release verify evidence --repository CLONE"),
        Phrase::plain("Commit: ").id(filled.commit.clone()),
        Phrase::plain("History: ").id(history.commit.clone()).text(format!(", {} runs", count(history.size as usize))),
        Phrase::plain("Merkle root of the history: ").id(history.root.clone()),
    ]);
    let note = Phrase::plain(
        "None of it needs a network. A copy of the Merkle root elsewhere, such as in release notes, is what shows a history \
         that was rewritten as a whole; that the numbers were measured honestly no digest shows.",
    );
    let list = release_signature::downloads(release).into_iter().chain(list);
    Section::new("verify", "How to verify it").paragraph(note).items(list)
}

fn files(catalog: &Catalog<'_>, filled: &FilledChecklist) -> Section {
    let mut files: Vec<&Rests> = filled.items.iter().flat_map(|item| &item.rests_on).collect();
    files.sort();
    files.dedup();
    let row = |file: &&Rests| {
        Row::new([
            Phrase::default().name(record_place(catalog, &file.path), shortened(&file.path, NAME)),
            Phrase::plain(count(file.bytes as usize)),
            Phrase::default().id(file.sha256.clone()),
        ])
    };
    Section::of_table(
        ("files", "What it rests on", Phrase::default(), "Nothing that is recorded."),
        (
            "Files that statuses rest on, with their digests",
            &[("File", "any full"), ("Bytes", "n push"), ("SHA-256", "any full")],
        ),
        files.iter().map(row).collect(),
    )
    .cut(MOST_FILES)
}

fn rollback(catalog: &Catalog<'_>, filled: &FilledChecklist) -> Section {
    let before = match (&filled.previous, tag_before(catalog, &filled.commit)) {
        (Some(name), _) => Phrase::plain("The release before is ").id(name.clone()),
        (None, Some(tag)) => {
            Phrase::plain("It names no release before it; the newest tag before its commit is ").id(tag)
        }
        (None, None) => Phrase::plain("It names no release before it"),
    };
    let before = before.text(". ");
    let begun = |begin: String, text: &String| Phrase::plain(begin).join(sentence(text));
    let triggers = filled.rollback.triggers.iter().map(|one| begun("Go back where ".to_owned(), one));
    let steps = filled.rollback.steps.iter().enumerate();
    let steps = steps.map(|(place, one)| begun(format!("Step {}: ", place + 1), one));
    let list: Vec<Phrase> = triggers.chain(steps).collect();
    let note = if list.is_empty() { before.text("Nothing is planned.") } else { before };
    Section::new("back", "How to go back").paragraph(note).items(list)
}

/// The newest tag on the line before a commit.
fn tag_before<'a>(catalog: &Catalog<'a>, sha: &str) -> Option<&'a str> {
    let before = &catalog.line.commits[..catalog.position(sha)?];
    before.iter().rev().find_map(|commit| commit.tags.first()).map(String::as_str)
}

fn sign_off(filled: &FilledChecklist) -> Section {
    let row = |one: &Signed| {
        let text = |text: &Option<String>| text.as_ref().map_or_else(|| "–".to_owned(), |text| shortened(text, NAME));
        Row::new([shortened(&one.role, NAME), text(&one.owner), text(&one.date)].map(Phrase::plain))
    };
    Section::of_table(
        (
            "signed",
            "Sign-off",
            Phrase::plain("People sign; what they sign for is derived above."),
            "Nobody has to sign.",
        ),
        ("Who signs", &[("Role", "any"), ("Owner", "any push"), ("Date", "nb")]),
        filled.sign_off.iter().map(row).collect(),
    )
}
