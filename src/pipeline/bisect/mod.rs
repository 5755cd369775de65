//! `sprag bisect`: from two ends of a history, or an event, to the commit that made the difference.
//!
//! Builds and measures as `compare --measure` does; [`sprag_analysis::bisect`] says what follows and what to measure next. The
//! state is saved after each measurement, so what is interrupted goes on with `--continue`.

mod ends;
mod prior;
mod state;
mod measuring;
mod report;

use std::time::Instant;

use crate::bisect::ends::{Line, Span};
use crate::bisect::measuring::{Measurer, Unmeasured};
use crate::bisect::state::{Answer, LEAST, PAIRS, Stage, State};
use crate::builds::Builds;
use crate::compare;
use crate::error::Exit;
use crate::measuring::MeasureHost;
use crate::project::Project;
use crate::text::{note, say};
use crate::trend;
use crate::{Advice, refuse};
use sprag_analysis::bisect::choice::Costs;
use sprag_analysis::bisect::question::{Ends, FEWEST_SESSIONS, Question, judge};
use sprag_analysis::bisect::search::{Finding, Group, Search};

pub use crate::bisect::report::{BisectReport, markdown, terminal};
pub use crate::bisect::state::BisectRequest;

/// How many sessions of the ends are measured at most. The longer they stay unclear, the more pairs a session has.
const MOST_ENDS: usize = 24;
const LONGER_AFTER: [usize; 2] = [6, 12];

/// What a bisection came to; no report of a dry run, whose plan is printed.
pub fn bisect(request: &BisectRequest, host: MeasureHost<'_>) -> crate::Result<(Option<BisectReport>, Exit)> {
    let project = Project::open(&request.folder)?;
    let state = if request.resume { State::load(&project)? } else { begin(&project, request)? };
    let (name, suite) = compare::chosen_suite(&project, Some(state.suite.as_str()))?;
    let builds = Builds::new(&project, host.observer, false);
    if request.dry_run {
        say(&report::plan(&project, &state)?);
        return Ok((None, Exit::Done));
    }
    state.save(&project)?;
    let measurer = Measurer { project: &project, name, suite, host, builds: &builds, pin: request.pin };
    let mut run = Run { project: &project, request, measurer, state, start: Instant::now(), steps: 0 };
    let before = run.state.seconds;
    let ended = run.run(before);
    run.measurer.host.observer.end();
    let (report, exit) = ended?;
    if exit == Exit::Done {
        State::remove(&project)?;
    }
    if request.record {
        record(&project, &report)?;
    }
    Ok((Some(report), exit))
}

fn begin(project: &Project, request: &BisectRequest) -> crate::Result<State> {
    let Span { good, bad, named, event } = match (&request.ends, &request.event) {
        (Some((good, bad)), _) => ends::named(project, good, bad)?,
        (None, Some(id)) => ends::of_event(project, id)?,
        (None, None) => {
            let hint = "name them, as in `sprag bisect v1.2 HEAD`, or an event: `sprag bisect --event e-1234`";
            return refuse("a bisection has a good and a bad end", hint);
        }
    };
    if request.record && event.is_none() {
        let hint = "`sprag trend` lists the events with their ids; `--out FILE` writes a report of any bisection";
        return refuse("`--record` records what became of an event, and none is named", hint);
    }
    if let Some(event) = event.as_ref().filter(|_| request.record) {
        // An event without a record must not end a long search.
        trend::narrowed(project, &event.id, &bad)?;
    }
    let suite = match (&request.suite, &event) {
        (None, Some(event)) => event.suite.clone(),
        _ => None,
    };
    let (suite, _) = compare::chosen_suite(project, request.suite.as_deref().or(suite.as_deref()))?;
    let filters = match &event {
        Some(event) if request.filters.is_empty() => event.benchmarks.clone(),
        _ => request.filters.clone(),
    };
    let commits = ends::line(project, &good, &bad)?;
    let likely = event.as_ref().map(|event| event.suspects.as_slice()).unwrap_or_default();
    let prior = prior::of_line(project, &commits, likely)?;
    if state::exists(project) {
        note("an earlier bisection did not end; it is replaced. `--continue` would have gone on with it");
    }
    let stage = Stage { commits, prior, ..Stage::default() };
    Ok(State::new(suite, filters, request, named, event.map(|event| event.id), stage))
}

struct Run<'a> {
    project: &'a Project,
    request: &'a BisectRequest,
    measurer: Measurer<'a>,
    state: State,
    start: Instant,
    /// Measurements now.
    steps: usize,
}

