//! How changes are judged: every rule with its constants and its measured error rates, and what the words mean.

use super::compare::RULE;
use super::frame::prelude::*;
use crate::Settings;
use crate::mark::{better_word, worse_word};
use sprag_model::method::{Constants, Figure, Limits, MeasuredTable};
use sprag_model::{Budget, Metric};

const STEPS: [&str; 6] = [
    "Noise: the deviation of a point is estimated from differences of neighbours, which a step changes only once. Autocorrelation of neighbours lowers the weight of a mean.",
    "Candidates: the exact partition into levels by least squares, with a constant penalty for each change.",
    "Tests: each candidate is tested, weakest first: a rank test, a trimmed-mean test and a test against autocorrelated noise. A strong mean difference can offset a slightly weak result in the others. A rejected candidate is removed, and its neighbours are tested again. One point alone is never a change.",
    "Drifts: steps in one direction are compared with an even ramp. What the ramp explains better is a drift, and no single commit is its cause.",
    "Location: the most likely place between both levels, with the range of all places nearly as likely. A change of environment is a likelier place than a commit.",
    "Events: changes of many series that one commit explains form one event. The false discovery rate is limited to the value below (Benjamini-Hochberg on Simes p-values).",
];

const RUNS: [&str; 4] = [
    "The value of a metric is the median over its worker processes of their medians. The interval is that of this value over the processes.",
    "A record is one immutable file. Its name has the commit, the machine and the first 16 digits of the SHA-256 of its canonical JSON.",
    "The key of an environment is a digest of the facts that must be equal for a comparison. No gate compares runs of two keys.",
    "The page of a run lists facts and settings that differ from the run before of its suite on its machine. The page of the machine has all of the newest runs.",
];

pub(crate) fn method(catalog: &Catalog<'_>, settings: &Settings) -> Result<Page, ReportError> {
    let method = &settings.method;
    let mut sections = vec![
        verdicts(),
        list("compared", "Two commits", "Levels are compared, as fitted to all runs of a series.", &RULE[1..]),
        list(
            "changes",
            "How a change is found",
            "Step by step, for each series; CHANGE-POINTS.md has the details.",
            &STEPS,
        ),
        list("runs", "Runs", "What their pages show.", &RUNS),
        sensitivities(catalog, &method.sensitivities),
    ];
    sections.extend(constants(&method.constants));
    sections.extend(method.measured.iter().map(measured));
    sections.extend(downloads(settings));
    let content = Sheet {
        headline: "How changes are judged".into(),
        lede: Phrase::plain("Every rule with its constants, and its measured error rates. ")
            .link(link::COVERAGE, "What is examined, and what not and why")
            .text("."),
        facts: facts(&catalog.trend.budget),
        sections,
        ..Sheet::default()
    };
    subject_page(catalog, (link::METHOD, ""), "Method", None, content)
}

fn list(id: &'static str, heading: &str, note: &str, sentences: &[&str]) -> Section {
    Section::new(id, heading).paragraph(note).items(sentences.iter().copied().map(Phrase::plain))
}

fn facts(budget: &Budget) -> Vec<Fact> {
    let test = &budget.self_test;
    let points = |points: usize| counted(points, "point", "points");
    let rate = or_none(test.rate, |rate| number::fixed(rate, 2));
    let answer: Phrase = match test.exceeded {
        true => Mark::new(Tone::Doubt, "?", format!("{rate}, above the budget")).into(),
        false => rate.into(),
    };
    let alarms = counted(test.alarms, "false alarm", "false alarms");
    vec![
        Fact::new(
            "False-alarm budget for 1\u{202f}000 points",
            number::fixed(budget.allowed, 2),
            format!("At most {} in the {} examined.", number::fixed(budget.expected, 1), points(budget.points)),
        ),
        Fact::new(
            "In the noise of this history",
            answer,
            match test.points {
                0 => "Too few points to measure it.".to_owned(),
                some => format!("{alarms} in {} of its residuals, in shuffled order.", points(some)),
            },
        ),
        Fact::new(
            "False discovery rate of events",
            percent_size(budget.false_discovery),
            "Weaker findings are listed separately as possible chance.",
        ),
        Fact::new(
            "Across environments",
            "No verdict",
            "No verdict compares two environments; the facts that differ are listed instead.",
        ),
    ]
}

