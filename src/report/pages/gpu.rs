//! Kernels on devices: how near each comes to its limit, and which configurations the tuner chose.

use serde_json::Value;

use super::frame::Part;
use super::sheet;
use crate::catalog::{Catalog, GPU_DRIVER, limit_share};
use crate::chart::bar;
use crate::number::{self, count, counted};
use crate::order::natural;
use crate::phrase::{Fact, Phrase};
use crate::sheet::{Cell, Row, Section, Sheet};
use crate::text::{short_benchmark, short_commit, shortened};
use crate::{ReportError, date, link};
use sprag_model::metric::{LIMIT_SHARE, RATIO, TIME};
use sprag_model::page::Page;
use sprag_model::run::RecordedRun;
use sprag_model::sample::Measurement;
use sprag_model::series::Series;
use sprag_model::unit::Unit;

/// The most rows of a table.
const ROWS: usize = 400;

/// The most devices that the page tells of.
const DEVICES: usize = 8;

/// The longest name of a configuration and value of a fact, in characters.
const NAME: usize = 80;

/// The ids of the sections of one device: sections are few, and their ids are of the program.
const IDS: [[&str; 2]; DEVICES] = [
    ["limits", "tuned"],
    ["limits-2", "tuned-2"],
    ["limits-3", "tuned-3"],
    ["limits-4", "tuned-4"],
    ["limits-5", "tuned-5"],
    ["limits-6", "tuned-6"],
    ["limits-7", "tuned-7"],
    ["limits-8", "tuned-8"],
];

/// The page, where there is something to tell.
pub(crate) fn gpu(catalog: &Catalog<'_>) -> Result<Option<Page>, ReportError> {
    let runs = catalog.gpu_runs();
    if runs.is_empty() {
        return Ok(None);
    }
    let shares: Vec<f64> = runs.iter().flat_map(|run| &run.run.measurements).filter_map(limit_share).collect();
    let mut sections = Vec::new();
    for (run, [limits, tuned]) in runs.iter().zip(IDS) {
        sections.push(limit_rows(catalog, run, limits));
        sections.push(choice_rows(run, tuned));
    }
    let mut lede = Phrase::plain(
        "By the newest run of each suite. The limit of a kernel is the least time for the bytes that it must move, by a copy on the device that was timed beside it.",
    );
    if runs.len() > DEVICES {
        lede = lede.text(format!(" {} more are not listed here.", count(runs.len() - DEVICES)));
    }
    let content =
        Sheet { headline: headline(&shares), lede, facts: facts(&runs, &shares), sections, ..Sheet::default() };
    sheet::sheet(catalog, (link::GPU.to_owned(), Part::Gpu, "GPU".to_owned()), content).map(Some)
}

fn headline(shares: &[f64]) -> Phrase {
    let (low, high) =
        shares.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| (low.min(*one), high.max(*one)));
    let kernels = counted(shares.len(), "benchmark reaches", "benchmarks reach");
    Phrase::plain(match shares.len() {
        0 => "Choices of the tuner".to_owned(),
        1 => format!("{kernels} {} of its limit", number::percent_size(high)),
        _ if low == high => format!("{kernels} {} of their limits", number::percent_size(high)),
        _ => format!("{kernels} {} to {} of their limits", number::percent_size(low), number::percent_size(high)),
    })
}

fn facts(runs: &[&RecordedRun], shares: &[f64]) -> Vec<Fact> {
    let mut machines: Vec<&str> = runs.iter().map(|run| run.run.machine.class.as_str()).collect();
    machines.sort_unstable();
    machines.dedup();
    let measured: usize = runs.iter().map(|run| run.run.measurements.len()).sum();
    let sources = |word: &str| {
        let is_it = |entry: &&Value| text_of(entry, "source") == Some(word);
        runs.iter().flat_map(|run| &run.run.autotune).filter(is_it).count()
    };
    let tuned = runs.iter().map(|run| run.run.autotune.len()).sum();
    let near = shares.iter().filter(|share| **share >= 0.8).count();
    vec![
        Fact {
            question: "On which devices?",
            answer: Phrase::plain(counted(machines.len(), "model", "models")),
            note: Phrase::plain(shortened(&machines.join(", "), 4 * NAME)),
        },
        Fact {
            question: "How near to the limit?",
            answer: Phrase::plain(format!("{} of {} at 80\u{202f}% or more", count(near), count(shares.len()))),
            note: Phrase::plain("What is near its limit has little left to gain, and what it loses is worse news."),
        },
        Fact {
            question: "Without a known limit",
            answer: Phrase::plain(format!("{} of {}", count(measured - shares.len()), count(measured))),
            note: Phrase::plain("Benchmarks that no amount of bytes bounds, or that failed."),
        },
        Fact {
            question: "What did the tuner choose?",
            answer: Phrase::plain(counted(tuned, "configuration", "configurations")),
            note: Phrase::plain(format!(
                "{} beat the one in use, {} stayed, {} are those used untuned.",
                count(sources("tuned")),
                count(sources("incumbent")),
                count(sources("default"))
            )),
        },
    ]
}

/// A text of an entry of the tuner.
fn text_of<'a>(entry: &'a Value, key: &str) -> Option<&'a str> {
    entry.get(key)?.as_str()
}

/// Where and when a run took place.
fn place(catalog: &Catalog<'_>, recorded: &RecordedRun) -> Phrase {
    let run = &recorded.run;
    let time = date::moment(run.timestamp);
    let note = Phrase::plain("Run of ");
    let note = match catalog.run_place(&recorded.id) {
        Some(page) => note.link(page, time),
        None => note.text(time),
    };
    let at = run.commit.as_ref().map_or(note.clone(), |commit| {
        note.text(" at ").name(catalog.commit_page(&commit.sha), short_commit(&commit.sha))
    });
    let driver = run.environment.facts.get(GPU_DRIVER).map_or("", String::as_str);
    at.text(format!(", driver {}.", shortened(driver, NAME)))
}

