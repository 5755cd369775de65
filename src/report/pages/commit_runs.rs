//! The runs of a commit: a sentence where all of them came to the same, else a table.
//!
//! Where one has no page, the comparison with the commit before has its values, to which a fact of the page leads.

use super::commit::ROWS;
use crate::catalog::Catalog;
use crate::date;
use crate::mark::Mark;
use crate::number::{self, count, counted};
use crate::phrase::Phrase;
use crate::sheet::{Row, Section};
use sprag_model::head::RunHead;
use sprag_model::run::RunStatus;

/// The runs of a commit, the newest first.
pub(super) fn section(catalog: &Catalog<'_>, runs: &[&RunHead]) -> Section {
    let texts = ("runs", "Runs", Phrase::default(), "No run of it is known.");
    let is_alike = |one: &&RunHead| one.machine.id == runs[0].machine.id && came_to(one) == came_to(runs[0]);
    if runs.len() > 1 && runs.iter().all(is_alike) {
        return sentence(catalog, runs);
    }
    let row = |run: &&RunHead| {
        let [status, measured, numbers] = came_to(run);
        let (machine, time) = (Phrase::plain(&*run.machine.name), Phrase::plain(date::moment(run.timestamp)));
        Row::of([suite(Phrase::default(), catalog, run), machine, time, status, measured, numbers])
    };
    let columns = [
        ("Suite", ""),
        ("Machine", "place"),
        ("Began, UTC", "nb push"),
        ("Status", ""),
        ("Benchmarks", "n opt2"),
        ("Numbers", ""),
    ];
    Section::of_table(texts, ("Runs of this commit, newest first", &columns), runs.iter().map(row).collect())
        .told_once(&["Machine", "Status", "Benchmarks", "Numbers"])
        .cut(ROWS)
}

/// What a run came to: its status, how many benchmarks were measured, and what its numbers are worth.
fn came_to(run: &RunHead) -> [Phrase; 3] {
    let measured = match run.failed {
        _ if run.status != RunStatus::Ok => number::NONE.to_owned(),
        0 => count(run.benchmarks),
        failed => format!("{}, {} failed", count(run.benchmarks - failed), count(failed)),
    };
    let [state, numbers] =
        [Mark::of_status(run.status), Mark::of_run_quality(run)].map(|mark| Phrase::default().mark(mark));
    [state, Phrase::plain(measured), numbers]
}

/// The suite of a run, with a link to its page where it has one.
fn suite(words: Phrase, catalog: &Catalog<'_>, run: &RunHead) -> Phrase {
    match catalog.run_page(&run.id) {
        Some(page) => words.link(page, &*run.suite),
        None => words.text(&*run.suite),
    }
}

/// Runs of one machine that came to the same.
fn sentence(catalog: &Catalog<'_>, runs: &[&RunHead]) -> Section {
    let [status, measured, numbers] = came_to(runs[0]);
    let (first, last) = (runs[runs.len() - 1].timestamp, runs[0].timestamp);
    let note = Phrase::plain(format!("Each on {}: ", runs[0].machine.name))
        .join(status)
        .text(", benchmarks ")
        .join(measured)
        .text(", numbers ")
        .join(numbers)
        .text(format!(". The first began {}, the last {} UTC.", date::moment(first), date::moment(last)));
    let mut suites = Phrase::default();
    for (place, run) in runs.iter().take(ROWS).enumerate() {
        suites = suite(if place > 0 { suites.text(", ") } else { suites }, catalog, run);
    }
    let rest = match runs.len().saturating_sub(ROWS) {
        0 => Phrase::default(),
        more => Phrase::plain(format!("{} not listed here.", counted(more, "more run is", "more runs are"))),
    };
    Section { id: "runs", heading: "Runs".to_owned(), note, list: vec![suites], rest, ..Section::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_data;

    #[test]
    fn runs_that_came_to_the_same_are_a_sentence() {
        let sample = sample_data::rich();
        let mut heads = sample.heads();
        let commit = heads[0].commit.clone();
        let machine = heads[0].machine.clone();
        let told = |heads: &[RunHead]| {
            let input = sample.input(heads);
            let runs: Vec<&RunHead> = heads.iter().filter(|head| head.commit == commit).collect();
            section(&Catalog::new(&input), &runs)
        };
        assert!(told(&heads).table.is_some_and(|table| table.rows.len() > 1));
        heads.retain(|head| head.commit == commit);
        heads.iter_mut().for_each(|head| head.machine = machine.clone());
        let alike = told(&heads);
        assert!(alike.table.is_none() && alike.list.len() == 1, "{alike:?}");
        assert!(alike.note.words().contains("Each on epyc-9354: ran, benchmarks 12, numbers clean."), "{alike:?}");
        heads[0].quality.clean = false;
        heads[0].quality.reasons.push("a reason".to_owned());
        let table = told(&heads).table.expect("the numbers of one are rough");
        assert_eq!(
            table.columns.iter().map(|column| &*column.head).collect::<Vec<_>>(),
            ["Suite", "Began, UTC", "Numbers"]
        );
    }
}
