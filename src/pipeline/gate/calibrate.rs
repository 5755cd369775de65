//! How often the rules of the gate are wrong on the history of a project.

use std::collections::BTreeSet;
use std::path::Path;

use crate::config::{Config, Rules};
use crate::error::WithContext as _;
use crate::project::Project;
use crate::text::{self, note};
use crate::{policy, study};
use sprag_analysis::calibrate::{Candidate, calibrate};
use sprag_analysis::frame::Frame;
use sprag_base::number::signed_percent;
use sprag_history as history;
use sprag_measure::environment;
use sprag_model::calibration::{Base, Calibration, RuleCalibration, Share, Tally};
use sprag_model::{Choice, Policy, Rule, RunHead, Series, Unit, run};

/// Fixed, so that equal histories give equal figures.
const SEED: u64 = 1;

pub fn calibration(project: &Project, suites: &[String], policy: Option<&Path>) -> crate::Result<Calibration> {
    let rules = match policy {
        Some(path) => Config::load_rules(path)?,
        None => project.config.rules.clone(),
    };
    if !suites.is_empty() {
        project.config.select(suites)?;
    }
    let all = judged_series(project, suites)?;
    let machine = environment::machine(project.machine_name().as_deref(), None).id;
    let mut series: Vec<&Series> = all.iter().filter(|series| series.machine == machine).collect();
    if series.is_empty() && !all.is_empty() {
        note("this machine has no run in the history; the figures are of all machines");
        series = all.iter().collect();
    }
    Ok(calibrate(&series, &candidates(&rules), SEED))
}

fn judged_series(project: &Project, suites: &[String]) -> crate::Result<Vec<Series>> {
    let store = project.store()?;
    let study::DecodedHistory { runs, .. } = study::load(project, store)?;
    let is_asked = |head: &RunHead| suites.is_empty() || suites.contains(&head.suite);
    let runs = runs.select(|head, _| is_asked(head) && !run::is_filtered(&head.config));
    let line = history::commit_line(store, None).context("cannot read the commits")?;
    let Frame { mut series, judged } = Frame::new(&runs, &line);
    series.retain(|series| judged.contains(&series.id));
    Ok(series)
}

fn candidates(rules: &Rules) -> Vec<Candidate> {
    let named = |name: String, policy: Policy| Candidate { name, policy };
    let strict = Policy { exceptions: Vec::new(), default: Choice::Fixed(Rule::Interval { tolerance: 0.0 }) };
    let mut all = vec![
        named(format!("as configured ({})", rules.default_rule()), policy::from_rules(rules)),
        named("interval, tolerance 0 %".to_owned(), strict),
    ];
    for name in &Rule::NAMES[1..] {
        let rule = policy::fixed(name, rules);
        all.push(named(rule.words(Unit::One), Policy { exceptions: Vec::new(), default: Choice::Fixed(rule) }));
    }
    all
}

pub fn terminal(calibration: &Calibration) -> String {
    let of = |names: &[String]| text::printable(&names.join(", "));
    if calibration.series == 0 {
        return "there is no series to replay: nothing that a gate judges has been recorded\n".to_owned();
    }
    let pairs = calibration.pairs;
    let mut text = format!(
        "{} series of {} on {}: {} pairs of sessions of one commit, {} of neighbouring commits without a step. \
         Left out: {} at a step, {} too near an end\n",
        calibration.series,
        of(&calibration.suites),
        of(&calibration.machines),
        pairs.reruns,
        pairs.neighbours,
        pairs.steps,
        pairs.unknown
    );
    text.push_str("\nunchanged code called slower\n");
    let heads = ["rule", "against", "one commit", "neighbours", "whole checks", "in doubt", "drawn"];
    let rows = calibration.rules.iter().filter(|rule| rule.silent.is_none()).map(|rule| {
        let mut row = vec![rule.rule.clone(), base(rule.base).to_owned()];
        row.extend([&rule.reruns, &rule.neighbours, &rule.checks].map(alarms));
        row.push(doubt(rule));
        row.push(rule.resampled.first().map_or("–".to_owned(), |drawn| alarms(&drawn.tally)));
        row
    });
    text.push_str(&text::table(heads, rows, &[]));
    let silent: BTreeSet<(&str, &str)> =
        calibration.rules.iter().filter_map(|rule| Some((rule.rule.as_str(), rule.silent.as_deref()?))).collect();
    for (rule, reason) in silent {
        text.push_str(&format!("{rule} cannot be replayed: {reason}\n"));
    }
    if calibration.resampled_series > 0 {
        text.push_str(&format!(
            "\nslowdowns found in a single metric, drawn from the noise of {} series\n",
            calibration.resampled_series
        ));
        text.push_str(&power(calibration));
    }
    if let Some(more) = calibration.more_sessions {
        let short = calibration.series - calibration.resampled_series;
        let more = text::count(more, "more session");
        text.push_str(&format!(
            "\n{short} of {} series too short to draw from; {more} would be enough\n",
            calibration.series
        ));
    }
    text
}

fn power(calibration: &Calibration) -> String {
    let sizes =
        calibration.rules.iter().flat_map(|rule| &rule.resampled).map(|drawn| drawn.change).filter(|size| *size > 0.0);
    let mut head = vec!["rule".to_owned(), "against".to_owned()];
    let mut sizes: Vec<f64> = sizes.collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    head.extend(sizes.iter().map(|size| signed_percent(*size, 0)));
    let mut rows = vec![head];
    for rule in calibration.rules.iter().filter(|rule| rule.silent.is_none()) {
        let mut row = vec![rule.rule.clone(), base(rule.base).to_owned()];
        let calibration = rule.resampled.iter().filter(|drawn| drawn.change > 0.0);
        row.extend(
            calibration
                .map(|drawn| drawn.tally.share.map_or("–".to_owned(), |share| text::percent_size(share.value))),
        );
        rows.push(row);
    }
    text::columns(&rows, &[2, 3, 4])
}

fn base(base: Base) -> &'static str {
    match base {
        Base::History => "history",
        Base::Run => "one run",
    }
}

/// `3 of 250, 1.2 % (0.4 to 3.5)`.
fn alarms(tally: &Tally) -> String {
    tally.share.map_or("–".to_owned(), |Share { value, low, high }| {
        let end = |share: f64| format!("{:.1}", share * 100.0);
        format!(
            "{} of {}, {} ({} to {})",
            tally.regressed,
            tally.judged,
            text::percent_size(value),
            end(low),
            end(high)
        )
    })
}

fn doubt(rule: &RuleCalibration) -> String {
    let all = rule.reruns.plus(rule.neighbours);
    if all.judged == 0 { "–".to_owned() } else { text::percent_size(all.inconclusive as f64 / all.judged as f64) }
}
