//! Workflow files as their rules see them: jobs, steps and conditions.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::Path;

use yaml_rust2::yaml::Hash;
use yaml_rust2::{Yaml, YamlLoader};

/// Workflows and actions by their path, as text and as YAML.
#[derive(Clone)]
pub(crate) struct Workflows {
    files: BTreeMap<String, (String, Yaml)>,
}

#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    /// The name of the workflow's file, such as `perf.yml`.
    pub(crate) file: &'a str,
    pub(crate) key: &'a str,
    pub(crate) yaml: &'a Yaml,
}

impl Workflows {
    pub(crate) fn ours() -> Workflows {
        Workflows::read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")))
    }

    pub(crate) fn read(root: &Path) -> Workflows {
        let mut files = BTreeMap::new();
        for folder in [".github/workflows", ".github/actions/sprag", "."] {
            for entry in fs::read_dir(root.join(folder)).expect("the folder can be listed") {
                let name = entry.expect("the folder can be listed").file_name().to_string_lossy().into_owned();
                if name.ends_with(".yml") || name.ends_with(".yaml") {
                    let path = if folder == "." { name } else { format!("{folder}/{name}") };
                    let text = fs::read_to_string(root.join(&path)).expect("a text");
                    let yaml = parsed(&path, &text);
                    files.insert(path, (text, yaml));
                }
            }
        }
        Workflows { files }
    }

    /// The same with one text of a workflow replaced wherever it occurs.
    #[track_caller]
    pub(crate) fn with(&self, file: &str, from: &str, to: &str) -> Workflows {
        let mut changed = self.clone();
        let is_path = changed.files.contains_key(file);
        let mut files = changed.files.iter_mut();
        let (path, (text, yaml)) = files
            .find(|(path, _)| if is_path { *path == file } else { path.ends_with(file) })
            .unwrap_or_else(|| panic!("there is no {file}"));
        assert!(text.contains(from), "{file} has no `{from}`");
        *text = text.replace(from, to);
        *yaml = parsed(path, text);
        changed
    }

    /// Every file: its path, text and content.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &str, &Yaml)> {
        self.files.iter().map(|(path, (text, yaml))| (path.as_str(), text.as_str(), yaml))
    }

    /// Every workflow: the name of its file and its content.
    pub(crate) fn workflows(&self) -> impl Iterator<Item = (&str, &Yaml)> {
        self.all().filter_map(|(path, _, yaml)| Some((path.strip_prefix(".github/workflows/")?, yaml)))
    }

    #[track_caller]
    pub(crate) fn workflow(&self, file: &str) -> &Yaml {
        self.workflows().find(|(name, _)| *name == file).unwrap_or_else(|| panic!("there is no {file}")).1
    }

    pub(crate) fn jobs(&self) -> Vec<Job<'_>> {
        self.workflows().flat_map(|(file, yaml)| jobs_of(file, yaml)).collect()
    }

    #[track_caller]
    pub(crate) fn job(&self, file: &str, key: &str) -> Job<'_> {
        let matching = self.jobs().into_iter().find(|job| job.file == file && job.key == key);
        matching.unwrap_or_else(|| panic!("{file} has no job `{key}`"))
    }

    /// Every step of jobs and actions, with the place to name it by.
    pub(crate) fn steps(&self) -> Vec<(String, &Yaml)> {
        let mut steps = Vec::new();
        for job in self.jobs() {
            steps.extend(job.steps().iter().map(|step| (job.to_string(), step)));
        }
        for (path, _, yaml) in self.all() {
            let of_action = yaml["runs"]["steps"].as_vec().map_or(&[][..], Vec::as_slice);
            steps.extend(of_action.iter().map(|step| (path.to_owned(), step)));
        }
        steps
    }
}

#[track_caller]
fn parsed(path: &str, text: &str) -> Yaml {
    let mut documents = YamlLoader::load_from_str(text).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert_eq!(documents.len(), 1, "{path}");
    documents.remove(0)
}

/// The jobs of one workflow in their order.
pub(crate) fn jobs_of<'a>(file: &'a str, workflow: &'a Yaml) -> Vec<Job<'a>> {
    pairs(&workflow["jobs"]).into_iter().map(|(key, yaml)| Job { file, key, yaml }).collect()
}

impl fmt::Display for Job<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.file, self.key)
    }
}

impl<'a> Job<'a> {
    pub(crate) fn steps(&self) -> &'a [Yaml] {
        self.yaml["steps"].as_vec().map_or(&[], Vec::as_slice)
    }

    #[track_caller]
    pub(crate) fn step(&self, name: &str) -> &'a Yaml {
        let matching = self.steps().iter().find(|step| step["name"].as_str() == Some(name));
        matching.unwrap_or_else(|| panic!("{}: {} has no step `{name}`", self.file, self.key))
    }

    pub(crate) fn scripts(&self) -> String {
        self.steps().iter().filter_map(|step| step["run"].as_str()).collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn needs(&self) -> Vec<&'a str> {
        words(&self.yaml["needs"])
    }

    pub(crate) fn condition(&self) -> String {
        condition(self.yaml)
    }
}

/// The condition of a job or a step in one line, without `${{ }}`.
pub(crate) fn condition(of: &Yaml) -> String {
    let text = of["if"].as_str().unwrap_or_default().trim();
    let bare = text.strip_prefix("${{").and_then(|text| text.strip_suffix("}}")).unwrap_or(text);
    bare.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn words(yaml: &Yaml) -> Vec<&str> {
    match yaml {
        Yaml::String(word) => vec![word],
        Yaml::Array(list) => list.iter().filter_map(Yaml::as_str).collect(),
        _ => Vec::new(),
    }
}

pub(crate) fn pairs(yaml: &Yaml) -> Vec<(&str, &Yaml)> {
    let hash = yaml.as_hash().map(Hash::iter).into_iter().flatten();
    hash.filter_map(|(key, value)| Some((key.as_str()?, value))).collect()
}

pub(crate) fn keys(yaml: &Yaml) -> BTreeSet<&str> {
    pairs(yaml).into_iter().map(|(key, _)| key).collect()
}

/// The commands in the output of a step that the runner would act on.
pub(crate) fn heard(out: &str) -> Vec<&str> {
    let (mut heard, mut until) = (Vec::new(), None);
    for line in out.lines().map(str::trim_start) {
        match &until {
            Some(end) if line == end => until = None,
            Some(_) => {}
            None => match line.strip_prefix("::stop-commands::") {
                Some(token) => until = Some(format!("::{token}::")),
                None if line.starts_with("::") || line.contains("##[") => heard.push(line),
                None => {}
            },
        }
    }
    heard
}
