//! `sprag plan`: which suite runs on which machine when, so that runs that are compared are of machines of one class.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::config::{Suite, SuiteKind, content_error};
use crate::error::{WithContext as _, refuse};
use crate::project::Project;
use crate::{cache, study, text};
use sprag_base::files::read_bounded;
use sprag_base::text::{is_unsafe_in_name, printable};
use sprag_base::toml::{TomlError, TomlText};
use sprag_model::environment::DURATION;
use sprag_model::run::is_filtered;
use sprag_model::shard::OCCUPIED;
use sprag_model::{Disagreement, RecordedRun, Role, RunHead, Shard};

/// Assumed of a suite that was never measured here.
const ASSUMED_MINUTES: f64 = 10.0;

const MOST_BYTES: usize = 1 << 20;

/// A week: what takes longer is a mistake.
const MOST_HOURS: f64 = 168.0;

/// Of a matrix, GitHub runs no more.
const MOST_JOBS: usize = 256;

/// The machines of a fleet, as a file lists them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fleet {
    machine: Vec<FleetMachine>,
    /// The number of shards of a suite.
    #[serde(default)]
    shards: BTreeMap<String, u32>,
    /// Where a suite is measured: names of machines, and of classes, of each of which one machine measures it, or shards.
    #[serde(default)]
    suites: BTreeMap<String, Vec<String>>,
    /// The container image of jobs of Kubernetes, with the project, Sprag and a shell.
    image: Option<String>,
    /// The claim of a volume to which they write results.
    volume: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FleetMachine {
    name: String,
    class: String,
    /// Those of its runner on GitHub.
    #[serde(default)]
    labels: Vec<String>,
    /// The time of day from which it may measure, such as `22:00`.
    from: Option<String>,
    /// For how long.
    hours: Option<f64>,
}

pub struct FleetPlan {
    fleet: Fleet,
    /// By machine, then by time.
    tasks: Vec<Task>,
    /// What to know about it, for standard error.
    pub notes: Vec<String>,
}

struct Task {
    suite: String,
    shard: Option<(u32, u32)>,
    machine: usize,
    start: f64,
    minutes: f64,
    is_assumed: bool,
}

/// What is known of a suite.
struct Load {
    suite: String,
    processes: f64,
    /// Of one process, in its last run in this clone.
    seconds: Option<f64>,
    /// Whether its benchmarks may be on several shards.
    is_divisible: bool,
}

#[derive(Clone, Copy, Debug)]
pub enum PlanFormat {
    Table,
    Json,
    Github,
    Slurm,
    Kubernetes,
}

/// A plan of all suites of the configuration on the machines of that file.
pub fn plan(project: &Project, path: &Path, asked: &[String]) -> crate::Result<FleetPlan> {
    let bytes = read_bounded(path, MOST_BYTES).with_context(|| format!("cannot read `{}`", path.display()))?;
    let name = path.display().to_string();
    let text = TomlText::from_bytes(&name, &bytes).map_err(content_error)?;
    let fleet: Fleet = text.parse().map_err(content_error)?;
    let asked = project.config.select(asked)?;
    let all: Vec<&str> = project.config.all_suites().map(|(name, _)| name).collect();
    fault(&fleet, &all, &text).map_or(Ok(()), |fault| Err(content_error(fault)))?;
    let seconds = cache::seconds(project);
    let study = project.find_store().map(|_| study::study(project)).transpose()?;
    let load = |(name, settings): &(&str, &Suite)| Load {
        suite: (*name).to_owned(),
        processes: f64::from(settings.processes()),
        seconds: seconds.get(*name).copied(),
        is_divisible: !matches!(settings.kind, SuiteKind::Command | SuiteKind::Trt),
    };
    let (heads, newest) = study.as_ref().map_or((&[][..], &[][..]), |study| (&study.heads, &study.newest));
    let mut plan = Scheduler::new(fleet, heads, newest).plan(asked.iter().map(load).collect());
    let is_planned = |one: &&Disagreement| plan.tasks.iter().any(|task| task.suite == one.suite);
    let disagreements = study.iter().flat_map(|study| &study.analysis.disagreements).filter(is_planned);
    plan.notes.extend(disagreements.map(Disagreement::sentence).collect::<Vec<String>>());
    Ok(plan)
}

