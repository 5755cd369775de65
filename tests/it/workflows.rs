//! Our workflows keep the rules, and each rule can fail.

use crate::sandbox::assert_contains;
use crate::workflow_files::Workflows;
use crate::workflow_rules::{NIGHTLY, complaints};

#[test]
fn every_rule_holds() {
    assert_eq!(complaints(&Workflows::ours()), Vec::<String>::new());
    assert_eq!(
        Workflows::ours().workflow(NIGHTLY)["jobs"]["long"]["steps"][1]["env"]["SPRAG_LONG_TESTS"].as_str(),
        Some("1")
    );
}

/// Rows of a file, what to replace in it by what, and words of the complaint.
#[test]
fn a_broken_rule_is_reported() {
    let ours = Workflows::ours();
    for row in include_str!("broken_workflows.txt").lines().filter(|row| !row.starts_with('#')) {
        let cells: Vec<String> = row.split(" => ").map(|cell| cell.replace("\\n", "\n")).collect();
        let [file, from, to, wanted] = &cells[..] else { panic!("`{row}` has {} cells", cells.len()) };
        let printed = complaints(&ours.with(file, from, to));
        assert!(printed.iter().any(|one| one.contains(wanted)), "{row} gives {printed:#?}");
    }
}

#[test]
fn what_they_download_is_our_release() {
    let action = Workflows::ours();
    let (_, text, yaml) = action.all().find(|(path, ..)| *path == "action.yml").expect("there is an action");
    let version = yaml["inputs"]["version"]["default"].as_str();
    assert_eq!(version, Some(concat!("v", env!("CARGO_PKG_VERSION"))));
    // The names of archives are those of `scripts/pack-release.sh`.
    let build = action.job("release.yml", "build");
    let matrix = build.yaml["strategy"]["matrix"]["include"].as_vec().expect("a list");
    assert_eq!(matrix.len(), 5);
    for one in matrix {
        let target = one["target"].as_str().expect("a target");
        assert_contains(text, &[&format!("target={target} ;;")]);
    }
    let pack = include_str!("../../scripts/pack-release.sh");
    assert_contains(pack, &["name=sprag-$tag-$target\n"]);
    assert_contains(text, &["archive=sprag-$VERSION-$target.tar.gz\n"]);
    let publish = action.job("release.yml", "publish").scripts();
    assert_contains(&publish, &["sha256sum -c --strict SHA256SUMS", "scripts/sbom.py"]);
}
