//! The releases: go or no-go, what blocks, who accepted what, how others check it; and the list of them.

use std::collections::BTreeSet;

use super::frame::prelude::*;
use crate::compare::data::Data;
use crate::compare::pairs::Pairs;
use crate::compare::table::{self, SummaryRow};
use crate::page_selection::run_of;
use crate::phrase::Part;
use crate::text::{capital, short_digest};
use sprag_model::CommitOnLine;
use sprag_model::checklist::{Filled, FilledChecklist, Rests, RuntimeTarget, Status};
use sprag_model::release::{PublishedStatement, ReleaseReport, Released, Sealed};

const MOST_FILES: usize = 200;

/// The banners that are shown, of machines whose environments differ.
const MOST_BANNERS: usize = 5;

/// The pages of the releases and their list; without a release, the page that says how to list one.
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
    let damaged = || "damaged or unreadable".to_owned();
    let section = Rows::new("Releases, newest first", rows)
        .column("Release", "nb", |(one, _)| Phrase::linked(link::release(&one.name), one.name.clone()))
        .column("State", "push", |(release, _)| verdict(release))
        .column("Commit", "nb", |(_, filled)| filled.as_ref().map_or_else(|| number::NONE.into(), commit))
        .column("For", "any", |(_, filled)| or_none(filled.as_ref(), |one| RuntimeTarget::list(&one.targets)))
        .column("Items", "any full", |(_, filled)| filled.as_ref().map_or_else(damaged, counts))
        .column("As of", "nb opt", |(_, filled)| or_none(filled.as_ref(), |filled| date::day(filled.as_of)))
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
    let crumb = Phrase::linked(link::RELEASE_LIST, "Releases").text(" / ").text(release.name.clone());
    let mark = verdict(release);
    let begun = Phrase::from(Mark { word: capital(&mark.word), ..mark }).text(format!(": {}", release.name));
    match &release.checklist {
        Err(fault) => {
            let note = sentence(fault).text(". Nothing waives this.");
            let section = Section::new("blocks", "What blocks").paragraph(note);
            let lede = "Its evidence is damaged or cannot be read, so no status was derived.".into();
            Sheet { crumb, headline: begun, lede, sections: vec![section], ..Sheet::default() }
        }
        Ok(filled) => Sheet {
            crumb,
            headline: begun.text(match (filled.blocking().count(), waived_count(filled)) {
                (0, 0) => String::new(),
                (0, some) => format!(", with {}", counted(some, "waiver", "waivers")),
                (some, _) => format!(" has {}", counted(some, "blocker", "blockers")),
            }),
            lede: signature(release).then(lede(catalog, filled)),
            facts: facts(filled),
            sections: {
                let before = [blocks(catalog, filled), Some(items(catalog, release, filled)), waived(filled)];
                let evidence = [verify(release, filled), files(catalog, filled), derived(catalog, filled)];
                let after = [rollback(catalog, filled), sign_off(filled)];
                let before = before.into_iter().chain([since(catalog, data, filled)]).flatten();
                before.chain(evidence).chain(after).collect()
            },
            ..Sheet::default()
        },
    }
}

fn lede(catalog: &Catalog<'_>, filled: &FilledChecklist) -> Phrase {
    let commit = cell::commit_link(catalog, &filled.commit);
    let mut lede = match filled.tagged {
        true => Phrase::plain("Tagged at ").join(commit),
        false => Phrase::default().strong("Not yet tagged").text(": it would be ").join(commit),
    };
    if filled.measured != filled.commit {
        lede = lede.text(", whose code is that of ").join(cell::commit_link(catalog, &filled.measured));
    }
    lede.text(". Every status is derived from recorded bytes.")
}

fn waived_count(filled: &FilledChecklist) -> usize {
    filled.items.iter().filter(|item| item.status == Status::Waived).count()
}

