//! The action at our root, the archives of a release and the table of exit codes.

use std::fs;
use std::path::Path;

use sprag_pipeline::error::Exit;

use crate::sandbox::{Ended, Sandbox, assert_contains};
use crate::workflow_files::{Workflows, heard, pairs};

fn step(name: &str) -> (String, Vec<(String, String)>) {
    let ours = Workflows::read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")));
    let (.., yaml) = ours.all().find(|(path, ..)| *path == "action.yml").expect("there is an action");
    let steps = yaml["runs"]["steps"].as_vec().expect("it has steps");
    let step = steps.iter().find(|step| step["name"].as_str() == Some(name)).expect("it has that step");
    let of = pairs(&step["env"])
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.as_str().expect("a text").to_owned()));
    (step["run"].as_str().expect("a script").to_owned(), of.collect())
}

fn digest(sandbox: &Sandbox, path: &str) -> String {
    let out = sandbox.step(&[], &format!("sha256sum <'{path}'")).expect(0).out;
    out.split(' ').next().expect("a digest").to_owned()
}

/// A release in `release/`, and a `curl` that gets its files from there.
fn release() -> Sandbox {
    let sandbox = Sandbox::empty();
    let name = "sprag-v0.1.0-x86_64-unknown-linux-gnu";
    sandbox.write(&format!("{name}/sprag"), "#!/bin/sh\necho it is installed\n");
    sandbox
        .step(&[], &format!("chmod +x {name}/sprag; mkdir release; tar -czf release/{name}.tar.gz {name}"))
        .expect(0);
    sandbox.step(&[], "cd release && sha256sum -- * >SHA256SUMS").expect(0);
    let curl = "#!/bin/sh\nfor last; do :; done\ncase $last in https://github.example/us/sprag/releases/download/v0.1.0/*) \
                exec cp \"$RELEASE/${last##*/}\" . ;; esac\nexit 22\n";
    sandbox.tool("curl", curl);
    sandbox
}

fn install(sandbox: &Sandbox, inputs: &[(&str, &str)]) -> (Ended, String) {
    let (script, variables) = step("Install");
    let names: Vec<&str> = variables.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["REPOSITORY", "VERSION", "SUMS_SHA256"]);
    let path = sandbox.temporary().join("path");
    fs::write(&path, "").expect("the file can be used");
    let release = sandbox.project.join("release");
    let temporary = sandbox.temporary();
    let given = [
        ("RUNNER_OS", "Linux"),
        ("RUNNER_ARCH", "X64"),
        ("RUNNER_TEMP", temporary.to_str().expect("a path is text")),
        ("GITHUB_SERVER_URL", "https://github.example"),
        ("GITHUB_PATH", path.to_str().expect("a path is text")),
        ("RELEASE", release.to_str().expect("a path is text")),
        ("REPOSITORY", "us/sprag"),
        ("VERSION", "v0.1.0"),
    ];
    let ended = sandbox.step(&[&given[..], inputs].concat(), &script);
    (ended, fs::read_to_string(&path).expect("the file can be used"))
}

#[test]
fn a_release_is_installed_only_where_its_digests_are_those_that_were_pinned() {
    let sandbox = release();
    let sums = digest(&sandbox, "release/SHA256SUMS");
    let (ended, path) = install(&sandbox, &[("SUMS_SHA256", &sums)]);
    ended.expect(0);
    let ran = sandbox.step(&[], &format!("'{}/sprag'", path.trim())).expect(0);
    assert_eq!(ran.out, "it is installed\n");

    let check = |inputs: &[(&str, &str)], wanted: &str| {
        let (ended, path) = install(&sandbox, &[&[("SUMS_SHA256", sums.as_str())], inputs].concat());
        ended.expect(1).prints(&[&format!("::error title=sprag::{wanted}")]);
        assert_eq!(path, "");
    };
    for bad in ["", "us", "us/sp rag", "us/$(id)", "us/sprag/x", "us/sprag\nx"] {
        check(&[("REPOSITORY", bad)], "name the repository of the release");
    }
    for bad in ["", "main", "v0.1.0/../x", "v$(id)", "v1\nx"] {
        check(&[("VERSION", bad)], "name a release");
    }
    for bad in ["", "0123", &sums.to_uppercase(), &format!("{sums}0")] {
        check(&[("SUMS_SHA256", bad)], "give the SHA-256");
    }
    check(&[("RUNNER_ARCH", "RISCV")], "there is no release for this kind of runner");
    check(&[("SUMS_SHA256", &"0".repeat(64))], "SHA256SUMS of the release is not what was pinned");
    let (ended, path) = install(&sandbox, &[("SUMS_SHA256", &sums), ("VERSION", "v9.9.9")]);
    assert!(ended.code != 0 && path.is_empty(), "a release that is not there");
    sandbox.step(&[], "printf x >>release/sprag-v0.1.0-x86_64-unknown-linux-gnu.tar.gz").expect(0);
    check(&[], "the archive is not what SHA256SUMS says");
    sandbox.step(&[], "sed -i s/linux/other/ release/SHA256SUMS").expect(0);
    let sums = digest(&sandbox, "release/SHA256SUMS");
    check(&[("SUMS_SHA256", &sums)], "the archive is not what SHA256SUMS says");
}

