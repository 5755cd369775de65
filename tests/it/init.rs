//! `sprag init`: what it writes, and what it leaves alone.

use std::fs;

use crate::sandbox::{self, Ended, Sandbox, assert_contains};
use crate::workflow_files::Workflows;
use crate::workflow_rules::complaints;

/// All that `--ci github-full` writes, and `sprag.toml`.
const FILES: [&str; 15] = [
    ".github/CODEOWNERS",
    ".github/actionlint.yaml",
    ".github/actions/sprag/action.yml",
    ".github/workflows/ci.yml",
    ".github/workflows/perf.yml",
    ".github/workflows/perf_bisect.yml",
    ".github/workflows/perf_comment.yml",
    ".github/workflows/perf_gpu.yml",
    ".github/workflows/perf_trend_weekly.yml",
    ".github/workflows/release.yml",
    ".gitignore",
    "baselines/README.md",
    "release/checklist.toml",
    "release/releases.toml",
    "sprag.toml",
];

const DIGEST: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// A repository with this configuration.
fn repository() -> Sandbox {
    let sandbox = empty();
    sandbox.write("sprag.toml", "[suites.cpu]\nkind = \"cpu\"\n[suites.gpu]\nkind = \"gpu\"\n");
    sandbox
}

fn empty() -> Sandbox {
    let sandbox = Sandbox::empty();
    sandbox.git(&["init", "-q"]);
    sandbox
}

/// `init` with all workflows.
fn init(sandbox: &Sandbox, more: &[&str]) -> Ended {
    sandbox.sprag(&[&["init", "--ci", "github-full"], more].concat())
}

/// A script that does what hyperfine would do, and is found by its comment.
const SCRIPT: &str = "#!/bin/sh\n# hyperfine --export-json times.json 'sort words'\n\
                      echo '{\"results\": [{\"command\": \"sort words\", \"mean\": 2.0, \"times\": [1.0, 2.0, 3.0]}]}' > times.json\n";

/// The files of a project except git's, in order.
fn files(sandbox: &Sandbox) -> Vec<String> {
    let files = sandbox::files(&sandbox.project).into_keys();
    files.filter(|path| !path.starts_with(".git/")).collect()
}

#[test]
fn benchmarks_are_detected_configured_and_tried() {
    let sandbox = empty();
    sandbox.write("bench/times.sh", SCRIPT);
    let dry = sandbox.ends(0, &["init", "--dry-run"]);
    dry.prints(&["found        hyperfine: bench/times.sh\n", "would write  sprag.toml "]);
    assert_eq!(files(&sandbox), ["bench/times.sh"]);
    sandbox.ends(0, &["init"]).prints(&[
        "found        hyperfine: bench/times.sh\n",
        "wrote        sprag.toml ",
        "measured     times: 1 benchmark\n",
        "\n  sprag weekly ",
        "\n  sprag baseline emit ",
        "\n  sprag check ",
    ]);
    assert_eq!(files(&sandbox), [".gitignore", "bench/times.sh", "sprag.toml", "times.json"]);
    assert_eq!(sandbox.read(".gitignore"), "/_site\n/times.json\n");
    // What it has written works as it is, and says what the project is called.
    sandbox.commit("Set up");
    sandbox.ends(0, &["weekly", "--quick"]);
    assert_contains(&sandbox.read("_site/index.html"), &["project"]);
    assert_eq!((sandbox.git(&["status", "--porcelain"]), sandbox.records("sprag-history").len()), (String::new(), 1));
    let second = sandbox.ends(0, &["init"]);
    assert!(second.out.starts_with("kept         sprag.toml\nis there     .gitignore\n"), "{}", second.out);
}

