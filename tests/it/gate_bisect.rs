//! `--bisect`: the exit codes that git reads, and that it finds the one that made something slower.

use crate::crafted::Crafted;
use crate::gate_against::{released, tells};

#[test]
fn a_bisection_gets_good_bad_and_skip() {
    let crafted = released(10, &[("pack", 1e-3), ("scan", 2e-3)]);
    let bisect = ["check", "--bisect", "--against", "v1.0"];
    crafted.ends(0, &bisect);
    crafted.change(11, &[("pack", 1.2e-3), ("scan", 2e-3)]);
    crafted.ends(1, &bisect);
    crafted.change(12, &[("pack", 1.2e-3)]);
    // Slower and missing is slower; missing alone is another matter than speed.
    crafted.ends(1, &bisect);
    crafted.change(13, &[("pack", 1e-3)]);
    crafted.ends(125, &bisect);
    crafted.sandbox.write("code.rs", "// 14");
    crafted.sandbox.commit("Change the code");
    let other = Crafted::compiled_by(crafted.run(14, &[("pack", 9e-3), ("scan", 2e-3)]), "rustc 9");
    crafted.record(&other);
    crafted.ends(125, &bisect);
    crafted.ends(128, &["check", "--bisect", "--against", "nowhere"]).says(&["error: `nowhere` is neither", "hint:"]);
    crafted.ends(128, &["check", "--bisect", "--policy", "absent.toml"]).says(&["absent.toml"]);
    // A base of which nothing is known would let git skip every commit.
    crafted.sandbox.write("code.rs", "// 15");
    crafted.sandbox.commit("Never measured");
    crafted.sandbox.git(&["tag", "v0.0"]);
    crafted.change(16, &[("pack", 1e-3), ("scan", 2e-3)]);
    let words = ["`v0.0` (", "has no recorded run", "hint: measure it with `sprag run --commit v0.0 --record`"];
    crafted.ends(128, &["check", "--bisect", "--against", "v0.0"]).says(&words);
    crafted.ends(2, &["check", "--against", "v0.0"]).says(&words);
    for moving in [&["check", "--bisect"][..], &["check", "--bisect", "--against", "history"]] {
        crafted.ends(128, moving).says(&["must not move with them", "hint: name the good commit"]);
    }
    // A commit that was never measured cannot tell; git tries another.
    crafted.sandbox.write("code.rs", "// 17");
    crafted.sandbox.commit("Not yet measured");
    let near = "the nearest that has one: ";
    crafted.ends(125, &bisect).says(&["no complete run of this machine", "hint: ", near, "(1 commit before it)"]);
    crafted.ends(125, &["compare", "v1.0", "HEAD", "--bisect"]).says(&["`HEAD` (", "has no recorded run", near]);
    crafted.ends(128, &["compare", "HEAD", "v1.0", "--bisect"]).says(&["`HEAD` (", "has no recorded run"]);
}

#[test]
fn git_finds_the_commit_that_made_it_slower_among_those_that_were_measured() {
    let crafted = released(10, &[("pack", 1e-3), ("scan", 2e-3)]);
    crafted.sandbox.write("code.rs", "// never measured");
    crafted.sandbox.commit("Not measured");
    crafted.change(11, &[("pack", 1e-3), ("scan", 2e-3)]);
    crafted.change(12, &[("pack", 1.3e-3), ("scan", 2e-3)]);
    let culprit = crafted.commit().sha;
    crafted.change(13, &[("pack", 1.3e-3), ("scan", 2e-3)]);
    crafted.change(14, &[("pack", 1.3e-3), ("scan", 2e-3)]);
    crafted.sandbox.git(&["bisect", "start", "main", "v1.0"]);
    let said =
        crafted.sandbox.git(&["bisect", "run", env!("CARGO_BIN_EXE_sprag"), "check", "--bisect", "--against", "v1.0"]);
    assert!(said.contains(&format!("{culprit} is the first bad commit")), "{said}");
}

#[test]
fn a_bisection_reads_the_branch_that_it_began_on() {
    let crafted = released(10, &[("pack", 1e-3), ("scan", 2e-3)]);
    let old = crafted.commit().sha;
    crafted.change(11, &[("pack", 1.2e-3), ("scan", 2e-3)]);
    // The commit of the code comes before that of its record.
    crafted.sandbox.git(&["checkout", "-q", &old]);
    crafted.ends(2, &["check", "--against", "history"]).says(&["no complete run of this machine"]);
    crafted.sandbox.git(&["checkout", "-q", "main"]);
    crafted.sandbox.git(&["bisect", "start", "main", "v1.0"]);
    crafted.sandbox.git(&["checkout", "-q", &old]);
    tells(&crafted.ends(0, &["check", "--bisect", "--against", "v1.0"]), &["check: pass; 2 unchanged"]);
    crafted.ends(128, &["check", "--bisect", "--against", &old[..12]]).says(&["both sides are the same commit"]);
    // So it is where it began on a detached HEAD, as a workflow's checkout is.
    crafted.sandbox.git(&["bisect", "reset"]);
    crafted.sandbox.git(&["checkout", "-q", "--detach", "main"]);
    crafted.sandbox.git(&["bisect", "start", "HEAD", "v1.0"]);
    crafted.sandbox.git(&["checkout", "-q", &old]);
    tells(&crafted.ends(0, &["check", "--bisect", "--against", "v1.0"]), &["check: pass; 2 unchanged"]);
}

#[test]
fn what_a_bisection_does_not_check_out_is_not_judged() {
    let crafted = released(10, &[("pack", 1e-3), ("scan", 2e-3)]);
    crafted.change(11, &[("pack", 1.2e-3), ("scan", 2e-3)]);
    crafted.change(12, &[("pack", 1.2e-3), ("scan", 2e-3)]);
    crafted.sandbox.git(&["bisect", "start", "--no-checkout", "main", "v1.0"]);
    let words = ["error: the bisection was begun with `--no-checkout`", "hint: name `BISECT_HEAD`"];
    crafted.ends(128, &["check", "--bisect", "--against", "v1.0"]).says(&words);
    crafted.ends(128, &["compare", "v1.0", "HEAD", "--bisect"]).says(&words);
    crafted.sandbox.git(&["update-ref", "--no-deref", "BISECT_HEAD", &crafted.commit().sha]);
    crafted.ends(1, &["compare", "v1.0", "BISECT_HEAD", "--bisect"]);
}
