//! What to change about the machine: one rule a thing, the most worthwhile first.
//!
//! A rule looks at what was found and either keeps quiet or says why and how. Commands are those of Linux; they are
//! shown, never run.

use std::collections::BTreeMap;

use super::findings::{
    Ability, Clocks, Fitness, INSTRUCTION_COUNTS, NoiseFindings, Pressures, RECORDING, Recommendation,
};

/// A clock that takes longer to read, in seconds, has no business in samples of 20 µs. Ordinary ones take 20 to 50 ns.
const SLOW_CLOCK: f64 = 1e-6;

/// The host may take this share of the processor time; a run with more is no clean run.
const MOST_STEAL: f64 = 0.01;

struct Seen<'a> {
    facts: &'a BTreeMap<String, String>,
    clocks: &'a Clocks,
    pressure: &'a Pressures,
    abilities: &'a [Ability],
    noise: &'a NoiseFindings,
}

/// What to change, the most worthwhile first.
pub(super) fn advice(
    facts: &BTreeMap<String, String>,
    clocks: &Clocks,
    pressure: &Pressures,
    abilities: &[Ability],
    noise: &NoiseFindings,
) -> Vec<Recommendation> {
    let seen = Seen { facts, clocks, pressure, abilities, noise };
    let rules: [fn(&Seen<'_>) -> Option<Recommendation>; 16] = [
        debug_build,
        throttled,
        load,
        steal,
        one_core,
        quota,
        governor,
        boost,
        threads_per_core,
        slow_clock,
        huge_pages,
        dram,
        pinning,
        recording,
        counters,
        instruction_counts,
    ];
    rules.iter().filter_map(|rule| rule(&seen)).collect()
}

fn say(about: &str, why: &str, how: &str, command: Option<&str>) -> Option<Recommendation> {
    let [about, why, how] = [about, why, how].map(str::to_owned);
    Some(Recommendation { about, why, how, command: command.map(str::to_owned) })
}

impl Seen<'_> {
    fn fact(&self, name: &str) -> Option<&str> {
        self.facts.get(name).map(String::as_str)
    }

    fn is(&self, name: &str, value: &str) -> bool {
        self.fact(name) == Some(value)
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.fact(name)?.parse().ok()
    }

    fn cores(&self) -> f64 {
        self.number("cores").unwrap_or(1.0)
    }

    /// Why something cannot be done; absent where it can.
    fn hindrance(&self, ability: &str) -> Option<&str> {
        let found = self.abilities.iter().find(|one| one.name == ability && !one.able);
        found.map(|one| one.detail.as_str())
    }
}

fn debug_build(seen: &Seen<'_>) -> Option<Recommendation> {
    let flags = seen.fact("flags").unwrap_or_default();
    let plain = flags.split(' ').any(|flag| matches!(flag, "opt-level=0" | "opt-level=1"));
    let why = "this sprag is built without optimisation, so its CPU kernels run slower than in a release";
    plain.then(|| say("debug build", why, "build it for release", Some("cargo build --release"))).flatten()
}

fn throttled(seen: &Seen<'_>) -> Option<Recommendation> {
    let periods = seen.pressure.throttled_periods.filter(|periods| *periods > 0)?;
    let why =
        format!("the CPU limit of the control group stopped us in {periods} periods, each a gap in the measurement");
    let how =
        "raise or lift the processor limit of the container or unit (`--cpus`, `resources.limits.cpu`, `CPUQuota=`)";
    say("throttling", &why, how, None)
}

fn load(seen: &Seen<'_>) -> Option<Recommendation> {
    let load = seen.pressure.load_before.filter(|load| *load > seen.cores())?;
    let why = format!(
        "load {load:.1} on {} processors: other work takes cache space, clock rate and time slices",
        seen.cores()
    );
    let how = "measure when nothing else runs, or one job at a time; see what is running with the command";
    say("load", &why, how, Some("ps -eo pcpu,comm --sort=-pcpu | head"))
}

fn steal(seen: &Seen<'_>) -> Option<Recommendation> {
    let share = seen.pressure.steal_share.filter(|share| *share > MOST_STEAL)?;
    let why = format!("the host took {:.1} % of the processor time for other guests", 100.0 * share);
    say("steal", &why, "use a dedicated host or instance type, or one whose processors are not shared", None)
}

fn one_core(seen: &Seen<'_>) -> Option<Recommendation> {
    let why = "there is one processor, so other work interrupts the kernel being timed";
    (seen.cores() <= 1.0)
        .then(|| say("one processor", why, "give the machine or container two or more", None))
        .flatten()
}

fn quota(seen: &Seen<'_>) -> Option<Recommendation> {
    let quota = seen.number("cpu_quota_cores").filter(|_| seen.pressure.throttled_periods.unwrap_or(0) == 0)?;
    let why = format!("the control group may use {quota} processors; a kernel on more threads would be slowed");
    say("processor limit", &why, "raise or lift the limit before times on several threads are measured", None)
}

