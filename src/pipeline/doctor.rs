//! What can be measured here and why not, and the text of `sprag doctor`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::config::{Suite, SuiteKind};
use crate::error::WithContext as _;
use crate::project::{PRIVATE_FOLDER, Project};
use crate::text::{self, printable};
use sprag_base::files::{read_bounded, write_atomic};
use sprag_base::number;
use sprag_base::process::{find_program, probe};
use sprag_history::{self as history};
use sprag_measure::doctor::findings::{
    Ability, ClassFitness, Clock, Findings, INSTRUCTION_COUNTS, KernelFindings, MachineFindings, Pressures, RECORDING,
};
use sprag_measure::{environment, gpu, tensorrt};
use sprag_model::Unit;
use sprag_report::sheet::terminal;

/// The findings of the last examination, in the private folder.
const LAST: &str = "doctor.json";

/// Far more than findings take.
const MOST_BYTES: usize = 1 << 20;

/// Keeps the findings for gates that have no sessions to learn the noise from.
pub fn keep(project: &Project, findings: &Findings) -> crate::Result<()> {
    if project.find_store().is_none() || project.is_bare {
        return Ok(());
    }
    let path = project.private_folder()?.join(LAST);
    let json = serde_json::to_string_pretty(findings).context("cannot write the findings")?;
    write_atomic(&path, json.as_bytes()).with_context(|| format!("cannot write `{}`", path.display()))
}

/// The spreads of times over processes that the doctor found on this machine; none where it was not asked.
pub fn spreads(project: &Project) -> Vec<f64> {
    let path = project.root.join(PRIVATE_FOLDER).join(LAST);
    let Ok(bytes) = read_bounded(&path, MOST_BYTES) else { return Vec::new() };
    let report: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let machine = environment::machine(project.machine_name().as_deref(), None);
    let kernels = report["noise"]["kernels"].as_array().filter(|_| report["machine"]["id"] == machine.id.as_str());
    let spread = |kernel: &Value| kernel["between"].as_f64().filter(|spread| spread.is_finite() && *spread >= 0.0);
    kernels.into_iter().flatten().filter_map(spread).collect()
}

pub fn abilities(project: &Project, facts: &BTreeMap<String, String>) -> Vec<Ability> {
    let config = &project.config;
    let kernels = config.on_request.iter().filter(|(_, suite)| suite.kind != SuiteKind::Trt);
    let suites = config.suites.iter().chain(kernels);
    let mut abilities: Vec<Ability> = suites.map(|(name, suite)| suite_ability(project, name, suite)).collect();
    abilities.push(ability(INSTRUCTION_COUNTS, valgrind()));
    abilities.push(ability("performance counters", counters(facts)));
    abilities.push(ability("pinning", pinning(facts)));
    abilities.push(ability(RECORDING, recording(project)));
    abilities
}

fn ability(name: &str, probed: Result<String, String>) -> Ability {
    let able = probed.is_ok();
    let detail = match probed {
        Ok(detail) | Err(detail) => detail,
    };
    Ability { name: name.to_owned(), able, detail }
}

fn suite_ability(project: &Project, name: &str, suite: &Suite) -> Ability {
    let probed = match suite.kind {
        SuiteKind::Cpu => Ok(format!("in {} worker processes a run", suite.processes())),
        SuiteKind::Command => program(project, suite),
        SuiteKind::Trt => engine(project, suite),
        SuiteKind::Gpu | SuiteKind::Cuda => gpu::probe::device()
            .and_then(|device| Ok(format!("on {}, compiled by NVRTC {}", device.name, gpu::probe::nvrtc()?)))
            .map_err(|error| error.to_string()),
    };
    ability(&format!("suite {name}"), probed)
}

fn engine(project: &Project, suite: &Suite) -> Result<String, String> {
    let trtexec = suite.trtexec.as_ref().map(|path| project.root.join(path));
    tensorrt::find(trtexec.as_deref()).map_err(|reason| reason.to_string())?;
    match &suite.engine {
        Some(path) if project.root.join(path).is_file() => {}
        Some(path) => return Err(format!("there is no engine `{}`", path.display())),
        None => return Err("no engine is named".to_owned()),
    }
    let device = gpu::probe::device().map_err(|error| error.to_string())?;
    Ok(format!("with `trtexec` on {}", device.name))
}

