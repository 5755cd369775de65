//! Golden cases from the command line: what it prints last, and how it exits.

use std::path::Path;

use crate::sandbox::Sandbox;

#[test]
fn a_wrong_golden_value_is_named_and_exits_with_1() {
    let sandbox = Sandbox::empty();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden/apex-x/ordering.json");
    let text = std::fs::read_to_string(golden).expect("the golden cases are there");
    // Another name in another folder: the family is in the file.
    sandbox.write("cases/deep/renamed.json", &text);
    let right = sandbox.sprag(&["conformance", "cases"]).expect(0);
    assert_eq!(right.out.lines().last(), Some("13 passed, 0 failed, 0 skipped"));
    let damaged = text.replacen("[0,2,3,1]", "[0,2,1,3]", 1);
    assert_ne!(damaged, text, "nothing was damaged");
    sandbox.write("cases/deep/renamed.json", &damaged);
    let wrong = sandbox.sprag(&["conformance", "cases"]).expect(1);
    assert!(wrong.out.contains("hilbert_full_2x2"), "{}", wrong.out);
    assert_eq!(wrong.out.lines().last(), Some("12 passed, 1 failed, 0 skipped"));
    sandbox.write("empty/readme.txt", "no case");
    sandbox.sprag(&["conformance", "empty"]).expect(2).says(&["empty"]);
}