#[cfg(unix)]
#[test]
fn a_plain_program_is_built_and_timed() {
    let sandbox = empty();
    sandbox.write("Makefile", "program: program.sh\n\tcp program.sh program && chmod +x program\n");
    sandbox.write("program.sh", "#!/bin/sh\nsleep 0.02\n");
    let lost = sandbox.ends(2, &["init"]);
    lost.says(&["no benchmark was found", "`sprag init -- ./PROGRAM ARGUMENTS`"]);
    sandbox.ends(0, &["init", "--", "./program"]).prints(&["measured     program: 1 benchmark\n"]);
    assert_contains(&sandbox.read("sprag.toml"), &["build = [\"make\"]", "format = \"time\""]);
    assert_contains(&sandbox.read(".gitignore"), &["/program\n"]);
    sandbox.commit("Set up");
    sandbox.ends(0, &["weekly"]);
    sandbox.ends(0, &["baseline", "emit"]);
    sandbox.ends(0, &["check"]).prints(&["unchanged", "program/run @default"]);
    // Two builds of it take turns.
    sandbox.commit_with("program.sh", "#!/bin/sh\nsleep 0.04\n", "Make it slower");
    let compared =
        sandbox.sprag(&["compare", "HEAD~1", "HEAD", "--measure", "--quick"]).prints(&["program/run @default"]);
    assert!([1, 3].contains(&compared.code), "{}", compared.err);
    sandbox.ends(2, &["init", "--", "./program"]).says(&["`sprag.toml` is there", "[suites.program-2]"]);
}