fn verdicts() -> Section {
    let time = Metric::time();
    let rows = [
        (
            Mark::new(Tone::Worse, "▲", worse_word(&time)),
            "The whole interval of the change is beyond the tolerance. The sign of the change is that of the number.",
        ),
        (Mark::new(Tone::Better, "▼", better_word(&time)), "The same in the good direction."),
        (
            Mark::new(Tone::Plain, "=", "no change"),
            "The whole interval is within the tolerance, or the change is within a tolerance that is assumed, as its noise is unknown. A change below the minimum detectable effect may still be there.",
        ),
        (
            Mark::new(Tone::Doubt, "?", "inconclusive"),
            "The interval crosses the limit. More runs would decide; the verdict says how many.",
        ),
        (
            Mark::new(Tone::Environment, "≠", "not comparable"),
            "The two sides were measured in different environments. The verdict names what differs.",
        ),
        (
            Mark::new(Tone::Worse, "–", "missing"),
            "The baseline has it, but the newest run does not, for example because it failed.",
        ),
        (Mark::new(Tone::Plain, "○", "no baseline"), "There is nothing to compare it with yet."),
        (
            Mark::new(Tone::Environment, "◇", "environment"),
            "The machine or what is installed on it changed. No commit is the cause.",
        ),
        (Mark::new(Tone::Doubt, "↗", "drift"), "The level moves evenly over many commits."),
        (Mark::new(Tone::Doubt, "?", "rough"), "The numbers of a run are doubtful, for the reason given."),
    ];
    Rows::new("Words", rows)
        .column("Word", "verdict", |(mark, _)| mark.clone())
        .column("What it means", "full any", |(_, words)| *words)
        .section("words", "What the words mean", "", "")
}

fn sensitivities(catalog: &Catalog<'_>, limits: &[Limits]) -> Section {
    let used = |one: &Limits| catalog.trend.series.iter().filter(|series| series.sensitivity == one.name).count();
    let note = "How strong a change must be to be reported. Penalties are in squares of the noise deviation, strengths in normal \
                deviates. The chance of a short segment doubles for series of 400 points. A project may choose a sensitivity for each \
                metric, and another smallest change.";
    Rows::new("Sensitivities, the strictest first", limits)
        .column("Sensitivity", "", |one| one.name)
        .column("Series here", "n", |one| count(used(one)))
        .column("False alarms in 1\u{202f}000 points", "n", |one| one.budget.to_string())
        .column("Penalty of a change", "n opt", |one| one.penalty.to_string())
        .column("Strength", "n opt2", |one| one.clear.to_string())
        .column("Against autocorrelated noise", "n opt2", |one| one.steady.to_string())
        .column("Chance of a short segment", "n opt", |one| {
            format!("1 in {}", count((1.0 / one.rare).round() as usize))
        })
        .column("Smallest change", "n push", |one| percent_size(one.least))
        .section("sensitivities", "Sensitivities", note, "No sensitivity is configured.")
        .wide()
}

fn constants(groups: &[Constants]) -> Option<Section> {
    let rows =
        groups.iter().flat_map(|group| group.list.iter().map(move |(meaning, value)| (group.of, meaning, value)));
    Rows::new("Constants of the rules", rows)
        .column("Constant", "full", |(_, meaning, _)| **meaning)
        .column("Of", "", |(of, ..)| *of)
        .column("Value", "n push", |(.., value)| {
            Phrase::default().strong(match value {
                Figure::Count(n) => count(*n),
                Figure::Share(share) => percent_size(*share),
                Figure::Number(number) => number.to_string(),
            })
        })
        .section("constants", "Constants", "Read from the program that rendered this page.", "")
        .unless_empty()
}

fn measured(of: &MeasuredTable) -> Section {
    let rows = Rows::new(of.caption, &of.rows);
    let rows = of.heads.iter().enumerate().fold(rows, |rows, (place, head)| {
        let class = if place == 0 { "" } else { "n" };
        rows.column(head.clone(), class, move |row| row.get(place).cloned().unwrap_or_default())
    });
    rows.section(of.name, of.heading, format!("{}.", of.caption), "").wide()
}

fn downloads(settings: &Settings) -> Option<Section> {
    let file = |(path, what): &(String, &'static str)| {
        let name = path.rsplit('/').next().unwrap_or(path).to_owned();
        Phrase::linked(path.clone(), name).text(format!(": {what}"))
    };
    let section = Section::new("downloads", "All values").paragraph("Every measured value, for other programs.");
    (!settings.downloads.is_empty()).then(|| section.items(settings.downloads.iter().map(file)))
}
