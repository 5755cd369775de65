//! The releases: go or no-go, what blocks, who accepted what, how others check it; and the list of them.

use std::collections::BTreeSet;

use super::cell;
use super::frame::{history_page, subject_page};
use super::release_items::{NAME, SENTENCE, blocks, derived, items, record_place, sentence};
use crate::catalog::Catalog;
use crate::compare::data::Data;
use crate::compare::pairs::Pairs;
use crate::compare::table::{self, SummaryRow};
use crate::mark::{Mark, Tone};
use crate::number::{self, count, counted};
use crate::phrase::{Fact, Phrase};
use crate::sheet::{Rows, Section, Sheet};
use crate::text::shortened;
use crate::{ReportError, date, link};
use sprag_model::checklist::{FilledChecklist, Rests, RuntimeTarget, Status};
use sprag_model::page::Page;
use sprag_model::release::{PublishedStatement, ReleaseReport, Released, Sealed};

const MOST_FILES: usize = 200;

/// The machines whose environments differ between two releases that are listed.
const MOST_BANNERS: usize = 5;

/// The pages of the releases and their list; where the project lists no release, the page that says how to.
pub(crate) fn releases(catalog: &Catalog<'_>, data: Option<&Data>) -> Result<Vec<Page>, ReportError> {
    let Released { newest: all, older, .. } = catalog.input.releases;
    let place = (link::RELEASE_LIST, "Releases");
    let (Some(oldest), Some(newest)) = (all.first(), all.last()) else {
        return Ok(vec![subject_page(catalog, place, "Releases", None, none_yet())?]);
    };
    let mut pages = Vec::new();
    for release in all {
        pages.extend(release_pages(catalog, data, release)?);
    }
    let headline = Phrase::plain(format!("{}, the newest ", counted(all.len() + older, "release", "releases")))
        .mark(verdict(newest));
    let note = match older {
        0 => String::new(),
        some => format!("Without a page: {} listed before {}.", counted(*some, "release", "releases"), oldest.name),
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
        .column("State", "push", |(release, _)| verdict(release))
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
    pages.push(history_page(catalog, place, "Releases", sheet)?);
    Ok(pages)
}

fn none_yet() -> Sheet {
    let section = Section::new("how", "How to list a release").items([
        Phrase::plain("What a release requires: ").id("release/checklist.toml"),
        Phrase::plain("Each release, by the name of its tag: ").id("release/releases.toml"),
        Phrase::plain("Go or no-go, what blocks and what to do next: ").id("sprag release checklist NAME"),
    ]);
    Sheet {
        headline: "No release is listed".into(),
        lede: "A release gets a page once two files are in the repository; a tag alone is not enough.".into(),
        sections: vec![section],
        ..Sheet::default()
    }
}

fn release_pages(
    catalog: &Catalog<'_>,
    data: Option<&Data>,
    release: &ReleaseReport,
) -> Result<Vec<Page>, ReportError> {
    link::file_word("release", &release.name)?;
    let content = content(catalog, data, release);
    let text = Page { path: link::release_text(&release.name), bytes: content.markdown().into_bytes() };
    let title = format!("Release {}", release.name);
    let page = history_page(catalog, (&link::release(&release.name), "Releases"), &title, content)?;
    let statement = statement_files(release);
    Ok([page, text].into_iter().chain(statement).collect())
}

fn verdict(release: &ReleaseReport) -> Mark {
    go(release.checklist.as_ref().is_ok_and(|filled| filled.go))
}

fn go(may_go: bool) -> Mark {
    if may_go { Mark::new(Tone::Better, "✓", "go") } else { Mark::new(Tone::Worse, "✕", "no-go") }
}

fn content(catalog: &Catalog<'_>, data: Option<&Data>, release: &ReleaseReport) -> Sheet {
    let crumb = Phrase::default().link(link::RELEASE_LIST, "Releases").text(" / ").text(release.name.clone());
    let headline = Phrase::plain(format!("{}: ", release.name)).mark(verdict(release));
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
            lede: signature(release).then(lede(catalog, filled)),
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
    let or_nothing =
        |n: usize, words: [&str; 3]| if n == 0 { words[0].to_owned() } else { counted(n, words[1], words[2]) };
    vec![
        Fact::new(
            "May it go?",
            go(filled.go),
            format!(
                "{} of {} pass, for {}, as of {}",
                count(passed),
                counted(needed, "item", "items"),
                RuntimeTarget::list(&filled.targets),
                date::day(filled.as_of)
            ),
        ),
        Fact::new(
            "What blocks it?",
            or_nothing(blocking, ["nothing", "item", "items"]),
            match filled.is_damaged() {
                true => "Some evidence is damaged",
                false if blocking > 0 => "Each with what to do next, below",
                false => "Every required item passes or is waived",
            },
        ),
        Fact::new(
            "Who accepted what?",
            or_nothing(waived, ["nothing is waived", "waiver", "waivers"]),
            Phrase::plain("The ").link(link::LEDGER, "ledger").text(" has them all"),
        ),
        Fact::new(
            "Can others check it?",
            counted(filled.history.size as usize, "run", "runs"),
            format!("Offline, from a clone; Merkle root {}…", filled.history.root.get(..16).unwrap_or_default()),
        ),
    ]
}

fn waived(filled: &FilledChecklist) -> Section {
    let rows = filled.items.iter().filter_map(|item| Some((item, item.waiver.as_ref()?)));
    Rows::new("Waivers of items of this release", rows)
        .column("Item", "any", |(item, _)| Phrase::code(item.id.clone()))
        .column("State", "push", |(item, waiver)| match (waiver.in_force, item.status) {
            (true, Status::Waived) => Mark::new(Tone::Doubt, "◆", "in force"),
            (true, _) => Mark::new(Tone::Plain, "=", "not needed"),
            (false, _) => Mark::new(Tone::Worse, "●", "expired, or not yet in force"),
        })
        .column("Reason", "any full", |(_, waiver)| shortened(&waiver.reason, SENTENCE))
        .column("Author", "any full", |(_, waiver)| shortened(&waiver.author, NAME))
        .column("From", "nb", |(_, waiver)| date::calendar_day(waiver.date))
        .column("Until", "nb", |(_, waiver)| date::calendar_day(waiver.expires))
        .column("Entry", "any opt2", |(_, waiver)| Phrase::code(shortened(&waiver.entry, NAME)))
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
    let list = downloads(release).into_iter().chain(list);
    Section::new("verify", "How to verify it").paragraph(note).items(list)
}

fn files(catalog: &Catalog<'_>, filled: &FilledChecklist) -> Section {
    let files: BTreeSet<&Rests> = filled.items.iter().flat_map(|item| &item.rests_on).collect();
    Rows::new("Files that the statuses are derived from, with their digests", files)
        .first(MOST_FILES)
        .column("File", "any full", |file| {
            Phrase::page_name(record_place(catalog, &file.path), shortened(&file.path, NAME))
        })
        .column("Bytes", "n push", |file| count(file.bytes as usize))
        .column("SHA-256", "any full", |file| Phrase::code(file.sha256.clone()))
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

fn signature(release: &ReleaseReport) -> Phrase {
    let folder = || format!("release/{}/", release.name);
    match &release.statement {
        None => Phrase::default().strong("Not signed").text(": no statement of it is in ").id(folder()).text("."),
        Some(Err(fault)) => Phrase::default().strong("Not signed").text(": ").join(sentence(fault)).text("."),
        Some(Ok(PublishedStatement { sealed: None, .. })) => Phrase::default()
            .text("Its ")
            .link(link::release_statement(&release.name), "statement")
            .text(" is ")
            .strong("not signed")
            .text("."),
        Some(Ok(PublishedStatement { sealed: Some(Sealed { keyid, checked, .. }), .. })) => {
            let words = Phrase::default()
                .text("Its ")
                .link(link::release_statement(&release.name), "statement")
                .text(" is ")
                .strong("signed");
            match checked {
                true => {
                    words.text(" by the key ").id(shortened(keyid, NAME)).text(". Nothing here vouches for that key.")
                }
                false => words
                    .text(" with an SSH key, which is not checked here: ")
                    .id("sprag release verify --allowed-signers FILE")
                    .text(" checks it."),
            }
        }
    }
}

/// Where to download the statement; nothing where there is none.
fn downloads(release: &ReleaseReport) -> Option<Phrase> {
    let Some(Ok(PublishedStatement { folder, sealed, .. })) = &release.statement else { return None };
    let words = Phrase::plain("Download: ")
        .link(link::release_statement(&release.name), "statement.json")
        .text(" (in-toto Statement v1, test-result v0.1)");
    let words = match sealed {
        Some(_) => words
            .text(" and ")
            .link(link::release_envelope(&release.name), "statement.dsse.json")
            .text(", its envelope"),
        None => words,
    };
    Some(words.text("; byte for byte as ").id(format!("{folder}/")).text(" has them"))
}

fn statement_files(release: &ReleaseReport) -> Vec<Page> {
    let Some(Ok(PublishedStatement { statement, sealed, .. })) = &release.statement else { return Vec::new() };
    let statement = Page { path: link::release_statement(&release.name), bytes: statement.clone() };
    let envelope =
        sealed.as_ref().map(|sealed| Page { path: link::release_envelope(&release.name), bytes: sealed.bytes.clone() });
    std::iter::once(statement).chain(envelope).collect()
}

fn since(catalog: &Catalog<'_>, data: Option<&Data>, filled: &FilledChecklist) -> Option<Section> {
    let before = filled.previous.as_ref()?;
    let section = Section::new("since", format!("Against {before}"));
    let pair = data.and_then(|data| {
        let measured = || catalog.compared_number(&filled.measured);
        let b = measured().or_else(|| number_of(catalog, data, &filled.release))?;
        Some((number_of(catalog, data, before)?, b, data))
    });
    let Some((a, b, data)) = pair.filter(|(a, b, data)| data.measured(*a) < data.measured(*b)) else {
        let note = match pair {
            Some((a, b, data)) if data.measured(a) == data.measured(b) => "Nothing was measured between the two.",
            _ => "The history has no two measured commits of them to compare.",
        };
        return Some(section.paragraph(note));
    };
    let names = [a, b].map(|number| data.commit(number).sha.as_str());
    let page = Pairs::new(data, catalog).page(data, a, b);
    let page = page.unwrap_or_else(|| link::compared(names[0], names[1]));
    let table = table::listed(data, a, b, |_, _| 0);
    let [worse, better] = &table.words;
    let note = Phrase::default()
        .link(page, format!("{before} against {}", filled.release))
        .text(", series by series. The mean is geometric, over the changes of judged series; positive is worse. Its limits assume that all err together.");
    let banners = table.banners.iter().take(MOST_BANNERS);
    let banners = banners.map(|[strong, rest]| Phrase::default().strong(strong.clone()).text(format!(" {rest}")));
    let judged = |of: &SummaryRow| format!("{} of {}", count(of.counts[0] - of.counts[4]), count(of.counts[0]));
    let rows = Rows::new(format!("Each suite on each machine against {before}"), &table.summary)
        .column("Suite", "any", |of| of.suite.clone())
        .column("Machine", "any push", |of| of.machine.clone())
        .column("Judged", "n", |of| judged(of))
        .column(table::capital(worse), "n", |of| count(of.counts[1]))
        .column(table::capital(better), "n", |of| count(of.counts[2]))
        .column("Geometric mean, 95 % limits", "n", |of| match of.interval.is_empty() {
            true => of.mean.clone(),
            false => format!("{} ({})", of.mean, of.interval),
        });
    Some(section.paragraph(note).items(banners).rows(rows).wide())
}

/// The number of the commit of a release: that whose runs its evidence uses, or the one with its tag.
fn number_of(catalog: &Catalog<'_>, data: &Data, name: &str) -> Option<usize> {
    let listed = catalog.input.releases.newest.iter().find(|release| release.name == name);
    let measured = listed.and_then(|release| release.checklist.as_ref().ok());
    let by_tag = || {
        let mut all = data.commits.iter().chain(&data.tagged);
        all.position(|commit| commit.tags.iter().any(|tag| tag == name))
    };
    measured.and_then(|filled| catalog.compared_number(&filled.measured)).or_else(by_tag)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::phrase::Part;
    use crate::sample_data;
    use crate::sheet::Block;

    fn release(statement: Option<Result<PublishedStatement, String>>) -> ReleaseReport {
        ReleaseReport { name: "v1".to_owned(), checklist: Err(String::new()), figures: BTreeMap::new(), statement }
    }

    fn sealed_by(keyid: Option<(&str, bool)>) -> Option<Result<PublishedStatement, String>> {
        let sealed = keyid.map(|(keyid, checked)| Sealed { bytes: b"{1}".to_vec(), keyid: keyid.to_owned(), checked });
        Some(Ok(PublishedStatement { folder: "release/v1".to_owned(), statement: b"{}".to_vec(), sealed }))
    }

    #[test]
    fn a_page_says_whether_it_is_signed_and_by_whom() {
        let check = |remaining, expected: &str, files_there: &[&str]| {
            let release = release(remaining);
            assert_eq!(signature(&release).words(), expected);
            let paths: Vec<String> = statement_files(&release).into_iter().map(|page| page.path).collect();
            assert_eq!(paths, files_there);
            assert_eq!(downloads(&release).is_some(), !files_there.is_empty());
        };
        let (statement, envelope) = ("release/v1.statement.json", "release/v1.statement.dsse.json");
        check(None, "Not signed: no statement of it is in release/v1/.", &[]);
        check(Some(Err("`x` is not about v1".to_owned())), "Not signed: x is not about v1.", &[]);
        check(sealed_by(None), "Its statement is not signed.", &[statement]);
        check(
            sealed_by(Some(("ed25519:ab", true))),
            "Its statement is signed by the key ed25519:ab. Nothing here vouches for that key.",
            &[statement, envelope],
        );
        check(
            sealed_by(Some(("ssh", false))),
            "Its statement is signed with an SSH key, which is not checked here: sprag release verify --allowed-signers FILE checks it.",
            &[statement, envelope],
        );
        assert_eq!(statement_files(&release(sealed_by(None)))[0].bytes, b"{}");
    }

    /// The section of the newest release, whose commit is the newest measured one, after the release of that name: the page that it
    /// links to, and the Markdown.
    fn since_release(before: &str) -> Option<(String, String)> {
        let mut sample = sample_data::rich();
        let newest = sample.line.commits[39].sha.clone();
        let checklist = sample.releases.newest.last_mut().and_then(|one| one.checklist.as_mut().ok());
        let filled = checklist.expect("it is there");
        filled.measured = newest;
        filled.previous = (!before.is_empty()).then(|| before.to_owned());
        let filled = filled.clone();
        let heads = sample.heads();
        let catalog = Catalog::new(&sample.input(&heads));
        let section = since(&catalog, Some(&Data::new(&catalog)), &filled)?;
        let Some(Block::Paragraph(note)) = section.blocks.first() else { panic!("it begins with a note") };
        let page = note.parts.iter().find_map(|part| match part {
            Part::Link { to, .. } => Some(to.clone()),
            _ => None,
        });
        Some((page.unwrap_or_default(), Sheet { sections: vec![section], ..Sheet::default() }.markdown()))
    }

    #[test]
    fn a_release_is_compared_with_the_one_before_suite_by_suite() {
        assert_eq!(since_release(""), None, "it names none");
        let (page, text) = since_release("v0.2.0").expect("it names one");
        assert!(page.starts_with("compare/index.html?a="), "no page is of these two: {page}");
        assert!(text.contains("## Against v0.2.0") && text.contains("| cpu | epyc-9354 | "), "{text}");
        let (page, _) = since_release("v0.3.0-<rc>").expect("it names one");
        assert!(page.starts_with("compare/") && page.ends_with(".html"), "neighbours have a page: {page}");
        let (_, text) = since_release("v9").expect("it names one");
        assert!(text.contains("The history has no two measured commits of them"), "{text}");
    }
}
