//! `sprag bisect`: from two ends of a history, or an event, to the commit that made the difference.
//!
//! Builds and measures as `compare --measure` does; [`sprag_analysis::bisect`] says what follows and what to measure next. The
//! state is saved after each measurement, so what is interrupted goes on with `--continue`.

mod ends;
mod prior;
mod state;
mod report;
mod plan;
mod record;
mod share;
mod counting;
mod measuring;

use std::time::{Duration, Instant};

use crate::bisect::counting::Counter;
use crate::bisect::ends::Span;
use crate::bisect::measuring::{Measurer, Obstacle, Taken, Unmeasured};
use crate::bisect::plan::Seconds;
use crate::bisect::state::{Answer, LEAST, PAIRS, Stage, State};
use crate::builds::Builds;
use crate::builds::commit_build::by_id;
use crate::builds::failures::failed_run;
use crate::compare;
use crate::config::{Suite, SuiteKind};
use crate::error::Exit;
use crate::gate::machine_of;
use crate::measuring::{MeasureHost, foresee};
use crate::pending::{self, Origin};
use crate::project::Project;
use crate::text::{self, note, say};
use crate::trend::{self, NOTHING_OPEN};
use crate::{Advice, cache, refuse, study};
use sprag_analysis::bisect::choice::Costs;
use sprag_analysis::bisect::cluster::{Cluster, only_culprit};
use sprag_analysis::bisect::question::{Ends, FEWEST_SESSIONS, Question, judge};
use sprag_analysis::bisect::search::Search;
use sprag_history::Record;
use sprag_measure::interrupt::say_on_interrupt;
use sprag_measure::suite::Observer;
use sprag_model::shard::Shard;

pub use crate::bisect::report::{BisectOutcome, BisectReport, markdown, terminal};
pub use crate::bisect::state::{BisectRequest, Recording};

/// How many sessions of the ends are measured at most. The longer they stay unclear, the more pairs a session has.
const MOST_ENDS: usize = 24;
const LONGER_AFTER: [usize; 2] = [6, 12];

/// What a bisection came to; no report where the ends cannot be measured.
pub fn bisect(request: &BisectRequest, host: MeasureHost<'_>) -> crate::Result<(Option<BisectReport>, Exit)> {
    let project = Project::open(&request.folder)?;
    let state = match request.resume {
        true => Some(State::load(&project, request)?),
        false => begin(&project, request)?,
    };
    let Some(mut state) = state else {
        say(NOTHING_OPEN);
        return Ok((None, Exit::Done));
    };
    let _lock = state.lock(&project)?;
    record::check(&project, &mut state)?;
    if !request.resume && state.exists(&project) {
        note("an earlier bisection did not end; it is replaced. `--continue` would have gone on with it");
    }
    let start = Instant::now();
    let (name, suite) = compare::chosen_suite(&project, Some(state.suite.as_str()), false)?;
    let suite = &Suite { until: Some(start + Duration::from_secs_f64(request.budget)), ..suite.clone() };
    let builds = Builds::new(&project, host.observer, false);
    let counter = if state.instructions { Some(Counter::new()?) } else { None };
    let machine = machine_of(project.machine_name().as_deref(), suite);
    let measurer = Measurer { project: &project, name, suite, machine, host, builds: &builds, pin: state.pin };
    let before = state.seconds;
    let seconds = Seconds::before(&project, &builds, name);
    let mut run = Run { project: &project, request, measurer, counter, state, start, before, seconds, steps: 0 };
    run.foresee_interrupt();
    let ended = run.run();
    run.measurer.host.observer.end();
    let (report, exit) = ended?;
    let Some(report) = report else { return Ok((None, exit)) };
    if run.state.recording != Recording::None {
        record::event(&project, &run.state, &report)?;
        run.exchange()?;
    }
    if report.outcome != BisectOutcome::Uncertain {
        run.state.remove(&project)?;
    }
    Ok((Some(report), exit))
}

/// What would be built and measured.
pub fn plan(request: &BisectRequest, observer: &dyn Observer) -> crate::Result<String> {
    let project = Project::open(&request.folder)?;
    let Some(state) = begin(&project, request)? else { return Ok(format!("{NOTHING_OPEN}\n")) };
    let (_, suite) = compare::chosen_suite(&project, Some(state.suite.as_str()), false)?;
    let builds = Builds::new(&project, observer, false);
    let built = builds.present(suite, &state.stage().commits)?;
    plan::plan(&project, &state, Seconds::before(&project, &builds, &state.suite), &built)
}

