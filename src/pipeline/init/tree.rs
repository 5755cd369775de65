//! The files of a project, as the detectors of frameworks see them, and the suites that they find in it.

use std::fs;
use std::path::Path;

use sprag_base::files::read_bounded;
use sprag_base::text::one_line;
use sprag_formats::word;

/// Folders of what is built, installed or copied.
const PASSED_OVER: [&str; 10] = [
    "target", "node_modules", "build", "dist", "venv", "vendor", "third_party", "_site", "__pycache__", "site-packages",
];

pub(super) const DEEPEST: usize = 8;

pub(super) const MOST_FILES: usize = 50_000;

/// More bytes of a source or a build file are not read.
const MOST_BYTES: usize = 1 << 18;

pub(super) struct Tree<'r> {
    root: &'r Path,
    /// Relative to the root, with `/`, sorted.
    pub files: Vec<String>,
    /// Whether there are more files.
    pub is_cut: bool,
}

impl Tree<'_> {
    /// Hidden folders, links and what lies too deep are passed over.
    pub(super) fn read(root: &Path) -> Tree<'_> {
        let (mut files, mut folders) = (Vec::new(), vec![(root.to_owned(), String::new(), 0)]);
        let mut is_cut = false;
        while let Some((folder, prefix, depth)) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let Ok(kind) = entry.file_type() else { continue };
                let is_hidden = name.starts_with('.') || PASSED_OVER.contains(&name.as_str());
                if kind.is_dir() && depth < DEEPEST && !is_hidden {
                    folders.push((entry.path(), format!("{prefix}{name}/"), depth + 1));
                } else if kind.is_file() && files.len() < MOST_FILES {
                    files.push(format!("{prefix}{name}"));
                }
                is_cut |= files.len() == MOST_FILES || kind.is_dir() && depth == DEEPEST && !is_hidden;
            }
        }
        files.sort();
        Tree { root, files, is_cut }
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.files.binary_search_by(|file| file.as_str().cmp(path)).is_ok()
    }

    /// Empty where it cannot be read.
    pub(super) fn text(&self, path: &str) -> String {
        read_bounded(&self.root.join(path), MOST_BYTES)
            .map_or_else(|_| String::new(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    pub(super) fn named<'t>(&'t self, name: &'t str) -> impl Iterator<Item = &'t str> {
        self.files.iter().map(String::as_str).filter(move |file| split(file).1 == name)
    }

    pub(super) fn ending<'t>(&'t self, ends: &'t [&'t str]) -> impl Iterator<Item = &'t str> {
        self.files.iter().map(String::as_str).filter(move |file| ends.iter().any(|end| file.ends_with(end)))
    }

    /// The nearest folder at or above that of a file for which `is_it` holds, else the root; each without a slash at its end.
    pub(super) fn above(&self, file: &str, is_it: impl Fn(&str) -> bool) -> String {
        let mut folder = split(file).0;
        while !folder.is_empty() && !is_it(folder) {
            folder = split(folder).0;
        }
        folder.to_owned()
    }
}

/// The folder and the name of a path; the folder of one without a slash is empty.
pub(super) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// `path` as seen from a folder that it lies in.
pub(super) fn inside<'p>(path: &'p str, folder: &str) -> &'p str {
    path.strip_prefix(folder).map_or(path, |rest| rest.trim_start_matches('/'))
}

/// A file in a folder, which may be the root.
pub(super) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// A suite to offer, with what showed it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Offer {
    pub title: &'static str,
    /// The file that shows it.
    pub place: String,
    /// What the suite is named after.
    pub name: String,
    /// Relative to the root, which is empty.
    pub folder: String,
    pub build: Vec<String>,
    pub command: Vec<String>,
    pub format: &'static str,
    /// A file that the command writes, relative to the folder; standard output where absent.
    pub output: Option<String>,
    /// The sections of CUDA kernels, below `SUITE`; without a command then.
    pub kernel: String,
    /// What git should ignore, relative to the folder.
    pub ignored: Vec<String>,
}

/// Lines of `sprag.toml` that `sprag init` writes at most.
const MOST_LINES: usize = 40;

/// `sprag.toml` with as many first suites as keep it short, and their number. `has_records` where a branch of code has records.
pub(super) fn configuration(project: &str, offers: &[Offer], has_records: bool) -> (String, usize) {
    let mut text = format!(
        "# What Sprag measures here, and how. `sprag schema config-1` lists all keys.\n[project]\nname = {}\n",
        quoted(project)
    );
    let end = match has_records {
        true => "\n# Records stay in `history/`, on the branch of the code.\n[history]\n",
        false => {
            "\n# Records go to a branch of their own; `sprag history sync` shares it.\n[history]\nref = \"sprag-history\"\n"
        }
    };
    let mut names: Vec<String> = Vec::new();
    for one in offers {
        let name = one.suite_name(&names);
        let suite = one.section(&name);
        if (text.lines().count() + suite.lines().count() + end.lines().count()) > MOST_LINES {
            break;
        }
        text.push_str(&suite);
        names.push(name);
    }
    (text + end, names.len())
}

impl Offer {
    /// With the folder, where there is one, and distinct from the others.
    pub(super) fn suite_name(&self, others: &[String]) -> String {
        let folder = split(&self.folder).1;
        let wanted = if folder.is_empty() { self.name.clone() } else { format!("{folder}-{}", self.name) };
        let word = word::suite(&wanted, &|_| false).replace('.', "-");
        let word = word.chars().take(MOST_NAME).collect::<String>();
        let numbered = (2..).map(|number| format!("{word}-{number}"));
        let mut names = std::iter::once(word.clone()).chain(numbered);
        names.find(|name| !others.contains(name)).unwrap_or_default()
    }

    /// Relative to the root, each at its start.
    pub(super) fn ignored_paths(&self) -> Vec<String> {
        self.ignored.iter().map(|path| format!("/{}", join(&self.folder, path))).collect()
    }

    pub(super) fn section(&self, name: &str) -> String {
        let list = |words: &[String]| words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(", ");
        let kind = if self.kernel.is_empty() { "command" } else { "cuda" };
        let mut text = format!("\n# {}: {}\n[suites.{name}]\nkind = \"{kind}\"\n", self.title, one_line(&self.place));
        if !self.kernel.is_empty() {
            return text + &self.kernel.replace("SUITE", name);
        }
        let folder = Some(&self.folder).filter(|folder| !folder.is_empty());
        text.extend(folder.map(|folder| format!("cwd = {}\n", quoted(folder))));
        if !self.build.is_empty() {
            text.push_str(&format!("build = [{}]\n", list(&self.build)));
        }
        text.push_str(&format!("command = [{}]\nformat = \"{}\"\n", list(&self.command), self.format));
        text.extend(self.output.iter().map(|output| format!("output = {}\n", quoted(output))));
        text
    }
}

/// Room for a number behind it.
const MOST_NAME: usize = 45;

/// JSON text is TOML text, except for one character.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

pub(super) fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// What was found, in words.
pub(super) fn describe(one: &Offer) -> String {
    format!("{}: {}", one.title, one_line(&one.place))
}