fn facts(filled: &FilledChecklist) -> Vec<Fact> {
    let blocking = filled.blocking().count();
    let of_status = |is: &dyn Fn(Status) -> bool| filled.items.iter().filter(|item| is(item.status)).count();
    let waived = waived_count(filled);
    let needed = counted(of_status(&|status| status != Status::NotApplicable), "item", "items");
    let targets = RuntimeTarget::list(&filled.targets);
    let passed = of_status(&|status| status == Status::Pass);
    let and_waived = match waived {
        0 => String::new(),
        some => format!(", {} waived", counted(some, "is", "are")),
    };
    let or_nothing =
        |n: usize, words: [&str; 3]| if n == 0 { words[0].to_owned() } else { counted(n, words[1], words[2]) };
    vec![
        Fact::new(
            "May it go?",
            go(filled.go),
            format!("{} of {needed} pass{and_waived}, for {targets}, as of {}", count(passed), date::day(filled.as_of)),
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
            "Offline, from a clone, by the commands below",
        ),
    ]
}

fn waived(filled: &FilledChecklist) -> Option<Section> {
    let rows = filled.items.iter().filter_map(|item| Some((item, item.waiver.as_ref()?)));
    Rows::new("Waivers of items of this release", rows)
        .column("Item", "nb", |(item, _)| Phrase::code(shortened(&item.id, ID)))
        .column("State", "push", |(item, waiver)| match (waiver.in_force, item.status) {
            (true, Status::Waived) => Mark::new(Tone::Doubt, "◆", "in force"),
            (true, _) => Mark::new(Tone::Plain, "=", "not needed"),
            (false, _) => Mark::new(Tone::Worse, "●", "expired, or not yet in force"),
        })
        .column("Reason", "any full", |(_, waiver)| shortened(&waiver.reason, SENTENCE))
        .column("Author", "any full", |(_, waiver)| shortened(&waiver.author, NAME))
        .column("From", "nb", |(_, waiver)| date::calendar_day(waiver.date))
        .column("Until", "nb", |(_, waiver)| date::calendar_day(waiver.expires))
        .column("Entry", "place opt2", |(_, waiver)| Phrase::code(shortened(&waiver.entry, NAME)))
        .section("accepted", "Who accepted what", "", "")
        .unless_empty()
}

fn verify(release: &ReleaseReport, filled: &FilledChecklist) -> Section {
    let FilledChecklist { release: name, history, .. } = filled;
    let attest = format!("sprag release attest {name} --out evidence");
    let publish = format!("mkdir -p release/{name} && cp evidence/statement*.json release/{name}/");
    let publish =
        release.statement.is_none().then_some(("Publish it here from the next build on, and commit it:", publish));
    let derive = "sprag release verify evidence --repository CLONE".to_owned();
    let steps = [("Write the evidence:", attest)].into_iter().chain(publish).chain([
        ("Check its files against their digests:", "cd evidence && sha256sum -c --strict SHA256SUMS".to_owned()),
        ("Derive every status again from a clone:", derive),
    ]);
    let list = [
        Phrase::plain("Commit: ").id(filled.commit.clone()),
        Phrase::plain("History: ").id(history.commit.clone()).text(format!(", {} runs", count(history.size as usize))),
        Phrase::plain("Merkle root of the history: ").id(history.root.clone()),
    ];
    let rewritten = "To detect a history that was rewritten as a whole, keep a copy of the Merkle root elsewhere, for example in the release notes.";
    let note =
        format!("None of it needs a network. {rewritten} No digest proves that the numbers were measured honestly.");
    let list = downloads(release).into_iter().chain(list);
    let section = Section::new("verify", "How to verify it").paragraph(note);
    let section = steps.fold(section, |section, (words, command)| section.paragraph(words).commands(vec![command]));
    section.items(list)
}

fn files(catalog: &Catalog<'_>, filled: &FilledChecklist) -> Section {
    let files: BTreeSet<&Rests> = filled.items.iter().flat_map(|item| &item.rests_on).collect();
    Rows::new("Files that the statuses are derived from, with their digests", files)
        .first(MOST_FILES)
        .column("File", "any full", |one| {
            Phrase::page_name(record_place(catalog, &one.path), shortened(&one.path, NAME))
        })
        .column("Bytes", "n push", |file| {
            let record = run_of(&file.path).filter(|id| catalog.selection.records.contains(id));
            Phrase::default().to(record.map(link::record), count(file.bytes as usize))
        })
        .column("SHA-256", "any full", |file| Phrase::code(file.sha256.clone()))
        .section(
            "files",
            "Evidence files",
            "A name leads to the page of a record, its bytes to the file.",
            "No file is recorded.",
        )
}