impl Run<'_> {
    fn run(&mut self, before: f64) -> crate::Result<(BisectReport, Exit)> {
        let question = match self.ends(before)? {
            Ok(question) => question,
            Err(exit) => return Ok((report::without_question(&self.state), exit)),
        };
        loop {
            let (search, finding) = self.search(&question, before)?;
            let descended = match &finding {
                Finding::Culprit(group) if group.first == group.last && !self.state.first_parent => {
                    self.follow_merge(group)?
                }
                _ => false,
            };
            if !descended {
                let report = report::of_search(self.project, &self.state, &search, &finding)?;
                let is_named = matches!(&finding, Finding::Culprit(group) if group.first == group.last)
                    || matches!(&finding, Finding::Two(..));
                return Ok((report, if is_named { Exit::Done } else { Exit::Inconclusive }));
            }
        }
    }

    fn is_over(&self) -> bool {
        self.start.elapsed().as_secs_f64() >= self.request.budget
            || self.request.steps.is_some_and(|most| self.steps >= most)
    }

    fn save(&mut self, before: f64) -> crate::Result<()> {
        self.state.seconds = before + self.start.elapsed().as_secs_f64();
        self.state.save(self.project)
    }

    /// Measures the ends until they differ for certain, or says why there is no question.
    fn ends(&mut self, before: f64) -> crate::Result<Result<Question, Exit>> {
        let stage = &self.state.stages[0];
        let [good, bad] = [stage.commits.first(), stage.commits.last()].map(|end| end.cloned().unwrap_or_default());
        loop {
            match judge(&self.state.ends, LEAST) {
                Ends::Differ(question) => return Ok(Ok(question)),
                Ends::Alike => return Ok(Err(Exit::Inconclusive)),
                Ends::Unclear if self.state.ends.len() >= MOST_ENDS || self.is_over() => {
                    return Ok(Err(Exit::Inconclusive));
                }
                Ends::Unclear | Ends::Nothing => {}
            }
            if self.state.ends.is_empty() {
                for end in [&good, &bad] {
                    match self.measurer.build(end)? {
                        Ok(seconds) => self.state.build_seconds.extend(seconds),
                        Err(reason) => return self.unmeasured(&Unmeasured { reason, is_broken: true }),
                    }
                }
            }
            let pairs = PAIRS[LONGER_AFTER.iter().filter(|after| self.state.ends.len() >= **after).count()];
            match self.measurer.session(&self.state, &good, &bad, pairs)? {
                Ok((session, seconds)) => {
                    if session.is_empty() {
                        let reason = "no benchmark has a comparable value at both ends".to_owned();
                        return self.unmeasured(&Unmeasured { reason, is_broken: false });
                    }
                    self.state.ends.push(session);
                    self.state.pair_seconds.push(seconds / pairs as f64);
                }
                Err(unmeasured) => return self.unmeasured(&unmeasured),
            }
            self.save(before)?;
            let count = self.state.ends.len();
            if count >= FEWEST_SESSIONS {
                say(&report::ends_line(&self.state));
            }
        }
    }

    fn unmeasured(&self, unmeasured: &Unmeasured) -> crate::Result<Result<Question, Exit>> {
        let hint = match unmeasured.is_broken {
            true => "name another end that can be built, or mend `build` of the suite in sprag.toml",
            false => "name ends that both have the benchmark, or other benchmarks with `--filter`",
        };
        crate::text::error(&Advice::new(format!("the ends cannot be measured: {}", unmeasured.reason), hint).into());
        Ok(Err(Exit::NotMeasured))
    }

    fn search(&mut self, question: &Question, before: f64) -> crate::Result<(Search, Finding)> {
        let good = self.state.stages[0].commits[0].clone();
        let mut built = self.measurer.built(&self.state.stage().commits)?;
        loop {
            let stage = self.state.stage();
            let search = stage.search(question);
            let posterior = search.posterior();
            let finding = search.finding(&posterior, self.state.confidence);
            let pair = self.state.mean_pair();
            let build = self.state.mean_build();
            let costs = Costs {
                pairs: &PAIRS,
                cost: &|commit, pairs| pairs as f64 * pair + if built.contains(&commit) { 0.0 } else { build },
                is_skipped: &|commit| search.skipped.contains(&commit),
                is_built: &|commit| built.contains(&commit),
            };
            let is_over = finding != Finding::Open || self.is_over();
            let choice = if is_over { None } else { search.next(&posterior, &costs) };
            let left = self.request.budget - self.start.elapsed().as_secs_f64();
            say(&report::progress(self.project, &self.state, &search, &posterior, choice, left)?);
            let Some(choice) = choice else { return Ok((search, finding)) };
            let sha = stage.commits[choice.commit].clone();
            match self.measurer.build(&sha)? {
                Ok(seconds) => {
                    built.insert(choice.commit);
                    self.state.build_seconds.extend(seconds);
                }
                Err(reason) => {
                    note(&format!("{} is skipped: {reason}", crate::text::short(&sha, 12)));
                    self.state.stage_mut().skipped.insert(choice.commit, reason);
                    self.save(before)?;
                    continue;
                }
            }
            self.steps += 1;
            match self.measurer.session(&self.state, &good, &sha, choice.pairs)? {
                Ok((session, _)) if question.observation(&session).is_none() => {
                    let reason = "it lacks the benchmarks that differ".to_owned();
                    self.state.stage_mut().skipped.insert(choice.commit, reason);
                }
                Ok((session, seconds)) => {
                    self.state.pair_seconds.push(seconds / choice.pairs as f64);
                    self.state.stage_mut().answers.push(Answer { commit: choice.commit, session });
                }
                Err(unmeasured) => {
                    self.state.stage_mut().skipped.insert(choice.commit, unmeasured.reason);
                }
            }
            self.save(before)?;
        }
    }

    /// Goes on among the commits that a merge brought, if the culprit is one.
    fn follow_merge(&mut self, group: &Group) -> crate::Result<bool> {
        let sha = self.state.stage().commits[group.first].clone();
        let Some(Line(commits)) = ends::merged(self.project, &sha)? else { return Ok(false) };
        note(&format!("{} is a merge; the commits that it brought are next", crate::text::short(&sha, 12)));
        let prior = prior::of_line(self.project, &commits, &[])?;
        self.state.stages.push(Stage { commits, prior, ..Stage::default() });
        Ok(true)
    }
}

/// Records that an event is narrowed to the culprit.
fn record(project: &Project, report: &BisectReport) -> crate::Result<()> {
    let (Some(id), [culprit]) = (&report.event, report.culprits.as_slice()) else {
        note("nothing is recorded, as no single culprit is certain");
        return Ok(());
    };
    let [only] = culprit.commits.as_slice() else {
        note("nothing is recorded, as no single culprit is certain");
        return Ok(());
    };
    trend::record(project, &trend::narrowed(project, id, &only.sha)?.into_iter().collect::<Vec<_>>())
}