/// Relative to the suite's folder if it is a path, else on the search path.
fn program(project: &Project, suite: &Suite) -> Result<String, String> {
    let program = suite.command.first().map(String::as_str).unwrap_or_default();
    let folder = suite.cwd.as_ref().map_or_else(|| project.root.clone(), |cwd| project.root.join(cwd));
    let exists = if program.contains('/') {
        // Its build step may make it.
        folder.join(program).is_file() || !suite.build.is_empty()
    } else {
        is_installed(program)
    };
    if exists { Ok(format!("with `{program}`")) } else { Err(format!("there is no program `{program}`")) }
}

pub(crate) fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    find_program(program, &std::env::split_paths(&path).collect::<Vec<PathBuf>>()).is_some()
}

fn valgrind() -> Result<String, String> {
    let missing = || "valgrind is not installed".to_owned();
    let output = probe(Command::new("valgrind").arg("--version")).map_err(|_| missing())?;
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.success() { Ok(valgrind_version(&text)) } else { Err("valgrind does not run".to_owned()) }
}

fn valgrind_version(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().trim();
    let version = line.strip_prefix("valgrind-").unwrap_or(line);
    let plain = version.len() <= 20 && version.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'));
    if plain && !version.is_empty() { format!("valgrind {version}") } else { "valgrind".to_owned() }
}

fn counters(facts: &BTreeMap<String, String>) -> Result<String, String> {
    match facts.get("counters").map(String::as_str) {
        Some("available") => Ok("instructions of our own code can be counted".to_owned()),
        Some("not permitted") => Err("closed to this user".to_owned()),
        Some("none") if facts.get("virtual_machine").is_some_and(|is| is == "yes") => {
            Err("the virtual machine has none".to_owned())
        }
        Some(_) => Err("the machine has none".to_owned()),
        None => Err("unknown on this system".to_owned()),
    }
}

fn pinning(facts: &BTreeMap<String, String>) -> Result<String, String> {
    let allowed = facts.get("allowed_cpus").map(String::as_str);
    match (facts.get("pinning").map(String::as_str), allowed) {
        (Some("permitted"), Some("1")) => Ok("to the only processor that is allowed".to_owned()),
        (Some("permitted"), Some(count)) => Ok(format!("to any of {count} processors")),
        (Some(_), _) => Err("the scheduler does not permit it".to_owned()),
        (None, _) => Err("unknown on this system".to_owned()),
    }
}

fn recording(project: &Project) -> Result<String, String> {
    if let Some(fault) = project.store_fault() {
        return Err(fault.to_string());
    }
    let Some(store) = project.find_store() else {
        return Err("no git repository at or above this folder".to_owned());
    };
    let tried = || -> crate::Result<String> {
        let target = project.target()?;
        history::check_writable(store)?;
        Ok(text::branch(&target.reference).to_owned())
    };
    tried().map(|branch| format!("to the branch {branch}")).map_err(|error| error.to_string())
}

const UNKNOWN: &str = "–";

pub fn text(findings: &Findings) -> String {
    let mut text = text::line(&verdict(findings), 0);
    section(&mut text, "Machine", &columns(&machine(&findings.machine), &[]));
    section(&mut text, "What can be measured", &columns(&ability_rows(findings), &[]));
    section(&mut text, "Clocks", &columns(&clocks(findings), &[]));
    section(&mut text, "Pressure meanwhile", &pressure(&findings.pressure));
    let plural = if findings.noise.processes == 1 { "process" } else { "processes" };
    section(&mut text, &format!("Noise in {} fresh worker {plural}", findings.noise.processes), &noise(findings));
    section(&mut text, "What to change", &advice(findings));
    text
}

/// Of what is below a headline.
const INDENT: usize = 2;

fn columns(rows: &[Vec<String>], right: &[usize]) -> String {
    terminal::columns(rows, right, text::width().map(|width| width.saturating_sub(INDENT))).concat()
}

fn section(text: &mut String, headline: &str, lines: &str) {
    text.push_str(&format!("\n{headline}\n"));
    for line in lines.lines() {
        text.push_str(format!("{:INDENT$}{line}", "").trim_end());
        text.push('\n');
    }
}

