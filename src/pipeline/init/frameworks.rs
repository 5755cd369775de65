//! The frameworks whose benchmarks `sprag init` finds, and how to write a benchmark where there is none.

use super::tree::{Offer, Tree, words};
use super::{cargo, cuda, native, others, python};
use crate::compare::timed;
use crate::text;

struct Framework {
    name: &'static str,
    /// By what it is found.
    signs: &'static str,
    format: &'static str,
}

const FRAMEWORKS: [Framework; 17] = [
    framework("Criterion", "a bench of Cargo with `criterion_group!`", "criterion"),
    framework("divan", "a bench of Cargo that uses `divan`", "divan"),
    framework("gungraun", "a bench of Cargo that uses `gungraun` or `iai_callgrind`", "gungraun"),
    framework("cargo bench", "a bench of Cargo with `#[bench]` functions", "libtest"),
    framework("pytest-benchmark", "a test that takes the fixture `benchmark`", "pytest-benchmark"),
    framework("pyperf", "a script with `pyperf.Runner()`", "pyperf"),
    framework("PyTorch and Triton", "a script that imports `sprag.torch_bench`", "custom"),
    framework("asv", "`asv.conf.json`", "asv"),
    framework("Google Benchmark", "a CMake target that links `benchmark::`; or a lone source", "google-benchmark"),
    framework("nvbench", "a CMake target that links `nvbench::`", "nvbench"),
    framework("Catch2", "a CMake target that links `Catch2::`, with `BENCHMARK(`", "catch2"),
    framework("Go", "`go.mod`, and `func Benchmark` in a `_test.go`", "go"),
    framework("JMH", "`jmh-core` in `pom.xml`, or `me.champeau.jmh` in a Gradle build", "jmh"),
    framework("BenchmarkTools", "`benchmarks.jl` with `SUITE`", "benchmark-tools"),
    framework("hyperfine", "a `.sh` script that calls `hyperfine --export-json FILE`", "hyperfine"),
    framework("CUDA", "a `.cu` source with `extern \"C\" __global__`, where nothing else is found", "none"),
    framework("make", "`Makefile` with a target `bench` or `benchmark`", "custom"),
];

const fn framework(name: &'static str, signs: &'static str, format: &'static str) -> Framework {
    Framework { name, signs, format }
}