fn limit_rows(catalog: &Catalog<'_>, recorded: &RecordedRun, id: &'static str) -> Section {
    let run = &recorded.run;
    let mut present: Vec<(&Measurement, f64)> =
        run.measurements.iter().filter_map(|one| Some((one, limit_share(one)?))).collect();
    present.sort_by(|(a, x), (b, y)| x.total_cmp(y).then_with(|| natural(&a.benchmark.id(), &b.benchmark.id())));
    let row = |(of, share): &(&Measurement, f64)| {
        let benchmark = of.benchmark.id();
        let page = |metric: &str| {
            catalog.series_page(&Series::id_of(&benchmark, of.benchmark.version, metric, &run.machine.id))
        };
        let page = page(LIMIT_SHARE).or_else(|| page(RATIO)).or_else(|| page(TIME));
        let figure = number::percent_size(*share);
        let time = of.estimate(TIME).map(|one| one.value);
        let rate = of.estimates.iter().find(|one| one.metric.unit == Unit::PerSecond);
        let words = |text: Option<String>| Phrase::plain(text.unwrap_or_else(|| number::NONE.to_owned()));
        let chosen = run.autotune.iter().find(|entry| text_of(entry, "benchmark") == Some(&benchmark));
        let configuration = of.attributes.get("configuration").map(String::as_str);
        let configuration = configuration.or_else(|| text_of(chosen?, "selected")).map(|name| shortened(name, NAME));
        Row {
            cells: vec![
                Cell::Words(Phrase::default().name(page, shortened(short_benchmark(&benchmark), 2 * NAME))),
                Cell::Drawn(bar::draw(*share, false, &figure)),
                Cell::Words(Phrase::default().strong(figure)),
                Cell::Words(words(time.map(|time| number::quantity(Unit::Second.scale(time), time)))),
                Cell::Words(words(rate.map(|one| {
                    let scale = Unit::PerSecond.scale(one.value);
                    let work = shortened(one.metric.name.trim_end_matches("_per_s"), NAME);
                    format!("{}, {work}", number::quantity(scale, one.value))
                }))),
                Cell::Words(
                    configuration.map_or_else(|| Phrase::plain(number::NONE), |name| Phrase::default().id(name)),
                ),
            ],
            bad: false,
        }
    };
    let columns = [
        ("Benchmark", "full"),
        ("Share of the limit, drawn", "g"),
        ("Of the limit", "n"),
        ("Time", "n"),
        ("Rate", "n opt2"),
        ("Configuration", "any opt"),
    ];
    let heading = format!("{} on {}: against the limits", run.suite, run.machine.name);
    let note = place(catalog, recorded).text(" Those with most room first; a full bar is the limit.");
    let texts = (id, &*heading, note, "No benchmark of it has a known limit.");
    Section::of_table(texts, ("Benchmarks by the share of their limit", &columns), present.iter().map(row).collect())
        .cut(ROWS)
}

fn choice_rows(recorded: &RecordedRun, id: &'static str) -> Section {
    let run = &recorded.run;
    let text = |entry: &Value, key: &str| shortened(text_of(entry, key).unwrap_or(number::NONE), 2 * NAME);
    let row = |entry: &Value| {
        let selected = text(entry, "selected");
        let candidates = entry.get("candidates").and_then(Value::as_object);
        let ratio = candidates.and_then(|all| all.get(&selected)).and_then(Value::as_f64);
        let failures = entry.get("failures").and_then(Value::as_object).map_or(0, serde_json::Map::len);
        let timed = candidates.map_or(0, |all| all.values().filter(|ratio| ratio.is_number()).count());
        let tried = match candidates.map_or(0, serde_json::Map::len) {
            0 => number::NONE.to_owned(),
            all => format!("{} of {}", count(timed), count(all)),
        };
        let why = match text_of(entry, "source") {
            Some("tuned") => "beat the one in use".to_owned(),
            Some("incumbent") => "in use, and not beaten".to_owned(),
            Some("default") => "used untuned, and not beaten".to_owned(),
            _ => text(entry, "source"),
        };
        let benchmark = text(entry, "benchmark");
        Row::new([
            Phrase::default().id(short_benchmark(&benchmark)),
            Phrase::default().id(selected),
            Phrase::plain(why),
            Phrase::plain(ratio.map_or_else(|| number::NONE.to_owned(), |ratio| number::fixed(ratio, 3))),
            Phrase::plain(tried),
            Phrase::plain(count(failures)),
        ])
    };
    let mut entries: Vec<&Value> = run.autotune.iter().collect();
    entries.sort_by(|a, b| natural(&text(a, "benchmark"), &text(b, "benchmark")));
    let columns = [
        ("Benchmark", "full"),
        ("Chosen", "any"),
        ("Why", ""),
        ("Time over the one in use", "n push"),
        ("Timed", "n opt2"),
        ("Wrong or broken", "n opt"),
    ];
    let heading = format!("{} on {}: what the tuner chose", run.suite, run.machine.name);
    let note = Phrase::plain(
        "Candidates were checked against the reference and timed; the one in use stays unless another is faster by more than noise. Without a figure nothing was tried in this run.",
    );
    let texts = (id, &*heading, note, "This run recorded no choice of the tuner.");
    let rows = entries.into_iter().map(row).collect();
    Section::of_table(texts, ("Configurations by benchmark", &columns), rows).cut(ROWS)
}
