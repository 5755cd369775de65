//! What this machine can measure, how noisily, and what to change about it. It sets nothing and records nothing.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::clock;
use crate::doctor::findings::{
    Ability, Clocks, Findings, Fitness, INSTRUCTION_COUNTS, MachineFindings, NoiseFindings, Pressures, RECORDING,
    Recommendation, SCHEMA_VERSION,
};
use crate::environment;
use crate::environment::pressure::{self, Pressure, PressureChange};
use crate::process::WorkerCommand;
use crate::suite::description::Observer;
use crate::{MeasureError, noise};
use sprag_base::number;

pub mod findings;

/// The given name of this computer and its source: `SPRAG_MACHINE`, `sprag.toml` or `hardware`.
#[derive(Clone, Copy, Debug)]
pub struct GivenName<'a> {
    pub given: Option<&'a str>,
    pub source: &'a str,
}

/// Examines this machine. `abilities` follow from the facts.
pub fn examine(
    version: &str,
    name: GivenName<'_>,
    is_quick: bool,
    abilities: &dyn Fn(&BTreeMap<String, String>) -> Vec<Ability>,
    observer: &dyn Observer,
) -> Result<Findings, MeasureError> {
    let (start, before) = (Instant::now(), Pressure::read());
    observer.begin("inspecting the machine", 1);
    let machine = environment::machine(name.given, None);
    let environment = environment::environment(&BTreeMap::new());
    let machine = MachineFindings {
        id: machine.id,
        name: machine.name,
        class: machine.class,
        named_by: name.source.to_owned(),
        environment_key: environment.key,
        facts: environment.facts,
    };
    let abilities = abilities(&machine.facts);
    let clocks = Clocks { wall: clock::wall(), thread: clock::thread() };
    let protocol = noise::protocol(is_quick);
    let processes = u64::from(protocol.processes);
    observer.begin(&format!("timing plain kernels in {processes} worker processes"), processes);
    let command = WorkerCommand::for_task("time")?;
    let noise = noise::measure(&protocol, &command, &mut |done| observer.step(u64::from(done)))?;
    observer.end();
    let cores = machine.facts.get("cores").and_then(|cores| cores.parse().ok()).unwrap_or(1);
    let pressure = pressures(&Pressure::read().since(&before), cores);
    let advice = advice(&machine.facts, &clocks, &pressure, &abilities, &noise);
    Ok(Findings {
        schema_version: SCHEMA_VERSION,
        sprag: version.to_owned(),
        seconds: round(start.elapsed().as_secs_f64()),
        machine,
        abilities,
        clocks,
        pressure,
        noise,
        advice,
    })
}

fn pressures(change: &PressureChange, cores: usize) -> Pressures {
    Pressures {
        load_before: change.load_before,
        load_after: change.load_after,
        steal_share: change.steal_share.map(round),
        throttled_periods: change.throttled_periods,
        throttled_seconds: change.throttled_seconds.map(round),
        waiting_share: change.waiting_share.map(round),
        reasons: pressure::reasons(change, cores),
    }
}

fn round(value: f64) -> f64 {
    number::round_significant(value, 3)
}

/// A slower clock, in seconds a reading, distorts samples of 20 µs. Ordinary ones take 20 to 50 ns.
const SLOW_CLOCK: f64 = 1e-6;

/// A run in which the host took a larger share of the processor time is not clean.
const MOST_STEAL: f64 = 0.01;

fn recommend(about: &str, why: impl Into<String>, how: &str, command: Option<&str>) -> Recommendation {
    Recommendation {
        about: about.to_owned(),
        why: why.into(),
        how: how.to_owned(),
        command: command.map(str::to_owned),
    }
}