fn rollback(catalog: &Catalog<'_>, filled: &FilledChecklist) -> Section {
    let none = "It names no previous release";
    let before = match (&filled.previous, tag_before(catalog, &filled.commit)) {
        (Some(name), _) => Phrase::plain("The previous release is ").id(name.clone()),
        (None, Some(tag)) => Phrase::plain(format!("{none}; the newest tag before its commit is ")).id(tag),
        (None, None) => Phrase::plain(none),
    };
    let before = before.text(". ");
    let triggers = filled.rollback.triggers.iter().map(|one| Phrase::plain("Go back where ").join(sentence(one)));
    let steps = (1..).zip(&filled.rollback.steps);
    let steps = steps.map(|(number, one)| Phrase::plain(format!("Step {number}: ")).join(sentence(one)));
    let list: Vec<Phrase> = triggers.chain(steps).collect();
    let note = if list.is_empty() { before.text("No rollback is planned.") } else { before };
    Section::new("back", "How to go back").paragraph(note).items(list)
}

fn tag_before<'a>(catalog: &Catalog<'a>, sha: &str) -> Option<&'a str> {
    let before = &catalog.line.commits[..catalog.position(sha)?];
    before.iter().rev().find_map(|commit| commit.tags.first()).map(String::as_str)
}

fn sign_off(filled: &FilledChecklist) -> Section {
    let text = |text: &Option<String>| or_none(text.as_ref(), |text| shortened(text, NAME));
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
        Some(Ok(PublishedStatement { sealed, .. })) => {
            let words = Phrase::plain("Its ").link(link::release_statement(&release.name), "statement").text(" is ");
            let Some(Sealed { keyid, checked, .. }) = sealed else { return words.strong("not signed").text(".") };
            let words = words.strong("signed");
            if *checked {
                return words
                    .text(" by the key ")
                    .id(shortened(keyid, NAME))
                    .text(". Sprag cannot tell whose key it is.");
            }
            let words = words.text(" with an SSH key, which is not checked here: ");
            words.id("sprag release verify --allowed-signers FILE").text(" checks it.")
        }
    }
}

fn downloads(release: &ReleaseReport) -> Option<Phrase> {
    let Some(Ok(PublishedStatement { folder, sealed, .. })) = &release.statement else { return None };
    let words = Phrase::plain("Download: ").link(link::release_statement(&release.name), "statement.json");
    let mut words = words.text(" (in-toto Statement v1, test-result v0.1)");
    if sealed.is_some() {
        let envelope = link::release_envelope(&release.name);
        words = words.text(" and ").link(envelope, "statement.dsse.json").text(", its envelope");
    }
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
        .text(", series by series. The mean is geometric, over the changes of series with a verdict; positive is worse. Its limits assume that the errors of all series are correlated.");
    let banners = table.banners.iter().take(MOST_BANNERS);
    let banners = banners.map(|[strong, rest]| Phrase::default().strong(strong.clone()).text(format!(" {rest}")));
    let judged = |of: &SummaryRow| format!("{} of {}", count(of.counts[0] - of.counts[4]), count(of.counts[0]));
    let rows = Rows::new(format!("Each suite on each machine against {before}"), &table.summary)
        .column("Suite", "any", |of| of.suite.clone())
        .column("Machine", "any push", |of| of.machine.clone())
        .column("With a verdict", "n", |of| judged(of))
        .column(capital(worse), "n", |of| count(of.counts[1]))
        .column(capital(better), "n", |of| count(of.counts[2]))
        .column("Geometric mean, 95 % limits", "n", |of| match of.interval.is_empty() {
            true => of.mean.clone(),
            false => format!("{} ({})", of.mean, of.interval),
        });
    Some(section.paragraph(note).items(banners).rows(rows).wide())
}

/// The number of the commit whose runs the evidence of a release uses, or of the one with its tag.
fn number_of(catalog: &Catalog<'_>, data: &Data, name: &str) -> Option<usize> {
    let listed = catalog.input.releases.newest.iter().find(|release| release.name == name);
    let measured = listed.and_then(|release| release.checklist.as_ref().ok());
    let by_tag = || {
        let mut all = data.commits.iter().chain(&data.tagged);
        all.position(|commit| commit.tags.iter().any(|tag| tag == name))
    };
    measured.and_then(|filled| catalog.compared_number(&filled.measured)).or_else(by_tag)
}

