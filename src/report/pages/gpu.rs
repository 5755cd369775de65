//! Kernels on devices: how near each comes to its limit, and which configurations the tuner chose.

use serde_json::Value;

use super::frame::prelude::*;
use crate::catalog::{GPU_DRIVER, limit_share};
use crate::chart::bar;
use crate::order::natural;
use sprag_model::metric::{LIMIT_SHARE, RATIO, TIME};
use sprag_model::{Measurement, ParityStatus, RecordedRun, Series, Unit};

const ROWS: usize = 400;

const DEVICES: usize = 8;

/// The longest name of a configuration and value of a fact, in characters.
const NAME: usize = 80;

pub(crate) fn gpu(catalog: &Catalog<'_>) -> Result<Option<Page>, ReportError> {
    let runs = catalog.gpu_runs();
    if runs.is_empty() {
        return Ok(None);
    }
    let shares: Vec<f64> = runs.iter().flat_map(|run| kernels(run)).filter_map(limit_share).collect();
    let mut lede = "From the newest run of each suite. The limit of a kernel is the least time for the bytes that it must move, as \
                    measured by a copy on the device in the same run."
        .to_owned();
    if runs.len() > DEVICES {
        lede += &format!(" {} more devices are not listed here.", count(runs.len() - DEVICES));
    }
    let devices = runs.iter().take(DEVICES).enumerate();
    let sheet = Sheet {
        headline: headline(&shares),
        lede: lede.into(),
        facts: facts(&runs, &shares),
        sections: devices.flat_map(|(place, run)| [limits(catalog, run, place + 1), choices(run, place + 1)]).collect(),
        ..Sheet::default()
    };
    history_page(catalog, (link::GPU, "GPU"), "GPU", sheet).map(Some)
}

/// Without what they are compared with: plain references, controls and calibration kernels.
fn kernels(recorded: &RecordedRun) -> impl Iterator<Item = &Measurement> {
    let is_own = |one: &&Measurement| {
        one.parity.status != ParityStatus::Reference && !one.role.is_auxiliary(&one.benchmark.variant)
    };
    recorded.run.measurements.iter().filter(is_own)
}

fn headline(shares: &[f64]) -> Phrase {
    let (low, high) =
        shares.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| (low.min(*one), high.max(*one)));
    let kernels = counted(shares.len(), "benchmark reaches", "benchmarks reach");
    Phrase::plain(match shares.len() {
        0 => "Choices of the tuner".to_owned(),
        1 => format!("{kernels} {} of its limit", percent_size(high)),
        _ if low == high => format!("{kernels} {} of their limits", percent_size(high)),
        _ => format!("{kernels} {} to {} of their limits", percent_size(low), percent_size(high)),
    })
}

fn facts(runs: &[&RecordedRun], shares: &[f64]) -> Vec<Fact> {
    let mut machines: Vec<&str> = runs.iter().map(|run| run.run.machine.class.as_str()).collect();
    machines.sort_unstable();
    machines.dedup();
    let measured: usize = runs.iter().map(|run| kernels(run).count()).sum();
    let sources = |word: &str| {
        let is_it = |entry: &&Value| text_of(entry, "source") == Some(word);
        runs.iter().flat_map(|run| &run.run.autotune).filter(is_it).count()
    };
    let [tuned, incumbent, default] = ["tuned", "incumbent", "default"].map(|word| count(sources(word)));
    let choices = runs.iter().map(|run| run.run.autotune.len()).sum();
    let beyond = shares.iter().filter(|share| **share > 1.0).count();
    let near = shares.iter().filter(|share| **share >= 0.8).count() - beyond;
    vec![
        Fact::new(
            "On which devices?",
            counted(machines.len(), "model", "models"),
            shortened(&machines.join(", "), 4 * NAME),
        ),
        Fact::new(
            "How near to the limit?",
            format!("{} of {} at 80\u{202f}% or more", count(near), count(shares.len())),
            match beyond {
                0 => "A kernel near its limit has little left to gain.".to_owned(),
                some => format!(
                    "A kernel near its limit has little left to gain. Without {} above the limit, which cannot be.",
                    count(some)
                ),
            },
        ),
        Fact::new(
            "Without a known limit",
            format!("{} of {}", count(measured - shares.len()), count(measured)),
            "Their time is not bound by bytes, or they failed.",
        ),
        Fact::new(
            "What did the tuner choose?",
            counted(choices, "configuration", "configurations"),
            format!("{tuned} beat the one in use, {incumbent} stayed, {default} are the untuned defaults."),
        ),
    ]
}

fn text_of<'a>(entry: &'a Value, key: &str) -> Option<&'a str> {
    entry.get(key)?.as_str()
}

fn place(catalog: &Catalog<'_>, recorded: &RecordedRun) -> Phrase {
    let run = &recorded.run;
    let note = Phrase::plain("Run of ").to(catalog.run_place(&recorded.id), date::moment(run.timestamp));
    let note = match &run.commit {
        Some(commit) => note.text(" at ").join(cell::commit_link(catalog, &commit.sha)),
        None => note,
    };
    let driver = run.environment.facts.get(GPU_DRIVER).map_or("", String::as_str);
    note.text(format!(", driver {}.", shortened(driver, NAME)))
}