/// What to change, the most worthwhile first. Commands are those of Linux; they are shown, never run.
fn advice(
    facts: &BTreeMap<String, String>,
    clocks: &Clocks,
    pressure: &Pressures,
    abilities: &[Ability],
    noise: &NoiseFindings,
) -> Vec<Recommendation> {
    let fact = |name: &str| facts.get(name).map(String::as_str);
    let mut advice = Vec::new();
    if fact("flags").unwrap_or_default().split(' ').any(|flag| matches!(flag, "opt-level=0" | "opt-level=1")) {
        let why = "this sprag is built without optimisation, so its CPU kernels run slower than in a release";
        advice.push(recommend("debug build", why, "build it for release", Some("cargo build --release")));
    }
    advice.extend(advice_on_pressure(facts, pressure));
    advice.extend(advice_on_settings(facts, clocks));
    let poor = |fitness: Fitness| matches!(fitness, Fitness::Poor | Fitness::Usable);
    if noise.classes.iter().any(|one| one.class == "dram" && poor(one.fitness)) {
        let shared = fact("virtual_machine") == Some("yes") || !matches!(fact("container"), None | Some("none"));
        let instead = if shared { "use a machine of your own" } else { "keep the other cores idle" };
        let why = "kernels larger than the caches share their path to memory with all other cores";
        let how = format!("compare them only interleaved, two builds in one run, or {instead}");
        advice.push(recommend("main memory", why, &how, None));
    }
    if fact("pinning") == Some("not permitted") {
        let why = "workers cannot be pinned to a processor, and lose their caches whenever they move";
        let how = "permit `sched_setaffinity` in the profile (seccomp) of the container";
        advice.push(recommend("pinning", why, how, None));
    }
    let hindrance = |name: &str| abilities.iter().find(|one| one.name == name && !one.able).map(|one| &one.detail);
    if let Some(reason) = hindrance(RECORDING) {
        let why = format!("results cannot be recorded: {reason}");
        let how = "run sprag in a git repository, on a branch, that this user may write to";
        advice.push(recommend("recording", why, how, None));
    }
    if fact("counters") == Some("not permitted") {
        let why = "the processor has counters, but this user may not read them";
        let how = "allow them for user code; in a container also grant the capability `PERFMON`";
        advice.push(recommend("counters", why, how, Some("sudo sysctl kernel.perf_event_paranoid=2")));
    }
    if let Some(reason) = hindrance(INSTRUCTION_COUNTS) {
        let why = format!("instruction counts, which have no noise, are not available: {reason}");
        let how = "install valgrind, as `apt-get install valgrind` or `dnf install valgrind` do";
        advice.push(recommend("instruction counts", why, how, None));
    }
    advice
}

/// Advice on what takes the processor away.
fn advice_on_pressure(facts: &BTreeMap<String, String>, pressure: &Pressures) -> Vec<Recommendation> {
    let number = |name: &str| facts.get(name).and_then(|value| value.parse::<f64>().ok());
    let cores = number("cores").unwrap_or(1.0);
    let throttled = pressure.throttled_periods.unwrap_or(0);
    let mut advice = Vec::new();
    if throttled > 0 {
        let why = format!(
            "the CPU limit of the control group stopped us in {throttled} periods, each a gap in the measurement"
        );
        let how = "raise or lift the processor limit of the container or unit (`--cpus`, `resources.limits.cpu`, `CPUQuota=`)";
        advice.push(recommend("throttling", why, how, None));
    }
    if let Some(load) = pressure.load_before.filter(|load| *load > cores) {
        let why =
            format!("load {load:.1} on {cores} processors: other work takes cache space, clock rate and time slices");
        let how = "measure when nothing else runs, or one job at a time; see what is running with the command";
        advice.push(recommend("load", why, how, Some("ps -eo pcpu,comm --sort=-pcpu | head")));
    }
    if let Some(share) = pressure.steal_share.filter(|share| *share > MOST_STEAL) {
        let why = format!("the host took {:.1} % of the processor time for other guests", 100.0 * share);
        let how = "use a dedicated host or instance type, or one whose processors are not shared";
        advice.push(recommend("steal", why, how, None));
    }
    if cores <= 1.0 {
        let why = "there is one processor, so other work interrupts the kernel being timed";
        advice.push(recommend("one processor", why, "give the machine or container two or more", None));
    }
    if let Some(quota) = number("cpu_quota_cores").filter(|_| throttled == 0) {
        let why = format!("the control group may use {quota} processors; a kernel on more threads would be slowed");
        let how = "raise or lift the limit before times on several threads are measured";
        advice.push(recommend("processor limit", why, how, None));
    }
    advice
}

/// Advice on settings of the machine that make times vary.
fn advice_on_settings(facts: &BTreeMap<String, String>, clocks: &Clocks) -> Vec<Recommendation> {
    let fact = |name: &str| facts.get(name).map(String::as_str);
    let mut advice = Vec::new();
    if let Some(governor) = fact("governor").filter(|governor| *governor != "performance") {
        let why = format!("the governor `{governor}` changes the clock rate while kernels are timed");
        let command = "sudo cpupower frequency-set --governor performance";
        advice.push(recommend("governor", why, "keep the clock rate up", Some(command)));
    }
    if fact("boost") == Some("on") {
        let why =
            "the processor can boost above its base clock rate; how far depends on temperature and on other cores";
        // The files of the two drivers have opposite meanings.
        let command = "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost \
                       || echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo";
        advice.push(recommend("boost", why, "switch boost off for steadier, slower times", Some(command)));
    }
    let threads = fact("threads_per_core").and_then(|threads| threads.parse::<f64>().ok());
    if let Some(threads) = threads.filter(|threads| *threads > 1.0) {
        let why =
            format!("each core runs {threads} threads: another thread on the kernel's core shares the core's units");
        let command = "echo off | sudo tee /sys/devices/system/cpu/smt/control";
        advice.push(recommend("threads per core", why, "switch simultaneous multithreading off", Some(command)));
    }
    let cost = clocks.wall.cost;
    if cost > SLOW_CLOCK {
        let source = fact("clock_source").unwrap_or("unknown");
        let why =
            format!("reading the clock takes {:.1} µs (source `{source}`), which distorts short samples", cost * 1e6);
        let command = "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource";
        advice.push(recommend("clock", why, "choose a faster source if the machine has one", Some(command)));
    }
    if fact("huge_pages") == Some("never") {
        let why = "huge pages are off, so the placement of small pages changes the times of large kernels";
        let command = "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled";
        advice.push(recommend("huge pages", why, "allow them on request", Some(command)));
    }
    advice
}