/// Words in backticks are names.
pub(super) fn sentence(text: &str) -> Phrase {
    Phrase::quoted(&shortened(text, SENTENCE))
}

fn status_mark(item: &Filled) -> Mark {
    let (tone, glyph) = match item.status {
        Status::Pass => (Tone::Better, "✓"),
        Status::Fail => (Tone::Worse, "✕"),
        Status::Pending => (Tone::Doubt, "○"),
        Status::Waived => (Tone::Doubt, "◆"),
        Status::NotApplicable => (Tone::Plain, "–"),
    };
    Mark::new(tone, glyph, item.status.word())
}

/// The longest sentence about an item, the longest reason in its row, and the longest name of a person or a file, in characters.
const SENTENCE: usize = 600;
const REASON: usize = 120;
const NAME: usize = 200;
const ID: usize = 40;
const MOST_RUNS: usize = 2;

/// Of the evidence what differs between items: without the files of baselines, which the list of evidence has.
fn short_reason(why: &str) -> String {
    let clause = |clause: &str| match (clause.find(", against "), clause.rfind("): ")) {
        (Some(begin), Some(end)) if begin < end => format!("{}: {}", &clause[..begin], &clause[end + 3..]),
        _ => clause.to_owned(),
    };
    why.split("; ").map(clause).collect::<Vec<String>>().join("; ")
}

fn blocks(catalog: &Catalog<'_>, filled: &FilledChecklist) -> Option<Section> {
    let list: Vec<Phrase> = in_order(filled)
        .into_iter()
        .filter(|item| item.status.blocks())
        .map(|item| {
            let phrase = Phrase::from(status_mark(item)).text(" ").strong(shortened(&item.title, NAME));
            let phrase = phrase.text(": ").join(evidence(catalog, &short_reason(&item.why))).text(".");
            let Some(mend) = &item.mend else { return phrase };
            phrase.text(" Next: ").join(sentence(mend)).text(".")
        })
        .collect();
    (!list.is_empty()).then(|| Section::new("blocks", "What blocks").items(list))
}

/// What fails first, then what is missing, waived and passed.
fn in_order(filled: &FilledChecklist) -> Vec<&Filled> {
    let rank = |item: &Filled| match item.status {
        Status::Fail => 0,
        Status::Pending => 1,
        Status::Waived => 2,
        Status::Pass => 3,
        Status::NotApplicable => 4,
    };
    let mut items: Vec<&Filled> = filled.items.iter().collect();
    items.sort_by_key(|item| rank(item));
    items
}

fn items(catalog: &Catalog<'_>, release: &ReleaseReport, filled: &FilledChecklist) -> Section {
    let figures = |item: &Filled| release.figures.get(&item.id).cloned().unwrap_or_default();
    let or_none = |words: String| if words.is_empty() { number::NONE.to_owned() } else { words };
    let note = "Failures first. A measured figure leads to its record. Margin in points: the distance of the tightest metric from \
                its limit, in percent of its baseline.";
    let section = Rows::new("Items of the checklist, failures first", in_order(filled))
        .column("Item", "place", |item| shortened(&item.title, NAME))
        .column("Id", "nb opt", |item| Phrase::code(shortened(&item.id, ID)))
        .column("Status", "push", |item| {
            let waiver = item.waiver.as_ref().filter(|_| item.status == Status::Waived);
            let why = waiver.map_or_else(String::new, |waiver| shortened(&waiver.reason, REASON));
            Cell::noted(status_mark(item), why.into())
        })
        .column("Limit", "opt2", |item| or_none(figures(item).limit))
        .column("Measured", "", |item| {
            Phrase::default().to(first_record(catalog, item), or_none(figures(item).measured))
        })
        .column("Margin", "nb opt2", |item| or_none(figures(item).margin))
        .column("Seen in", "place opt", |item| seen_in(catalog, item))
        .tint(|item| item.status == Status::Fail)
        .section("items", "Checklist", note, "It has no item.");
    let gone: BTreeSet<&str> = filled.items.iter().flat_map(|item| events(&item.why)).collect();
    let gone: Vec<&str> = gone.into_iter().filter(|id| catalog.event(id).is_none()).collect();
    match gone.is_empty() {
        true => section,
        false => section.paragraph(format!(
            "Events that the present history no longer has: {}. Runs that came later showed that their levels did not last, or moved \
             them into other events; a waiver of one has nothing left to cover.",
            gone.join(", ")
        )),
    }
}

