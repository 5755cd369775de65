//! `sprag bisect`: from two ends of a history, or an event, to the commit that made the difference.
//!
//! Builds and measures as `compare --measure` does; [`sprag_analysis::bisect`] says what follows and what to measure next. The
//! state is saved after each measurement, so what is interrupted goes on with `--continue`.

mod ends;
mod prior;
mod state;
mod report;
mod plan;
pub(crate) mod record;
mod share;
mod counting;
mod measuring;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::bisect::counting::Counter;
use crate::bisect::ends::Span;
use crate::bisect::measuring::{Measurer, Obstacle, Taken, Unmeasured};
use crate::bisect::plan::Seconds;
use crate::bisect::prior::Likely;
use crate::bisect::share::Announcement;
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
use sprag_analysis::bisect::choice::{Costs, Pending};
use sprag_analysis::bisect::cluster::{Cluster, only_culprit};
use sprag_analysis::bisect::question::{BisectQuestion, Ends, FEWEST_SESSIONS, judge};
use sprag_analysis::bisect::search::Search;
use sprag_history::Record;
use sprag_measure::interrupt::say_on_interrupt;
use sprag_measure::suite::Observer;
use sprag_model::run::Run as RecordedRun;
use sprag_model::{BisectEffect, Shard};

pub use crate::bisect::report::{BisectOutcome, BisectReport, markdown, terminal};
pub use crate::bisect::state::{BisectRequest, Recording};

/// How many sessions of the ends are measured at most, and by each `--continue`. The longer they stay unclear, the more pairs a session has.
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
    state.settle(suite);
    let suite = &Suite { until: Some(start + Duration::from_secs_f64(request.budget)), ..suite.clone() };
    let builds = Builds::new(&project, host.observer, false);
    let counter = if state.instructions { Some(Counter::new()?) } else { None };
    let machine = machine_of(project.machine_name().as_deref(), suite);
    let measurer = Measurer { project: &project, name, suite, machine, host, builds: &builds, pin: state.pin };
    let before = state.seconds;
    let seconds = Seconds::before(&project, &builds, (name, suite));
    let most_ends = state.ends.len() + MOST_ENDS;
    let outer = None;
    let mut run = Run {
        project: &project,
        request,
        measurer,
        counter,
        state,
        outer,
        older: BTreeSet::new(),
        start,
        before,
        seconds,
        steps: 0,
        most_ends,
    };
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
    let inputs = builds.inputs(suite, &state.stage().commits)?;
    plan::plan(&project, &state, Seconds::before(&project, &builds, (&state.suite, suite)), &built, &inputs)
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
    let likely = match &event {
        Some(event) => Likely::of_event(event.suspects.clone()),
        None => {
            // What would stop the search stops it before anything is measured.
            study::load(project, project.store()?)?;
            Likely::of_history(project, suite, &request.filters, &commits)
        }
    };
    let prior = prior::of_line(project, settings, &commits, &likely)?;
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
        foresee(project, suite, &request.filters, None);
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
    /// While the state is that of a part: that of the whole bisection, and the place of the part in it.
    outer: Option<(State, usize)>,
    /// Sentences about merges of older branches.
    older: BTreeSet<String>,
    start: Instant,
    /// The seconds that it took before it was interrupted.
    before: f64,
    /// What builds and pairs took before it began.
    seconds: Seconds,
    steps: u32,
    /// Sessions of the ends, with those of before.
    most_ends: usize,
}

