//! Runs and projects that are written down instead of measured.

use std::ops::{Deref, RangeInclusive};

use chrono::{TimeDelta, TimeZone as _, Utc};
use sprag_history as history;
use sprag_model::{Benchmark, Commit, Environment, Machine, Run};

use crate::sandbox::Sandbox;

#[path = "../../src/history/sample_run.rs"]
mod sample_run;

pub(crate) use sample_run::{rounds, run};

/// The machine class of every crafted run; its slug is `example-cpu`.
pub(crate) const CLASS: &str = "Example CPU";

pub(crate) const BASELINE: &str = "baselines/cpu.example-cpu.json";

fn commit_of(sha: String, subject: &str, branch: Option<&str>) -> Commit {
    let time = Utc.with_ymd_and_hms(2026, 1, 1, 0, 0, 0).single().expect("a time");
    Commit { subject: subject.to_owned(), branch: branch.map(str::to_owned), ..Commit::new(sha, time) }
}

/// As [`run`], of a commit that no repository holds.
pub(crate) fn run_of_an_absent_commit(number: i64) -> Run {
    let run = run(number);
    let commit = commit_of("0123456789abcdef0123456789abcdef01234567".to_owned(), "Squashed since", None);
    let commit = Commit { author_time: run.timestamp, commit_time: run.timestamp, ..commit };
    Run { commit: Some(commit), ..run }
}

pub(crate) fn text(run: &Run) -> String {
    String::from_utf8(run.to_record().2).expect("a record is ASCII")
}

/// The file name of a record in the history.
pub(crate) fn name(run: &Run) -> String {
    let (_, path, _) = run.to_record();
    path.rsplit('/').next().expect("a path has a last part").to_owned()
}

/// A repository whose runs are all written down.
pub(crate) struct Crafted {
    pub(crate) sandbox: Sandbox,
}

impl Deref for Crafted {
    type Target = Sandbox;

    fn deref(&self) -> &Sandbox {
        &self.sandbox
    }
}

impl Crafted {
    /// A repository with one commit and no run.
    pub(crate) fn new() -> Crafted {
        Crafted { sandbox: Sandbox::new() }
    }

    /// A repository whose only commit has so many sessions, as [`Crafted::sessions`] records them.
    pub(crate) fn with_sessions(count: i64) -> Crafted {
        let crafted = Crafted::new();
        crafted.sessions(1..=count);
        crafted
    }

    /// The same with a baseline of them.
    pub(crate) fn with_baseline(count: i64) -> Crafted {
        let crafted = Crafted::with_sessions(count);
        crafted.ends(0, &["baseline", "emit"]);
        crafted
    }

    /// Six sessions at the release v1.0, and a run at the commit after it.
    pub(crate) fn released(day: i64, times: &[(&str, f64)]) -> Crafted {
        let crafted = Crafted::with_sessions(6);
        crafted.git(&["tag", "v1.0", &crafted.measured_commit().sha]);
        crafted.change(day, times);
        crafted
    }

    /// A session on each of those days: `pack` takes 1 ms and `scan` 2 ms, within a thousandth.
    pub(crate) fn sessions(&self, days: RangeInclusive<i64>) {
        for day in days {
            let wobble = 1.0 + 0.001 * ((day % 3) - 1) as f64;
            self.record(&self.run(day, &[("pack", 1e-3 * wobble), ("scan", 2e-3 * wobble)]));
        }
    }

    /// A run on that day of January at the commit that is checked out, of benchmarks and their seconds.
    pub(crate) fn run(&self, day: i64, times: &[(&str, f64)]) -> Run {
        let mut run = run(0);
        let measurement = run.measurements.remove(0);
        for (name, seconds) in times {
            let mut one = measurement.clone();
            one.benchmark = Benchmark::new("cpu", name, &[], "fast").expect("plain words").into();
            (one.estimates[0].value, one.estimates[0].workers, one.estimates[0].p50) = (*seconds, vec![*seconds], None);
            run.measurements.push(one);
        }
        let first = Utc.with_ymd_and_hms(2026, 1, 1, 12, 0, 0).single().expect("a time");
        Run {
            timestamp: first + TimeDelta::days(day - 1),
            commit: Some(self.measured_commit()),
            machine: Machine::named("sandbox", CLASS),
            ..run
        }
    }

    /// The newest commit that is not of records alone.
    pub(crate) fn measured_commit(&self) -> Commit {
        let sha = self.git(&["rev-list", "-1", "HEAD", "--", ".", ":!history"]);
        commit_of(sha, "Written down", Some("main"))
    }

    /// The run in an environment with another compiler.
    pub(crate) fn compiled_by(run: Run, compiler: &str) -> Run {
        let mut facts = run.environment.facts.clone();
        facts.insert("compiler".to_owned(), compiler.to_owned());
        Run { environment: Environment::from_facts(facts), ..run }
    }

    pub(crate) fn of_suite(suite: &str, run: Run) -> Run {
        let mut measurements = run.measurements;
        for one in &mut measurements {
            std::sync::Arc::make_mut(&mut one.benchmark).suite = suite.to_owned();
        }
        Run { suite: suite.to_owned(), measurements, ..run }
    }

    /// Records the run and writes it to `../run.json`.
    #[track_caller]
    pub(crate) fn record(&self, run: &Run) {
        self.write("../run.json", &text(run));
        let store = history::open(&self.project).expect("there is a repository");
        let target = history::target(&store, None).expect("it has a branch");
        let record = history::Record::from_run(run);
        let appended = history::append(&store, &target, &[record], run.timestamp).expect("it can be recorded");
        assert_eq!(appended.warnings, [""; 0]);
    }

    /// A new commit of code.
    pub(crate) fn change_code(&self, number: i64) {
        self.write("code.rs", &format!("// {number}"));
        self.commit("Change the code");
    }

    /// A new commit of code and a run of it.
    #[track_caller]
    pub(crate) fn change(&self, day: i64, times: &[(&str, f64)]) {
        self.change_code(day);
        self.record(&self.run(day, times));
    }
}