/// The page of the first record or event that the figure of an item comes from.
fn first_record(catalog: &Catalog<'_>, item: &Filled) -> Option<String> {
    let record = item.rests_on.iter().find_map(|file| record_place(catalog, &file.path));
    record.or_else(|| events(&item.why).find_map(|event| catalog.event_page(event)))
}

/// The evidence of each item in full, and the rule by which its status follows.
fn derived(catalog: &Catalog<'_>, filled: &FilledChecklist) -> Section {
    let items = in_order(filled);
    let summary = counted(items.len(), "item", "items");
    Section::new("derived", "How each status is derived").rows(
        Rows::new("The evidence and the rule of each item", items)
            .column("Item", "nb", |item| Phrase::code(shortened(&item.id, ID)))
            .column("What the evidence says", "any full", |item| evidence(catalog, &item.why))
            .column("Rule", "push", |item| item.rule.replace('_', " "))
            .column("Evidence made by", "any", |item| Phrase::code(shortened(&item.producer, NAME)))
            .folded(summary),
    )
}

/// The page about the run whose record has that path.
fn record_place(catalog: &Catalog<'_>, path: &str) -> Option<String> {
    catalog.run_place(run_of(path)?)
}

fn seen_in(catalog: &Catalog<'_>, item: &Filled) -> Phrase {
    let runs: Vec<&str> = item.rests_on.iter().filter_map(|file| run_of(&file.path)).collect();
    if runs.is_empty() {
        return Phrase::plain(number::NONE);
    }
    let mut words = Phrase::default();
    for (place, id) in runs.iter().take(MOST_RUNS).enumerate() {
        words = words.text(if place == 0 { "" } else { ", " });
        if let Some(run) = catalog.run(id) {
            words = words.to(catalog.machine_page(&run.machine.id), shortened(&run.machine.name, NAME)).text(" ");
        }
        words = words.name(catalog.run_place(id), short_digest(id));
    }
    match runs.len().saturating_sub(MOST_RUNS) {
        0 => words,
        more => words.text(format!(" and {} more", count(more))),
    }
}

/// A sentence of evidence, in which events, commits and machines lead to their pages.
fn evidence(catalog: &Catalog<'_>, text: &str) -> Phrase {
    sentence(text).parts.into_iter().enumerate().fold(Phrase::default(), |phrase, (place, part)| match part {
        Part::Text(words) => phrase.join(linked(catalog, &words, place == 0)),
        part => phrase.join(Phrase { parts: vec![part] }),
    })
}

/// `begins` where a machine may be named first.
fn linked(catalog: &Catalog<'_>, words: &str, begins: bool) -> Phrase {
    let mut phrase = Phrase::default();
    for (place, clause) in words.split("; ").enumerate() {
        let mut rest = clause;
        if place > 0 {
            phrase = phrase.text("; ");
        }
        if let Some((name, page)) = machine(catalog, clause).filter(|_| begins || place > 0) {
            phrase = phrase.link(page, name);
            rest = &clause[name.len()..];
        }
        let mut before = "";
        for token in rest.split_inclusive(' ') {
            let word = bare(token);
            phrase = match place_of(catalog, word, before == "at") {
                Some(to) => {
                    let (head, tail) = token.split_once(word).unwrap_or((token, ""));
                    phrase.text(head).link(to, word).text(tail)
                }
                None => phrase.text(token),
            };
            before = token.trim_end();
        }
    }
    phrase
}

fn machine<'c>(catalog: &Catalog<'_>, clause: &'c str) -> Option<(&'c str, String)> {
    let is_first = |name: &str| clause.strip_prefix(name).is_some_and(|rest| rest.starts_with([':', ' ']));
    let named = catalog.machines.values().map(|one| one.machine).filter(|one| is_first(&one.name));
    let longest = named.max_by_key(|one| one.name.len())?;
    Some((&clause[..longest.name.len()], catalog.machine_page(&longest.id)?))
}

