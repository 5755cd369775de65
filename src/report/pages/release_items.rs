//! The items of a release: what each asks and what was found, where that was seen, and what blocks.

use std::collections::{BTreeMap, BTreeSet};

use crate::catalog::Catalog;
use crate::mark::{Mark, Tone};
use crate::number::{self, count, counted};
use crate::phrase::{Part, Phrase};
use crate::sheet::{Rows, Section};
use crate::text::{short_digest, shortened};
use sprag_model::checklist::{Filled, FilledChecklist, Status};
use sprag_model::commit::CommitOnLine;
use sprag_model::release::ReleaseReport;
use sprag_model::run::RECORD_ROOT;

/// A sentence, cut where it is very long; words in backticks are names.
pub(super) fn sentence(text: &str) -> Phrase {
    Phrase::quoted(&shortened(text, SENTENCE))
}

pub(super) fn mark(item: &Filled) -> Mark {
    let (tone, glyph) = match item.status {
        Status::Pass => (Tone::Better, "✓"),
        Status::Fail => (Tone::Worse, "✕"),
        Status::Pending => (Tone::Doubt, "○"),
        Status::Waived => (Tone::Doubt, "◆"),
        Status::NotApplicable => (Tone::Plain, "–"),
    };
    Mark::new(tone, glyph, item.status.word())
}

/// The longest sentence about an item, in characters.
pub(super) const SENTENCE: usize = 600;

/// The longest name of a person or a file.
pub(super) const NAME: usize = 200;

const MOST_RUNS: usize = 4;

pub(super) fn blocks(catalog: &Catalog<'_>, filled: &FilledChecklist) -> Section {
    let list: Vec<Phrase> = filled
        .blocking()
        .map(|item| {
            let phrase = Phrase::from(mark(item)).text(" ").id(item.id.clone());
            let phrase = phrase.text(": ").join(evidence(catalog, &item.why)).text(".");
            let Some(mend) = &item.mend else { return phrase };
            phrase.text(" Next: ").join(sentence(mend)).text(".")
        })
        .collect();
    let note = if list.is_empty() { Phrase::plain("Nothing.") } else { Phrase::default() };
    Section::new("blocks", "What blocks").paragraph(note).items(list)
}

pub(super) fn items(catalog: &Catalog<'_>, release: &ReleaseReport, filled: &FilledChecklist) -> Section {
    let figures = |item: &Filled| release.figures.get(&item.id).cloned().unwrap_or_default();
    let or_none = |words: String| if words.is_empty() { number::NONE.to_owned() } else { words };
    let note = "Margin in points: the distance of the tightest metric from its limit, in percent of its baseline.";
    let section = Rows::new("Items of the checklist, in its order", &filled.items)
        .column("Item", "place", |item| Phrase::code(item.id.clone()))
        .column("Status", "push", |item| mark(item))
        .column("Asked", "any full", |item| shortened(&item.title, NAME))
        .column("What the evidence says", "any full", |item| evidence(catalog, &item.why))
        .column("Limit", "opt2", |item| or_none(figures(item).limit))
        .column("Measured", "", |item| or_none(figures(item).measured))
        .column("Margin", "nb opt2", |item| or_none(figures(item).margin))
        .column("Seen in", "opt", |item| seen_in(catalog, item))
        .tint(|item| item.status == Status::Fail)
        .section("items", "Checklist", note, "It has no item.");
    let gone: BTreeSet<&str> = filled.items.iter().flat_map(|item| events(&item.why)).collect();
    let gone: Vec<&str> = gone.into_iter().filter(|id| catalog.event(id).is_none()).collect();
    match gone.is_empty() {
        true => section,
        false => section.paragraph(format!("Events that the present history no longer has: {}.", gone.join(", "))),
    }
}

/// By which rule each status is derived, and what makes the evidence.
pub(super) fn derived(filled: &FilledChecklist) -> Section {
    Rows::new("The rule of each item", &filled.items)
        .column("Item", "place", |item| Phrase::code(item.id.clone()))
        .column("Rule", "push", |item| item.rule.replace('_', " "))
        .column("Evidence made by", "any full", |item| Phrase::code(shortened(&item.producer, NAME)))
        .section("derived", "How each status is derived", "", "It has no item.")
}

/// The page about the run whose record has that path; none where it is no record, or no longer in the history.
pub(super) fn record_place(catalog: &Catalog<'_>, path: &str) -> Option<String> {
    catalog.run_place(run_of(path)?)
}

fn run_of(path: &str) -> Option<&str> {
    let name = path.strip_prefix(RECORD_ROOT)?.strip_suffix(".json")?;
    Some(name.rsplit_once('-')?.1)
}