fn verdict(findings: &Findings) -> String {
    let fit = |one: &ClassFitness| format!("{} for {}", one.fitness.word(), class_name(&one.class));
    let classes: Vec<String> = findings.noise.classes.iter().map(fit).collect();
    match classes.split_last() {
        Some((last, others)) if !others.is_empty() => {
            format!("This machine is {} and {last} kernels.", others.join(", "))
        }
        _ => format!("This machine is {} kernels.", classes.concat()),
    }
}

fn class_name(class: &str) -> &str {
    if class == "dram" { "DRAM" } else { class }
}

fn machine(machine: &MachineFindings) -> Vec<Vec<String>> {
    let facts = &machine.facts;
    let named = match machine.named_by.as_str() {
        "hardware" => {
            "a digest of the hardware; `[machine] name` in sprag.toml or SPRAG_MACHINE gives it a name".to_owned()
        }
        by => format!("by {by}"),
    };
    let mut rows = vec![
        row("name", &machine.name),
        row("id", &format!("{} ({named})", machine.id)),
        row("class", &machine.class),
        row("environment", &format!("key {}", machine.environment_key)),
    ];
    rows.extend(FACT_LINES.iter().filter_map(|(name, parts)| {
        let parts: Vec<String> = parts.iter().filter_map(|(fact, words)| Some(words(facts.get(*fact)?))).collect();
        (!parts.is_empty()).then(|| row(name, &parts.join(", ")))
    }));
    rows
}

fn row(name: &str, text: &str) -> Vec<String> {
    vec![name.to_owned(), printable(text)]
}

