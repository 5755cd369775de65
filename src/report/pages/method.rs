//! How everything is judged: the rules with their constants, how often they are right and wrong, and what the words mean.

use super::compare::RULE;
use super::frame::Part;
use super::sheet;
use crate::catalog::Catalog;
use crate::mark::{Mark, Tone, better_word, worse_word};
use crate::number::{self, count, counted};
use crate::phrase::{Fact, Phrase};
use crate::sheet::{Column, Row, Section, Sheet, Table};
use crate::{ReportError, Settings, link};
use sprag_model::method::{Constants, Figure, Limits, MeasuredTable};
use sprag_model::metric::Metric;
use sprag_model::page::Page;
use sprag_model::trend::Budget;

/// How a change point is found, step by step.
const STEPS: [&str; 6] = [
    "Noise first: the deviation of a point comes from the differences of neighbours, which a step moves but once. How alike neighbours are tells how much a mean is worth.",
    "Candidates: the exact partition into levels with the least squares, at a constant price for each change.",
    "Proof: the candidate that explains least is tested first, by ranks, by trimmed means, of which a clear difference makes up for a little of the others, and against noise that wanders. Where it fails it goes, and its neighbours are tested again. A run of few points must lie where hardly another point does. One point alone is never a change.",
    "Drifts: steps in one direction are held against an even ramp; what the ramp explains better is a drift, of which no commit is to blame alone.",
    "Place: with both levels known the most likely place, and the range of all that are nearly as likely. A border of environments is a likelier place than a commit.",
    "Events: changes of many series that one commit explains are one event. How many of all that is told may be chance is held to the share below (Benjamini and Hochberg over Simes).",
];

/// What stands on the page of a run.
const RUNS: [&str; 4] = [
    "The value of a metric is the median over its worker processes of their medians; the interval is that of this value over the processes.",
    "A record is one immutable file: its name bears the commit, the machine and the first 16 digits of the SHA-256 of its canonical JSON.",
    "The key of an environment is a digest of the facts that decide what may be compared: no gate compares runs of two keys.",
    "Of facts and settings a run names those that differ from the run before it of its suite on its machine; all of the newest runs stand on the page of the machine.",
];

pub(crate) fn method(catalog: &Catalog<'_>, settings: &Settings) -> Result<Page, ReportError> {
    let method = &settings.method;
    let mut sections = vec![
        verdicts(),
        list(
            "compared",
            "Two commits",
            "Levels are held against each other, as fitted to all runs of a series.",
            &RULE[1..],
        ),
        list(
            "changes",
            "How a change is found",
            "Step by step, for each series; the text of the project has the details.",
            &STEPS,
        ),
        list("runs", "Runs", "What their pages show.", &RUNS),
        sensitivities(catalog, &method.sensitivities),
    ];
    sections.extend(constants(&method.constants));
    sections.extend(method.measured.iter().map(measured));
    sections.extend(downloads(settings));
    let content = Sheet {
        headline: Phrase::plain("How it is judged"),
        lede: Phrase::plain("The rules, with their constants as the program has them, and how often they are right and wrong where the truth is known. ")
            .link(link::COVERAGE, "What is judged, and what not and why")
            .text("."),
        facts: facts(&catalog.trend.budget),
        sections,
        ..Sheet::default()
    };
    sheet::of_one(catalog, (link::METHOD.to_owned(), Part::About, "Method".to_owned()), content)
}

fn list(id: &'static str, heading: &str, note: &str, sentences: &[&str]) -> Section {
    Section::new(id, heading).paragraph(note).items(sentences.iter().copied().map(Phrase::plain))
}

fn facts(budget: &Budget) -> Vec<Fact> {
    let test = &budget.self_test;
    let points = |points: usize| match points {
        1 => "1 point".to_owned(),
        points => format!("{} points", number::rough_count(points)),
    };
    let rate = test.rate.map_or_else(|| number::NONE.to_owned(), |rate| number::fixed(rate, 2));
    let answer = match test.exceeded {
        true => Phrase::default().mark(Mark::new(Tone::Doubt, "?", format!("{rate}, more than is allowed"))),
        false => Phrase::plain(rate),
    };
    let alarms = counted(test.alarms, "false alarm", "false alarms");
    vec![
        Fact {
            question: "False alarms allowed in 1\u{202f}000 points",
            answer: Phrase::plain(number::fixed(budget.allowed, 2)),
            note: Phrase::plain(format!(
                "That makes {} at most in the {} looked at.",
                number::fixed(budget.expected, 1),
                points(budget.points)
            )),
        },
        Fact {
            question: "In the noise of this history",
            answer,
            note: Phrase::plain(match test.points {
                0 => "Too little is looked at to tell.".to_owned(),
                looked => format!("{alarms} in {} of its residues, put in another order.", points(looked)),
            }),
        },
        Fact {
            question: "Chance among sure events",
            answer: Phrase::plain(number::percent_size(budget.false_discovery)),
            note: Phrase::plain("What is less sure is listed as what may be chance."),
        },
        Fact {
            question: "Across environments",
            answer: Phrase::plain("Nothing"),
            note: Phrase::plain("No verdict compares two environments; the facts that differ stand in its place."),
        },
    ]
}

