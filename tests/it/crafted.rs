//! Projects whose runs are written down, not measured: every value, session, machine and environment is known.

use chrono::{TimeDelta, TimeZone as _, Utc};
use sprag_history as history;
use sprag_model::benchmark::Benchmark;
use sprag_model::commit::Commit;
use sprag_model::environment::{Environment, Machine};
use sprag_model::run::Run;

use crate::run_files;
use crate::sandbox::{Ended, Sandbox};

/// The class of the machine that runs bear here; its slug is `example-cpu`.
pub(crate) const CLASS: &str = "Example CPU";

/// Where the baseline of the suite `cpu` lies.
pub(crate) const BASELINE: &str = "baselines/cpu.example-cpu.json";

/// A repository of which every run is written down.
pub(crate) struct Crafted {
    pub(crate) sandbox: Sandbox,
}

impl Crafted {
    /// A repository with one commit and no run.
    pub(crate) fn new() -> Crafted {
        Crafted { sandbox: Sandbox::new() }
    }

    /// One whose only commit has so many sessions, as [`Crafted::sessions`] records them.
    pub(crate) fn with_sessions(count: i64) -> Crafted {
        let crafted = Crafted::new();
        crafted.sessions(1..=count);
        crafted
    }

    /// A session on each of those days: `pack` takes 1 ms and `scan` 2 ms, give or take a thousandth.
    pub(crate) fn sessions(&self, days: std::ops::RangeInclusive<i64>) {
        for day in days {
            let wobble = 1.0 + 0.001 * ((day % 3) - 1) as f64;
            self.record(&self.run(day, &[("pack", 1e-3 * wobble), ("scan", 2e-3 * wobble)]));
        }
    }

    /// A run of that day of January at the commit that is checked out, of benchmarks and their seconds.
    pub(crate) fn run(&self, day: i64, times: &[(&str, f64)]) -> Run {
        let mut run = run_files::run(0);
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
            commit: Some(self.commit()),
            machine: Machine::named("sandbox", CLASS),
            ..run
        }
    }

    /// The commit that is measured now.
    pub(crate) fn commit(&self) -> Commit {
        let sha = self.sandbox.git(&["rev-list", "-1", "HEAD", "--", ".", ":!history"]);
        let time = Utc.with_ymd_and_hms(2026, 1, 1, 0, 0, 0).single().expect("a time");
        Commit {
            sha,
            parents: Vec::new(),
            author_time: time,
            commit_time: time,
            subject: "Written down".to_owned(),
            branch: Some("main".to_owned()),
            dirty: false,
        }
    }

    /// The run, in an environment whose compiler is that one.
    pub(crate) fn compiled_by(run: Run, compiler: &str) -> Run {
        let mut facts = run.environment.facts.clone();
        facts.insert("compiler".to_owned(), compiler.to_owned());
        Run { environment: Environment::from_facts(facts), ..run }
    }

    /// The run, as one of another suite.
    pub(crate) fn of_suite(suite: &str, run: Run) -> Run {
        let mut measurements = run.measurements;
        for one in &mut measurements {
            std::sync::Arc::make_mut(&mut one.benchmark).suite = suite.to_owned();
        }
        Run { suite: suite.to_owned(), measurements, ..run }
    }

    /// Records the run, which `../run.json` holds afterwards.
    #[track_caller]
    pub(crate) fn record(&self, run: &Run) {
        self.sandbox.write("../run.json", &run_files::text(run));
        let store = history::open(&self.sandbox.project).expect("there is a repository");
        let target = history::target(&store, None).expect("it has a branch");
        let record = history::Record::from_run(run);
        let appended = history::append(&store, &target, &[record], run.timestamp).expect("it can be recorded");
        assert_eq!(appended.warnings, [""; 0]);
    }

    /// A new commit of code, and a run at it.
    #[track_caller]
    pub(crate) fn change(&self, day: i64, times: &[(&str, f64)]) {
        self.sandbox.write("code.rs", &format!("// {day}"));
        self.sandbox.commit("Change the code");
        self.record(&self.run(day, times));
    }

    /// Runs the binary, which must end with that code.
    #[track_caller]
    pub(crate) fn ends(&self, code: i32, arguments: &[&str]) -> Ended {
        self.sandbox.sprag(arguments).expect(code)
    }

    /// Writes a file that the project holds, with one text of the one there replaced.
    #[track_caller]
    pub(crate) fn altered(&self, path: &str, from: &str, to: &str) -> String {
        let text = self.sandbox.read(path);
        assert!(text.contains(from), "`{from}` is not in `{path}`");
        text.replacen(from, to, 1)
    }
}
