//! `--bisect`: the exit codes for git, and the commit that it finds.

use crate::crafted::Crafted;
use crate::sandbox::assert_contains;

#[test]
fn a_bisection_gets_good_bad_and_skip() {
    let crafted = Crafted::released(10, &[("pack", 1e-3), ("scan", 2e-3)]);
    let bisect = ["check", "--bisect", "--against", "v1.0"];
    crafted.ends(0, &bisect);
    crafted.change(11, &[("pack", 1.2e-3), ("scan", 2e-3)]);
    crafted.ends(1, &bisect);
    crafted.change(12, &[("pack", 1.2e-3)]);
    // Slower and missing is slower; missing alone is not.
    crafted.ends(1, &bisect);
    crafted.change(13, &[("pack", 1e-3)]);
    crafted.ends(125, &bisect);
    crafted.change_code(14);
    let other = Crafted::compiled_by(crafted.run(14, &[("pack", 9e-3), ("scan", 2e-3)]), "rustc 9");
    crafted.record(&other);
    crafted.ends(125, &bisect);
    crafted.ends(128, &["check", "--bisect", "--against", "nowhere"]).says(&["error: `nowhere` is neither", "hint:"]);
    crafted.ends(128, &["check", "--bisect", "--policy", "absent.toml"]).says(&["absent.toml"]);
    // A base without a run would make git skip every commit.
    crafted.commit_with("code.rs", "// 15", "Never measured");
    crafted.git(&["tag", "v0.0"]);
    crafted.change(16, &[("pack", 1e-3), ("scan", 2e-3)]);
    let words = ["`v0.0` (", "has no recorded run", "hint: measure it with `sprag run --commit v0.0 --record`"];
    crafted.ends(128, &["check", "--bisect", "--against", "v0.0"]).says(&words);
    crafted.ends(2, &["check", "--against", "v0.0"]).says(&words);
    for moving in [&["check", "--bisect"][..], &["check", "--bisect", "--against", "history"]] {
        crafted.ends(128, moving).says(&["must not move with them", "hint: name the good commit"]);
    }
    // A commit without a run is skipped.
    crafted.commit_with("code.rs", "// 17", "Not yet measured");
    let near = "the nearest that has one: ";
    crafted.ends(125, &bisect).says(&["no complete run of this machine", "hint: ", near, "(1 commit before it)"]);
    crafted.ends(125, &["compare", "v1.0", "HEAD", "--bisect"]).says(&["`HEAD` (", "has no recorded run", near]);
    crafted.ends(128, &["compare", "HEAD", "v1.0", "--bisect"]).says(&["`HEAD` (", "has no recorded run"]);
}

#[test]
fn git_finds_the_commit_that_made_it_slower_among_those_that_were_measured() {
    let crafted = Crafted::released(10, &[("pack", 1e-3), ("scan", 2e-3)]);
    crafted.commit_with("code.rs", "// never measured", "Not measured");
    crafted.change(11, &[("pack", 1e-3), ("scan", 2e-3)]);
    crafted.change(12, &[("pack", 1.3e-3), ("scan", 2e-3)]);
    let culprit = crafted.measured_commit().sha;
    crafted.change(13, &[("pack", 1.3e-3), ("scan", 2e-3)]);
    crafted.change(14, &[("pack", 1.3e-3), ("scan", 2e-3)]);
    crafted.git(&["bisect", "start", "main", "v1.0"]);
    let said = crafted.git(&["bisect", "run", env!("CARGO_BIN_EXE_sprag"), "check", "--bisect", "--against", "v1.0"]);
    assert_contains(&said, &[&format!("{culprit} is the first bad commit")]);
}

#[test]
fn a_bisection_reads_the_branch_that_it_began_on() {
    let crafted = Crafted::released(10, &[("pack", 1e-3), ("scan", 2e-3)]);
    let old = crafted.measured_commit().sha;
    crafted.change(11, &[("pack", 1.2e-3), ("scan", 2e-3)]);
    // The record of a commit lies in a later commit.
    crafted.git(&["checkout", "-q", &old]);
    crafted.ends(2, &["check", "--against", "history"]).says(&["no complete run of this machine"]);
    crafted.git(&["checkout", "-q", "main"]);
    crafted.git(&["bisect", "start", "main", "v1.0"]);
    crafted.git(&["checkout", "-q", &old]);
    crafted.ends(0, &["check", "--bisect", "--against", "v1.0"]).prints(&["check: pass; 2 unchanged"]);
    crafted.ends(128, &["check", "--bisect", "--against", &old[..12]]).says(&["both sides are the same commit"]);
    // The same on a detached HEAD, as in a workflow's checkout.
    crafted.git(&["bisect", "reset"]);
    crafted.git(&["checkout", "-q", "--detach", "main"]);
    crafted.git(&["bisect", "start", "HEAD", "v1.0"]);
    crafted.git(&["checkout", "-q", &old]);
    crafted.ends(0, &["check", "--bisect", "--against", "v1.0"]).prints(&["check: pass; 2 unchanged"]);
}

#[test]
fn what_a_bisection_does_not_check_out_is_not_judged() {
    let crafted = Crafted::released(10, &[("pack", 1e-3), ("scan", 2e-3)]);
    crafted.change(11, &[("pack", 1.2e-3), ("scan", 2e-3)]);
    crafted.change(12, &[("pack", 1.2e-3), ("scan", 2e-3)]);
    crafted.git(&["bisect", "start", "--no-checkout", "main", "v1.0"]);
    let words = ["error: the bisection was begun with `--no-checkout`", "hint: name `BISECT_HEAD`"];
    crafted.ends(128, &["check", "--bisect", "--against", "v1.0"]).says(&words);
    crafted.ends(128, &["compare", "v1.0", "HEAD", "--bisect"]).says(&words);
    crafted.git(&["update-ref", "--no-deref", "BISECT_HEAD", &crafted.measured_commit().sha]);
    crafted.ends(1, &["compare", "v1.0", "BISECT_HEAD", "--bisect"]);
}
