//! What a bisection says: its plan, each step, and the report as text, Markdown and JSON.

use schemars::JsonSchema;
use serde::Serialize;

use crate::bisect::state::{LEAST, Stage, State};
use crate::error::WithContext as _;
use crate::project::Project;
use crate::text::{self, printable};
use sprag_analysis::bisect::choice::BisectChoice;
use sprag_analysis::bisect::cluster::{Cluster, Group, Ruling};
use sprag_analysis::bisect::question::{BisectQuestion, Ends, FEWEST_SESSIONS, Shift, detectable, judge};
use sprag_analysis::bisect::search::Search;
use sprag_base::stats::describe;
use sprag_history as history;
use sprag_model::schema::patterns;
use sprag_model::{BisectEffect, BisectMeasurement, SkippedCommit};
use sprag_report::sheet::markdown::{code, plain};

const JSON_VERSION: u32 = 1;

/// How many suspects a table lists, and the least probability of those after the first.
const LISTED: usize = 8;
const LEAST_LISTED: f64 = 0.005;

/// What rounds to nothing is said as this.
const LEAST_SHOWN: f64 = 0.001;

/// The normal deviate of an interval of 95 %.
const REACH: f64 = 1.96;

/// What a bisection came to.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BisectReport {
    pub schema_version: u32,
    pub suite: String,
    /// The ends as they were given: good, then bad.
    pub ends: [String; 2],
    /// The commits that these are.
    pub end_commits: [String; 2],
    /// The event whose cause was searched.
    pub event: Option<String>,
    /// The metric that decided; absent where it is the judged one of each benchmark.
    pub metric: Option<String>,
    pub outcome: BisectOutcome,
    /// What the outcome means, in a sentence.
    pub summary: String,
    /// The asked probability.
    pub confidence: f64,
    /// The commits to blame, oldest first; several where benchmarks moved at different ones, or where the change has two parts
    /// or was undone in part.
    pub culprits: Vec<Culprit>,
    /// Where an earlier change was undone before the culprit: the range of that change, then the range of its undoing.
    pub undone: Vec<CommitRange>,
    /// The benchmarks that differ between the ends, the largest change first.
    pub effects: Vec<BisectEffect>,
    /// The most likely suspects, the most likely first.
    pub suspects: Vec<SuspectCommit>,
    /// The others, where there are any.
    pub unlisted: Vec<UnlistedSuspects>,
    /// What was measured, in order.
    pub measurements: Vec<BisectMeasurement>,
    /// Commits that were not measured.
    pub skipped: Vec<SkippedCommit>,
    /// How often the ends were measured.
    pub end_sessions: usize,
    /// Where the ends do not differ: the smallest change that would have been shown.
    pub detectable: Option<f64>,
    pub seconds: f64,
    /// A command for each culprit that reproduces its change, one a line; empty without a culprit.
    pub reproduce: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BisectOutcome {
    /// One commit.
    Culprit,
    /// One of several commits that no measurement separates.
    OneOfSeveral,
    /// Two commits, each with a part of the change.
    TwoCulprits,
    /// Different commits for different benchmarks.
    SeveralCulprits,
    /// One commit, before which an earlier change was made and undone.
    Redone,
    /// The change came gradually.
    Drift,
    /// The level changed more than twice.
    ManyChanges,
    /// The asked probability was not reached, or it is not certain whether the ends differ.
    Uncertain,
    /// The ends do not differ.
    NoDifference,
}

/// A culprit: one commit, or several with none between them that can be measured.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Culprit {
    /// That it is one of these commits.
    pub probability: f64,
    pub commits: Vec<CulpritCommit>,
    /// The benchmarks that moved there, by all measurements on both sides, the largest change first.
    pub effects: Vec<BisectEffect>,
}