/// Nothing where the worst event is asked for and there is none.
fn begin(project: &Project, request: &BisectRequest) -> crate::Result<Option<State>> {
    let Span { good, bad, named, event } = match (&request.ends, &request.event) {
        (Some((good, bad)), _) => ends::named(project, good, bad)?,
        (None, Some(id)) => match trend::named(project, id)? {
            Some(event) => ends::of_event(&event)?,
            None => return Ok(None),
        },
        (None, None) => {
            let hint = "name them, as in `sprag bisect v1.2 HEAD`, or an event: `sprag bisect --event e-1234`";
            return refuse("a bisection has a good and a bad end", hint);
        }
    };
    let of_event = event.as_ref().map(|event| event.suite.as_str());
    let (suite, settings) = compare::chosen_suite(project, request.suite.as_deref().or(of_event), false)?;
    let commits = ends::line(project, &good, &bad)?;
    let likely = event.as_ref().map(|event| event.suspects.as_slice()).unwrap_or_default();
    let prior = prior::of_line(project, settings, &commits, likely)?;
    let mut state = State::new(request, suite, named, Stage { commits, prior, ..Stage::default() });
    if let Some(event) = event {
        if event.suite == suite {
            state.metric = state.metric.or(event.metric);
            if state.filters.is_empty() {
                state.filters = event.benchmarks;
            }
        }
        state.event = Some(event.id);
    }
    if state.instructions && settings.kind == SuiteKind::Command {
        if !request.filters.is_empty() {
            let message = "`--filter` has no effect on the instructions of a whole command";
            return refuse(message, "leave it out, or bisect by time, without `--instructions`");
        }
        state.filters.clear();
    }
    if state.instructions && matches!(settings.kind, SuiteKind::Gpu | SuiteKind::Cuda) {
        let message = "the instructions of CUDA kernels are not counted";
        return refuse(message, "bisect by time, without `--instructions`");
    }
    if settings.kind == SuiteKind::Command {
        foresee(project, suite, &request.filters);
    }
    Ok(Some(state))
}

struct Run<'a> {
    project: &'a Project,
    request: &'a BisectRequest,
    measurer: Measurer<'a>,
    /// Where instructions decide.
    counter: Option<Counter>,
    state: State,
    start: Instant,
    /// The seconds that it took before it was interrupted.
    before: f64,
    /// What builds and pairs took before it began.
    seconds: Seconds,
    /// Measurements now.
    steps: u32,
}

