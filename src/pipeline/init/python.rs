//! Benchmarks of Python projects: pytest-benchmark, pyperf, asv, and `sprag.torch_bench`.

use std::collections::BTreeMap;
use std::path::Path;

use super::tree::{Offer, Tree, inside, join, split, words};

/// Files that make their folder a project.
const PROJECT_FILES: [&str; 5] = ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile"];

const RESULTS: &str = "pytest-benchmark.json";

/// More test files are left to pytest to find.
const MOST_NAMED: usize = 4;

pub(super) fn pytest(tree: &Tree<'_>) -> Vec<Offer> {
    let mut projects: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for file in tree.ending(&[".py"]).filter(|file| uses_fixture(&tree.text(file))) {
        projects.entry(project(tree, file)).or_default().push(file);
    }
    let offer = |(folder, files): (String, Vec<&str>)| {
        let mut command =
            words(&format!("{} -m pytest -q --benchmark-only --benchmark-json={RESULTS}", python(tree, &folder)));
        if files.len() <= MOST_NAMED {
            command.extend(files.iter().map(|file| inside(file, &folder).to_owned()));
        }
        Offer {
            title: "pytest-benchmark",
            place: files[0].to_owned(),
            name: "pytest".to_owned(),
            command,
            format: "pytest-benchmark",
            output: Some(RESULTS.to_owned()),
            ignored: vec![RESULTS.to_owned()],
            folder,
            ..Offer::default()
        }
    };
    projects.into_iter().map(offer).collect()
}

/// Whether a test takes the fixture `benchmark`.
fn uses_fixture(text: &str) -> bool {
    let is_fixture = |word: &str| word.split(':').next().is_some_and(|word| word.trim() == "benchmark");
    text.split("def test").skip(1).any(|rest| {
        let list = rest.split_once('(').map_or("", |(_, list)| list);
        let end = ["):", ") ->"].iter().filter_map(|end| list.find(end)).min().unwrap_or(0);
        list[..end].split([',', '(', ')']).any(is_fixture)
    })
}

pub(super) fn pyperf(tree: &Tree<'_>) -> Vec<Offer> {
    scripts(tree, "pyperf.Runner(", "pyperf", "pyperf", &["--quiet", "--pipe", "1"])
}

pub(super) fn torch(tree: &Tree<'_>) -> Vec<Offer> {
    scripts(tree, "sprag.torch_bench", "PyTorch and Triton", "custom", &[])
}

/// Each script that contains the text.
fn scripts(tree: &Tree<'_>, sign: &str, title: &'static str, format: &'static str, arguments: &[&str]) -> Vec<Offer> {
    let files = tree.ending(&[".py"]).filter(|file| tree.text(file).contains(sign));
    let offer = |file: &str| {
        let folder = project(tree, file);
        let program = [python(tree, &folder), inside(file, &folder)];
        Offer {
            title,
            place: file.to_owned(),
            name: split(file).1.trim_end_matches(".py").to_owned(),
            command: program.iter().chain(arguments).map(|&one| one.to_owned()).collect(),
            format,
            folder,
            ..Offer::default()
        }
    };
    files.map(offer).collect()
}

pub(super) fn asv(tree: &Tree<'_>) -> Vec<Offer> {
    let offer = |file: &str| {
        let folder = split(file).0.to_owned();
        let text = tree.text(file);
        // The file may hold comments, so it is not JSON.
        let lines = text.lines().map(str::trim_start).find_map(|line| line.strip_prefix("\"results_dir\""));
        let results = lines.and_then(|rest| rest.split('"').nth(1)).unwrap_or("results").trim_start_matches("./");
        let tracked = format!("{}/", join(&folder, results));
        let run = "asv run --python=same --set-commit-hash=$(git rev-parse HEAD)";
        Offer {
            title: "asv",
            place: file.to_owned(),
            name: "asv".to_owned(),
            build: words("asv machine --yes"),
            command: ["sh", "-c", run].map(str::to_owned).to_vec(),
            format: "asv",
            output: Some(results.to_owned()),
            // Who tracks results goes on to do so.
            kernel: String::new(),
            ignored: Some(results.to_owned())
                .filter(|_| !tree.files.iter().any(|file| file.starts_with(&tracked)))
                .into_iter()
                .collect(),
            folder,
        }
    };
    tree.named("asv.conf.json").map(offer).collect()
}

fn project(tree: &Tree<'_>, file: &str) -> String {
    tree.above(file, |folder| PROJECT_FILES.iter().any(|name| tree.has(&join(folder, name))))
}

/// How Python is started there.
fn python(tree: &Tree<'_>, folder: &str) -> &'static str {
    let locks =
        [("uv.lock", "uv run python"), ("poetry.lock", "poetry run python"), ("Pipfile.lock", "pipenv run python")];
    let lock = locks.iter().find(|(lock, _)| tree.has(&join(folder, lock)));
    lock.map_or("python3", |(_, command)| command)
}

/// A note where the project has a virtual environment of its own, and `python3` is another.
pub(super) fn without_environment(root: &Path, offer: &Offer, is_active: bool) -> Option<String> {
    let is_plain = offer.command.first().is_some_and(|program| program == "python3");
    let folder = root.join(&offer.folder);
    let name = [".venv", "venv"].into_iter().find(|name| folder.join(name).join("bin/python").exists())?;
    let place = join(&offer.folder, name);
    (is_plain && !is_active)
        .then(|| format!("`python3` is the one on PATH: activate `{place}` first if the benchmarks need it (`. {place}/bin/activate`)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fixture_is_recognised_among_arguments() {
        let check = |line: &str, expected: bool| assert_eq!(uses_fixture(line), expected, "{line}");
        check("def test_count(benchmark):", true);
        check("    def test_count(self, benchmark):", true);
        check("def test_count(text, benchmark: BenchmarkFixture) -> None:", true);
        check("def test_count(\n    text,\n    benchmark: Fixture[int],\n) -> None:", true);
        check("def test_benchmark(text):", false);
        check("def benchmark(test):", false);
        check("def test_count(my_benchmark):", false);
    }

    #[test]
    fn a_virtual_environment_that_is_not_active_is_named() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir_all(folder.path().join("p/.venv/bin")).expect("a folder");
        std::fs::write(folder.path().join("p/.venv/bin/python"), "").expect("a file");
        let note = |program: &str, place: &str| {
            let offer = Offer { command: vec![program.to_owned()], folder: place.to_owned(), ..Offer::default() };
            without_environment(folder.path(), &offer, false)
        };
        assert!(note("python3", "p").is_some_and(|note| note.contains("`. p/.venv/bin/activate`")));
        assert!(note("uv", "p").is_none() && note("python3", "").is_none());
    }
}
