//! `sprag init`: what it writes, and what it leaves alone.

use std::fs;

use crate::sandbox::{self, Sandbox, assert_contains};
use crate::workflow_files::Workflows;
use crate::workflow_rules::complaints;

/// All that is written into an empty repository.
const FILES: [&str; 12] = [
    ".github/actionlint.yaml",
    ".github/actions/sprag/action.yml",
    ".github/workflows/ci.yml",
    ".github/workflows/perf.yml",
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

/// A repository without anything.
fn repository() -> Sandbox {
    let sandbox = Sandbox::empty();
    sandbox.git(&["init", "-q"]);
    sandbox
}

/// The files of a project except git's, in order.
fn files(sandbox: &Sandbox) -> Vec<String> {
    let files = sandbox::files(&sandbox.project).into_keys();
    files.filter(|path| !path.starts_with(".git/")).collect()
}

#[test]
fn an_empty_repository_gets_the_set_and_works() {
    let sandbox = repository();
    let dry = sandbox.sprag(&["init", "--dry-run"]).expect(0);
    assert_eq!(files(&sandbox), Vec::<String>::new());
    let ended = sandbox.sprag(&["init"]).expect(0);
    assert_eq!(files(&sandbox), FILES);
    for file in FILES {
        assert_contains(&dry.out, &[&format!("would write  {file}\n")]);
        assert_contains(&ended.out, &[&format!("wrote        {file}\n")]);
    }
    assert_contains(&ended.out, &["docs/CI.md", "perf gate"]);
    assert_eq!(sandbox.read(".gitignore"), "/_site\n");
    // Its configuration is one, and says what it is called.
    sandbox.commit("Set up");
    let site = sandbox.sprag(&["site", "--out", "_site"]).expect(0);
    assert!(site.err.is_empty(), "{}", site.err);
    assert_contains(&sandbox.read("_site/index.html"), &["project"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn the_workflows_that_it_writes_keep_the_rules() {
    let sandbox = repository();
    sandbox.write(
        "sprag.toml",
        "[suites.own]\nkind = \"command\"\ncommand = [\"./bench\"]\n[suites.gpu]\nkind = \"gpu\"\n",
    );
    sandbox.sprag(&["init", "--download-from", "us/kernels", "--sha256", DIGEST]).expect(0);
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
    sandbox.sprag(&["init"]).expect(2).says(&words);
    sandbox.sprag(&["init", "--dry-run"]).expect(2).says(&words);
    assert_eq!((files(&sandbox), sandbox.read(".github/workflows/ci.yml")), (before, "mine\n".to_owned()));
    sandbox.sprag(&["init", "--keep", "--force"]).expect(2);

    let keeping = sandbox.sprag(&["init", "--keep"]).expect(0);
    assert_contains(&keeping.out, &["kept         .github/workflows/ci.yml\n", "kept         sprag.toml\n"]);
    assert_eq!(
        (files(&sandbox), sandbox.read(".github/workflows/ci.yml")),
        (FILES.map(str::to_owned).to_vec(), "mine\n".to_owned())
    );
    sandbox.sprag(&["init", "--force"]).expect(0).prints(&["replaced     .github/workflows/ci.yml\n"]);
    assert_eq!(sandbox.read("sprag.toml"), "[suites.cpu]\nkind = \"cpu\"\n");
    assert_eq!(sandbox.read("release/releases.toml"), "schema_version = 1\n# Mine.\n");
    // A second time there is nothing to do.
    let second = sandbox.sprag(&["init"]).expect(0);
    assert_eq!(second.out.lines().filter(|line| line.starts_with("is there     ")).count(), 10, "{}", second.out);
}

#[test]
fn what_a_project_has_set_outlives_force() {
    let sandbox = repository();
    let suites = "[suites.own]\nkind = \"command\"\ncommand = [\"./bench\"]\n[suites.gone]\nkind = \"cpu\"\n";
    sandbox.write("sprag.toml", suites);
    sandbox.sprag(&["init", "--download-from", "us/kernels", "--sha256", DIGEST]).expect(0);
    let action = ".github/actions/sprag/action.yml";
    let pinned = sandbox.read(action);
    // Without a word about the release it is the one that is there, and there is nothing to do.
    let second = sandbox.sprag(&["init"]).expect(0);
    assert_eq!(second.out.lines().filter(|line| line.starts_with("is there     ")).count(), 11, "{}", second.out);
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
    let forced = sandbox.sprag(&["init", "--force"]).expect(0);
    for line in [
        "replaced     .github/workflows/perf.yml\nkeeps        PERF_EFFORT, PERF_PATHS of it, as set there\n",
        "replaced     .github/actions/sprag/action.yml\nkeeps        repository, sha256 of it, as set there\n",
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
    let added = "adds         null to CPU_SUITES, as no list named it: take it out again where you had\n";
    assert_contains(&forced.out, &[&format!("CPU_SUITES of it, as set there\n{added}")]);
    // A suite that was taken out of every list looks like a new one: it comes back, and that is reported.
    let same = sandbox.sprag(&["init", "--force"]).expect(0);
    assert!(!same.out.contains("adds "), "{}", same.out);
    sandbox.edit(weekly, "CPU_SUITES: \"null\"", "CPU_SUITES: \"\"");
    sandbox.sprag(&["init", "--force"]).expect(0).prints(&[added]);
    assert_eq!(complaints(&theirs), Vec::<String>::new());

    // A digest goes with its repository and its version.
    sandbox.edit(action, &format!("default: v{}", env!("CARGO_PKG_VERSION")), "default: v0.0.9");
    sandbox.sprag(&["init", "--force"]).expect(0).prints(&["The workflows use v0.0.9: "]);
    assert_contains(&sandbox.read(action), &["    default: \"v0.0.9\"\n", DIGEST]);
    let digest = "f".repeat(64);
    sandbox.sprag(&["init", "--force", "--sha256", &digest]).expect(0);
    assert_eq!(sandbox.read(action), pinned.replace(DIGEST, &digest));
    sandbox.sprag(&["init", "--force", "--download-from", "them/fork"]).expect(0);
    let text = sandbox.read(action);
    assert!(
        text.contains("    default: \"them/fork\"\n") && !text.contains(&digest) && !text.contains(DIGEST),
        "{text}"
    );
    // What could act in a script or an address is no release.
    sandbox.edit(action, "default: \"them/fork\"", "default: \"them/$(id)\"");
    sandbox.sprag(&["init", "--force"]).expect(0);
    assert!(!sandbox.read(action).contains("$(id)"));
}

#[test]
fn ends_of_lines_are_no_difference() {
    let sandbox = repository();
    sandbox.sprag(&["init"]).expect(0);
    for file in FILES.iter().filter(|file| **file != ".gitignore") {
        sandbox.write(file, &sandbox.read(file).replace('\n', "\r\n"));
    }
    let second = sandbox.sprag(&["init"]).expect(0);
    assert_eq!(second.out.lines().filter(|line| line.starts_with("is there     ")).count(), 12, "{}", second.out);
    assert_contains(&sandbox.read(".github/workflows/ci.yml"), &["\r\n"]);
}

#[test]
fn lines_that_are_ignored_are_added_once() {
    let check = |before: &str, after: &str, word: &str| {
        let sandbox = repository();
        sandbox.write(".gitignore", before);
        sandbox.sprag(&["init"]).expect(0).prints(&[&format!("{word:<12} .gitignore\n")]);
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
    outside.sprag(&["init"]).expect(2).says(&["hint: "]);
    assert_eq!(files(&outside), Vec::<String>::new());

    let bare = Sandbox::empty();
    bare.git(&["init", "-q", "--bare"]);
    bare.sprag(&["init"]).expect(2).says(&["no working tree", "hint: run `sprag init` in a clone of it"]);
    assert!(!bare.project.join("sprag.toml").exists());

    let faulty = repository();
    faulty.write("sprag.toml", "[suites.cpu]\nkid = \"cpu\"\n");
    faulty.sprag(&["init"]).expect(2).says(&["sprag.toml"]);
    assert_eq!(files(&faulty), ["sprag.toml"]);

    for arguments in [
        &["--download-from", "us"][..],
        &["--download-from", "us/$(id)"],
        &["--download-from", "us/kernels", "--sha256", "0123"],
    ] {
        let sandbox = repository();
        sandbox.sprag(&[&["init"], arguments].concat()).expect(2);
        assert_eq!(files(&sandbox), Vec::<String>::new(), "{arguments:?}");
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
            sandbox.sprag(&[&["init"], more].concat()).expect(2).says(words);
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
    check(&|sandbox| sandbox.write(".github", "x"), &[".github` is no folder"]);
    check(&|sandbox| sandbox.write(".github/workflows/ci.yml/x", "x"), &["ci.yml` is no file"]);
    check(&|sandbox| sandbox.write(".gitignore/x", "x"), &[".gitignore` is no file"]);
}

#[test]
fn odd_names_do_no_harm() {
    let sandbox = repository();
    sandbox.write(
        "sprag.toml",
        "[suites.cpu]\nkind = \"cpu\"\n[suites.\"$(id)\"]\nkind = \"command\"\ncommand = [\"x\"]\n",
    );
    let ended = sandbox.sprag(&["init"]);
    // Such a name is refused by the configuration, or left out with a word.
    assert_contains(&ended.err, &["$(id)"]);
    assert!(!sandbox.project.join(".github").exists() || !sandbox.read(".github/workflows/perf.yml").contains("$(id)"));

    #[cfg(unix)]
    for name in ["a \"b\" \\ c", "$(id) `x`", "line\nfeed", "\u{7f}", "ä\u{202e}"] {
        let outer = Sandbox::empty();
        fs::create_dir(outer.project.join(name)).unwrap();
        outer.git(&["-C", name, "init", "-q"]);
        outer.sprag(&["-C", name, "init"]).expect(0);
        let config = outer.read(&format!("{name}/sprag.toml"));
        outer.sprag(&["-C", name, "site", "--out", "_site"]).expect(0);
        assert!(config.contains("[suites.cpu]") && !config.contains('\u{7f}'), "{config}");
    }
}