impl Run<'_> {
    fn run(&mut self) -> crate::Result<(Option<BisectReport>, Exit)> {
        self.record_waiting()?;
        let question = match self.ends()? {
            Ok(question) => question,
            Err(Exit::NotMeasured) => return Ok((None, Exit::NotMeasured)),
            Err(exit) => return Ok((Some(report::without_question(&self.state, self.most_ends)), exit)),
        };
        loop {
            let (search, clusters) = self.search(&question)?;
            let descended = match only_culprit(&clusters) {
                Some(culprit) if !self.state.first_parent => self.follow_merge(culprit)?,
                _ => false,
            };
            if !descended {
                let mut report = report::of_search(self.project, &self.state, &search, &clusters)?;
                if report.culprits.len() > 1 && !self.state.first_parent && self.outer.is_none() {
                    self.follow_merges(&mut report)?;
                }
                let is_named = clusters.iter().all(|cluster| cluster.finding.is_named())
                    && report.culprits.iter().all(|culprit| culprit.commits.len() == 1)
                    && report.outcome != BisectOutcome::Uncertain;
                if self.outer.is_none() {
                    self.older.iter().for_each(|sentence| report.summary.push_str(&format!(" {sentence}")));
                }
                return Ok((Some(report), if is_named { Exit::Done } else { Exit::Inconclusive }));
            }
        }
    }

    fn is_over(&self) -> bool {
        self.measurer.is_late() || self.request.steps.is_some_and(|most| self.steps >= most)
    }

    /// Saves the answers, then records their runs: a kill in between neither loses a run nor doubles it.
    fn save(&mut self) -> crate::Result<()> {
        self.write()?;
        self.record_waiting()?;
        self.foresee_interrupt();
        Ok(())
    }

    fn write(&mut self) -> crate::Result<()> {
        let seconds = self.before + self.start.elapsed().as_secs_f64();
        match &mut self.outer {
            None => {
                self.state.seconds = seconds;
                self.state.save(self.project)
            }
            Some((outer, place)) => {
                outer.seconds = seconds;
                outer.parts[*place] = self.state.clone();
                outer.save(self.project)
            }
        }
    }

    /// Records the runs whose answers are saved. What the history has already stays as it is.
    fn record_waiting(&mut self) -> crate::Result<()> {
        if self.state.unrecorded.is_empty() {
            return Ok(());
        }
        let record = |text: &String| RecordedRun::from_json(text.as_bytes()).map(|(_, run)| Record::from_run(&run));
        let records: Vec<Record> = self.state.unrecorded.iter().map(record).collect::<Result<_, _>>()?;
        match &self.state.recording {
            Recording::Folder(folder) => record::write(folder, &records)?,
            _ => drop(pending::record(self.project, &records, Origin::Measured)?),
        }
        self.state.unrecorded.clear();
        self.write()
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
            note(&format!("{} has no answer: {}", text::short(sha, 12), unmeasured.reason));
        }
        is_late
    }

    /// Measures the ends until they differ for certain, or says why there is no question.
    fn ends(&mut self) -> crate::Result<Result<BisectQuestion, Exit>> {
        let stage = &self.state.stages[0];
        let [good, bad] = [stage.commits.first(), stage.commits.last()].map(|end| end.cloned().unwrap_or_default());
        loop {
            self.exchange()?;
            match judge(&self.state.ends, LEAST) {
                Ends::Differ(question) => return Ok(Ok(*question)),
                Ends::Alike => return Ok(Err(Exit::Inconclusive)),
                Ends::Unclear if self.state.ends.len() >= self.most_ends || self.is_over() => {
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
                    let new: Vec<&str> = taken.result.new.iter().map(|one| one.benchmark.as_str()).collect();
                    if self.state.ends.is_empty() && !new.is_empty() {
                        note(&format!("only at the bad end, so not compared: `{}`", new.join("`, `")));
                    }
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

    fn unmeasured(&mut self, end: &str, unmeasured: &Unmeasured) -> crate::Result<Result<BisectQuestion, Exit>> {
        if self.is_late(end, unmeasured) {
            self.save()?;
            return Ok(Err(Exit::Inconclusive));
        }
        let is_unbuilt = matches!(unmeasured.obstacle, Obstacle::Broken | Obstacle::Unbuilt);
        let hint = match (is_unbuilt, self.measurer.suite.build.is_empty()) {
            (true, true) => "name another end that can be built",
            (true, false) => "name another end that can be built, or fix `build` of the suite in sprag.toml",
            (false, _) => "name ends where the suite runs and has the benchmark, or other benchmarks with `--filter`",
        };
        let message = format!("the ends cannot be measured: {}", unmeasured.reason);
        match self.outer {
            None => text::error(&Advice::new(message, hint).into()),
            Some(_) => note(&message),
        }
        Ok(Err(Exit::NotMeasured))
    }

    fn search(&mut self, question: &BisectQuestion) -> crate::Result<(Search, Vec<Cluster>)> {
        let good = self.state.stages[0].commits[0].clone();
        let loaded = study::load(self.project, self.project.store()?)?;
        let broken = share::skip_broken(&loaded, &mut self.state);
        if broken > 0 {
            let commits = text::count(broken, "commit");
            note(&format!(
                "{commits} skipped: records say that they cannot be built; `sprag backfill --retry` tries again"
            ));
        }
        let mut built = self.measurer.builds.present(self.measurer.suite, &self.state.stage().commits)?;
        let mut is_waiting = false;
        loop {
            let others = self.exchange()?;
            let stage = self.state.stage();
            let search = stage.search(question);
            let clusters = search.clusters(self.state.confidence);
            let seconds = self.seconds.updated(&self.state);
            let costs = Costs {
                pairs: if self.state.instructions { &PAIRS[..1] } else { &PAIRS },
                cost: &|commit, pairs| seconds.cost(pairs, built.contains(&commit)),
                is_built: &|commit| built.contains(&commit),
            };
            let place = |one: &Announcement| {
                let commit = stage.commits.iter().position(|sha| *sha == one.commit);
                commit.map(|commit| Pending { commit, pairs: one.pairs })
            };
            let pending: Vec<Pending> = others.iter().filter_map(place).collect();
            let choice = if self.is_over() { None } else { search.next(&clusters, &costs, &pending) };
            if choice.is_none() && !self.is_over() && search.next(&clusters, &costs, &[]).is_some() {
                if !std::mem::replace(&mut is_waiting, true) {
                    note("waiting for other jobs, which are measuring all informative commits");
                }
                std::thread::sleep(seconds.pause());
                continue;
            }
            is_waiting = false;
            if let (Some(choice), Some(shard)) = (&choice, self.state.shard()) {
                let expected = seconds.cost(choice.pairs, built.contains(&choice.commit));
                let left = self.measurer.suite.seconds_left().unwrap_or(self.request.budget);
                share::announce(self.project, &self.state, (shard.index(), choice), (expected, left))?;
                let sha = &stage.commits[choice.commit];
                let now = share::others(self.project, &self.state, shard.index())?;
                let was_faster = |one: &Announcement| one.commit == *sha && !others.contains(one);
                if now.iter().any(was_faster) {
                    continue;
                }
            }
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
                    if !self.measurer.suite.build_inputs.is_empty() {
                        built.extend(self.measurer.builds.present(self.measurer.suite, &stage.commits)?);
                    }
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

    /// With the jobs that share the bisection; gives what they measure now.
    fn exchange(&mut self) -> crate::Result<Vec<Announcement>> {
        match self.state.shard() {
            Some(_) => share::exchange(self.project)?,
            // What an earlier bisection recorded is taken once.
            None if self.state.recording != Recording::None && self.state.runs.is_empty() => {}
            None => return Ok(Vec::new()),
        }
        let answers = share::join(self.project, &self.measurer.machine, &mut self.state)?;
        if answers > 0 {
            note(&format!("the history already has {}", text::count(answers, "measurement")));
            self.save()?;
        }
        match self.state.shard() {
            Some(shard) => share::others(self.project, &self.state, shard.index()),
            None => Ok(Vec::new()),
        }
    }

    /// Takes down the runs of a session, to be recorded. Counts of the ends are the same each time.
    fn record(&mut self, commits: [&str; 2], taken: &Taken) -> crate::Result<()> {
        let is_end = self.state.stages[0].commits.last().is_some_and(|bad| bad == commits[1]);
        let is_counted = is_end && self.state.instructions && !self.state.ends.is_empty();
        if self.state.recording == Recording::None || is_counted {
            return Ok(());
        }
        let (id, records) = record::runs(&self.measurer, &self.state, commits, taken, (self.job(), is_end))?;
        self.state.unrecorded.extend(records);
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
            self.state.unrecorded.push(record::text(&run));
        }
        self.skip(commit, unmeasured.reason)
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
        let Some(commits) = ends::merged(self.project, &sha, good, &searched, &mut self.older)? else {
            return Ok(false);
        };
        note(&format!("{} is a merge; the commits that it brought are next", text::short(&sha, 12)));
        let prior = prior::of_line(self.project, self.measurer.suite, &commits, &Likely::default())?;
        self.state.stages.push(Stage { commits, prior, ..Stage::default() });
        Ok(true)
    }

    /// Of several culprits, searches what each merge brought, and names what it finds in the place of the merge.
    fn follow_merges(&mut self, report: &mut BisectReport) -> crate::Result<()> {
        let commands: Vec<String> = report.reproduce.lines().map(str::to_owned).collect();
        let mut reproduce = Vec::new();
        for (culprit, command) in std::mem::take(&mut report.culprits).into_iter().zip(commands) {
            let part = match culprit.commits.as_slice() {
                [merge] => self.brought_by(&merge.sha, &culprit.effects, report)?,
                _ => None,
            };
            match part {
                None => {
                    report.culprits.push(culprit);
                    reproduce.push(command);
                }
                Some(part) => {
                    let merge = text::short(&culprit.commits[0].sha, 12);
                    report.summary.push_str(&format!(" `{merge}` is a merge. Of what it brought: {}", part.summary));
                    report.culprits.extend(part.culprits);
                    reproduce.push(part.reproduce);
                    report.measurements.extend(part.measurements);
                    report.skipped.extend(part.skipped);
                    report.end_sessions += part.end_sessions;
                }
            }
        }
        report.reproduce = reproduce.join("\n");
        report.seconds = self.state.seconds;
        Ok(())
    }

    /// Bisects the commits that a merge brought by the benchmarks that it moved. `None` where none is to blame for certain.
    fn brought_by(
        &mut self,
        merge: &str,
        effects: &[BisectEffect],
        report: &mut BisectReport,
    ) -> crate::Result<Option<BisectReport>> {
        let good = &self.state.stages[0].commits[0];
        let searched: Vec<&[String]> = self.state.stages.iter().map(|stage| stage.commits.as_slice()).collect();
        let Some(mut commits) = ends::merged(self.project, merge, good, &searched, &mut self.older)? else {
            return Ok(None);
        };
        // The merge also has what its first parent got since the fork.
        commits.pop();
        let short = text::short(merge, 12);
        note(&format!("{short} is a merge; the commits that it brought are next"));
        let place = match self.state.parts.iter().position(|part| part.stages[0].commits == commits) {
            Some(place) => place,
            None => {
                let prior = prior::of_line(self.project, self.measurer.suite, &commits, &Likely::default())?;
                let filters = effects.iter().map(|effect| effect.benchmark.clone()).collect();
                let part = self.state.part(Stage { commits, prior, ..Stage::default() }, filters);
                self.state.parts.push(part);
                self.state.parts.len() - 1
            }
        };
        let part = self.state.parts[place].clone();
        self.outer = Some((std::mem::replace(&mut self.state, part), place));
        let ended = self.run();
        if let Some((outer, place)) = self.outer.take() {
            let part = std::mem::replace(&mut self.state, outer);
            self.state.parts[place] = part;
        }
        let certain = ended?.0.filter(|part| !part.culprits.is_empty() && part.outcome != BisectOutcome::Uncertain);
        if certain.is_none() && self.is_over() {
            report.outcome = BisectOutcome::Uncertain;
            let open = format!(" What the merge `{short}` brought is not searched to the end; `--continue` goes on.");
            report.summary.push_str(&open);
        } else if certain.is_none() {
            note(&format!("no commit that {short} brought is certain to be the cause, so the merge is named"));
        }
        Ok(certain)
    }
}