impl Run<'_> {
    fn run(&mut self) -> crate::Result<(Option<BisectReport>, Exit)> {
        let question = match self.ends()? {
            Ok(question) => question,
            Err(Exit::NotMeasured) => return Ok((None, Exit::NotMeasured)),
            Err(exit) => return Ok((Some(report::without_question(&self.state, MOST_ENDS)), exit)),
        };
        loop {
            let (search, clusters) = self.search(&question)?;
            let descended = match only_culprit(&clusters) {
                Some(culprit) if !self.state.first_parent => self.follow_merge(culprit)?,
                _ => false,
            };
            if !descended {
                let report = report::of_search(self.project, &self.state, &search, &clusters)?;
                let is_named = clusters.iter().all(|cluster| cluster.finding.is_named());
                return Ok((Some(report), if is_named { Exit::Done } else { Exit::Inconclusive }));
            }
        }
    }

    fn is_over(&self) -> bool {
        self.measurer.is_late() || self.request.steps.is_some_and(|most| self.steps >= most)
    }

    fn save(&mut self) -> crate::Result<()> {
        self.state.seconds = self.before + self.start.elapsed().as_secs_f64();
        self.state.save(self.project)?;
        self.foresee_interrupt();
        Ok(())
    }

    /// What an interrupt would print from now on.
    fn foresee_interrupt(&self) {
        let measured = match (self.state.measurements(), self.state.ends.len()) {
            (0, 0) => return say_on_interrupt("\nbisect: stopped before anything was measured\n".to_owned()),
            (0, sessions) => text::count(sessions, "session") + " of the ends",
            (measurements, _) => text::count(measurements, "measurement"),
        };
        say_on_interrupt(format!("\nbisect: stopped after {measured}; `sprag bisect --continue` goes on\n"));
    }

    /// Says why the budget ended a build or a measurement, whose commit may be fine.
    fn is_late(&self, sha: &str, unmeasured: &Unmeasured) -> bool {
        let is_late = unmeasured.obstacle == Obstacle::Late;
        if is_late {
            let commit = text::short(sha, 12);
            note(&format!("the budget ended while {commit} was built or measured: {}", unmeasured.reason));
        }
        is_late
    }

    /// Measures the ends until they differ for certain, or says why there is no question.
    fn ends(&mut self) -> crate::Result<Result<Question, Exit>> {
        let stage = &self.state.stages[0];
        let [good, bad] = [stage.commits.first(), stage.commits.last()].map(|end| end.cloned().unwrap_or_default());
        loop {
            self.exchange()?;
            match judge(&self.state.ends, LEAST) {
                Ends::Differ(question) => return Ok(Ok(question)),
                Ends::Alike => return Ok(Err(Exit::Inconclusive)),
                Ends::Unclear if self.state.ends.len() >= MOST_ENDS || self.is_over() => {
                    return Ok(Err(Exit::Inconclusive));
                }
                Ends::Unclear | Ends::Nothing => {}
            }
            if self.state.pair_seconds.is_empty() {
                for end in [&good, &bad] {
                    match self.measurer.build(end)? {
                        Ok(seconds) => self.state.build_seconds.extend(seconds),
                        Err(unmeasured) => return self.unmeasured(end, &unmeasured),
                    }
                }
            }
            let pairs = PAIRS[LONGER_AFTER.iter().filter(|after| self.state.ends.len() >= **after).count()];
            match self.measured([&good, &bad], pairs)? {
                Ok(taken) => {
                    if taken.session.is_empty() {
                        let reason = measuring::incomparable(&taken.result, self.state.metric.as_deref());
                        return self.unmeasured(&bad, &Unmeasured { reason, obstacle: Obstacle::Unmeasurable });
                    }
                    self.record([&good, &bad], &taken)?;
                    self.state.ends.push(taken.session);
                    if self.state.filters.is_empty() && !self.state.instructions {
                        let processes = 2 * taken.result.pairs.max(1);
                        cache::note_seconds(self.project, &self.state.suite, taken.seconds / processes as f64);
                    }
                    self.state.pair_seconds.push(taken.seconds / taken.result.pairs.max(1) as f64);
                }
                Err(unmeasured) => return self.unmeasured(&bad, &unmeasured),
            }
            self.save()?;
            let count = self.state.ends.len();
            if count >= FEWEST_SESSIONS {
                say(&report::ends_line(&self.state));
            }
        }
    }

    fn unmeasured(&mut self, end: &str, unmeasured: &Unmeasured) -> crate::Result<Result<Question, Exit>> {
        if self.is_late(end, unmeasured) {
            self.save()?;
            return Ok(Err(Exit::Inconclusive));
        }
        let hint = match matches!(unmeasured.obstacle, Obstacle::Broken | Obstacle::Unbuilt) {
            true => "name another end that can be built, or fix `build` of the suite in sprag.toml",
            false => "name ends that both have the benchmark, or other benchmarks with `--filter`",
        };
        text::error(&Advice::new(format!("the ends cannot be measured: {}", unmeasured.reason), hint).into());
        Ok(Err(Exit::NotMeasured))
    }

    fn search(&mut self, question: &Question) -> crate::Result<(Search, Vec<Cluster>)> {
        let good = self.state.stages[0].commits[0].clone();
        let job = self.job();
        let loaded = study::load(self.project, self.project.store()?)?;
        let broken = share::skip_broken(&loaded, &mut self.state);
        if broken > 0 {
            let commits = text::count(broken, "commit");
            note(&format!(
                "{commits} skipped: records say that they cannot be built; `sprag backfill --retry` tries again"
            ));
        }
        let mut built = self.measurer.builds.present(self.measurer.suite, &self.state.stage().commits)?;
        loop {
            self.exchange()?;
            let stage = self.state.stage();
            let search = stage.search(question);
            let clusters = search.clusters(self.state.confidence);
            let seconds = self.seconds.of(&self.state);
            let costs = Costs {
                pairs: if self.state.instructions { &PAIRS[..1] } else { &PAIRS },
                cost: &|commit, pairs| seconds.cost(pairs, built.contains(&commit)),
                is_built: &|commit| built.contains(&commit),
            };
            let choice = if self.is_over() { None } else { search.next(&clusters, &costs, job) };
            let next = choice.as_ref().map(|choice| {
                let most = self.measurer.suite.seconds_left().unwrap_or(self.request.budget);
                let unbuilt = 1.0 - built.len() as f64 / stage.commits.len() as f64;
                (choice, [plan::seconds_left(&clusters, choice, seconds, unbuilt).min(most), most])
            });
            say(&report::progress(self.project, &self.state, &clusters, next)?);
            let Some(choice) = choice else {
                self.save()?;
                return Ok((search, clusters));
            };
            let sha = stage.commits[choice.commit].clone();
            match self.measurer.build(&sha)? {
                Ok(seconds) => {
                    built.insert(choice.commit);
                    self.state.build_seconds.extend(seconds);
                }
                Err(unmeasured) => {
                    self.pass_over(choice.commit, unmeasured)?;
                    continue;
                }
            }
            match self.measured([&good, &sha], choice.pairs)? {
                Ok(taken) if question.observation(&taken.session).is_none() => {
                    self.skip(choice.commit, "it lacks the benchmarks that differ".to_owned())?;
                }
                Ok(taken) => {
                    self.steps += 1;
                    self.record([&good, &sha], &taken)?;
                    self.state.pair_seconds.push(taken.seconds / taken.result.pairs.max(1) as f64);
                    self.state.stage_mut().answers.push(Answer { commit: choice.commit, session: taken.session });
                    self.save()?;
                }
                Err(unmeasured) => self.pass_over(choice.commit, unmeasured)?,
            }
        }
    }

    fn measured(&self, commits: [&str; 2], pairs: usize) -> crate::Result<Result<Taken, Unmeasured>> {
        match &self.counter {
            Some(counter) => counter.session(&self.measurer, &self.state, commits, pairs),
            None => self.measurer.session(&self.state, commits, pairs),
        }
    }

    fn job(&self) -> u32 {
        self.state.shard().map_or(1, Shard::index)
    }

    /// With the jobs that share the bisection.
    fn exchange(&mut self) -> crate::Result<()> {
        if self.state.shard().is_none() {
            return Ok(());
        }
        share::exchange(self.project)?;
        let answers = share::join(self.project, &self.measurer.machine, &mut self.state)?;
        if answers > 0 {
            note(&format!("{} of other jobs", text::count(answers, "answer")));
            self.save()?;
        }
        Ok(())
    }

    /// Records the runs of a session. Counts of the ends are the same each time.
    fn record(&mut self, commits: [&str; 2], taken: &Taken) -> crate::Result<()> {
        let is_end = self.state.stages[0].commits.last().is_some_and(|bad| bad == commits[1]);
        let is_known = is_end && self.state.instructions && !self.state.ends.is_empty();
        if self.state.recording == Recording::None || is_known {
            return Ok(());
        }
        let (id, records) = record::runs(&self.measurer, &self.state, commits, taken, (self.job(), is_end))?;
        self.add_records(&records)?;
        self.state.runs.insert(id);
        Ok(())
    }

    fn pass_over(&mut self, commit: usize, unmeasured: Unmeasured) -> crate::Result<()> {
        if self.is_late(&self.state.stage().commits[commit], &unmeasured) {
            return Ok(());
        }
        if unmeasured.obstacle == Obstacle::Broken && self.state.recording != Recording::None {
            let built = by_id(self.project, &self.state.stage().commits[commit])?;
            let run = failed_run(&self.state.suite, &built, &self.measurer.machine, unmeasured.reason.clone());
            self.add_records(&[Record::from_run(&run)])?;
        }
        self.skip(commit, unmeasured.reason)
    }

    fn add_records(&self, records: &[Record]) -> crate::Result<()> {
        match &self.state.recording {
            Recording::Folder(folder) => record::write(folder, records),
            _ => pending::record(self.project, records, Origin::Measured).map(drop),
        }
    }

    fn skip(&mut self, commit: usize, reason: String) -> crate::Result<()> {
        let stage = self.state.stage_mut();
        note(&format!("{} is skipped: {reason}", text::short(&stage.commits[commit], 12)));
        stage.skipped.insert(commit, reason);
        self.save()
    }

    /// Goes on among the commits that a merge brought, if the culprit is one.
    fn follow_merge(&mut self, culprit: usize) -> crate::Result<bool> {
        let sha = self.state.stage().commits[culprit].clone();
        let good = &self.state.stages[0].commits[0];
        let searched: Vec<&[String]> = self.state.stages.iter().map(|stage| stage.commits.as_slice()).collect();
        let Some(commits) = ends::merged(self.project, &sha, good, &searched)? else { return Ok(false) };
        note(&format!("{} is a merge; the commits that it brought are next", text::short(&sha, 12)));
        let prior = prior::of_line(self.project, self.measurer.suite, &commits, &[])?;
        self.state.stages.push(Stage { commits, prior, ..Stage::default() });
        Ok(true)
    }
}