fn fault(fleet: &Fleet, suites: &[&str], text: &TomlText<'_>) -> Option<TomlError> {
    let has_only = |word: &str, marks: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || marks.contains(c))
    };
    let mut names = BTreeMap::new();
    for (place, machine) in fleet.machine.iter().enumerate() {
        let place = place.to_string();
        let at = |key: &str, message: String| Some(text.error_at_key(&["machine", &place, key], message));
        if machine.class.trim().is_empty() {
            return at("class", "`class` is empty; `sprag doctor` shows that of a machine".to_owned());
        }
        if machine.class.contains(is_unsafe_in_name) {
            let class = machine.class.escape_debug();
            return at("class", format!("`class` has control or invisible characters: `{class}`"));
        }
        // In a list of nodes, Slurm takes `/` for a file.
        let labels = machine.labels.iter().map(|label| ("labels", label, "-_./:@"));
        let mut words = std::iter::once(("name", &machine.name, "-_.:")).chain(labels);
        if let Some((key, word, marks)) = words.find(|(_, word, marks)| !has_only(word, marks)) {
            let word = word.escape_debug();
            return at(key, format!("`{key}` has `{word}`: letters, digits and `{marks}` are allowed"));
        }
        if machine.from.as_ref().is_some_and(|from| minutes_of_day(from).is_none()) {
            return at("from", "`from` is a time of day, such as \"22:00\"".to_owned());
        }
        if machine.hours.is_some_and(|hours| !(hours > 0.0 && hours <= MOST_HOURS)) {
            return at("hours", format!("`hours` is more than 0 and at most {MOST_HOURS}"));
        }
        let name = &machine.name;
        match names.insert(name.to_lowercase(), name) {
            Some(other) if other == name => return at("name", format!("the machine `{name}` is listed twice")),
            // Files of results have the names of machines, and some systems take these for one.
            Some(other) => return at("name", format!("the machines `{other}` and `{name}` differ only in case")),
            None => {}
        }
    }
    if let Some((suite, shards)) = fleet.shards.iter().find(|(_, shards)| !(1..=1000).contains(*shards)) {
        let message = format!("`shards.{suite}` is {shards}, from 1 to 1000 is allowed");
        return Some(text.error_at_key(&["shards", suite], message));
    }
    let keyed = fleet.shards.keys().map(|suite| ("shards", suite));
    let mut keyed = keyed.chain(fleet.suites.keys().map(|suite| ("suites", suite)));
    if let Some((key, suite)) = keyed.find(|(_, name)| !suites.contains(&name.as_str())) {
        return Some(text.error_at_key(&[key, suite], format!("there is no suite `{suite}`")));
    }
    for (suite, words) in &fleet.suites {
        let mut seen = BTreeSet::new();
        let mut fault = |word: &String| {
            let is_name = fleet.machine.iter().any(|one| one.name == *word);
            let is_it = |one: &&FleetMachine| *word == if is_name { &*one.name } else { &*one.class };
            let mut names = fleet.machine.iter().filter(is_it).map(|one| &one.name).peekable();
            if names.peek().is_none() {
                return Some(format!("has `{}`, neither the name nor the class of a machine", word.escape_debug()));
            }
            names
                .find(|name| !seen.insert(*name))
                .map(|name| format!("lists the machine `{name}` twice, by name or class"))
        };
        let empty = || words.is_empty().then(|| "is empty".to_owned());
        if let Some(fault) = words.iter().find_map(&mut fault).or_else(empty) {
            return Some(text.error_at_key(&["suites", suite], format!("`suites.{suite}` {fault}")));
        }
    }
    for (key, word) in [("image", &fleet.image), ("volume", &fleet.volume)] {
        if word.as_ref().is_some_and(|word| !has_only(word, "-_./:@")) {
            return Some(text.error_at_key(&[key], format!("`{key}` allows letters, digits and `-_./:@`")));
        }
    }
    fleet.machine.is_empty().then(|| text.error(0, "there is no `[[machine]]` with `name` and `class`".to_owned()))
}

/// Chooses machines, the longest suites first: those that the file names; else in each class that has measured the suite the
/// machine that did so last; and else the class that has least to do. What may be on several machines is on that which is free first.
struct Scheduler<'a> {
    fleet: Fleet,
    heads: &'a [RunHead],
    /// The newest run of each suite and machine.
    newest: &'a [RecordedRun],
    /// When each machine has done what is planned, in minutes.
    free: Vec<f64>,
    tasks: Vec<Task>,
    notes: Vec<String>,
}

