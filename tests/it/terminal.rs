//! What commands print on a terminal fits it, narrow or wide, and breaks no figure.

use crate::sandbox::Sandbox;

/// Runs a command on a terminal of so many columns, with `all` its standard error too, and writes what it shows there.
const TERMINAL: &str = include_str!("../../fixtures/projects/terminal.py");

/// Twelve benchmarks with long names; the step of one of them is large.
const BENCH: &str = include_str!("../../fixtures/projects/layers.sh");

#[test]
fn reports_fit_the_terminal_and_break_no_figure() {
    let sandbox = Sandbox::empty();
    sandbox.git(&["init", "-q"]);
    sandbox.write("sprag.toml", "[suites.layers]\nkind = \"command\"\ncommand = [\"sh\", \"bench.sh\"]\n");
    sandbox.write("bench.sh", BENCH);
    sandbox.write("base", "1.05");
    sandbox.commit_with("../terminal.py", TERMINAL, "Begin");
    let named = [("SPRAG_MACHINE", "A machine of many words, 64 cores")];
    sandbox.sprag_with(&named, &["run", "--record"]).expect(0);
    sandbox.sprag_with(&named, &["baseline", "emit"]).expect(0);
    sandbox.write("base", "1.25");
    sandbox.commit("Make a layer slower, and say so in a subject of some length that goes on for a while");
    for columns in ["80", "140"] {
        for (command, codes) in [
            ("weekly --quick", [0, 1]),
            ("run --quick", [0, 0]),
            ("check", [1, 3]),
            ("bench --runs 10 -- true", [0, 0]),
            ("compare HEAD~1 HEAD", [1, 3]),
            ("compare HEAD~1 HEAD --measure --quick", [1, 3]),
            ("trend", [0, 0]),
            ("history log", [0, 0]),
            ("baseline list", [0, 0]),
            ("doctor --quick", [0, 0]),
        ] {
            let script = format!("python3 ../terminal.py {columns} out \"$SPRAG\" {command}");
            let ended = sandbox.step(&[("SPRAG", env!("CARGO_BIN_EXE_sprag")), named[0]], &script);
            if ended.code == 127 {
                eprintln!("skipped: python3 makes the terminal, and cannot be run here: {}", ended.err);
                return;
            }
            assert!(codes.contains(&ended.code), "{command}: {}\n{}{}", ended.code, ended.out, ended.err);
            let most: usize = columns.parse().expect("it is a number");
            // Of a line that is written again and again, the last text stays.
            for line in ended.out.lines().map(|line| line.rsplit('\r').next().unwrap_or(line)) {
                assert!(line.chars().count() <= most, "{command} at {columns} columns:\n{line}\n\n{}", ended.out);
                assert!(!line.trim().starts_with("% "), "{command} breaks a figure:\n{}", ended.out);
            }
        }
    }
}

#[test]
fn bars_of_progress_move_and_leave_nothing_behind() {
    let sandbox = Sandbox::empty();
    sandbox.git(&["init", "-q"]);
    sandbox.write("sprag.toml", "[suites.layers]\nkind = \"command\"\ncommand = [\"sh\", \"bench.sh\"]\n");
    sandbox.write("bench.sh", &format!("sleep 0.2\n{BENCH}"));
    sandbox.write("base", "1.05");
    sandbox.commit_with("../terminal.py", TERMINAL, "Begin");
    let script = "python3 ../terminal.py 80 all \"$SPRAG\" run";
    let ended = sandbox.step(&[("SPRAG", env!("CARGO_BIN_EXE_sprag"))], script);
    if ended.code == 127 {
        eprintln!("skipped: python3 makes the terminal, and cannot be run here: {}", ended.err);
        return;
    }
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    for moved in ["1/5", "4/5"] {
        assert!(ended.out.contains(moved), "{moved} of the bar is not in:\n{}", ended.out);
    }
    let left: Vec<&str> = ended.out.lines().map(|line| line.rsplit('\r').next().unwrap_or(line)).collect();
    assert!(left.iter().any(|line| line.contains("layer_norm_12")), "{left:?}");
    assert!(!left.iter().any(|line| line.contains("/5")), "the bar is left behind: {left:?}");
}