#[cfg(unix)]
#[test]
fn what_newcomers_have_is_taken_as_it_is() {
    // A program of a lone source is built, and git does not keep what was built.
    let sandbox = empty();
    sandbox.write("p.c", "int main(void) { for (volatile int i = 0; i < 1000000; i++); return 0; }\n");
    sandbox.ends(2, &["init", "--", "slep", "1"]).says(&["there is no program `slep`"]);
    sandbox.ends(2, &["init", "--", "./q"]).says(&["there is no program `./q`"]);
    assert_eq!(files(&sandbox), ["p.c"]);
    sandbox.ends(0, &["init", "--", "./p"]).prints(&["measured     program: 1 benchmark\n"]);
    assert_contains(&sandbox.read("sprag.toml"), &[r#"build = ["cc", "-O2", "-o", "p", "p.c"]"#, "sprag-history"]);
    assert_eq!(sandbox.read(".gitignore"), "/_site\n/p\n");
    // A target that prints no report is timed as a whole.
    let sandbox = empty();
    sandbox.write("Makefile", "bench:\n\techo 12 ops\n");
    let made = sandbox.ends(0, &["init"]);
    made.prints(&["failed       bench: ", "built first and timed as a whole", "measured     bench: 1 benchmark\n"]);
    assert_contains(&sandbox.read("sprag.toml"), &[r#"build = ["make", "-s", "bench"]"#, "format = \"time\""]);
    // A history on the branch of the code goes on there.
    let sandbox = empty();
    sandbox.write("history/v1/.gitkeep", "");
    sandbox.commit_with("p.sh", "", "Begin");
    sandbox.ends(0, &["init", "--no-verify", "--", "sh", "p.sh"]);
    assert!(!sandbox.read("sprag.toml").contains("ref ="), "{}", sandbox.read("sprag.toml"));
    sandbox.ends(0, &["run", "--record"]).says(&["on main"]);
}

/// A file of a framework, its text, a tool, a script for it or for what it builds, a sample of its output, words, and slower ones.
#[cfg(unix)]
const FRAMEWORKS: &str = r#"
go.mod|module m|go|cat sample|go/bench.txt|1840|9840
CMakeLists.txt|target_link_libraries(b Catch2::main)|cmake|[ "$3" = '[!benchmark],~[.]' ] && cat sample|catch2/catch2.xml|mean value="|mean value="9
CMakeLists.txt|target_link_libraries(b nvbench::main)|cmake|cp sample nvbench.json|nvbench/nvbench.json|2.1196587|9.1196587
pom.xml|jmh-core|java|cp sample jmh.json|jmh/jmh.json|1.3|9.3
benchmarks.jl|SUITE|julia|cp sample benchmark-tools.json|benchmark-tools/benchmark-tools.json|1326.173,1361.361,1375|3326.173,3361.361,3375
"#;

#[cfg(unix)]
#[test]
fn three_commands_lead_from_a_framework_to_a_gate() {
    for row in FRAMEWORKS.trim().lines() {
        let [file, text, tool, script, sample, was, is] = row.split('|').collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/golden/formats");
        let output = fs::read_to_string(format!("{folder}/{sample}")).expect("the sample is there");
        let sandbox = empty();
        sandbox.write(file, text);
        sandbox.write("a_test.go", "package m\nfunc BenchmarkA(b *testing.B) {}\n");
        sandbox.write("b.cpp", "TEST_CASE(\"sums\", \"[!benchmark]\") { BENCHMARK(\"s\") {}; }\n");
        sandbox.write("sample", &output);
        sandbox.tool("mvn", "#!/bin/sh\n");
        let build = format!("mkdir -p build; cat > build/b <<'E'\n#!/bin/sh\n{script}\nE\nchmod +x build/b");
        sandbox.tool(tool, &format!("#!/bin/sh\n{}\n", if tool == "cmake" { &build } else { script }));
        let path = format!("{}:{}", sandbox.tools().display(), std::env::var("PATH").unwrap_or_default());
        let sprag = |code: i32, arguments: &[&str]| sandbox.sprag_with(&[("PATH", &path)], arguments).expect(code);
        sprag(0, &["init"]).prints(&["\nmeasured     "]);
        sandbox.commit("Set up");
        sprag(0, &["weekly"]);
        assert_contains(&sandbox.read("_site/index.html"), &["</html>"]);
        sprag(3, &["check"]).prints(&["`sprag baseline emit` takes a baseline"]);
        sprag(0, &["baseline", "emit"]);
        sprag(0, &["check"]).prints(&["check: pass"]);
        sandbox.commit_with("sample", &output.replace(was, is), "Make it slower");
        sprag(0, &["run", "--record"]);
        sprag(1, &["check"]).prints(&["regressed"]);
    }
}

#[test]
fn a_suite_that_does_not_work_is_reported_unless_nobody_asks() {
    let sandbox = empty();
    sandbox.write("times.sh", &SCRIPT.replace("echo '{", "echo '["));
    let ended = sandbox.ends(1, &["init"]);
    ended.prints(&[
        "failed       times: the command gave no result: times.json is not JSON",
        "A suite does not work yet",
    ]);
    assert!(sandbox.project.join("sprag.toml").exists());
    fs::remove_file(sandbox.project.join("sprag.toml")).unwrap();
    let ended = sandbox.ends(0, &["init", "--no-verify"]);
    assert!(!ended.out.contains("times:"), "{}", ended.out);
}

#[test]
fn without_a_benchmark_it_says_how_to_write_one_and_nothing_is_measured() {
    let sandbox = empty();
    sandbox.write("src/main.rs", "fn main() {}\n");
    sandbox.commit_with("tools/main.go", "package main\n", "Begin");
    let words = ["no benchmark was found", "Rust: `cargo add --dev criterion`", "Go: a function", "any language: "];
    sandbox.ends(2, &["init"]).says(&words);
    assert_eq!(files(&sandbox), ["src/main.rs", "tools/main.go"]);
    for command in [&["run", "--record"][..], &["run"], &["weekly"], &["check"]] {
        let ended = sandbox.ends(2, command);
        ended.says(&[
            "`sprag.toml` is missing or has no suite",
            "hint: `sprag init` finds the benchmarks",
            "`--suite cpu`",
        ]);
    }
    assert_eq!(sandbox.git(&["log", "--format=%s"]), "Begin");
    Sandbox::empty().ends(0, &["init", "--list"]).prints(&["Criterion", "nvbench", "`asv.conf.json`"]);
    sandbox.ends(2, &["init", "--list", "--force"]);
}

#[test]
fn workflows_are_written_if_asked_for() {
    let sandbox = repository();
    sandbox.ends(0, &["init"]);
    assert_eq!(files(&sandbox), [".gitignore", "sprag.toml"]);
    sandbox.ends(2, &["init", "--download-from", "us/kernels"]).says(&["--ci"]);
    let few = sandbox.ends(0, &["init", "--ci", "github"]);
    few.prints(&["gates pull requests: base and head in turns\n", "`perf gate`", "docs/CI.md"]);
    let is_full = |file: &str| file.contains("gpu") || file.contains("actionlint") || file.contains("release");
    let expected: Vec<&str> = FILES.into_iter().filter(|file| !is_full(file)).collect();
    assert_eq!(files(&sandbox), expected);
    let dry = init(&sandbox, &["--dry-run"]).expect(0);
    let ended = init(&sandbox, &[]).expect(0);
    assert_eq!(files(&sandbox), FILES);
    for file in FILES.iter().filter(|file| is_full(file)) {
        assert_contains(&dry.out, &[&format!("would write  {file} ")]);
        assert_contains(&ended.out, &[&format!("wrote        {file} ")]);
    }
    sandbox.commit("Set up");
    let site = sandbox.ends(0, &["site", "--out", "_site"]);
    assert!(site.err.is_empty(), "{}", site.err);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn the_workflows_that_it_writes_keep_the_rules() {
    let sandbox = repository();
    sandbox.write(
        "sprag.toml",
        "[suites.own]\nkind = \"command\"\ncommand = [\"./bench\"]\n[suites.gpu]\nkind = \"gpu\"\n",
    );
    init(&sandbox, &["--download-from", "us/kernels", "--sha256", DIGEST]).expect(0);
    let theirs = Workflows::read(&sandbox.project);
    assert_eq!(complaints(&theirs), Vec::<String>::new());
    let broken = theirs.with("perf.yml", "if: always()\n    runs-on", "runs-on");
    assert!(!complaints(&broken).is_empty());
    let of = |file: &str, name: &str| theirs.workflow(file)["env"][name].as_str().expect("a text").to_owned();
    assert_eq!((of("perf.yml", "PERF_SUITES"), of("perf_gpu.yml", "GPU_SUITES")), ("own".to_owned(), "gpu".to_owned()));
    assert_eq!(of("perf_trend_weekly.yml", "CPU_SUITES"), "own");
    let checklist = sandbox.read("release/checklist.toml");
    assert!(checklist.contains("\nsuite = \"own\"\n") && !checklist.contains("gpu"), "{checklist}");
    let action = sandbox.read(".github/actions/sprag/action.yml");
    assert_contains(&action, &["    default: \"us/kernels\"\n", &format!("    default: \"{DIGEST}\"\n")]);
    for file in FILES.iter().filter(|file| file.contains("workflows/")) {
        let text = sandbox.read(file);
        assert!(!text.contains("cargo") && !text.contains("of sprag alone"), "{file}: {text}");
    }
}

#[test]
fn what_is_there_is_not_replaced_unasked() {
    let sandbox = repository();
    sandbox.write(".github/workflows/ci.yml", "mine\n");
    sandbox.write("sprag.toml", "[suites.cpu]\nkind = \"cpu\"\n");
    sandbox.write("release/releases.toml", "schema_version = 1\n# Mine.\n");
    let before = files(&sandbox);
    let words =
        ["nothing was written: `.github/workflows/ci.yml` is there and holds something else", "`--keep`", "`--force`"];
    init(&sandbox, &[]).expect(2).says(&words);
    init(&sandbox, &["--dry-run"]).expect(2).says(&words);
    assert_eq!((files(&sandbox), sandbox.read(".github/workflows/ci.yml")), (before, "mine\n".to_owned()));
    sandbox.ends(2, &["init", "--keep", "--force"]);

    let keeping = init(&sandbox, &["--keep"]).expect(0);
    assert_contains(&keeping.out, &["kept         .github/workflows/ci.yml\n", "kept         sprag.toml\n"]);
    assert_eq!(
        (files(&sandbox), sandbox.read(".github/workflows/ci.yml")),
        (FILES.map(str::to_owned).to_vec(), "mine\n".to_owned())
    );
    init(&sandbox, &["--force"]).expect(0).prints(&["replaced     .github/workflows/ci.yml "]);
    assert_eq!(sandbox.read("sprag.toml"), "[suites.cpu]\nkind = \"cpu\"\n");
    assert_eq!(sandbox.read("release/releases.toml"), "schema_version = 1\n# Mine.\n");
    // A second time there is nothing to do.
    let second = init(&sandbox, &[]).expect(0);
    assert_eq!(second.out.lines().filter(|line| line.starts_with("is there     ")).count(), 12, "{}", second.out);
}

#[test]
fn what_a_project_has_set_outlives_force() {
    let sandbox = repository();
    let suites = "[suites.own]\nkind = \"command\"\ncommand = [\"./bench\"]\n[suites.gone]\nkind = \"cpu\"\n";
    sandbox.write("sprag.toml", suites);
    init(&sandbox, &["--download-from", "us/kernels", "--sha256", DIGEST]).expect(0);
    let action = ".github/actions/sprag/action.yml";
    let pinned = sandbox.read(action);
    // Without a word about the release it is the one that is there, and there is nothing to do.
    let second = init(&sandbox, &[]).expect(0);
    assert_eq!(second.out.lines().filter(|line| line.starts_with("is there     ")).count(), 13, "{}", second.out);
    let perf = ".github/workflows/perf.yml";
    sandbox.edit(perf, "PERF_EFFORT: \"\"", "PERF_EFFORT: --quick");
    sandbox.edit(perf, "    :(exclude)docs\n", "    :(exclude)papers\n");
    sandbox.edit(perf, "# The gate of", "# A gate of");
    sandbox.edit(action, "# Added to", "# Put on");
    let weekly = ".github/workflows/perf_trend_weekly.yml";
    sandbox.edit(weekly, "CPU_SUITES: \"gone own\"", "CPU_SUITES: \"gone\"");
    sandbox.write(
        "sprag.toml",
        "[suites.own]\nkind = \"command\"\ncommand = [\"./bench\"]\n[suites.null]\nkind = \"cpu\"\n",
    );
    let forced = init(&sandbox, &["--force"]).expect(0);
    for line in [
        "base and head in turns\nkeeps        PERF_EFFORT, PERF_PATHS of it, as set there\n",
        "downloads and checks Sprag\nkeeps        repository, sha256 of it, as set there\n",
        "replaced     .github/workflows/perf.yml ",
        "replaced     .github/actions/sprag/action.yml ",
    ] {
        assert_contains(&forced.out, &[line]);
    }
    assert_eq!(sandbox.read(action), pinned);
    let text = sandbox.read(perf);
    assert!(
        text.starts_with("# The gate of")
            && text.contains("\n    :(exclude)papers\n")
            && !text.contains("exclude)docs")
    );
    let theirs = Workflows::read(&sandbox.project);
    let of = |file: &str, name: &str| theirs.workflow(file)["env"][name].as_str().expect("a text").to_owned();
    assert_eq!(
        (of("perf.yml", "PERF_EFFORT"), of("perf.yml", "PERF_SUITES")),
        ("--quick".to_owned(), "own".to_owned())
    );
    // What was taken out on purpose stays out, what the configuration has no more goes, and what is new comes.
    assert_eq!(of("perf_trend_weekly.yml", "CPU_SUITES"), "null");
    let added =
        "adds         null to CPU_SUITES, which no workflow named: remove it again if you left it out on purpose\n";
    assert_contains(&forced.out, &[&format!("CPU_SUITES of it, as set there\n{added}")]);
    // A suite that was taken out of every list looks like a new one: it comes back, and that is reported.
    let same = init(&sandbox, &["--force"]).expect(0);
    assert!(!same.out.contains("adds "), "{}", same.out);
    sandbox.edit(weekly, "CPU_SUITES: \"null\"", "CPU_SUITES: \"\"");
    init(&sandbox, &["--force"]).expect(0).prints(&[added]);
    assert_eq!(complaints(&theirs), Vec::<String>::new());

    // A digest goes with its repository and its version.
    sandbox.edit(action, &format!("default: v{}", env!("CARGO_PKG_VERSION")), "default: v0.0.9");
    init(&sandbox, &["--force"]).expect(0).prints(&["The workflows use v0.0.9: "]);
    assert_contains(&sandbox.read(action), &["    default: \"v0.0.9\"\n", DIGEST]);
    let digest = "f".repeat(64);
    init(&sandbox, &["--force", "--sha256", &digest]).expect(0);
    assert_eq!(sandbox.read(action), pinned.replace(DIGEST, &digest));
    init(&sandbox, &["--force", "--download-from", "them/fork"]).expect(0);
    let text = sandbox.read(action);
    assert!(
        text.contains("    default: \"them/fork\"\n") && !text.contains(&digest) && !text.contains(DIGEST),
        "{text}"
    );
    // What could act in a script or an address is not a release.
    sandbox.edit(action, "default: \"them/fork\"", "default: \"them/$(id)\"");
    init(&sandbox, &["--force"]).expect(0);
    assert!(!sandbox.read(action).contains("$(id)"));
}

#[test]
fn ends_of_lines_are_no_difference() {
    let sandbox = repository();
    init(&sandbox, &[]).expect(0);
    for file in FILES.iter().filter(|file| **file != ".gitignore") {
        sandbox.write(file, &sandbox.read(file).replace('\n', "\r\n"));
    }
    let second = init(&sandbox, &[]).expect(0);
    assert_eq!(second.out.lines().filter(|line| line.starts_with("is there     ")).count(), 13, "{}", second.out);
    assert_contains(&second.out, &["kept         sprag.toml\n"]);
    assert_contains(&sandbox.read(".github/workflows/ci.yml"), &["\r\n"]);
}

#[test]
fn lines_that_are_ignored_are_added_once() {
    let check = |before: &str, after: &str, word: &str| {
        let sandbox = repository();
        sandbox.write(".gitignore", before);
        sandbox.ends(0, &["init"]).prints(&[&format!("{word:<12} .gitignore\n")]);
        assert_eq!(sandbox.read(".gitignore"), after);
    };
    check("/target\n", "/target\n/_site\n", "added to");
    check("/target", "/target\n/_site\n", "added to");
    check("_site/\n", "_site/\n", "is there");
    check("/_site\n", "/_site\n", "is there");
}

#[test]
fn where_it_cannot_work_it_says_so_and_writes_nothing() {
    let outside = Sandbox::empty();
    outside.ends(2, &["init"]).says(&["hint: "]);
    assert_eq!(files(&outside), Vec::<String>::new());

    let bare = Sandbox::empty();
    bare.git(&["init", "-q", "--bare"]);
    bare.ends(2, &["init"]).says(&["no working tree", "hint: run `sprag init` in a clone of it"]);
    assert!(!bare.project.join("sprag.toml").exists());

    let faulty = empty();
    faulty.write("sprag.toml", "[suites.cpu]\nkid = \"cpu\"\n");
    faulty.ends(2, &["init"]).says(&["sprag.toml"]);
    assert_eq!(files(&faulty), ["sprag.toml"]);

    for arguments in [
        &["--download-from", "us"][..],
        &["--download-from", "us/$(id)"],
        &["--download-from", "us/kernels", "--sha256", "0123"],
    ] {
        let sandbox = repository();
        init(&sandbox, arguments).expect(2);
        assert_eq!(files(&sandbox), ["sprag.toml"], "{arguments:?}");
    }
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link_or_over_a_folder() {
    let check = |prepare: &dyn Fn(&Sandbox), words: &[&str]| {
        let sandbox = repository();
        prepare(&sandbox);
        let before = files(&sandbox);
        for more in [&[][..], &["--force"], &["--keep"]] {
            init(&sandbox, more).expect(2).says(words);
        }
        assert_eq!(files(&sandbox), before);
        assert_eq!(fs::read_dir(sandbox.temporary()).unwrap().count(), 0);
    };
    let link = |sandbox: &Sandbox, path: &str| {
        std::os::unix::fs::symlink(sandbox.temporary(), sandbox.project.join(path)).unwrap();
    };
    check(&|sandbox| link(sandbox, ".github"), &[".github` is a link", "make it a plain folder"]);
    check(&|sandbox| link(sandbox, "baselines"), &["baselines` is a link"]);
    check(&|sandbox| link(sandbox, ".gitignore"), &[".gitignore` is a link", "make it a plain file"]);
    check(&|sandbox| sandbox.write(".github", "x"), &[".github` is not a folder"]);
    check(&|sandbox| sandbox.write(".github/workflows/ci.yml/x", "x"), &["ci.yml` is not a file"]);
    check(&|sandbox| sandbox.write(".gitignore/x", "x"), &[".gitignore` is not a file"]);
}

#[test]
fn odd_names_do_no_harm() {
    let sandbox = repository();
    sandbox.write(
        "sprag.toml",
        "[suites.cpu]\nkind = \"cpu\"\n[suites.\"$(id)\"]\nkind = \"command\"\ncommand = [\"x\"]\n",
    );
    let ended = init(&sandbox, &[]);
    // Such a name is refused by the configuration, or left out with a word.
    assert_contains(&ended.err, &["$(id)"]);
    assert!(!sandbox.project.join(".github").exists() || !sandbox.read(".github/workflows/perf.yml").contains("$(id)"));

    #[cfg(unix)]
    for name in ["a \"b\" \\ c", "$(id) `x`", "line\nfeed", "\u{7f}", "ä\u{202e}"] {
        let outer = Sandbox::empty();
        fs::create_dir(outer.project.join(name)).unwrap();
        outer.git(&["-C", name, "init", "-q"]);
        outer.write(&format!("{name}/times.sh"), SCRIPT);
        outer.ends(0, &["-C", name, "init", "--no-verify"]);
        let config = outer.read(&format!("{name}/sprag.toml"));
        outer.ends(0, &["-C", name, "site", "--out", "_site"]);
        assert!(config.contains("[suites.times]") && !config.contains('\u{7f}'), "{config}");
    }
}