impl<'a> Scheduler<'a> {
    fn new(fleet: Fleet, heads: &'a [RunHead], newest: &'a [RecordedRun]) -> Scheduler<'a> {
        let free = vec![0.0; fleet.machine.len()];
        Scheduler { fleet, heads, newest, free, tasks: Vec::new(), notes: Vec::new() }
    }

    fn plan(mut self, mut loads: Vec<Load>) -> FleetPlan {
        let minutes = |load: &Load| self.minutes(load, None, None).unwrap_or(ASSUMED_MINUTES);
        loads.sort_by(|a, b| minutes(b).total_cmp(&minutes(a)).then_with(|| a.suite.cmp(&b.suite)));
        for load in &loads {
            let asked = self.fleet.shards.get(&load.suite).copied().unwrap_or(1);
            let count = if load.is_divisible { asked } else { 1 };
            if count < asked {
                self.notes.push(format!(
                    "`{}` has no shards: suites of the kinds command and trt are measured as a whole",
                    load.suite
                ));
            }
            let shards = self.occupied(&load.suite, count);
            if shards.len() < count as usize {
                let (left, suite) = (count as usize - shards.len(), &load.suite);
                self.notes.push(format!("`{suite}`: {left} of {count} shards have no benchmark and are left out"));
            }
            for places in self.places(&load.suite, count) {
                for shard in &shards {
                    self.add(load, &places, (count > 1).then_some((*shard, count)), shards.len());
                }
            }
        }
        for (machine, free) in self.fleet.machine.iter().zip(&self.free) {
            if let Some(hours) = machine.hours.filter(|hours| *free > hours * 60.0) {
                let (name, needed) = (&machine.name, free / 60.0);
                self.notes.push(format!("`{name}` has {needed:.1} hours to measure and may only measure for {hours}"));
            }
        }
        self.tasks.sort_by(|a, b| a.machine.cmp(&b.machine).then(a.start.total_cmp(&b.start)));
        FleetPlan { fleet: self.fleet, tasks: self.tasks, notes: self.notes }
    }

    /// Adds a task to the machine of these that is free first, or to the first that has the time.
    fn add(&mut self, load: &Load, places: &[usize], shard: Option<(u32, u32)>, shards: usize) {
        let class = places.first().map(|place| self.fleet.machine[*place].class.as_str());
        let usual = self.minutes(load, class, shard).or_else(|| Some(self.minutes(load, class, None)? / shards as f64));
        let minutes = usual.unwrap_or(ASSUMED_MINUTES / shards as f64);
        let late = |place: usize| {
            let end = self.free[place] + minutes;
            (self.fleet.machine[place].hours.is_some_and(|hours| end > hours * 60.0), self.free[place])
        };
        let sooner = |a: &usize, b: &usize| late(*a).0.cmp(&late(*b).0).then(late(*a).1.total_cmp(&late(*b).1));
        let Some(machine) = places.iter().copied().min_by(sooner) else { return };
        let (suite, start) = (load.suite.clone(), self.free[machine]);
        self.tasks.push(Task { suite, shard, machine, start, minutes, is_assumed: usual.is_none() });
        self.free[machine] += minutes;
    }

    /// The machines for each complete measurement of a suite.
    fn places(&mut self, suite: &str, shards: u32) -> Vec<Vec<usize>> {
        let machines = &self.fleet.machine;
        let of = |is: &dyn Fn(&FleetMachine) -> bool| -> Vec<usize> {
            (0..machines.len()).filter(|place| is(&machines[*place])).collect()
        };
        let last = |is: &dyn Fn(&RunHead) -> bool| {
            let heads = self.heads.iter().filter(|head| head.suite == suite && is(head));
            heads.max_by_key(|head| head.timestamp).map(|head| &*head.machine)
        };
        // Shards go to all machines of a class.
        let of_class = |class: &str| -> Vec<usize> {
            let own = last(&|head| is_named(machines, head, class))
                .filter(|_| shards == 1)
                .map(|machine| machine.name.as_str());
            of(&|one| one.class == class && own.is_none_or(|name| one.name == name))
        };
        if let Some(named) = self.fleet.suites.get(suite) {
            let of_word = |word: &String| -> Vec<usize> {
                let named: Vec<usize> = of(&|one| one.name == *word);
                if named.is_empty() { of_class(word) } else { named }
            };
            return named.iter().map(of_word).collect();
        }
        let classes: BTreeSet<&str> = machines.iter().map(|one| one.class.as_str()).collect();
        // Shards are of a machine that has the name of the class.
        let is_of = |head: &RunHead, class: &str| [&*head.machine.class, &head.machine.name].contains(&class);
        let measured = |class: &&&str| last(&|head| is_of(head, class) || is_named(machines, head, class)).is_some();
        let own: Vec<Vec<usize>> = classes.iter().filter(measured).map(|class| of_class(class)).collect();
        if !own.is_empty() {
            return own;
        }
        let mean = |class: &str| {
            let places: Vec<usize> = of(&|one| one.class == class);
            places.iter().map(|place| self.free[*place]).sum::<f64>() / places.len() as f64
        };
        let least = machines.iter().map(|one| &*one.class).min_by(|a, b| mean(a).total_cmp(&mean(b)));
        let places = least.map(of_class).into_iter().collect();
        let note = last(&|_| true).map(|machine| {
            let (name, class) = (printable(&machine.name), printable(&machine.class));
            format!("`{suite}` was last measured on `{name}` of the class `{class}`, which is not listed")
        });
        self.notes.extend(note);
        places
    }

    /// The shards with benchmarks, as far as a run shows them: the newest one that names them, or the benchmarks of the newest.
    fn occupied(&self, suite: &str, count: u32) -> Vec<u32> {
        let of_suite = self.heads.iter().filter(|head| head.suite == suite);
        let is_so_divided = |head: &&RunHead| Shard::from_config(&head.config).is_some_and(|one| one.count() == count);
        let named = of_suite.filter(is_so_divided).max_by_key(|head| head.timestamp);
        let named = named.and_then(|head| serde_json::from_value::<Vec<u32>>(head.config.get(OCCUPIED)?.clone()).ok());
        let measured = || {
            let runs = self.newest.iter().map(|one| &one.run).filter(|run| run.suite == suite && !run.is_partial());
            let benchmarks = &runs.max_by_key(|run| run.timestamp)?.measurements;
            let benchmarks = benchmarks.iter().filter(|one| one.role != Role::Control).map(|one| &*one.benchmark);
            Some(Shard::new(1, count.into()).ok()?.occupied(benchmarks))
        };
        let mut occupied = named.or_else(measured).unwrap_or_default();
        occupied.retain(|shard| (1..=count).contains(shard));
        if occupied.is_empty() { (1..=count).collect() } else { occupied }
    }

    /// How long a suite, or a shard of it, took: in its newest run in the history, of that class if there is one, else here.
    fn minutes(&self, load: &Load, class: Option<&str>, shard: Option<(u32, u32)>) -> Option<f64> {
        let is_it = |head: &&RunHead| {
            let own = Shard::from_config(&head.config).map(|one| (one.index(), one.count()));
            let is_quick = head.config.get("effort").and_then(Value::as_str) == Some("quick");
            head.suite == load.suite && own == shard && !is_quick && !is_filtered(&head.config)
        };
        let all = self.heads.iter().filter(is_it).filter_map(|head| Some((head, seconds_of_process(head)?)));
        let newest = all.max_by_key(|(head, _)| (Some(&*head.machine.class) == class, head.timestamp)).map(|one| one.1);
        let seconds = newest.or(load.seconds.filter(|_| shard.is_none()))?;
        Some(seconds * load.processes / 60.0)
    }
}