#[test]
fn arguments_are_lines_and_the_verdict_is_that_of_the_exit_code() {
    let sandbox = Sandbox::empty();
    sandbox.tool(
        "sprag",
        "#!/bin/sh\nprintf '<%s>' \"$@\"\nprintf '\\n::error::gone\\n'\n[ -z \"$ANNOTATION\" ] || echo \"$ANNOTATION\" >annotations\nexit \"$CODE\"\n",
    );
    let (script, variables) = step("Run");
    let inputs = ["ARGUMENTS", "ANNOTATIONS"];
    assert_eq!(variables, inputs.map(|name| (name.to_owned(), format!("${{{{ inputs.{} }}}}", name.to_lowercase()))));
    let output = sandbox.temporary().join("output");
    for (exit, verdict) in Exit::ALL {
        fs::write(&output, "").unwrap();
        // A checkout may hold a file of that name.
        sandbox.write("annotations", "::error title=sprag::stale\n");
        let code = (exit as u8).to_string();
        let arguments = "check\n--suite\na b; $(id)\n--report=md=x";
        let output = [("GITHUB_OUTPUT", output.to_str().unwrap()), ("ANNOTATIONS", "annotations")];
        let annotation = if verdict == "error" { "" } else { "::error title=sprag::slower" };
        let given = [&[("ARGUMENTS", arguments), ("CODE", &code), ("ANNOTATION", annotation)], &output[..]].concat();
        let ended = sandbox.step(&given, &script).expect(i32::from(exit as u8));
        assert_contains(&ended.out, &["\n<check><--suite><a b; $(id)><--report=md=x>\n"]);
        assert_eq!(heard(&ended.out).join("\n"), annotation);
        assert_eq!(fs::read_to_string(output[0].1).unwrap(), format!("exit-code={code}\nverdict={verdict}\n"));
    }
}

#[test]
fn the_table_of_exit_codes_is_that_of_the_program() {
    let rows = |text: &str| -> Vec<(String, String)> {
        let cells = |line: &str| -> Option<(String, String)> {
            let mut cells = line.strip_prefix('|')?.split('|').map(|cell| cell.trim().to_owned());
            let (code, meaning) = (cells.next()?, cells.next()?);
            code.parse::<u8>().is_ok().then_some((code, meaning))
        };
        text.lines().filter_map(cells).collect()
    };
    let text = include_str!("../../docs/EXIT-CODES.md");
    let of_program = |(exit, _): (Exit, &str)| ((exit as u8).to_string(), exit.meaning().to_owned());
    assert_eq!(rows(text), Exit::ALL.map(of_program));
    assert_ne!(rows(&text.replace("| 4 |", "| 6 |")), Exit::ALL.map(of_program));
}

#[test]
fn an_archive_holds_the_program_with_its_papers_manual_and_completions() {
    let sandbox = Sandbox::empty();
    let exec = format!("#!/bin/sh\nexec '{}' \"$@\"\n", env!("CARGO_BIN_EXE_sprag"));
    sandbox.tool("sprag", &exec);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/pack-release.sh");
    let (tools, dist) = (sandbox.tools().join("sprag"), sandbox.temporary().join("dist"));
    let pack = |tag: &str, target: &str| {
        let run = format!("'{}' '{}' {tag} {target} '{}'", script.display(), tools.display(), dist.display());
        sandbox.step(&[], &run)
    };
    pack("v9.9.9", "x").expect(1).says(&["is not v9.9.9"]);
    assert!(!dist.exists());
    let tag = concat!("v", env!("CARGO_PKG_VERSION"));
    for (target, program) in [("x86_64-unknown-linux-gnu", "sprag"), ("x86_64-pc-windows-msvc", "sprag.exe")] {
        pack(tag, target).expect(0);
        let name = format!("sprag-{tag}-{target}");
        let listed = sandbox.step(&[], &format!("tar -tzf '{}/{name}.tar.gz'", dist.display())).expect(0).out;
        let papers = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE", "completions/sprag.bash"];
        for file in papers.iter().chain(&[program, "man/sprag.1", "man/sprag-weekly.1", "completions/sprag.fish"]) {
            assert!(listed.lines().any(|line| line == format!("{name}/{file}")), "{file} is not in {listed}");
        }
    }
}