/// A word without the punctuation around it.
fn bare(token: &str) -> &str {
    token.trim_start_matches('(').trim_end_matches([' ', ',', ';', '.', ':', ')'])
}

/// Where to read of what a word names: an event, a commit, or behind `at` a tag.
fn place_of(catalog: &Catalog<'_>, word: &str, is_place: bool) -> Option<String> {
    if is_event(word) {
        return catalog.event_page(word);
    }
    let is_commit = (7..=40).contains(&word.len()) && is_hex(word);
    let is_it = |commit: &&CommitOnLine| {
        (is_commit && commit.sha.starts_with(word)) || (is_place && commit.tags.iter().any(|tag| tag == word))
    };
    let commit = (is_commit || is_place).then(|| catalog.line.commits.iter().find(is_it))??;
    catalog.commit_place(&commit.sha)
}

fn is_hex(word: &str) -> bool {
    word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_event(word: &str) -> bool {
    word.strip_prefix("e-").is_some_and(|digits| digits.len() >= 6 && is_hex(digits))
}

fn events(text: &str) -> impl Iterator<Item = &str> {
    text.split(' ').map(bare).filter(|word| is_event(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_data;
    use crate::sheet::Block;
    use sprag_model::release::Figures;
    use sprag_model::run::RECORD_ROOT;

    fn links(phrase: &Phrase) -> Vec<(&str, &str)> {
        let links = phrase.parts.iter().filter_map(|part| match part {
            Part::Link { to, words, .. } => Some((to.as_str(), words.as_str())),
            _ => None,
        });
        links.collect()
    }

    #[test]
    fn a_page_says_whether_it_is_signed_and_by_whom() {
        let published = |keyid: Option<(&str, bool)>| {
            let sealed = keyid.map(|(keyid, checked)| Sealed { bytes: b"{1}".to_vec(), keyid: keyid.into(), checked });
            Ok(PublishedStatement { folder: "release/v1".to_owned(), statement: b"{}".to_vec(), sealed })
        };
        let check = |statement, expected: &str, files_there: &[&str]| {
            let (checklist, figures) = (Err(String::new()), std::collections::BTreeMap::new());
            let release = ReleaseReport { name: "v1".to_owned(), checklist, figures, statement };
            assert_eq!(signature(&release).words(), expected);
            let files = statement_files(&release);
            let paths: Vec<&str> = files.iter().map(|page| &*page.path).collect();
            assert_eq!(paths, files_there);
            assert!(files.first().is_none_or(|page| page.bytes == b"{}"));
            assert_eq!(downloads(&release).is_some(), !paths.is_empty());
        };
        let (statement, envelope) = ("release/v1.statement.json", "release/v1.statement.dsse.json");
        check(None, "Not signed: no statement of it is in release/v1/.", &[]);
        check(Some(Err("`x` is not about v1".to_owned())), "Not signed: x is not about v1.", &[]);
        check(Some(published(None)), "Its statement is not signed.", &[statement]);
        let by_key = "Its statement is signed by the key ed25519:ab. Sprag cannot tell whose key it is.";
        check(Some(published(Some(("ed25519:ab", true)))), by_key, &[statement, envelope]);
        let by_ssh = "Its statement is signed with an SSH key, which is not checked here: sprag release verify --allowed-signers FILE checks it.";
        check(Some(published(Some(("ssh", false)))), by_ssh, &[statement, envelope]);
    }

    #[test]
    fn a_release_is_compared_with_the_one_before_suite_by_suite() {
        let mut sample = sample_data::rich();
        let newest = sample.line.commits[39].sha.clone();
        let filled = sample.releases.newest.last_mut().and_then(|one| one.checklist.as_mut().ok());
        filled.expect("it is there").measured = newest;
        let catalog = sample.catalog();
        let data = Data::new(&catalog);
        let filled = sample.releases.newest.last().and_then(|one| one.checklist.as_ref().ok()).expect("it is there");
        // The page that the section links to, and its Markdown.
        let since = |before: Option<&str>| {
            let filled = FilledChecklist { previous: before.map(str::to_owned), ..filled.clone() };
            let section = since(&catalog, Some(&data), &filled)?;
            let Some(Block::Paragraph(note)) = section.blocks.first() else { panic!("it begins with a note") };
            let page = links(note).first().map_or_else(String::new, |(to, _)| (*to).to_owned());
            Some((page, Sheet { sections: vec![section], ..Sheet::default() }.markdown()))
        };
        assert_eq!(since(None), None);
        let (page, text) = since(Some("v0.2.0")).expect("it names one");
        assert!(page.starts_with("compare/index.html?a="), "no page is of these two: {page}");
        assert!(text.contains("## Against v0.2.0") && text.contains("| cpu | epyc-9354 | "), "{text}");
        let (page, _) = since(Some("v0.3.0-<rc>")).expect("it names one");
        assert!(page.starts_with("compare/") && page.ends_with(".html"), "neighbours have a page: {page}");
        let (_, text) = since(Some("v9")).expect("it names one");
        assert!(text.contains("The history has no two measured commits of them"), "{text}");
    }

    #[test]
    fn names_of_the_evidence_lead_to_their_pages_and_others_stay_plain() {
        let sample = sample_data::rich();
        let catalog = sample.catalog();
        let machine = &sample.runs[0].run.machine;
        let newest = &sample.line.commits[39].sha;
        let tagged = sample.line.commits.iter().find(|commit| commit.tags.iter().any(|tag| tag == "v0.2.0"));
        let text = format!(
            "{}: 2 regressions are open: e-7c1f03 at {}, +8.1 % at worst, e-000000 at v0.2.0, of (0123456789ab); 1234567 bytes",
            machine.name,
            &newest[..7]
        );
        let phrase = evidence(&catalog, &text);
        assert_eq!(phrase.words(), text);
        let tag = catalog.commit_place(&tagged.expect("it is tagged").sha).expect("it was measured");
        let expected = [
            (&*link::machine(&machine.id), &*machine.name),
            (&link::event("e-7c1f03"), "e-7c1f03"),
            (&link::commit(newest), &newest[..7]),
            (&tag, "v0.2.0"),
        ];
        assert_eq!(links(&phrase), expected);
        assert_eq!(events(&text).collect::<Vec<_>>(), ["e-7c1f03", "e-000000"]);
    }

    #[test]
    fn what_blocks_has_a_short_reason() {
        let why = "m: 1 regressed, 6 unchanged, against baselines/cpu.json (of 3ed2ba1, 2026-10-14): tile @fast; n: 2 missing";
        assert_eq!(short_reason(why), "m: 1 regressed, 6 unchanged: tile @fast; n: 2 missing");
        assert_eq!(short_reason("3 regressions are open: e-1"), "3 regressions are open: e-1");
    }

    #[test]
    fn an_item_says_what_was_measured_and_which_runs_saw_it() {
        let mut sample = sample_data::rich();
        let mut release = sample.releases.newest.pop().expect("there is one");
        let item = &mut release.checklist.as_mut().expect("it came to something").items[0];
        let names = [0, 1].map(|place| sample.runs[place].path.rsplit('/').next().unwrap_or_default());
        let like = item.rests_on[0].clone();
        let files = names.into_iter().chain(["a-b-0123456789abcdef.json"]);
        let files = files.map(|name| format!("{RECORD_ROOT}/cpu/2026/11/{name}"));
        item.rests_on = files.map(|path| Rests { path, ..like.clone() }).collect();
        item.why = "2 regressions are open: e-7c1f03, e-00ff00".to_owned();
        let [limit, measured, margin] = ["0 open", "2 open", "2 over"].map(str::to_owned);
        release.figures.insert(item.id.clone(), Figures { limit, measured, margin });
        let section = items(&sample.catalog(), &release, release.checklist.as_ref().expect("it came to something"));
        let rest = "Events that the present history no longer has: e-00ff00. Runs that came later showed that their levels did \
                    not last, or moved them into other events; a waiver of one has nothing left to cover.";
        assert!(section.prose().ends_with(rest), "{}", section.prose());
        let text = Sheet { sections: vec![section], ..Sheet::default() }.markdown();
        let row = text.lines().find(|line| line.contains("| 0 open |")).expect("it is there");
        assert!(row.contains("| 0 open | 2 open | 2 over | "), "{row}");
        assert!(row.contains(short_digest(&sample.runs[0].id)) && row.contains(" and 1 more"), "{row}");
    }
}