fn seconds_of_process(head: &RunHead) -> Option<f64> {
    let seconds: f64 = head.environment.facts.get(DURATION)?.parse().ok()?;
    let seconds = seconds / head.config.get("workers")?.as_f64()?;
    (seconds.is_finite() && seconds >= 0.0).then_some(seconds)
}

/// Whether the machine of a run is listed in that class, which records may call otherwise.
fn is_named(machines: &[FleetMachine], head: &RunHead, class: &str) -> bool {
    machines.iter().any(|one| one.class == class && one.name == head.machine.name)
}

/// The minutes of the day of a time such as `22:00`.
fn minutes_of_day(text: &str) -> Option<f64> {
    let (hours, minutes) = text.split_once(':')?;
    let is_number = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = |text: &str, most: u32| text.parse().ok().filter(|one: &u32| is_number(text) && *one < most);
    Some(f64::from(number(hours, 24)? * 60 + number(minutes, 60)?))
}

impl FleetPlan {
    /// # Errors If the file lacks what the format needs.
    pub fn text(&self, format: PlanFormat) -> crate::Result<String> {
        let indented = |value: &Value| format!("{value:#}\n");
        Ok(match format {
            PlanFormat::Table => self.table(),
            PlanFormat::Json => {
                indented(&json!({ "tasks": self.tasks.iter().map(|one| self.json(one)).collect::<Vec<_>>() }))
            }
            PlanFormat::Github if self.tasks.len() > MOST_JOBS => {
                let message = format!("the plan has {} jobs, and a matrix of GitHub {MOST_JOBS}", self.tasks.len());
                return refuse(message, "use fewer `[shards]`, or plan some suites at a time with `--suite`");
            }
            PlanFormat::Github => {
                indented(&json!({ "include": self.tasks.iter().map(|one| self.job(one)).collect::<Vec<_>>() }))
            }
            PlanFormat::Slurm => self.slurm(),
            PlanFormat::Kubernetes => indented(&self.kubernetes()?),
        })
    }

    fn machine(&self, task: &Task) -> &FleetMachine {
        &self.fleet.machine[task.machine]
    }