/// Commits of the line, oldest first, both included.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CommitRange {
    #[schemars(extend("pattern" = patterns::COMMIT))]
    pub first: String,
    #[schemars(extend("pattern" = patterns::COMMIT))]
    pub last: String,
    pub probability: f64,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CulpritCommit {
    #[schemars(extend("pattern" = patterns::COMMIT))]
    pub sha: String,
    pub author: String,
    pub subject: String,
    pub files: Vec<ChangedFile>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ChangedFile {
    pub path: String,
    pub added: usize,
    pub removed: usize,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SuspectCommit {
    #[schemars(extend("pattern" = patterns::COMMIT))]
    pub sha: String,
    pub subject: String,
    pub probability: f64,
    /// The level of its measurements, 0 at the good end and 1 at the bad one; absent where it was not measured.
    pub level: Option<f64>,
    /// Where benchmarks moved at different commits: those of which it is a suspect.
    pub benchmarks: Option<String>,
}

/// Suspects that are too many or too unlikely to be listed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UnlistedSuspects {
    pub count: usize,
    /// That one of them is to blame.
    pub probability: f64,
    /// Where benchmarks moved at different commits: those of which they are suspects.
    pub benchmarks: Option<String>,
}

pub(super) fn of_filters(state: &State) -> String {
    if state.filters.is_empty() { String::new() } else { format!(", {}", state.filters.join(", ")) }
}

/// One line about the ends.
pub(super) fn ends_line(state: &State) -> String {
    let count = state.ends.len();
    match judge(&state.ends, LEAST) {
        Ends::Differ(question) => {
            let more = question.steps.len() - 1;
            let more = if more > 0 { format!(", and {}", text::count(more, "other")) } else { String::new() };
            let effect = effect(&question.steps[0]);
            let change = text::percent(effect.change);
            format!("ends: `{}` differs by {change} after {count} sessions{more}", printable(&effect.benchmark))
        }
        Ends::Alike => format!("ends: alike after {count} sessions"),
        _ => format!("ends: not certain after {count} sessions"),
    }
}

/// The suspects after a step, and what comes next; the seconds that are probably left, and those of the budget.
pub(super) fn progress(
    project: &Project,
    state: &State,
    clusters: &[Cluster],
    next: Option<(&BisectChoice, [f64; 2])>,
) -> crate::Result<String> {
    let stage = state.stage();
    let mut text = format!("\n{}; levels: 0 is good, 1 is bad\n", text::count(state.measurements(), "measurement"));
    for (cluster, listed) in clusters.iter().zip(likely(project, stage, clusters)?) {
        let posterior = &cluster.posterior;
        text.push_str(&table(&listed));
        text.push_str(&left_out(cluster, &listed).iter().map(unlisted_line).collect::<String>());
        for (probability, words) in [
            (posterior.two, "that the change has two parts, or was undone in part"),
            (posterior.redone, "that an earlier change was undone"),
            (posterior.drift, "that it came gradually"),
            (posterior.other, "that there are more changes"),
        ] {
            if probability >= 0.1 {
                text.push_str(&format!("{} probability {words}\n", text::probability(probability)));
            }
        }
    }
    if let Some((choice, seconds)) = next {
        let commit = named(project, &stage.commits[choice.commit])?;
        let [left, most] = seconds.map(text::duration);
        let pairs = if state.instructions { String::new() } else { format!(" in {} pairs", choice.pairs) };
        let is_check = clusters.iter().all(|cluster| cluster.finding != Ruling::Open);
        let pairs = if is_check { pairs + ", to check that the change was not undone" } else { pairs };
        text.push_str(&format!("next: {commit}{pairs}; about {left} left, at most {most}\n"));
    }
    Ok(text.trim_end().to_owned())
}

/// A table for each cluster, with how many suspects it leaves out.
fn tables(report: &BisectReport) -> String {
    let tables = report.suspects.chunk_by(|one, next| one.benchmarks == next.benchmarks);
    tables.map(|rows| table(rows) + &unlisted_of(report, rows)).collect()
}

fn left_out(cluster: &Cluster, listed: &[SuspectCommit]) -> Option<UnlistedSuspects> {
    let all = &cluster.posterior.suspects;
    let left = all.iter().sum::<f64>() - listed.iter().map(|one| one.probability).sum::<f64>();
    let benchmarks = listed.first().and_then(|one| one.benchmarks.clone());
    let count = all.len() - listed.len();
    (count > 0).then(|| UnlistedSuspects { count, probability: left.clamp(0.0, 1.0), benchmarks })
}

/// The line below a table of suspects.
fn unlisted_of(report: &BisectReport, rows: &[SuspectCommit]) -> String {
    let of_table = |one: &&UnlistedSuspects| rows.first().is_some_and(|row| row.benchmarks == one.benchmarks);
    report.unlisted.iter().find(of_table).map(unlisted_line).unwrap_or_default()
}

fn unlisted_line(one: &UnlistedSuspects) -> String {
    format!("{}, together {}\n", text::count(one.count, "more suspect"), text::probability(one.probability))
}

fn table(rows: &[SuspectCommit]) -> String {
    let row = |one: &SuspectCommit| {
        let bar = "█".repeat((20.0 * one.probability).round() as usize);
        let level = one.level.map_or_else(|| text::NONE.to_owned(), |level| format!("{level:.2}"));
        vec![
            text::short(&one.sha, 12).to_owned(),
            text::probability(one.probability),
            bar,
            level,
            printable(&one.subject),
        ]
    };
    let head = rows.first().and_then(|one| one.benchmarks.as_ref());
    let head = head.map_or_else(String::new, |benchmarks| format!("{benchmarks}:\n"));
    head + &text::table(["suspect", "probability", "", "level", "subject"], rows.iter().map(row), &[1, 3])
}

/// The likeliest suspects of each cluster.
fn likely(project: &Project, stage: &Stage, clusters: &[Cluster]) -> crate::Result<Vec<Vec<SuspectCommit>>> {
    let of_cluster = |cluster: &Cluster| {
        let suspects = &cluster.posterior.suspects;
        let mut order: Vec<usize> = (1..=suspects.len()).collect();
        order.sort_by(|a, b| suspects[b - 1].total_cmp(&suspects[a - 1]));
        order.truncate(LISTED);
        order.retain(|place| suspects[place - 1] >= LEAST_LISTED);
        let suspect = |place: usize| -> crate::Result<SuspectCommit> {
            let sha = stage.commits[place].clone();
            let levels: Vec<f64> = cluster.measured.get(&place).into_iter().flatten().map(|one| one.level).collect();
            Ok(SuspectCommit {
                subject: subject(project, &sha)?,
                sha,
                probability: suspects[place - 1],
                level: describe::mean(&levels),
                benchmarks: (clusters.len() > 1).then(|| benchmarks(cluster)),
            })
        };
        order.into_iter().map(suspect).collect()
    };
    clusters.iter().map(of_cluster).collect()
}

/// The first one of a cluster, and how many more there are.
fn benchmarks(cluster: &Cluster) -> String {
    let steps = &cluster.question.steps;
    let first = format!("`{}`", printable(&steps[0].benchmark));
    match steps.len() - 1 {
        0 => first,
        more => format!("{first} and {}", text::count(more, "other")),
    }
}

fn subject(project: &Project, sha: &str) -> crate::Result<String> {
    let commit = history::find_commit(project.store()?, sha)?;
    Ok(commit.map(|commit| commit.subject).unwrap_or_default())
}

pub(super) fn named(project: &Project, sha: &str) -> crate::Result<String> {
    Ok(format!("{} ({})", text::short(sha, 12), printable(&subject(project, sha)?)))
}

fn effect(step: &Shift) -> BisectEffect {
    let reach = REACH * step.error;
    BisectEffect {
        benchmark: step.benchmark.clone(),
        change: step.change.exp_m1(),
        interval: ((step.change - reach).exp_m1(), (step.change + reach).exp_m1()),
    }
}

/// A report of what was measured, with levels of the benchmarks of the first cluster.
fn blank(state: &State, question: Option<(&BisectQuestion, &[Cluster])>) -> BisectReport {
    let mut measurements = Vec::new();
    let mut skipped = Vec::new();
    for stage in &state.stages {
        let mut so_far = Stage { answers: Vec::new(), ..stage.clone() };
        for answer in &stage.answers {
            so_far.answers.push(answer.clone());
            let Some((question, clusters)) = question else { continue };
            let level = |cluster: &Cluster| cluster.question.observation(&answer.session);
            if let Some(observation) = clusters.iter().find_map(level) {
                let so_far = so_far.search(question).clusters(state.confidence);
                let groups = so_far[0].groups();
                measurements.push(BisectMeasurement {
                    commit: stage.commits[answer.commit].clone(),
                    // The count of a commit is repeated for the search.
                    pairs: if state.instructions {
                        1
                    } else {
                        answer.session.values().map(Vec::len).max().unwrap_or(0)
                    },
                    level: observation.level,
                    probability: groups.iter().map(|group| group.probability).fold(0.0, f64::max).min(1.0),
                });
            }
        }
        let skip = |(commit, reason): (&usize, &String)| SkippedCommit {
            commit: stage.commits[*commit].clone(),
            reason: reason.clone(),
        };
        skipped.extend(stage.skipped.iter().map(skip));
    }
    BisectReport {
        schema_version: JSON_VERSION,
        suite: state.suite.clone(),
        ends: state.named.clone(),
        end_commits: [state.stages[0].commits.first(), state.stages[0].commits.last()]
            .map(|end| end.cloned().unwrap_or_default()),
        event: state.event.clone(),
        metric: state.metric.clone(),
        outcome: BisectOutcome::NoDifference,
        summary: String::new(),
        confidence: state.confidence,
        culprits: Vec::new(),
        undone: Vec::new(),
        effects: question.map(|(question, _)| question.steps.iter().map(effect).collect()).unwrap_or_default(),
        suspects: Vec::new(),
        unlisted: Vec::new(),
        measurements,
        skipped,
        end_sessions: state.ends.len(),
        detectable: None,
        seconds: state.seconds,
        reproduce: String::new(),
    }
}

/// The ends were measured `most` times at most.
pub(super) fn without_question(state: &State, most: usize) -> BisectReport {
    let detectable = detectable(&state.ends).filter(|_| state.ends.len() >= FEWEST_SESSIONS);
    let seen = detectable.map_or_else(
        || "The ends were not measured often enough to tell.".to_owned(),
        |change| format!("A change of {} would have been shown.", text::percent_size(change.max(LEAST_SHOWN))),
    );
    let [good, bad] = &state.named;
    let (outcome, words) = match judge(&state.ends, LEAST) {
        Ends::Alike => (BisectOutcome::NoDifference, format!("`{bad}` does not differ from `{good}`.")),
        _ if state.ends.len() >= most => {
            let hint = "`--continue` measures on; a longer benchmark, `--pin` or `--instructions` may show more.";
            (BisectOutcome::Uncertain, format!("`{bad}` does not differ from `{good}` for certain. {hint}"))
        }
        _ => {
            let words = format!("It is not certain yet whether `{bad}` differs from `{good}`; `--continue` goes on.");
            (BisectOutcome::Uncertain, words)
        }
    };
    BisectReport { outcome, summary: format!("{words} {seen}"), detectable, ..blank(state, None) }
}

pub(super) fn of_search(
    project: &Project,
    state: &State,
    search: &Search,
    clusters: &[Cluster],
) -> crate::Result<BisectReport> {
    let stage = state.stage();
    let mut groups: Vec<Group> = Vec::new();
    for group in clusters.iter().flat_map(|cluster| cluster.finding.groups()) {
        match groups.iter_mut().find(|one| (one.first, one.last) == (group.first, group.last)) {
            Some(one) => one.probability = one.probability.min(group.probability),
            None => groups.push(group),
        }
    }
    groups.sort_by_key(|group| group.first);
    let culprit = |group: &Group| -> crate::Result<Culprit> {
        let commits = stage.commits[group.first..=group.last].iter().map(|sha| culprit_commit(project, sha));
        let commits = commits.collect::<crate::Result<_>>()?;
        Ok(Culprit { probability: group.probability, commits, effects: moved(search, clusters, group) })
    };
    let culprits = groups.iter().map(culprit).collect::<crate::Result<Vec<Culprit>>>()?;
    let undone = clusters.iter().find_map(|cluster| match cluster.finding {
        Ruling::Redone(_, undone) => Some(undone.map(|group| CommitRange {
            first: stage.commits[group.first].clone(),
            last: stage.commits[group.last].clone(),
            probability: group.probability,
        })),
        _ => None,
    });
    let outcome = outcome(clusters, groups.len());
    let mut sentences = match outcome {
        BisectOutcome::SeveralCulprits => {
            vec![format!("{} moved different benchmarks.", text::count(groups.len(), "commit"))]
        }
        _ => Vec::new(),
    };
    // What each benchmark moved at is listed with the culprits.
    let is_listed = |cluster: &Cluster| !sentences.is_empty() && matches!(cluster.finding, Ruling::Culprit(_));
    let unlisted: Vec<&Cluster> = clusters.iter().filter(|cluster| !is_listed(cluster)).collect();
    sentences.extend(unlisted.into_iter().map(|cluster| match sentence(stage, &cluster.finding, state.confidence) {
        sentence if clusters.len() == 1 => sentence,
        sentence => format!("{}: {sentence}", benchmarks(cluster)),
    }));
    let filters: String = state.filters.iter().map(|filter| format!(" --filter '{filter}'")).collect();
    let command = |group: &Group| {
        let [before, last] = [group.first - 1, group.last].map(|place| text::short(&stage.commits[place], 12));
        match state.instructions {
            true => format!("sprag bisect {before} {last} --instructions --suite {}{filters}", state.suite),
            false => format!("sprag compare {before} {last} --measure --suite {}{filters}", state.suite),
        }
    };
    let suspects = likely(project, stage, clusters)?;
    Ok(BisectReport {
        outcome,
        summary: sentences.join(" "),
        culprits,
        undone: undone.into_iter().flatten().collect(),
        unlisted: clusters.iter().zip(&suspects).filter_map(|(cluster, listed)| left_out(cluster, listed)).collect(),
        suspects: suspects.concat(),
        reproduce: groups.iter().map(command).collect::<Vec<String>>().join("\n"),
        ..blank(state, Some((&search.question, clusters)))
    })
}

/// What all clusters come to, which blame so many groups of commits.
fn outcome(clusters: &[Cluster], culprits: usize) -> BisectOutcome {
    let of_finding = |cluster: &Cluster| match &cluster.finding {
        Ruling::Culprit(group) if group.first == group.last => BisectOutcome::Culprit,
        Ruling::Culprit(_) => BisectOutcome::OneOfSeveral,
        Ruling::Two(..) => BisectOutcome::TwoCulprits,
        Ruling::Redone(..) => BisectOutcome::Redone,
        Ruling::Drift(_) => BisectOutcome::Drift,
        Ruling::Other(_) => BisectOutcome::ManyChanges,
        Ruling::Open => BisectOutcome::Uncertain,
    };
    let mut outcomes: Vec<BisectOutcome> = clusters.iter().map(of_finding).collect();
    outcomes.dedup();
    match outcomes.as_slice() {
        [one] if clusters.len() == 1 || culprits <= 1 => *one,
        all if all.contains(&BisectOutcome::Uncertain) => BisectOutcome::Uncertain,
        all if culprits == 0 => all[0],
        _ => BisectOutcome::SeveralCulprits,
    }
}

/// The benchmarks that moved at a culprit. One that moved at two may have moved at one of them alone.
fn moved(search: &Search, clusters: &[Cluster], group: &Group) -> Vec<BisectEffect> {
    let mut effects = Vec::new();
    for cluster in clusters {
        let changes = cluster.finding.changes();
        if changes.iter().all(|one| (one.first, one.last) != (group.first, group.last)) {
            continue;
        }
        let is_single = cluster.finding.groups().len() == 1;
        let of_step = |step: &Shift| search.effect(step, *group, &changes);
        let has_moved = |one: &BisectEffect| is_single || one.interval.0 > 0.0 || one.interval.1 < 0.0;
        effects.extend(cluster.question.steps.iter().filter_map(of_step).filter(has_moved));
    }
    effects.sort_by(|a, b| b.change.abs().total_cmp(&a.change.abs()));
    effects
}

fn sentence(stage: &Stage, finding: &Ruling, confidence: f64) -> String {
    let count = |group: &Group| group.last + 1 - group.first;
    match finding {
        Ruling::Culprit(group) if count(group) == 1 => {
            format!("The culprit is one commit (probability {}).", text::probability(group.probability))
        }
        Ruling::Culprit(group) => format!(
            "The culprit is one of {} commits (together {}); none between them can be measured.",
            count(group),
            text::probability(group.probability)
        ),
        Ruling::Two(_, level) if (0.0..=1.0).contains(level) => {
            format!("The change has two parts: {} of it came with the first commit.", text::probability(*level))
        }
        Ruling::Two(..) => {
            "Two commits moved the level, and the second one undid a part of what the first one did.".to_owned()
        }
        Ruling::Redone(group, undone) => {
            let [change, undoing] =
                undone.map(|group| match (text::short(&stage.commits[group.last], 12), count(&group)) {
                    (last, 1) => format!("`{last}`"),
                    (last, count) => format!("one of the {count} commits up to `{last}`"),
                });
            let probability = text::probability(group.probability);
            format!(
                "Several commits moved the level; the last one is the culprit (probability {probability}). It had \
                 moved before, at {change}, and back, at {undoing}."
            )
        }
        Ruling::Drift(probability) => {
            format!("The change came gradually ({}), so no commit is to blame.", text::probability(*probability))
        }
        Ruling::Other(probability) => {
            format!("More changes lie between the ends than can be separated ({}).", text::probability(*probability))
        }
        Ruling::Open => {
            let asked = format!("{} %", (1000.0 * confidence).round() / 10.0);
            format!("No commit has the asked probability of {asked} yet; `--continue` goes on.")
        }
    }
}

fn culprit_commit(project: &Project, sha: &str) -> crate::Result<CulpritCommit> {
    let changes = history::changes(project.store()?, sha).context("cannot read what the culprit changed")?;
    let file = |file: history::FileChange| ChangedFile { path: file.path, added: file.added, removed: file.removed };
    Ok(CulpritCommit {
        sha: sha.to_owned(),
        subject: subject(project, sha)?,
        author: changes.author,
        files: changes.files.into_iter().map(file).collect(),
    })
}

fn change_text(effect: &BisectEffect) -> String {
    let interval = text::percent_interval(effect.interval);
    format!("{} ({interval}) {}", text::percent(effect.change), printable(&effect.benchmark))
}

/// Above the commits that no measurement separates.
fn one_of(culprit: &Culprit) -> String {
    format!("one of these {} commits, together {}", culprit.commits.len(), text::probability(culprit.probability))
}

impl BisectReport {
    /// Whether there are changes without a culprit.
    fn is_open(&self) -> bool {
        self.culprits.is_empty() || self.outcome == BisectOutcome::Uncertain
    }
}

pub fn terminal(report: &BisectReport) -> String {
    let mut text = format!("{}\n", report.summary);
    for culprit in &report.culprits {
        if culprit.commits.len() > 1 {
            text.push_str(&format!("\n{}:\n", one_of(culprit)));
        }
        for commit in &culprit.commits {
            let share =
                if culprit.commits.len() > 1 { String::new() } else { text::probability(culprit.probability) + "  " };
            let (sha, author) = (text::short(&commit.sha, 12), printable(&commit.author));
            text.push_str(&format!("\n{sha}  {share}{author}\n  {}\n", printable(&commit.subject)));
            for file in &commit.files {
                text.push_str(&format!("  {} +{} -{}\n", printable(&file.path), file.added, file.removed));
            }
        }
        culprit.effects.iter().for_each(|effect| text.push_str(&format!("  {}\n", change_text(effect))));
    }
    if report.is_open() && !report.effects.is_empty() {
        let metric = report.metric.as_ref().map_or_else(String::new, |name| format!(" in `{}`", printable(name)));
        text.push_str(&format!("\nbad end against good end{metric}, worse is positive:\n"));
        report.effects.iter().for_each(|effect| text.push_str(&format!("  {}\n", change_text(effect))));
    }
    if report.is_open() {
        text.push_str(&tables(report));
    }
    for one in &report.skipped {
        text.push_str(&format!("skipped {}: {}\n", text::short(&one.commit, 12), printable(&one.reason)));
    }
    if !report.reproduce.is_empty() {
        text.push_str(&format!("\nreproduce: {}\n", report.reproduce.replace('\n', "\n           ")));
    }
    text.push_str(&format!("{}\n", spent(report)));
    text
}

fn spent(report: &BisectReport) -> String {
    let measured = text::count(report.measurements.len(), "measurement");
    let ends = text::count(report.end_sessions, "session");
    format!("{measured} and {ends} of the ends in {}", text::duration(report.seconds))
}

pub fn markdown(report: &BisectReport) -> String {
    let end = |place: usize| {
        let (name, sha) = (&report.ends[place], text::short(&report.end_commits[place], 12));
        if *name == sha { code(name) } else { format!("{} ({sha})", code(name)) }
    };
    let [good, bad] = [end(0), end(1)];
    let metric = report.metric.as_ref().map_or_else(String::new, |name| format!(" of {}", code(name)));
    let effects = |effects: &[BisectEffect]| {
        let row = |one: &BisectEffect| {
            let interval = text::percent_interval(one.interval);
            format!("| {} | {} | {interval} |\n", code(&one.benchmark), text::percent(one.change))
        };
        let head = format!("\n| benchmark | change{metric}, positive is worse | 95 % interval |\n|:--|--:|--:|\n");
        head + &effects.iter().map(row).collect::<String>()
    };
    let mut text = format!(
        "## Bisection of {} from {good} to {bad}\n\n{}\n\n{}.\n",
        code(&report.suite),
        report.summary,
        spent(report)
    );
    for culprit in &report.culprits {
        let is_one = culprit.commits.len() == 1;
        if !is_one {
            text.push_str(&format!("\n{}:\n", one_of(culprit)));
        }
        for commit in &culprit.commits {
            let (sha, subject) = (text::short(&commit.sha, 12), plain(&commit.subject));
            let share = if is_one { format!(", {}", text::probability(culprit.probability)) } else { String::new() };
            text.push_str(&format!("\n**{sha}** {subject} ({}{share})\n\n", plain(&commit.author)));
            for file in &commit.files {
                text.push_str(&format!("- {} +{} -{}\n", code(&file.path), file.added, file.removed));
            }
        }
        if !culprit.effects.is_empty() {
            text.push_str(&effects(&culprit.effects));
        }
    }
    if report.is_open() && !report.effects.is_empty() {
        text.push_str(&effects(&report.effects));
    }
    for suspects in report.suspects.chunk_by(|one, next| one.benchmarks == next.benchmarks) {
        text.push_str(&suspects[0].benchmarks.as_ref().map_or_else(String::new, |all| format!("\n{all}:\n")));
        text.push_str("\n| suspect | probability | level | subject |\n|:--|--:|--:|:--|\n");
        for one in suspects {
            let level = one.level.map_or_else(|| text::NONE.to_owned(), |level| format!("{level:.2}"));
            let (sha, probability) = (text::short(&one.sha, 12), text::probability(one.probability));
            text.push_str(&format!("| {sha} | {probability} | {level} | {} |\n", plain(&one.subject)));
        }
        let unlisted = unlisted_of(report, suspects);
        text.push_str(&if unlisted.is_empty() { unlisted } else { format!("\n{unlisted}") });
    }
    for one in &report.skipped {
        text.push_str(&format!("\nSkipped {}: {}\n", text::short(&one.commit, 12), plain(&one.reason)));
    }
    if !report.reproduce.is_empty() {
        text.push_str(&format!("\nReproduce:\n\n    {}\n", report.reproduce.replace('\n', "\n    ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_acts_in_markdown() {
        let mut state = State::default();
        state.suite.push_str("cpu`<i>");
        state.stages.push(Stage { commits: vec!["a".repeat(40), "b".repeat(40)], ..Stage::default() });
        let mut report = without_question(&state, 5);
        let (commit, reason) = ("a".repeat(40), "<img> @someone\n# x".to_owned());
        report.skipped.push(SkippedCommit { commit, reason });
        let text = markdown(&report);
        assert!(text.contains("Bisection of <code>cpu&#96;&#60;i&#62;</code> from"), "{text}");
        assert!(text.contains("Skipped aaaaaaaaaaaa: &lt;img&gt; &#64;&#8203;someone↵"), "{text}");
    }
}