pub(super) fn find(tree: &Tree<'_>) -> Vec<Offer> {
    let finders: [fn(&Tree<'_>) -> Vec<Offer>; 12] = [
        cargo::find,
        python::pytest,
        python::pyperf,
        python::torch,
        python::asv,
        native::google_benchmark,
        native::nvbench,
        native::catch2,
        others::go,
        others::jmh,
        others::benchmark_tools,
        others::hyperfine,
    ];
    let offers: Vec<Offer> = finders.iter().flat_map(|find| find(tree)).collect();
    if !offers.is_empty() {
        return offers;
    }
    // It probably calls one of the others.
    let made = native::make(tree);
    if made.is_empty() { cuda::find(tree) } else { made }
}

/// A note on the first target of `make` that is not a suite, because it probably runs what was found.
pub(super) fn also_made(tree: &Tree<'_>, offers: &[Offer]) -> Option<String> {
    let is_other = offers.iter().all(|one| one.title != "make" && one.format != "time");
    let made = if is_other { native::make(tree) } else { Vec::new() };
    made.into_iter().next().map(|one| {
        let (place, target) = (text::printable(&one.place), one.name);
        format!("the target `{target}` of `{place}` is not a suite: it may run the benchmarks that were found; `command = [\"make\", \"-s\", \"{target}\"]` makes it one")
    })
}

/// How a program is built from a lone source of its name: its end and the command, before both names.
const COMPILERS: [(&str, &str); 6] = [
    ("c", "cc -O2 -o"),
    ("cc", "c++ -O2 -o"),
    ("cpp", "c++ -O2 -o"),
    ("cxx", "c++ -O2 -o"),
    ("rs", "rustc -O -o"),
    ("go", "go build -o"),
];

/// A command that is timed as a whole, and built as the project is, or from the source of its name.
pub(super) fn timed(tree: &Tree<'_>, command: &[String]) -> Offer {
    let builds = [("Makefile", "make"), ("Cargo.toml", "cargo build --release")];
    let program = command.first().filter(|program| program.contains('/')).map_or("", String::as_str);
    let program = program.strip_prefix("./").filter(|inside| !inside.starts_with('.')).unwrap_or(program);
    let program = if program.starts_with(['/', '.']) { "" } else { program };
    let lone = COMPILERS.iter().find(|(end, _)| !program.is_empty() && tree.has(&format!("{program}.{end}")));
    let lone = lone.map(|(end, compiler)| format!("{compiler} {program} {program}.{end}"));
    let is_made = tree.has(builds[0].0);
    let build = match command {
        // Else the first process would compile it.
        [cargo, ..] if cargo == "cargo" && command.iter().any(|word| word == "bench") => {
            // Also `cargo +nightly bench`.
            let own = command.iter().take_while(|word| *word != "--");
            let no_run = |word: &String| if word == "bench" { words("bench --no-run") } else { vec![word.clone()] };
            own.flat_map(no_run).collect()
        }
        _ => {
            let build = builds.into_iter().find(|(file, _)| tree.has(file)).map(|(_, build)| build);
            words(build.or(lone.as_deref()).unwrap_or_default())
        }
    };
    Offer {
        title: "timed as a whole",
        place: command.join(" "),
        name: "program".to_owned(),
        build,
        command: timed::command(command),
        format: "time",
        // A program that git keeps would be measured instead of the one that is built.
        ignored: Some(program.to_owned())
            .filter(|_| lone.is_some() || is_made && !program.is_empty() && !tree.text(program).starts_with("#!"))
            .into_iter()
            .collect(),
        ..Offer::default()
    }
}

/// What can be found, as a table.
pub(super) fn list() -> String {
    let row = |one: &Framework| vec![one.name.to_owned(), one.signs.to_owned(), one.format.to_owned()];
    text::table(["framework", "found by", "format"], FRAMEWORKS.iter().map(row), &[])
}

/// The languages of a project without benchmarks: the ends of their files, and how to write a benchmark.
const LANGUAGES: [(&str, &[&str], &str); 8] = [
    (
        "Rust",
        &[".rs"],
        "`cargo add --dev criterion`, and a bench in `benches/`; one of your own: `sprag init -- cargo bench --bench NAME`",
    ),
    ("Python", &[".py"], "`pip install pytest-benchmark`, and a test such as `def test_f(benchmark): benchmark(f)`"),
    ("Go", &[".go"], "a function `BenchmarkF(b *testing.B)` in a `_test.go`"),
    (
        "CUDA",
        &[".cu"],
        "a kernel that is `extern \"C\" __global__ void`, or nvbench with a CMake target that links `nvbench::main`",
    ),
    ("C or C++", &[".c", ".cc", ".cpp", ".cxx"], "Google Benchmark: a source with `BENCHMARK(F); BENCHMARK_MAIN();`"),
    ("Java", &[".java", ".kt"], "JMH: a method with `@Benchmark`"),
    ("JavaScript", &[".js", ".ts", ".mjs"], "`sprag init -- node bench.js` times a script as a whole"),
    ("Julia", &[".jl"], "BenchmarkTools: `benchmark/benchmarks.jl` that defines `SUITE`"),
];

/// How to write a benchmark in each language of the project; in any where none is known.
pub(super) fn how_to_write(tree: &Tree<'_>) -> Vec<String> {
    let is_there = |(_, ends, _): &&(&str, &[&str], &str)| tree.ending(ends).next().is_some();
    let sentence = |(language, _, how): &(&str, &[&str], &str)| format!("{language}: {how}");
    let any =
        "any language: a program that prints JSON as in `sprag schema metrics-1`, run by a `Makefile` target `bench`";
    LANGUAGES.iter().filter(is_there).map(sentence).chain([any.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::super::tree::configuration;
    use super::*;
    use crate::config::Config;
    use sprag_formats::OutputFormat;

    fn project(files: &[(&str, impl AsRef<str>)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder");
            fs::write(path, text.as_ref()).expect("a file");
        }
        folder
    }

    /// The suites of `sprag.toml`, as `name: folder | build | command | format > output`.
    #[track_caller]
    fn check(files: &[(&str, String)], expected: &[&str]) {
        let folder = project(files);
        let offers = find(&Tree::read(folder.path()));
        let (text, suites) = configuration("p", &offers, false);
        assert!(text.lines().count() <= 40, "{text}");
        let config = Config::parse(&text, Path::new("sprag.toml")).expect("it is a configuration");
        assert_eq!(config.suites.len(), suites);
        let shown = |(name, suite): (&String, &crate::config::Suite)| {
            let folder = suite.cwd.as_ref().map(|cwd| format!("{}: ", cwd.display())).unwrap_or_default();
            let output = suite.output.as_ref().map(|output| format!(" > {}", output.display())).unwrap_or_default();
            let (build, command) = (suite.build.join(" "), suite.command.join(" "));
            format!("{name}: {folder}{build} | {command} | {}{output}", suite.format().name())
        };
        assert_eq!(config.suites.iter().map(shown).collect::<Vec<_>>(), expected);
    }

    const PACKAGE: &str = "[package]\nname = \"sum\"\nversion = \"0.1.0\"\n";

    /// Below `== ` the files of a project, each after `-- `, and after `=> ` its suites.
    #[test]
    fn frameworks_are_detected_by_their_files() {
        for case in include_str!("frameworks.txt").split("== ").skip(1) {
            let (mut files, mut expected): (Vec<(&str, String)>, Vec<&str>) = Default::default();
            for line in case.lines().skip(1) {
                match (line.strip_prefix("-- "), line.strip_prefix("=> ")) {
                    (Some(path), _) => files.push((path, String::new())),
                    (_, Some(suite)) => expected.push(suite),
                    _ => files.last_mut().expect("a file").1.extend([line, "\n"]),
                }
            }
            check(&files, &expected);
        }
    }

    #[test]
    fn a_target_of_make_next_to_a_framework_is_named() {
        let notes = |files: &[(&str, &str)]| {
            let folder = project(files);
            let tree = Tree::read(folder.path());
            also_made(&tree, &find(&tree))
        };
        let make = ("Makefile", "bench:\n\t./x\n");
        let pyperf = ("bench.py", "runner = pyperf.Runner()");
        let note = notes(&[make, pyperf]).expect("a note");
        assert!(note.contains("the target `bench` of `Makefile`"), "{note}");
        assert!(notes(&[make]).is_none() && notes(&[pyperf]).is_none());
    }

    #[test]
    fn a_command_is_built_before_it_is_timed() {
        let folder = project(&[("Cargo.toml", PACKAGE)]);
        let check = |command: &str, expected: &str| {
            let offer = timed(&Tree::read(folder.path()), &words(command));
            assert_eq!((offer.build.join(" "), offer.command.join(" ")), (expected.to_owned(), command.to_owned()));
        };
        check("./target/release/sum 5", "cargo build --release");
        check("cargo bench --bench mine -- x", "cargo bench --no-run --bench mine");
        check("cargo +nightly bench", "cargo +nightly bench --no-run");
    }

    #[test]
    fn more_suites_than_fit_are_left_to_the_user() {
        let files: Vec<(String, String)> = (0..9)
            .flat_map(|number| {
                let package = PACKAGE.replace("sum", &format!("p{number}"));
                [
                    (format!("p{number}/Cargo.toml"), package),
                    (format!("p{number}/benches/b.rs"), "criterion_group!".to_owned()),
                ]
            })
            .collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let folder = project(&files);
        let offers = find(&Tree::read(folder.path()));
        let (text, suites) = configuration("p\u{7f}\"", &offers, false);
        assert!(offers.len() == 9 && (3..9).contains(&suites) && text.lines().count() <= 40, "{suites}: {text}");
    }

    #[test]
    fn every_framework_has_a_format_and_every_language_its_advice() {
        for framework in FRAMEWORKS {
            let has_format = OutputFormat::named(framework.format).is_some() || framework.name == "CUDA";
            assert!(has_format, "{}", framework.format);
        }
        assert!(FRAMEWORKS.iter().all(|framework| list().contains(framework.name)));
        let folder = project(&[("a.rs", ""), ("b/c.py", "")]);
        let advice = how_to_write(&Tree::read(folder.path()));
        assert_eq!(
            advice.iter().filter_map(|one| one.split(':').next()).collect::<Vec<_>>(),
            ["Rust", "Python", "any language"]
        );
    }
}