    /// The name of the machine in records. Parts of a suite are one run only if they have one name, that of the class.
    fn recorded(&self, task: &Task) -> &str {
        let FleetMachine { name, class, .. } = self.machine(task);
        if task.shard.is_some() { class } else { name }
    }

    fn table(&self) -> String {
        let row = |task: &Task| {
            let FleetMachine { name, class, .. } = self.machine(task);
            let shard = task.shard.map_or_else(String::new, |(one, all)| format!(", shard {one} of {all}"));
            let assumed = if task.is_assumed { " (minutes assumed: no run says how long it took)" } else { "" };
            let (start, minutes) = (self.start(task), format!("{:.1}", task.minutes));
            vec![name.clone(), start, minutes, format!("{}{shard}{assumed}", task.suite), printable(class)]
        };
        text::table(["Machine", "Start", "Minutes", "Suite", "Class"], self.tasks.iter().map(row), &[1, 2])
    }

    /// The time of day, else the minutes since the first task of the machine.
    fn start(&self, task: &Task) -> String {
        let begin = self.machine(task).from.as_deref().and_then(minutes_of_day);
        let time = |begin: f64| {
            let minutes = (begin + task.start).round() as u64 % (24 * 60);
            format!("{:02}:{:02}", minutes / 60, minutes % 60)
        };
        begin.map_or_else(|| format!("{:.1}", task.start), time)
    }

    fn json(&self, task: &Task) -> Value {
        let FleetMachine { name, class, from, .. } = self.machine(task);
        json!({
            "suite": task.suite, "shard": shard(task), "machine": name, "class": class, "from": from,
            "start_minutes": task.start, "minutes": task.minutes, "assumed": task.is_assumed,
        })
    }

    /// Of a matrix: `runs-on: ${{ matrix.labels }}`.
    fn job(&self, task: &Task) -> Value {
        let FleetMachine { name, labels, .. } = self.machine(task);
        let labels = if labels.is_empty() { json!([name]) } else { json!(labels) };
        json!({ "suite": task.suite, "shard": shard(task), "machine": self.recorded(task), "labels": labels })
    }

    /// The tasks of each machine, in order.
    fn by_machine(&self) -> impl Iterator<Item = (&FleetMachine, Vec<&Task>)> {
        let of = |place: usize| self.tasks.iter().filter(move |task| task.machine == place).collect::<Vec<&Task>>();
        let all = self.fleet.machine.iter().enumerate().map(move |(place, machine)| (machine, of(place)));
        all.filter(|(_, tasks)| !tasks.is_empty())
    }

    /// Submits an array for each machine, whose tasks run one after another.
    fn slurm(&self) -> String {
        let mut text = "#!/bin/sh\nset -e\n".to_owned();
        for (machine, tasks) in self.by_machine() {
            let name = &machine.name;
            let begin = machine.from.as_ref().map_or_else(String::new, |from| format!(" --begin={from}"));
            let (last, cases) = (tasks.len() - 1, self.cases(machine, &tasks, "SLURM_ARRAY_TASK_ID", ""));
            let mut end = "END".to_owned();
            while cases.lines().any(|line| line == end) {
                end.push('_');
            }
            let _ = write!(
                text,
                "sbatch --job-name=sprag-{name} --nodelist={name} --exclusive{begin} --array=0-{last}%1 <<'{end}'\n\
                 #!/bin/sh\n{cases}{end}\n"
            );
        }
        text
    }

    fn kubernetes(&self) -> crate::Result<Value> {
        let (Some(image), Some(volume)) = (&self.fleet.image, &self.fleet.volume) else {
            let hint =
                "`image` starts a shell in the project and has Sprag; `volume` is the claim of a volume for results";
            return refuse("Jobs of Kubernetes need `image` and `volume` in the file", hint);
        };
        if let Some((machine, _)) = self.by_machine().find(|(machine, _)| !is_label(&machine.name)) {
            let message = format!("`{}` cannot be the name of a node of Kubernetes", machine.name);
            return refuse(
                message,
                "use at most 63 letters, digits and `-_.`, of which a letter or digit is at either end",
            );
        }
        let job = |(machine, tasks): (&FleetMachine, Vec<&Task>)| {
            let command = self.cases(machine, &tasks, "JOB_COMPLETION_INDEX", "/results/");
            // The name of a host has at most 63 characters: these, two suffixes by Kubernetes, and the index.
            let most = 38 - tasks.len().to_string().len();
            let name = machine.name.to_lowercase().replace(['_', '.'], "-");
            let container = json!({
                "name": "sprag", "image": image, "command": ["sh", "-c", command],
                "volumeMounts": [{ "name": "results", "mountPath": "/results" }],
            });
            json!({
                "apiVersion": "batch/v1", "kind": "Job",
                "metadata": { "generateName": format!("sprag-{name:.most$}-") },
                "spec": {
                    "completions": tasks.len(), "parallelism": 1, "completionMode": "Indexed",
                    "backoffLimitPerIndex": 0,
                    "template": { "spec": {
                        "nodeSelector": { "kubernetes.io/hostname": machine.name },
                        "restartPolicy": "Never", "containers": [container],
                        "volumes": [{ "name": "results", "persistentVolumeClaim": { "claimName": volume } }],
                    } },
                },
            })
        };
        Ok(json!({ "apiVersion": "v1", "kind": "List", "items": self.by_machine().map(job).collect::<Vec<_>>() }))
    }