fn limits(catalog: &Catalog<'_>, recorded: &RecordedRun, number: usize) -> Section {
    let run = &recorded.run;
    let mut present: Vec<(&Measurement, String, f64)> =
        kernels(recorded).filter_map(|one| Some((one, one.benchmark.id(), limit_share(one)?))).collect();
    present.sort_by(|(_, a, x), (_, b, y)| x.total_cmp(y).then_with(|| natural(a, b)));
    let name = |of: &Measurement, benchmark: &str| {
        let page = |metric: &&str| {
            catalog.series_page(&Series::id_of(benchmark, of.benchmark.version, metric, &run.machine.id))
        };
        let page = [LIMIT_SHARE, RATIO, TIME].iter().find_map(page);
        Phrase::page_name(page, shortened(&short_benchmark(benchmark), 2 * NAME))
    };
    let rate = |of: &Measurement| {
        let one = of.estimates.iter().find(|one| one.metric.unit == Unit::PerSecond)?;
        let work = shortened(one.metric.name.trim_end_matches("_per_s"), NAME);
        Some(format!("{}, {work}", number::quantity(Unit::PerSecond.scale(one.value), one.value)))
    };
    let configuration = |of: &Measurement, benchmark: &str| {
        let chosen = run.autotune.iter().find(|entry| text_of(entry, "benchmark") == Some(benchmark));
        let configuration = of.attributes.get("configuration").map(String::as_str);
        configuration.or_else(|| text_of(chosen?, "selected")).map(|name| Phrase::code(shortened(name, NAME)))
    };
    let beyond = cell::beyond_limit(present.iter().map(|(.., share)| *share));
    let heading = format!("{} on {}: against the limits", run.suite, run.machine.name);
    Rows::new(format!("Benchmarks by the share of their limit, device {number}"), present)
        .first(ROWS)
        .column("Benchmark", "full", |(of, benchmark, _)| name(of, benchmark))
        .column("Share of the limit, drawn", "g", |(.., share)| {
            Cell::Drawn(bar::draw(*share, false, &percent_size(*share)))
        })
        .column("Of the limit", "n", |(.., share)| match *share > 1.0 {
            true => cell::of_limit(*share),
            false => Phrase::default().strong(percent_size(*share)),
        })
        .column("Time", "n", |(of, ..)| {
            or_none(of.estimate(TIME), |one| number::quantity(Unit::Second.scale(one.value), one.value))
        })
        .column("Rate", "n opt2", |(of, ..)| or_none(rate(of), std::convert::identity))
        .column("Configuration", "any opt", |(of, benchmark, _)| {
            configuration(of, benchmark).unwrap_or_else(|| number::NONE.into())
        })
        .section(
            format!("limits-{number}"),
            heading,
            place(catalog, recorded).text(" Those with most room first; a full bar is the limit.").text(beyond),
            "No benchmark of it has a known limit.",
        )
}

pub(super) fn choices(recorded: &RecordedRun, number: usize) -> Section {
    let run = &recorded.run;
    let text = |entry: &Value, key: &str| shortened(text_of(entry, key).unwrap_or(number::NONE), 2 * NAME);
    let candidates = |entry: &Value| entry.get("candidates").and_then(Value::as_object).cloned().unwrap_or_default();
    let ratio = |entry: &Value| candidates(entry).get(&text(entry, "selected")).and_then(Value::as_f64);
    let timed = |entry: &Value| {
        let all = candidates(entry);
        let timed = all.values().filter(|ratio| ratio.is_number()).count();
        or_none((!all.is_empty()).then_some(all.len()), |all| format!("{} of {}", count(timed), count(all)))
    };
    let mut entries: Vec<&Value> = run.autotune.iter().collect();
    entries.sort_by(|a, b| natural(&text(a, "benchmark"), &text(b, "benchmark")));
    let heading = format!("{} on {}: what the tuner chose", run.suite, run.machine.name);
    let note = "Candidates were checked against the reference and timed. The one in use stays unless another is faster by more than \
                noise. Without a figure nothing was tried in this run.";
    Rows::new(format!("Configurations by benchmark, device {number}"), entries)
        .first(ROWS)
        .column("Benchmark", "full", |entry| Phrase::code(short_benchmark(&text(entry, "benchmark"))))
        .column("Chosen", "any", |entry| Phrase::code(text(entry, "selected")))
        .column("Why", "", |entry| match text_of(entry, "source") {
            Some("tuned") => "beat the one in use".to_owned(),
            Some("incumbent") => "in use, and not beaten".to_owned(),
            Some("default") => "used untuned, and not beaten".to_owned(),
            _ => text(entry, "source"),
        })
        .column("Time over the one in use", "n push", |entry| or_none(ratio(entry), |ratio| number::fixed(ratio, 3)))
        .column("Timed", "n opt2", |entry| timed(entry))
        .column("Wrong or broken", "n opt", |entry| {
            count(entry.get("failures").and_then(Value::as_object).map_or(0, serde_json::Map::len))
        })
        .section(format!("tuned-{number}"), heading, note, "This run recorded no choice of the tuner.")
}
