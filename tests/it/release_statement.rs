//! The statement of a release on its site, and what the page of the release says of its signature.

use crate::release_evidence::KEY;
use crate::released::Project;

/// The public half of the key, in hexadecimal digits.
const KEY_ID: &str = "ed25519:19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1";

#[test]
fn the_statement_that_is_kept_is_handed_out_and_its_signature_told() {
    let project = Project::new();
    let sandbox = project.sandbox();
    let page = || {
        sandbox.sprag(&["site"]).expect(0);
        sandbox.read("_site/release/v2.html")
    };
    let there = |name: &str| sandbox.project.join("_site/release").join(name).exists();
    let before = page();
    assert!(before.contains("Not signed") && before.contains("no statement of it is in"), "{before}");
    assert!(!there("v2.statement.json"));
    // The page shows the figures that the checklist was filled from.
    assert!(before.contains("none worse") && before.contains("0 of 2 worse"), "{before}");
    assert!(before.contains(" on 1 machine: ") && before.contains("Against v1"), "{before}");

    sandbox.write("../key.pem", KEY);
    project.attest(&["--key", "../key.pem"]);
    let (statement, envelope) = (sandbox.read("evidence/statement.json"), sandbox.read("evidence/statement.dsse.json"));
    sandbox.write("release/v2/statement.json", &statement);
    let unsigned = page();
    assert!(unsigned.contains("not signed") && unsigned.contains("v2.statement.json"), "{unsigned}");
    assert_eq!(sandbox.read("_site/release/v2.statement.json"), statement);
    assert!(!there("v2.statement.dsse.json"));

    sandbox.write("release/v2/statement.dsse.json", &envelope);
    sandbox.commit("Keep the statement");
    let signed = page();
    assert!(signed.contains(KEY_ID) && signed.contains("Nothing here vouches"), "{signed}");
    assert_eq!(sandbox.read("_site/release/v2.statement.dsse.json"), envelope);
    sandbox.sprag(&["site", "--check"]).expect(0);
    // To keep it changes nothing about what was attested.
    project.verify(0, &[]);

    for (path, text, told) in [
        ("release/v2/statement.dsse.json", envelope.replace("\"sig\": \"", "\"sig\": \"AAAA"), "is rejected"),
        ("release/v2/statement.json", statement.replace("\"v2\"", "\"v1\""), "is not about v2 at"),
        ("release/v2/statement.json", "{}".to_owned(), "is no statement of Sprag"),
    ] {
        sandbox.write(path, &text);
        let page = page();
        assert!(page.contains("Not signed") && page.contains(told), "{told}: {page}");
        assert!(!there("v2.statement.json") && !there("v2.statement.dsse.json"));
    }
}