    /// The command of each task, by the number of it in a variable.
    fn cases(&self, machine: &FleetMachine, tasks: &[&Task], variable: &str, folder: &str) -> String {
        let mut text = format!("case ${variable} in\n");
        for (number, task) in tasks.iter().enumerate() {
            let shard = shard(task).map_or_else(String::new, |shard| format!(" --shard {shard}"));
            let recorded = self.recorded(task).replace('\'', r"'\''");
            // No suite has a `.` and no machine a `+`, so that no two tasks write one file.
            let (suite, name) = (&task.suite, machine.name.replace(':', "+"));
            let _ = writeln!(
                text,
                "{number}) SPRAG_MACHINE='{recorded}' sprag run --suite {suite}{shard} \
                 --output-run {folder}{suite}.{name}.{number}.json ;;"
            );
        }
        text + "esac\n"
    }
}

/// Whether a text may be the value of a label, as the name of a host is.
fn is_label(text: &str) -> bool {
    let ends = [text.chars().next(), text.chars().next_back()];
    text.len() <= 63
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        && ends.iter().all(|end| end.is_some_and(|c| c.is_ascii_alphanumeric()))
}

fn shard(task: &Task) -> Option<String> {
    task.shard.map(|(one, all)| format!("{one}/{all}"))
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use sprag_model::{Machine, Run};

    const FLEET: &str = "[[machine]]\nname = \"a\"\nclass = \"x\"\n[[machine]]\nname = \"b\"\nclass = \"x\"\n\
                         labels = [\"perf\"]\n[[machine]]\nname = \"c\"\nclass = \"y\"\n[shards]\nlong = 2\n";

    fn load(suite: &str, minutes: Option<f64>) -> Load {
        Load { suite: suite.to_owned(), processes: 1.0, seconds: minutes.map(|one| one * 60.0), is_divisible: true }
    }

    fn planned(fleet: &str, loads: &[(&str, Option<f64>)], heads: &[RunHead]) -> FleetPlan {
        let fleet = TomlText::new("fleet.toml", fleet).parse().expect("it is a fleet");
        Scheduler::new(fleet, heads, &[]).plan(loads.iter().map(|one| load(one.0, one.1)).collect())
    }

    fn made(minutes: &[(&str, Option<f64>)]) -> FleetPlan {
        planned(FLEET, minutes, &[])
    }

    /// Suite, shard, machine, start and minutes of each task.
    fn tasks(plan: &FleetPlan) -> Vec<String> {
        let words = |task: &Task| {
            let shard = shard(task).unwrap_or_default();
            format!("{}{shard} {} {} {}", task.suite, plan.machine(task).name, plan.start(task), task.minutes)
        };
        plan.tasks.iter().map(words).collect()
    }

    /// A run of a suite, in one process of so many seconds.
    fn head(suite: &str, machine: &str, class: &str, seconds: f64, config: &[(&str, Value)]) -> RunHead {
        let mut run = Run::new(suite, DateTime::UNIX_EPOCH, Machine::named(machine, class));
        run.config = config.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        run.config.insert("workers".to_owned(), json!(1));
        run.environment.facts.insert(DURATION.to_owned(), seconds.to_string());
        RunHead::new(&RecordedRun { path: String::new(), id: format!("{suite}{machine}"), run })
    }

    #[test]
    fn a_suite_is_measured_in_each_class_that_measured_it_for_as_long_as_it_took_there() {
        let heads =
            [head("cpu", "b", "x", 120.0, &[]), head("cpu", "c", "y", 360.0, &[]), head("gpu", "z", "z", 60.0, &[])];
        let plan = planned(FLEET, &[("cpu", Some(1.0)), ("gpu", None)], &heads);
        assert_eq!(tasks(&plan), ["gpu a 0.0 1", "cpu b 0.0 2", "cpu c 0.0 6"]);
        assert_eq!(plan.notes, ["`gpu` was last measured on `z` of the class `z`, which is not listed"]);
        let named = FLEET.replace("[shards]\nlong = 2\n", "[suites]\ncpu = [\"a\", \"y\"]\n");
        assert_eq!(tasks(&planned(&named, &[("cpu", None)], &heads)), ["cpu a 0.0 2", "cpu c 0.0 6"]);
    }

    #[test]
    fn shards_without_a_benchmark_are_left_out_and_others_last_as_long_as_before() {
        let config = |shard: &str| [("shard", json!(shard)), (OCCUPIED, json!([1, 3]))];
        let heads = [head("long", "x", "CPU", 60.0, &config("1/4")), head("long", "x", "CPU", 180.0, &config("3/4"))];
        let plan = planned(&FLEET.replace("long = 2", "long = 4"), &[("long", None)], &heads);
        assert_eq!(tasks(&plan), ["long1/4 a 0.0 1", "long3/4 b 0.0 3"]);
        assert_eq!(plan.notes, ["`long`: 2 of 4 shards have no benchmark and are left out"]);
        // Of another division nothing is known.
        assert_eq!(planned(FLEET, &[("long", Some(9.0))], &heads).tasks.len(), 2);
        let fleet = TomlText::new("fleet.toml", FLEET).parse().expect("it is a fleet");
        let command = Load { is_divisible: false, ..load("long", Some(2.0)) };
        let plan = Scheduler::new(fleet, &[], &[]).plan(vec![command]);
        assert_eq!(tasks(&plan), ["long a 0.0 2"]);
        assert!(plan.notes[0].starts_with("`long` has no shards: "), "{:?}", plan.notes);
    }

    #[test]
    fn machines_measure_from_a_time_of_day_and_for_some_hours() {
        let fleet = "[[machine]]\nname = \"a\"\nclass = \"x\"\nfrom = \"23:30\"\nhours = 1\n\
                     [[machine]]\nname = \"b\"\nclass = \"x\"\nhours = 2\n";
        let plan = planned(fleet, &[("m", Some(50.0)), ("n", Some(45.0)), ("o", Some(40.0)), ("p", Some(30.0))], &[]);
        assert_eq!(tasks(&plan), ["m a 23:30 50", "n b 0.0 45", "o b 45.0 40", "p b 85.0 30"]);
        assert_eq!(plan.notes, [""; 0]);
        let plan = planned(fleet, &[("m", Some(70.0)), ("n", Some(150.0))], &[]);
        assert_eq!(plan.notes, ["`a` has 2.5 hours to measure and may only measure for 1"]);
        assert!(
            plan.text(PlanFormat::Slurm).is_ok_and(|text| text.contains("--exclusive --begin=23:30 --array=0-0%1"))
        );
    }

    #[test]
    fn shards_of_a_suite_are_on_machines_of_one_class_and_no_machine_does_two_things_at_once() {
        let mut plan = made(&[("short", Some(1.0)), ("long", Some(30.0)), ("new", None)]);
        let of = |suite: &str| -> Vec<(&str, f64, f64)> {
            let tasks = plan.tasks.iter().filter(|task| task.suite == suite);
            tasks.map(|task| (&*plan.machine(task).name, task.start, task.minutes)).collect()
        };
        assert_eq!(of("long"), [("a", 0.0, 15.0), ("b", 0.0, 15.0)]);
        assert_eq!((of("new"), of("short")), (vec![("c", 0.0, 10.0)], vec![("c", 10.0, 1.0)]));
        let slurm = plan.text(PlanFormat::Slurm).expect("it is complete");
        assert!(slurm.contains("--nodelist=b --exclusive --array=0-0%1 <<'END'"), "{slurm}");
        let case =
            "\n0) SPRAG_MACHINE='x' sprag run --suite long --shard 2/2 --output-run long.b.0.json ;;\nesac\nEND\n";
        assert!(slurm.contains(case), "{slurm}");
        let read =
            |format| serde_json::from_str::<Value>(&plan.text(format).expect("it is complete")).expect("it is JSON");
        let matrix = &read(PlanFormat::Github)["include"];
        assert_eq!(matrix[1], json!({ "suite": "long", "shard": "2/2", "machine": "x", "labels": ["perf"] }));
        assert!(plan.text(PlanFormat::Kubernetes).is_err());
        (plan.fleet.image, plan.fleet.volume) = (Some("bench".to_owned()), Some("results".to_owned()));
        plan.fleet.machine[0].name = "a_".to_owned();
        assert!(
            plan.text(PlanFormat::Kubernetes).is_err_and(|error| error.to_string().contains("`a_` cannot be the name"))
        );
        plan.fleet.machine[0].name = "a".to_owned();
        let read =
            |format| serde_json::from_str::<Value>(&plan.text(format).expect("it is complete")).expect("it is JSON");
        let jobs = &read(PlanFormat::Kubernetes)["items"];
        assert_eq!((jobs[2]["spec"]["completions"].as_u64(), jobs.as_array().map(Vec::len)), (Some(2), Some(3)));
        assert_eq!(read(PlanFormat::Json)["tasks"][2]["assumed"], json!(true));
        let row = "b          0.0     15.0  long, shard 2 of 2 ";
        let table = plan.text(PlanFormat::Table).expect("it is complete");
        assert!(table.contains(row), "{table}");
    }

    #[test]
    fn no_name_breaks_a_script_or_a_limit() {
        let fleet = "image = \"i\"\nvolume = \"v\"\n".to_owned() + FLEET;
        let mut plan = planned(&fleet.replace("\"x\"", "\"x\\nEND\\ntouch pwned\\n\""), &[("long", None)], &[]);
        let slurm = plan.text(PlanFormat::Slurm).expect("it is complete");
        assert!(slurm.contains("<<'END_'\n") && slurm.ends_with("\nesac\nEND_\n"), "{slurm}");
        plan.fleet.machine[0].name = "n".repeat(63);
        let jobs = plan.text(PlanFormat::Kubernetes).expect("it is complete");
        assert!(jobs.contains(&format!("\"sprag-{}-\"", "n".repeat(37))), "{jobs}");
        let long = planned(&FLEET.replace("long = 2", "long = 257"), &[("long", None)], &[]);
        assert!(long.text(PlanFormat::Github).is_err_and(|error| error.to_string().contains("has 257 jobs")));
        let names = FLEET.replace("\"a\"", "\"b-c\"").replace("\"b\"", "\"n:1\"").replace("\"c\"", "\"n-1\"");
        let names = names.replace("[shards]\nlong = 2", "[suites]\na = [\"b-c\", \"n:1\", \"n-1\"]\na-b = [\"b-c\"]");
        let slurm = planned(&names, &[("a", None), ("a-b", None)], &[]).text(PlanFormat::Slurm);
        for file in [" a.b-c.0.json ", " a-b.b-c.1.json ", " a.n+1.0.json ", " a.n-1.0.json "] {
            assert!(slurm.as_ref().is_ok_and(|slurm| slurm.contains(file)), "{file}");
        }
    }

    #[test]
    fn faults_of_a_fleet_name_their_line() {
        let check = |text: &str, line: usize, words: &str| {
            let text = TomlText::new("fleet.toml", text);
            let fault = text.parse::<Fleet>().map_or_else(Some, |fleet| fault(&fleet, &["long"], &text));
            let fault = fault.expect("it is faulty");
            assert!(fault.line == line && fault.message.contains(words), "{fault}");
        };
        check("machine = []\n", 1, "there is no `[[machine]]`");
        check("[[machine]]\nname = \"a\"\n", 1, "missing field `class`");
        check("[[machine]]\nname = \"a b\"\nclass = \"x\"\n", 2, "letters, digits");
        check("[[machine]]\nname = \"a\"\nclass = \"\"\n", 3, "`class` is empty");
        check(&FLEET.replace("\"b\"", "\"a\""), 5, "`a` is listed twice");
        check(&FLEET.replace("\"b\"", "\"A\""), 5, "the machines `a` and `A` differ only in case");
        check(&FLEET.replace("long = 2", "long = 0"), 12, "from 1 to 1000");
        check(&FLEET.replace("long = 2", "other = 2"), 12, "there is no suite `other`");
        check(&FLEET.replace("labels", "label"), 7, "unknown field `label`");
        check("[[machine]]\nname = \"a\"\nclass = \"x\\nEND\"\n", 3, "characters: `x\\nEND`");
        check("[[machine]]\nname = \"a/b\"\nclass = \"x\"\n", 2, "has `a/b`: letters, digits and `-_.:` are");
        let suites = |words: &str, fault| {
            check(&FLEET.replace("[shards]\nlong = 2", &format!("[suites]\nlong = [{words}]")), 12, fault);
        };
        suites("\"a\", \"d\"", "`suites.long` has `d`, neither");
        suites("\"a\", \"c\", \"a\"", "the machine `a` twice");
        suites("\"b\", \"x\"", "the machine `b` twice");
        suites("", "`suites.long` is empty");
        for from in ["9:00", "+1:+2", "24:00"] {
            check(&FLEET.replace("labels = [\"perf\"]", &format!("from = \"{from}\"")), 7, "`from` is a time of day");
        }
        check(&FLEET.replace("labels = [\"perf\"]", "hours = 0"), 7, "more than 0 and at most 168");
    }
}