fn verdicts() -> Section {
    let time = Metric::time();
    let rows = [
        (
            Mark::new(Tone::Worse, "▲", worse_word(&time)),
            "The change is beyond what is tolerated, with its whole interval. The arrow points where the number went; word and colour say whether that is bad.",
        ),
        (Mark::new(Tone::Better, "▼", better_word(&time)), "Likewise, in the good direction."),
        (
            Mark::new(Tone::Plain, "=", "no change"),
            "The whole interval lies within what is tolerated. “Could see” tells how small a change would have shown: a smaller one may be there.",
        ),
        (
            Mark::new(Tone::Doubt, "?", "inconclusive"),
            "The interval reaches beyond the limit and back: more runs would settle it, and how many is said.",
        ),
        (
            Mark::new(Tone::Environment, "≠", "not comparable"),
            "The two sides were measured in different environments. What differs is said.",
        ),
        (Mark::new(Tone::Worse, "–", "missing"), "The baseline has it and the newest run has not, as when it failed."),
        (Mark::new(Tone::Plain, "○", "no baseline"), "There is nothing to hold it against yet."),
        (
            Mark::new(Tone::Environment, "◇", "environment"),
            "The machine or what is installed on it changed: no commit is to blame.",
        ),
        (Mark::new(Tone::Doubt, "↗", "drift"), "The level moves evenly over many commits."),
        (
            Mark::new(Tone::Doubt, "?", "rough"),
            "Something speaks against the numbers of a run; what it is stands beside it.",
        ),
    ];
    let rows = rows.map(|(mark, words)| Row::new([Phrase::default().mark(mark), Phrase::plain(words)]));
    let columns = [("Word", "verdict"), ("What it means", "full any")];
    Section::of_table(("words", "What the words mean", Phrase::default(), ""), ("Words", &columns), rows.to_vec())
}

fn sensitivities(catalog: &Catalog<'_>, limits: &[Limits]) -> Section {
    let row = |one: &Limits| {
        let used = catalog.trend.series.iter().filter(|series| series.sensitivity == one.name).count();
        Row::new([
            Phrase::plain(one.name),
            Phrase::plain(count(used)),
            Phrase::plain(one.budget.to_string()),
            Phrase::plain(one.penalty.to_string()),
            Phrase::plain(one.clear.to_string()),
            Phrase::plain(one.steady.to_string()),
            Phrase::plain(format!("1 in {}", count((1.0 / one.rare).round() as usize))),
            Phrase::plain(number::percent_size(one.least)),
        ])
    };
    let columns = [
        ("Sensitivity", ""),
        ("Series here", "n"),
        ("False alarms in 1\u{202f}000 points", "n"),
        ("Price of a change", "n opt"),
        ("Clear by", "n opt2"),
        ("Against wandering noise", "n opt2"),
        ("Chance of a short run", "n opt"),
        ("Least change", "n push"),
    ];
    let note = "How much it takes to tell a change. Prices are in squares of the deviation of the noise, clearness in normal deviates. The chance of a short run is twice as large for series of 400 points. A project may choose for each metric, and set another least change.";
    let texts = ("sensitivities", "Sensitivities", Phrase::plain(note), "None is known.");
    Section::of_table(texts, ("Sensitivities, the strictest first", &columns), limits.iter().map(row).collect()).wide()
}

fn constants(groups: &[Constants]) -> Option<Section> {
    let figure = |figure: Figure| match figure {
        Figure::Count(n) => count(n),
        Figure::Share(share) => number::percent_size(share),
        Figure::Number(number) => number.to_string(),
    };
    let rows = groups.iter().flat_map(|group| {
        let cells = move |(meaning, value): &(&'static str, Figure)| {
            Row::new([Phrase::plain(*meaning), Phrase::plain(group.of), Phrase::default().strong(figure(*value))])
        };
        group.list.iter().map(cells)
    });
    let rows: Vec<Row> = rows.collect();
    let columns = [("Constant", "full"), ("Of", "q"), ("Value", "n push")];
    let note = Phrase::plain("Read from the program that rendered this page.");
    Section::of_table(("constants", "Constants", note, ""), ("Constants of the rules", &columns), rows).unless_empty()
}

fn measured(of: &MeasuredTable) -> Section {
    let columns = of
        .heads
        .iter()
        .enumerate()
        .map(|(place, head)| Column { head: head.clone().into(), class: if place == 0 { "" } else { "n" } });
    let rows = of.rows.iter().map(|row| Row::new(row.iter().map(|cell| Phrase::plain(cell.clone()))));
    let (columns, rows) = (columns.collect(), rows.collect());
    let table = Table { caption: of.caption.to_owned(), columns, rows, is_wide: true, ..Table::default() };
    Section::new(of.name, of.heading).paragraph(format!("{}.", of.caption)).with(table)
}

/// The files of all values, where the project publishes them.
fn downloads(settings: &Settings) -> Option<Section> {
    let file = |(path, what): &(String, &'static str)| {
        let name = path.rsplit('/').next().unwrap_or(path).to_owned();
        Phrase::default().link(path.clone(), name).text(format!(": {what}"))
    };
    (!settings.downloads.is_empty()).then(|| {
        let section = Section::new("downloads", "All values");
        section
            .paragraph("Everything that was measured, for other programs.")
            .items(settings.downloads.iter().map(file))
    })
}