type Part = (&'static str, fn(&str) -> String);

/// Each line: its name, then its facts and how they are written.
const FACT_LINES: [(&str, &[Part]); 6] = [
    (
        "processors",
        &[
            ("cores", |count| format!("{count} may be used at once")),
            ("threads_per_core", |count| plural(count, "thread a core", "threads a core")),
            ("sockets", |count| plural(count, "socket", "sockets")),
            ("numa_nodes", |count| plural(count, "NUMA node", "NUMA nodes")),
            ("cpu_quota_cores", |quota| format!("limited to the time of {quota}")),
        ],
    ),
    (
        "caches",
        &[
            ("cache_l1d_bytes", |size| format!("L1d {}", bytes(size))),
            ("cache_l2_bytes", |size| format!("L2 {}", bytes(size))),
            ("cache_l3_bytes", |size| format!("L3 {}", bytes(size))),
            ("cache_l4_bytes", |size| format!("L4 {}", bytes(size))),
        ],
    ),
    (
        "memory",
        &[
            ("memory_gib", |size| format!("{size} GiB")),
            ("page_bytes", |size| format!("pages of {}", bytes(size))),
            ("huge_pages", |setting| format!("huge pages: {setting}")),
        ],
    ),
    (
        "clock rate",
        &[("governor", |setting| format!("governor {setting}")), ("boost", |setting| format!("boost {setting}"))],
    ),
    (
        "system",
        &[("os", str::to_owned), ("os_release", |release| format!("kernel {release}")), ("libc", str::to_owned)],
    ),
    (
        "around it",
        &[("hypervisor", |name| format!("hypervisor {name}")), ("container", |name| format!("container {name}"))],
    ),
];

fn plural(count: &str, one: &str, many: &str) -> String {
    format!("{count} {}", if count == "1" { one } else { many })
}

fn bytes(text: &str) -> String {
    text.parse().map_or_else(|_| text.to_owned(), |bytes| scaled(Unit::Byte, bytes))
}

fn ability_rows(findings: &Findings) -> Vec<Vec<String>> {
    let mark = |able: bool| if able { "yes" } else { "no" }.to_owned();
    findings.abilities.iter().map(|one| vec![mark(one.able), printable(&one.name), printable(&one.detail)]).collect()
}

fn clocks(findings: &Findings) -> Vec<Vec<String>> {
    let clock = |name: &str, clock: Option<Clock>| {
        let said = match clock {
            None => "there is none, so preempted samples cannot be detected".to_owned(),
            Some(clock) => {
                let step = clock
                    .resolution
                    .map_or("it does not move".to_owned(), |step| format!("steps of {}", seconds(step)));
                format!("{step}, {} a reading", seconds(clock.cost))
            }
        };
        vec![name.to_owned(), said]
    };
    vec![clock("wall", Some(findings.clocks.wall)), clock("thread", findings.clocks.thread)]
}

fn pressure(pressure: &Pressures) -> String {
    let load = |load: Option<f64>| load.map_or(UNKNOWN.to_owned(), |load| format!("{load:.2}"));
    let mut parts = vec![format!("load {} before and {} after", load(pressure.load_before), load(pressure.load_after))];
    parts.extend(pressure.steal_share.map(|share| format!("{} taken by the host", percent(Some(share)))));
    parts.extend(pressure.throttled_periods.map(|periods| match periods {
        0 => "not held back".to_owned(),
        1 => "held back once".to_owned(),
        periods => format!("throttled {periods} times"),
    }));
    parts.extend(pressure.waiting_share.map(|share| format!("some task waiting {} of the time", percent(Some(share)))));
    let mut text = text::line(&parts.join(", "), INDENT);
    for reason in &pressure.reasons {
        text.push_str(&text::line(&format!("not clean: {reason}"), INDENT));
    }
    text
}

fn noise(findings: &Findings) -> String {
    let heads = [
        "class", "kernel", "time", "within", "between", "preempted", "timed with", "ratio", "least change in time",
        "in ratio",
    ];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows.extend(findings.noise.kernels.iter().map(kernel));
    let mut text = match rows.len() {
        1 => "no kernel could be timed\n".to_owned(),
        _ => columns(&rows, &[2, 3, 4, 5, 8, 9]),
    };
    for class in &findings.noise.classes {
        for reason in &class.reasons {
            let words = format!("not good for {}: {reason}", class_name(&class.class));
            text.push_str(&text::line(&words, INDENT));
        }
    }
    for fault in &findings.noise.faults {
        text.push_str(&text::line(&format!("failed: {fault}"), INDENT));
    }
    text
}

fn kernel(kernel: &KernelFindings) -> Vec<String> {
    let digits = |ratio: f64| if ratio < 10.0 { format!("{ratio:.4}") } else { format!("{ratio:.1}") };
    let ratio = match (kernel.ratio, kernel.ratio_interval) {
        (Some(_), Some([low, high])) => format!("{} to {}", digits(low), digits(high)),
        (Some(ratio), None) => digits(ratio),
        (None, _) => UNKNOWN.to_owned(),
    };
    vec![
        kernel.class.clone(),
        kernel.kernel.clone(),
        seconds(kernel.time),
        percent(kernel.within),
        percent(kernel.between),
        percent(kernel.preempted_share),
        kernel.companion.clone(),
        ratio,
        percent(kernel.detectable_time),
        percent(kernel.detectable_ratio),
    ]
}

fn advice(findings: &Findings) -> String {
    if findings.advice.is_empty() {
        return "nothing".to_owned();
    }
    let mut text = String::new();
    for (number, advice) in findings.advice.iter().enumerate() {
        text.push_str(&text::line(&format!("{}. {}: {}", number + 1, advice.about, advice.why), INDENT));
        for line in text::line(&advice.how, INDENT + 3).lines() {
            text.push_str(&format!("   {line}\n"));
        }
        if let Some(command) = &advice.command {
            text.push_str(&format!("     {command}\n"));
        }
    }
    text
}

fn seconds(seconds: f64) -> String {
    scaled(Unit::Second, seconds)
}

/// With a prefix and without trailing zeros: `32 KiB`.
fn scaled(unit: Unit, value: f64) -> String {
    let scale = unit.scale(value);
    let number = scale.number(value);
    let short = if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { &number };
    format!("{short} {}", scale.symbol)
}

fn percent(share: Option<f64>) -> String {
    let decimals = |share: f64| usize::from(share < 0.0995) + usize::from(share < 0.00995);
    share.map_or_else(|| UNKNOWN.to_owned(), |share| number::percent(share, decimals(share)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_measure::doctor::findings::{Clock, Clocks, Fitness, NoiseFindings, Recommendation};

    #[test]
    fn the_version_of_valgrind_is_read() {
        let check = |text: &str, expected: &str| assert_eq!(valgrind_version(text), expected);
        check("valgrind-3.19.0\n", "valgrind 3.19.0");
        check("valgrind-3.23.0.GIT\n", "valgrind 3.23.0.GIT");
        check("", "valgrind");
        check("valgrind-\u{1b}[31m", "valgrind");
    }

    #[test]
    fn facts_become_abilities_with_a_reason() {
        let check = |list: &[(&str, &str)], pins: Result<&str, &str>, counts: Result<&str, &str>| {
            let facts = list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let owned = |words: Result<&str, &str>| words.map(str::to_owned).map_err(str::to_owned);
            assert_eq!((pinning(&facts), counters(&facts)), (owned(pins), owned(counts)), "{list:?}");
        };
        let counted = Ok("instructions of our own code can be counted");
        let pinned = [("pinning", "permitted"), ("allowed_cpus", "2"), ("counters", "available")];
        check(&pinned, Ok("to any of 2 processors"), counted);
        let refused = [("pinning", "not permitted"), ("allowed_cpus", "2"), ("counters", "not permitted")];
        check(&refused, Err("the scheduler does not permit it"), Err("closed to this user"));
        let unknown = Err("unknown on this system");
        check(&[], unknown, unknown);
        let alone = [("pinning", "permitted"), ("allowed_cpus", "1"), ("counters", "none"), ("virtual_machine", "yes")];
        check(&alone, Ok("to the only processor that is allowed"), Err("the virtual machine has none"));
    }

    fn findings() -> Findings {
        let facts = [
            ("cores", "2"),
            ("threads_per_core", "1"),
            ("cache_l1d_bytes", "49152"),
            ("memory_gib", "24"),
            ("page_bytes", "4096"),
            ("governor", "powersave"),
        ];
        let kernel = KernelFindings {
            class: "dram".to_owned(),
            kernel: "triad 8 MiB".to_owned(),
            time: 215e-6,
            within: Some(0.0042),
            between: Some(0.0123),
            preempted_share: None,
            companion: "copy 8 MiB".to_owned(),
            is_control: false,
            ratio: Some(1.7),
            ratio_interval: Some([1.65, 1.75]),
            detectable_time: Some(0.12),
            detectable_ratio: Some(0.031),
        };
        let reasons = vec!["triad 8 MiB: a change of its ratio shows from 3.1 % on".to_owned()];
        Findings {
            schema_version: 1,
            sprag: "0.1.0".to_owned(),
            seconds: 5.0,
            machine: MachineFindings {
                id: "0123456789abcdef".to_owned(),
                name: "bench\u{1b}[31m".to_owned(),
                class: "Example CPU".to_owned(),
                named_by: "sprag.toml".to_owned(),
                environment_key: "fedcba9876543210".to_owned(),
                facts: facts.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            },
            abilities: vec![Ability { name: "suite gpu".to_owned(), able: false, detail: "no device".to_owned() }],
            clocks: Clocks { wall: Clock { resolution: Some(20e-9), cost: 25.4e-9 }, thread: None },
            pressure: Pressures {
                load_before: Some(3.0),
                load_after: None,
                steal_share: Some(0.002),
                throttled_periods: Some(1),
                throttled_seconds: Some(0.1),
                waiting_share: None,
                reasons: vec!["load 3.00 on 2 cores before the run".to_owned()],
            },
            noise: NoiseFindings {
                processes: 5,
                faults: vec!["worker 6: it ended with exit code 3".to_owned()],
                classes: vec![
                    ClassFitness { class: "cache".to_owned(), fitness: Fitness::Unknown, reasons: Vec::new() },
                    ClassFitness { class: "dram".to_owned(), fitness: Fitness::Usable, reasons },
                ],
                kernels: vec![kernel],
            },
            advice: vec![Recommendation {
                about: "governor".to_owned(),
                why: "it moves".to_owned(),
                how: "keep it".to_owned(),
                command: Some("sudo cpupower".to_owned()),
            }],
        }
    }

    #[test]
    fn the_text_is_aligned_and_safe() {
        insta::assert_snapshot!(text(&findings()));
        let shares = [None, Some(0.000_12), Some(0.0123), Some(0.0999), Some(0.5)];
        assert_eq!(shares.map(percent), ["–", "0.01 %", "1.2 %", "10 %", "50 %"]);
    }
}
