//! The demo: a rich site in seconds, and a gate that sees what was planted.

use std::fs;
use std::sync::OnceLock;

use crate::sandbox::Sandbox;

/// The file with what `sprag demo` printed, beside the folder `shop`.
pub(crate) const PRINTED: &str = "planted.txt";

/// The demo and its site in the folder `shop`. It is generated once a process and copied.
pub(crate) fn shop() -> Sandbox {
    static DEMO: OnceLock<Sandbox> = OnceLock::new();
    Sandbox::copy_of(&DEMO, || {
        let sandbox = Sandbox::empty();
        let ended = sandbox.sprag(&["demo", "shop", "--seed", "3"]).expect(0);
        sandbox.write(PRINTED, &ended.out);
        sandbox
    })
}

/// The repository of the demo alone, without site and caches, as the project.
pub(crate) fn repository() -> Sandbox {
    static DEMO: OnceLock<Sandbox> = OnceLock::new();
    Sandbox::copy_of(&DEMO, || {
        let sandbox = shop().below("shop");
        for folder in ["_site", ".sprag"] {
            fs::remove_dir_all(sandbox.project.join(folder)).unwrap_or_default();
        }
        sandbox
    })
}

#[test]
fn the_demo_shows_what_it_planted() {
    let sandbox = shop();
    let printed = sandbox.read(PRINTED);
    assert!(printed.contains("Planted") && printed.contains("tile_pack"), "{printed}");
    let page = sandbox.read("shop/_site/index.html");
    assert!(page.contains("slower") && page.contains("tile_pack"), "the digest does not show the planted step");
    let events = sandbox.read("shop/_site/events/index.html");
    assert!(
        events.contains("3 open regressions") && events.contains("fusion_gate"),
        "not all that was planted is an event"
    );
    let feed: serde_json::Value =
        serde_json::from_str(&sandbox.read("shop/_site/events/feed.json")).expect("the feed is JSON");
    let sentence = feed["items"][0]["title"].as_str().expect("an entry has a sentence").to_owned();
    assert!(sentence.contains("slower: cpu/tile_pack{c=64,t=8} @fast"), "{sentence}");
    let event = sentence.split(' ').next().expect("it begins with the id");
    assert!(sandbox.read(&format!("shop/_site/events/{event}.html")).contains(&sentence), "the page says the same");
    assert!(sandbox.read("shop/_site/badge.json").contains("3 open regressions"));
    for machine in ["bench-epyc", "bench-xeon"] {
        let gate = sandbox.sprag_with(&[("SPRAG_MACHINE", machine)], &["-C", "shop", "check"]).expect(1);
        let slower = gate.out.lines().filter(|line| line.starts_with("regressed"));
        assert!(slower.clone().all(|line| line.contains("cpu/tile_pack{c=64,t=8} @fast")), "{machine}: {}", gate.out);
        assert_eq!(slower.count(), 1, "{machine}: {}", gate.out);
    }
    assert_eq!(sandbox.git(&["-C", "shop", "status", "--porcelain"]), "");
    assert_eq!(sandbox.git(&["-C", "shop", "fsck", "--no-progress", "--no-dangling"]), "");
    sandbox.sprag(&["demo", "shop"]).expect(2).says(&["is not empty"]);
}