fn governor(seen: &Seen<'_>) -> Option<Recommendation> {
    let governor = seen.fact("governor").filter(|governor| *governor != "performance")?;
    let why = format!("the governor `{governor}` changes the clock rate while kernels are timed");
    let command = "sudo cpupower frequency-set --governor performance";
    say("governor", &why, "keep the clock rate up", Some(command))
}

fn boost(seen: &Seen<'_>) -> Option<Recommendation> {
    let why = "the processor can boost above its base clock rate; how far depends on temperature and on other cores";
    let how = "switch boost off for steadier, slower times";
    // The two drivers have a file each, which say the opposite of one another.
    let command = "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost \
                   || echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo";
    seen.is("boost", "on").then(|| say("boost", why, how, Some(command))).flatten()
}

fn threads_per_core(seen: &Seen<'_>) -> Option<Recommendation> {
    let threads = seen.number("threads_per_core").filter(|threads| *threads > 1.0)?;
    let why = format!("each core runs {threads} threads: another thread on the kernel's core shares the core's units");
    let command = "echo off | sudo tee /sys/devices/system/cpu/smt/control";
    say("threads per core", &why, "switch simultaneous multithreading off", Some(command))
}

fn slow_clock(seen: &Seen<'_>) -> Option<Recommendation> {
    let cost = seen.clocks.wall.cost;
    let source = seen.fact("clock_source").unwrap_or("unknown");
    let why = format!("reading the clock takes {:.1} µs (source `{source}`), which distorts short samples", cost * 1e6);
    let command = "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource";
    (cost > SLOW_CLOCK)
        .then(|| say("clock", &why, "choose a faster source if the machine has one", Some(command)))
        .flatten()
}

fn huge_pages(seen: &Seen<'_>) -> Option<Recommendation> {
    let why = "huge pages are off, so the placement of small pages changes the times of large kernels";
    let command = "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled";
    seen.is("huge_pages", "never").then(|| say("huge pages", why, "allow them on request", Some(command))).flatten()
}

fn dram(seen: &Seen<'_>) -> Option<Recommendation> {
    let poor = |fitness: &Fitness| matches!(fitness, Fitness::Poor | Fitness::Usable);
    seen.noise.classes.iter().find(|one| one.class == "dram" && poor(&one.fitness))?;
    let shared = seen.is("virtual_machine", "yes") || !matches!(seen.fact("container"), None | Some("none"));
    let why = "kernels larger than the caches share their path to memory with all other cores";
    let how = if shared {
        "compare them only interleaved, two builds in one run, or use a machine of your own"
    } else {
        "compare them only interleaved, two builds in one run, or keep the other cores idle"
    };
    say("main memory", why, how, None)
}

fn pinning(seen: &Seen<'_>) -> Option<Recommendation> {
    let why = "workers cannot be pinned to a processor, and lose their caches whenever they move";
    let how = "permit `sched_setaffinity` in the profile (seccomp) of the container";
    seen.is("pinning", "not permitted").then(|| say("pinning", why, how, None)).flatten()
}

fn recording(seen: &Seen<'_>) -> Option<Recommendation> {
    let why = format!("results cannot be recorded: {}", seen.hindrance(RECORDING)?);
    say("recording", &why, "run sprag in a git repository, on a branch, that this user may write to", None)
}

fn counters(seen: &Seen<'_>) -> Option<Recommendation> {
    let why = "the processor has counters, but this user may not read them";
    let how = "allow them for user code; in a container also grant the capability `PERFMON`";
    let command = "sudo sysctl kernel.perf_event_paranoid=2";
    seen.is("counters", "not permitted").then(|| say("counters", why, how, Some(command))).flatten()
}

fn instruction_counts(seen: &Seen<'_>) -> Option<Recommendation> {
    let why =
        format!("instruction counts, which have no noise, are not available: {}", seen.hindrance(INSTRUCTION_COUNTS)?);
    say(
        "instruction counts",
        &why,
        "install valgrind, as `apt-get install valgrind` or `dnf install valgrind` do",
        None,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::findings::{ClassFitness, Clock};

    /// What a quiet machine gives, and the subjects of the advice after `change`.
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
        let mut pressure = Pressures {
            load_before: Some(0.5),
            load_after: Some(1.2),
            steal_share: Some(0.0),
            throttled_periods: Some(0),
            throttled_seconds: Some(0.0),
            waiting_share: None,
            reasons: Vec::new(),
        };
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
        assert!(
            subjects(|facts, _, _, _, _| facts.retain(|name, _| name == "cores")).is_empty(),
            "unknown is no fault"
        );
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
        assert!(with_fact("counters", "none").is_empty(), "nothing can be done about a machine without counters");
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