#[cfg(test)]
mod tests {
    use crate::doctor::findings::{ClassFitness, Clock};

    use super::*;

    /// The subjects of the advice to a quiet machine after `change`.
    fn subjects(
        change: impl FnOnce(
            &mut BTreeMap<String, String>,
            &mut Clocks,
            &mut Pressures,
            &mut Vec<Ability>,
            &mut NoiseFindings,
        ),
    ) -> Vec<String> {
        let facts = [
            ("flags", "opt-level=3"),
            ("cores", "8"),
            ("governor", "performance"),
            ("boost", "off"),
            ("threads_per_core", "1"),
            ("clock_source", "tsc"),
            ("huge_pages", "madvise"),
            ("pinning", "permitted"),
            ("counters", "available"),
            ("virtual_machine", "no"),
            ("container", "none"),
        ];
        let mut facts: BTreeMap<String, String> =
            facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut clocks = Clocks { wall: Clock { resolution: Some(1e-9), cost: 25e-9 }, thread: None };
        let mut pressure = pressures(&PressureChange { load_before: Some(0.5), ..PressureChange::default() }, 8);
        let able = |name: &str| Ability { name: name.to_owned(), able: true, detail: "yes".to_owned() };
        let mut abilities = vec![able(INSTRUCTION_COUNTS), able(RECORDING)];
        let dram = ClassFitness { class: "dram".to_owned(), fitness: Fitness::Good, reasons: Vec::new() };
        let mut noise = NoiseFindings { processes: 5, faults: Vec::new(), classes: vec![dram], kernels: Vec::new() };
        change(&mut facts, &mut clocks, &mut pressure, &mut abilities, &mut noise);
        let advice = advice(&facts, &clocks, &pressure, &abilities, &noise);
        assert!(advice.iter().all(|one| !one.why.is_empty() && !one.how.is_empty()));
        advice.into_iter().map(|one| one.about).collect()
    }

    fn with_fact(name: &str, value: &str) -> Vec<String> {
        subjects(|facts, _, _, _, _| {
            facts.insert(name.to_owned(), value.to_owned());
        })
    }

    #[test]
    fn a_quiet_machine_needs_no_advice() {
        assert!(subjects(|_, _, _, _, _| {}).is_empty());
        assert!(subjects(|facts, _, _, _, _| facts.retain(|name, _| name == "cores")).is_empty());
    }

    #[test]
    fn each_fault_has_its_advice() {
        let check = |name: &str, value: &str, about: &str| assert_eq!(with_fact(name, value), [about]);
        check("flags", "opt-level=0", "debug build");
        check("cores", "1", "one processor");
        check("cpu_quota_cores", "1.5", "processor limit");
        check("governor", "powersave", "governor");
        check("boost", "on", "boost");
        check("threads_per_core", "2", "threads per core");
        check("huge_pages", "never", "huge pages");
        check("pinning", "not permitted", "pinning");
        check("counters", "not permitted", "counters");
        assert!(with_fact("counters", "none").is_empty());
        assert_eq!(subjects(|_, clocks, _, _, _| clocks.wall.cost = 2e-6), ["clock"]);
        assert_eq!(subjects(|_, _, pressure, _, _| pressure.load_before = Some(9.0)), ["load"]);
        assert_eq!(subjects(|_, _, _, _, noise| noise.classes[0].fitness = Fitness::Poor), ["main memory"]);
        assert_eq!(
            subjects(|_, _, _, abilities, _| abilities.iter_mut().for_each(|one| one.able = false)),
            ["recording", "instruction counts"]
        );
    }

    #[test]
    fn what_takes_the_processor_away_goes_first() {
        let order = subjects(|facts, _, pressure, _, _| {
            facts.insert("boost".to_owned(), "on".to_owned());
            facts.insert("cpu_quota_cores".to_owned(), "2".to_owned());
            pressure.steal_share = Some(0.2);
            pressure.throttled_periods = Some(4);
            pressure.load_before = Some(20.0);
        });
        assert_eq!(order, ["throttling", "load", "steal", "boost"]);
    }
}