/// The runs that an item rests on: how many on how many machines saw the same, and where to read of each.
fn seen_in(catalog: &Catalog<'_>, item: &Filled) -> Phrase {
    let runs: Vec<&str> = item.rests_on.iter().filter_map(|file| run_of(&file.path)).collect();
    if runs.is_empty() {
        return Phrase::plain(number::NONE);
    }
    let mut machines: BTreeMap<&str, (String, &str)> = BTreeMap::new();
    for run in runs.iter().filter_map(|id| catalog.run(id)) {
        machines.insert(&run.id, (run.machine.name.clone(), &run.machine.id));
    }
    let distinct = machines.values().map(|(_, id)| *id).collect::<BTreeSet<&str>>().len();
    let of_runs = counted(runs.len(), "run", "runs");
    let mut words = Phrase::plain(match distinct {
        0 => format!("{of_runs}: "),
        _ => format!("{of_runs} on {}: ", counted(distinct, "machine", "machines")),
    });
    for (place, id) in runs.iter().take(MOST_RUNS).enumerate() {
        words = words.text(if place == 0 { "" } else { ", " });
        if let Some((name, machine)) = machines.get(id) {
            words = words.to(catalog.machine_page(machine), shortened(name, NAME)).text(" ");
        }
        words = words.name(catalog.run_place(id), short_digest(id));
    }
    match runs.len().saturating_sub(MOST_RUNS) {
        0 => words,
        more => words.text(format!(" and {} more", count(more))),
    }
}

/// A sentence of evidence, in which events, commits and machines lead to their pages; what has none stays a plain word.
pub(super) fn evidence(catalog: &Catalog<'_>, text: &str) -> Phrase {
    sentence(text).parts.into_iter().enumerate().fold(Phrase::default(), |phrase, (place, part)| match part {
        Part::Text(words) => phrase.join(linked(catalog, &words, place == 0)),
        part => phrase.join(Phrase { parts: vec![part] }),
    })
}

/// Plain words with links in them; `begins` where a machine may be named first.
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

/// The machine that a clause begins with, and its page.
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
    use crate::link;
    use crate::sample_data;
    use sprag_model::release::Figures;

    #[test]
    fn names_of_the_evidence_lead_to_their_pages_and_others_stay_plain() {
        let sample = sample_data::rich();
        let heads = sample.heads();
        let catalog = Catalog::new(&sample.input(&heads));
        let machine = &sample.runs[0].run.machine;
        let newest = &sample.line.commits[39].sha;
        let tagged = sample.line.commits.iter().find(|commit| commit.tags.iter().any(|tag| tag == "v0.2.0"));
        let text = format!(
            "{}: 2 regressions stand open: e-7c1f03 at {}, +8.1 % at worst, e-000000 at v0.2.0, of (0123456789ab); 1234567 bytes",
            machine.name,
            &newest[..7]
        );
        let phrase = evidence(&catalog, &text);
        assert_eq!(phrase.words(), text);
        let link = |part: &Part| match part {
            Part::Link { to, words, .. } => Some((to.clone(), words.clone())),
            _ => None,
        };
        let links: Vec<(String, String)> = phrase.parts.iter().filter_map(link).collect();
        let tag = catalog.commit_place(&tagged.expect("it is tagged").sha).expect("it was measured");
        let expected = [
            (link::machine(&machine.id), &*machine.name),
            (link::event("e-7c1f03"), "e-7c1f03"),
            (link::commit(newest), &newest[..7]),
            (tag, "v0.2.0"),
        ];
        assert_eq!(links, expected.map(|(to, words)| (to, words.to_owned())));
        assert_eq!(events(&text).collect::<Vec<_>>(), ["e-7c1f03", "e-000000"]);
    }

    #[test]
    fn an_item_says_what_was_measured_and_which_runs_saw_it() {
        let mut sample = sample_data::rich();
        let release = sample.releases.newest.last_mut().expect("there is one");
        let filled = release.checklist.as_mut().expect("it came to something");
        let record =
            |place: usize| format!("{RECORD_ROOT}/cpu/2026/11/{}", sample.runs[place].path.rsplit('/').next().unwrap());
        let files: Vec<String> =
            [record(0), record(1), format!("{RECORD_ROOT}/cpu/2026/11/a-b-0123456789abcdef.json")].into();
        filled.items[0].rests_on.truncate(1);
        let like = filled.items[0].rests_on.remove(0);
        filled.items[0].rests_on =
            files.into_iter().map(|path| sprag_model::checklist::Rests { path, ..like.clone() }).collect();
        filled.items[0].why = "2 regressions stand open: e-7c1f03, e-00ff00".to_owned();
        let figures =
            Figures { limit: "0 open".to_owned(), measured: "2 open".to_owned(), margin: "2 over".to_owned() };
        release.figures.insert(filled.items[0].id.clone(), figures);
        let heads = sample.heads();
        let catalog = Catalog::new(&sample.input(&heads));
        let release = sample.releases.newest.last().expect("there is one");
        let section = items(&catalog, release, release.checklist.as_ref().expect("it came to something"));
        let rest = "Events that the present history no longer has: e-00ff00.";
        assert!(section.prose().ends_with(rest), "{}", section.prose());
        let text = crate::sheet::Sheet { sections: vec![section], ..Default::default() }.markdown();
        let row = text.lines().find(|line| line.contains("| 0 open |")).expect("it is there").to_owned();
        assert!(row.contains("| 0 open | 2 open | 2 over | 3 runs on 2 machines: "), "{row}");
        assert!(row.contains(short_digest(&sample.runs[0].id)) && row.contains("01234567"), "{row}");
    }
}
