//! `sprag plan`: which suite runs on which machine when, so that runs that are compared are of machines of one class.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::config::content_error;
use crate::error::{Context as _, refuse};
use crate::project::Project;
use crate::{cache, study};
use sprag_base::files::read_bounded;
use sprag_base::text::printable;
use sprag_base::toml::{TomlError, TomlText};
use sprag_model::disagreement::Disagreement;
use sprag_model::head::RunHead;

/// Assumed of a suite that was never measured here.
const ASSUMED_MINUTES: f64 = 10.0;

const MOST_BYTES: usize = 1 << 20;

/// The machines of a fleet, as a file lists them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fleet {
    machine: Vec<FleetMachine>,
    /// The number of shards of a suite.
    #[serde(default)]
    shards: BTreeMap<String, u32>,
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
}

pub struct Plan {
    fleet: Fleet,
    /// By time, then by machine.
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

#[derive(Clone, Copy, Debug)]
pub enum PlanFormat {
    Table,
    Json,
    Github,
    Slurm,
    Kubernetes,
}

/// A plan of all suites of the configuration on the machines of that file.
pub fn plan(project: &Project, path: &Path, asked: &[String]) -> crate::Result<Plan> {
    let bytes = read_bounded(path, MOST_BYTES).with_context(|| format!("cannot read `{}`", path.display()))?;
    let name = path.display().to_string();
    let text = TomlText::from_bytes(&name, &bytes).map_err(content_error)?;
    let fleet: Fleet = text.parse().map_err(content_error)?;
    let suites: Vec<(&str, f64)> =
        project.config.select(asked)?.iter().map(|(name, suite)| (*name, f64::from(suite.processes()))).collect();
    let all: Vec<&str> = project.config.all_suites().map(|(name, _)| name).collect();
    fault(&fleet, &all, &text).map_or(Ok(()), |fault| Err(content_error(fault)))?;
    let seconds = cache::seconds(project);
    let study = project.find_store().map(|_| study::study(project)).transpose()?;
    let heads = study.as_ref().map_or(&[][..], |study| &study.heads);
    let lasting =
        |(suite, processes): (&str, f64)| (suite.to_owned(), seconds.get(suite).map(|one| one * processes / 60.0));
    let mut plan = scheduled(fleet, suites.into_iter().map(lasting).collect(), heads);
    let is_planned = |one: &&Disagreement| plan.tasks.iter().any(|task| task.suite == one.suite);
    let disagreements = study.iter().flat_map(|study| &study.analysis.disagreements).filter(is_planned);
    plan.notes.extend(disagreements.map(Disagreement::sentence).collect::<Vec<String>>());
    Ok(plan)
}

fn fault(fleet: &Fleet, suites: &[&str], text: &TomlText<'_>) -> Option<TomlError> {
    let fine = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:@".contains(c));
    let mut names = BTreeSet::new();
    for (place, machine) in fleet.machine.iter().enumerate() {
        let place = place.to_string();
        let at = |key: &str, message: String| Some(text.error_at_key(&["machine", &place, key], message));
        if machine.class.trim().is_empty() {
            return at("class", "`class` is empty; `sprag doctor` shows that of a machine".to_owned());
        }
        let labels = machine.labels.iter().map(|label| ("labels", label));
        if let Some((key, word)) = std::iter::once(("name", &machine.name)).chain(labels).find(|one| !fine(one.1)) {
            let word = word.escape_debug();
            return at(key, format!("`{key}` has `{word}`: letters, digits and `-_./:@` are allowed"));
        }
        if !names.insert(&machine.name) {
            return at("name", format!("the machine `{}` is listed twice", machine.name));
        }
    }
    if let Some((suite, shards)) = fleet.shards.iter().find(|(_, shards)| !(1..=1000).contains(*shards)) {
        let message = format!("`shards.{suite}` is {shards}, from 1 to 1000 is allowed");
        return Some(text.error_at_key(&["shards", suite], message));
    }
    if let Some(suite) = fleet.shards.keys().find(|name| !suites.contains(&name.as_str())) {
        return Some(text.error_at_key(&["shards", suite], format!("there is no suite `{suite}`")));
    }
    for (key, word) in [("image", &fleet.image), ("volume", &fleet.volume)] {
        if word.as_ref().is_some_and(|word| !fine(word)) {
            return Some(text.error_at_key(&[key], format!("`{key}` allows letters, digits and `-_./:@`")));
        }
    }
    fleet.machine.is_empty().then(|| text.error(0, "there is no `[[machine]]` with `name` and `class`".to_owned()))
}

/// The longest suites first, each on the machine that is free first: of those of the machine or the class that measured it last,
/// and else of the class that has least to do.
fn scheduled(fleet: Fleet, mut suites: Vec<(String, Option<f64>)>, heads: &[RunHead]) -> Plan {
    let minutes = |suite: &(String, Option<f64>)| suite.1.unwrap_or(ASSUMED_MINUTES);
    suites.sort_by(|a, b| minutes(b).total_cmp(&minutes(a)).then_with(|| a.0.cmp(&b.0)));
    let mut free = vec![0.0; fleet.machine.len()];
    let (mut tasks, mut notes) = (Vec::new(), Vec::new());
    for suite in suites {
        let of_suite = heads.iter().filter(|head| head.suite == suite.0);
        let last = of_suite.max_by_key(|head| head.timestamp).map(|head| (&*head.machine.name, &*head.machine.class));
        let count = fleet.shards.get(&suite.0).copied().unwrap_or(1);
        let places = |is: &dyn Fn(&FleetMachine) -> bool| -> Vec<usize> {
            (0..fleet.machine.len()).filter(|&place| is(&fleet.machine[place])).collect()
        };
        let mean = |class: &str, free: &[f64]| {
            let places = places(&|one| one.class == class);
            places.iter().map(|&place| free[place]).sum::<f64>() / places.len() as f64
        };
        let least =
            fleet.machine.iter().map(|one| &*one.class).min_by(|a, b| mean(a, &free).total_cmp(&mean(b, &free)));
        let mut own = places(&|one| count == 1 && last.is_some_and(|last| last.0 == one.name));
        if own.is_empty() {
            own = places(&|one| last.is_some_and(|last| last.1 == one.class));
        }
        if own.is_empty() {
            own = places(&|one| least == Some(&*one.class));
            notes.extend(last.map(|(name, class)| {
                let (name, class) = (printable(name), printable(class));
                format!("`{}` was last measured on `{name}` of the class `{class}`, which is not listed", suite.0)
            }));
        }
        for shard in 1..=count {
            let first = own.iter().copied().min_by(|a, b| free[*a].total_cmp(&free[*b]));
            let Some(machine) = first else { continue };
            let minutes = minutes(&suite) / f64::from(count);
            tasks.push(Task {
                suite: suite.0.clone(),
                shard: (count > 1).then_some((shard, count)),
                machine,
                start: free[machine],
                minutes,
                is_assumed: suite.1.is_none(),
            });
            free[machine] += minutes;
        }
    }
    tasks.sort_by(|a, b| a.start.total_cmp(&b.start).then(a.machine.cmp(&b.machine)));
    Plan { fleet, tasks, notes }
}

impl Plan {
    /// # Errors
    /// If the file lacks what the format needs.
    pub fn text(&self, format: PlanFormat) -> crate::Result<String> {
        let indented = |value: &Value| format!("{value:#}\n");
        Ok(match format {
            PlanFormat::Table => self.table(),
            PlanFormat::Json => {
                indented(&json!({ "tasks": self.tasks.iter().map(|one| self.json(one)).collect::<Vec<_>>() }))
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
        let mut text = format!("{:>6} {:>8}  {:<20} {:<20} Suite\n", "Start", "Minutes", "Machine", "Class");
        for task in &self.tasks {
            let FleetMachine { name, class, .. } = self.machine(task);
            let shard = task.shard.map_or_else(String::new, |(one, all)| format!(", shard {one} of {all}"));
            let assumed = if task.is_assumed { " (assumed: never measured here)" } else { "" };
            let (start, minutes) = (task.start, task.minutes);
            let _ = writeln!(
                text,
                "{start:6.1} {minutes:8.1}  {name:<20} {:<20} {}{shard}{assumed}",
                printable(class),
                task.suite
            );
        }
        text
    }

    fn json(&self, task: &Task) -> Value {
        let FleetMachine { name, class, .. } = self.machine(task);
        json!({
            "suite": task.suite, "shard": shard(task), "machine": name, "class": class, "start_minutes": task.start,
            "minutes": task.minutes, "assumed": task.is_assumed,
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
            let (last, cases) = (tasks.len() - 1, self.cases(machine, &tasks, "SLURM_ARRAY_TASK_ID", ""));
            let _ = write!(
                text,
                "sbatch --job-name=sprag-{name} --nodelist={name} --exclusive --array=0-{last}%1 <<'END'\n\
                 #!/bin/sh\n{cases}END\n"
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
        let job = |(machine, tasks): (&FleetMachine, Vec<&Task>)| {
            let command = self.cases(machine, &tasks, "JOB_COMPLETION_INDEX", "/results/");
            let name: String =
                machine.name.to_lowercase().chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
            let container = json!({
                "name": "sprag", "image": image, "command": ["sh", "-c", command],
                "volumeMounts": [{ "name": "results", "mountPath": "/results" }],
            });
            json!({
                "apiVersion": "batch/v1", "kind": "Job",
                "metadata": { "generateName": format!("sprag-{name}-") },
                "spec": {
                    "completions": tasks.len(), "parallelism": 1, "completionMode": "Indexed", "backoffLimit": 0,
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
            let (suite, name) = (&task.suite, machine.name.replace(['/', ':'], "-"));
            let _ = writeln!(
                text,
                "{number}) SPRAG_MACHINE='{recorded}' sprag run --suite {suite}{shard} \
                 --output-run {folder}{suite}-{name}-{number}.json ;;"
            );
        }
        text + "esac\n"
    }
}

fn shard(task: &Task) -> Option<String> {
    task.shard.map(|(one, all)| format!("{one}/{all}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLEET: &str = "[[machine]]\nname = \"a\"\nclass = \"x\"\n[[machine]]\nname = \"b\"\nclass = \"x\"\n\
                         labels = [\"perf\"]\n[[machine]]\nname = \"c\"\nclass = \"y\"\n[shards]\nlong = 2\n";

    fn made(minutes: &[(&str, Option<f64>)]) -> Plan {
        let fleet = TomlText::new("fleet.toml", FLEET).parse().expect("it is a fleet");
        scheduled(fleet, minutes.iter().map(|(suite, minutes)| ((*suite).to_owned(), *minutes)).collect(), &[])
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
            "\n0) SPRAG_MACHINE='x' sprag run --suite long --shard 2/2 --output-run long-b-0.json ;;\nesac\nEND\n";
        assert!(slurm.contains(case), "{slurm}");
        let read =
            |format| serde_json::from_str::<Value>(&plan.text(format).expect("it is complete")).expect("it is JSON");
        let matrix = &read(PlanFormat::Github)["include"];
        assert_eq!(matrix[1], json!({ "suite": "long", "shard": "2/2", "machine": "x", "labels": ["perf"] }));
        assert!(plan.text(PlanFormat::Kubernetes).is_err());
        (plan.fleet.image, plan.fleet.volume) = (Some("bench".to_owned()), Some("results".to_owned()));
        let read =
            |format| serde_json::from_str::<Value>(&plan.text(format).expect("it is complete")).expect("it is JSON");
        let jobs = &read(PlanFormat::Kubernetes)["items"];
        assert_eq!((jobs[2]["spec"]["completions"].as_u64(), jobs.as_array().map(Vec::len)), (Some(2), Some(3)));
        assert_eq!(read(PlanFormat::Json)["tasks"][2]["assumed"], json!(true));
        let row = "0.0     15.0  b                    x                    long, shard 2 of 2\n";
        assert!(plan.text(PlanFormat::Table).expect("it is complete").contains(row));
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
        check(&FLEET.replace("long = 2", "long = 0"), 12, "from 1 to 1000");
        check(&FLEET.replace("long = 2", "other = 2"), 12, "there is no suite `other`");
        check(&FLEET.replace("labels", "label"), 7, "unknown field `label`");
    }
}
